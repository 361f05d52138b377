//! The server's functions.

#![allow(unsafe_code)] // The exported names, and functions that C promises to call with valid pointers.

use super::arguments::{CandorOpaqueParties, made, parties};
use crate::server;
use crate::status::{guard, guard_secret};
use candor_c_abi::handles::Handle;
use candor_c_abi::memory::{Out, OutHandle, bytes, optional};
use std::ffi::c_int;

/// A server of a suite with fresh keys.
///
/// # Safety
/// `ksf` is `ksf_length` bytes, `server` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_server_generate(
    suite_number: u32,
    ksf: *const u8,
    ksf_length: usize,
    server: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(server) };
    made(out, || {
        // SAFETY: the caller's promise.
        server::generate(suite_number, unsafe { optional(ksf, ksf_length)? })
    })
}

/// A server that was saved.
///
/// # Safety
/// `saved` is `length` bytes, `server` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_server_from_bytes(
    suite_number: u32,
    saved: *const u8,
    length: usize,
    server: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(server) };
    made(out, || {
        // SAFETY: the caller's promise.
        server::from_bytes(suite_number, unsafe { bytes(saved, length)? })
    })
}

/// A server with the keys of another implementation.
///
/// # Safety
/// Each pointer is as many bytes as the length behind it says, `server` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_server_from_keys(
    suite_number: u32,
    oprf_seed: *const u8,
    oprf_seed_length: usize,
    secret_key: *const u8,
    secret_key_length: usize,
    ksf: *const u8,
    ksf_length: usize,
    server: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(server) };
    made(out, || {
        // SAFETY: the caller's promise.
        let (seed, key) = unsafe { (bytes(oprf_seed, oprf_seed_length)?, bytes(secret_key, secret_key_length)?) };
        // SAFETY: the caller's promise.
        server::from_keys(suite_number, seed, key, unsafe { optional(ksf, ksf_length)? })
    })
}

/// A server of another suite with the same keys.
///
/// # Safety
/// `other` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_server_to_suite(server: Handle, suite_number: u32, other: *mut Handle) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(other) };
    made(out, || server::to_suite(server, suite_number))
}

/// From now on users register with these key stretching parameters.
///
/// # Safety
/// `ksf` is `ksf_length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_server_adopt_ksf(
    server: Handle,
    ksf: *const u8,
    ksf_length: usize,
    moved_per_mille: u32,
) -> c_int {
    guard(|| {
        // SAFETY: the caller's promise.
        server::adopt_ksf(server, unsafe { bytes(ksf, ksf_length)? }, moved_per_mille)
    })
}

/// Answers the registration request of a new account.
///
/// # Safety
/// `request` is `length` bytes, `registration` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_server_start_registration(
    server: Handle,
    request: *const u8,
    length: usize,
    registration: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(registration) };
    made(out, || {
        // SAFETY: the caller's promise.
        server::start_registration(server, unsafe { bytes(request, length)? })
    })
}

/// Answers the registration request of the account that has just logged in with this session.
///
/// # Safety
/// `request` is `length` bytes, `registration` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_server_start_registration_again(
    server: Handle,
    session: Handle,
    request: *const u8,
    length: usize,
    registration: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(registration) };
    made(out, || {
        // SAFETY: the caller's promise.
        server::start_registration_again(server, session, unsafe { bytes(request, length)? })
    })
}

/// Answers a registration request under an identifier of the caller's.
///
/// # Safety
/// Each pointer is as many bytes as the length behind it says, `registration` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_server_start_registration_with_id(
    server: Handle,
    id: *const u8,
    id_length: usize,
    request: *const u8,
    length: usize,
    registration: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(registration) };
    made(out, || {
        // SAFETY: the caller's promise.
        let (id, request) = unsafe { (bytes(id, id_length)?, bytes(request, length)?) };
        server::start_registration_with_id(server, id, request)
    })
}

/// Goes on with a registration that was saved.
///
/// # Safety
/// `saved` is `length` bytes, `registration` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_server_resume_registration(
    saved: *const u8,
    length: usize,
    registration: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(registration) };
    made(out, || {
        // SAFETY: the caller's promise.
        server::resume_registration(unsafe { bytes(saved, length)? })
    })
}

