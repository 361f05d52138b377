//! liboqs, loaded at run time: the KEM library that pq-ntor-experiment is built on.
//!
//! It has rows in the tasks of ML-KEM (`ml_kem`) and of batches of SHAKE128 (`shake`), and it does the original's handshake (`insecure_seed`) on the original's libraries, with
//! hashes from OpenSSL called as the original calls them, the low-level SHA-256 and the one-shot `HMAC`. The KEM there is ML-KEM, for which
//! the original has Kyber of round 3.
//!
//! `cargo xtask peers liboqs` builds one into `target/peers`.

#![cfg(feature = "peer-liboqs")]
#![allow(unsafe_code)] // C libraries behind dlopen: every call crosses into them.

mod ml_kem;
mod shake;

use crate::contract::BY_SYSTEM_CALL;
use crate::contract::hash::{Algorithm, Shape};
use crate::contract::ml_kem::{Level, Op};
use crate::contract::ntor::{self, Kind};
use crate::insecure_seed::{Hash, InsecureSeed};
use crate::list::{Offers, Peer};
use crate::openssl;
use crate::shared_object::built::Built;
use crate::shared_object::{CHOSEN_AT_RUN_TIME, Found, SharedObject, Which, function};
use candor_lab::{Entry, Refusal};
use candor_primitives::SharedSecret;
use candor_primitives::kem::{Kem, KemError};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::path::Path;
use std::ptr::NonNull;
use std::sync::LazyLock;
use zeroize::Zeroizing;

static LIBRARY: Which = Which {
    name: "liboqs",
    file: "liboqs",
    what: "Open Quantum Safe's library of KEMs and signatures, which pq-ntor-experiment uses, loaded at run time",
    how: "build it with `cargo xtask peers liboqs`, or name a directory with a liboqs.so.* in CANDOR_PEERS",
    arm: CHOSEN_AT_RUN_TIME,
    needs: &[],
};

/// The fields of `OQS_KEM` (oqs/kem.h) up to the lengths, which are the same in all versions from 0.8 on.
#[repr(C)]
struct OqsKem {
    method_name: *const c_char,
    alg_version: *const c_char,
    claimed_nist_level: u8,
    ind_cca: bool,
    length_public_key: usize,
    length_secret_key: usize,
    length_ciphertext: usize,
    length_shared_secret: usize,
}

struct Functions {
    kem_new: unsafe extern "C" fn(*const c_char) -> *mut OqsKem,
    kem_free: unsafe extern "C" fn(*mut OqsKem),
    keypair: unsafe extern "C" fn(*const OqsKem, *mut u8, *mut u8) -> c_int,
    encaps: unsafe extern "C" fn(*const OqsKem, *mut u8, *mut u8, *const u8) -> c_int,
    decaps: unsafe extern "C" fn(*const OqsKem, *mut u8, *const u8, *const u8) -> c_int,
    /// Keeps the code mapped for as long as the pointers above exist.
    _library: Library,
}

fn look_up(library: Library, _: &Built) -> Result<(String, Functions), String> {
    // SAFETY: the types are those of oqs/common.h and oqs/kem.h, which have not changed since 0.8. `OQS_init` must come first, and may
    // come twice; the version is a constant.
    unsafe {
        let init = function::<unsafe extern "C" fn()>(&library, "OQS_init")?;
        let version = function::<unsafe extern "C" fn() -> *const c_char>(&library, "OQS_version")?;
        let functions = Functions {
            kem_new: function(&library, "OQS_KEM_new")?,
            kem_free: function(&library, "OQS_KEM_free")?,
            keypair: function(&library, "OQS_KEM_keypair")?,
            encaps: function(&library, "OQS_KEM_encaps")?,
            decaps: function(&library, "OQS_KEM_decaps")?,
            _library: library,
        };
        init();
        Ok((CStr::from_ptr(version()).to_string_lossy().into_owned(), functions))
    }
}

static FOUND: LazyLock<Found<Functions>> = LazyLock::new(|| Found::look_for(&LIBRARY, look_up));

/// What liboqs offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        FOUND.peers()
    }

    fn ml_kem(&self, level: Level, op: Op) -> Vec<Entry> {
        ml_kem::entries(level, op)
    }

    fn hash_batch(&self, algorithm: Algorithm, shape: Shape) -> Vec<Entry> {
        match (algorithm, shape.messages) {
            (Algorithm::Shake128, 4) => shake::entries(shape),
            _ => Vec::new(),
        }
    }

    fn ntor(&self, kind: Kind) -> Vec<Entry> {
        match kind {
            Kind::InsecureSeed(level) => insecure_seed(level),
            _ => Vec::new(),
        }
    }
}

/// The original's handshake on the original's libraries.
fn insecure_seed(level: Level) -> Vec<Entry> {
    let with = |object, hashes| match level {
        Level::L512 => entry::<512>(object, hashes, level),
        Level::L768 => entry::<768>(object, hashes, level),
        Level::L1024 => entry::<1024>(object, hashes, level),
    };
    FOUND.each_by_several(|object| {
        let entries: Vec<Entry> = openssl::usable().map(|hashes| with(object, hashes)).collect();
        if entries.is_empty() {
            let why = "needs an OpenSSL for its hashes, and there is none here";
            return vec![Entry::refused(&object.name, Refusal::new(why))];
        }
        entries
    })
}

