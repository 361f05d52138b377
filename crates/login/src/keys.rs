//! The key ring: OPAQUE's keys, past and present, and what names without an account are answered with.
//!
//! An account stays with the key that its record was made under until it registers again; OPAQUE has no other way. A rotation therefore adds a
//! key for registrations, and the old one goes on answering logins until no account needs it.
//!
//! Which key answers must not tell whether there is an account. So a name without one is given a key by a keyed function of the name, in the
//! proportions in which accounts have them, and moves on to newer keys as accounts do: the store lets it follow in the transaction that moves an account.

use crate::ids::KeyId;
use crate::master::MasterKey;
use crate::name::UserName;
use crate::store::{Account, Actor, Answers, KeyState, SchemeShare, Store, StoreError, WHOLE};
use crate::time::UnixTime;
use candor_opaque::{DefaultSuite, KsfParams, Record, Server};
use candor_primitives::mac::{HmacSha256, KeyInit, Mac};
use getrandom::{SysRng, rand_core::UnwrapErr};
use std::fmt;
use zeroize::Zeroizing;

/// The keys of a deployment, as they were when they were loaded. Load them again when [`Store::look_up`] finds another generation.
pub struct KeyRing {
    /// The oldest first, without those that are retired. There is one at least.
    keys: Vec<Key>,
    active: usize,
    generation: u64,
    imports: u64,
    old: Vec<SchemeShare>,
    draw: Draw,
}

struct Key {
    id: KeyId,
    server: Server<DefaultSuite>,
    /// In [`WHOLE`].
    moved: u64,
}

/// What a login is answered with: the arguments of [`Server::respond`]. It costs the same to find whether there is an account or not.
#[derive(Debug)]
#[non_exhaustive]
pub struct Basis<'a> {
    /// The key's name.
    pub key: KeyId,
    /// The server with that key.
    pub server: &'a Server<DefaultSuite>,
    /// The name to pass on.
    pub name: Vec<u8>,
    /// The record to pass on.
    pub record: Option<&'a Record>,
    /// How the client computes the old password hash that it has to log in with instead of the password; `None` for the password itself.
    pub old_hash: Option<String>,
}

impl KeyRing {
    /// The ring of a database. An empty one gets its first key, for clients that stretch with `ksf`.
    ///
    /// # Errors
    /// [`StoreError::MasterKey`], [`StoreError`].
    pub async fn open(store: &Store, ksf: KsfParams, now: UnixTime) -> Result<Self, StoreError> {
        if let Some(ring) = Self::load(store).await? {
            return Ok(ring);
        }
        store.add_key(fresh(ksf)?, true, Actor::Server, now).await?;
        Self::load(store).await?.ok_or_else(|| StoreError::Corrupt("the key ring has no active key".to_owned()))
    }

    /// The ring of a database; `None` if it has no keys yet.
    ///
    /// # Errors
    /// [`StoreError::MasterKey`], [`StoreError`].
    pub async fn load(store: &Store) -> Result<Option<Self>, StoreError> {
        let Answers { generation, imports, ring, schemes: old, .. } = store.answers().await?;
        let mut active = None;
        let mut keys = Vec::new();
        for key in ring {
            if key.state == KeyState::Retired {
                continue;
            }
            if key.state == KeyState::Active {
                active = Some(keys.len());
            }
            let server = Server::from_bytes(DefaultSuite::default(), &key.server)
                .map_err(|error| StoreError::Corrupt(format!("key {}: {error}", key.id)))?;
            keys.push(Key { id: key.id, server, moved: key.moved });
        }
        match active {
            Some(active) => Ok(Some(Self { keys, active, generation, imports, old, draw: Draw::new(store.master()) })),
            None if keys.is_empty() => Ok(None),
            None => Err(StoreError::Corrupt("no key of the ring is active".to_owned())),
        }
    }

