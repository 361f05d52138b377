//! RSA with its paddings.

use crate::handles::Handle;
use crate::key::{self, choices};
use crate::public_key;
use crate::status::{Status, guard, guard_secret};
use candor_c_abi::memory::{Out, bytes};
use candor_suite::signing::{Choices, Padding};
use std::ffi::c_int;

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
    guard_secret(|| {
        // SAFETY: the caller's promise.
        let (message, out) = unsafe { (bytes(message, length)?, Out::new(out, room, written)) };
        let signature = key::sign(secret, padded(padding_number, hash_number)?, message, &out)?;
        Ok(out.write(&signature)?)
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
        public_key::verify(public_key, padded(padding_number, hash_number)?, message, signature)
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
    guard_secret(|| {
        // SAFETY: the caller's promise.
        let (message, out) = unsafe { (bytes(message, length)?, Out::new(out, room, written)) };
        let ciphertext = public_key::with(public_key, |key| {
            out.check(key.kind().modulus_size().ok_or(Status::Unsuitable)?)?;
            Ok(key.encrypt(message)?)
        })?;
        Ok(out.write(&ciphertext)?)
    })
}

/// The message of a ciphertext that [`candor_rsa_encrypt`] or another OAEP with SHA-256 and no label has made. There must be room for the longest message of the
/// key, so that asking for the length costs nothing and tells nothing.
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
    guard_secret(|| {
        // SAFETY: the caller's promise.
        let (ciphertext, out) = unsafe { (bytes(ciphertext, length)?, Out::new(out, room, written)) };
        let message = key::with(secret, |key| {
            out.check(key.public_key()?.longest_message().ok_or(Status::Unsuitable)?)?;
            Ok(key.decrypt(ciphertext)?)
        })?;
        Ok(out.write(&message)?)
    })
}
