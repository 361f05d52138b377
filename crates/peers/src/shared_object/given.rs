//! KEMs in C, and the randomness that they are given: `cargo xtask peers` puts a stand-in in the place of their source.

use super::function;
use crate::contract::kem::Failed;
use libloading::Library;
use std::ffi::c_int;

/// The stand-in (`xtask/src/peers/shims/randomness.c`): bytes to hand out first, their number, and the state of the stream that follows.
pub(crate) type Randomness = unsafe extern "C" fn(*const u8, usize, u64);

/// Looks the stand-in up.
///
/// # Errors
/// If the library is not one that `cargo xtask peers` has made.
pub(crate) fn randomness(library: &Library) -> Result<Randomness, String> {
    // SAFETY: the type is that of the function in that file.
    unsafe { function(library, "candor_randomness") }
        .map_err(|_| "draws its randomness from another source than the lab's; `cargo xtask peers` makes one that can be given it".into())
}

/// The three functions of a KEM by NIST's interface.
#[derive(Clone, Copy)]
pub(crate) struct Kem {
    /// Without its status: libmceliece's returns nothing, and PQClean's is always 0.
    pub(crate) keypair: unsafe extern "C" fn(*mut u8, *mut u8),
    pub(crate) encaps: unsafe extern "C" fn(*mut u8, *mut u8, *const u8) -> c_int,
    pub(crate) decaps: unsafe extern "C" fn(*mut u8, *const u8, *const u8) -> c_int,
}

impl Kem {
    /// The functions with these names.
    ///
    /// # Safety
    /// They are such functions, and are not called once the library is gone.
    pub(crate) unsafe fn look_up(library: &Library, [keypair, encaps, decaps]: [&String; 3]) -> Result<Self, String> {
        // SAFETY: the caller's promise.
        unsafe {
            Ok(Self {
                keypair: function(library, keypair)?,
                encaps: function(library, encaps)?,
                decaps: function(library, decaps)?,
            })
        }
    }
}

/// Such a KEM at work, with the lengths that its header gives.
#[derive(Clone, Copy)]
pub(crate) struct Given {
    pub(crate) kem: Kem,
    pub(crate) randomness: Randomness,
    /// Bytes of a public key, a secret key, a ciphertext and a shared secret.
    pub(crate) sizes: [usize; 4],
}

/// The most bytes that a shared secret has: HQC's of round 4.
const MOST_SHARED: usize = 64;

impl Given {
    /// The secret key and the public key that follow from `coins`.
    pub(crate) fn keygen(&self, coins: &[u8]) -> (Vec<u8>, Vec<u8>) {
        let [public, secret, ..] = self.sizes;
        let (mut public, mut secret) = (vec![0; public], vec![0; secret]);
        // SAFETY: memory of the lengths that the header gives; the coins outlive the call.
        unsafe {
            (self.randomness)(coins.as_ptr(), coins.len(), 0);
            (self.kem.keypair)(public.as_mut_ptr(), secret.as_mut_ptr());
        }
        (secret, public)
    }

    /// The ciphertext and the first 32 bytes of the secret that follow from `coins`, and then from the stream of that state.
    pub(crate) fn encaps(&self, to: &[u8], coins: &[u8], state: u64) -> Result<(Vec<u8>, [u8; 32]), Failed> {
        let mut ciphertext = vec![0; self.sizes[2]];
        let mut shared = [0; MOST_SHARED];
        // SAFETY: as above; `public` has made sure of the key's length.
        let status = unsafe {
            (self.randomness)(coins.as_ptr(), coins.len(), state);
            (self.kem.encaps)(ciphertext.as_mut_ptr(), shared.as_mut_ptr(), to.as_ptr())
        };
        if status == 0 { Ok((ciphertext, first(&shared))) } else { Err("encapsulation fails") }
    }

    /// The first 32 bytes of the secret in a ciphertext.
    pub(crate) fn decaps(&self, with: &[u8], ciphertext: &[u8]) -> Result<[u8; 32], Failed> {
        if ciphertext.len() != self.sizes[2] {
            return Err("the ciphertext has another length");
        }
        let mut shared = [0; MOST_SHARED];
        // SAFETY: as above, and the key is one of ours.
        let status = unsafe { (self.kem.decaps)(shared.as_mut_ptr(), ciphertext.as_ptr(), with.as_ptr()) };
        // HQC says −1 where it rejects implicitly; the secret is there all the same.
        if status == 0 || status == -1 { Ok(first(&shared)) } else { Err("decapsulation fails") }
    }

    /// A public key: the libraries keep its bytes.
    pub(crate) fn public(&self, encoded: &[u8]) -> Result<Vec<u8>, Failed> {
        if encoded.len() == self.sizes[0] { Ok(encoded.to_vec()) } else { Err("the public key has another length") }
    }
}

fn first(shared: &[u8; MOST_SHARED]) -> [u8; 32] {
    *shared.first_chunk().expect("64 bytes begin with 32")
}
