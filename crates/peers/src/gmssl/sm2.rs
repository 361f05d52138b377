//! SM2. Its calls take a digest, and give signatures in DER and ciphertexts in ASN.1, as the task has them.
//!
//! The fields of a key changed between 3.1 and 3.2, and so did the functions that set them: keys go in and out by their encodings in DER, which
//! did not.

use super::Functions as Gmssl;
use crate::contract::sm2::{Failed, Op, Public, Sm2};
use crate::shared_object::{SharedObject, function};
use candor_lab::Provenance;
use libloading::Library;
use std::ffi::c_int;

/// `SM2_KEY` of sm2.h: 96 bytes in 3.1, 128 in 3.2.
#[derive(Clone, Copy)]
#[repr(C, align(16))]
pub(super) struct Key([u64; 32]);

/// Bytes that hold any encoding of a key, and any signature or ciphertext of 32 bytes.
const ROOM: usize = 512;

/// Advances the place to write to, and adds to the length. Gives 1.
type Encode = unsafe extern "C" fn(*const Key, *mut *mut u8, *mut usize) -> c_int;
/// Advances the place to read from, and takes from the length. Gives 1.
type Decode = unsafe extern "C" fn(*mut Key, *mut *const u8, *mut usize) -> c_int;
/// Key, input and its length, output and its length, which the call sets. Gives 1.
type Crypt = unsafe extern "C" fn(*const Key, *const u8, usize, *mut u8, *mut usize) -> c_int;

/// The functions used, with the types of sm2.h in 3.1 and 3.2.
pub(super) struct Functions {
    generate: unsafe extern "C" fn(*mut Key) -> c_int,
    public_to_der: Encode,
    public_from_der: Decode,
    secret_from_der: Decode,
    sign: unsafe extern "C" fn(*const Key, *const u8, *mut u8, *mut usize) -> c_int,
    verify: unsafe extern "C" fn(*const Key, *const u8, *const u8, usize) -> c_int,
    encrypt: Crypt,
    decrypt: Crypt,
}

impl Functions {
    /// Looks the functions up, or names the first that is missing.
    ///
    /// # Safety
    /// They are not called once the library is gone.
    pub(super) unsafe fn look_up(library: &Library) -> Result<Self, String> {
        // SAFETY: the types are those of sm2.h, and the caller's promise.
        unsafe {
            Ok(Self {
                generate: function(library, "sm2_key_generate")?,
                public_to_der: function(library, "sm2_public_key_info_to_der")?,
                public_from_der: function(library, "sm2_public_key_info_from_der")?,
                secret_from_der: function(library, "sm2_private_key_from_der")?,
                sign: function(library, "sm2_sign")?,
                verify: function(library, "sm2_verify")?,
                encrypt: function(library, "sm2_encrypt")?,
                decrypt: function(library, "sm2_decrypt")?,
            })
        }
    }
}

/// A SubjectPublicKeyInfo (RFC 5480) of SM2 before its 65 bytes of a point.
const PUBLIC_KEY_INFO: [u8; 26] = [
    0x30, 0x59, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02, 0x01, 0x06, 0x08, 0x2a, 0x81, 0x1c, 0xcf,
    0x55, 0x01, 0x82, 0x2d, 0x03, 0x42, 0x00,
];
/// An ECPrivateKey (RFC 5915) of SM2 before its 32 bytes of a number, between them and those of the point.
const PRIVATE_KEY: ([u8; 7], [u8; 17]) = (
    [0x30, 0x77, 0x02, 0x01, 0x01, 0x04, 0x20],
    [0xa0, 0x0a, 0x06, 0x08, 0x2a, 0x81, 0x1c, 0xcf, 0x55, 0x01, 0x82, 0x2d, 0xa1, 0x44, 0x03, 0x42, 0x00],
);

