//! A subject in a process of its own, and the protocol that it speaks.
//!
//! Messages are lines of JSON. The parent writes to the child's stdin and reads from its stdout; what else the child prints there is ignored, unless it
//! is a message. The parent speaks first, and the child answers each line with exactly one. Orders are numbered ([`Asked`]), and an answer has the number of its
//! order ([`Answered`]), so that none is taken for another's:
//!
//! | the parent says | the child answers |
//! |---|---|
//! | `{"Host":{"protocol":1,"task":…,"subject":…}}` ([`Request::Host`](crate::worker::Request)) | [`Answer::Hello`]: the protocol that it speaks, its build, how it describes the task |
//! | [`Order::Prepare`] | [`Answer::Ready`] with what it computed from the seed and what there is to know of it, or [`Answer::Refused`] |
//! | [`Order::Check`] | [`Answer::Agrees`] or [`Answer::Disagrees`] |
//! | [`Order::Turn`] | [`Answer::Timed`]: what its clock found |
//!
//! [`Answer::Failed`] may stand for each of them but the first. The child ends when its stdin does. It reads the clock itself, so the way through the pipe
//! is outside; the operations before an epoch let caches and the processor's frequency recover from it.
//!
//! A process that dies, says nothing for too long, or answers what it was not asked is dealt with like a worker that does. So is one whose epoch took longer,
//! by its own clock, than the parent waited for it. Shorter times than the true ones can't be noticed.

mod host;
mod script;
mod subject;

pub(crate) use host::NO_SUBJECT;
pub use host::{host, serve_lines};
pub use script::Script;
pub use subject::{Channel, Deaths, Message, Remote};

use crate::runfile::Tool;
use crate::turn::{Timed, Turn};
use crate::{Provenance, Quantity, Refusal, Witness};
use base16ct::lower;
use serde::{Deserialize, Serialize};

/// The version of the protocol.
pub const PROTOCOL: u32 = 1;

/// An order with its number, counted from 1.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Asked {
    /// The number.
    pub number: u64,
    /// The order.
    pub order: Order,
}

/// An answer with the number of the order that it answers: 0 for the introduction, and for what was no order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Answered {
    /// The number.
    pub number: u64,
    /// The answer.
    pub answer: Answer,
}

/// What the parent asks of a subject.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Order {
    /// Make the subject, and answer this seed.
    Prepare {
        /// The seed of the inputs.
        seed: u64,
    },
    /// Check another's answer to the same seed.
    Check {
        /// The answer.
        witness: Parts,
    },
    /// Work.
    Turn(Turn),
}

/// What the child answers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// Who it is.
    Hello(Box<Hello>),
    /// The subject has answered.
    Ready {
        /// What it computed.
        witness: Parts,
        /// What there is to know of it.
        about: Box<About>,
    },
    /// The subject can't do the task.
    Refused(Refusal),
    /// The other's answer is right.
    Agrees,
    /// It is wrong: says how.
    Disagrees(String),
    /// The turn was taken.
    Timed(Timed),
    /// It could not do what it was asked.
    Failed(String),
}

/// How a child introduces itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Hello {
    /// The version of the protocol that it speaks.
    pub protocol: u32,
    /// Its build. The digest is left to the parent, who can read the file.
    pub tool: Tool,
    /// How it describes the task. `None` if it has none of that name.
    pub task: Option<Described>,
}

/// How a build describes a task.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Described {
    /// Exactly what is done.
    pub what: String,
    /// Bytes worked through per operation.
    pub bytes: Option<u64>,
}

/// What a subject says of itself once it is prepared.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// Its origin.
    pub provenance: Provenance,
    /// The names of its phases.
    pub phases: Vec<String>,
    /// Its sizes, counts and rates.
    pub quantities: Vec<Quantity>,
    /// How long its turns last, in nanoseconds, where that is fixed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lasts_ns: Option<u64>,
    /// Whether its turns have CPU times.
    #[serde(default)]
    pub cpu: bool,
}

/// A [`Witness`] as it is sent: names, and bytes in hexadecimal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Parts(Vec<(String, String)>);

impl From<&Witness> for Parts {
    fn from(witness: &Witness) -> Self {
        Self(witness.parts().map(|(name, bytes)| (name.to_owned(), lower::encode_string(bytes))).collect())
    }
}

impl TryFrom<Parts> for Witness {
    type Error = String;

    fn try_from(Parts(parts): Parts) -> Result<Self, String> {
        parts.into_iter().try_fold(Self::default(), |witness, (name, digits)| match lower::decode_vec(&digits) {
            Ok(bytes) => Ok(witness.with(&name, bytes)),
            Err(_) => Err(format!("{name} is not in hexadecimal digits")),
        })
    }
}
