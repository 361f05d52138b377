//! A program of its own as a subject: in any language, asked over its standard input and output.
//!
//! The lab starts the program in each worker, gives it the task and its inputs, checks its answers as everyone else's, and tells it how often to do the work. `docs/programs.md`
//! has the protocol, a line of JSON each way:
//!
//! ```text
//! {"protocol":1,"task":"hash/sha256/1k"}          {"protocol":1,"name":"hashlib","version":"3.13","timed":"…"}
//! {"inputs":{"message":"00ff…"}}                  {"answers":{"answer":"9f86…"}}
//! {"run":1000}                                    {"ran":1000}
//! ```
//!
//! The clock is on this side of the pipe, so each epoch contains a question and an answer. Their cost is measured with epochs of no work, sealed beside the subject, and added
//! to its row's floor. One more of them goes before each epoch, outside the clock. The plan makes epochs long enough for the cost to be small; a subject for which it can't is refused.
//!
//! A program that hangs, dies, answers wrongly, prints what nobody asked for, or takes as long for twice the work is refused with the reason. One that computes once,
//! remembers the answer and sleeps in proportion is not noticed.

mod pipe;

use crate::owner::{is_our_library, program_row};
use crate::plan::ASKING;
use crate::{Entry, Inputs, Mismatch, Provenance, Quantity, Refusal, Subject, Task, Witness};
use base16ct::{lower, mixed};
use pipe::Pipe;
use serde::Deserialize;
use serde_json::json;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::panic::panic_any;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// The version of the protocol.
pub const PROTOCOL: u32 = 1;

/// How long a program may be silent.
pub const PATIENCE: Duration = Duration::from_secs(30);

/// Epochs without work, of which the median is what asking costs.
const ASKED: usize = 101;

/// Twice the work must take at least this many times as long.
const GROWS: f64 = 1.4;

/// The growth is only judged where an epoch takes at least this many times as long as an empty one.
const SHOWS: u32 = 4;

/// Attempts, of which the shortest time counts: another process may have had the CPU.
const ATTEMPTS: usize = 5;

/// No real operation is so fast that this many of them are not noticed.
const MOST: u64 = 1 << 36;

/// A library's name, its version and its sentence are no longer than this.
const LONGEST_WORD: usize = 400;

/// A program that does a task.
pub struct Program {
    pipe: Pipe,
    inputs: Box<dyn Fn(u64) -> Inputs>,
    witness: Witness,
    provenance: Provenance,
    /// What asking costs, in nanoseconds.
    asking: f64,
}

/// How to start a program.
#[derive(Clone, Debug)]
pub struct Start {
    /// The program. It is started without arguments.
    pub path: PathBuf,
    /// The task, as candor names it.
    pub task: String,
    /// How long it may be silent: [`PATIENCE`].
    pub patience: Duration,
}

impl Start {
    /// This program for that task.
    pub fn new(path: impl Into<PathBuf>, task: impl Into<String>) -> Self {
        Self { path: path.into(), task: task.into(), patience: PATIENCE }
    }
}

impl Task {
    /// Adds a program as a subject, or says why it can't be one.
    pub fn program(&mut self, path: &Path) {
        let subject = subject(path);
        let Some(inputs) = self.inputs.clone() else {
            let why =
                "this task can't be given to a program: its inputs are objects of a library, or its answers are random";
            self.entries.push(Entry::refused(subject, Refusal::never(why)));
            return;
        };
        let start = Start::new(path, &self.name);
        let make = move || {
            let inputs = inputs.clone();
            Program::start(&start, move |seed| inputs(seed))
        };
        self.entries.push(Entry::new(subject, make));
    }

    /// Whether programs can do it.
    #[must_use]
    pub fn takes_programs(&self) -> bool {
        self.inputs.is_some()
    }
}

/// The name of a program's rows: `program-sha256` of `adapters/sha256.py`.
#[must_use]
pub fn subject(path: &Path) -> String {
    program_row(&path.to_string_lossy())
}

