//! The lab: paired, interleaved measurement of implementations that do the same work, with verdicts.
//!
//! METHOD.md tells users what is done and why; the names here are the same. A reader can follow a measurement through
//! the files in this order:
//!
//! | module | what happens there |
//! |---|---|
//! | [`Subject`], [`Task`] | what is measured; [`Quantity`]: what is counted |
//! | [`plan`] | how many processes, rounds and iterations, fixed before the first sample |
//! | [`session`] | a run: probe, plan, measure, seal |
//! | [`worker`] | what one fresh process does: build, check answers, time rounds |
//! | [`runfile`] | the sealed file that it all goes into, and how it is read back |
//! | [`analysis`] | from a run file to rows, verdicts and lints |
//! | [`trial`] | the lab measured by itself |
//! | [`claims`] | other people's numbers, quoted beside ours |
//! | [`figure`] | rows as SVG, PNG, PDF |
//! | [`report`] | rows as terminal text, Markdown, CSV, JSON |
//!
//! The lab knows no cryptography. Its only hash is the seal of a run file.

mod clock;
mod error;
mod order;
mod quantity;
mod subject;
mod units;

pub mod analysis;
pub mod claims;
pub mod figure;
pub mod lint;
pub mod machine;
pub mod plan;
pub mod report;
pub mod runfile;
pub mod session;
pub mod stats;
pub mod table;
pub mod trial;
pub mod verdict;
pub mod worker;

pub use clock::quantum;
pub use error::LabError;
pub use order::{Orders, Random};
pub use quantity::Quantity;
pub use subject::{
    Entry, Evidence, Mismatch, Outcomes, Provenance, Refusal, RefusalKind, Subject, Task, Tuning, Witness,
};
