//! SM2 by RustCrypto, the neutral party of the witnesses: it shares no code with candor's own.

use super::{Failed, Public};
use crate::seed::Stream;
use signature::hazmat::PrehashSigner;
use sm2::dsa::{Signature, SigningKey};
use sm2::pke::{DecryptingKey, EncryptingKey, Mode};

/// The identity of the key, which no digest here depends on.
const ID: &str = "1234567812345678";

/// A key pair.
pub(super) struct Pair {
    pub(super) secret: [u8; 32],
    pub(super) public: Public,
    signing: SigningKey,
}

impl Pair {
    /// The pair of these bytes, of which the first is made small enough.
    pub(super) fn new(mut secret: [u8; 32]) -> Self {
        secret[0] &= 0x7f;
        let signing = SigningKey::from_bytes(ID, &secret.into()).expect("a number below 2^255 and not 0 is a key");
        let public = (*signing.verifying_key().to_sec1_bytes()).try_into().expect("65 bytes");
        Self { secret, public, signing }
    }

    pub(super) fn sign(&self, digest: &[u8; 32]) -> Vec<u8> {
        let signature: Signature = self.signing.sign_prehash(digest).expect("a digest of 32 bytes");
        signature.to_der().to_vec()
    }

    pub(super) fn encrypt(&self, message: &[u8], random: &mut Stream) -> Vec<u8> {
        let key = sm2::PublicKey::from_sec1_bytes(&self.public).expect("its own public key");
        EncryptingKey::new_with_mode(key, Mode::C1C3C2).encrypt_der(random, message).expect("a short message")
    }

    pub(super) fn decrypt(&self, ciphertext: &[u8]) -> Result<Vec<u8>, Failed> {
        let key = DecryptingKey::from_bytes(&self.secret.into()).map_err(|_| "RustCrypto refuses the key")?;
        key.decrypt_der(ciphertext).map_err(|_| "RustCrypto refuses the ciphertext")
    }
}
