//! The run file: JSON Lines, sealed.
//!
//! ```text
//! {"kind":"manifest",…}    who, where, with what settings
//! {"kind":"task",…}        what was fixed before the first sample
//! {"kind":"subject",…}     where each subject comes from
//! {"kind":"refusal",…}     who got no time, and why
//! {"kind":"block",…}       the raw epochs of one process
//! {"kind":"lost",…}        a process that died
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

fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
