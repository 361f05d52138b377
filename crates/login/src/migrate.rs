//! Moves accounts from another system to OPAQUE by their password hashes, offline, at once, and without ever seeing a password.
//!
//! Each account is registered with its old hash as the password: this program plays the client and the server of the registration. At the
//! first login the client is told how the old hash was computed, computes it from what the user types, logs in with it, and registers again
//! with the password itself. `docs/migration.md` says what that concedes.
//!
//! An import that was killed is run again with the same file: accounts are stored in batches, each all or nothing, and a name that is there is
//! left alone. Nobody can log in to any of them before the import has ended.

mod input;

pub use input::{Entry, Input, InputError, Layout};

use crate::keys::KeyRing;
use crate::name::{NameError, UserName};
use crate::store::{Actor, Import, NewAccount, Store, StoreError};
use crate::time::UnixTime;
use crate::{KeyId, PARTIES};
use candor_old_hashes::{OldHash, OldScheme, ReadError, SaltCensus, Template, UnevenSalts};
use candor_opaque::{Argon2id, Change, Client, DefaultSuite, KsfParams, Limits, NoStretching, Password, Server};
use getrandom::{SysRng, rand_core::UnwrapErr};
use std::collections::{BTreeMap, HashMap};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Accounts that are stored together.
const BATCH: usize = 64;
/// The most refusals that a report lists one by one.
const LISTED: usize = 100;

/// What an import did, or would do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Report {
    /// Entries of the file.
    pub entries: u64,
    /// Accounts that were imported; in a dry run, that would be.
    pub imported: u64,
    /// Entries whose names have accounts already, from an earlier import or otherwise. They were left alone.
    pub there: u64,
    /// Entries that can't be imported.
    pub refused: u64,
    /// Imported accounts by scheme and cost.
    pub schemes: BTreeMap<String, u64>,
    /// The first refusals: line and reason.
    pub refusals: Vec<(u64, Refusal)>,
    /// Salts that were clearly not drawn evenly. Those made up for names without an account are, so whoever asks for a name can tell whether it has an account.
    pub uneven_salts: Vec<UnevenSalts>,
}

/// Why an entry can't be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Refusal {
    /// The line is no entry.
    #[error("{0}")]
    Input(InputError),
    /// The name can't be the name of an account.
    #[error("{0}")]
    Name(NameError),
    /// The hash can't be read.
    #[error("{0}")]
    Hash(ReadError),
    /// An earlier line has the same name, perhaps in another Unicode form or case.
    #[error("line {0} has the same name")]
    Twice(u64),
}

