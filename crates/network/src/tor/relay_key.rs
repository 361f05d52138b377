//! A relay's RSA identity, and the file that keeps it.

use crate::{Error, RelayKeys, files};
use candor_tor_directory::RelayKey;
use std::fs::File;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

/// The most bytes that a file may have: a key of 1,024 bits has 900.
const MOST: usize = 1 << 13;

/// A relay's RSA identity, which networks of C tor's name it by. The file is PEM (PKCS#1), and its owner alone may read it.
#[derive(Debug)]
pub struct TorRelayKey(Arc<RelayKey>);

impl TorRelayKey {
    /// A fresh identity.
    ///
    /// # Errors
    /// [`Error::Internal`] if there is no randomness.
    pub fn generate() -> Result<Self, Error> {
        RelayKey::generate().map(Arc::new).map(Self).map_err(|error| Error::Internal(error.to_string()))
    }

    /// The identity in the file, or a fresh one that is then in the file.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::KeyFile`] if others than its owner may read it, or it is no key of 1,024 bits with the exponent 65537.
    pub fn load_or_create(path: &Path) -> Result<Self, Error> {
        match File::open(path) {
            Ok(file) => {
                let text = files::read_secret(path, file, MOST)?;
                let wrong = |error: candor_tor_directory::Error| Error::KeyFile {
                    path: path.to_owned(),
                    why: error.to_string(),
                };
                RelayKey::from_pem(&text).map(Arc::new).map(Self).map_err(wrong)
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let made = Self::generate()?;
                let text = made.0.to_pem().map_err(|error| Error::Internal(error.to_string()))?;
                files::create(path, &text, 0o600)?;
                Ok(made)
            }
            Err(error) => Err(Error::file(path, &error)),
        }
    }

    /// A relay's keys with this identity beside the others. What the relay shows of it on links is made anew every day, by the relay's own clock.
    #[must_use]
    pub fn with(&self, keys: RelayKeys) -> RelayKeys {
        keys.with_rsa(Arc::clone(&self.0))
    }

    /// SHA-1 of it.
    pub fn fingerprint(&self) -> [u8; 20] {
        self.0.fingerprint()
    }

    pub(super) fn key(&self) -> &RelayKey {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn an_identity_lasts_in_a_file_that_is_the_owners_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("rsa");
        let made = TorRelayKey::load_or_create(&path).unwrap();
        assert_eq!(TorRelayKey::load_or_create(&path).unwrap().fingerprint(), made.fingerprint());
        assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        std::fs::write(&path, "something else\n").unwrap();
        assert!(matches!(TorRelayKey::load_or_create(&path), Err(Error::KeyFile { .. })));
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "something else\n", "it stays");
    }
}
