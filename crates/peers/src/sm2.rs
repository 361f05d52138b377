//! RustCrypto's `sm2`.

#![cfg(feature = "peer-sm2")]

use crate::contract::sm2::{self as contract, Failed, Op, Public, Sm2};
use crate::linked;
use crate::list::{Offers, Peer, linked_peer};
use candor_lab::{Entry, Provenance};
use getrandom::SysRng;
use getrandom::rand_core::UnwrapErr;
use signature::hazmat::{PrehashVerifier, RandomizedPrehashSigner};
use sm2::dsa::{Signature, SigningKey, VerifyingKey};
use sm2::elliptic_curve::Generate;
use sm2::pke::{DecryptingKey, EncryptingKey, Mode};
use sm2::{PublicKey, SecretKey};

const PACKAGE: &str = "sm2";
const ID: &str = "1234567812345678";

/// What sm2 offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        vec![linked_peer(PACKAGE, "SM2 by RustCrypto")]
    }

    fn sm2(&self, op: Op) -> Vec<Entry> {
        vec![contract::entry(linked::subject(PACKAGE), op, || Ok(RustCrypto))]
    }
}

struct RustCrypto;

/// A key for each of the two uses.
struct Secret {
    signing: SigningKey,
    decrypting: DecryptingKey,
}

fn secret(key: &SecretKey) -> Result<Secret, Failed> {
    let signing = SigningKey::new(ID, key).map_err(|_| "SigningKey::new fails")?;
    Ok(Secret { signing, decrypting: DecryptingKey::new(key.clone()) })
}

impl Sm2 for RustCrypto {
    type Secret = Secret;
    type Public = (VerifyingKey, EncryptingKey);

    fn keygen(&self) -> Result<(Secret, Public), Failed> {
        let secret = secret(&SecretKey::generate_from_rng(&mut UnwrapErr(SysRng)))?;
        let public = secret.signing.verifying_key().to_sec1_bytes();
        Ok((secret, (*public).try_into().map_err(|_| "a public key that is not 65 bytes long")?))
    }

    fn secret(&self, bytes: &[u8; 32], _: &Public) -> Result<Secret, Failed> {
        secret(&SecretKey::from_slice(bytes).map_err(|_| "refuses the secret key")?)
    }

    fn public(&self, public: &Public) -> Result<Self::Public, Failed> {
        let key = PublicKey::from_sec1_bytes(public).map_err(|_| "refuses the public key")?;
        let verifying = VerifyingKey::new(ID, key).map_err(|_| "refuses the identity")?;
        Ok((verifying, EncryptingKey::new_with_mode(key, Mode::C1C3C2)))
    }

    fn sign(&self, secret: &Secret, digest: &[u8; 32]) -> Result<Vec<u8>, Failed> {
        let signature: Result<Signature, _> = secret.signing.sign_prehash_with_rng(&mut UnwrapErr(SysRng), digest);
        Ok(signature.map_err(|_| "signing fails")?.to_der().to_vec())
    }

    fn verify(&self, public: &Self::Public, digest: &[u8; 32], signature: &[u8]) -> Result<(), Failed> {
        let signature = Signature::from_der(signature).map_err(|_| "the signature is not DER")?;
        public.0.verify_prehash(digest, &signature).map_err(|_| "the signature is wrong")
    }

    fn encrypt(&self, public: &Self::Public, message: &[u8]) -> Result<Vec<u8>, Failed> {
        public.1.encrypt_der(&mut UnwrapErr(SysRng), message).map_err(|_| "encryption fails")
    }

    fn decrypt(&self, secret: &Secret, ciphertext: &[u8]) -> Result<Vec<u8>, Failed> {
        secret.decrypting.decrypt_der(ciphertext).map_err(|_| "the ciphertext is refused")
    }

    fn provenance(&self, op: Op) -> Provenance {
        let how = if op == Op::Keygen { "; both keys that the library has for it made ready" } else { "" };
        let told = linked::provenance(PACKAGE, format!("{}{how}", op.timed())).telling(op.by_system_call());
        Provenance { arm: Some("portable".into()), ..told }
    }
}
