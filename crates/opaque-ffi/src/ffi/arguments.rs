//! Arguments that are structs, and what most functions do with their results.

#![allow(unsafe_code)] // Pointers of C.

use crate::object::{Object, TABLE};
use crate::status::{Status, guard_secret};
use candor_c_abi::memory::{OutHandle, bytes, copied, optional};
use candor_opaque::{Limits, Parties};
use std::ffi::c_int;

/// `candor_opaque_parties` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CandorOpaqueParties {
    /// The application and its version.
    pub context: *const u8,
    /// Bytes of it.
    pub context_length: usize,
    /// The client's identity, or null.
    pub client: *const u8,
    /// Bytes of it.
    pub client_length: usize,
    /// The server's identity, or null.
    pub server: *const u8,
    /// Bytes of it.
    pub server_length: usize,
}

/// `candor_opaque_limits` of the header.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct CandorOpaqueLimits {
    /// The least work: memory in KiB times passes.
    pub least_work: u64,
    /// The most work.
    pub most_work: u64,
    /// The least memory, in KiB.
    pub least_memory_kib: u32,
    /// The most memory, in KiB.
    pub most_memory_kib: u32,
    /// Whether no stretching at all is fine; not 0 in tests only.
    pub identity: u32,
}

/// # Safety
/// Unless it is null, `at` is such a struct, whose pointers are as many bytes as the lengths beside them say, as long as the value is used.
pub(super) unsafe fn parties<'a>(at: *const CandorOpaqueParties) -> Result<Parties<'a>, Status> {
    // SAFETY: the caller's promise.
    let given = unsafe { copied(at) }.ok_or(Status::Null)?;
    // SAFETY: the caller's promise.
    unsafe {
        Ok(Parties {
            context: bytes(given.context, given.context_length)?,
            client: optional(given.client, given.client_length)?,
            server: optional(given.server, given.server_length)?,
        })
    }
}

/// # Safety
/// Unless it is null, `at` is such a struct.
pub(super) unsafe fn limits(at: *const CandorOpaqueLimits) -> Option<Limits> {
    // SAFETY: the caller's promise.
    let given = unsafe { copied(at) }?;
    Some(Limits {
        identity: given.identity != 0,
        least_memory_kib: given.least_memory_kib,
        least_work: given.least_work,
        most_memory_kib: given.most_memory_kib,
        most_work: given.most_work,
    })
}

/// Does a step and writes the handle of what it makes.
pub(super) fn made(out: OutHandle, step: impl FnOnce() -> Result<Object, Status>) -> c_int {
    guard_secret(|| out.write(&TABLE, step))
}
