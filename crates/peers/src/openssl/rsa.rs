//! RSA by EVP_PKEY.

use super::Found;
use super::api::{Api, DEFAULT, Object, Parameter};
use super::key::{Context, Key};
use crate::contract::rsa::{Failed, Input, KeyFiles, Op, Rsa, Size};
use candor_lab::{Habit, Provenance, Refusal};
use std::ffi::{CStr, c_int};
use std::ptr;

const NAME: &CStr = c"RSA";
const HASH: &CStr = c"SHA256";

/// RSA of one library, with keys of one size.
pub(super) struct OpenSslRsa {
    found: &'static Found,
    api: &'static Api,
    size: Size,
    generator: Context,
    provider: String,
}

impl OpenSslRsa {
    pub(super) fn new(found: &'static Found, api: &'static Api, size: Size) -> Result<Self, Refusal> {
        // SAFETY: a name that ends in zero; no properties.
        let signature = unsafe { (api.EVP_SIGNATURE_fetch)(DEFAULT, NAME.as_ptr(), ptr::null()) };
        if signature.is_null() {
            return Err(Refusal::new("has no RSA in its providers"));
        }
        // SAFETY: just fetched, not null, and freed once.
        let provider = unsafe {
            let provider = api.provider_name((api.EVP_SIGNATURE_get0_provider)(signature));
            (api.EVP_SIGNATURE_free)(signature);
            provider
        };
        let bits = size.bits().to_ne_bytes();
        let generator = Context::generator(api, NAME).map_err(Refusal::failed)?;
        let generator = generator.with(&[Parameter::number(c"bits", &bits), Parameter::END]);
        Ok(Self { found, api, size, generator: generator.map_err(Refusal::failed)?, provider })
    }

    /// A context for an operation by PSS.
    fn pss(&self, key: &Key, init: unsafe extern "C" fn(Object) -> c_int) -> Result<Context, Failed> {
        let [mode, digest, mask] = padding(c"pss");
        let salt = Parameter::name(c"saltlen", c"digest");
        key.context()?.ready(init)?.with(&[mode, digest, mask, salt, Parameter::END])
    }

    /// A context for an operation by OAEP.
    fn oaep(&self, key: &Key, init: unsafe extern "C" fn(Object) -> c_int) -> Result<Context, Failed> {
        let [mode, digest, mask] = padding(c"oaep");
        key.context()?.ready(init)?.with(&[mode, digest, mask, Parameter::END])
    }

    /// How primes are made, as the sources of 3.x and 4.0 have it (`bn_rsa_fips186_4.c`, `bn_rsa_fips186_5.c`).
    fn primes(&self) -> String {
        let (bits, rounds) = match self.size {
            Size::Bits2048 => (141, 38),
            Size::Bits3072 => (171, 41),
            Size::Bits4096 => (201, 44),
        };
        format!(
            "each prime from two auxiliary primes of {bits} bits with {rounds} rounds of Miller and Rabin's test (FIPS 186-5 §A.1.6), in steps from a \
             random number, with {} rounds",
            self.size.rounds()
        )
    }

    /// As many bytes as the modulus has.
    fn room(&self) -> Vec<u8> {
        vec![0; self.size.bits() / 8]
    }
}

fn padding(mode: &CStr) -> [Parameter; 3] {
    [Parameter::name(c"pad-mode", mode), Parameter::name(c"digest", HASH), Parameter::name(c"mgf1-digest", HASH)]
}

/// As the sources of 3.x and 4.0 have it (`rsa_sp800_56b_gen.c`).
const CHECK: (Habit, &str) =
    (Habit::ChecksMadeKey, "checks the finished key by a public power and a private one with the whole exponent");

/// Contexts for the two uses of a secret key.
pub(super) struct Secret {
    sign: Context,
    decrypt: Context,
}

/// Contexts for those of a public key.
pub(super) struct Public {
    verify: Context,
    encrypt: Context,
}

impl Rsa for OpenSslRsa {
    type Pair = Key;
    type Secret = Secret;
    type Public = Public;

    fn keygen(&self) -> Result<Key, Failed> {
        self.generator.generate()
    }

    fn export(&self, pair: Key) -> Result<Vec<u8>, Failed> {
        pair.to_der()
    }

    fn secret(&self, files: &KeyFiles) -> Result<Secret, Failed> {
        let key = Key::from_pkcs8(self.api, &files.pkcs8)?;
        let sign = self.pss(&key, self.api.EVP_PKEY_sign_init)?;
        Ok(Secret { sign, decrypt: self.oaep(&key, self.api.EVP_PKEY_decrypt_init)? })
    }

    fn public(&self, files: &KeyFiles) -> Result<Public, Failed> {
        let key = Key::from_spki(self.api, &files.spki)?;
        let verify = self.pss(&key, self.api.EVP_PKEY_verify_init)?;
        Ok(Public { verify, encrypt: self.oaep(&key, self.api.EVP_PKEY_encrypt_init)? })
    }

    fn sign(&self, secret: &Secret, input: &Input) -> Result<Vec<u8>, Failed> {
        let mut signature = self.room();
        let written = secret.sign.sign(&input.digest, &mut signature)?;
        signature.truncate(written);
        Ok(signature)
    }

    fn verify(&self, public: &Public, input: &Input, signature: &[u8]) -> Result<(), Failed> {
        public.verify.verify(&input.digest, signature)
    }

    fn encrypt(&self, public: &Public, input: &Input) -> Result<Vec<u8>, Failed> {
        public.encrypt.crypt(self.api.EVP_PKEY_encrypt, &input.message, self.room(), "EVP_PKEY_encrypt fails")
    }

    fn decrypt(&self, secret: &Secret, sealed: &[u8]) -> Result<Vec<u8>, Failed> {
        secret.decrypt.crypt(self.api.EVP_PKEY_decrypt, sealed, self.room(), "EVP_PKEY_decrypt fails")
    }

    fn provenance(&self, op: Op) -> Provenance {
        let how = match op {
            Op::Keygen => "context for generation readied before",
            _ => "context readied before",
        };
        let told = self.found.provenance(self.api, &format!("{}; {how}", op.timed(self.size)), &self.provider);
        let told = told.telling(
            op.blinding("blinded by squares of a random number, of which there is another after 32 operations"),
        );
        if op == Op::Keygen { told.telling([(Habit::AuxiliaryPrimes, &*self.primes()), CHECK]) } else { told }
    }
}
