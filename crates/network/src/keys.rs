//! A relay's lasting keys and the file that keeps them.
//!
//! The file is text, a key a line in hexadecimal digits. Its owner alone may read it:
//!
//! ```text
//! candor relay keys 1
//! identity <Ed25519 seed>
//! x25519 <secret>
//! ml-kem-512 <secret> <public>
//! ml-kem-768 <secret> <public>
//! ml-kem-1024 <secret> <public>
//! ```

use crate::Error;
use crate::onion_keys::{KEMS, OnionSecrets};
use crate::relay_list::ListedRelay;
use candor_onion::circuit::OnionKeys;
use candor_onion::handshake::HandshakeType;
use candor_onion::link::RelayIdentity;
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::net::SocketAddr;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::Path;
use zeroize::Zeroizing;

const HEAD: &str = "candor relay keys 1";

/// A relay's identity and onion keys. Wiped on drop.
pub struct RelayKeys {
    identity: Zeroizing<[u8; 32]>,
    onion: OnionSecrets,
    /// The public identity.
    id: [u8; 32],
    x25519_public: [u8; 32],
}

impl RelayKeys {
    /// Fresh keys.
    ///
    /// # Errors
    /// [`Error::Internal`] if there is no randomness.
    pub fn generate() -> Result<Self, Error> {
        Self::new(random()?, OnionSecrets::generate()?)
    }

    fn new(identity: Zeroizing<[u8; 32]>, onion: OnionSecrets) -> Result<Self, Error> {
        let id = *RelayIdentity::from_seeds(&identity, &[0; 32], &[0; 32], 0).id();
        Ok(Self { identity, id, x25519_public: onion.x25519_public()?, onion })
    }

    /// The keys in the file, or fresh ones that are then in the file.
    ///
    /// # Errors
    /// [`Error::File`]; [`Error::KeyFile`] if others than its owner may read it, or it is not a key file.
    pub fn load_or_create(path: &Path) -> Result<Self, Error> {
        match File::open(path) {
            Ok(file) => Self::load(path, file),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let keys = Self::generate()?;
                keys.save(path)?;
                Ok(keys)
            }
            Err(error) => Err(Error::file(path, &error)),
        }
    }

    fn load(path: &Path, file: File) -> Result<Self, Error> {
        let wrong = |why: String| Error::KeyFile { path: path.to_owned(), why };
        let metadata = file.metadata().map_err(|error| Error::file(path, &error))?;
        if !metadata.is_file() {
            return Err(wrong("it is no file".to_owned()));
        }
        let mode = metadata.permissions().mode();
        if mode & 0o077 != 0 {
            return Err(wrong(format!(
                "others may read or change it (mode {:03o}); make it yours alone: chmod 600 {}",
                mode & 0o777,
                path.display()
            )));
        }
        // A key file has less than 20,000 bytes. Room for them beforehand, so that no copy is left behind by growing.
        let mut text = Zeroizing::new(String::with_capacity(1 << 16));
        file.take(1 << 16).read_to_string(&mut text).map_err(|error| Error::file(path, &error))?;
        Self::parse(&text).map_err(wrong)
    }

    /// Reads a key file's text.
    ///
    /// # Errors
    /// What is wrong with the text; never a key in it.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut lines = text.lines();
        if lines.next() != Some(HEAD) {
            return Err(format!("the first line is not `{HEAD}`"));
        }
        let mut next = |name: &str| {
            let line = lines.next().and_then(|line| line.strip_prefix(name)).and_then(|line| line.strip_prefix(' '));
            line.ok_or_else(|| format!("there is no line `{name} …` where it should be"))
        };
        let wrong = |name: &str| format!("the key {name} is not one; restore the file from where it was saved");
        let key = |name: &str, text: &str| {
            let bytes = decode(text).and_then(|bytes| bytes.as_slice().try_into().map(Zeroizing::new).ok());
            bytes.ok_or_else(|| wrong(name))
        };
        let identity = key("identity", next("identity")?)?;
        let x25519 = key("x25519", next("x25519")?)?;
        let mut kem = |name: &str| {
            let (secret, public) = next(name)?.split_once(' ').ok_or_else(|| wrong(name))?;
            let pair = decode(secret).zip(decode(public)).ok_or_else(|| wrong(name))?;
            Ok::<_, String>((pair.0, pair.1.to_vec()))
        };
        let kems = [kem(KEMS[0])?, kem(KEMS[1])?, kem(KEMS[2])?];
        if lines.next().is_some() {
            return Err("there are lines behind the last key".to_owned());
        }
        let keys = Self::new(identity, OnionSecrets { x25519, kems }).map_err(|error| error.to_string())?;
        // Parses every key once, so that a broken file is found now and not at the first circuit.
        keys.onion.offer(&keys.id, &HandshakeType::ALL).map_err(|error| error.to_string())?;
        Ok(keys)
    }

    fn save(&self, path: &Path) -> Result<(), Error> {
        let mut text = Zeroizing::new(String::with_capacity(1 << 15));
        let put = |text: &mut String, name: &str, key: &[u8]| {
            let digits = Zeroizing::new(base16ct::lower::encode_string(key));
            write!(text, "{name} {}", *digits).expect("writing to memory");
        };
        text.push_str(HEAD);
        put(&mut text, "\nidentity", self.identity.as_slice());
        put(&mut text, "\nx25519", self.onion.x25519.as_slice());
        for (name, (secret, public)) in KEMS.iter().zip(&self.onion.kems) {
            put(&mut text, &format!("\n{name}"), secret);
            put(&mut text, "", public);
        }
        text.push('\n');
        let failed = |error: std::io::Error| Error::file(path, &error);
        let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(failed)?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(failed)
    }

    /// The public identity, an Ed25519 key.
    pub fn id(&self) -> &[u8; 32] {
        &self.id
    }

    /// What others need to know to reach the relay at `address`: its line in a relay list.
    ///
    /// # Errors
    /// [`Error::Internal`] if a library fails.
    pub fn listed(
        &self,
        name: Option<String>,
        address: SocketAddr,
        handshakes: &[HandshakeType],
    ) -> Result<ListedRelay, Error> {
        let kems = [0, 1, 2].map(|index| self.onion.kems[index].1.clone());
        ListedRelay::new(name, address, self.id, self.x25519_public, kems, handshakes)
    }

    pub(crate) fn onion_keys(&self, handshakes: &[HandshakeType]) -> Result<OnionKeys, Error> {
        self.onion.offer(&self.id, handshakes)
    }

    /// The identity with fresh keys below it, for links made from now on.
    pub(crate) fn link_identity(&self, now: u64) -> Result<RelayIdentity, Error> {
        Ok(RelayIdentity::from_seeds(&self.identity, &*random()?, &*random()?, now))
    }
}

