//! The run file: JSON Lines, sealed.
//!
//! ```text
//! {"kind":"manifest",…}    program, machine and settings
//! {"kind":"task",…}        a task and its plan, fixed before the first sample
//! {"kind":"subject",…}     a subject, its origin and its quantities
//! {"kind":"refusal",…}     a subject without a time, and the reason
//! {"kind":"block",…}       the raw epochs of one process
//! {"kind":"lost",…}        a process that died
//! {"kind":"trial",…}       a trial of the lab itself (`candor doctor --self-test`)
//! {"kind":"end",…}         how the measurement ended
//! {"kind":"seal",…}        SHA-256 of all bytes before this line
//! ```
//!
//! Every report can be derived from this file alone. It does not contain the host name or the user, because people publish
//! run files.

mod read;
mod record;
mod write;

pub use read::{Flaw, Run};
pub use record::*;
pub use write::RunWriter;

/// Replaces the seal of a file by one that fits, as a forger would. Tests and fuzzing need it to reach the checks behind the
/// seal.
#[doc(hidden)]
pub fn reseal(bytes: &[u8]) -> Vec<u8> {
    use base16ct::lower;
    use sha2::{Digest, Sha256};
    let kept = bytes.iter().rev().skip(1).position(|&byte| byte == b'\n').map_or(0, |at| bytes.len() - 1 - at);
    let seal = Record::Seal(Seal { sha256: lower::encode_string(&Sha256::digest(&bytes[..kept])) });
    [&bytes[..kept], write::to_line(&seal).as_bytes()].concat()
}