/// An OpenSSL, by name and path.
type Hashes = (&'static str, &'static Path);

/// `liboqs-0.13.0+openssl-3.0.19`: the hashes are a good part of what is timed, so whose they are stands in the name.
fn entry<const N: usize>(object: &'static SharedObject<Functions>, hashes: Hashes, level: Level) -> Entry {
    ntor::entry(format!("{}+{}", object.name, hashes.0), Kind::InsecureSeed(level), move || {
        let hash = OpenSslHash::new(hashes).map_err(Refusal::failed)?;
        let scheme = InsecureSeed::new(MlKem::<N>::new(&object.functions)?, hash);
        let (openssl, _) = hashes;
        Ok(scheme.by(move |timed| {
            let timed = format!(
                "{timed}, the scheme of pq-ntor-experiment with ML-KEM from liboqs, low-level SHA-256 and one-shot HMAC from {openssl}"
            );
            object.provenance(&timed).telling([BY_SYSTEM_CALL])
        }))
    })
}

/// ML-KEM-`N` of one liboqs. Keys are bytes, as liboqs has them.
struct MlKem<const N: usize> {
    functions: &'static Functions,
    kem: NonNull<OqsKem>,
}

impl<const N: usize> Drop for MlKem<N> {
    fn drop(&mut self) {
        // SAFETY: made by OQS_KEM_new, owned by this value, and not used after.
        unsafe { (self.functions.kem_free)(self.kem.as_ptr()) }
    }
}

impl<const N: usize> MlKem<N> {
    fn new(functions: &'static Functions) -> Result<Self, Refusal> {
        let name = match N {
            512 => c"ML-KEM-512",
            768 => c"ML-KEM-768",
            _ => c"ML-KEM-1024",
        };
        // SAFETY: a name that ends in zero.
        let kem = NonNull::new(unsafe { (functions.kem_new)(name.as_ptr()) });
        let made = Self {
            functions,
            kem: kem.ok_or_else(|| Refusal::never("has no ML-KEM (needs 0.11 or newer, built with ML-KEM)"))?,
        };
        // SAFETY: the object is alive and begins with these fields.
        let told = unsafe { made.kem.as_ref() };
        let lengths =
            [told.length_public_key, told.length_secret_key, told.length_ciphertext, told.length_shared_secret];
        // The buffers below rely on these lengths.
        if lengths != [Self::PUBLIC, Self::SECRET, Self::CIPHERTEXT, 32] {
            return Err(Refusal::failed(format!(
                "has an ML-KEM-{N} with keys and ciphertexts of unexpected lengths: {lengths:?}"
            )));
        }
        Ok(made)
    }
}

const FAILED: KemError = KemError::BackEnd("liboqs");

impl<const N: usize> Kem for MlKem<N> {
    type Secret = Vec<u8>;
    type Public = Vec<u8>;

    const NAME: &'static str = match N {
        512 => "ML-KEM-512",
        768 => "ML-KEM-768",
        _ => "ML-KEM-1024",
    };
    // FIPS 203 §8, table 3.
    const PUBLIC: usize = 384 * (N / 256) + 32;
    const SECRET: usize = 768 * (N / 256) + 96;
    const CIPHERTEXT: usize = match N {
        1024 => 32 * (11 * 4 + 5),
        _ => 32 * (10 * (N / 256) + 4),
    };

    fn generate(&self) -> Result<(Vec<u8>, Vec<u8>), KemError> {
        let (mut secret, mut public) = (vec![0; Self::SECRET], vec![0; Self::PUBLIC]);
        let keypair = self.functions.keypair;
        // SAFETY: a live object, and memory of the lengths that it was asked for in `new`.
        let status = unsafe { keypair(self.kem.as_ptr(), public.as_mut_ptr(), secret.as_mut_ptr()) };
        if status == 0 { Ok((secret, public)) } else { Err(FAILED) }
    }

    /// liboqs parses when it encapsulates.
    fn public_from_bytes(&self, bytes: &[u8]) -> Result<Vec<u8>, KemError> {
        sized("public key", Self::PUBLIC, bytes)
    }

    fn public_to_bytes(&self, public: &Vec<u8>, bytes: &mut [u8]) -> Result<(), KemError> {
        bytes.copy_from_slice(public);
        Ok(())
    }

    fn secret_from_bytes(&self, bytes: &[u8]) -> Result<Vec<u8>, KemError> {
        sized("secret key", Self::SECRET, bytes)
    }

    fn secret_to_bytes(&self, secret: &Vec<u8>) -> Result<Zeroizing<Vec<u8>>, KemError> {
        Ok(Zeroizing::new(secret.clone()))
    }

    fn encapsulate(&self, to: &Vec<u8>, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        check("public key", Self::PUBLIC, to)?;
        check("ciphertext", Self::CIPHERTEXT, ciphertext)?;
        let mut shared = [0; 32];
        let encaps = self.functions.encaps;
        // SAFETY: a live object, and memory of the lengths that it was asked for in `new`.
        let status = unsafe { encaps(self.kem.as_ptr(), ciphertext.as_mut_ptr(), shared.as_mut_ptr(), to.as_ptr()) };
        if status == 0 { Ok(shared.into()) } else { Err(FAILED) }
    }

    fn decapsulate(&self, with: &Vec<u8>, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
        check("secret key", Self::SECRET, with)?;
        check("ciphertext", Self::CIPHERTEXT, ciphertext)?;
        let mut shared = [0; 32];
        let decaps = self.functions.decaps;
        // SAFETY: as above.
        let status = unsafe { decaps(self.kem.as_ptr(), shared.as_mut_ptr(), ciphertext.as_ptr(), with.as_ptr()) };
        if status == 0 { Ok(shared.into()) } else { Err(FAILED) }
    }
}

