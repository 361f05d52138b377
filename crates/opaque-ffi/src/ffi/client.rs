//! The client's functions.

#![allow(unsafe_code)] // The exported names, and functions that C promises to call with valid pointers.

use super::arguments::{CandorOpaqueLimits, CandorOpaqueParties, limits, made, parties};
use crate::client;
use candor_c_abi::handles::Handle;
use candor_c_abi::memory::{OutHandle, bytes};
use std::ffi::c_int;

/// A client of a suite, with which many logins can be made.
///
/// # Safety
/// `server_kem_key` is as many bytes as the length behind it says, `limits_given` such a struct or null, `client` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_client_new(
    suite_number: u32,
    server_kem_key: *const u8,
    server_kem_key_length: usize,
    limits_given: *const CandorOpaqueLimits,
    client: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let (out, limits) = unsafe { (OutHandle::new(client), limits(limits_given)) };
    made(out, || {
        // SAFETY: the caller's promise.
        client::new(suite_number, unsafe { bytes(server_kem_key, server_kem_key_length)? }, limits)
    })
}

/// Begins a registration.
///
/// # Safety
/// `password` is `length` bytes, `registration` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_client_start_registration(
    client: Handle,
    password_kind: u32,
    password: *const u8,
    length: usize,
    registration: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(registration) };
    made(out, || {
        // SAFETY: the caller's promise.
        client::start_registration(client, password_kind, unsafe { bytes(password, length)? })
    })
}

/// Goes on with a registration that was saved.
///
/// # Safety
/// Each pointer is as many bytes as the length behind it says, `registration` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_client_resume_registration(
    client: Handle,
    saved: *const u8,
    saved_length: usize,
    password_kind: u32,
    password: *const u8,
    length: usize,
    registration: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(registration) };
    made(out, || {
        // SAFETY: the caller's promise.
        let (saved, password) = unsafe { (bytes(saved, saved_length)?, bytes(password, length)?) };
        client::resume_registration(client, saved, password_kind, password)
    })
}

/// Ends a registration with the server's response.
///
/// # Safety
/// Each pointer is as many bytes as the length behind it says, `parties_given` such a struct or null, `registered` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_client_finish_registration(
    registration: Handle,
    response: *const u8,
    response_length: usize,
    ksf: *const u8,
    ksf_length: usize,
    parties_given: *const CandorOpaqueParties,
    registered: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(registered) };
    made(out, || {
        // SAFETY: the caller's promise.
        let (response, ksf) = unsafe { (bytes(response, response_length)?, bytes(ksf, ksf_length)?) };
        // SAFETY: the caller's promise.
        client::finish_registration(registration, response, ksf, &unsafe { parties(parties_given)? })
    })
}

/// Begins a login.
///
/// # Safety
/// `password` is `length` bytes, `login` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_client_start_login(
    client: Handle,
    password_kind: u32,
    password: *const u8,
    length: usize,
    login: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(login) };
    made(out, || {
        // SAFETY: the caller's promise.
        client::start_login(client, password_kind, unsafe { bytes(password, length)? })
    })
}

/// Goes on with a login that was saved.
///
/// # Safety
/// Each pointer is as many bytes as the length behind it says, `login` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_client_resume_login(
    client: Handle,
    saved: *const u8,
    saved_length: usize,
    password_kind: u32,
    password: *const u8,
    length: usize,
    login: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(login) };
    made(out, || {
        // SAFETY: the caller's promise.
        let (saved, password) = unsafe { (bytes(saved, saved_length)?, bytes(password, length)?) };
        client::resume_login(client, saved, password_kind, password)
    })
}

/// Ends a login with KE2.
///
/// # Safety
/// Each pointer is as many bytes as the length behind it says, `parties_given` such a struct or null, `logged_in` has room for a handle or is null.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn candor_opaque_client_finish_login(
    login: Handle,
    ke2: *const u8,
    ke2_length: usize,
    ksf: *const u8,
    ksf_length: usize,
    parties_given: *const CandorOpaqueParties,
    logged_in: *mut Handle,
) -> c_int {
    // SAFETY: the caller's promise.
    let out = unsafe { OutHandle::new(logged_in) };
    made(out, || {
        // SAFETY: the caller's promise.
        let (ke2, ksf) = unsafe { (bytes(ke2, ke2_length)?, bytes(ksf, ksf_length)?) };
        // SAFETY: the caller's promise.
        client::finish_login(login, ke2, ksf, &unsafe { parties(parties_given)? })
    })
}
