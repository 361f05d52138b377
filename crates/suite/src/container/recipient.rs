//! Who can open a container, and how a header carries the secret there.

use super::{ContainerError, Cost, LABEL};
use crate::Error;
use crate::key::{KeyKind, PublicKey, SecretKey};
use crate::rsa;
use candor_primitives::rsa::RsaError;
use candor_primitives::sm2::{Format, Sm2Error};
use zeroize::Zeroizing;

/// Who can open a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Recipient {
    /// The holder of a key: its kind, and what carries the secret there, which is a ciphertext, or the sender's public key of an agreement.
    Key(KeyKind, Vec<u8>),
    /// Whoever knows a password.
    Password(Cost),
}

/// Bytes of the secret that is encrypted to keys of RSA and SM2.
const SECRET: usize = 32;

/// What a sender puts into a header for a key.
pub(super) struct Sent {
    pub(super) part: Vec<u8>,
    pub(super) derived: Derived,
}

/// What the keys of a container are derived from, besides its header.
pub(super) struct Derived {
    pub(super) secret: Zeroizing<Vec<u8>>,
    /// The recipient's public key, where the secret comes from an agreement; otherwise nothing. The sender's is in the header.
    pub(super) public: Vec<u8>,
}

impl Derived {
    fn of(secret: &[u8]) -> Self {
        Self { secret: Zeroizing::new(secret.to_vec()), public: Vec::new() }
    }
}

impl Recipient {
    pub(super) const PASSWORD: u8 = 16;
    pub(super) const KEYS: [(u8, KeyKind); 11] = [
        (1, KeyKind::MlKem512),
        (2, KeyKind::MlKem768),
        (3, KeyKind::MlKem1024),
        (4, KeyKind::X25519),
        (5, KeyKind::P256),
        (6, KeyKind::P384),
        (7, KeyKind::Secp256k1),
        (8, KeyKind::Rsa2048),
        (9, KeyKind::Rsa3072),
        (10, KeyKind::Rsa4096),
        (11, KeyKind::Sm2),
    ];

    pub(super) fn number(&self) -> Option<u8> {
        match self {
            Self::Password(_) => Some(Self::PASSWORD),
            Self::Key(kind, _) => Self::KEYS.iter().find(|(_, other)| other == kind).map(|(number, _)| *number),
        }
    }

    pub(super) fn kind(number: u8) -> Option<KeyKind> {
        Self::KEYS.iter().find(|(other, _)| *other == number).map(|(_, kind)| *kind)
    }

    pub(super) fn title(&self) -> &'static str {
        match self {
            Self::Password(_) => "a password",
            Self::Key(kind, _) => kind.title(),
        }
    }

    /// Bytes of the part of a header that is the recipient's own, if there is a recipient of this number.
    pub(super) fn part_size(number: u8) -> Option<usize> {
        match Self::kind(number) {
            None if number == Self::PASSWORD => Some(3 * 4),
            None => None,
            Some(KeyKind::X25519) => Some(32),
            Some(KeyKind::P256 | KeyKind::Secp256k1) => Some(1 + 2 * 32),
            Some(KeyKind::P384) => Some(1 + 2 * 48),
            // A point, a digest, and as many bytes as the message has.
            Some(KeyKind::Sm2) => Some(1 + 2 * 32 + 32 + SECRET),
            Some(kind) => kind.ciphertext_size().or(kind.modulus_size()),
        }
    }
}

/// Encrypts a few bytes to one key.
type Encrypt<'a> = &'a dyn Fn(&[u8]) -> Result<Vec<u8>, Error>;

