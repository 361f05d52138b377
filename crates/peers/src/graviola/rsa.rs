//! RSA: key generation and PSS. Its signatures take messages, not digests; it does not encrypt.

use super::{PACKAGE, cpu, provenance};
use crate::contract::BY_SYSTEM_CALL;
use crate::contract::rsa::{self as contract, Failed, Input, KeyFiles, Op, Rsa, Size};
use crate::linked;
use candor_lab::{Entry, Provenance, Refusal};
use graviola::signing::rsa::{KeySize, SigningKey, VerifyingKey};

/// Bytes that hold any secret key in PKCS#8.
const ROOM: usize = 8192;

pub(super) fn rsa(size: Size, op: Op) -> Entry {
    let subject = linked::subject(PACKAGE);
    match op {
        Op::Encrypt | Op::Decrypt => Entry::refused(subject, Refusal::never("has no OAEP")),
        _ => contract::entry(subject, size, op, move || cpu().map(|()| GraviolaRsa(size))),
    }
}

struct GraviolaRsa(Size);

impl Rsa for GraviolaRsa {
    type Pair = SigningKey;
    type Secret = SigningKey;
    type Public = VerifyingKey;

    fn keygen(&self) -> Result<SigningKey, Failed> {
        let size = match self.0 {
            Size::Bits2048 => KeySize::Rsa2048,
            Size::Bits3072 => KeySize::Rsa3072,
            Size::Bits4096 => KeySize::Rsa4096,
        };
        SigningKey::generate(size).map_err(|_| "SigningKey::generate failed")
    }

    fn export(&self, pair: SigningKey) -> Result<Vec<u8>, Failed> {
        let mut room = vec![0; ROOM];
        Ok(pair.to_pkcs8_der(&mut room).map_err(|_| "to_pkcs8_der failed")?.to_vec())
    }

    fn secret(&self, files: &KeyFiles) -> Result<SigningKey, Failed> {
        SigningKey::from_pkcs8_der(&files.pkcs8).map_err(|_| "refuses the secret key")
    }

    fn public(&self, files: &KeyFiles) -> Result<VerifyingKey, Failed> {
        VerifyingKey::from_pkcs1_der(&files.pkcs1).map_err(|_| "refuses the public key")
    }

    fn sign(&self, secret: &SigningKey, input: &Input) -> Result<Vec<u8>, Failed> {
        let mut signature = vec![0; self.0.bits() / 8];
        let length =
            secret.sign_pss_sha256(&mut signature, &input.message).map_err(|_| "sign_pss_sha256 failed")?.len();
        signature.truncate(length);
        Ok(signature)
    }

    fn verify(&self, public: &VerifyingKey, input: &Input, signature: &[u8]) -> Result<(), Failed> {
        public.verify_pss_sha256(signature, &input.message).map_err(|_| "verify_pss_sha256 says no")
    }

    fn encrypt(&self, _: &VerifyingKey, _: &Input) -> Result<Vec<u8>, Failed> {
        Err("has no OAEP")
    }

    fn decrypt(&self, _: &SigningKey, _: &[u8]) -> Result<Vec<u8>, Failed> {
        Err("has no OAEP")
    }

    fn provenance(&self, op: Op) -> Provenance {
        let how = match op {
            // One round more than it counts.
            Op::Keygen => {
                let rounds = self.0.rounds() + 1;
                format!(
                    "; candidates drawn one by one, {rounds} rounds of Miller and Rabin's test for each prime, nothing checked in the end"
                )
            }
            Op::Sign => "; without blinding".to_owned(),
            _ => String::new(),
        };
        let timed = format!("{}{how}", op.timed(self.0));
        let arm = if cfg!(target_arch = "aarch64") { "base AArch64" } else { "bmi2, adx" };
        let draws = matches!(op, Op::Keygen | Op::Sign).then_some(BY_SYSTEM_CALL);
        provenance(&timed, arm).telling(op.hashing()).telling(draws)
    }
}
