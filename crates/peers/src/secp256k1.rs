//! libsecp256k1, Bitcoin Core's, through the crate `secp256k1`.
//!
//! Keys, verification and agreement go by the crate. Signing and key generation go by the C functions below it, in a context that is randomised
//! once, before the clock: the crate's own calls randomise a global context anew after each use of a secret, which takes as long again as the
//! operation.

#![cfg(feature = "peer-secp256k1")]
#![allow(unsafe_code)] // A C library: two of its functions have no other way to a context of one's own.

use crate::contract::BY_SYSTEM_CALL;
use crate::contract::ec::{self as contract, Curve, Ec, Failed, Input, Op};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use candor_lab::{Entry, Provenance};
use secp256k1::ecdsa::{self, SerializedSignature, Signature};
use secp256k1::ffi::{self, CPtr};
use secp256k1::{All, Message, PublicKey, Secp256k1, SecretKey, ecdh};
use std::ptr;

const PACKAGE: &str = "secp256k1";

/// What libsecp256k1 offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![linked_peer(PACKAGE, "libsecp256k1, Bitcoin Core's library for its curve, with its Rust interface")]
    }

    fn ec(&self, curve: Curve, op: Op) -> Vec<Entry> {
        match curve {
            Curve::Secp256k1 => vec![contract::entry(linked::subject(PACKAGE), curve, op, || Ok(Library::new()))],
            Curve::P256 | Curve::P384 => Vec::new(),
        }
    }
}

/// A context for secrets.
struct Library(Secp256k1<All>);

impl Library {
    fn new() -> Self {
        let (mut context, mut seed) = (Secp256k1::new(), [0; 32]);
        getrandom::fill(&mut seed).expect("the operating system has randomness");
        context.seeded_randomize(&seed);
        Self(context)
    }
}

fn message(input: &Input) -> Message {
    Message::from_digest(input.digest[..].try_into().expect("a digest of 32 bytes"))
}

fn x(point: [u8; 64]) -> [u8; 32] {
    *point.first_chunk().expect("both coordinates")
}

impl Ec for Library {
    type Pair = SecretKey;
    type Encoded = [u8; 65];
    type Secret = SecretKey;
    type Public = PublicKey;
    type Signature = SerializedSignature;
    type Shared = [u8; 32];

    fn keygen(&self) -> Result<(SecretKey, [u8; 65]), Failed> {
        let mut bytes = [0; 32];
        let secret = loop {
            getrandom::fill(&mut bytes).map_err(|_| "no randomness")?;
            // All but one in 2^128 are keys.
            if let Ok(secret) = SecretKey::from_secret_bytes(bytes) {
                break secret;
            }
        };
        // SAFETY: a public key of no value, which the call replaces.
        let mut public = unsafe { ffi::PublicKey::new() };
        // SAFETY: a live context made for it, and 32 bytes that are a secret key.
        let done = unsafe { ffi::secp256k1_ec_pubkey_create(self.0.ctx().as_ptr(), &mut public, secret.as_c_ptr()) };
        if done == 1 {
            Ok((secret, PublicKey::from(public).serialize_uncompressed()))
        } else {
            Err("secp256k1_ec_pubkey_create failed")
        }
    }

    fn ecdh_fresh(&self, pair: SecretKey, peer: &PublicKey) -> Result<[u8; 32], Failed> {
        self.ecdh(&pair, peer)
    }

    fn secret(&self, secret: &[u8], _: &[u8]) -> Result<SecretKey, Failed> {
        let secret = secret.try_into().map_err(|_| "the secret key is not 32 bytes long")?;
        SecretKey::from_secret_bytes(secret).map_err(|_| "refuses the secret key")
    }

    fn public(&self, public: &[u8]) -> Result<PublicKey, Failed> {
        PublicKey::from_slice(public).map_err(|_| "refuses the public key")
    }

    fn sign(&self, secret: &SecretKey, input: &Input) -> Result<SerializedSignature, Failed> {
        let message = message(input);
        // SAFETY: a signature of no value, which the call replaces.
        let mut signature = unsafe { ffi::Signature::new() };
        // SAFETY: a live context made for it, 32 bytes of the digest and 32 that are a secret key; the nonce's function takes no data.
        let done = unsafe {
            ffi::secp256k1_ecdsa_sign(
                self.0.ctx().as_ptr(),
                &mut signature,
                message.as_c_ptr(),
                secret.as_c_ptr(),
                ffi::secp256k1_nonce_function_rfc6979,
                ptr::null(),
            )
        };
        if done == 1 { Ok(Signature::from(signature).serialize_der()) } else { Err("secp256k1_ecdsa_sign failed") }
    }

    fn verify(&self, public: &PublicKey, input: &Input, signature: &[u8]) -> Result<(), Failed> {
        let mut signature = Signature::from_der(signature).map_err(|_| "the signature is not DER")?;
        let mut verified = ecdsa::verify(&signature, message(input), public);
        if verified.is_err() {
            // Others' signatures only: the timed ones have the smaller s, and the library takes no other.
            signature.normalize_s();
            verified = ecdsa::verify(&signature, message(input), public);
        }
        verified.map_err(|_| "the signature is wrong")
    }

    fn ecdh(&self, secret: &SecretKey, peer: &PublicKey) -> Result<[u8; 32], Failed> {
        Ok(x(ecdh::shared_secret_point(peer, secret)))
    }

    fn provenance(&self, op: Op) -> Provenance {
        let how = match op {
            Op::Keygen => "; in a context randomised once before (secp256k1_ec_pubkey_create)",
            Op::Sign => {
                "; the nonce by RFC 6979, without randomness; in a context randomised once before (secp256k1_ecdsa_sign)"
            }
            Op::Verify => "",
            Op::Ecdh => "; without the hash that it puts over the point by default",
        };
        let draws = (op == Op::Keygen).then_some(BY_SYSTEM_CALL);
        let mut provenance = linked::provenance(PACKAGE, format!("{}{how}", op.timed())).telling(draws);
        let (version, checksum) = linked::package("secp256k1-sys");
        let library = linked::package_id("secp256k1-sys", version, checksum);
        provenance.commit = provenance.commit.map(|wrapper| format!("{wrapper}, {library}"));
        provenance.build = Some(format!(
            "{}; libsecp256k1 by the build's C compiler at this level, with its default tables (window 15, combs of 43 × 6)",
            linked::build()
        ));
        provenance.arm = Some("C with 128-bit products".into());
        provenance.not_at_its_best = Some(
            "secp256k1-sys leaves out the x86-64 assembly for scalars, which libsecp256k1's own build takes".into(),
        )
        .filter(|_: &String| cfg!(target_arch = "x86_64"));
        provenance
    }
}
