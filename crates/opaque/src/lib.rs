//! OPAQUE (RFC 9807), and its hybrid with ML-KEM-768, without I/O.
//!
//! [docs/hybrid.md]: crate::specification
// (Of two definitions of a link the first counts: here the specification is a page, in a repository a file.)
#![doc = include_str!("../README.md")]
#![no_std]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(any(test, feature = "std"))]
extern crate std;

mod client;
mod credential;
mod envelope;
mod group;
mod kdf;
mod lengths;
mod messages;
#[cfg(doctest)]
mod misuse;
mod parties;
mod password;
mod schedule;
mod secret;
mod server;

pub mod error;
pub mod ksf;
pub mod oprf;
pub mod suite;

pub use client::{Client, ClientLogin, ClientRegistration, LoggedIn, Registered};
pub use credential::{CredentialHash, CredentialId};
pub use error::Error;
pub use ksf::Argon2id;
pub use ksf::{Ksf, KsfParams, Limits, NoStretching};
pub use parties::{Parties, context_with};
pub use password::Password;
pub use secret::{ExportKey, SessionKey};
pub use server::{
    Answer, Change, LoginStart, Record, RegistrationAnswer, Server, ServerLogin, ServerRegistration, Session,
};
pub use suite::{Hybrid, HybridCompat, HybridPinned, Rfc9807, Suite, SuiteId, SystemRandomness};

/// The suite to take if there is no reason for another: [`Hybrid`] with our own ML-KEM-768.
pub type DefaultSuite = Hybrid<candor_primitives::kem::ml_kem::MlKem768>;

#[cfg(doc)]
pub mod specification {
    //! The specification of the hybrid suites: `docs/hybrid.md` of this crate.
    //!
    //! [`model/`]: self::model
    #![doc = include_str!("../docs/hybrid.md")]

    pub mod model {
        //! Symbolic models of the hybrid: `docs/model` of this crate.
        //!
        #![doc = include_str!("../docs/model/README.md")]
    }
}

/// Whether two secrets are equal. The answer becomes public; SOUNDNESS.md lists why, by this name.
#[inline]
fn agree(ours: &[u8], theirs: &[u8], why: &'static str) -> bool {
    candor_cpu::secret::declassified(subtle::ConstantTimeEq::ct_eq(ours, theirs).unwrap_u8(), why) == 1
}

/// Does an operation of a suite, and overwrites the stack that it has used: dalek, the KEMs and the hashes wipe little of theirs.
#[inline(always)]
fn clearing<S: Suite, R>(work: impl FnOnce() -> R) -> R {
    use suite::Slot;
    if S::Ephemeral::CIPHERTEXT + S::Static::CIPHERTEXT == 0 {
        candor_primitives::stack::clearing::<{ 16 << 10 }, _>(work)
    } else {
        candor_primitives::stack::clearing::<{ 64 << 10 }, _>(work)
    }
}

/// Writes the parts one after another into `out`, which they fill.
fn write(out: &mut [u8], parts: &[&[u8]]) {
    let mut rest = out;
    for part in parts {
        let (here, after) = rest.split_at_mut(part.len());
        here.copy_from_slice(part);
        rest = after;
    }
    debug_assert!(rest.is_empty());
}
