//! What handles stand for.

use crate::status::Status;
use candor_c_abi::handles::Table;
use candor_suite::aead::Cipher;
use candor_suite::hash::Hasher;
use candor_suite::key::{PublicKey, SecretKey};
use candor_suite::mac::Authenticator;
use std::sync::{Arc, Mutex};

pub(crate) use candor_c_abi::handles::{Handle, lock};

/// What a handle stands for.
pub(crate) enum Object {
    /// None once it has been finished.
    Hash(Mutex<Option<Hasher>>),
    Mac(Mutex<Option<Authenticator>>),
    Aead(Cipher),
    Secret(SecretKey),
    Public(PublicKey),
}

/// All objects.
pub(crate) static TABLE: Table<Object> = Table::new(u32::from_be_bytes(*b"SUIT"));

/// The object of a handle.
pub(crate) fn get(handle: Handle) -> Result<Arc<Object>, Status> {
    Ok(TABLE.get(handle)?)
}
