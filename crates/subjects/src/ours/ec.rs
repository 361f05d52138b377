//! Our ECDSA and ECDH, on each arm that this machine has, the best one first.

use super::gf2::best_first;
use super::{NONCE, ours};
use candor_lab::{Entry, Provenance};
use candor_peers::contract::BY_SYSTEM_CALL;
use candor_peers::contract::ec::{self as contract, Bytes, Curve, Failed, Input, Op, entry};
use candor_primitives::ec::{Ec, EcdsaCurve, P256, P384, PublicKey, Secp256k1, SecretKey, SharedSecret, Signature};

/// What makes the entries of a curve.
pub(crate) type Entries = fn(Curve, Op) -> Vec<Entry>;

/// The curves that we have, and what makes their entries: all arms.
pub(crate) const CURVES: [(Curve, Entries); 3] =
    [(Curve::P256, entries::<P256>), (Curve::P384, entries::<P384>), (Curve::Secp256k1, entries::<Secp256k1>)];

fn entries<C: EcdsaCurve>(curve: Curve, op: Op) -> Vec<Entry> {
    let own = |(arm, cpu)| entry(format!("candor@{arm}"), curve, op, move || Ok(Ours { ec: Ec::<C>::with_cpu(cpu) }));
    best_first(|cpu| Ec::<C>::with_cpu(cpu).arm()).into_iter().map(own).collect()
}

struct Ours<C> {
    ec: Ec<C>,
}

/// A secret of ours, as bytes.
struct Shared<C: EcdsaCurve>(SharedSecret<C>);

impl<C: EcdsaCurve> AsRef<[u8]> for Shared<C> {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes().as_ref()
    }
}

impl<C: EcdsaCurve> contract::Ec for Ours<C> {
    type Pair = SecretKey<C>;
    type Encoded = Bytes;
    type Secret = SecretKey<C>;
    type Public = PublicKey<C>;
    type Signature = Vec<u8>;
    type Shared = Shared<C>;

    fn keygen(&self) -> Result<(SecretKey<C>, Bytes), Failed> {
        let secret = self.ec.generate().map_err(|_| "candor's key generation failed")?;
        let public = secret.public_key().to_bytes();
        let public = Bytes::filled(|room| {
            let public = public.as_ref();
            room[..public.len()].copy_from_slice(public);
            Ok(public.len())
        })?;
        Ok((secret, public))
    }

    fn ecdh_fresh(&self, pair: SecretKey<C>, peer: &PublicKey<C>) -> Result<Shared<C>, Failed> {
        self.ecdh(&pair, peer)
    }

    fn secret(&self, secret: &[u8], _: &[u8]) -> Result<SecretKey<C>, Failed> {
        // The array of the curve's length, whose type has no name out here, comes from another key.
        let mut bytes = self.ec.generate().map_err(|_| "candor's key generation failed")?.to_bytes();
        let buffer: &mut [u8] = bytes.as_mut();
        buffer.copy_from_slice(secret);
        self.ec.secret_from_bytes(&bytes).map_err(|_| "candor refuses the secret key")
    }

    fn public(&self, public: &[u8]) -> Result<PublicKey<C>, Failed> {
        self.ec.public_from_bytes(public).map_err(|_| "candor refuses the public key")
    }

    fn sign(&self, secret: &SecretKey<C>, input: &Input) -> Result<Vec<u8>, Failed> {
        secret.sign_digest(&input.digest).map(|signature| signature.to_der()).map_err(|_| "candor does not sign")
    }

    fn verify(&self, public: &PublicKey<C>, input: &Input, signature: &[u8]) -> Result<(), Failed> {
        let signature = Signature::from_der(signature).map_err(|_| "candor finds that the signature is malformed")?;
        public.verify_digest(&input.digest, &signature).map_err(|_| "candor finds that the signature is wrong")
    }

    fn ecdh(&self, secret: &SecretKey<C>, peer: &PublicKey<C>) -> Result<Shared<C>, Failed> {
        Ok(Shared(secret.agree(peer)))
    }

    fn provenance(&self, op: Op) -> Provenance {
        let draws = match op {
            Op::Keygen => Some(BY_SYSTEM_CALL),
            Op::Sign => Some(NONCE),
            Op::Verify | Op::Ecdh => None,
        };
        Provenance { arm: Some(self.ec.arm().into()), ..ours(op.timed()).telling(draws) }
    }
}
