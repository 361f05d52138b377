//! The master key of a deployment: the one secret that is not in the database.
//!
//! It seals the key ring and keys the audit log's chain. Without it a copy of the database is worth nothing to a thief who wants to try
//! passwords, and nobody who can write to the database can rewrite its history. Every instance of a deployment needs it. Keep a copy apart from
//! the database's backups.

use crate::ids::{NoRandomness, random};
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use candor_primitives::mac::{HmacSha256, KeyInit, Mac};
use std::fmt;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use zeroize::Zeroizing;

/// 32 secret bytes, from which the deployment's other keys are derived. Wiped on drop.
#[derive(Clone)]
pub struct MasterKey(Zeroizing<[u8; 32]>);

impl MasterKey {
    /// A fresh key.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    pub fn generate() -> Result<Self, NoRandomness> {
        random().map(Zeroizing::new).map(Self)
    }

    /// The key with these bytes.
    #[must_use]
    pub fn from_bytes(bytes: [u8; 32]) -> Self {
        Self(Zeroizing::new(bytes))
    }

    /// Reads 64 hexadecimal digits, as the key's file has them; white space around them does not matter.
    ///
    /// # Errors
    /// [`MasterKeyError::Format`].
    pub fn parse(text: &str) -> Result<Self, MasterKeyError> {
        let mut bytes = Zeroizing::new([0; 32]);
        match base16ct::mixed::decode(text.trim_ascii(), bytes.as_mut_slice()) {
            Ok(decoded) if decoded.len() == 32 => Ok(Self(bytes)),
            _ => Err(MasterKeyError::Format),
        }
    }

    /// The key in `file`. Nobody but its owner may be able to read it.
    ///
    /// # Errors
    /// [`MasterKeyError`].
    pub fn load(file: &Path) -> Result<Self, MasterKeyError> {
        let failed = |error: std::io::Error| MasterKeyError::Read(file.display().to_string(), error.to_string());
        let mut open = File::open(file).map_err(failed)?;
        if open.metadata().map_err(failed)?.mode() & 0o077 != 0 {
            return Err(MasterKeyError::Exposed(file.display().to_string()));
        }
        let mut text = Zeroizing::new(String::with_capacity(256));
        (&mut open).take(256).read_to_string(&mut text).map_err(failed)?;
        Self::parse(&text)
    }

    /// The key in `file`; a fresh one, written there, if there is no such file. Of several processes that try at once one writes the file.
    ///
    /// # Errors
    /// [`MasterKeyError`].
    pub fn load_or_create(file: &Path) -> Result<Self, MasterKeyError> {
        match Self::create(file) {
            Err(MasterKeyError::Exists(_)) => Self::load(file),
            other => other,
        }
    }

    /// A fresh key, written to `file`, which must not exist, and on the disk when this returns.
    ///
    /// # Errors
    /// [`MasterKeyError`].
    pub fn create(file: &Path) -> Result<Self, MasterKeyError> {
        let name = || file.display().to_string();
        if file.exists() {
            return Err(MasterKeyError::Exists(name()));
        }
        let failed = |error: std::io::Error| match error.kind() {
            ErrorKind::AlreadyExists => MasterKeyError::Exists(name()),
            _ => MasterKeyError::Write(name(), error.to_string()),
        };
        let key = Self::generate().map_err(|error| MasterKeyError::Write(name(), error.to_string()))?;
        // Written beside its place first, so that nobody finds half a file there.
        let mut beside = file.as_os_str().to_owned();
        beside.push(format!(".{}", std::process::id()));
        let beside = Path::new(&beside);
        let written = (|| {
            let mut open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(beside)?;
            open.write_all(&key.to_digits())?;
            open.write_all(b"\n")?;
            open.sync_all()?;
            std::fs::hard_link(beside, file)?;
            let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
            File::open(folder.unwrap_or(Path::new(".")))?.sync_all()
        })();
        let _ = std::fs::remove_file(beside);
        written.map_err(failed).map(|()| key)
    }

    /// A key for one use, named by `label`.
    #[must_use]
    pub fn derive(&self, label: &str) -> Zeroizing<[u8; 32]> {
        Zeroizing::new(self.mac(&[b"candor-login-1: derive ", label.as_bytes()]))
    }

    /// What a database keeps to know its master key again.
    pub(crate) fn check_value(&self) -> [u8; 32] {
        *self.derive("check")
    }

    /// `secret` encrypted and authenticated: nonce, ciphertext, tag. `bound` must be the same when it is opened.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    pub(crate) fn seal(&self, bound: &[u8], secret: &[u8]) -> Result<Vec<u8>, NoRandomness> {
        let nonce: [u8; NONCE_LEN] = random()?;
        let mut bytes = Zeroizing::new(secret.to_vec());
        // Fails for secrets of 64 GiB.
        let tag = self
            .sealing_key()
            .seal_in_place_separate_tag(Nonce::assume_unique_for_key(nonce), Aad::from(bound), &mut bytes)
            .expect("keys are short");
        Ok([&nonce[..], &bytes, tag.as_ref()].concat())
    }

    /// Opens what [`Self::seal`] made.
    pub(crate) fn open(&self, bound: &[u8], sealed: &[u8]) -> Option<Zeroizing<Vec<u8>>> {
        let (nonce, rest) = sealed.split_first_chunk::<NONCE_LEN>()?;
        let mut bytes = Zeroizing::new(rest.to_vec());
        let nonce = Nonce::assume_unique_for_key(*nonce);
        let length = self.sealing_key().open_in_place(nonce, Aad::from(bound), &mut bytes).ok()?.len();
        bytes.truncate(length);
        Some(bytes)
    }

    fn sealing_key(&self) -> LessSafeKey {
        let key = self.derive("key ring");
        LessSafeKey::new(UnboundKey::new(&AES_256_GCM, key.as_slice()).expect("a key of AES-256 has 32 bytes"))
    }

    fn mac(&self, parts: &[&[u8]]) -> [u8; 32] {
        let mut mac = HmacSha256::new_from_slice(self.0.as_slice()).expect("HMAC takes keys of any length");
        parts.iter().for_each(|part| mac.update(part));
        mac.finalize().into_bytes().into()
    }

    fn to_digits(&self) -> Zeroizing<Vec<u8>> {
        let mut digits = Zeroizing::new(vec![0; 64]);
        let _ = base16ct::lower::encode(self.0.as_slice(), &mut digits);
        digits
    }
}