/// A fresh secret, on its way to the holder of this key.
pub(super) fn send(to: &PublicKey) -> Result<Sent, ContainerError> {
    let kind = to.kind();
    let encrypted = |by: Encrypt<'_>| -> Result<Sent, ContainerError> {
        let mut secret = Zeroizing::new(vec![0; SECRET]);
        getrandom::fill(&mut secret).map_err(|_| ContainerError::Randomness)?;
        Ok(Sent { part: by(&secret)?, derived: Derived { secret, public: Vec::new() } })
    };
    match to {
        PublicKey::MlKem512(_) | PublicKey::MlKem768(_) | PublicKey::MlKem1024(_) => {
            let (part, shared) = to.encapsulate()?;
            Ok(Sent { part, derived: Derived::of(shared.as_bytes()) })
        }
        PublicKey::X25519(_) | PublicKey::P256(_) | PublicKey::P384(_) | PublicKey::Secp256k1(_) => {
            let ephemeral = SecretKey::generate(kind)?;
            let derived = Derived { secret: ephemeral.agree(to)?, public: canonical(to)? };
            Ok(Sent { part: ephemeral.public_key()?.to_bytes()?, derived })
        }
        PublicKey::Rsa(key) => encrypted(&|secret| rsa::encrypt(key, secret, LABEL)),
        PublicKey::Sm2(key) => encrypted(&|secret| Ok(key.encrypt(secret, Format::C1C3C2)?)),
        PublicKey::Ed25519(_) => Err(kind.unsuitable("encrypt").into()),
    }
}

/// A public key as its holder computes it. X25519 takes a number of 255 bits that is not reduced, and ignores the bit above it (RFC 7748 §5).
fn canonical(key: &PublicKey) -> Result<Vec<u8>, ContainerError> {
    let mut bytes = key.to_bytes()?;
    if let (PublicKey::X25519(_), [first, between @ .., last]) = (key, &mut bytes[..]) {
        *last &= 0x7f;
        // From p = 2^255 − 19 on.
        if *first >= 0xed && *last == 0x7f && between.iter().all(|byte| *byte == 0xff) {
            *first -= 0xed;
            between.fill(0);
            *last = 0;
        }
    }
    Ok(bytes)
}

/// The secret that a header carries in `part` to the holder of this key, which is of the header's kind.
///
/// # Errors
/// [`ContainerError::WrongKey`] if the ciphertext is not one for this key; [`ContainerError::Key`] if the sender's public key is none.
pub(super) fn receive(key: &SecretKey, part: &[u8]) -> Result<Derived, ContainerError> {
    match key {
        SecretKey::MlKem512(_) | SecretKey::MlKem768(_) | SecretKey::MlKem1024(_) => {
            Ok(Derived::of(key.decapsulate(part)?.as_bytes()))
        }
        SecretKey::X25519(_) | SecretKey::P256(_) | SecretKey::P384(_) | SecretKey::Secp256k1(_) => {
            let secret = key.agree(&PublicKey::from_bytes(key.kind(), part)?)?;
            Ok(Derived { secret, public: key.public_key()?.to_bytes()? })
        }
        SecretKey::Rsa(key) => decrypted(rsa::decrypt(key, part, LABEL)),
        SecretKey::Sm2(key) => decrypted(key.decrypt(part, Format::C1C3C2).map_err(Error::from)),
        SecretKey::Ed25519(_) => Err(key.kind().unsuitable("decrypt").into()),
    }
}

