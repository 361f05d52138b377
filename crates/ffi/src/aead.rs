//! Authenticated encryption.

use crate::handles::{Handle, Object, get};
use crate::memory::{In, Out, OutHandle, bytes};
use crate::status::{Status, guard};
use candor_suite::aead::{AeadAlgorithm, Cipher};
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
    guard(|| {
        out.write(|| {
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
        with(aead, |cipher| out.seal(cipher, nonce, aad, message))
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
        with(aead, |cipher| out.open(cipher, nonce, aad, sealed))
    })
}
