//! Authenticated encryption.

use crate::handles::{Handle, Object, TABLE, get};
use crate::status::{Status, guard, guard_secret};
use candor_c_abi::memory::{In, Out, OutHandle, bytes, copy};
use candor_suite::aead::{AeadAlgorithm, Cipher, TAG};
use std::ffi::c_int;

fn algorithm(number: u32) -> Result<AeadAlgorithm, Status> {
    AeadAlgorithm::ALL.iter().copied().find(|algorithm| *algorithm as u32 == number).ok_or(Status::Algorithm)
}

fn with<T>(handle: Handle, then: impl FnOnce(&Cipher) -> Result<T, Status>) -> Result<T, Status> {
    match &*get(handle)? {
        Object::Aead(cipher) => then(cipher),
        _ => Err(Status::Kind),
    }
}

/// A key for many messages.
///
/// # Safety
/// `key` is `key_length` bytes, `aead` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_aead_init(
    algorithm_number: u32,
    key: *const u8,
    key_length: usize,
    aead: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(aead) };
    guard_secret(|| {
        out.write(&TABLE, || {
            // SAFETY: the caller's promise.
            let key = unsafe { bytes(key, key_length)? };
            Ok(Object::Aead(Cipher::new(algorithm(algorithm_number)?, key)?))
        })
    })
}

/// Encrypts a message; its tag of 16 bytes stands behind it. Never use a nonce twice under one key.
///
/// # Safety
/// Each pointer is as many bytes as the length behind it says, `written` is a number or null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_aead_seal(
    aead: Handle,
    nonce: *const u8,
    nonce_length: usize,
    aad: *const u8,
    aad_length: usize,
    message: *const u8,
    message_length: usize,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        let (nonce, aad) = unsafe { (In::new(nonce, nonce_length), In::new(aad, aad_length)) };
        // SAFETY: the caller's promise.
        let (message, out) = unsafe { (In::new(message, message_length), Out::new(out, room, written)) };
        with(aead, |cipher| seal(cipher, nonce, aad, message, out))
    })
}

/// Decrypts a message with its tag behind it. If it is not authentic, the output is zeros.
///
/// # Safety
/// As [`candor_aead_seal`].
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_aead_open(
    aead: Handle,
    nonce: *const u8,
    nonce_length: usize,
    aad: *const u8,
    aad_length: usize,
    sealed: *const u8,
    sealed_length: usize,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        let (nonce, aad) = unsafe { (In::new(nonce, nonce_length), In::new(aad, aad_length)) };
        // SAFETY: the caller's promise.
        let (sealed, out) = unsafe { (In::new(sealed, sealed_length), Out::new(out, room, written)) };
        with(aead, |cipher| open(cipher, nonce, aad, sealed, out))
    })
}

/// Encrypts a message, wherever it lies, into the output, with its tag behind it.
fn seal(cipher: &Cipher, nonce: In, aad: In, message: In, out: Out) -> Result<(), Status> {
    // SAFETY: it is copied before the output is written.
    let (nonce, aad) = (nonce_for(cipher, nonce)?, copy(unsafe { aad.bytes()? })?);
    out.on_moved(message, TAG, |data| {
        let tag = cipher.seal(&nonce, &aad, data);
        if tag.is_err() {
            data.fill(0);
        }
        Ok(tag?)
    })
}

/// Decrypts what was sealed, wherever it lies, into the output. If it is not authentic, the output is zeros.
fn open(cipher: &Cipher, nonce: In, aad: In, sealed: In, out: Out) -> Result<(), Status> {
    let length = sealed.length().checked_sub(TAG).ok_or(Status::Length)?;
    // SAFETY: it is copied before the output is written.
    let (nonce, aad) = (nonce_for(cipher, nonce)?, copy(unsafe { aad.bytes()? })?);
    // SAFETY: it is copied before the output is written.
    let tag = *unsafe { sealed.bytes()? }.last_chunk::<TAG>().ok_or(Status::Length)?;
    out.on_moved(sealed.first(length), 0, |data| {
        let opened = cipher.open(&nonce, &aad, data, &tag);
        if opened.is_err() {
            // Also where nothing was decrypted, as with a message that is too long.
            data.fill(0);
        }
        opened?;
        Ok([0; 0])
    })
}

/// A copy of the nonce, if it has the right length. Before anything is moved: a mistake of the caller's must not cost the message.
fn nonce_for(cipher: &Cipher, nonce: In) -> Result<Vec<u8>, Status> {
    // SAFETY: it is copied before this returns.
    let nonce = unsafe { nonce.bytes()? };
    if nonce.len() == cipher.algorithm().nonce_size() { Ok(nonce.to_vec()) } else { Err(Status::Length) }
}