impl fmt::Debug for MasterKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("MasterKey(..)")
    }
}

/// Why there is no master key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum MasterKeyError {
    /// The text is no key.
    #[error("master key is not 64 hexadecimal digits")]
    Format,
    /// The file can't be read.
    #[error("can't read the master key {0}: {1}")]
    Read(String, String),
    /// The file can't be written.
    #[error("can't write the master key {0}: {1}")]
    Write(String, String),
    /// The file is there already.
    #[error("master key {0} exists; a new one would make the database useless")]
    Exists(String),
    /// There is no such file, and there is a database, which was made with its key.
    #[error(
        "there is a database, but its master key {0} is missing; put the key in its place, or name its file with `master-key`"
    )]
    Missing(String),
    /// Others can read the file.
    #[error("others than its owner can read the master key {0}; run chmod 600 on it")]
    Exposed(String),
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    #[test]
    fn a_key_comes_back_from_its_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("master.key");
        let made = MasterKey::load_or_create(&file).unwrap();
        assert_eq!(*MasterKey::load(&file).unwrap().0, *made.0);
        assert_eq!(*MasterKey::load_or_create(&file).unwrap().0, *made.0);
        assert_eq!(std::fs::metadata(&file).unwrap().mode() & 0o777, 0o600);
        assert_eq!(MasterKey::create(&file).unwrap_err(), MasterKeyError::Exists(file.display().to_string()));
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_file_that_others_can_read_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("master.key");
        MasterKey::create(&file).unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
        assert!(matches!(MasterKey::load(&file), Err(MasterKeyError::Exposed(_))));
    }

    #[test]
    fn a_text_that_is_no_key_is_refused() {
        let digits = "0123456789abcdef".repeat(4);
        assert!(MasterKey::parse(&format!(" {digits}\n")).is_ok());
        for text in ["", &digits[1..], &format!("{digits}0"), &digits.replace('f', "g")] {
            assert_eq!(MasterKey::parse(text).unwrap_err(), MasterKeyError::Format, "{text:?}");
        }
    }

    #[test]
    fn what_is_sealed_opens_with_the_same_key_and_place_only() {
        let (key, other) = (MasterKey::from_bytes([1; 32]), MasterKey::from_bytes([2; 32]));
        let sealed = key.seal(b"place", b"secret").unwrap();
        assert_eq!(key.open(b"place", &sealed).unwrap().as_slice(), b"secret");
        assert!(key.open(b"elsewhere", &sealed).is_none());
        assert!(other.open(b"place", &sealed).is_none());
        assert!(key.open(b"place", &[]).is_none());
        for at in 0..sealed.len() {
            let mut damaged = sealed.clone();
            damaged[at] ^= 1;
            assert!(key.open(b"place", &damaged).is_none(), "byte {at}");
        }
    }
}
