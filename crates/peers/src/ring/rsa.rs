//! Signatures by PSS. ring takes messages, not digests; its public keys stay bytes; it neither makes RSA keys nor encrypts.

use super::{PACKAGE, provenance};
use crate::contract::BY_SYSTEM_CALL;
use crate::contract::rsa::{self as contract, Failed, Input, KeyFiles, Op, Rsa, Size};
use crate::linked;
use candor_lab::{Entry, Habit, Provenance, Refusal};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PSS_2048_8192_SHA256, RSA_PSS_SHA256, RsaKeyPair, UnparsedPublicKey};

pub(super) fn rsa(size: Size, op: Op) -> Entry {
    let subject = linked::subject(PACKAGE);
    match op {
        Op::Sign | Op::Verify => contract::entry(subject, size, op, move || Ok(RingRsa(SystemRandom::new(), size))),
        Op::Keygen => Entry::refused(subject, Refusal::never("makes no RSA keys")),
        Op::Encrypt | Op::Decrypt => Entry::refused(subject, Refusal::never("has no OAEP")),
    }
}

struct RingRsa(SystemRandom, Size);

impl Rsa for RingRsa {
    type Pair = ();
    type Secret = RsaKeyPair;
    type Public = Vec<u8>;

    fn keygen(&self) -> Result<(), Failed> {
        Err("makes no RSA keys")
    }

    fn export(&self, (): ()) -> Result<Vec<u8>, Failed> {
        Err("makes no RSA keys")
    }

    fn secret(&self, files: &KeyFiles) -> Result<RsaKeyPair, Failed> {
        RsaKeyPair::from_pkcs8(&files.pkcs8).map_err(|_| "refuses the secret key")
    }

    fn public(&self, files: &KeyFiles) -> Result<Vec<u8>, Failed> {
        Ok(files.pkcs1.clone())
    }

    fn sign(&self, secret: &RsaKeyPair, input: &Input) -> Result<Vec<u8>, Failed> {
        let mut signature = vec![0; secret.public().modulus_len()];
        let signed = secret.sign(&RSA_PSS_SHA256, &self.0, &input.message, &mut signature);
        signed.map(|()| signature).map_err(|_| "RsaKeyPair::sign failed")
    }

    fn verify(&self, public: &Vec<u8>, input: &Input, signature: &[u8]) -> Result<(), Failed> {
        let public = UnparsedPublicKey::new(&RSA_PSS_2048_8192_SHA256, public);
        public.verify(&input.message, signature).map_err(|_| "UnparsedPublicKey::verify says no")
    }

    fn encrypt(&self, _: &Vec<u8>, _: &Input) -> Result<Vec<u8>, Failed> {
        Err("has no OAEP")
    }

    fn decrypt(&self, _: &RsaKeyPair, _: &[u8]) -> Result<Vec<u8>, Failed> {
        Err("has no OAEP")
    }

    fn provenance(&self, op: Op) -> Provenance {
        let reads = "reads and checks the public key in the timed call, since it has no parsed form";
        let (how, habit) = match op {
            Op::Sign => ("; without blinding", Some(BY_SYSTEM_CALL)),
            Op::Verify => ("", Some((Habit::ReadsKey, reads))),
            Op::Keygen | Op::Encrypt | Op::Decrypt => ("", None),
        };
        provenance(&format!("{}{how}", op.timed(self.1))).telling(op.hashing()).telling(habit)
    }
}
