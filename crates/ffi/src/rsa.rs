//! RSA with its paddings.

use crate::handles::{Handle, Object, get};
use crate::key::choices;
use crate::memory::{Out, bytes};
use crate::status::{Status, guard};
use candor_suite::key::{KeyKind, PublicKey, SecretKey};
use candor_suite::signing::{Choices, Padding, Signing, Verifying};
use std::ffi::c_int;

fn is_rsa(kind: KeyKind) -> bool {
    matches!(kind, KeyKind::Rsa2048 | KeyKind::Rsa3072 | KeyKind::Rsa4096)
}

fn with_secret<T>(handle: Handle, then: impl FnOnce(&SecretKey) -> Result<T, Status>) -> Result<T, Status> {
    match &*get(handle)? {
        Object::Secret(key) if is_rsa(key.kind()) => then(key),
        Object::Secret(_) => Err(Status::Unsuitable),
        _ => Err(Status::Kind),
    }
}

fn with_public<T>(handle: Handle, then: impl FnOnce(&PublicKey) -> Result<T, Status>) -> Result<T, Status> {
    match &*get(handle)? {
        Object::Public(key) if is_rsa(key.kind()) => then(key),
        Object::Public(_) => Err(Status::Unsuitable),
        _ => Err(Status::Kind),
    }
}

fn padded(padding_number: u32, hash_number: u32) -> Result<Choices<'static>, Status> {
    let named = Padding::ALL.iter().copied().find(|padding| *padding as u32 == padding_number);
    Ok(Choices { padding: Some(named.ok_or(Status::Algorithm)?), ..choices(hash_number, None)? })
}

/// Signs a message by RSA with this padding; hash 0 is SHA-256. The signature is as long as the modulus.
///
/// # Safety
/// `message` is `length` bytes, `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_rsa_sign(
    secret: Handle,
    padding_number: u32,
    hash_number: u32,
    message: *const u8,
    length: usize,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        let (message, out) = unsafe { (bytes(message, length)?, Out::new(out, room, written)) };
        let choices = padded(padding_number, hash_number)?;
        let signature = with_secret(secret, |key| {
            out.check(key.kind().longest_signature().ok_or(Status::Unsuitable)?)?;
            let mut signing = Signing::new(key, choices)?;
            signing.update(message)?;
            Ok(signing.finish()?)
        })?;
        out.write(&signature)
    })
}

/// Whether a signature with this padding belongs to a message.
///
/// # Safety
/// Each pointer is as many bytes as the length behind it says.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_rsa_verify(
    public_key: Handle,
    padding_number: u32,
    hash_number: u32,
    message: *const u8,
    length: usize,
    signature: *const u8,
    signature_length: usize,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        let (message, signature) = unsafe { (bytes(message, length)?, bytes(signature, signature_length)?) };
        let choices = padded(padding_number, hash_number)?;
        with_public(public_key, |key| {
            let mut verifying = Verifying::new(key, choices)?;
            verifying.update(message)?;
            Ok(verifying.finish(signature)?)
        })
    })
}

/// Encrypts a short message by OAEP with SHA-256 and no label, into as many bytes as the modulus has.
///
/// # Safety
/// `message` is `length` bytes, `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_rsa_encrypt(
    public_key: Handle,
    message: *const u8,
    length: usize,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        let (message, out) = unsafe { (bytes(message, length)?, Out::new(out, room, written)) };
        let ciphertext = with_public(public_key, |key| Ok(key.encrypt(message)?))?;
        out.write(&ciphertext)
    })
}

/// The message of a ciphertext that [`candor_rsa_encrypt`] or another OAEP with SHA-256 and no label has made.
///
/// # Safety
/// `ciphertext` is `length` bytes, `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_rsa_decrypt(
    secret: Handle,
    ciphertext: *const u8,
    length: usize,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        let (ciphertext, out) = unsafe { (bytes(ciphertext, length)?, Out::new(out, room, written)) };
        let message = with_secret(secret, |key| Ok(key.decrypt(ciphertext)?))?;
        out.write(&message)
    })
}
