//! Hashes.

use crate::handles::{Handle, Object, TABLE, get, lock};
use crate::status::{Status, guard};
use candor_c_abi::memory::{In, Out, OutHandle, bytes, zeros};
use candor_suite::hash::{HashAlgorithm, Hasher};
use std::ffi::c_int;
use std::sync::{Arc, Mutex};

fn algorithm(number: u32) -> Result<HashAlgorithm, Status> {
    HashAlgorithm::ALL.iter().copied().find(|algorithm| *algorithm as u32 == number).ok_or(Status::Algorithm)
}

fn hash(handle: Handle) -> Result<Arc<Object>, Status> {
    get(handle).and_then(|object| if matches!(*object, Object::Hash(_)) { Ok(object) } else { Err(Status::Kind) })
}

fn with<T>(handle: Handle, then: impl FnOnce(&mut Option<Hasher>) -> Result<T, Status>) -> Result<T, Status> {
    match &*hash(handle)? {
        Object::Hash(state) => then(&mut lock(state)),
        _ => Err(Status::Kind),
    }
}

/// How long a digest is: all of the room for SHAKE, the algorithm's length for others. Whoever gives SHAKE no room asks for a length, and is told the usual one.
fn length(algorithm: HashAlgorithm, out: &Out) -> usize {
    if algorithm.is_extendable() && out.room() > 0 { out.room() } else { algorithm.size() }
}

/// The digest of a message in one call.
///
/// # Safety
/// `data` is `length` bytes, `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_hash(
    algorithm_number: u32,
    data: *const u8,
    length: usize,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        let out = unsafe { Out::new(out, room, written) };
        let algorithm = algorithm(algorithm_number)?;
        // SAFETY: the caller's promise.
        let message = unsafe { In::new(data, length) };
        let size = self::length(algorithm, &out);
        out.fill(size, message, |message, digest| Ok(algorithm.digest(message, digest)?))
    })
}

/// A hash before the first byte of its message.
///
/// # Safety
/// `hash` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_hash_init(algorithm_number: u32, hash: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(hash) };
    guard(|| out.write(&TABLE, || Ok(Object::Hash(Mutex::new(Some(Hasher::new(algorithm(algorithm_number)?)))))))
}

/// The next piece of the message.
///
/// # Safety
/// `data` is `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_hash_update(hash: Handle, data: *const u8, length: usize) -> c_int {
    guard(|| {
        with(hash, |state| {
            let hasher = state.as_mut().ok_or(Status::Finished)?;
            // SAFETY: the caller's promise.
            hasher.update(unsafe { bytes(data, length)? });
            Ok(())
        })
    })
}

/// The digest of all pieces. The hash can't be used any more, unless the buffer was too short.
///
/// # Safety
/// `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_hash_final(hash: Handle, out: *mut u8, room: usize, written: *mut usize) -> c_int {
    guard(|| {
        with(hash, |state| {
            let algorithm = state.as_ref().ok_or(Status::Finished)?.algorithm();
            // SAFETY: the caller's promise.
            let out = unsafe { Out::new(out, room, written) };
            let size = length(algorithm, &out);
            out.check(size)?;
            let mut digest = zeros(size)?;
            state.take().ok_or(Status::Finished)?.finish(&mut digest)?;
            Ok(out.write(&digest)?)
        })
    })
}

/// A second hash that goes on from where this one is.
///
/// # Safety
/// `copy` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_hash_copy(hash: Handle, copy: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(copy) };
    guard(|| {
        out.write(&TABLE, || {
            let state = with(hash, |state| state.clone().ok_or(Status::Finished))?;
            Ok(Object::Hash(Mutex::new(Some(state))))
        })
    })
}
