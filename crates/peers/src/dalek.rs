//! curve25519-dalek, and x25519-dalek on it: X25519 and ristretto255 in Rust.

#![cfg(feature = "peer-dalek")]

use crate::contract::BY_SYSTEM_CALL;
use crate::contract::opaque::parts::{self, Ristretto};
use crate::contract::x25519::{self, Failed, Op, X25519};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use candor_lab::{Entry, Habit, Provenance};
use curve25519_dalek::ristretto::{CompressedRistretto, RistrettoPoint};
use curve25519_dalek::scalar::Scalar;
use x25519_dalek::{PublicKey, SharedSecret, StaticSecret};

const PACKAGE: &str = "x25519-dalek";
const BELOW: &str = "curve25519-dalek";

/// What dalek offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![
            linked_peer(PACKAGE, "X25519 on curve25519-dalek, Rust"),
            linked_peer(BELOW, "the group ristretto255 in Rust, on which candor's OPAQUE stands as well"),
        ]
    }

    fn x25519(&self, op: Op) -> Vec<Entry> {
        vec![x25519(op)]
    }

    fn ristretto(&self, op: parts::Op) -> Vec<Entry> {
        vec![ristretto(op)]
    }
}

fn x25519(op: Op) -> Entry {
    x25519::entry(linked::subject(PACKAGE), op, || Ok(Dalek))
}

struct Dalek;

/// A secret of dalek's as a slice.
struct Secret32(SharedSecret);

impl AsRef<[u8]> for Secret32 {
    fn as_ref(&self) -> &[u8] {
        self.0.as_bytes()
    }
}

impl X25519 for Dalek {
    type Secret = StaticSecret;
    type Encoded = [u8; 32];
    type Shared = Secret32;

    fn keygen(&self) -> Result<(StaticSecret, [u8; 32]), Failed> {
        let secret = StaticSecret::random();
        let encoded = PublicKey::from(&secret).to_bytes();
        Ok((secret, encoded))
    }

    fn ecdh(&self, secret: &StaticSecret, peer: &[u8; 32]) -> Result<Secret32, Failed> {
        let shared = secret.diffie_hellman(&PublicKey::from(*peer));
        // The other libraries refuse an all-zero secret by themselves; here the caller is asked to.
        if shared.was_contributory() { Ok(Secret32(shared)) } else { Err("the shared secret is all zero") }
    }

    fn import(&self, bytes: &[u8; 32]) -> Option<Result<StaticSecret, Failed>> {
        Some(Ok(StaticSecret::from(*bytes)))
    }

    fn provenance(&self, op: Op) -> Provenance {
        let timed = match op {
            Op::Keygen => op.timed().to_owned(),
            Op::Ecdh => format!("{}; was_contributory included", op.timed()),
        };
        let draws = (op == Op::Keygen).then_some(BY_SYSTEM_CALL);
        let mut provenance = linked::provenance(PACKAGE, timed).telling(draws);
        let (version, checksum) = linked::package(BELOW);
        let below = linked::package_id(BELOW, version, checksum);
        provenance.commit = provenance.commit.map(|id| format!("{id}, {below}"));
        provenance
    }
}

/// ristretto255 as its documentation shows it.
fn ristretto(op: parts::Op) -> Entry {
    parts::entry(linked::subject(BELOW), op, || Ok(Group))
}

struct Group;

fn decode(public: &[u8; 32]) -> Result<RistrettoPoint, String> {
    CompressedRistretto(*public).decompress().ok_or_else(|| "the public key is not a valid element".into())
}

impl Ristretto for Group {
    type Secret = Scalar;

    fn keypair(&self) -> Result<(Scalar, [u8; 32]), String> {
        let mut wide = [0; 64];
        getrandom::fill(&mut wide).map_err(|error| error.to_string())?;
        let secret = Scalar::from_bytes_mod_order_wide(&wide);
        Ok((secret, RistrettoPoint::mul_base(&secret).compress().to_bytes()))
    }

    fn secret(&self, bytes: &[u8; 32]) -> Result<Scalar, String> {
        Option::from(Scalar::from_canonical_bytes(*bytes))
            .ok_or_else(|| "the private key is not a canonical scalar".into())
    }

    fn dh(&self, secret: &Scalar, public: &[u8; 32]) -> Result<[u8; 32], String> {
        Ok((decode(public)? * secret).compress().to_bytes())
    }

    fn triple_dh(
        &self,
        [ephemeral, long_term]: [&Scalar; 2],
        [share, key]: [&[u8; 32]; 2],
    ) -> Result<[[u8; 32]; 3], String> {
        let (share, key) = (decode(share)?, decode(key)?);
        let products = [share * ephemeral, key * ephemeral, share * long_term];
        Ok(products.map(|product| product.compress().to_bytes()))
    }

    fn provenance(&self, op: parts::Op) -> Provenance {
        let timed = format!("{}; each product encoded on its own, the identity not refused", op.timed());
        let draws = (op == parts::Op::KeyPair).then_some(BY_SYSTEM_CALL);
        linked::provenance(BELOW, timed).telling(draws).telling([(Habit::WipesNothing, "nothing is wiped")])
    }
}
