//! Keys and key contexts, freed when dropped.

use super::api::{Api, DEFAULT, Object, Parameter};
use std::ffi::{CStr, c_int, c_long, c_uchar};
use std::ptr;

/// The error of a failed operation: the name of the function.
pub(super) type Failed = &'static str;

/// Reads a key in DER.
type Read = unsafe extern "C" fn(*mut Object, *mut *const c_uchar, c_long) -> Object;

/// Encrypts or decrypts.
type Crypt = unsafe extern "C" fn(Object, *mut c_uchar, *mut usize, *const c_uchar, usize) -> c_int;

/// The length of all shared secrets here.
pub(super) const SHARED: usize = 32;

/// Which parts a key has: EVP_PKEY_PUBLIC_KEY and EVP_PKEY_KEYPAIR, which OSSL_KEYMGMT_SELECT_… stand for (core_dispatch.h).
pub(super) const PUBLIC_KEY: c_int = 0x86;
pub(super) const KEY_PAIR: c_int = 0x87;

/// An `EVP_PKEY`.
pub(super) struct Key {
    api: &'static Api,
    object: Object,
}

impl Drop for Key {
    fn drop(&mut self) {
        // SAFETY: made by this library, owned by this value, and not used after.
        unsafe { (self.api.EVP_PKEY_free)(self.object) }
    }
}

impl Key {
    pub(super) fn public(api: &'static Api, algorithm: &CStr, bytes: &[u8]) -> Result<Self, Failed> {
        // SAFETY: a name that ends in zero, and as many bytes as said; the call copies them.
        let object = unsafe {
            (api.EVP_PKEY_new_raw_public_key_ex)(DEFAULT, algorithm.as_ptr(), ptr::null(), bytes.as_ptr(), bytes.len())
        };
        if object.is_null() { Err("EVP_PKEY_new_raw_public_key_ex refuses the key") } else { Ok(Self { api, object }) }
    }

    pub(super) fn private(api: &'static Api, algorithm: &CStr, bytes: &[u8]) -> Result<Self, Failed> {
        // SAFETY: as above.
        let object = unsafe {
            (api.EVP_PKEY_new_raw_private_key_ex)(DEFAULT, algorithm.as_ptr(), ptr::null(), bytes.as_ptr(), bytes.len())
        };
        if object.is_null() { Err("EVP_PKEY_new_raw_private_key_ex refuses the key") } else { Ok(Self { api, object }) }
    }

    /// A key from parameters that the library copies; `selection` says which parts it has.
    pub(super) fn from_parts(
        api: &'static Api,
        algorithm: &CStr,
        selection: c_int,
        parameters: &[Parameter],
    ) -> Result<Self, Failed> {
        // SAFETY: a name that ends in zero.
        let context = unsafe { (api.EVP_PKEY_CTX_new_from_name)(DEFAULT, algorithm.as_ptr(), ptr::null()) };
        let context =
            Context::take(api, context, "EVP_PKEY_CTX_new_from_name failed")?.ready(api.EVP_PKEY_fromdata_init)?;
        let mut object = ptr::null_mut();
        // SAFETY: a context readied for it, and a list that ends in END; the key it writes becomes ours.
        let done = unsafe { (api.EVP_PKEY_fromdata)(context.object, &mut object, selection, parameters.as_ptr()) };
        if done == 1 && !object.is_null() { Ok(Self { api, object }) } else { Err("EVP_PKEY_fromdata refuses the key") }
    }

    /// The secret key of a file in DER.
    pub(super) fn from_pkcs8(api: &'static Api, file: &[u8]) -> Result<Self, Failed> {
        Self::read(api, api.d2i_AutoPrivateKey, file, "d2i_AutoPrivateKey refuses the key")
    }

    /// The public key of a SubjectPublicKeyInfo.
    pub(super) fn from_spki(api: &'static Api, file: &[u8]) -> Result<Self, Failed> {
        Self::read(api, api.d2i_PUBKEY, file, "d2i_PUBKEY refuses the key")
    }

