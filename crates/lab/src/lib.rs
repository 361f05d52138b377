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
//! | [`objects`] | the files that subjects load: digested once a run, and known again |
//! | [`Used`] | which instructions a subject used, by samples |
//! | [`remote`] | a subject in a process of its own, and the protocol that it speaks; [`paired`]: two builds in the same rounds |
//! | [`glance`] | a task in a fraction of a second, in this process: no run, no verdict |
//! | [`program`] | a subject that is a program of its own, in any language |
//! | [`runfile`] | the sealed file of a run, written and read |
//! | [`analysis`] | rows, verdicts and lints, derived from a run file |
//! | [`compare`] | several runs side by side: what reproduces, what flips, what can't be told |
//! | [`trial`] | the lab measured by itself |
//! | [`sweep`] | work in shards, on many machines: the plan, the folder, locks |
//! | [`import`] | figures of other tools, read and sealed |
//! | [`mod@bench`] | a `main` for other projects' `cargo bench` |
//! | [`claims`] | published numbers, quoted beside ours |
//! | [`figure`] | rows as SVG, PNG, PDF |
//! | [`report`] | rows as text, Markdown, CSV, JSON, HTML and LaTeX; [`table`]: text in columns |
//!
//! The modules depend on each other one way. The lab knows no cryptography, only the names of some libraries (for
//! the lint `old-peer`); it hashes run files, for their seals, and the files that subjects load, for their provenance.

mod clock;
mod cpu_time;
mod error;
mod habit;
mod latex;
#[cfg(all(target_arch = "x86_64", target_os = "linux", target_env = "gnu"))]
mod low;
mod newest;
mod order;
mod outcomes;
mod owner;
mod pipe;
mod provenance;
mod quantity;
mod subject;
mod succession;
mod turn;
mod units;
mod used;

pub mod analysis;
pub mod bench;
pub mod claims;
pub mod compare;
pub mod figure;
pub mod glance;
pub mod import;
pub mod lint;
pub mod machine;
pub mod objects;
pub mod paired;
pub mod plan;
#[cfg(unix)]
pub mod program;
pub mod remote;
pub mod report;
pub mod runfile;
pub mod schedule;
pub mod session;
pub mod stats;
pub mod sweep;
pub mod table;
pub mod trial;
pub mod verdict;
pub mod worker;

pub use clock::quantum;
pub use cpu_time::cpu_time;
pub use error::LabError;
pub use habit::Habit;
pub use order::{Orders, Random};
pub use outcomes::Outcomes;
pub use owner::is_program;
pub use provenance::{Evidence, Provenance, Tuning};
pub use quantity::Quantity;
pub use subject::{Entry, Imported, Inputs, Mismatch, Refusal, RefusalKind, SelectedBy, Subject, Task, Witness};
pub use turn::{Place, Timed, Turn};
pub use used::{Kind, Samples, Used};
