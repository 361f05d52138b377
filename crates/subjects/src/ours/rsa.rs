//! Our RSA, on each arm that this machine has, the best one first.

use super::gf2::best_first;
use super::ours;
use candor_lab::{Entry, Habit, Provenance};
use candor_peers::contract::BY_SYSTEM_CALL;
use candor_peers::contract::rsa::{self as contract, Failed, Input, KeyFiles, Op, entry};
use candor_primitives::hash::Sha256;
use candor_primitives::rsa::{
    DecodePrivateKey, DecodePublicKey, EncodePrivateKey, Pss, PublicKey, Rsa, SecretKey, Signature, Size,
};

pub(crate) fn entries(size: contract::Size, op: Op) -> Vec<Entry> {
    let own = |(arm, cpu)| entry(format!("candor@{arm}"), size, op, move || Ok(Ours { rsa: Rsa::with_cpu(cpu), size }));
    best_first(|cpu| Rsa::with_cpu(cpu).arm()).into_iter().map(own).collect()
}

/// What our private operations tell of their blinding.
const BLINDING: [(Habit, &str); 2] = [
    (Habit::Blinds, "blinded by squares of a random number"),
    (Habit::DrawsFromStore, "a number that the system fills for 64 operations"),
];

/// What our key generation tells of its end: exponents and coefficient are computed from the primes, and all that follows from one another is compared.
const CHECK: (Habit, &str) = (Habit::ChecksMadeKey, "checks the finished key: its exponents and its coefficient");

struct Ours {
    rsa: Rsa,
    size: contract::Size,
}

impl contract::Rsa for Ours {
    type Pair = SecretKey;
    type Secret = SecretKey;
    type Public = PublicKey;

    fn keygen(&self) -> Result<SecretKey, Failed> {
        let size = match self.size {
            contract::Size::Bits2048 => Size::Bits2048,
            contract::Size::Bits3072 => Size::Bits3072,
            contract::Size::Bits4096 => Size::Bits4096,
        };
        self.rsa.generate(size).map_err(|_| "candor's key generation failed")
    }

    fn export(&self, pair: SecretKey) -> Result<Vec<u8>, Failed> {
        Ok(pair.to_pkcs8_der().map_err(|_| "candor's to_pkcs8_der failed")?.as_bytes().to_vec())
    }

    fn secret(&self, files: &KeyFiles) -> Result<SecretKey, Failed> {
        let key = SecretKey::from_pkcs8_der(&files.pkcs8).map_err(|_| "candor refuses the secret key")?;
        Ok(key.on(&self.rsa))
    }

    fn public(&self, files: &KeyFiles) -> Result<PublicKey, Failed> {
        let key = PublicKey::from_public_key_der(&files.spki).map_err(|_| "candor refuses the public key")?;
        Ok(key.on(&self.rsa))
    }

    fn sign(&self, secret: &SecretKey, input: &Input) -> Result<Vec<u8>, Failed> {
        let signature = secret.sign_digest::<Pss<Sha256>>(&input.digest);
        signature.map(Vec::from).map_err(|_| "candor does not sign")
    }

    fn verify(&self, public: &PublicKey, input: &Input, signature: &[u8]) -> Result<(), Failed> {
        let signature = Signature::<Pss<Sha256>>::from_bytes(signature);
        let signature = signature.map_err(|_| "candor finds that the signature is malformed")?;
        public.verify_digest(&input.digest, &signature).map_err(|_| "candor finds that the signature is wrong")
    }

    fn encrypt(&self, public: &PublicKey, input: &Input) -> Result<Vec<u8>, Failed> {
        public.encrypt_oaep::<Sha256>(&input.message, b"").map_err(|_| "candor does not encrypt")
    }

    fn decrypt(&self, secret: &SecretKey, sealed: &[u8]) -> Result<Vec<u8>, Failed> {
        let message = secret.decrypt_oaep::<Sha256>(sealed, b"");
        message.map(|message| message.to_vec()).map_err(|_| "candor does not decrypt")
    }

    fn provenance(&self, op: Op) -> Provenance {
        let [blinds, keeps] = BLINDING;
        let how = match op {
            Op::Sign | Op::Decrypt => "; the result verified",
            Op::Keygen => {
                "; candidates drawn one by one (FIPS 186-5 §A.1.3), five rounds of Miller and Rabin's test for each prime"
            }
            Op::Encrypt | Op::Verify => "",
        };
        let habits: &[_] = match op {
            Op::Keygen => &[BY_SYSTEM_CALL, CHECK],
            Op::Encrypt => &[BY_SYSTEM_CALL],
            Op::Sign => &[BY_SYSTEM_CALL, blinds, keeps],
            Op::Decrypt => &[blinds, keeps],
            Op::Verify => &[],
        };
        let told = ours(&format!("{}{how}", op.timed(self.size))).telling(habits.iter().copied());
        Provenance { arm: Some(self.rsa.arm().into()), ..told }
    }
}
