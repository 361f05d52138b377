//! The parent's side.

use super::{About, Answer, Answered, Asked, Hello, Order, PROTOCOL, Parts};
use crate::pipe::{Heard, Pipe, WorkerDeath};
use crate::turn::{Timed, Turn};
use crate::worker::Request;
use crate::{Evidence, Mismatch, Outcomes, Provenance, Quantity, Refusal, Subject, Witness};
use serde::Serialize;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// More phases than this no operation has.
const MOST_PHASES: usize = 100;

/// What a clock may be wrong about.
const CLOCK: Duration = Duration::from_micros(1);

/// The way to a child and back.
pub trait Channel {
    /// Says something.
    fn say(&mut self, message: &Message<'_>);
    /// Waits for an answer.
    ///
    /// # Errors
    ///
    /// How the child ended, or was ended because it said nothing.
    fn hear(&mut self, patience: Duration) -> Result<Answered, WorkerDeath>;
}

/// What the parent says.
#[derive(Clone, Copy, Debug, Serialize)]
#[serde(untagged)]
pub enum Message<'a> {
    /// Which subject to be.
    Host(&'a Request),
    /// What to do.
    Order(&'a Asked),
}

impl Channel for Pipe {
    fn say(&mut self, message: &Message<'_>) {
        Pipe::say(self, message);
    }

    fn hear(&mut self, patience: Duration) -> Result<Answered, WorkerDeath> {
        match Pipe::hear(self, patience) {
            Heard::Message(answer) => Ok(answer),
            Heard::End => Err(self.ended()),
            Heard::Silence => Err(self.end(patience)),
        }
    }
}

/// Which of several children died first, and how. Nothing that the others say counts after that.
#[derive(Clone, Debug, Default)]
pub struct Deaths(Arc<Mutex<Option<WorkerDeath>>>);

impl Deaths {
    pub(crate) fn add(&self, death: WorkerDeath) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(death);
    }

    /// The first, if there was one.
    pub fn first(&self) -> Option<WorkerDeath> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// A subject in another process.
pub struct Remote {
    name: String,
    channel: Box<dyn Channel>,
    /// How long it may say nothing.
    patience: Duration,
    deaths: Deaths,
    /// How many orders it was given.
    asked: u64,
    hello: Hello,
    about: About,
    phases: &'static [&'static str],
    outcomes: Option<Outcomes>,
}

impl Remote {
    /// Introduces itself over a channel to a child, which is to be `subject` of `task` and is called `name` here.
    ///
    /// # Errors
    ///
    /// How the child died, or that it speaks another version of the protocol.
    pub fn over(
        mut channel: Box<dyn Channel>,
        (task, subject): (&str, &str),
        name: &str,
        patience: Duration,
        deaths: &Deaths,
    ) -> Result<Self, WorkerDeath> {
        let host = Request::Host { protocol: PROTOCOL, task: task.into(), subject: subject.into() };
        channel.say(&Message::Host(&host));
        let hello = match channel.hear(patience).map(|answered| answered.answer) {
            Ok(Answer::Hello(hello)) if hello.protocol == PROTOCOL => *hello,
            Ok(Answer::Hello(hello)) => {
                let theirs = hello.protocol;
                let why =
                    format!("{name} speaks version {theirs} of the protocol of paired builds; expected {PROTOCOL}");
                return Err(WorkerDeath::NotStarted(why));
            }
            Ok(other) => {
                return Err(WorkerDeath::NotStarted(format!(
                    "{name} did not introduce itself, but said {}",
                    word(&other)
                )));
            }
            Err(WorkerDeath::Crashed(how)) => {
                let why = format!(
                    "{name} does not speak the protocol of paired builds, as builds from before 2026-11-26 don't: {how}"
                );
                return Err(WorkerDeath::NotStarted(why));
            }
            Err(death) => return Err(death),
        };
        let deaths = deaths.clone();
        Ok(Self {
            name: name.into(),
            channel,
            patience,
            deaths,
            asked: 0,
            hello,
            about: About::default(),
            phases: &[],
            outcomes: None,
        })
    }

    /// How the child introduced itself.
    pub fn hello(&self) -> &Hello {
        &self.hello
    }

    /// Asks for an answer. The error is recorded as a death, unless another child has died already.
    fn ask(&mut self, order: Order) -> Result<Answer, String> {
        if self.deaths.first().is_some() {
            return Err("was not asked, because another process has died".into());
        }
        self.asked += 1;
        self.channel.say(&Message::Order(&Asked { number: self.asked, order }));
        match self.channel.hear(self.patience) {
            Ok(Answered { number, answer }) if number == self.asked => Ok(answer),
            Ok(Answered { number, .. }) => {
                Err(self.dies(format!("answered order {number} when it was given order {}", self.asked)))
            }
            Err(WorkerDeath::Crashed(how)) => Err(self.dies(how)),
            Err(death) => {
                self.deaths.add(death);
                Err("ended".into())
            }
        }
    }

