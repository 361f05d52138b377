//! ECDSA and ECDH on P-256 and P-384. Its ECDSA takes messages, not digests.

use super::{PACKAGE, cpu, provenance};
use crate::contract::BY_SYSTEM_CALL;
use crate::contract::ec::{self as contract, Bytes, Curve, Ec, Failed, Input, Op};
use crate::linked;
use candor_lab::{Entry, Habit, Provenance, Refusal};
use graviola::hashing::{Sha256, Sha384};
use graviola::key_agreement::{p256, p384};
use graviola::signing::ecdsa::{self, SigningKey, VerifyingKey};

pub(super) fn ec(curve: Curve, op: Op) -> Entry {
    let subject = linked::subject(PACKAGE);
    match curve {
        Curve::P256 => contract::entry(subject, curve, op, || cpu().map(|()| P256)),
        Curve::P384 => contract::entry(subject, curve, op, || cpu().map(|()| P384)),
        Curve::Secp256k1 => Entry::refused(subject, Refusal::never("has no secp256k1 (only P-256 and P-384)")),
    }
}

/// A curve, its module, its hash, and the lengths of an encoded public key and of a coordinate.
macro_rules! curve {
    ($curve:ident, $library:ident, $hash:ident, $encoded:literal, $coordinate:literal) => {
        struct $curve;

        impl Ec for $curve {
            type Pair = $library::StaticPrivateKey;
            type Encoded = [u8; $encoded];
            /// Its `private_key` agrees too.
            type Secret = SigningKey<ecdsa::$curve>;
            /// Its `public_key` agrees too.
            type Public = VerifyingKey<ecdsa::$curve>;
            type Signature = Bytes;
            type Shared = [u8; $coordinate];

            fn keygen(&self) -> Result<(Self::Pair, Self::Encoded), Failed> {
                let secret = $library::StaticPrivateKey::new_random().map_err(|_| "no randomness")?;
                let public = secret.public_key_uncompressed();
                Ok((secret, public))
            }

            fn ecdh_fresh(&self, pair: Self::Pair, peer: &Self::Public) -> Result<Self::Shared, Failed> {
                Ok(pair.diffie_hellman(&peer.public_key).map_err(|_| "diffie_hellman failed")?.0)
            }

            fn secret(&self, secret: &[u8], _: &[u8]) -> Result<Self::Secret, Failed> {
                let private_key =
                    $library::StaticPrivateKey::from_bytes(secret).map_err(|_| "refuses the secret key")?;
                Ok(SigningKey { private_key })
            }

            fn public(&self, public: &[u8]) -> Result<Self::Public, Failed> {
                VerifyingKey::from_x962_uncompressed(public).map_err(|_| "refuses the public key")
            }

            fn sign(&self, secret: &Self::Secret, input: &Input) -> Result<Bytes, Failed> {
                Bytes::filled(|room| match secret.sign_asn1::<$hash>(&[&input.message], room) {
                    Ok(signature) => Ok(signature.len()),
                    Err(_) => Err("sign_asn1 failed"),
                })
            }

            fn verify(&self, public: &Self::Public, input: &Input, signature: &[u8]) -> Result<(), Failed> {
                let verified = public.verify_asn1::<$hash>(&[&input.message], signature);
                verified.map_err(|_| "verify_asn1 says no")
            }

            fn ecdh(&self, secret: &Self::Secret, peer: &Self::Public) -> Result<Self::Shared, Failed> {
                Ok(secret.private_key.diffie_hellman(&peer.public_key).map_err(|_| "diffie_hellman failed")?.0)
            }

            fn provenance(&self, op: Op) -> Provenance {
                let draws = match op {
                    Op::Keygen => Some(BY_SYSTEM_CALL),
                    Op::Sign => {
                        Some((Habit::DrawsBySystemCall, "the nonce by RFC 6979 with 16 bytes of a system call"))
                    }
                    Op::Verify | Op::Ecdh => None,
                };
                let arm = if cfg!(target_arch = "aarch64") { "base AArch64" } else { "bmi2, adx" };
                provenance(op.timed(), arm).telling(op.hashing()).telling(draws)
            }
        }
    };
}

curve!(P256, p256, Sha256, 65, 32);
curve!(P384, p384, Sha384, 97, 48);
