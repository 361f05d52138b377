//! ChaCha20-Poly1305 and XChaCha20-Poly1305 of libsodium, in place and with the tag apart. There is no object of a key: each call takes its bytes.

use super::Functions;
use crate::contract::aead::{Aead, Algorithm, Op, TAG};
use crate::shared_object::{SharedObject, function};
use candor_lab::{Habit, Provenance, Refusal};
use libloading::Library;
use std::ffi::{c_int, c_uchar, c_ulonglong};
use std::ptr;

/// Ciphertext, tag, where to write the tag's length; message, associated data, nothing, nonce, key.
type Seal = unsafe extern "C" fn(
    *mut c_uchar,
    *mut c_uchar,
    *mut c_ulonglong,
    *const c_uchar,
    c_ulonglong,
    *const c_uchar,
    c_ulonglong,
    *const c_uchar,
    *const c_uchar,
    *const c_uchar,
) -> c_int;

/// Message, nothing; ciphertext, tag, associated data, nonce, key.
type Open = unsafe extern "C" fn(
    *mut c_uchar,
    *mut c_uchar,
    *const c_uchar,
    c_ulonglong,
    *const c_uchar,
    *const c_uchar,
    c_ulonglong,
    *const c_uchar,
    *const c_uchar,
) -> c_int;

/// Both directions of one AEAD.
#[derive(Clone, Copy)]
pub(super) struct Pair {
    seal: Seal,
    open: Open,
}

/// Those that are measured.
pub(super) struct AeadFunctions {
    chacha20_poly1305: Pair,
    xchacha20_poly1305: Pair,
}

/// # Safety
/// As for [`function`].
pub(super) unsafe fn look_up(library: &Library) -> Result<AeadFunctions, String> {
    // SAFETY: the types are those of sodium.h; the caller keeps the library.
    unsafe {
        Ok(AeadFunctions {
            chacha20_poly1305: Pair {
                seal: function(library, "crypto_aead_chacha20poly1305_ietf_encrypt_detached")?,
                open: function(library, "crypto_aead_chacha20poly1305_ietf_decrypt_detached")?,
            },
            xchacha20_poly1305: Pair {
                seal: function(library, "crypto_aead_xchacha20poly1305_ietf_encrypt_detached")?,
                open: function(library, "crypto_aead_xchacha20poly1305_ietf_decrypt_detached")?,
            },
        })
    }
}

/// An AEAD of one library.
pub(super) struct SodiumAead {
    object: &'static SharedObject<Functions>,
    pair: Pair,
    /// Bytes of a nonce.
    nonce: usize,
    key: [u8; 32],
}

impl SodiumAead {
    pub(super) fn new(object: &'static SharedObject<Functions>, algorithm: Algorithm) -> Result<Self, Refusal> {
        let functions = object.functions.aead.as_ref();
        let functions = functions.ok_or_else(|| Refusal::never("has no AEAD with XChaCha20 (needs 1.0.12)"))?;
        let pair = match algorithm {
            Algorithm::ChaCha20Poly1305 => functions.chacha20_poly1305,
            Algorithm::XChaCha20Poly1305 => functions.xchacha20_poly1305,
            _ => return Err(Refusal::never(format!("has no {} for any CPU", algorithm.title()))),
        };
        Ok(Self { object, pair, nonce: algorithm.nonce(), key: [0; 32] })
    }
}

impl Aead for SodiumAead {
    fn set_key(&mut self, key: &[u8]) -> Result<(), Refusal> {
        self.key = key.try_into().map_err(|_| Refusal::failed("refuses the key"))?;
        Ok(())
    }

    fn seal(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) {
        assert_eq!(nonce.len(), self.nonce, "the nonce has the length of the algorithm");
        let (data, tag) = data.split_last_chunk_mut::<TAG>().expect("room for a tag");
        let (message, length) = (data.as_mut_ptr(), data.len() as c_ulonglong);
        // SAFETY: the calls read and write as many bytes as said, in place as sodium.h allows; nonce, key and tag have the algorithm's lengths.
        let failed = unsafe {
            (self.pair.seal)(
                message,
                tag.as_mut_ptr(),
                ptr::null_mut(),
                message,
                length,
                aad.as_ptr(),
                aad.len() as c_ulonglong,
                ptr::null(),
                nonce.as_ptr(),
                self.key.as_ptr(),
            )
        };
        assert!(failed == 0, "sealing has no way to fail");
    }

    fn open(&mut self, nonce: &[u8], aad: &[u8], data: &mut [u8]) -> bool {
        assert_eq!(nonce.len(), self.nonce, "the nonce has the length of the algorithm");
        let (data, tag) = data.split_last_chunk_mut::<TAG>().expect("room for a tag");
        let (message, length) = (data.as_mut_ptr(), data.len() as c_ulonglong);
        // SAFETY: as above.
        unsafe {
            (self.pair.open)(
                message,
                ptr::null_mut(),
                message,
                length,
                tag.as_ptr(),
                aad.as_ptr(),
                aad.len() as c_ulonglong,
                nonce.as_ptr(),
                self.key.as_ptr(),
            ) == 0
        }
    }

    fn provenance(&self, op: Op) -> Provenance {
        match op {
            Op::New => self.object.provenance(&format!("{}: copies its bytes", op.timed())),
            Op::Seal | Op::Open => {
                self.object.provenance(op.timed()).telling([(Habit::ReadsKey, "the call reads the key from its bytes")])
            }
        }
    }
}
