//! RustCrypto's `rsa`.

#![cfg(feature = "peer-rustcrypto-rsa")]

use crate::contract::BY_SYSTEM_CALL;
use crate::contract::rsa::{self as contract, Failed, Input, KeyFiles, Op, Rsa, Size};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use candor_lab::{Entry, Habit, Provenance};
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use rsa::pkcs8::{DecodePrivateKey, DecodePublicKey, EncodePrivateKey};
use rsa::{Oaep, Pss, RsaPrivateKey, RsaPublicKey};
use sha2::Sha256;

const PACKAGE: &str = "rsa";

/// What it offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![linked_peer(PACKAGE, "RSA by RustCrypto")]
    }

    fn rsa(&self, size: Size, op: Op) -> Vec<Entry> {
        vec![contract::entry(linked::subject(PACKAGE), size, op, move || Ok(RustCrypto(size)))]
    }
}

/// `RsaPrivateKey::validate`.
const CHECK: (Habit, &str) = (Habit::ChecksMadeKey, "checks the finished key: its product and its exponents");

struct RustCrypto(Size);

impl Rsa for RustCrypto {
    type Pair = RsaPrivateKey;
    type Secret = RsaPrivateKey;
    type Public = RsaPublicKey;

    fn keygen(&self) -> Result<RsaPrivateKey, Failed> {
        RsaPrivateKey::new(&mut UnwrapErr(SysRng), self.0.bits()).map_err(|_| "RsaPrivateKey::new failed")
    }

    fn export(&self, pair: RsaPrivateKey) -> Result<Vec<u8>, Failed> {
        Ok(pair.to_pkcs8_der().map_err(|_| "to_pkcs8_der failed")?.as_bytes().to_vec())
    }

    fn secret(&self, files: &KeyFiles) -> Result<RsaPrivateKey, Failed> {
        RsaPrivateKey::from_pkcs8_der(&files.pkcs8).map_err(|_| "refuses the secret key")
    }

    fn public(&self, files: &KeyFiles) -> Result<RsaPublicKey, Failed> {
        RsaPublicKey::from_public_key_der(&files.spki).map_err(|_| "refuses the public key")
    }

    fn sign(&self, secret: &RsaPrivateKey, input: &Input) -> Result<Vec<u8>, Failed> {
        let signature = secret.sign_with_rng(&mut UnwrapErr(SysRng), Pss::<Sha256>::new(), &input.digest);
        signature.map_err(|_| "signing fails")
    }

    fn verify(&self, public: &RsaPublicKey, input: &Input, signature: &[u8]) -> Result<(), Failed> {
        public.verify(Pss::<Sha256>::new(), &input.digest, signature).map_err(|_| "the signature is wrong")
    }

    fn encrypt(&self, public: &RsaPublicKey, input: &Input) -> Result<Vec<u8>, Failed> {
        let sealed = public.encrypt(&mut UnwrapErr(SysRng), Oaep::<Sha256>::new(), &input.message);
        sealed.map_err(|_| "encryption fails")
    }

    fn decrypt(&self, secret: &RsaPrivateKey, sealed: &[u8]) -> Result<Vec<u8>, Failed> {
        let message = secret.decrypt_blinded(&mut UnwrapErr(SysRng), Oaep::<Sha256>::new(), sealed);
        message.map_err(|_| "decryption fails")
    }

    fn provenance(&self, op: Op) -> Provenance {
        let how = match op {
            Op::Keygen => {
                "; candidates in steps from a random number, one round of Miller and Rabin's test to base 2 and one of Lucas's"
            }
            _ => "",
        };
        let told = linked::provenance(PACKAGE, format!("{}{how}", op.timed(self.0)));
        let told = told.telling((op != Op::Verify).then_some(BY_SYSTEM_CALL));
        let told = told.telling(op.blinding("blinded by a random number and its inverse, fresh in each call"));
        Provenance { arm: Some("portable".into()), ..told.telling((op == Op::Keygen).then_some(CHECK)) }
    }
}
