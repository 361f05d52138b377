//! Descriptors: what a relay says of itself, signed.

use super::keys::{Label, digest_of};
use super::relay::{family, put_family};
use super::{InvalidDocument, PublicKey, Relay, SecretKey, Signature, possession};
use crate::Error;
use crate::parts::Parts;
use alloc::vec::Vec;
use candor_primitives::hash::{Digest, Sha256};

/// The most bytes that a descriptor may have.
pub const MOST_DESCRIPTOR: usize = 16 << 10;
/// Bytes of the public keys of ML-KEM-512, 768 and 1024.
pub const KEM_LENGTHS: [usize; 3] = [800, 1184, 1568];

const MAGIC: &str = "candor relay 1\n";
const WHAT: &str = "relay descriptor";

/// SHA-256 of a KEM's public key: how the consensus names it.
pub fn kem_digest(key: &[u8]) -> [u8; 32] {
    Sha256::digest(key).into()
}

/// A relay's descriptor, whose signatures have been verified.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Descriptor {
    /// What the consensus will say.
    pub relay: Relay,
    /// The relays that it declares to be run by the same people, ascending. Counts only if they declare it too.
    pub family: Vec<[u8; 32]>,
    /// Its static KEM keys, of which `relay` has the digests.
    pub kems: [Option<Vec<u8>>; 3],
}

/// What a relay wants to publish; its identity, fingerprint and digests come from the keys that sign.
#[derive(Clone, Debug)]
pub struct Drafted {
    /// The relay. `identity`, `fingerprint`, `x25519` and `kems` may have any value.
    pub relay: Relay,
    /// As in [`Descriptor::family`], in any order.
    pub family: Vec<[u8; 32]>,
    /// As in [`Descriptor::kems`].
    pub kems: [Option<Vec<u8>>; 3],
}

impl Drafted {
    /// The signed document: MAGIC 15 | RELAY | FAMILY | KEM keys, each of its length | PUBLIC KEY 1984 | PROOF 65 | SIGNATURE 3373. `x25519` is
    /// the onion key with its public key.
    ///
    /// # Errors
    /// What [`Descriptor::decode`] would say, for instance if the name isn't ASCII.
    pub fn sign(mut self, key: &SecretKey, x25519: (&[u8; 32], [u8; 32])) -> Result<Vec<u8>, Error> {
        self.relay.identity = *key.public().ed25519();
        self.relay.fingerprint = key.public().fingerprint();
        self.relay.x25519 = x25519.1;
        self.relay.kems = [0, 1, 2].map(|index| self.kems[index].as_deref().map(kem_digest));
        self.family.sort_unstable();
        self.family.dedup();
        self.family.retain(|identity| *identity != self.relay.identity);
        let mut out = MAGIC.as_bytes().to_vec();
        self.relay.encode(&mut out);
        put_family(&mut out, &self.family);
        self.kems.iter().flatten().for_each(|kem| out.extend_from_slice(kem));
        key.public().encode(&mut out);
        out.extend_from_slice(&possession::prove(x25519.0, &self.relay.identity));
        key.sign(Label::Descriptor, &digest_of(&out))?.encode(&mut out);
        Descriptor::decode(&out).map(|_| out)
    }
}

impl Descriptor {
    /// Reads a descriptor and verifies its signatures and its proof of the onion key. Whether it is recent is not judged.
    ///
    /// # Errors
    /// [`Error::Directory`], [`Error::Length`], [`Error::TooLong`].
    pub fn decode(bytes: &[u8]) -> Result<Self, Error> {
        if bytes.len() > MOST_DESCRIPTOR {
            return Err(Error::TooLong { what: WHAT, most: MOST_DESCRIPTOR, got: bytes.len() });
        }
        let wrong = |why| Error::from(InvalidDocument::field(WHAT, why));
        let mut parts = Parts::of(WHAT, bytes, MAGIC.len(), true)?;
        magic(&mut parts, WHAT, MAGIC)?;
        let relay = Relay::decode(&mut parts)?;
        let family = family(&mut parts)?;
        if family.contains(&relay.identity) {
            return Err(wrong("declares the relay itself as its family"));
        }
        let mut kems = [None, None, None];
        for (index, digest) in relay.kems.iter().enumerate() {
            let Some(digest) = digest else { continue };
            let key = parts.slice(KEM_LENGTHS[index])?;
            if kem_digest(key) != *digest {
                return Err(wrong("has a KEM key that is not the one of its digest"));
            }
            kems[index] = Some(key.to_vec());
        }
        let key = PublicKey::decode(&mut parts)?;
        if *key.ed25519() != relay.identity || key.fingerprint() != relay.fingerprint {
            return Err(wrong("is signed by another key than it names"));
        }
        let proof = parts.array()?;
        let signed = &bytes[..parts.taken()];
        let signature = Signature::decode(&mut parts)?;
        parts.end()?;
        key.verify(Label::Descriptor, &digest_of(signed), &signature)?;
        possession::verify(&relay.x25519, &relay.identity, proof)?;
        Ok(Self { relay, family, kems })
    }
}

/// Takes a document's first bytes.
pub(super) fn magic(parts: &mut Parts<'_>, what: &'static str, expected: &'static str) -> Result<(), Error> {
    match parts.slice(expected.len())? == expected.as_bytes() {
        true => Ok(()),
        false => Err(InvalidDocument::Magic { what, expected: expected.trim_end() }.into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::directory::relay::tests::relay;
    use candor_primitives::dh::{DiffieHellman, aws_lc::X25519};

    fn x25519(seed: [u8; 32]) -> [u8; 32] {
        X25519.public_of(&X25519.secret_from_bytes(&seed).unwrap()).unwrap()
    }

    fn drafted() -> Drafted {
        Drafted { relay: relay(1), family: vec![[9; 32], [3; 32], [9; 32]], kems: [None, Some(vec![5; 1184]), None] }
    }

    #[test]
    fn a_descriptor_proves_its_keys_and_no_byte_of_it_can_be_changed() {
        let key = SecretKey::of_relay(&[1; 32]).unwrap();
        let bytes = drafted().sign(&key, (&[2; 32], x25519([2; 32]))).unwrap();
        let good = Descriptor::decode(&bytes).unwrap();
        assert_eq!(good.relay.identity, *key.public().ed25519());
        assert_eq!(good.family, [[3; 32], [9; 32]]);
        assert_eq!(good.kems[1].as_deref(), Some([5; 1184].as_slice()));
        for at in (0..bytes.len()).step_by(7).chain(bytes.len() - 3..bytes.len()) {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1;
            assert!(Descriptor::decode(&damaged).is_err(), "byte {at}");
        }
        for length in (0..bytes.len()).step_by(31) {
            assert!(Descriptor::decode(&bytes[..length]).is_err(), "cut to {length}");
        }
        assert!(Descriptor::decode(&[bytes, vec![0]].concat()).is_err(), "one byte more");
    }

    #[test]
    fn nobody_publishes_another_relays_onion_key() {
        let key = SecretKey::of_relay(&[1; 32]).unwrap();
        let refused = drafted().sign(&key, (&[3; 32], x25519([2; 32])));
        assert_eq!(refused, Err(InvalidDocument::Possession.into()));
    }

    #[test]
    fn what_can_not_be_published_is_an_error_before_it_is() {
        let key = SecretKey::of_relay(&[1; 32]).unwrap();
        let mut with_name = drafted();
        with_name.relay.name = "adä".into();
        let error = with_name.sign(&key, (&[2; 32], x25519([2; 32]))).unwrap_err();
        assert!(error.to_string().contains("printable ASCII"), "{error}");
    }
}
