//! Secret keys: made, read, written, and what they do.

use crate::handles::{Handle, Object, TABLE, get};
use crate::status::{Status, guard_secret};
use candor_c_abi::memory::{Out, OutHandle, bytes};
use candor_suite::hash::HashAlgorithm;
use candor_suite::key::{KeyKind, SecretKey, sm2_message_length};
use candor_suite::key_file::{Encoding, Key, SecretForm, read};
use candor_suite::signing::{Choices, Signing};
use std::ffi::c_int;

/// Bytes of the secret that a KEM shares.
pub(crate) const SHARED: usize = 32;

pub(crate) fn kind(number: u32) -> Result<KeyKind, Status> {
    KeyKind::ALL.iter().copied().find(|kind| *kind as u32 == number).ok_or(Status::Algorithm)
}

pub(crate) fn with<T>(handle: Handle, then: impl FnOnce(&SecretKey) -> Result<T, Status>) -> Result<T, Status> {
    match &*get(handle)? {
        Object::Secret(key) => then(key),
        _ => Err(Status::Kind),
    }
}

/// The hash and the identity of a signature: 0 and null where the key's own is meant.
pub(crate) fn choices(hash: u32, id: Option<&[u8]>) -> Result<Choices<'_>, Status> {
    let named = |number| HashAlgorithm::ALL.iter().copied().find(|algorithm| *algorithm as u32 == number);
    let hash = if hash == 0 { None } else { Some(named(hash).ok_or(Status::Algorithm)?) };
    Ok(Choices { hash, id, padding: None })
}

/// A fresh secret key.
///
/// # Safety
/// `secret` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_secret_generate(kind_number: u32, secret: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(secret) };
    guard_secret(|| out.write(&TABLE, || Ok(Object::Secret(SecretKey::generate(kind(kind_number)?)?))))
}

/// The secret key in these bytes.
///
/// # Safety
/// `data` is `length` bytes, `secret` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_secret_from_bytes(
    kind_number: u32,
    data: *const u8,
    length: usize,
    secret: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(secret) };
    guard_secret(|| {
        out.write(&TABLE, || {
            // SAFETY: the caller's promise.
            let data = unsafe { bytes(data, length)? };
            Ok(Object::Secret(SecretKey::from_bytes(kind(kind_number)?, data)?))
        })
    })
}

/// The secret key in a file of PEM or DER: PKCS#8, SEC1's form, or PKCS#1's.
///
/// # Safety
/// As [`candor_secret_from_bytes`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_secret_from_file(data: *const u8, length: usize, secret: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(secret) };
    guard_secret(|| {
        out.write(&TABLE, || {
            // SAFETY: the caller's promise.
            match read(unsafe { bytes(data, length)? })? {
                Key::Secret(key) => Ok(Object::Secret(key)),
                Key::Public(_) => Err(Status::Key),
            }
        })
    })
}

/// The bytes of a secret key.
///
/// # Safety
/// `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_secret_to_bytes(
    secret: Handle,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(out, room, written) };
    guard_secret(|| with(secret, |key| Ok(out.write(&key.to_bytes()?)?)))
}

/// A secret key as PKCS#8 in PEM, without a zero behind it.
///
/// # Safety
/// As [`candor_secret_to_bytes`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_secret_to_pem(secret: Handle, out: *mut u8, room: usize, written: *mut usize) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(out, room, written) };
    guard_secret(|| with(secret, |key| Ok(out.write(&key.to_file(SecretForm::Pkcs8, Encoding::Pem)?)?)))
}

/// The public key of a secret one.
///
/// # Safety
/// `public_key` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_secret_public(secret: Handle, public_key: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(public_key) };
    guard_secret(|| out.write(&TABLE, || with(secret, |key| Ok(Object::Public(key.public_key()?)))))
}

/// Signs a message: ECDSA or SM2, in DER; Ed25519, 64 bytes; or RSA by PSS, as long as the modulus. There must be room for the longest signature of the kind, so
/// that it does not depend on chance whether there is.
///
/// # Safety
/// `id` and `message` are as many bytes as the length behind them says, `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_sign(
    secret: Handle,
    hash_number: u32,
    id: *const u8,
    id_length: usize,
    message: *const u8,
    length: usize,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    guard_secret(|| {
        // SAFETY: the caller's promise.
        let (identity, message) = unsafe { (bytes(id, id_length)?, bytes(message, length)?) };
        // SAFETY: the caller's promise.
        let out = unsafe { Out::new(out, room, written) };
        let signature = sign(secret, choices(hash_number, (!id.is_null()).then_some(identity))?, message, &out)?;
        Ok(out.write(&signature)?)
    })
}

/// The signature of a message, if there is room for the longest one. It is written by the caller: an argument counts as read until its function returns.
pub(crate) fn sign(secret: Handle, choices: Choices<'_>, message: &[u8], out: &Out) -> Result<Vec<u8>, Status> {
    with(secret, |key| {
        let mut signing = Signing::new(key, choices)?;
        out.check(key.kind().longest_signature().ok_or(Status::Unsuitable)?)?;
        signing.update(message)?;
        Ok(signing.finish()?)
    })
}

/// The secret shared with the holder of another key: ECDH's x coordinate, or X25519's. Derive keys from it.
///
/// # Safety
/// `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_agree(
    secret: Handle,
    public_key: Handle,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(out, room, written) };
    guard_secret(|| {
        let peer = get(public_key)?;
        let Object::Public(peer) = &*peer else { return Err(Status::Kind) };
        with(secret, |key| Ok(out.write(&key.agree(peer)?)?))
    })
}

/// The shared secret in a ciphertext of ML-KEM, 32 bytes. A ciphertext that was made for another key gives another secret.
///
/// # Safety
/// `ciphertext` is `length` bytes, `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_kem_decapsulate(
    secret: Handle,
    ciphertext: *const u8,
    length: usize,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    guard_secret(|| {
        // SAFETY: the caller's promise.
        let (ciphertext, out) = unsafe { (bytes(ciphertext, length)?, Out::new(out, room, written)) };
        let shared = with(secret, |key| {
            key.kind().ciphertext_size().ok_or(Status::Unsuitable)?;
            out.check(SHARED)?;
            Ok(key.decapsulate(ciphertext)?)
        })?;
        Ok(out.write(shared.as_bytes())?)
    })
}

/// The message in a ciphertext of SM2 (GM/T 0009).
///
/// # Safety
/// As [`candor_kem_decapsulate`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_sm2_decrypt(
    secret: Handle,
    ciphertext: *const u8,
    length: usize,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    guard_secret(|| {
        // SAFETY: the caller's promise.
        let (ciphertext, out) = unsafe { (bytes(ciphertext, length)?, Out::new(out, room, written)) };
        let message = with(secret, |key| {
            if key.kind() != KeyKind::Sm2 {
                return Err(Status::Unsuitable);
            }
            out.check(sm2_message_length(ciphertext)?)?;
            Ok(key.decrypt(ciphertext)?)
        })?;
        Ok(out.write(&message)?)
    })
}
