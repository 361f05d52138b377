//! ECDSA and ECDH by EVP_PKEY.

use super::Found;
use super::api::{Api, DEFAULT, Parameter};
use super::key::{Context, KEY_PAIR, Key, PUBLIC_KEY};
use crate::contract::ec::{Bytes, Curve, Ec, Failed, Input, Op};
use candor_lab::{Provenance, Refusal};
use std::ffi::CStr;
use std::ptr;

const NAME: &CStr = c"EC";

/// One curve of one library.
pub(super) struct OpenSslEc {
    found: &'static Found,
    api: &'static Api,
    group: &'static CStr,
    generator: Context,
    provider: String,
}

impl OpenSslEc {
    pub(super) fn new(found: &'static Found, api: &'static Api, curve: Curve) -> Result<Self, Refusal> {
        let group = match curve {
            Curve::P256 => c"prime256v1",
            Curve::P384 => c"secp384r1",
            Curve::Secp256k1 => c"secp256k1",
        };
        // SAFETY: a name that ends in zero; no properties.
        let signature = unsafe { (api.EVP_SIGNATURE_fetch)(DEFAULT, c"ECDSA".as_ptr(), ptr::null()) };
        if signature.is_null() {
            return Err(Refusal::new("has no ECDSA in its providers"));
        }
        // SAFETY: just fetched, not null, and freed once.
        let provider = unsafe {
            let provider = api.provider_name((api.EVP_SIGNATURE_get0_provider)(signature));
            (api.EVP_SIGNATURE_free)(signature);
            provider
        };
        let generator = Context::generator(api, NAME).map_err(Refusal::failed)?;
        // Distributions leave curves out.
        let has_no = |_| Refusal::new(format!("has no {}", curve.title()));
        let generator = generator.with(&[Parameter::name(c"group", group), Parameter::END]).map_err(has_no)?;
        Ok(Self { found, api, group, generator, provider })
    }

    /// A key from its parts: the public point, and the secret number with its highest byte first, if there is one.
    fn key(&self, secret: Option<&[u8]>, public: &[u8]) -> Result<Key, Failed> {
        let number: Option<Vec<u8>> = secret.map(|secret| match cfg!(target_endian = "little") {
            // The library takes numbers in the machine's order.
            true => secret.iter().rev().copied().collect(),
            false => secret.to_vec(),
        });
        let mut parameters = vec![Parameter::name(c"group", self.group), Parameter::bytes(c"pub", public)];
        if let Some(number) = &number {
            parameters.push(Parameter::number(c"priv", number));
        }
        parameters.push(Parameter::END);
        let selection = if secret.is_some() { KEY_PAIR } else { PUBLIC_KEY };
        Key::from_parts(self.api, NAME, selection, &parameters)
    }
}

/// Contexts for the two uses of a secret key.
pub(super) struct Secret {
    sign: Context,
    derive: Context,
}

/// A public key, and a context for verification.
pub(super) struct Public {
    key: Key,
    verify: Context,
}

impl Ec for OpenSslEc {
    type Pair = Key;
    type Encoded = Bytes;
    type Secret = Secret;
    type Public = Public;
    type Signature = Bytes;
    type Shared = Bytes;

    fn keygen(&self) -> Result<(Key, Bytes), Failed> {
        let key = self.generator.generate()?;
        let public = Bytes::filled(|room| key.octets(c"pub", room))?;
        Ok((key, public))
    }

    fn ecdh_fresh(&self, pair: Key, peer: &Public) -> Result<Bytes, Failed> {
        let context = pair.context()?.ready_to_derive()?;
        Bytes::filled(|room| context.derive_unchecked(&peer.key, room))
    }

    fn secret(&self, secret: &[u8], public: &[u8]) -> Result<Secret, Failed> {
        let key = self.key(Some(secret), public)?;
        let sign = key.context()?.ready(self.api.EVP_PKEY_sign_init)?;
        Ok(Secret { sign, derive: key.context()?.ready_to_derive()? })
    }

    fn public(&self, public: &[u8]) -> Result<Public, Failed> {
        let key = self.key(None, public)?;
        let verify = key.context()?.ready(self.api.EVP_PKEY_verify_init)?;
        Ok(Public { key, verify })
    }

    fn sign(&self, secret: &Secret, input: &Input) -> Result<Bytes, Failed> {
        Bytes::filled(|room| secret.sign.sign(&input.digest, room))
    }

    fn verify(&self, public: &Public, input: &Input, signature: &[u8]) -> Result<(), Failed> {
        public.verify.verify(&input.digest, signature)
    }

    fn ecdh(&self, secret: &Secret, peer: &Public) -> Result<Bytes, Failed> {
        Bytes::filled(|room| secret.derive.derive_unchecked(&peer.key, room))
    }

    fn provenance(&self, op: Op) -> Provenance {
        let how = match op {
            Op::Ecdh => {
                "context readied before; EVP_PKEY_derive_set_peer_ex in the timed call, without the peer's validation, since the key is ready"
            }
            _ => "context readied before",
        };
        self.found.provenance(self.api, &format!("{}; {how}", op.timed()), &self.provider)
    }
}
