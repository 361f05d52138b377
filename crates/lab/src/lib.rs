//! The lab: paired, interleaved measurement of implementations that do the same work, with verdicts.
//!
//! METHOD.md explains the method to users in the same terms. The modules in the order of a measurement:
//!
//! | module | contents |
//! |---|---|
//! | [`Subject`], [`Task`] | what is measured; [`Quantity`]: what is counted; [`Habit`]: what is done besides the work; [`Imported`]: what other tools found |
//! | [`plan`] | how many processes, rounds and iterations, fixed before the first sample |
//! | [`session`] | a run: probe, plan, measure, seal |
//! | [`worker`] | the work of one fresh process: build subjects, check answers, time rounds |
//! | [`glance`] | a task in a fraction of a second, in this process: no run, no verdict |
//! | [`runfile`] | the sealed file of a run, written and read |
//! | [`analysis`] | rows, verdicts and lints, derived from a run file |
//! | [`trial`] | the lab measured by itself |
//! | [`claims`] | published numbers, quoted beside ours |
//! | [`figure`] | rows as SVG, PNG, PDF |
//! | [`report`] | rows as text, Markdown, CSV, JSON and HTML; [`table`]: text in columns |
//!
//! The modules depend on each other one way. The lab knows no cryptography, only the names of some libraries (for
//! the lint `old-peer`); its only hash is the seal of a run file.

mod clock;
mod error;
mod habit;
mod newest;
mod order;
mod quantity;
mod subject;
mod succession;
mod units;

pub mod analysis;
pub mod claims;
pub mod figure;
pub mod glance;
pub mod lint;
pub mod machine;
pub mod plan;
pub mod report;
pub mod runfile;
pub mod schedule;
pub mod session;
pub mod stats;
pub mod table;
pub mod trial;
pub mod verdict;
pub mod worker;

pub use clock::quantum;
pub use error::LabError;
pub use habit::Habit;
pub use order::{Orders, Random};
pub use quantity::Quantity;
pub use subject::{
    Entry, Evidence, Imported, Mismatch, Outcomes, Provenance, Refusal, RefusalKind, Subject, Task, Tuning, Witness,
};