    fn read(api: &'static Api, read: Read, file: &[u8], failed: Failed) -> Result<Self, Failed> {
        let mut from = file.as_ptr();
        let length = file.len().try_into().map_err(|_| failed)?;
        // SAFETY: the call reads at most as many bytes as said, moves the pointer behind them, and makes a new object.
        let object = unsafe { read(ptr::null_mut(), &mut from, length) };
        if object.is_null() { Err(failed) } else { Ok(Self { api, object }) }
    }

    /// The secret key in its own form in DER: of RSA's PKCS#1.
    pub(super) fn to_der(&self) -> Result<Vec<u8>, Failed> {
        // SAFETY: a live key; without a buffer the call only tells the length.
        let length = unsafe { (self.api.i2d_PrivateKey)(self.object, ptr::null_mut()) };
        let mut file = vec![0; usize::try_from(length).map_err(|_| "i2d_PrivateKey failed")?];
        let mut to = file.as_mut_ptr();
        // SAFETY: as many bytes as the call just asked for; it moves the pointer.
        let written = unsafe { (self.api.i2d_PrivateKey)(self.object, &mut to) };
        if written == length { Ok(file) } else { Err("i2d_PrivateKey failed") }
    }

    /// Writes the public key into `bytes`, which must have its length.
    pub(super) fn write_public(&self, bytes: &mut [u8]) -> Result<(), Failed> {
        let mut written = bytes.len();
        // SAFETY: a live key; the call writes at most `written` bytes and says how many.
        let done = unsafe { (self.api.EVP_PKEY_get_raw_public_key)(self.object, bytes.as_mut_ptr(), &mut written) };
        if done == 1 && written == bytes.len() { Ok(()) } else { Err("EVP_PKEY_get_raw_public_key failed") }
    }

    /// Writes what a key has under `name` into `room`, and says how many bytes that are.
    pub(super) fn octets(&self, name: &'static CStr, room: &mut [u8]) -> Result<usize, Failed> {
        let mut written = 0;
        // SAFETY: a live key; a name that ends in zero; the call writes at most as many bytes as said and says how many.
        let done = unsafe {
            (self.api.EVP_PKEY_get_octet_string_param)(
                self.object,
                name.as_ptr(),
                room.as_mut_ptr(),
                room.len(),
                &mut written,
            )
        };
        if done == 1 { Ok(written) } else { Err("EVP_PKEY_get_octet_string_param failed") }
    }

    /// The private key's bytes, if the library gives them away.
    pub(super) fn private_bytes(&self) -> Option<Vec<u8>> {
        let get = self.api.EVP_PKEY_get_raw_private_key;
        let mut length = 0;
        // SAFETY: a live key; without a buffer the call only tells the length.
        if unsafe { get(self.object, ptr::null_mut(), &mut length) } != 1 {
            return None;
        }
        let mut bytes = vec![0; length];
        // SAFETY: as many bytes as the call just asked for.
        let done = unsafe { get(self.object, bytes.as_mut_ptr(), &mut length) };
        bytes.truncate(length);
        (done == 1).then_some(bytes)
    }

    /// A context for operations with this key.
    pub(super) fn context(&self) -> Result<Context, Failed> {
        // SAFETY: a live key; the context takes a reference of its own.
        let object = unsafe { (self.api.EVP_PKEY_CTX_new_from_pkey)(DEFAULT, self.object, ptr::null()) };
        Context::take(self.api, object, "EVP_PKEY_CTX_new_from_pkey failed")
    }
}

/// An `EVP_PKEY_CTX`.
pub(super) struct Context {
    api: &'static Api,
    object: Object,
}

impl Drop for Context {
    fn drop(&mut self) {
        // SAFETY: made by this library, owned by this value, and not used after.
        unsafe { (self.api.EVP_PKEY_CTX_free)(self.object) }
    }
}

impl Context {
    fn take(api: &'static Api, object: Object, failed: Failed) -> Result<Self, Failed> {
        if object.is_null() { Err(failed) } else { Ok(Self { api, object }) }
    }

