//! The header, and the keys that come from it.

use super::recipient::{self, Derived, Recipient, Sent};
use super::{ContainerError, Cost, LABEL};
use crate::aead::AeadAlgorithm;
use crate::key::{PublicKey, SecretKey};
use candor_primitives::hash::Sha256;
use candor_primitives::kdf::Hkdf;
use candor_primitives::ksf::{Argon2id, Memory};
use subtle::ConstantTimeEq;
use zeroize::Zeroizing;

/// What every container begins with.
const MAGIC: &[u8; 16] = b"candor container";
const VERSION: u8 = 1;
/// The size of chunks, as a power of two. There is one in this version.
pub(super) const CHUNK_BITS: u8 = 16;
const SALT: usize = 32;
const COMMITMENT: usize = 32;
/// Bytes that say how long the header is: magic, version, recipient, cipher, size of chunks.
pub const PREFIX: usize = MAGIC.len() + 4;

/// The AEAD of the chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ContainerCipher {
    /// AES-256-GCM.
    #[default]
    Aes256Gcm,
    /// ChaCha20-Poly1305.
    ChaCha20Poly1305,
}

impl ContainerCipher {
    const ALL: [(u8, Self, AeadAlgorithm); 2] =
        [(1, Self::Aes256Gcm, AeadAlgorithm::Aes256Gcm), (2, Self::ChaCha20Poly1305, AeadAlgorithm::ChaCha20Poly1305)];

    fn number(self) -> u8 {
        Self::ALL.iter().find(|(_, cipher, _)| *cipher == self).map_or(0, |(number, ..)| *number)
    }

    /// As an algorithm.
    #[must_use]
    pub fn algorithm(self) -> AeadAlgorithm {
        match self {
            Self::Aes256Gcm => AeadAlgorithm::Aes256Gcm,
            Self::ChaCha20Poly1305 => AeadAlgorithm::ChaCha20Poly1305,
        }
    }
}

/// A header.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Who can open it.
    pub recipient: Recipient,
    /// The AEAD of its chunks.
    pub cipher: ContainerCipher,
    salt: [u8; SALT],
    commitment: [u8; COMMITMENT],
    /// All of it, as it stands in the file.
    bytes: Vec<u8>,
}

impl Header {
    /// How long a header is that begins with these bytes, of which [`PREFIX`] are looked at.
    ///
    /// # Errors
    /// [`ContainerError::Magic`], [`ContainerError::Unknown`]; [`ContainerError::HeaderLength`] if there are fewer.
    pub fn length(bytes: &[u8]) -> Result<usize, ContainerError> {
        let begins = bytes.len().min(MAGIC.len());
        if bytes[..begins] != MAGIC[..begins] || begins == 0 {
            return Err(ContainerError::Magic);
        }
        let Some(&[version, recipient, cipher, chunk]) = bytes.get(MAGIC.len()..PREFIX) else {
            return Err(ContainerError::HeaderLength { expected: PREFIX, got: bytes.len() });
        };
        let unknown = |what, got| Err(ContainerError::Unknown { what, got });
        if version != VERSION {
            return unknown("version", version);
        }
        if !ContainerCipher::ALL.iter().any(|(number, ..)| *number == cipher) {
            return unknown("cipher", cipher);
        }
        if chunk != CHUNK_BITS {
            return unknown("chunks of size 2 to the power of", chunk);
        }
        match Recipient::part_size(recipient) {
            Some(part) => Ok(PREFIX + SALT + part + COMMITMENT),
            None => unknown("recipient", recipient),
        }
    }

    /// Reads a header, of exactly the length that [`Self::length`] gives.
    ///
    /// # Errors
    /// As [`Self::length`], [`ContainerError::Cost`].
    pub fn parse(bytes: &[u8]) -> Result<Self, ContainerError> {
        let expected = Self::length(bytes)?;
        let wrong = || ContainerError::HeaderLength { expected, got: bytes.len() };
        if bytes.len() != expected {
            return Err(wrong());
        }
        let (body, commitment) = bytes.split_last_chunk::<COMMITMENT>().ok_or_else(wrong)?;
        let (salt, part) = body[PREFIX..].split_first_chunk::<SALT>().ok_or_else(wrong)?;
        let (number, cipher) = (bytes[MAGIC.len() + 1], bytes[MAGIC.len() + 2]);
        let recipient = match Recipient::kind(number) {
            Some(kind) => Recipient::Key(kind, part.to_vec()),
            None => {
                let word = |at: usize| part[at..].first_chunk().map_or(0, |bytes| u32::from_be_bytes(*bytes));
                let cost = Cost { memory: word(0), passes: word(4), lanes: word(8) };
                cost.params()?;
                Recipient::Password(cost)
            }
        };
        let cipher = ContainerCipher::ALL.iter().find(|(number, ..)| *number == cipher);
        let cipher = cipher.map(|(_, cipher, _)| *cipher).unwrap_or_default();
        Ok(Self { recipient, cipher, salt: *salt, commitment: *commitment, bytes: bytes.to_vec() })
    }

