//! Our SM2, on each arm that this machine has, the best one first.

use super::gf2::best_first;
use super::{NONCE, ours};
use candor_lab::{Entry, Habit, Provenance};
use candor_peers::contract::BY_SYSTEM_CALL;
use candor_peers::contract::sm2::{Failed, Op, Public, Sm2, entry};
use candor_primitives::sm2::{self, DEFAULT_ID, Format, PublicKey, SecretKey, Signature, SigningKey, VerifyingKey};

/// All arms.
pub(crate) fn entries(op: Op) -> Vec<Entry> {
    let own = |(arm, cpu)| entry(format!("candor@{arm}"), op, move || Ok(Ours { sm2: sm2::Sm2::with_cpu(cpu) }));
    best_first(|cpu| sm2::Sm2::with_cpu(cpu).arm()).into_iter().map(own).collect()
}

struct Ours {
    sm2: sm2::Sm2,
}

impl Sm2 for Ours {
    type Secret = (SecretKey, Option<SigningKey>);
    type Public = (PublicKey, VerifyingKey);

    fn keygen(&self) -> Result<(Self::Secret, Public), Failed> {
        let secret = self.sm2.generate().map_err(|_| "candor's key generation failed")?;
        let public = secret.public_key().to_bytes();
        Ok(((secret, None), public))
    }

    fn secret(&self, secret: &[u8; 32], _: &Public) -> Result<Self::Secret, Failed> {
        let secret = self.sm2.secret_from_bytes(secret).map_err(|_| "candor refuses the secret key")?;
        let signing = secret.signing_key(DEFAULT_ID).map_err(|_| "candor refuses the identity")?;
        Ok((secret, Some(signing)))
    }

    fn public(&self, public: &Public) -> Result<Self::Public, Failed> {
        let public = self.sm2.public_from_bytes(public).map_err(|_| "candor refuses the public key")?;
        let verifying = public.verifying_key(DEFAULT_ID).map_err(|_| "candor refuses the identity")?;
        Ok((public, verifying))
    }

    fn sign(&self, (secret, signing): &Self::Secret, digest: &[u8; 32]) -> Result<Vec<u8>, Failed> {
        let signature = match signing {
            Some(signing) => signing.sign_digest(digest),
            // A fresh key is made ready first.
            None => secret.signing_key(DEFAULT_ID).and_then(|signing| signing.sign_digest(digest)),
        };
        signature.map(|signature| signature.to_der()).map_err(|_| "candor does not sign")
    }

    fn verify(&self, public: &Self::Public, digest: &[u8; 32], signature: &[u8]) -> Result<(), Failed> {
        let signature = Signature::from_der(signature).map_err(|_| "candor finds that the signature is malformed")?;
        public.1.verify_digest(digest, &signature).map_err(|_| "candor finds that the signature is wrong")
    }

    fn encrypt(&self, public: &Self::Public, message: &[u8]) -> Result<Vec<u8>, Failed> {
        public.0.encrypt(message, Format::Asn1).map_err(|_| "candor does not encrypt")
    }

    fn decrypt(&self, secret: &Self::Secret, ciphertext: &[u8]) -> Result<Vec<u8>, Failed> {
        let message = secret.0.decrypt(ciphertext, Format::Asn1).map_err(|_| "candor refuses the ciphertext")?;
        Ok(message.to_vec())
    }

    fn provenance(&self, op: Op) -> Provenance {
        let nonce = "the nonce from the key, the message and 32 bytes of a system call";
        let draws = match op {
            Op::Keygen => Some(BY_SYSTEM_CALL),
            Op::Sign => Some(NONCE),
            Op::Encrypt => Some((Habit::DrawsBySystemCall, nonce)),
            Op::Verify | Op::Decrypt => None,
        };
        Provenance { arm: Some(self.sm2.arm().into()), ..ours(op.timed()).telling(draws) }
    }
}
