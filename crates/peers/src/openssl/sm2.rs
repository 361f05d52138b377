//! SM2 by EVP_PKEY.

use super::Found;
use super::api::{Api, DEFAULT, Object, Parameter};
use super::key::{Context, KEY_PAIR, Key, PUBLIC_KEY};
use crate::contract::sm2::{Failed, Op, Public, Sm2};
use candor_lab::{Habit, Provenance, Refusal};
use std::ffi::{CStr, c_int};
use std::ptr;

const NAME: &CStr = c"SM2";

/// Bytes that hold any signature or any ciphertext of 32 bytes in DER.
const ROOM: usize = 256;

/// SM2 of one library.
pub(super) struct OpenSslSm2 {
    found: &'static Found,
    api: &'static Api,
    generator: Context,
    provider: String,
}

impl OpenSslSm2 {
    pub(super) fn new(found: &'static Found, api: &'static Api) -> Result<Self, Refusal> {
        // SAFETY: a name that ends in zero; no properties.
        let signature = unsafe { (api.EVP_SIGNATURE_fetch)(DEFAULT, NAME.as_ptr(), ptr::null()) };
        if signature.is_null() {
            return Err(Refusal::new("has no SM2 in its providers"));
        }
        // SAFETY: just fetched, not null, and freed once.
        let provider = unsafe {
            let provider = api.provider_name((api.EVP_SIGNATURE_get0_provider)(signature));
            (api.EVP_SIGNATURE_free)(signature);
            provider
        };
        let generator = Context::generator(api, NAME).map_err(Refusal::failed)?;
        Ok(Self { found, api, generator, provider })
    }

    /// A key from its parts: the public point, and the secret number with its lowest byte first, if there is one.
    fn key(&self, secret: Option<&[u8; 32]>, public: &Public) -> Result<Key, Failed> {
        let little = secret.map(|secret| {
            let mut little = *secret;
            // The library takes numbers in the machine's order.
            if cfg!(target_endian = "little") {
                little.reverse();
            }
            little
        });
        let mut parameters = vec![Parameter::name(c"group", NAME), Parameter::bytes(c"pub", public)];
        if let Some(little) = &little {
            parameters.push(Parameter::number(c"priv", little));
        }
        parameters.push(Parameter::END);
        let selection = if secret.is_some() { KEY_PAIR } else { PUBLIC_KEY };
        Key::from_parts(self.api, NAME, selection, &parameters)
    }

    fn ready(&self, key: &Key, init: unsafe extern "C" fn(Object) -> c_int) -> Result<Context, Failed> {
        key.context()?.ready(init)
    }
}

/// Contexts for the two uses of a secret key.
pub(super) struct Secret {
    sign: Context,
    decrypt: Context,
}

/// Contexts for the two uses of a public key.
pub(super) struct Ready {
    verify: Context,
    encrypt: Context,
}

impl OpenSslSm2 {
    fn secret_of(&self, key: &Key) -> Result<Secret, Failed> {
        let sign = self.ready(key, self.api.EVP_PKEY_sign_init)?;
        Ok(Secret { sign, decrypt: self.ready(key, self.api.EVP_PKEY_decrypt_init)? })
    }
}

impl Sm2 for OpenSslSm2 {
    type Secret = Secret;
    type Public = Ready;

    fn keygen(&self) -> Result<(Secret, Public), Failed> {
        // Contexts are cheap beside the key: two allocations.
        let key = self.generator.generate()?;
        let mut public = [0; 65];
        if key.octets(c"pub", &mut public)? != public.len() {
            return Err("EVP_PKEY_get_octet_string_param gives no public key of 65 bytes");
        }
        Ok((self.secret_of(&key)?, public))
    }

    fn secret(&self, secret: &[u8; 32], public: &Public) -> Result<Secret, Failed> {
        self.secret_of(&self.key(Some(secret), public)?)
    }

    fn public(&self, public: &Public) -> Result<Ready, Failed> {
        let key = self.key(None, public)?;
        let verify = self.ready(&key, self.api.EVP_PKEY_verify_init)?;
        Ok(Ready { verify, encrypt: self.ready(&key, self.api.EVP_PKEY_encrypt_init)? })
    }

    fn sign(&self, secret: &Secret, digest: &[u8; 32]) -> Result<Vec<u8>, Failed> {
        let mut signature = vec![0; ROOM];
        let written = secret.sign.sign(digest, &mut signature)?;
        signature.truncate(written);
        Ok(signature)
    }

    fn verify(&self, public: &Ready, digest: &[u8; 32], signature: &[u8]) -> Result<(), Failed> {
        public.verify.verify(digest, signature)
    }

    fn encrypt(&self, public: &Ready, message: &[u8]) -> Result<Vec<u8>, Failed> {
        public.encrypt.crypt(self.api.EVP_PKEY_encrypt, message, vec![0; ROOM], "EVP_PKEY_encrypt fails")
    }

    fn decrypt(&self, secret: &Secret, ciphertext: &[u8]) -> Result<Vec<u8>, Failed> {
        secret.decrypt.crypt(self.api.EVP_PKEY_decrypt, ciphertext, vec![0; ROOM], "EVP_PKEY_decrypt fails")
    }

    fn provenance(&self, op: Op) -> Provenance {
        let timed = format!("{}; context readied before", op.timed());
        let allocates = (Habit::Allocates, "the call allocates contexts for signing and decryption");
        self.found.provenance(self.api, &timed, &self.provider).telling((op == Op::Keygen).then_some(allocates))
    }
}
