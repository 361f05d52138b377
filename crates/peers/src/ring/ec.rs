//! ECDSA and key generation on P-256 and P-384. ring's ECDSA takes messages, not digests; its public keys stay bytes; its private keys for agreement
//! serve once, as for X25519, so that agreement can't be timed.

use super::{ONE_USE, PACKAGE, provenance};
use crate::contract::BY_SYSTEM_CALL;
use crate::contract::ec::{self as contract, Curve, Ec, Failed, Input, Op};
use crate::linked;
use candor_lab::{Entry, Habit, Provenance, Refusal};
use ring::agreement::{self, EphemeralPrivateKey};
use ring::rand::SystemRandom;
use ring::signature::{
    self, EcdsaKeyPair, EcdsaSigningAlgorithm, EcdsaVerificationAlgorithm, Signature, UnparsedPublicKey,
};

pub(super) fn ec(curve: Curve, op: Op) -> Entry {
    let subject = linked::subject(PACKAGE);
    let (agreement, signing, verification) = match curve {
        Curve::P256 => {
            (&agreement::ECDH_P256, &signature::ECDSA_P256_SHA256_ASN1_SIGNING, &signature::ECDSA_P256_SHA256_ASN1)
        }
        Curve::P384 => {
            (&agreement::ECDH_P384, &signature::ECDSA_P384_SHA384_ASN1_SIGNING, &signature::ECDSA_P384_SHA384_ASN1)
        }
        Curve::Secp256k1 => {
            return Entry::refused(subject, Refusal::never("has no secp256k1 (only P-256 and P-384)"));
        }
    };
    match op {
        Op::Ecdh => Entry::refused(subject, Refusal::never(ONE_USE)),
        _ => contract::entry(subject, curve, op, move || {
            Ok(RingEc { agreement, signing, verification, random: SystemRandom::new() })
        }),
    }
}

struct RingEc {
    agreement: &'static agreement::Algorithm,
    signing: &'static EcdsaSigningAlgorithm,
    verification: &'static EcdsaVerificationAlgorithm,
    random: SystemRandom,
}

impl Ec for RingEc {
    type Pair = EphemeralPrivateKey;
    type Encoded = agreement::PublicKey;
    type Secret = EcdsaKeyPair;
    type Public = Vec<u8>;
    type Signature = Signature;
    type Shared = Vec<u8>;

    const AGREES_ONCE: bool = true;

    fn keygen(&self) -> Result<(EphemeralPrivateKey, agreement::PublicKey), Failed> {
        let secret = EphemeralPrivateKey::generate(self.agreement, &self.random).map_err(|_| "no randomness")?;
        let public = secret.compute_public_key().map_err(|_| "compute_public_key failed")?;
        Ok((secret, public))
    }

    fn ecdh_fresh(&self, pair: EphemeralPrivateKey, peer: &Vec<u8>) -> Result<Vec<u8>, Failed> {
        let peer = agreement::UnparsedPublicKey::new(self.agreement, peer);
        agreement::agree_ephemeral(pair, &peer, <[u8]>::to_vec).map_err(|_| "agree_ephemeral failed")
    }

    fn secret(&self, secret: &[u8], public: &[u8]) -> Result<EcdsaKeyPair, Failed> {
        let pair = EcdsaKeyPair::from_private_key_and_public_key(self.signing, secret, public, &self.random);
        pair.map_err(|_| "refuses the key pair")
    }

    fn public(&self, public: &[u8]) -> Result<Vec<u8>, Failed> {
        Ok(public.to_vec())
    }

    fn sign(&self, secret: &EcdsaKeyPair, input: &Input) -> Result<Signature, Failed> {
        secret.sign(&self.random, &input.message).map_err(|_| "EcdsaKeyPair::sign failed")
    }

    fn verify(&self, public: &Vec<u8>, input: &Input, signature: &[u8]) -> Result<(), Failed> {
        let public = UnparsedPublicKey::new(self.verification, public);
        public.verify(&input.message, signature).map_err(|_| "UnparsedPublicKey::verify says no")
    }

    fn ecdh(&self, _: &EcdsaKeyPair, _: &Vec<u8>) -> Result<Vec<u8>, Failed> {
        Err("a private key of ring's serves one agreement only")
    }

    fn provenance(&self, op: Op) -> Provenance {
        let reads = "reads and checks the public key in the timed call, since it has no parsed form";
        let (how, habit) = match op {
            Op::Keygen => ("; the private key is one for agreement", Some(BY_SYSTEM_CALL)),
            Op::Sign => ("", Some(BY_SYSTEM_CALL)),
            Op::Verify => ("", Some((Habit::ReadsKey, reads))),
            Op::Ecdh => ("", None),
        };
        provenance(&format!("{}{how}", op.timed())).telling(op.hashing()).telling(habit)
    }
}