/// How it presents itself.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Hello {
    protocol: u32,
    name: String,
    version: String,
    timed: String,
    #[serde(default)]
    build: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Refused {
    refused: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Answers {
    answers: BTreeMap<String, String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Ran {
    ran: u64,
}

impl Program {
    /// Starts the program and asks whether it can do the task. `inputs` makes the inputs of a seed; the answers must be those of everybody else.
    ///
    /// # Errors
    ///
    /// A [`Refusal`] says what the program did in place of answering, with the line of its output.
    pub fn start(start: &Start, inputs: impl Fn(u64) -> Inputs + 'static) -> Result<Self, Refusal> {
        let digest = digest(&start.path)?;
        let mut pipe = Pipe::open(&start.path, start.patience)?;
        let hello = format!("{{\"protocol\":{PROTOCOL},\"task\":{}}}", json!(start.task));
        let line = pipe.ask(&hello)?;
        if let Ok(Refused { refused }) = serde_json::from_str(&line) {
            return Err(Refusal::never(short(&refused)));
        }
        let expected = "{\"protocol\":…,\"name\":…,\"version\":…,\"timed\":…} or {\"refused\":…}";
        let hello: Hello = pipe.read(&line, expected)?;
        if hello.protocol != PROTOCOL {
            return Err(pipe.wrong(&format!("protocol {}; this candor speaks {PROTOCOL}", hello.protocol)));
        }
        if hello.name.trim().is_empty() || hello.timed.trim().is_empty() {
            return Err(pipe.wrong("an empty name or an empty sentence about what is timed"));
        }
        if is_our_library(&short(&hello.name)) {
            return Err(pipe.wrong("the name candor, which is that of our own library; a program needs another"));
        }
        let timed = format!("{}; in a process of its own, asked over pipes", short(&hello.timed));
        let provenance = Provenance {
            build: hello.build.as_deref().map(short),
            object_sha256: Some(digest),
            // A program declares nothing: its sentence tells.
            habits: None,
            ..Provenance::of(&short(&hello.name), &short(&hello.version), &timed)
        };
        Ok(Self { pipe, inputs: Box::new(inputs), witness: Witness::default(), provenance, asking: 0.0 })
    }

    /// Tells it to do the work so many times.
    fn ran(&mut self, iterations: u64) -> Result<(), Refusal> {
        let line = self.pipe.ask(&format!("{{\"run\":{iterations}}}"))?;
        let Ran { ran } = self.pipe.read(&line, "{\"ran\":…}")?;
        match ran == iterations {
            true => Ok(()),
            false => Err(self.pipe.wrong(&format!("ran {ran} operations; it was told {iterations}"))),
        }
    }

    /// How long so many operations take.
    fn takes(&mut self, iterations: u64) -> Result<Duration, Refusal> {
        let began = Instant::now();
        self.ran(iterations)?;
        Ok(began.elapsed())
    }

    /// What asking costs: the median of epochs without work.
    fn cost_of_asking(&mut self) -> Result<Duration, Refusal> {
        let mut asked = Vec::with_capacity(ASKED);
        for _ in 0..ASKED {
            asked.push(self.takes(0)?);
        }
        asked.sort_unstable();
        Ok(asked[ASKED / 2])
    }

    /// Refuses a program whose time does not grow with its work, however much of it there is.
    fn works(&mut self, asking: Duration) -> Result<(), Refusal> {
        let mut iterations = 1;
        loop {
            let (mut once, mut twice) = (Duration::MAX, Duration::MAX);
            for _ in 0..ATTEMPTS {
                once = once.min(self.takes(iterations)?);
                twice = twice.min(self.takes(iterations * 2)?);
                if once >= asking * SHOWS && twice.as_secs_f64() >= once.as_secs_f64() * GROWS {
                    return Ok(());
                }
            }
            if iterations >= MOST {
                let why = format!("{iterations} operations took {once:.1?}, and twice as many {twice:.1?}");
                return Err(Refusal::failed(format!("does not do the work: {why}")));
            }
            iterations *= 4;
        }
    }
}

impl Subject for Program {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let inputs = (self.inputs)(seed);
        // In the order in which the task has them, without spaces: a program in C may read it by hand.
        let inputs: Vec<String> =
            inputs.iter().map(|(name, bytes)| format!("{}:\"{}\"", json!(name), lower::encode_string(bytes))).collect();
        let line = self.pipe.ask(&format!("{{\"inputs\":{{{}}}}}", inputs.join(",")))?;
        if let Ok(Refused { refused }) = serde_json::from_str(&line) {
            return Err(Refusal::new(short(&refused)));
        }
        self.witness = answers(&line).map_err(|why| self.pipe.wrong(&why))?;
        let asking = self.cost_of_asking()?;
        self.works(asking)?;
        self.asking = asking.as_nanos() as f64;
        Ok(self.witness.clone())
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.witness.same_as(other)
    }

    /// Panics with a [`Refusal`] if the program fails: the worker makes it the subject's reason.
    fn run(&mut self, iterations: u64) {
        if let Err(refusal) = self.ran(iterations) {
            panic_any(refusal);
        }
    }

    /// Asks it for no work. Its cost of asking was measured with one question right behind another; after what other subjects do in a round, a program and its
    /// pipes are cold, and a question takes longer.
    fn restock(&mut self, _: u64) {
        if let Err(refusal) = self.ran(0) {
            panic_any(refusal);
        }
    }

    fn works_elsewhere(&self) -> bool {
        true
    }

    fn quantities(&self) -> Vec<Quantity> {
        vec![Quantity::new(ASKING, self.asking, "ns")]
    }

    fn provenance(&self) -> Provenance {
        self.provenance.clone()
    }
}

/// The witness in a program's line of answers.
///
/// # Errors
///
/// Says what was found and what was expected.
pub fn answers(line: &str) -> Result<Witness, String> {
    let expected = |_| format!("{:?}; expected {{\"answers\":{{…}}}}", pipe::shortened(line));
    let Answers { answers } = serde_json::from_str(line).map_err(expected)?;
    answers.into_iter().try_fold(Witness::default(), |witness, (name, digits)| match mixed::decode_vec(&digits) {
        Ok(bytes) => Ok(witness.with(&name, bytes)),
        Err(_) => Err(format!("{} is not written in pairs of hexadecimal digits", short(&name))),
    })
}

/// SHA-256 of the program's file: which program it was.
fn digest(path: &Path) -> Result<String, Refusal> {
    let bytes = std::fs::read(path).map_err(|error| Refusal::new(format!("can't be read: {error}")))?;
    Ok(lower::encode_string(&Sha256::digest(bytes)))
}

/// The program's own words, as one line of bounded length.
fn short(words: &str) -> String {
    words
        .split_whitespace()
        .collect::<Vec<_>>()
        .join(" ")
        .chars()
        .filter(|c| !c.is_control())
        .take(LONGEST_WORD)
        .collect()
}
