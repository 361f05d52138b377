//! Payloads of cells other than relay cells.
//!
//! Each type encodes and decodes the format of its section of tor-spec. Decoding checks every length. Encoding can't
//! fail, since the types hold only what fits.

mod create;
mod link;
mod netinfo;

pub use create::{Create2, Created2, DestroyReason};
pub use link::{AuthChallenge, Authenticate, CertEntry, Certs, Versions};
pub use netinfo::{Address, Netinfo};
