//! RSA by `aws-lc-rs`, as its users call it.

use super::{PACKAGE, provenance};
use crate::contract::rsa::{self as contract, Failed, Input, KeyFiles, Op, Rsa, Size};
use crate::linked;
use aws_lc_rs::digest::{Digest, SHA256};
use aws_lc_rs::encoding::{AsDer, Pkcs8V1Der};
use aws_lc_rs::rsa::{
    KeyPair, KeySize, OAEP_SHA256_MGF1SHA256, OaepPrivateDecryptingKey, OaepPublicEncryptingKey, PrivateDecryptingKey,
    PublicEncryptingKey,
};
use aws_lc_rs::signature::{ParsedPublicKey, RSA_PSS_2048_8192_SHA256, RSA_PSS_SHA256};
use candor_lab::{Entry, Habit, Provenance};

pub(super) fn entry(size: Size, op: Op) -> Entry {
    contract::entry(linked::subject(PACKAGE), size, op, move || Ok(AwsLcRsa(size)))
}

/// `RSA_check_key`.
const CHECK: (Habit, &str) =
    (Habit::ChecksMadeKey, "checks the finished key: its product, its exponents and its coefficient");

struct AwsLcRsa(Size);

impl AwsLcRsa {
    /// As many bytes as the modulus has.
    fn room(&self) -> Vec<u8> {
        vec![0; self.0.bits() / 8]
    }
}

/// The digest as the library takes it.
fn digest(input: &Input) -> Result<Digest, Failed> {
    Digest::import_less_safe(&input.digest, &SHA256).map_err(|_| "Digest::import_less_safe failed")
}

impl Rsa for AwsLcRsa {
    type Pair = KeyPair;
    /// A key for each of the two uses.
    type Secret = (KeyPair, OaepPrivateDecryptingKey);
    type Public = (ParsedPublicKey, OaepPublicEncryptingKey);

    fn keygen(&self) -> Result<KeyPair, Failed> {
        let size = match self.0 {
            Size::Bits2048 => KeySize::Rsa2048,
            Size::Bits3072 => KeySize::Rsa3072,
            Size::Bits4096 => KeySize::Rsa4096,
        };
        KeyPair::generate(size).map_err(|_| "KeyPair::generate failed")
    }

    fn export(&self, pair: KeyPair) -> Result<Vec<u8>, Failed> {
        let file: Pkcs8V1Der<'_> = pair.as_der().map_err(|_| "KeyPair::as_der failed")?;
        Ok(file.as_ref().to_vec())
    }

    fn secret(&self, files: &KeyFiles) -> Result<Self::Secret, Failed> {
        let sign = KeyPair::from_pkcs8(&files.pkcs8).map_err(|_| "KeyPair refuses the secret key")?;
        let decrypt = PrivateDecryptingKey::from_pkcs8(&files.pkcs8).map_err(|_| "refuses the secret key")?;
        Ok((sign, OaepPrivateDecryptingKey::new(decrypt).map_err(|_| "refuses the secret key for OAEP")?))
    }

    fn public(&self, files: &KeyFiles) -> Result<Self::Public, Failed> {
        let verify = ParsedPublicKey::new(&RSA_PSS_2048_8192_SHA256, &files.pkcs1);
        let encrypt = PublicEncryptingKey::from_der(&files.spki).map_err(|_| "refuses the public key")?;
        let encrypt = OaepPublicEncryptingKey::new(encrypt).map_err(|_| "refuses the public key for OAEP")?;
        Ok((verify.map_err(|_| "ParsedPublicKey refuses the public key")?, encrypt))
    }

    fn sign(&self, secret: &Self::Secret, input: &Input) -> Result<Vec<u8>, Failed> {
        let mut signature = self.room();
        let signed = secret.0.sign_digest(&RSA_PSS_SHA256, &digest(input)?, &mut signature);
        signed.map(|()| signature).map_err(|_| "KeyPair::sign_digest failed")
    }

    fn verify(&self, public: &Self::Public, input: &Input, signature: &[u8]) -> Result<(), Failed> {
        public.0.verify_digest_sig(&digest(input)?, signature).map_err(|_| "ParsedPublicKey::verify_digest_sig says no")
    }

    fn encrypt(&self, public: &Self::Public, input: &Input) -> Result<Vec<u8>, Failed> {
        let mut sealed = self.room();
        let written = public.1.encrypt(&OAEP_SHA256_MGF1SHA256, &input.message, &mut sealed, None);
        let length = written.map_err(|_| "OaepPublicEncryptingKey::encrypt failed")?.len();
        sealed.truncate(length);
        Ok(sealed)
    }

    fn decrypt(&self, secret: &Self::Secret, sealed: &[u8]) -> Result<Vec<u8>, Failed> {
        let mut message = self.room();
        let written = secret.1.decrypt(&OAEP_SHA256_MGF1SHA256, sealed, &mut message, None);
        let length = written.map_err(|_| "OaepPrivateDecryptingKey::decrypt failed")?.len();
        message.truncate(length);
        Ok(message)
    }

    fn provenance(&self, op: Op) -> Provenance {
        let context = (Habit::Allocates, "the call allocates a context, since the Rust interface keeps none");
        let blinding =
            op.blinding("blinded by squares of a random number, of which there is another after 32 operations");
        let how = match op {
            Op::Keygen => {
                "; candidates drawn one by one (FIPS 186-5 §A.1.3), sixteen rounds of Miller and Rabin's test for each prime"
            }
            _ => "",
        };
        let told = provenance(&format!("{}{how}", op.timed(self.0)));
        told.telling((op != Op::Keygen).then_some(context))
            .telling(blinding)
            .telling((op == Op::Keygen).then_some(CHECK))
    }
}