    /// The bytes, as they stand in the file.
    #[must_use]
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// A header with this secret, and the key of its chunks.
    fn new(
        recipient: Recipient,
        cipher: ContainerCipher,
        salt: [u8; SALT],
        derived: &Derived,
    ) -> Result<(Self, Zeroizing<[u8; 32]>), ContainerError> {
        let got = 0;
        let number = recipient.number().ok_or(ContainerError::Unknown { what: "recipient", got })?;
        let mut bytes = MAGIC.to_vec();
        bytes.extend_from_slice(&[VERSION, number, cipher.number(), CHUNK_BITS]);
        bytes.extend_from_slice(&salt);
        match &recipient {
            Recipient::Key(_, part) => bytes.extend_from_slice(part),
            Recipient::Password(Cost { memory, passes, lanes }) => {
                for word in [memory, passes, lanes] {
                    bytes.extend_from_slice(&word.to_be_bytes());
                }
            }
        }
        let (key, commitment) = derive(&salt, derived, &bytes);
        bytes.extend_from_slice(&commitment);
        Ok((Self { recipient, cipher, salt, commitment, bytes }, key))
    }

    pub(super) fn to_key(
        to: &PublicKey,
        cipher: ContainerCipher,
    ) -> Result<(Self, Zeroizing<[u8; 32]>), ContainerError> {
        let Sent { part, derived } = recipient::send(to)?;
        Self::new(Recipient::Key(to.kind(), part), cipher, fresh()?, &derived)
    }

    pub(super) fn to_password(
        password: &[u8],
        cost: Cost,
        cipher: ContainerCipher,
    ) -> Result<(Self, Zeroizing<[u8; 32]>), ContainerError> {
        let salt = fresh()?;
        let derived = stretched(password, &salt, cost)?;
        Self::new(Recipient::Password(cost), cipher, salt, &derived)
    }

    /// The key of the chunks, for the holder of this key.
    pub(super) fn opened_by_key(&self, key: &SecretKey) -> Result<Zeroizing<[u8; 32]>, ContainerError> {
        match &self.recipient {
            Recipient::Key(kind, part) if *kind == key.kind() => self.opened(&recipient::receive(key, part)?),
            other => Err(ContainerError::OtherRecipient { expected: other.title(), got: key.kind().title() }),
        }
    }

    /// The key of the chunks, for whoever knows this password.
    pub(super) fn opened_by_password(&self, password: &[u8]) -> Result<Zeroizing<[u8; 32]>, ContainerError> {
        match &self.recipient {
            Recipient::Password(cost) => self.opened(&stretched(password, &self.salt, *cost)?),
            other => Err(ContainerError::OtherRecipient { expected: other.title(), got: "a password" }),
        }
    }

    fn opened(&self, derived: &Derived) -> Result<Zeroizing<[u8; 32]>, ContainerError> {
        let (key, commitment) = derive(&self.salt, derived, &self.bytes[..self.bytes.len() - COMMITMENT]);
        if commitment.ct_eq(&self.commitment).into() { Ok(key) } else { Err(ContainerError::WrongKey) }
    }
}

/// The key of the chunks, and the commitment to it and to the header before it.
fn derive(salt: &[u8; SALT], derived: &Derived, header: &[u8]) -> (Zeroizing<[u8; 32]>, [u8; COMMITMENT]) {
    let mut both = Zeroizing::new([0; 32 + COMMITMENT]);
    let hkdf = Hkdf::<Sha256>::new(Some(salt), &derived.secret);
    let info = [LABEL, header, &derived.public];
    hkdf.expand_multi_info(&info, both.as_mut_slice()).expect("64 bytes are fewer than HKDF can give");
    let (mut key, mut commitment) = (Zeroizing::new([0; 32]), [0; COMMITMENT]);
    key.copy_from_slice(&both[..32]);
    commitment.copy_from_slice(&both[32..]);
    (key, commitment)
}

fn stretched(password: &[u8], salt: &[u8; SALT], cost: Cost) -> Result<Derived, ContainerError> {
    let params = cost.params()?;
    let failed = |error: candor_primitives::ksf::KsfError| ContainerError::Memory(error.to_string());
    let mut memory = Memory::new(params).map_err(failed)?;
    let mut secret = Zeroizing::new(vec![0; 32]);
    Argon2id::new(params).derive(password, salt, &mut memory, &mut secret).map_err(failed)?;
    Ok(Derived { secret, public: Vec::new() })
}

