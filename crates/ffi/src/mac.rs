//! Message authentication codes.

use crate::handles::{Handle, Object, TABLE, get, lock};
use crate::status::{Status, guard, guard_secret};
use candor_c_abi::memory::{Out, OutHandle, bytes};
use candor_suite::mac::{Authenticator, MacAlgorithm};
use std::ffi::c_int;
use std::sync::Mutex;

fn algorithm(number: u32) -> Result<MacAlgorithm, Status> {
    MacAlgorithm::ALL.iter().copied().find(|algorithm| *algorithm as u32 == number).ok_or(Status::Algorithm)
}

fn with<T>(handle: Handle, then: impl FnOnce(&mut Option<Authenticator>) -> Result<T, Status>) -> Result<T, Status> {
    match &*get(handle)? {
        Object::Mac(state) => then(&mut lock(state)),
        _ => Err(Status::Kind),
    }
}

/// A MAC before the first byte of its message.
///
/// # Safety
/// `key` is `key_length` bytes, `mac` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_mac_init(
    algorithm_number: u32,
    key: *const u8,
    key_length: usize,
    mac: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(mac) };
    guard_secret(|| {
        out.write(&TABLE, || {
            // SAFETY: the caller's promise.
            let key = unsafe { bytes(key, key_length)? };
            Ok(Object::Mac(Mutex::new(Some(Authenticator::new(algorithm(algorithm_number)?, key)?))))
        })
    })
}

/// The next piece of the message.
///
/// # Safety
/// `data` is `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_mac_update(mac: Handle, data: *const u8, length: usize) -> c_int {
    guard(|| {
        with(mac, |state| {
            let authenticator = state.as_mut().ok_or(Status::Finished)?;
            // SAFETY: the caller's promise.
            authenticator.update(unsafe { bytes(data, length)? });
            Ok(())
        })
    })
}

/// The code of all pieces. The MAC can't be used any more, unless the buffer was too short.
///
/// # Safety
/// `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_mac_final(mac: Handle, out: *mut u8, room: usize, written: *mut usize) -> c_int {
    guard_secret(|| {
        with(mac, |state| {
            let size = state.as_ref().ok_or(Status::Finished)?.algorithm().size();
            // SAFETY: the caller's promise.
            let out = unsafe { Out::new(out, room, written) };
            out.check(size)?;
            Ok(out.write(&state.take().ok_or(Status::Finished)?.finish())?)
        })
    })
}

/// Compares the code of all pieces with this one, in constant time. The MAC can't be used any more.
///
/// # Safety
/// `code` is `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_mac_verify(mac: Handle, code: *const u8, length: usize) -> c_int {
    guard_secret(|| {
        with(mac, |state| {
            // SAFETY: the caller's promise.
            let code = unsafe { bytes(code, length)? };
            Ok(state.take().ok_or(Status::Finished)?.verify(code)?)
        })
    })
}

/// A second MAC that goes on from where this one is.
///
/// # Safety
/// `copy` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_mac_copy(mac: Handle, copy: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(copy) };
    guard_secret(|| {
        out.write(&TABLE, || {
            let state = with(mac, |state| state.clone().ok_or(Status::Finished))?;
            Ok(Object::Mac(Mutex::new(Some(state))))
        })
    })
}
