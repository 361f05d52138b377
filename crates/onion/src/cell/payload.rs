//! What cells carry, apart from relay cells.
//!
//! Every type reads and writes the bytes of its section of tor-spec. Reading checks all lengths; writing can't fail, since the
//! types hold only what fits.

mod create;
mod link;
mod netinfo;

pub use create::{Create2, Created2, DestroyReason};
pub use link::{AuthChallenge, Authenticate, CertEntry, Certs, Versions};
pub use netinfo::{Address, Netinfo};
