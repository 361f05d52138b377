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

mod copies;
mod printable;
mod read;
mod record;
mod replay;
mod write;

pub(crate) use copies::are_telling;
pub use read::{Flaw, Run, refuse_namesakes};
pub use record::*;
pub use write::RunWriter;