/// SM2 of one library.
pub(super) struct GmsslSm2(pub(super) &'static SharedObject<Gmssl>);

impl GmsslSm2 {
    fn functions(&self) -> &Functions {
        &self.0.functions.sm2
    }
}

/// The key in an encoding.
fn decode(decode: Decode, der: &[u8], failed: Failed) -> Result<Key, Failed> {
    let (mut key, mut at, mut left) = (Key([0; 32]), der.as_ptr(), der.len());
    // SAFETY: room for a key; the call reads no more bytes than said.
    let done = unsafe { decode(&mut key, &mut at, &mut left) };
    if done == 1 && left == 0 { Ok(key) } else { Err(failed) }
}

fn crypt(crypt: Crypt, key: &Key, input: &[u8], failed: Failed) -> Result<Vec<u8>, Failed> {
    let (mut output, mut written) = (vec![0; ROOM], ROOM);
    // SAFETY: a key that is set, as many bytes as said, and room for what the call makes of 32 bytes.
    let done = unsafe { crypt(key, input.as_ptr(), input.len(), output.as_mut_ptr(), &mut written) };
    output.truncate(written);
    if done == 1 { Ok(output) } else { Err(failed) }
}

impl Sm2 for GmsslSm2 {
    type Secret = Key;
    type Public = Key;

    fn keygen(&self) -> Result<(Key, Public), Failed> {
        let (mut key, mut der, mut written) = (Key([0; 32]), [0u8; ROOM], 0);
        let mut at = der.as_mut_ptr();
        let functions = self.functions();
        // SAFETY: room for a key, and for its encoding.
        let done = unsafe {
            (functions.generate)(&mut key) == 1 && (functions.public_to_der)(&key, &mut at, &mut written) == 1
        };
        match der.get(PUBLIC_KEY_INFO.len()..written) {
            Some(public) if done => Ok((key, public.try_into().map_err(|_| "the public key has another length")?)),
            _ => Err("sm2_key_generate fails"),
        }
    }

    fn secret(&self, secret: &[u8; 32], public: &Public) -> Result<Key, Failed> {
        let der = [&PRIVATE_KEY.0[..], secret, &PRIVATE_KEY.1, public].concat();
        decode(self.functions().secret_from_der, &der, "sm2_private_key_from_der refuses the key")
    }

    fn public(&self, public: &Public) -> Result<Key, Failed> {
        let der = [&PUBLIC_KEY_INFO[..], public].concat();
        decode(self.functions().public_from_der, &der, "sm2_public_key_info_from_der refuses the key")
    }

    fn sign(&self, secret: &Key, digest: &[u8; 32]) -> Result<Vec<u8>, Failed> {
        let (mut signature, mut written) = (vec![0; ROOM], 0);
        // SAFETY: a key that is set, 32 bytes, and room for any signature.
        let done = unsafe { (self.functions().sign)(secret, digest.as_ptr(), signature.as_mut_ptr(), &mut written) };
        signature.truncate(written);
        if done == 1 { Ok(signature) } else { Err("sm2_sign fails") }
    }

    fn verify(&self, public: &Key, digest: &[u8; 32], signature: &[u8]) -> Result<(), Failed> {
        let verify = self.functions().verify;
        // SAFETY: as above, and as many bytes as said.
        let done = unsafe { verify(public, digest.as_ptr(), signature.as_ptr(), signature.len()) };
        if done == 1 { Ok(()) } else { Err("sm2_verify refuses the signature") }
    }

    fn encrypt(&self, public: &Key, message: &[u8]) -> Result<Vec<u8>, Failed> {
        crypt(self.functions().encrypt, public, message, "sm2_encrypt fails")
    }

    fn decrypt(&self, secret: &Key, ciphertext: &[u8]) -> Result<Vec<u8>, Failed> {
        crypt(self.functions().decrypt, secret, ciphertext, "sm2_decrypt fails")
    }

    fn provenance(&self, op: Op) -> Provenance {
        let how = match op {
            Op::Keygen => "; the public key's bytes from its encoding in DER",
            _ => "",
        };
        // Seen in the sources of 3.1.1 and 3.2.0: multiples branch on the digits of the secret, and take table entries by them.
        let leak = if op == Op::Verify { "" } else { "; not constant-time" };
        self.0.provenance(&format!("{}{how}{leak}", op.timed())).telling(op.by_system_call())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// DER's lengths, at the head and of the parts that follow it.
    #[test]
    fn encodings_are_as_long_as_they_say() {
        assert_eq!(usize::from(PUBLIC_KEY_INFO[1]) + 2, PUBLIC_KEY_INFO.len() + 65);
        assert_eq!(usize::from(PUBLIC_KEY_INFO[24]), 1 + 65);
        assert_eq!(usize::from(PRIVATE_KEY.0[1]) + 2, PRIVATE_KEY.0.len() + 32 + PRIVATE_KEY.1.len() + 65);
        assert_eq!(usize::from(PRIVATE_KEY.1[13]), 3 + 65);
    }
}
