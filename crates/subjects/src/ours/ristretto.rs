//! The operations of candor's key exchange, put together here from the library below it in the way that `candor-opaque` does.

use super::{AUTO, opaque_provenance};
use candor_lab::{Entry, Habit, Provenance};
use candor_peers::contract::BY_SYSTEM_CALL;
use candor_peers::contract::opaque::Failed;
use candor_peers::contract::opaque::parts::{self, Op, Ristretto};
use curve25519_dalek::ristretto::CompressedRistretto;
use curve25519_dalek::{RistrettoPoint, Scalar};
use rand_core::{Rng, UnwrapErr};

pub(crate) fn ristretto(op: Op) -> Entry {
    parts::entry(AUTO, op, || Ok(Ours))
}

struct Ours;

/// A received element; the identity, whose encoding is zeros, is refused.
fn decode(public: &[u8; 32]) -> Result<RistrettoPoint, Failed> {
    let point = CompressedRistretto(*public).decompress().filter(|_| *public != [0; 32]);
    point.ok_or_else(|| "the public key is not a valid element".into())
}

impl Ristretto for Ours {
    type Secret = Scalar;

    fn keypair(&self) -> Result<(Scalar, [u8; 32]), Failed> {
        let mut wide = [0; 64];
        UnwrapErr(getrandom::SysRng).fill_bytes(&mut wide);
        let secret = Scalar::from_bytes_mod_order_wide(&wide);
        Ok((secret, RistrettoPoint::mul_base(&secret).compress().to_bytes()))
    }

    fn secret(&self, bytes: &[u8; 32]) -> Result<Scalar, Failed> {
        Option::from(Scalar::from_canonical_bytes(*bytes)).ok_or_else(|| "the private key is not a scalar".into())
    }

    fn dh(&self, secret: &Scalar, public: &[u8; 32]) -> Result<[u8; 32], Failed> {
        Ok((decode(public)? * secret).compress().to_bytes())
    }

    /// All three products are encoded in one batch, which encodes doubles: so the scalars are halved.
    fn triple_dh(
        &self,
        [ephemeral, long_term]: [&Scalar; 2],
        [share, key]: [&[u8; 32]; 2],
    ) -> Result<[[u8; 32]; 3], Failed> {
        let (share, key) = (decode(share)?, decode(key)?);
        let halves =
            [(ephemeral, share), (ephemeral, key), (long_term, share)].map(|(secret, point)| point * secret.div_by_2());
        let encoded = RistrettoPoint::double_and_compress_batch(&halves);
        Ok(std::array::from_fn(|index| encoded[index].to_bytes()))
    }

    fn provenance(&self, op: Op) -> Provenance {
        let how = "three products are encoded in one batch, as in a login";
        let draws = (op == Op::KeyPair).then_some(BY_SYSTEM_CALL);
        let told = opaque_provenance(&format!("{}; {how}", op.timed())).telling(draws);
        told.telling([(Habit::WipesNothing, "nothing is wiped")])
    }
}
