//! Proof that a relay holds its X25519 onion key: a signature of its identity by the same scalar, as Tor's `ntor-onion-key-crosscert` is
//! (dir-spec, "Converting a curve25519 public key to an ed25519 public key"). A KEM key can't sign; a relay that lists one that it doesn't
//! hold only makes the handshakes that need it fail.

use super::InvalidDocument;
use crate::Error;
use crate::link::certificate::{Certificate, ONION_KEY_IDENTITY};
use alloc::vec::Vec;
use candor_primitives::ed25519::{PublicKey, Signature};
use candor_primitives::hash::{Digest, Sha512};
use curve25519_dalek::{EdwardsPoint, MontgomeryPoint};
use ed25519_dalek::hazmat::{ExpandedSecretKey, raw_sign};
use zeroize::Zeroizing;

/// SIGN 1 | SIGNATURE 64: which of the two points with the key's u coordinate it is, and the signature.
pub(super) const PROOF: usize = 65;

fn message(identity: &[u8; 32]) -> [u8; 57] {
    let mut message = [0; 57];
    message[..25].copy_from_slice(b"candor onion key proof 1\0");
    message[25..].copy_from_slice(identity);
    message
}

pub(super) fn prove(x25519: &[u8; 32], identity: &[u8; 32]) -> [u8; PROOF] {
    let (sign, signature) = sign(x25519, &message(identity));
    let mut proof = [0; PROOF];
    proof[0] = sign;
    proof[1..].copy_from_slice(&signature);
    proof
}

/// Tor's own form of the proof: a certificate of type 10 that the onion key, as an Ed25519 key, issues for the identity (dir-spec, `ntor-onion-key-crosscert`). The bit says which of the two
/// points with the key's u coordinate it is. `expires` is rounded down to whole hours.
pub fn onion_key_certificate(x25519: &[u8; 32], identity: &[u8; 32], expires: u64) -> (u8, Vec<u8>) {
    let mut certificate = Certificate::unsigned(ONION_KEY_IDENTITY, identity, expires, None);
    let (sign, signature) = sign(x25519, &certificate);
    certificate.extend_from_slice(&signature);
    (sign, certificate)
}

/// Signs by an onion key as an Ed25519 key: the sign of its point, and the signature.
fn sign(x25519: &[u8; 32], message: &[u8]) -> (u8, [u8; 64]) {
    // The second half of what an Ed25519 key expands to: a secret that randomises signatures, here derived from the X25519 key.
    let mut expanded = Zeroizing::new([0; 64]);
    expanded[..32].copy_from_slice(x25519);
    let mut hash = Sha512::new();
    hash.update(b"candor onion key proof nonce\0");
    hash.update(x25519);
    let nonce: Zeroizing<[u8; 64]> = Zeroizing::new(hash.finalize().into());
    expanded[32..].copy_from_slice(&nonce[..32]);
    let secret = ExpandedSecretKey::from_bytes(&expanded);
    let point = EdwardsPoint::mul_base(&secret.scalar);
    let signature = raw_sign::<Sha512>(&secret, message, &ed25519_dalek::VerifyingKey::from(point));
    (point.compress().0[31] >> 7, signature.to_bytes())
}

pub(super) fn verify(x25519: &[u8; 32], identity: &[u8; 32], proof: &[u8; PROOF]) -> Result<(), Error> {
    let [sign @ (0 | 1), signature @ ..] = proof else { return Err(InvalidDocument::Possession.into()) };
    let point = MontgomeryPoint(*x25519).to_edwards(*sign).ok_or(InvalidDocument::Possession)?;
    let verified = PublicKey::from_bytes(point.compress().as_bytes())
        .and_then(|key| key.verify(&message(identity), &Signature::from_bytes(signature)?));
    verified.map_err(|_| InvalidDocument::Possession.into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_primitives::dh::{DiffieHellman, aws_lc::X25519};

    #[test]
    fn the_holder_of_an_onion_key_proves_it_for_one_identity_and_nobody_else_does() {
        let mut signs = [0; 2];
        for seed in 0..16 {
            let secret = X25519.secret_from_bytes(&[seed; 32]).unwrap();
            let public = X25519.public_of(&secret).unwrap();
            let proof = prove(&[seed; 32], &[9; 32]);
            verify(&public, &[9; 32], &proof).unwrap();
            assert!(verify(&public, &[8; 32], &proof).is_err(), "another relay's identity");
            assert!(verify(&public, &[9; 32], &prove(&[seed + 1; 32], &[9; 32])).is_err(), "another onion key");
            let mut flipped = proof;
            flipped[0] ^= 1;
            assert!(verify(&public, &[9; 32], &flipped).is_err(), "the other point");
            flipped[0] = 2;
            assert!(verify(&public, &[9; 32], &flipped).is_err(), "no sign");
            signs[usize::from(proof[0])] += 1;
        }
        assert!(signs.iter().all(|count| *count > 0), "{signs:?}");
    }

    #[test]
    fn an_onion_key_certifies_one_identity_as_tors_authorities_check_it() {
        for seed in 0..8 {
            let public = X25519.public_of(&X25519.secret_from_bytes(&[seed; 32]).unwrap()).unwrap();
            let (sign, certificate) = onion_key_certificate(&[seed; 32], &[9; 32], 7200);
            let key = |sign| MontgomeryPoint(public).to_edwards(sign).unwrap().compress().to_bytes();
            let check = |signer, now| Certificate::check(&certificate, ONION_KEY_IDENTITY, Some(&signer), now);
            let read = check(key(sign), 7199).unwrap();
            assert_eq!((read.key, read.expires), ([9; 32], 7200));
            assert!(check(key(sign ^ 1), 7199).is_err(), "the other point");
            assert!(check(key(sign), 7200).is_err(), "expired");
        }
    }
}
