//! The lab: paired measurement with verdicts.
mod subject;
pub use subject::{Entry, Evidence, Mismatch, Provenance, Refusal, Subject, Task, Tuning, Witness};
