//! Public keys: read, written, and what they do.

use crate::handles::{Handle, Object, TABLE, get};
use crate::key::{SHARED, choices, kind};
use crate::status::{Status, guard, guard_secret};
use candor_c_abi::memory::{Out, OutHandle, bytes};
use candor_suite::key::{KeyKind, PublicKey, SM2_OVERHEAD};
use candor_suite::key_file::{Encoding, read};
use candor_suite::signing::{Choices, Verifying};
use std::ffi::c_int;

pub(crate) fn with<T>(handle: Handle, then: impl FnOnce(&PublicKey) -> Result<T, Status>) -> Result<T, Status> {
    match &*get(handle)? {
        Object::Public(key) => then(key),
        _ => Err(Status::Kind),
    }
}

/// The public key in these bytes.
///
/// # Safety
/// `data` is `length` bytes, `public_key` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_public_from_bytes(
    kind_number: u32,
    data: *const u8,
    length: usize,
    public_key: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(public_key) };
    guard(|| {
        out.write(&TABLE, || {
            // SAFETY: the caller's promise.
            let data = unsafe { bytes(data, length)? };
            Ok(Object::Public(PublicKey::from_bytes(kind(kind_number)?, data)?))
        })
    })
}

/// The public key in a file of PEM or DER, or that of the secret key in it.
///
/// # Safety
/// As [`candor_public_from_bytes`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_public_from_file(data: *const u8, length: usize, public_key: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(public_key) };
    guard_secret(|| {
        out.write(&TABLE, || {
            // SAFETY: the caller's promise.
            let data = unsafe { bytes(data, length)? };
            Ok(Object::Public(read(data)?.into_public()?))
        })
    })
}

/// The bytes of a public key.
///
/// # Safety
/// `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_public_to_bytes(
    public_key: Handle,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(out, room, written) };
    guard(|| with(public_key, |key| Ok(out.write(&key.to_bytes()?)?)))
}

/// A public key as SubjectPublicKeyInfo in PEM, without a zero behind it.
///
/// # Safety
/// As [`candor_public_to_bytes`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_public_to_pem(
    public_key: Handle,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(out, room, written) };
    guard(|| with(public_key, |key| Ok(out.write(&key.to_file(Encoding::Pem)?)?)))
}

/// Whether a signature belongs to a message.
///
/// # Safety
/// Each pointer is as many bytes as the length behind it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_verify(
    public_key: Handle,
    hash_number: u32,
    id: *const u8,
    id_length: usize,
    message: *const u8,
    length: usize,
    signature: *const u8,
    signature_length: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        let (identity, message) = unsafe { (bytes(id, id_length)?, bytes(message, length)?) };
        // SAFETY: the caller's promise.
        let signature = unsafe { bytes(signature, signature_length)? };
        verify(public_key, choices(hash_number, (!id.is_null()).then_some(identity))?, message, signature)
    })
}

/// Whether a signature belongs to a message.
pub(crate) fn verify(public_key: Handle, choices: Choices<'_>, message: &[u8], signature: &[u8]) -> Result<(), Status> {
    with(public_key, |key| {
        let mut verifying = Verifying::new(key, choices)?;
        verifying.update(message)?;
        Ok(verifying.finish(signature)?)
    })
}

/// A fresh shared secret of 32 bytes, and the ciphertext of ML-KEM that carries it.
///
/// # Safety
/// `ciphertext` has `room` bytes and `shared` has `shared_room`, `written` and `shared_written` numbers or are null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_kem_encapsulate(
    public_key: Handle,
    ciphertext: *mut u8,
    room: usize,
    written: *mut usize,
    shared: *mut u8,
    shared_room: usize,
    shared_written: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let (out, shared_out) =
        unsafe { (Out::new(ciphertext, room, written), Out::new(shared, shared_room, shared_written)) };
    guard_secret(|| {
        with(public_key, |key| {
            let size = key.kind().ciphertext_size().ok_or(Status::Unsuitable)?;
            // Both lengths are said even if the first buffer is too short.
            let (first, second) = (out.check(size), shared_out.check(SHARED));
            first.and(second)?;
            let (ciphertext, secret) = key.encapsulate()?;
            out.write(&ciphertext)?;
            Ok(shared_out.write(secret.as_bytes())?)
        })
    })
}

/// Encrypts a message of at least one byte by SM2, in the form of GM/T 0009. There must be room for the longest ciphertext, 116 bytes more than the message.
///
/// # Safety
/// `message` is `length` bytes, `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_sm2_encrypt(
    public_key: Handle,
    message: *const u8,
    length: usize,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    guard_secret(|| {
        // SAFETY: the caller's promise.
        let (message, out) = unsafe { (bytes(message, length)?, Out::new(out, room, written)) };
        let ciphertext = with(public_key, |key| {
            if key.kind() != KeyKind::Sm2 {
                return Err(Status::Unsuitable);
            }
            out.check(length.checked_add(SM2_OVERHEAD).ok_or(Status::Length)?)?;
            Ok(key.encrypt(message)?)
        })?;
        Ok(out.write(&ciphertext)?)
    })
}