/// Why an import stopped. What was stored until then stays; run it again.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum MigrationError {
    /// The file can't be read.
    #[error("can't read the file: {0}")]
    Input(#[from] std::io::Error),
    /// The file has no column of the name that was asked for.
    #[error("{0}")]
    Layout(String),
    /// The database.
    #[error("{0}")]
    Store(#[from] StoreError),
    /// OPAQUE.
    #[error("{0}")]
    Opaque(#[from] candor_opaque::Error),
}

/// Imports the entries of a file. With `dry_run` nothing is stored. `progress` is told of the report so far after each batch.
///
/// # Errors
/// [`MigrationError`].
pub async fn import(
    store: &Store,
    ring: Arc<KeyRing>,
    input: Input<'_>,
    dry_run: bool,
    actor: Actor,
    mut progress: impl FnMut(&Report),
) -> Result<Report, MigrationError> {
    let mut report = Report::default();
    let (mut seen, mut salts) = (HashMap::new(), SaltCensus::default());
    let mut batch = Vec::with_capacity(BATCH);
    for entry in input {
        report.entries += 1;
        let (line, entry) = entry?;
        match read(line, entry, &mut seen) {
            Err(refusal) => report.refuse(line, refusal),
            Ok((name, _)) if store.has_account(&name).await? => report.there += 1,
            Ok(account) => batch.push(account),
        }
        if batch.len() == BATCH {
            flush(store, &ring, &mut batch, dry_run, &actor, &mut report, &mut salts).await?;
            progress(&report);
        }
    }
    flush(store, &ring, &mut batch, dry_run, &actor, &mut report, &mut salts).await?;
    report.uneven_salts = salts.uneven();
    progress(&report);
    if !dry_run {
        store.end_import(actor, UnixTime::now()).await?;
    }
    Ok(report)
}

impl Report {
    fn refuse(&mut self, line: u64, refusal: Refusal) {
        self.refused += 1;
        if self.refusals.len() < LISTED {
            self.refusals.push((line, refusal));
        }
    }
}

fn read(
    line: u64,
    entry: Result<Entry, InputError>,
    seen: &mut HashMap<String, u64>,
) -> Result<(UserName, OldHash), Refusal> {
    let entry = entry.map_err(Refusal::Input)?;
    let name = UserName::parse(&entry.name).map_err(Refusal::Name)?;
    let hash = entry.hash.trim().parse().map_err(Refusal::Hash)?;
    match seen.insert(name.key().to_owned(), line) {
        Some(earlier) => {
            seen.insert(name.key().to_owned(), earlier);
            Err(Refusal::Twice(earlier))
        }
        None => Ok((name, hash)),
    }
}

async fn flush(
    store: &Store,
    ring: &Arc<KeyRing>,
    batch: &mut Vec<(UserName, OldHash)>,
    dry_run: bool,
    actor: &Actor,
    report: &mut Report,
    salts: &mut SaltCensus,
) -> Result<(), MigrationError> {
    let accounts = std::mem::take(batch);
    let schemes: Vec<OldScheme> = accounts.iter().map(|(_, hash)| hash.scheme().clone()).collect();
    let new = if dry_run || accounts.is_empty() {
        vec![true; accounts.len()]
    } else {
        let ring = Arc::clone(ring);
        let imports = tokio::task::spawn_blocking(move || {
            let (key, server) = ring.active();
            register_all(key, server, &accounts)
        });
        let imports = imports.await.map_err(|error| StoreError::Other(error.to_string()))??;
        store.import(imports, actor.clone(), UnixTime::now()).await?
    };
    for (new, scheme) in new.into_iter().zip(schemes) {
        if new {
            report.imported += 1;
            *report.schemes.entry(Template::of(&scheme).scheme_and_cost()).or_default() += 1;
            salts.add(&scheme);
        } else {
            // Somebody registered while the batch was made.
            report.there += 1;
        }
    }
    Ok(())
}

/// Registers accounts with their old hashes as passwords, on all processors.
fn register_all(
    key: KeyId,
    server: &Server<DefaultSuite>,
    accounts: &[(UserName, OldHash)],
) -> Result<Vec<Import>, candor_opaque::Error> {
    let threads = std::thread::available_parallelism().map_or(1, NonZeroUsize::get).min(accounts.len());
    let next = AtomicUsize::new(0);
    let work = || {
        let mut argon2id = Argon2id::new();
        let mut made = Vec::new();
        while let Some((name, hash)) = accounts.get(next.fetch_add(1, Ordering::Relaxed)) {
            made.push(register(key, server, &mut argon2id, name, hash)?);
        }
        Ok::<_, candor_opaque::Error>(made)
    };
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut all = Vec::with_capacity(accounts.len());
        for worker in workers {
            all.extend(worker.join().expect("a registration does not panic")?);
        }
        // In the order of the file, whatever thread made them.
        let place: HashMap<&str, usize> =
            accounts.iter().enumerate().map(|(index, (name, _))| (name.key(), index)).collect();
        all.sort_by_key(|import: &Import| place.get(import.account.name.key()).copied());
        Ok(all)
    })
}

fn register(
    key: KeyId,
    server: &Server<DefaultSuite>,
    argon2id: &mut Argon2id,
    name: &UserName,
    hash: &OldHash,
) -> Result<Import, candor_opaque::Error> {
    let rng = &mut UnwrapErr(SysRng);
    let password = hash.opaque_password();
    let client = Client::new(DefaultSuite::default()).with_limits(Limits::NONE);
    let (registration, request) = client.start_registration(rng, &Password::from_bytes(&password)?)?;
    let answer = server.register(rng, &request)?;
    let done = match answer.ksf {
        KsfParams::Identity => registration.finish(rng, &answer.response, &answer.ksf, &mut NoStretching, &PARTIES)?,
        _ => registration.finish(rng, &answer.response, &answer.ksf, argon2id, &PARTIES)?,
    };
    let record = match answer.state.finish(&done.upload)? {
        Change::Insert(record) => record,
        change => change.into_record(),
    };
    let account = NewAccount { name: name.clone(), record, key, token: None, recovery_codes: Vec::new() };
    Ok(Import { account, scheme: hash.scheme().to_string(), template: Template::of(hash.scheme()) })
}
