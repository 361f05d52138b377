//! OpenSSL's functions, by name, from one shared object.
//!
//! Signatures are those of OpenSSL 3's manual pages (EVP_DigestInit(3), EVP_PKEY_new(3), EVP_PKEY_encapsulate(3), …), which
//! have not changed up to 4.0.

use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_long, c_uchar, c_uint, c_ulong, c_void};
use std::path::Path;

/// The name and version that a libcrypto reports.
pub(super) struct Identity {
    /// `openssl`, or the name of a fork.
    pub(super) library: String,
    pub(super) version: String,
}

// Selectors of OpenSSL_version(3).
const VERSION: c_int = 0;
const CFLAGS: c_int = 1;
const BUILT_ON: c_int = 2;
const PLATFORM: c_int = 3;
const CPU_INFO: c_int = 9;

type VersionFn = unsafe extern "C" fn(c_int) -> *const c_char;

/// Of Tongsuo, which gives the version of the OpenSSL that it was forked from as its own: major, minor and patch in 4, 8 and 16 bits, a
/// release in the last 4.
const TONGSUO: &str = "Tongsuo_version_num";
type TongsuoVersionFn = unsafe extern "C" fn() -> c_ulong;

macro_rules! api {
    ($($name:ident: fn($($argument:ty),*) $(-> $result:ty)?;)+) => {
        /// The functions used, all present. Fields have the functions' own names.
        #[allow(non_snake_case)]
        pub(super) struct Api {
            $(pub(super) $name: unsafe extern "C" fn($($argument),*) $(-> $result)?,)+
            OpenSSL_version: VersionFn,
            /// Keeps the code mapped for as long as the pointers above exist.
            _library: Library,
        }

        impl Api {
            /// Looks all functions up, or names the first that is missing.
            fn look_up(library: Library, version: VersionFn) -> Result<Self, String> {
                Ok(Self {
                    // SAFETY: the type of each field is the one that the function has in every OpenSSL that has it.
                    $($name: unsafe { function(&library, stringify!($name)) }?,)+
                    OpenSSL_version: version,
                    _library: library,
                })
            }
        }
    };
}

/// Looks one function up.
///
/// # Safety
/// `F` is the type of the function of that name, and is not used once the library is gone.
unsafe fn function<F: Copy>(library: &Library, name: &str) -> Result<F, String> {
    // SAFETY: the caller's promise.
    let function = unsafe { library.get::<F>(name) };
    function.map(|function| *function).map_err(|_| format!("has no {name} (needs 3.0)"))
}

/// OpenSSL's opaque objects: `EVP_MD`, `EVP_PKEY`, …
pub(super) type Object = *mut c_void;
/// A library context or a list of parameters that is left at its default.
pub(super) const DEFAULT: Object = std::ptr::null_mut();

/// An entry of a list of parameters: `OSSL_PARAM` (OSSL_PARAM(3)), here always one that the library only reads.
#[repr(C)]
pub(super) struct Parameter {
    key: *const c_char,
    data_type: c_uint,
    data: *const c_void,
    data_size: usize,
    return_size: usize,
}

impl Parameter {
    /// The end of a list of parameters.
    pub(super) const END: Self =
        Self { key: std::ptr::null(), data_type: 0, data: std::ptr::null(), data_size: 0, return_size: 0 };

    /// A name as text, in lists that do not outlive it.
    pub(super) fn name(key: &'static CStr, value: &CStr) -> Self {
        const UTF8_STRING: c_uint = 4;
        Self::new(key, UTF8_STRING, value.as_ptr().cast(), value.count_bytes())
    }

    /// Bytes, in lists that do not outlive them.
    pub(super) fn bytes(key: &'static CStr, value: &[u8]) -> Self {
        const OCTET_STRING: c_uint = 5;
        Self::new(key, OCTET_STRING, value.as_ptr().cast(), value.len())
    }

