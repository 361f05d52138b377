//! What a run asks of a worker, and what the worker answers.

use crate::objects::{self, Object};
use crate::plan::{Probed, TaskPlan, asking_ns};
use crate::runfile::Block;
use crate::{Evidence, Provenance, Quantity, Refusal, Used};
use serde::{Deserialize, Serialize};

/// A request to a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Request {
    /// Find the subjects that can do the task.
    Probe {
        /// The task's name.
        task: String,
        /// The seed of the inputs.
        seed: u64,
        /// Subjects to leave out, because they are not wanted or crashed an earlier probe.
        without: Vec<String>,
        /// Whether to find out, at the end, which instructions each of them uses.
        watched: bool,
        /// What earlier probes of the run have met.
        objects: Vec<Object>,
    },
    /// Time rounds.
    Measure {
        /// The task's name.
        task: String,
        /// The plan of the task.
        plan: TaskPlan,
        /// The number of this process.
        process: usize,
        /// The seed of inputs and orders.
        seed: u64,
        /// Bytes of padding that the parent added to the environment.
        padding: usize,
        /// What the probe of this task has met. `None`: nobody says, and the process looks for it itself.
        objects: Option<Vec<Object>>,
    },
    /// Be a subject in a process of its own, and speak [`remote`](crate::remote)'s protocol.
    Host {
        /// The version of the protocol that the parent speaks.
        protocol: u32,
        /// The task's name.
        task: String,
        /// The subject's name.
        subject: String,
    },
}

impl Request {
    /// The task's name.
    pub fn task(&self) -> &str {
        match self {
            Self::Probe { task, .. } | Self::Measure { task, .. } | Self::Host { task, .. } => task,
        }
    }

    /// Takes over what it tells of files. To be called before a library is looked for.
    pub(crate) fn tells(&self) {
        match self {
            Self::Probe { objects, .. } => objects::told(objects, None),
            Self::Measure { objects: Some(objects), plan, .. } => objects::told(objects, Some(&plan.subjects)),
            Self::Measure { objects: None, .. } | Self::Host { .. } => {}
        }
    }
}

/// A reply of a worker.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Reply {
    /// The worker is about to use this subject. If it dies now, the subject is to blame.
    Trying(String),
    /// The subject can do the task and its answers agree.
    Able {
        /// The subject's name.
        subject: String,
        /// Nanoseconds per operation, roughly.
        ns: f64,
        /// Whether each round times it twice.
        phased: bool,
        /// Whether the CPU time of the processes that do its work can be read.
        cpu: bool,
        /// Whether it is the time of its epochs that is fixed.
        lasts: bool,
        /// Its sizes, counts and rates.
        quantities: Vec<Quantity>,
        /// Its origin.
        provenance: Box<Provenance>,
    },
    /// The subject gets no time.
    Out {
        /// The subject's name.
        subject: String,
        /// The reason.
        refusal: Refusal,
    },
    /// All subjects have been made, and the baseline has checked them. A process that measures does no more before it begins; the rest is the probe's alone.
    Checked,
    /// The files that it has loaded or read, after all that can do the task.
    Met(Vec<Object>),
    /// The worker is about to interrupt this subject again and again. All that can do the task have been named. If it dies now, nobody is to blame.
    Watching(String),
    /// What the subject was seen to use.
    Used {
        /// The subject's name.
        subject: String,
        /// Its samples, or why there are none.
        used: Used,
    },
    /// The raw epochs.
    Measured(Box<Block>),
    /// The request can't be served.
    Failed(String),
    /// The request has been served.
    Done,
}

impl Reply {
    /// What the plan needs to know of a subject that can do the task.
    pub(crate) fn probed(&self) -> Option<Probed> {
        match self {
            Self::Able { subject, ns, phased, cpu, lasts, provenance, quantities } => Some(Probed {
                asking_ns: asking_ns(quantities),
                subject: subject.clone(),
                ns: *ns,
                phased: *phased,
                cpu: *cpu,
                lasts: *lasts,
                simulated: provenance.evidence == Evidence::Simulated,
            }),
            _ => None,
        }
    }
}