fn check(what: &'static str, expected: usize, bytes: &[u8]) -> Result<(), KemError> {
    if bytes.len() == expected { Ok(()) } else { Err(KemError::Length { what, expected, got: bytes.len() }) }
}

fn sized(what: &'static str, expected: usize, bytes: &[u8]) -> Result<Vec<u8>, KemError> {
    check(what, expected, bytes).map(|()| bytes.to_vec())
}

/// A `SHA256_CTX` (openssl/sha.h): 112 bytes of 32-bit words.
type Context = [u32; 28];

/// SHA-256 and HMAC as the original calls them.
struct OpenSslHash {
    init: unsafe extern "C" fn(*mut Context) -> c_int,
    update: unsafe extern "C" fn(*mut Context, *const u8, usize) -> c_int,
    finish: unsafe extern "C" fn(*mut u8, *mut Context) -> c_int,
    evp_sha256: unsafe extern "C" fn() -> *const c_void,
    hmac: unsafe extern "C" fn(*const c_void, *const u8, c_int, *const u8, usize, *mut u8, *mut c_uint) -> *mut u8,
    _library: Library,
}

impl OpenSslHash {
    fn new((name, path): Hashes) -> Result<Self, String> {
        // SAFETY: it is loaded already, by `openssl`.
        let library = unsafe { Library::new(path) }.map_err(|error| format!("{name} does not load: {error}"))?;
        // SAFETY: the types are those of openssl/sha.h, openssl/evp.h and openssl/hmac.h.
        unsafe {
            Ok(Self {
                init: function(&library, "SHA256_Init")?,
                update: function(&library, "SHA256_Update")?,
                finish: function(&library, "SHA256_Final")?,
                evp_sha256: function(&library, "EVP_sha256")?,
                hmac: function(&library, "HMAC")?,
                _library: library,
            })
        }
    }
}

impl Hash for OpenSslHash {
    fn sha256(&self, data: &[u8]) -> [u8; 32] {
        let (mut context, mut digest) = ([0; 28], [0; 32]);
        // SAFETY: a context of its size, readied first; as many bytes as said; 32 bytes for the digest.
        unsafe {
            (self.init)(&mut context);
            (self.update)(&mut context, data.as_ptr(), data.len());
            (self.finish)(digest.as_mut_ptr(), &mut context);
        }
        digest
    }

    fn hmac(&self, key: &[u8], data: &[u8]) -> [u8; 32] {
        let (mut mac, mut length) = ([0; 32], 32);
        let key_length = c_int::try_from(key.len()).expect("keys here have 32 bytes");
        // SAFETY: a digest that is never freed, as many bytes as said, and 32 bytes for the MAC.
        let done = unsafe {
            let digest = (self.evp_sha256)();
            (self.hmac)(digest, key.as_ptr(), key_length, data.as_ptr(), data.len(), mac.as_mut_ptr(), &mut length)
        };
        assert!(!done.is_null() && length == 32, "HMAC fails only without memory");
        mac
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hmac::{Hmac, KeyInit, Mac};
    use sha2::{Digest, Sha256};

    #[test]
    fn lengths_are_those_of_fips_203() {
        fn of<const N: usize>() -> [usize; 3] {
            [MlKem::<N>::PUBLIC, MlKem::<N>::SECRET, MlKem::<N>::CIPHERTEXT]
        }
        assert_eq!(of::<512>(), [800, 1632, 768]);
        assert_eq!(of::<768>(), [1184, 2400, 1088]);
        assert_eq!(of::<1024>(), [1568, 3168, 1568]);
    }

    #[test]
    fn openssl_hashes_as_rustcrypto_does() {
        for theirs in openssl::usable().map(|hashes| OpenSslHash::new(hashes).unwrap()) {
            for length in [0, 1, 64, 1700] {
                let data = vec![7; length];
                assert_eq!(theirs.sha256(&data)[..], Sha256::digest(&data)[..]);
                let mac = Hmac::<Sha256>::new_from_slice(&[3; 32]).unwrap().chain_update(&data);
                assert_eq!(theirs.hmac(&[3; 32], &data)[..], mac.finalize().into_bytes()[..]);
            }
        }
    }
}
