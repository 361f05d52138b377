//! An authority's keys and the file that keeps them.
//!
//! ```text
//! candor authority keys 1
//! identity <Ed25519 seed> <ML-DSA-65 seed>
//! signing <when made, in seconds since 1970> <Ed25519 seed> <ML-DSA-65 seed>
//! ```
//!
//! Seeds are hexadecimal digits; the file is its owner's alone. The last line may come again, for an older signing key. A signing key holds for
//! 90 days; the next is made 30 days before it ends, and both hold meanwhile, so that what the old one signed stays valid. A running authority
//! renews its keys and replaces the file in one step. The identity lasts: clients know it by its fingerprint.

use crate::keys::random;
use crate::{Error, files};
use candor_onion::directory::{Certificate, Fingerprint, SecretKey};
use std::fmt;
use std::fmt::Write as _;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

const HEAD: &str = "candor authority keys 1";
const MOST: usize = 4096;
const DAY: u64 = 24 * 3600;
/// For how long a signing key holds.
const LIFETIME: u64 = 90 * DAY;
/// For how long before its end there is another.
const OVERLAP: u64 = 30 * DAY;
/// A certificate begins so long before its key was made, for clocks that are behind.
const SLACK: u64 = DAY;
/// Signing keys in a file.
const MOST_SIGNING: usize = 4;

type Seeds = Zeroizing<[[u8; 32]; 2]>;

/// An authority's lasting identity and its signing keys. Wiped on drop.
pub struct AuthorityKeys {
    identity_seeds: Seeds,
    fingerprint: Fingerprint,
    /// The newest first.
    signing: Vec<Signing>,
    path: Option<PathBuf>,
}

struct Signing {
    made: u64,
    seeds: Seeds,
    key: SecretKey,
    certificate: Certificate,
}

fn key(seeds: &Seeds) -> Result<SecretKey, Error> {
    SecretKey::from_seeds(&seeds[0], &seeds[1]).map_err(internal)
}

fn internal(error: candor_onion::Error) -> Error {
    Error::Internal(error.to_string())
}

fn seeds() -> Result<Seeds, Error> {
    Ok(Zeroizing::new([*random()?, *random()?]))
}

impl Signing {
    fn new(identity: &SecretKey, made: u64, seeds: Seeds) -> Result<Self, Error> {
        let key = key(&seeds)?;
        let (from, until) = (made.saturating_sub(SLACK), made.saturating_add(LIFETIME));
        let certificate = Certificate::issue(identity, key.public(), from, until).map_err(internal)?;
        Ok(Self { made, seeds, key, certificate })
    }

    fn clone(&self, identity: &SecretKey) -> Result<Self, Error> {
        Self::new(identity, self.made, self.seeds.clone())
    }
}

impl AuthorityKeys {
    /// Fresh keys.
    ///
    /// # Errors
    /// [`Error::Internal`] without randomness.
    pub fn generate(now: u64) -> Result<Self, Error> {
        Self::new(seeds()?, vec![(now, seeds()?)])
    }

    fn new(identity_seeds: Seeds, signing: Vec<(u64, Seeds)>) -> Result<Self, Error> {
        let identity = key(&identity_seeds)?;
        let signing =
            signing.into_iter().map(|(made, seeds)| Signing::new(&identity, made, seeds)).collect::<Result<_, _>>()?;
        Ok(Self { identity_seeds, fingerprint: identity.public().fingerprint(), signing, path: None })
    }

    /// The keys in the file, or fresh ones that are then in the file. An authority that is started with them keeps the file up to date.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::KeyFile`] if others than its owner may read it, or it is not a key file.
    pub fn load_or_create(path: &Path, now: u64) -> Result<Self, Error> {
        let mut keys = match File::open(path) {
            Ok(file) => {
                let text = files::read_secret(path, file, MOST)?;
                Self::parse(&text).map_err(|why| Error::KeyFile { path: path.to_owned(), why })?
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let keys = Self::generate(now)?;
                files::create(path, &keys.text(), 0o600)?;
                keys
            }
            Err(error) => return Err(Error::file(path, &error)),
        };
        keys.path = Some(path.to_owned());
        Ok(keys)
    }