/// Whatever is wrong with a ciphertext says the same as a commitment that does not match: only a fault is told apart.
fn decrypted(secret: Result<Zeroizing<Vec<u8>>, Error>) -> Result<Derived, ContainerError> {
    match secret {
        Ok(secret) if secret.len() == SECRET => Ok(Derived { secret, public: Vec::new() }),
        Err(error @ Error::Rsa(RsaError::Fault | RsaError::Randomness)) => Err(error.into()),
        Err(error @ Error::Sm2(Sm2Error::Randomness)) => Err(error.into()),
        Ok(_) | Err(_) => Err(ContainerError::WrongKey),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_primitives::dh::DhError;

    #[test]
    fn parts_are_as_long_as_their_kind_makes_them() {
        for (number, kind) in Recipient::KEYS.into_iter().filter(|(_, kind)| *kind != KeyKind::Rsa4096) {
            let key = SecretKey::generate(kind).unwrap();
            let sent = send(&key.public_key().unwrap()).unwrap();
            assert_eq!(Recipient::part_size(number), Some(sent.part.len()), "{}", kind.name());
            let received = receive(&key, &sent.part).unwrap();
            assert_eq!((received.secret, received.public), (sent.derived.secret, sent.derived.public));
        }
        assert_eq!((Recipient::part_size(10), Recipient::part_size(16)), (Some(512), Some(12)));
        assert_eq!((Recipient::part_size(0), Recipient::part_size(12)), (None, None));
        let key = SecretKey::generate(KeyKind::Ed25519).unwrap();
        assert!(send(&key.public_key().unwrap()).is_err());
    }

    #[test]
    fn an_agreement_that_does_not_depend_on_our_key_is_refused() {
        let key = SecretKey::generate(KeyKind::X25519).unwrap();
        let refused = |part: &[u8]| receive(&key, part).err();
        assert_eq!(refused(&[0; 32]), Some(ContainerError::Key(Error::Dh(DhError::NonContributory))));
        assert_eq!(refused(&[9; 32]), None);
        let key = SecretKey::generate(KeyKind::P256).unwrap();
        // No point of the curve, the point at infinity, and one that is cut short.
        for part in [vec![4; 65], vec![0], key.public_key().unwrap().to_bytes().unwrap()[..33].to_vec()] {
            assert!(matches!(receive(&key, &part), Err(ContainerError::Key(Error::Ec(_)))));
        }
        assert!(receive(&key, &key.public_key().unwrap().to_bytes().unwrap()).is_ok());
        assert!(send(&PublicKey::X25519([0; 32])).is_err(), "nor is one sent");
    }

    #[test]
    fn a_key_that_is_written_otherwise_is_the_same_recipient() {
        let key = SecretKey::generate(KeyKind::X25519).unwrap();
        let PublicKey::X25519(bytes) = key.public_key().unwrap() else { panic!("it is X25519's") };
        let mut above = bytes;
        above[31] |= 0x80;
        let sent = send(&PublicKey::X25519(above)).unwrap();
        let received = receive(&key, &sent.part).unwrap();
        assert_eq!((received.secret, received.public), (sent.derived.secret, sent.derived.public));
        // p + 9 is 9, the largest number that is reduced stays, and p is 0.
        let number = |first: u8, last: u8| {
            let mut bytes = [0xff; 32];
            (bytes[0], bytes[31]) = (first, last);
            canonical(&PublicKey::X25519(bytes)).unwrap()
        };
        let small = |first: u8| [&[first][..], &[0; 31]].concat();
        assert_eq!((number(0xf6, 0x7f), number(0xf6, 0xff)), (small(9), small(9)));
        assert_eq!((number(0xed, 0x7f), number(0xec, 0x7f)[..2].to_vec()), (small(0), vec![0xec, 0xff]));
    }

    #[test]
    fn a_message_to_a_key_is_no_part_of_a_header_nor_the_other_way_round() {
        let key = SecretKey::generate(KeyKind::Rsa2048).unwrap();
        let public = key.public_key().unwrap();
        assert_eq!(receive(&key, &public.encrypt(&[1; 32]).unwrap()).err(), Some(ContainerError::WrongKey));
        let sent = send(&public).unwrap();
        assert!(key.decrypt(&sent.part).is_err() && receive(&key, &sent.part).is_ok());
        // A secret of another length, by somebody who has the label right.
        let PublicKey::Rsa(inner) = &public else { panic!("it is RSA") };
        let short = rsa::encrypt(inner, &[1; 31], LABEL).unwrap();
        assert_eq!(receive(&key, &short).err(), Some(ContainerError::WrongKey));
        assert!(receive(&key, &rsa::encrypt(inner, &[1; 32], LABEL).unwrap()).is_ok());
    }
}