    fn dies(&self, how: String) -> String {
        self.deaths.add(WorkerDeath::Crashed(format!("{}: {how}", self.name)));
        how
    }

    fn unexpected(&self, answer: &Answer, order: &str) -> String {
        self.dies(format!("answered {} to an order to {order}", word(answer)))
    }

    fn turn(&mut self, turn: &Turn) -> Result<Timed, String> {
        let began = Instant::now();
        let answer = self.ask(Order::Turn(*turn))?;
        let waited = began.elapsed();
        let timed = match answer {
            Answer::Timed(timed) => timed,
            Answer::Failed(why) => return Err(why),
            other => return Err(self.unexpected(&other, "work")),
        };
        let phases = if turn.phases.is_some() { self.phases.len() } else { 0 };
        if timed.phases.len() != phases {
            return Err(self.dies(format!("timed {} phases; expected {phases}", timed.phases.len())));
        }
        let told = timed.phases.iter().fold(timed.ns, |sum, ns| sum.saturating_add(*ns));
        if timed.ns == 0 || Duration::from_nanos(told) > waited + CLOCK {
            return Err(
                self.dies(format!("says that an epoch took {told} ns; its answer came after {} ns", waited.as_nanos()))
            );
        }
        if timed.outcomes.is_some_and(|outcomes| outcomes.successes > outcomes.attempts) {
            return Err(self.dies("succeeded more often than it tried".into()));
        }
        self.outcomes = timed.outcomes;
        Ok(timed)
    }
}

impl Subject for Remote {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        match self.ask(Order::Prepare { seed }).map_err(Refusal::failed)? {
            Answer::Ready { witness, about } => {
                if about.provenance.evidence != Evidence::MeasuredPaired {
                    return Err(Refusal::never("is not timed by a clock, and two builds are paired by nothing else"));
                }
                if about.phases.len() > MOST_PHASES {
                    return Err(Refusal::failed(format!(
                        "has {} phases; no more than {MOST_PHASES} make sense",
                        about.phases.len()
                    )));
                }
                self.phases = interned(&about.phases);
                self.about = *about;
                Witness::try_from(witness).map_err(Refusal::failed)
            }
            Answer::Refused(refusal) => Err(refusal),
            Answer::Failed(why) => Err(Refusal::failed(why)),
            other => Err(Refusal::failed(self.unexpected(&other, "prepare"))),
        }
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        match self.ask(Order::Check { witness: Parts::from(other) }).map_err(Mismatch::new)? {
            Answer::Agrees => Ok(()),
            Answer::Disagrees(why) | Answer::Failed(why) => Err(Mismatch::new(why)),
            other => Err(Mismatch::new(self.unexpected(&other, "check"))),
        }
    }

    fn run(&mut self, iterations: u64) {
        let failed = self.turn(&Turn { unclocked: 0, iterations, phases: None }).err();
        if let Some(why) = failed.filter(|_| self.deaths.first().is_none()) {
            // As if it had panicked here, but without a trace.
            let why = why.strip_prefix("panicked: ").unwrap_or(&why).to_owned();
            std::panic::resume_unwind(Box::new(why));
        }
    }

    fn timed_elsewhere(&mut self, turn: &Turn) -> Option<Result<Timed, String>> {
        Some(self.turn(turn))
    }

    fn works_elsewhere(&self) -> bool {
        true
    }

    fn lasts(&self) -> Option<Duration> {
        self.about.lasts_ns.map(Duration::from_nanos)
    }

    /// Only whether: its turns have theirs.
    fn cpu_ns(&self) -> Option<u64> {
        self.about.cpu.then_some(0)
    }

    fn phases(&self) -> &'static [&'static str] {
        self.phases
    }

    fn outcomes(&self) -> Option<Outcomes> {
        self.outcomes
    }

    fn quantities(&self) -> Vec<Quantity> {
        self.about.quantities.clone()
    }

    fn provenance(&self) -> Provenance {
        self.about.provenance.clone()
    }
}

fn word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Hello(_) => "hello",
        Answer::Ready { .. } => "that it is ready",
        Answer::Refused(_) => "that it refuses",
        Answer::Agrees => "that it agrees",
        Answer::Disagrees(_) => "that it disagrees",
        Answer::Timed(_) => "a time",
        Answer::Failed(_) => "that it failed",
    }
}

/// Names that live as long as the program, each list of them once: a subject's phases are known by their names, which it has in its code elsewhere.
fn interned(names: &[String]) -> &'static [&'static str] {
    static KNOWN: Mutex<BTreeMap<Vec<String>, &'static [&'static str]>> = Mutex::new(BTreeMap::new());
    let mut known = KNOWN.lock().unwrap_or_else(PoisonError::into_inner);
    known.entry(names.to_vec()).or_insert_with(|| {
        let names = names.iter().map(|name| &*Box::leak(name.clone().into_boxed_str()));
        Box::leak(names.collect::<Vec<_>>().into_boxed_slice())
    })
}