    /// A context that makes key pairs; one serves for any number of them.
    pub(super) fn generator(api: &'static Api, algorithm: &CStr) -> Result<Self, Failed> {
        // SAFETY: a name that ends in zero.
        let object = unsafe { (api.EVP_PKEY_CTX_new_from_name)(DEFAULT, algorithm.as_ptr(), ptr::null()) };
        let context = Self::take(api, object, "EVP_PKEY_CTX_new_from_name failed")?;
        // SAFETY: a live context.
        let done = unsafe { (api.EVP_PKEY_keygen_init)(context.object) };
        if done == 1 { Ok(context) } else { Err("EVP_PKEY_keygen_init failed") }
    }

    /// The context with these parameters, a list that ends in END.
    pub(super) fn with(self, parameters: &[Parameter]) -> Result<Self, Failed> {
        // SAFETY: a live context that was readied, and a list that ends in END, of which it copies what it takes.
        let done = unsafe { (self.api.EVP_PKEY_CTX_set_params)(self.object, parameters.as_ptr()) };
        if done == 1 { Ok(self) } else { Err("EVP_PKEY_CTX_set_params failed") }
    }

    /// Readies a key's context for an operation.
    pub(super) fn ready(self, init: unsafe extern "C" fn(Object) -> c_int) -> Result<Self, Failed> {
        // SAFETY: a live context, and one of the library's functions that ready one.
        if unsafe { init(self.object) } == 1 { Ok(self) } else { Err("EVP_PKEY_…_init failed") }
    }

    /// A fresh key pair.
    pub(super) fn generate(&self) -> Result<Key, Failed> {
        let mut object = ptr::null_mut();
        // SAFETY: a context that was readied for key generation; the key it writes becomes ours.
        let done = unsafe { (self.api.EVP_PKEY_generate)(self.object, &mut object) };
        if done == 1 && !object.is_null() { Ok(Key { api: self.api, object }) } else { Err("EVP_PKEY_generate failed") }
    }

    /// Readies a private key's context for agreement; one serves for any number of peers.
    pub(super) fn ready_to_derive(self) -> Result<Self, Failed> {
        // SAFETY: a live context.
        let done = unsafe { (self.api.EVP_PKEY_derive_init)(self.object) };
        if done == 1 { Ok(self) } else { Err("EVP_PKEY_derive_init failed") }
    }

    /// Agrees with the holder of `peer`.
    pub(super) fn derive(&self, peer: &Key) -> Result<[u8; SHARED], Failed> {
        // SAFETY: a context that was readied for agreement, and a live key, of which it takes a reference.
        if unsafe { (self.api.EVP_PKEY_derive_set_peer)(self.object, peer.object) } != 1 {
            return Err("EVP_PKEY_derive_set_peer refuses the key");
        }
        let (mut shared, mut written) = ([0; SHARED], SHARED);
        // SAFETY: the call writes at most `written` bytes and says how many.
        let done = unsafe { (self.api.EVP_PKEY_derive)(self.object, shared.as_mut_ptr(), &mut written) };
        if done == 1 && written == SHARED { Ok(shared) } else { Err("EVP_PKEY_derive failed") }
    }

    /// Agrees with the holder of `peer`, a key that was checked when it was made, into `room`; says how many bytes the secret has.
    pub(super) fn derive_unchecked(&self, peer: &Key, room: &mut [u8]) -> Result<usize, Failed> {
        // SAFETY: a context that was readied for agreement, and a live key, of which it takes a reference.
        if unsafe { (self.api.EVP_PKEY_derive_set_peer_ex)(self.object, peer.object, 0) } != 1 {
            return Err("EVP_PKEY_derive_set_peer_ex refuses the key");
        }
        let mut written = room.len();
        // SAFETY: the call writes at most `written` bytes and says how many.
        let done = unsafe { (self.api.EVP_PKEY_derive)(self.object, room.as_mut_ptr(), &mut written) };
        if done == 1 { Ok(written) } else { Err("EVP_PKEY_derive failed") }
    }

