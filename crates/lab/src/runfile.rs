//! The run file: JSON Lines, sealed.
//!
//! ```text
//! {"kind":"manifest",…}    who, where, with what settings
//! {"kind":"task",…}        what was fixed before the first sample
//! {"kind":"subject",…}     where each subject comes from, and what it counts
//! {"kind":"refusal",…}     who got no time, and why
//! {"kind":"block",…}       the raw epochs of one process
//! {"kind":"lost",…}        a process that died
//! {"kind":"trial",…}       a trial of the lab itself (`candor doctor --self-test`)
//! {"kind":"end",…}         how it ended
//! {"kind":"seal",…}        SHA-256 of all bytes before this line
//! ```
//!
//! Everything that a report prints can be derived from this file alone. Host name and user are not in it: people publish
//! these files.

mod read;
mod record;
mod write;

pub use read::{Flaw, Run};
pub use record::*;
pub use write::RunWriter;

/// Seals the lines of a file anew, as a forger would. For tests and fuzzing: what the checks of each line must withstand
/// when the seal is no help.
#[doc(hidden)]
pub fn reseal(bytes: &[u8]) -> Vec<u8> {
    use base16ct::lower;
    use sha2::{Digest, Sha256};
    let kept = bytes.iter().rev().skip(1).position(|&byte| byte == b'\n').map_or(0, |at| bytes.len() - 1 - at);
    let seal = Record::Seal(Seal { sha256: lower::encode_string(&Sha256::digest(&bytes[..kept])) });
    [&bytes[..kept], write::to_line(&seal).as_bytes()].concat()
}
