//! Computes digests.

use crate::encoding::{to_bcrypt64, to_hexadecimal, to_padded_base64};
use crate::scheme::{Algorithm, Argon2Kind, Before, OldScheme, Pbkdf2Hash, SchemeError};
use argon2::{Argon2, Params, Version};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::{Digest, Sha256, Sha512};
use zeroize::Zeroizing;

/// Before the digest in the password that OPAQUE is given, so that no password that somebody types is one.
const LABEL: &[u8] = b"candor-old-hash-1\0";
/// What bcrypt looks at.
const BCRYPT_SEES: usize = 72;

impl OldScheme {
    /// The digest of a password: its bytes as they were typed, in UTF-8.
    ///
    /// # Errors
    /// [`SchemeError::Memory`] if there is not enough memory.
    pub fn digest(&self, password: &[u8]) -> Result<Zeroizing<Vec<u8>>, SchemeError> {
        let mut digest = Zeroizing::new(vec![0; self.algorithm.digest_length()]);
        match self.algorithm {
            Algorithm::Argon2 { kind, version, memory_kib, iterations, parallelism, .. } => {
                let kind = match kind {
                    Argon2Kind::D => argon2::Algorithm::Argon2d,
                    Argon2Kind::I => argon2::Algorithm::Argon2i,
                    Argon2Kind::Id => argon2::Algorithm::Argon2id,
                };
                let version = if version == 0x10 { Version::V0x10 } else { Version::V0x13 };
                let params = Params::new(memory_kib, iterations, parallelism, Some(digest.len()))
                    .map_err(|_| SchemeError::Cost)?;
                let argon2 = Argon2::new(kind, version, params);
                argon2.hash_password_into(password, &self.salt, &mut digest).map_err(|_| SchemeError::Memory)?;
            }
            Algorithm::Bcrypt { before, cost } => {
                let prepared = self.before_bcrypt(before, password);
                let salt: [u8; 16] = self.salt.as_slice().try_into().map_err(|_| SchemeError::Salt)?;
                digest.copy_from_slice(&Zeroizing::new(bcrypt::bcrypt(cost, salt, &prepared))[..23]);
            }
            Algorithm::Scrypt { log_n, r, p, .. } => {
                let params = scrypt::Params::new(log_n, r, p).map_err(|_| SchemeError::Cost)?;
                scrypt::scrypt(password, &self.salt, &params, &mut digest).map_err(|_| SchemeError::Digest)?;
            }
            Algorithm::Pbkdf2 { hash, iterations, .. } => match hash {
                Pbkdf2Hash::Sha1 => pbkdf2::pbkdf2_hmac::<Sha1>(password, &self.salt, iterations, &mut digest),
                Pbkdf2Hash::Sha256 => pbkdf2::pbkdf2_hmac::<Sha256>(password, &self.salt, iterations, &mut digest),
                Pbkdf2Hash::Sha512 => pbkdf2::pbkdf2_hmac::<Sha512>(password, &self.salt, iterations, &mut digest),
            },
        }
        Ok(digest)
    }

    /// What OPAQUE is given in place of the password, as long as the account has not registered afresh: a label and the digest.
    ///
    /// # Errors
    /// As [`Self::digest`].
    pub fn opaque_password(&self, password: &[u8]) -> Result<Zeroizing<Vec<u8>>, SchemeError> {
        Ok(labelled(&self.digest(password)?))
    }

    /// The bytes that bcrypt is given: up to the first NUL with that NUL, and 72 at most, as crypt does it.
    fn before_bcrypt(&self, before: Before, password: &[u8]) -> Zeroizing<Vec<u8>> {
        let text = Zeroizing::new(match before {
            Before::Nothing => password.to_vec(),
            Before::Sha256Hexadecimal => to_hexadecimal(&Sha256::digest(password)).into_bytes(),
            Before::Sha256Base64 => to_padded_base64(&Sha256::digest(password)).into_bytes(),
            Before::HmacBase64 => {
                let key = to_bcrypt64(&self.salt);
                let mut mac = Hmac::<Sha256>::new_from_slice(key.as_bytes()).expect("HMAC takes keys of any length");
                mac.update(password);
                to_padded_base64(&mac.finalize().into_bytes()).into_bytes()
            }
        });
        let end = text.iter().position(|byte| *byte == 0).unwrap_or(text.len());
        let mut prepared = Zeroizing::new(Vec::with_capacity(end + 1));
        prepared.extend_from_slice(&text[..end]);
        prepared.push(0);
        prepared.truncate(BCRYPT_SEES);
        prepared
    }
}

impl crate::OldHash {
    /// What OPAQUE is given as the password of this account when it is imported: the same as [`OldScheme::opaque_password`] for whoever
    /// knows the password.
    #[must_use]
    pub fn opaque_password(&self) -> Zeroizing<Vec<u8>> {
        labelled(&self.digest)
    }
}

fn labelled(digest: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut password = Zeroizing::new(Vec::with_capacity(LABEL.len() + digest.len()));
    password.extend_from_slice(LABEL);
    password.extend_from_slice(digest);
    password
}