    /// Reads a key file's text.
    ///
    /// # Errors
    /// What is wrong with the text; never a key in it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let damaged = |name: &str| format!("the line `{name}` is damaged; restore the file from a backup");
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Err(format!("expected `{HEAD}` in the first line"));
        }
        let mut words = lines.next().unwrap_or_default().split(' ');
        let identity = match (words.next(), seeds_of(&mut words), words.next()) {
            (Some("identity"), Some(seeds), None) => seeds,
            _ => return Err(damaged("identity")),
        };
        let mut signing = Vec::new();
        for line in lines {
            let mut words = line.split(' ');
            let (name, made) = (words.next(), words.next().and_then(|made| made.parse().ok()));
            match (name, made, seeds_of(&mut words), words.next()) {
                (Some("signing"), Some(made), Some(seeds), None) if signing.len() < MOST_SIGNING => {
                    signing.push((made, seeds))
                }
                _ => return Err(damaged("signing")),
            }
        }
        if signing.is_empty() || !signing.is_sorted_by(|new, old| new.0 > old.0) {
            return Err("expected signing keys, the newest first; restore the file from a backup".to_owned());
        }
        Self::new(identity, signing).map_err(|error| error.to_string())
    }

    fn text(&self) -> Zeroizing<String> {
        let mut text = Zeroizing::new(String::with_capacity(MOST));
        let put = |text: &mut String, seeds: &Seeds| {
            for seed in seeds.iter() {
                let digits = Zeroizing::new(base16ct::lower::encode_string(seed));
                write!(text, " {}", *digits).expect("writing to memory");
            }
            text.push('\n');
        };
        text.push_str(HEAD);
        text.push_str("\nidentity");
        put(&mut text, &self.identity_seeds);
        for signing in &self.signing {
            write!(text, "signing {}", signing.made).expect("writing to memory");
            put(&mut text, &signing.seeds);
        }
        text
    }

    /// What the authority is known by.
    pub fn fingerprint(&self) -> &Fingerprint {
        &self.fingerprint
    }

    /// The key to sign with at that time, and its certificate: the newest that holds, for a while already if there is an older one that
    /// does.
    pub(super) fn signing(&self, at: u64) -> Option<(&SecretKey, &Certificate)> {
        let mut holding =
            self.signing.iter().filter(|signing| (signing.certificate.from..signing.certificate.until).contains(&at));
        holding.next().map(|signing| (&signing.key, &signing.certificate))
    }

    /// Whether a new signing key is due.
    pub(super) fn is_due(&self, now: u64) -> bool {
        self.signing[0].made.saturating_add(LIFETIME - OVERLAP) <= now
    }

    /// These keys with a new signing key, in the file too. Keys that have ended are dropped.
    pub(super) fn renewed(&self, now: u64) -> Result<Self, Error> {
        let identity = key(&self.identity_seeds)?;
        let holds = |signing: &&Signing| signing.made < now && now < signing.certificate.until;
        let mut signing = vec![Signing::new(&identity, now, seeds()?)?];
        for old in self.signing.iter().filter(holds).take(MOST_SIGNING - 1) {
            signing.push(old.clone(&identity)?);
        }
        let keys = Self {
            identity_seeds: self.identity_seeds.clone(),
            fingerprint: self.fingerprint,
            signing,
            path: self.path.clone(),
        };
        if let Some(path) = &keys.path {
            files::replace(path, keys.text().as_bytes(), 0o600)?;
        }
        Ok(keys)
    }
}

fn seeds_of<'a>(words: &mut impl Iterator<Item = &'a str>) -> Option<Seeds> {
    let mut seeds = Zeroizing::new([[0; 32]; 2]);
    for seed in seeds.iter_mut() {
        base16ct::mixed::decode(words.next()?, seed).ok().filter(|bytes| bytes.len() == 32)?;
    }
    Some(seeds)
}

impl fmt::Debug for AuthorityKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "AuthorityKeys({})", base16ct::lower::encode_string(&self.fingerprint))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    const NOW: u64 = 1_800_000_000;

    #[test]
    fn keys_last_in_a_file_that_is_the_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("authority");
        let made = AuthorityKeys::load_or_create(&path, NOW).unwrap();
        let read = AuthorityKeys::load_or_create(&path, NOW + 1).unwrap();
        assert_eq!(*made.text(), *read.text());
        assert_eq!(made.fingerprint(), read.fingerprint());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        let good = std::fs::read_to_string(&path).unwrap();
        for wrong in [
            "",
            "something else",
            &good[..good.len() / 2],
            &good.replace("signing 1", "signing x"),
            &format!("{good}x\n"),
        ] {
            std::fs::write(&path, wrong).unwrap();
            assert!(matches!(AuthorityKeys::load_or_create(&path, NOW), Err(Error::KeyFile { .. })), "{wrong:.40}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), wrong);
        }
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o644)).unwrap();
        assert!(AuthorityKeys::load_or_create(&path, NOW).unwrap_err().to_string().contains("chmod 600"));
    }

    #[test]
    fn a_signing_key_is_renewed_before_it_ends_and_both_hold_meanwhile() {
        let folder = tempfile::tempdir().unwrap();
        let first = AuthorityKeys::load_or_create(&folder.path().join("authority"), NOW).unwrap();
        assert!(!first.is_due(NOW + 60 * DAY - 1));
        let renewal = NOW + 60 * DAY;
        assert!(first.is_due(renewal) && first.signing(NOW + 90 * DAY).is_none());
        let second = first.renewed(renewal).unwrap();
        assert!(!second.is_due(renewal));
        assert_eq!(second.fingerprint(), first.fingerprint());
        let read = AuthorityKeys::load_or_create(&folder.path().join("authority"), renewal).unwrap();
        assert_eq!(*read.text(), *second.text(), "a restart goes on with the same");
        let [old, new] = [&first, &second].map(|keys| keys.signing(renewal).unwrap().1.clone());
        assert_ne!(old.signing, new.signing);
        assert!(old.until > renewal + 29 * DAY && new.from < renewal, "they overlap");
        assert_eq!(second.signing.len(), 2);
        let third = second.renewed(renewal + 60 * DAY).unwrap();
        assert_eq!(third.signing.len(), 2, "the first has ended");
    }

    #[test]
    fn keys_that_can_not_be_saved_are_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("authority");
        let keys = AuthorityKeys::load_or_create(&path, NOW).unwrap();
        std::fs::create_dir(folder.path().join("authority.partial")).unwrap();
        assert!(keys.renewed(NOW + 60 * DAY).is_err());
        std::fs::remove_dir(folder.path().join("authority.partial")).unwrap();
        keys.renewed(NOW + 60 * DAY).unwrap();
    }
}