    /// A number of so many bytes in the machine's order, in lists that do not outlive it.
    pub(super) fn number(key: &'static CStr, value: &[u8]) -> Self {
        const UNSIGNED_INTEGER: c_uint = 2;
        Self::new(key, UNSIGNED_INTEGER, value.as_ptr().cast(), value.len())
    }

    fn new(key: &'static CStr, data_type: c_uint, data: *const c_void, data_size: usize) -> Self {
        /// OSSL_PARAM_UNMODIFIED.
        const UNMODIFIED: usize = usize::MAX;
        Self { key: key.as_ptr(), data_type, data, data_size, return_size: UNMODIFIED }
    }
}

api! {
    EVP_MD_fetch: fn(Object, *const c_char, *const c_char) -> Object;
    EVP_MD_free: fn(Object);
    EVP_MD_get0_provider: fn(Object) -> Object;
    EVP_MD_CTX_new: fn() -> Object;
    EVP_MD_CTX_free: fn(Object);
    EVP_DigestInit_ex2: fn(Object, Object, Object) -> c_int;
    EVP_DigestUpdate: fn(Object, *const c_void, usize) -> c_int;
    EVP_DigestFinal_ex: fn(Object, *mut c_uchar, *mut c_uint) -> c_int;
    EVP_DigestFinalXOF: fn(Object, *mut c_uchar, usize) -> c_int;
    EVP_CIPHER_fetch: fn(Object, *const c_char, *const c_char) -> Object;
    EVP_CIPHER_free: fn(Object);
    EVP_CIPHER_get0_provider: fn(Object) -> Object;
    EVP_CIPHER_CTX_new: fn() -> Object;
    EVP_CIPHER_CTX_free: fn(Object);
    EVP_CIPHER_CTX_ctrl: fn(Object, c_int, c_int, *mut c_void) -> c_int;
    EVP_CipherInit_ex2: fn(Object, Object, *const c_uchar, *const c_uchar, c_int, *const Parameter) -> c_int;
    EVP_CipherUpdate: fn(Object, *mut c_uchar, *mut c_int, *const c_uchar, c_int) -> c_int;
    EVP_CipherFinal_ex: fn(Object, *mut c_uchar, *mut c_int) -> c_int;
    EVP_MAC_fetch: fn(Object, *const c_char, *const c_char) -> Object;
    EVP_MAC_free: fn(Object);
    EVP_MAC_get0_provider: fn(Object) -> Object;
    EVP_MAC_CTX_new: fn(Object) -> Object;
    EVP_MAC_CTX_free: fn(Object);
    EVP_MAC_init: fn(Object, *const c_uchar, usize, *const Parameter) -> c_int;
    EVP_MAC_update: fn(Object, *const c_uchar, usize) -> c_int;
    EVP_MAC_final: fn(Object, *mut c_uchar, *mut usize, usize) -> c_int;
    EVP_KDF_fetch: fn(Object, *const c_char, *const c_char) -> Object;
    EVP_KDF_free: fn(Object);
    EVP_KDF_get0_provider: fn(Object) -> Object;
    EVP_KDF_CTX_new: fn(Object) -> Object;
    EVP_KDF_CTX_free: fn(Object);
    EVP_KDF_CTX_set_params: fn(Object, *const Parameter) -> c_int;
    EVP_KDF_derive: fn(Object, *mut c_uchar, usize, *const Parameter) -> c_int;
    OSSL_PROVIDER_get0_name: fn(Object) -> *const c_char;
    EVP_KEM_fetch: fn(Object, *const c_char, *const c_char) -> Object;
    EVP_KEM_free: fn(Object);
    EVP_KEM_get0_provider: fn(Object) -> Object;
    EVP_KEYEXCH_fetch: fn(Object, *const c_char, *const c_char) -> Object;
    EVP_KEYEXCH_free: fn(Object);
    EVP_KEYEXCH_get0_provider: fn(Object) -> Object;
    EVP_CIPHER_CTX_set_padding: fn(Object, c_int) -> c_int;
    EVP_PKEY_CTX_new_from_name: fn(Object, *const c_char, *const c_char) -> Object;
    EVP_PKEY_CTX_new_from_pkey: fn(Object, Object, *const c_char) -> Object;
    EVP_PKEY_CTX_free: fn(Object);
    EVP_PKEY_CTX_set_params: fn(Object, *const Parameter) -> c_int;
    EVP_PKEY_free: fn(Object);
    EVP_PKEY_keygen_init: fn(Object) -> c_int;
    EVP_PKEY_generate: fn(Object, *mut Object) -> c_int;
    EVP_PKEY_new_raw_public_key_ex: fn(Object, *const c_char, *const c_char, *const c_uchar, usize) -> Object;
    EVP_PKEY_new_raw_private_key_ex: fn(Object, *const c_char, *const c_char, *const c_uchar, usize) -> Object;
    EVP_PKEY_get_raw_public_key: fn(Object, *mut c_uchar, *mut usize) -> c_int;
    EVP_PKEY_get_raw_private_key: fn(Object, *mut c_uchar, *mut usize) -> c_int;
    EVP_PKEY_get_octet_string_param: fn(Object, *const c_char, *mut c_uchar, usize, *mut usize) -> c_int;
    d2i_AutoPrivateKey: fn(*mut Object, *mut *const c_uchar, c_long) -> Object;
    d2i_PUBKEY: fn(*mut Object, *mut *const c_uchar, c_long) -> Object;
    i2d_PrivateKey: fn(Object, *mut *mut c_uchar) -> c_int;
    EVP_PKEY_fromdata_init: fn(Object) -> c_int;
    EVP_PKEY_fromdata: fn(Object, *mut Object, c_int, *const Parameter) -> c_int;
    EVP_SIGNATURE_fetch: fn(Object, *const c_char, *const c_char) -> Object;
    EVP_SIGNATURE_free: fn(Object);
    EVP_SIGNATURE_get0_provider: fn(Object) -> Object;
    EVP_PKEY_sign_init: fn(Object) -> c_int;
    EVP_PKEY_sign: fn(Object, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
    EVP_PKEY_verify_init: fn(Object) -> c_int;
    EVP_PKEY_verify: fn(Object, *const c_uchar, usize, *const c_uchar, usize) -> c_int;
    EVP_PKEY_encrypt_init: fn(Object) -> c_int;
    EVP_PKEY_encrypt: fn(Object, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
    EVP_PKEY_decrypt_init: fn(Object) -> c_int;
    EVP_PKEY_decrypt: fn(Object, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
    EVP_PKEY_derive_init: fn(Object) -> c_int;
    EVP_PKEY_derive_set_peer: fn(Object, Object) -> c_int;
    EVP_PKEY_derive_set_peer_ex: fn(Object, Object, c_int) -> c_int;
    EVP_PKEY_derive: fn(Object, *mut c_uchar, *mut usize) -> c_int;
    EVP_PKEY_encapsulate_init: fn(Object, Object) -> c_int;
    EVP_PKEY_encapsulate: fn(Object, *mut c_uchar, *mut usize, *mut c_uchar, *mut usize) -> c_int;
    EVP_PKEY_decapsulate_init: fn(Object, Object) -> c_int;
    EVP_PKEY_decapsulate: fn(Object, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;
}

impl Api {
    /// Loads the library and asks what it is; then looks the functions up, which may end in a refusal of its own.
    pub(super) fn load(path: &Path) -> Result<(Identity, Result<Self, String>), String> {
        // SAFETY: loading runs the library's constructors. It is a libcrypto of the system or one that the user named;
        // OpenSSL's constructors only read CPUID and the environment.
        let library = unsafe { Library::new(path) }.map_err(|error| format!("does not load: {error}"))?;
        // SAFETY: OpenSSL_version has had this type since 1.1, in the forks as well.
        let version = unsafe { library.get::<VersionFn>("OpenSSL_version") };
        let version = *version.map_err(|_| "has no OpenSSL_version (needs 1.1)")?;
        let told = ask(version, VERSION).unwrap_or_default();
        let mut identity = identify(&told)?;
        // SAFETY: the type is that of Tongsuo's crypto.h, and nothing else has a function of that name.
        if let Ok(number) = unsafe { function::<TongsuoVersionFn>(&library, TONGSUO) } {
            // SAFETY: takes nothing.
            identity = tongsuo(unsafe { number() });
        }
        if !USABLE.contains(&identity.library.as_str()) {
            return Ok((identity, Err(format!("is \"{told}\", not OpenSSL"))));
        }
        Ok((identity, Self::look_up(library, version)))
    }

    /// Compiler, flags and platform, as the library tells them.
    pub(super) fn build_line(&self) -> String {
        let lines = [CFLAGS, PLATFORM, BUILT_ON].map(|what| ask(self.OpenSSL_version, what));
        lines.into_iter().flatten().collect::<Vec<_>>().join("; ")
    }

    /// The CPU features that the library sees (`OPENSSL_ia32cap=…`).
    pub(super) fn cpu_line(&self) -> Option<String> {
        ask(self.OpenSSL_version, CPU_INFO).filter(|line| line.contains('='))
    }

    /// The name of a provider.
    pub(super) fn provider_name(&self, provider: Object) -> String {
        if provider.is_null() {
            return "unknown".into();
        }
        // SAFETY: a provider that the library itself gave; the name lives as long as the provider, which is never unloaded.
        let name = unsafe { (self.OSSL_PROVIDER_get0_name)(provider) };
        text(name).unwrap_or_else(|| "unknown".into())
    }
}

/// What this module's functions are known to fit.
const USABLE: [&str; 2] = ["openssl", "tongsuo"];

fn tongsuo(number: c_ulong) -> Identity {
    let [major, minor, patch] = [(28, 0xf), (20, 0xff), (4, 0xffff)].map(|(shift, mask)| (number >> shift) & mask);
    Identity { library: "tongsuo".into(), version: format!("{major}.{minor}.{patch}") }
}

/// `OpenSSL 3.0.19 27 Jan 2026`, `LibreSSL 3.8.2`, `OpenSSL 1.1.1 (compatible; AWS-LC 1.66.0)`.
fn identify(told: &str) -> Result<Identity, String> {
    let fork = told.split_once("compatible; ").map(|(_, fork)| fork.trim_end_matches(')'));
    let mut words = fork.unwrap_or(told).split_whitespace();
    match (words.next(), words.next()) {
        (Some(library), Some(version)) => Ok(Identity { library: library.to_lowercase(), version: version.to_owned() }),
        _ => Err(format!("has an unknown version string: \"{told}\"")),
    }
}

fn ask(version: VersionFn, what: c_int) -> Option<String> {
    // SAFETY: takes any selector and answers unknown ones with a string as well.
    text(unsafe { version(what) })
}

fn text(pointer: *const c_char) -> Option<String> {
    if pointer.is_null() {
        return None;
    }
    // SAFETY: not null, and by its contract a string that ends in zero and lives as long as the library.
    Some(unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forks_are_told_apart() {
        for (told, library, version) in [
            ("OpenSSL 3.0.19 27 Jan 2026", "openssl", "3.0.19"),
            ("OpenSSL 4.0.3-dev ", "openssl", "4.0.3-dev"),
            ("LibreSSL 3.8.2", "libressl", "3.8.2"),
            ("OpenSSL 1.1.1 (compatible; AWS-LC 1.66.0)", "aws-lc", "1.66.0"),
        ] {
            let identity = identify(told).unwrap();
            assert_eq!((identity.library.as_str(), identity.version.as_str()), (library, version));
        }
        assert!(identify("BoringSSL").is_err());
        assert_eq!(tongsuo(0x8050_000f).version, "8.5.0");
        assert_eq!(tongsuo(0x8120_0340).version, "8.18.52");
    }

    #[test]
    fn a_file_that_is_no_library_is_refused() {
        let refused = Api::load(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/Cargo.toml"))).err().unwrap();
        assert!(refused.starts_with("does not load: "), "{refused}");
    }
}