fn fresh() -> Result<[u8; SALT], ContainerError> {
    let mut salt = [0; SALT];
    getrandom::fill(&mut salt).map_err(|_| ContainerError::Randomness)?;
    Ok(salt)
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::key::KeyKind;

    const CHEAP: Cost = Cost { memory: 64, passes: 1, lanes: 1 };

    #[test]
    fn a_header_comes_back_and_opens_for_its_recipient_alone() {
        // RSA's sizes differ in nothing but their length, and large keys take long to make.
        let large = [KeyKind::Rsa3072, KeyKind::Rsa4096];
        for (_, kind) in Recipient::KEYS.into_iter().filter(|(_, kind)| !large.contains(kind)) {
            let (ours, other) = (SecretKey::generate(kind).unwrap(), SecretKey::generate(kind).unwrap());
            let (header, key) = Header::to_key(&ours.public_key().unwrap(), ContainerCipher::ChaCha20Poly1305).unwrap();
            let read = Header::parse(header.as_bytes()).unwrap();
            assert_eq!(read, header);
            assert_eq!(read.opened_by_key(&ours), Ok(key));
            assert_eq!(read.opened_by_key(&other), Err(ContainerError::WrongKey));
            assert!(matches!(read.opened_by_password(b"x"), Err(ContainerError::OtherRecipient { .. })));
        }
        let (header, key) = Header::to_password(b"a password", CHEAP, ContainerCipher::Aes256Gcm).unwrap();
        let read = Header::parse(header.as_bytes()).unwrap();
        assert_eq!((&read, read.opened_by_password(b"a password")), (&header, Ok(key)));
        assert_eq!(read.opened_by_password(b"a passwort"), Err(ContainerError::WrongKey));
        let key = SecretKey::generate(KeyKind::MlKem512).unwrap();
        assert!(matches!(read.opened_by_key(&key), Err(ContainerError::OtherRecipient { .. })));
    }

    #[test]
    fn the_recipients_public_key_goes_into_the_keys() {
        let with = |public: &[u8]| {
            derive(&[1; 32], &Derived { secret: Zeroizing::new(vec![2; 32]), public: public.to_vec() }, b"header")
        };
        let ((key, commitment), (other_key, other_commitment)) = (with(b"ours"), with(b"another's"));
        assert!(key != other_key && commitment != other_commitment);
        assert_eq!((&key, commitment), (&with(b"ours").0, with(b"ours").1));
    }

    #[test]
    fn every_byte_that_carries_a_secret_counts() {
        for kind in [KeyKind::MlKem512, KeyKind::X25519, KeyKind::P256, KeyKind::Sm2, KeyKind::Rsa2048] {
            let key = SecretKey::generate(kind).unwrap();
            let (header, _) = Header::to_key(&key.public_key().unwrap(), ContainerCipher::Aes256Gcm).unwrap();
            let opened = |bytes: &[u8]| Header::parse(bytes).and_then(|header| header.opened_by_key(&key));
            let part = PREFIX + SALT..header.as_bytes().len() - COMMITMENT;
            // An operation with the secret key for each: of long parts every ninth byte.
            for at in part.clone().step_by(if part.len() > 200 { 9 } else { 1 }) {
                let mut changed = header.as_bytes().to_vec();
                changed[at] ^= 1;
                assert!(opened(&changed).is_err(), "{}: byte {at}", kind.name());
            }
            assert!(opened(header.as_bytes()).is_ok(), "{}", kind.name());
            for length in [PREFIX, part.start, part.end - 1, part.end] {
                let cut = opened(&header.as_bytes()[..length]);
                assert!(matches!(cut, Err(ContainerError::HeaderLength { .. })), "{}: {length}", kind.name());
            }
        }
    }

    #[test]
    fn every_byte_of_a_header_counts() {
        let (header, _) = Header::to_password(b"x", CHEAP, ContainerCipher::Aes256Gcm).unwrap();
        for at in 0..header.as_bytes().len() {
            let mut changed = header.as_bytes().to_vec();
            changed[at] ^= 1;
            let opened = Header::parse(&changed).and_then(|header| header.opened_by_password(b"x"));
            assert!(opened.is_err(), "byte {at}");
        }
        // Another cipher is a valid header, and not this one.
        let mut changed = header.as_bytes().to_vec();
        changed[18] = ContainerCipher::ChaCha20Poly1305.number();
        let opened = Header::parse(&changed).and_then(|header| header.opened_by_password(b"x"));
        assert_eq!(opened, Err(ContainerError::WrongKey));
    }

    #[test]
    fn other_lengths_versions_and_costs_are_refused() {
        let (header, _) = Header::to_password(b"x", CHEAP, ContainerCipher::Aes256Gcm).unwrap();
        let bytes = header.as_bytes();
        assert_eq!(Header::length(b""), Err(ContainerError::Magic));
        assert_eq!(Header::length(b"candor"), Err(ContainerError::HeaderLength { expected: PREFIX, got: 6 }));
        assert_eq!(Header::length(&bytes[..PREFIX]), Ok(bytes.len()));
        assert!(matches!(Header::parse(&bytes[1..]), Err(ContainerError::Magic)));
        assert!(matches!(Header::parse(&bytes[..bytes.len() - 1]), Err(ContainerError::HeaderLength { .. })));
        assert!(matches!(Header::parse(&[bytes, &[0]].concat()), Err(ContainerError::HeaderLength { .. })));
        for (at, what) in [(16, "version"), (17, "recipient"), (18, "cipher")] {
            let mut changed = bytes.to_vec();
            changed[at] = 77;
            assert_eq!(Header::parse(&changed), Err(ContainerError::Unknown { what, got: 77 }));
        }
        let mut changed = bytes.to_vec();
        changed[PREFIX + SALT] = 0xff;
        assert!(matches!(Header::parse(&changed), Err(ContainerError::Cost { .. })));
    }
}