impl std::fmt::Debug for RelayKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "RelayKeys({})", base16ct::lower::encode_string(&self.id))
    }
}

/// The bytes behind hexadecimal digits. Wiped on drop, since most are secret keys.
fn decode(text: &str) -> Option<Zeroizing<Vec<u8>>> {
    base16ct::mixed::decode_vec(text).ok().map(Zeroizing::new)
}

/// Random bytes of the operating system.
pub(crate) fn random<const N: usize>() -> Result<Zeroizing<[u8; N]>, Error> {
    let mut bytes = Zeroizing::new([0; N]);
    getrandom::fill(bytes.as_mut_slice())
        .map_err(|error| Error::Internal(format!("no randomness from the operating system: {error}")))?;
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_last_in_a_file_that_is_the_owners_alone() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        let made = RelayKeys::load_or_create(&path).unwrap();
        let read = RelayKeys::load_or_create(&path).unwrap();
        let address = "127.0.0.1:1".parse().unwrap();
        let line = |keys: &RelayKeys| keys.listed(None, address, &HandshakeType::ALL).unwrap().to_line();
        assert_eq!(line(&made), line(&read));
        let mode = std::fs::metadata(&path).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);

        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o640)).unwrap();
        let error = RelayKeys::load_or_create(&path).unwrap_err().to_string();
        assert!(error.contains("chmod 600") && error.contains("640"), "{error}");
    }

    #[test]
    fn a_key_file_that_is_none_is_an_error_and_stays_as_it_is() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("keys");
        let keys = RelayKeys::generate().unwrap();
        keys.save(&path).unwrap();
        let good = std::fs::read_to_string(&path).unwrap();
        let cut = &good[..good.len() / 2];
        let flipped = good.replace("\nx25519 ", "\nx25519 zz");
        for wrong in
            ["", "something else\n", cut, &flipped, &format!("{good}more\n"), &good.replace("ml-kem-768", "ml-kem-769")]
        {
            std::fs::write(&path, wrong).unwrap();
            assert!(matches!(RelayKeys::load_or_create(&path), Err(Error::KeyFile { .. })), "{wrong:.40}");
            assert_eq!(std::fs::read_to_string(&path).unwrap(), wrong);
        }
        assert!(matches!(RelayKeys::load_or_create(dir.path()), Err(Error::KeyFile { .. })), "a directory");
    }
}