/// Ends a registration with the client's upload.
///
/// # Safety
/// `upload` is `length` bytes, `change` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_server_finish_registration(
    registration: Handle,
    upload: *const u8,
    length: usize,
    change: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(change) };
    made(out, || {
        // SAFETY: the caller's promise.
        server::finish_registration(registration, unsafe { bytes(upload, length)? })
    })
}

/// Whether a change may be made to an account with this stored record.
///
/// # Safety
/// `current` is `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_change_applies_to(change: Handle, current: *const u8, length: usize) -> c_int {
    guard_secret(|| {
        // SAFETY: the caller's promise.
        server::change_applies_to(change, unsafe { optional(current, length)? })
    })
}

/// The record of an account that another implementation registered.
///
/// # Safety
/// Each pointer is as many bytes as the length behind it says, `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_record_from_upload(
    upload: *const u8,
    upload_length: usize,
    ksf: *const u8,
    ksf_length: usize,
    id: *const u8,
    id_length: usize,
    minimum: u32,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(out, room, written) };
    guard_secret(|| {
        // SAFETY: the caller's promise.
        let (upload, ksf) = unsafe { (bytes(upload, upload_length)?, bytes(ksf, ksf_length)?) };
        // SAFETY: the caller's promise.
        let record = server::record_from_upload(upload, ksf, unsafe { bytes(id, id_length)? }, minimum)?;
        Ok(out.write(&record)?)
    })
}

/// What names a stored record, 32 bytes.
///
/// # Safety
/// `record` is `length` bytes, `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_record_credential_hash(
    record: *const u8,
    length: usize,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(out, room, written) };
    guard_secret(|| {
        // SAFETY: the caller's promise.
        let hash = server::record_credential_hash(unsafe { bytes(record, length)? })?;
        Ok(out.write(&hash)?)
    })
}

/// The record with a minimum that is at least this suite.
///
/// # Safety
/// `record` is `length` bytes, `out` has `room` bytes, `written` a number or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_record_raise_minimum(
    record: *const u8,
    length: usize,
    suite_number: u32,
    out: *mut u8,
    room: usize,
    written: *mut usize,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { Out::new(out, room, written) };
    guard_secret(|| {
        // SAFETY: the caller's promise.
        let raised = server::record_raise_minimum(unsafe { bytes(record, length)? }, suite_number)?;
        Ok(out.write(&raised)?)
    })
}

/// Answers KE1.
///
/// # Safety
/// Each pointer is as many bytes as the length behind it says, `parties_given` such a struct or null, `login` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_server_start_login(
    server: Handle,
    ke1: *const u8,
    ke1_length: usize,
    name: *const u8,
    name_length: usize,
    record: *const u8,
    record_length: usize,
    parties_given: *const CandorOpaqueParties,
    login: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(login) };
    made(out, || {
        // SAFETY: the caller's promise.
        let (ke1, name) = unsafe { (bytes(ke1, ke1_length)?, bytes(name, name_length)?) };
        // SAFETY: the caller's promise.
        let (record, parties) = unsafe { (optional(record, record_length)?, parties(parties_given)?) };
        server::start_login(server, ke1, name, record, &parties)
    })
}

/// Goes on with a login that was saved.
///
/// # Safety
/// `saved` is `length` bytes, `login` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_server_resume_login(
    server: Handle,
    saved: *const u8,
    length: usize,
    login: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(login) };
    made(out, || {
        // SAFETY: the caller's promise.
        server::resume_login(server, unsafe { bytes(saved, length)? })
    })
}

/// Ends a login with KE3.
///
/// # Safety
/// Each pointer is as many bytes as the length behind it says, `session` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_server_finish_login(
    login: Handle,
    ke3: *const u8,
    ke3_length: usize,
    record: *const u8,
    record_length: usize,
    session: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(session) };
    made(out, || {
        // SAFETY: the caller's promise.
        let (ke3, record) = unsafe { (bytes(ke3, ke3_length)?, optional(record, record_length)?) };
        server::finish_login(login, ke3, record)
    })
}
