//! RustCrypto's `p256`, `p384` and `k256`.

#![cfg(feature = "peer-rustcrypto-ec")]

use crate::contract::BY_SYSTEM_CALL;
use crate::contract::ec::{self as contract, Curve, Ec, Failed, Input, Op};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use candor_lab::{Entry, Provenance};
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use signature::hazmat::{PrehashSigner, PrehashVerifier};

/// What the three offer.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![
            linked_peer("p256", "P-256 by RustCrypto"),
            linked_peer("p384", "P-384 by RustCrypto"),
            linked_peer("k256", "secp256k1 by RustCrypto"),
        ]
    }

    fn ec(&self, curve: Curve, op: Op) -> Vec<Entry> {
        vec![match curve {
            Curve::P256 => contract::entry(linked::subject("p256"), curve, op, || Ok(P256)),
            Curve::P384 => contract::entry(linked::subject("p384"), curve, op, || Ok(P384)),
            Curve::Secp256k1 => contract::entry(linked::subject("k256"), curve, op, || Ok(Secp256k1)),
        }]
    }
}

/// A curve of the crate `$library`, and whether that verifies signatures with the smaller s alone.
macro_rules! curve {
    ($curve:ident, $library:ident, $low_s:literal) => {
        struct $curve;

        impl Ec for $curve {
            type Pair = $library::SecretKey;
            type Encoded = $library::Sec1Point;
            /// A key for each of the two uses.
            type Secret = ($library::ecdsa::SigningKey, $library::SecretKey);
            type Public = ($library::ecdsa::VerifyingKey, $library::PublicKey);
            type Signature = $library::ecdsa::DerSignature;
            type Shared = $library::FieldBytes;

            fn keygen(&self) -> Result<(Self::Pair, Self::Encoded), Failed> {
                use $library::elliptic_curve::{Generate, sec1::ToSec1Point};
                let secret = $library::SecretKey::generate_from_rng(&mut UnwrapErr(SysRng));
                let public = secret.public_key().to_sec1_point(false);
                Ok((secret, public))
            }

            fn ecdh_fresh(&self, pair: Self::Pair, peer: &Self::Public) -> Result<Self::Shared, Failed> {
                Ok(*pair.diffie_hellman(&peer.1).raw_secret_bytes())
            }

            fn secret(&self, secret: &[u8], _: &[u8]) -> Result<Self::Secret, Failed> {
                let secret = $library::SecretKey::from_slice(secret).map_err(|_| "refuses the secret key")?;
                Ok((secret.clone().into(), secret))
            }

            fn public(&self, public: &[u8]) -> Result<Self::Public, Failed> {
                let public = $library::PublicKey::from_sec1_bytes(public).map_err(|_| "refuses the public key")?;
                Ok((public.into(), public))
            }

            fn sign(&self, secret: &Self::Secret, input: &Input) -> Result<Self::Signature, Failed> {
                let signature: Result<$library::ecdsa::Signature, _> = secret.0.sign_prehash(&input.digest);
                Ok(signature.map_err(|_| "signing fails")?.to_der())
            }

            fn verify(&self, public: &Self::Public, input: &Input, signature: &[u8]) -> Result<(), Failed> {
                let signature = $library::ecdsa::Signature::from_der(signature);
                let signature = signature.map_err(|_| "the signature is not DER")?;
                let mut verified = public.0.verify_prehash(&input.digest, &signature);
                if $low_s && verified.is_err() {
                    // Others' signatures only: the timed ones have the smaller s.
                    verified = public.0.verify_prehash(&input.digest, &signature.normalize_s());
                }
                verified.map_err(|_| "the signature is wrong")
            }

            fn ecdh(&self, secret: &Self::Secret, peer: &Self::Public) -> Result<Self::Shared, Failed> {
                Ok(*secret.1.diffie_hellman(&peer.1).raw_secret_bytes())
            }

            fn provenance(&self, op: Op) -> Provenance {
                let nonce = if op == Op::Sign { "; the nonce by RFC 6979, without randomness" } else { "" };
                let told = linked::provenance(stringify!($library), format!("{}{nonce}", op.timed()));
                let draws = (op == Op::Keygen).then_some(BY_SYSTEM_CALL);
                Provenance { arm: Some("portable".into()), ..told.telling(draws) }
            }
        }
    };
}

curve!(P256, p256, false);
curve!(P384, p384, false);
curve!(Secp256k1, k256, true);