    /// Signs a digest into `room`, with a context that was readied for it; says how many bytes the signature has.
    pub(super) fn sign(&self, digest: &[u8], room: &mut [u8]) -> Result<usize, Failed> {
        let mut written = room.len();
        // SAFETY: a live context; the call reads as many bytes as said, writes at most `written` and says how many.
        let done = unsafe {
            (self.api.EVP_PKEY_sign)(self.object, room.as_mut_ptr(), &mut written, digest.as_ptr(), digest.len())
        };
        if done == 1 { Ok(written) } else { Err("EVP_PKEY_sign fails") }
    }

    /// Verifies a signature of a digest, with a context that was readied for it.
    pub(super) fn verify(&self, digest: &[u8], signature: &[u8]) -> Result<(), Failed> {
        // SAFETY: a live context; as many bytes as said.
        let done = unsafe {
            (self.api.EVP_PKEY_verify)(self.object, signature.as_ptr(), signature.len(), digest.as_ptr(), digest.len())
        };
        if done == 1 { Ok(()) } else { Err("EVP_PKEY_verify says no") }
    }

    /// Encrypts or decrypts into a room that is large enough, with a context that was readied for it.
    pub(super) fn crypt(
        &self,
        function: Crypt,
        input: &[u8],
        mut room: Vec<u8>,
        failed: Failed,
    ) -> Result<Vec<u8>, Failed> {
        let mut written = room.len();
        // SAFETY: a context readied for this function; room for as many bytes as said.
        let done = unsafe { function(self.object, room.as_mut_ptr(), &mut written, input.as_ptr(), input.len()) };
        room.truncate(written);
        if done == 1 { Ok(room) } else { Err(failed) }
    }

    /// Readies a public key's context for encapsulation; one serves for any number of them.
    pub(super) fn ready_to_encapsulate(self) -> Result<Self, Failed> {
        // SAFETY: a live context; no parameters.
        let done = unsafe { (self.api.EVP_PKEY_encapsulate_init)(self.object, DEFAULT) };
        if done == 1 { Ok(self) } else { Err("EVP_PKEY_encapsulate_init failed") }
    }

    /// Encapsulates, with a ciphertext of `C` bytes.
    pub(super) fn encapsulate<const C: usize>(&self) -> Result<([u8; C], [u8; SHARED]), Failed> {
        let (mut ciphertext, mut shared) = ([0; C], [0; SHARED]);
        let (mut written, mut secret) = (C, SHARED);
        // SAFETY: a context that was readied for encapsulation; the call writes at most the lengths given and says how
        // many bytes there are.
        let done = unsafe {
            (self.api.EVP_PKEY_encapsulate)(
                self.object,
                ciphertext.as_mut_ptr(),
                &mut written,
                shared.as_mut_ptr(),
                &mut secret,
            )
        };
        let whole = done == 1 && written == C && secret == SHARED;
        if whole { Ok((ciphertext, shared)) } else { Err("EVP_PKEY_encapsulate failed") }
    }

    /// Readies a private key's context for decapsulation; one serves for any number of them.
    pub(super) fn ready_to_decapsulate(self) -> Result<Self, Failed> {
        // SAFETY: a live context; no parameters.
        let done = unsafe { (self.api.EVP_PKEY_decapsulate_init)(self.object, DEFAULT) };
        if done == 1 { Ok(self) } else { Err("EVP_PKEY_decapsulate_init failed") }
    }

    /// The secret in `ciphertext`.
    pub(super) fn decapsulate(&self, ciphertext: &[u8]) -> Result<[u8; SHARED], Failed> {
        let (mut shared, mut written) = ([0; SHARED], SHARED);
        // SAFETY: a context that was readied for decapsulation; the call reads as many bytes as said, and writes at most
        // `written`.
        let done = unsafe {
            (self.api.EVP_PKEY_decapsulate)(
                self.object,
                shared.as_mut_ptr(),
                &mut written,
                ciphertext.as_ptr(),
                ciphertext.len(),
            )
        };
        if done == 1 && written == SHARED { Ok(shared) } else { Err("EVP_PKEY_decapsulate failed") }
    }
}