    /// Adds a key for registrations, whose clients stretch as those of the active key do, and returns its name. The others go on answering the
    /// logins of their accounts. [Load](Self::load) the ring afterwards.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn rotate(&self, store: &Store, actor: Actor, now: UnixTime) -> Result<KeyId, StoreError> {
        self.rotate_to(self.active().1.ksf(), store, actor, now).await
    }

    /// As [`Self::rotate`], for clients that stretch with `ksf` from now on. Accounts keep the parameters that they were registered with until they
    /// register again, and names without an account move on with them.
    ///
    /// # Errors
    /// [`StoreError`].
    pub async fn rotate_to(
        &self,
        ksf: KsfParams,
        store: &Store,
        actor: Actor,
        now: UnixTime,
    ) -> Result<KeyId, StoreError> {
        store.add_key(fresh(ksf)?, false, actor, now).await
    }

    /// The key of new registrations.
    #[must_use]
    pub fn active(&self) -> (KeyId, &Server<DefaultSuite>) {
        let key = &self.keys[self.active];
        (key.id, &key.server)
    }

    /// The names of all keys that answer, the oldest first.
    pub fn ids(&self) -> impl Iterator<Item = KeyId> + '_ {
        self.keys.iter().map(|key| key.id)
    }

    /// The server with this key, unless it is retired or was added after the ring was loaded.
    #[must_use]
    pub fn server(&self, key: KeyId) -> Option<&Server<DefaultSuite>> {
        self.keys.iter().find(|other| other.id == key).map(|key| &key.server)
    }

    /// Counts the changes of what logins are answered with, as it was when the ring was loaded.
    #[must_use]
    pub fn generation(&self) -> u64 {
        self.generation
    }

    /// What a login to `name` is answered with. `account` is what the store has under that name. One whose import has not ended is answered as a name without an account is.
    ///
    /// # Errors
    /// [`StoreError::Unavailable`] if the account's key is not in the ring as it was loaded: load it again.
    pub fn basis<'a>(&'a self, name: &UserName, account: Option<&'a Account>) -> Result<Basis<'a>, StoreError> {
        let account = account.filter(|account| account.import <= self.imports);
        // Drawn for every name, so that the time does not tell whether it was needed.
        let drawn = self.draw_key(name);
        let (old_key, old_scheme) = self.draw_old(name).map_or((None, None), |(key, scheme)| (key, Some(scheme)));
        let key = match account {
            Some(account) => self.keys.iter().find(|key| key.id == account.key).ok_or_else(|| {
                StoreError::Unavailable(format!("key {} is not in the ring that was loaded", account.key))
            })?,
            None => old_key.unwrap_or(drawn),
        };
        let old_hash = match account {
            Some(account) => account.old_hash.clone(),
            None => old_scheme,
        };
        // When an account registers afresh it gets a new OPRF key. So does a name without one: no name has such an end.
        let end: &[u8] = if old_hash.is_some() { b"\0old" } else { b"" };
        Ok(Basis {
            key: key.id,
            server: &key.server,
            name: [name.key().as_bytes(), end].concat(),
            record: account.map(|account| &account.record),
            old_hash,
        })
    }

    /// The old scheme of a name without an account, and the key of its accounts; `None` if the name has no old scheme, or none any more.
    fn draw_old(&self, name: &UserName) -> Option<(Option<&Key>, String)> {
        let name = name.key().as_bytes();
        // Drawn for every name: the time must not tell whether the scheme is drawn or an account's.
        let all = self.old.iter().map(|scheme| scheme.imported).sum();
        let mut point = self.draw.below(all, &[b"old scheme", name]);
        let drawn = self.old.iter().find(|scheme| {
            let here = point < scheme.imported;
            point = point.saturating_sub(scheme.imported);
            here
        });
        let is_old = self.draw.below(WHOLE, &[b"old", name]);
        let SchemeShare { template, key, share, .. } = drawn?;
        let mut salt = (0_u32..).flat_map(|block| self.draw.bytes(&[b"old salt", &block.to_be_bytes(), name]));
        let scheme = template.scheme(|| salt.next().unwrap_or_default()).ok()?;
        let drawn = (self.keys.iter().find(|other| other.id == *key), scheme.to_string());
        (is_old < *share).then_some(drawn)
    }

    /// The key of a name without an account: it passes the keys from the oldest to the newest, and at each a draw says whether it has moved.
    fn draw_key(&self, name: &UserName) -> &Key {
        let mut chosen = &self.keys[0];
        for key in &self.keys[1..] {
            if self.draw.below(WHOLE, &[b"key", &key.id.0, name.key().as_bytes()]) < key.moved {
                chosen = key;
            }
        }
        chosen
    }
}

impl fmt::Debug for KeyRing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("KeyRing").field("active", &self.active().0).finish_non_exhaustive()
    }
}

#[cfg(test)]
thread_local! {
    /// How often this thread has drawn.
    pub(crate) static DRAWN: std::cell::Cell<u64> = const { std::cell::Cell::new(0) };
}

/// Draws that are fixed by what they are about, and that nobody without the master key foresees.
struct Draw(Zeroizing<[u8; 32]>);

impl Draw {
    fn new(master: &MasterKey) -> Self {
        Self(master.derive("names without an account"))
    }

    fn bytes(&self, about: &[&[u8]]) -> [u8; 32] {
        #[cfg(test)]
        DRAWN.set(DRAWN.get() + 1);
        let mut mac = HmacSha256::new_from_slice(self.0.as_slice()).expect("HMAC takes keys of any length");
        for part in about {
            mac.update(&(part.len() as u64).to_be_bytes());
            mac.update(part);
        }
        mac.finalize().into_bytes().into()
    }

    /// A number below `limit`; 0 if that is 0.
    fn below(&self, limit: u64, about: &[&[u8]]) -> u64 {
        let drawn = self.bytes(about).first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
        ((u128::from(drawn) * u128::from(limit)) >> 64) as u64
    }
}

fn fresh(ksf: KsfParams) -> Result<Zeroizing<Vec<u8>>, StoreError> {
    Server::generate(DefaultSuite::default(), ksf, &mut UnwrapErr(SysRng))
        .and_then(|server| server.to_bytes())
        .map_err(|error| StoreError::Other(format!("can't make a key: {error}")))
}
