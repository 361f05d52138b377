//! The child's side.

use super::{About, Answer, Answered, Asked, Described, Hello, Order, PROTOCOL, Parts};
use crate::runfile::Tool;
use crate::worker::{Request, guarded, serve};
use crate::{Entry, Refusal, Subject, Task, Witness, clock, machine};
use serde::Serialize;
use std::io::{BufRead, Write};

/// What a build is refused with that has another subject in the task's first place.
pub(crate) const NO_SUBJECT: &str = "that build has no such subject in this task";

/// Serves the request in the first line of `input`, with those tasks, and writes each reply as a line to `output`: a worker of a run, or one subject of another
/// build's. A panic of a subject becomes its reason in the table; nothing else is printed about it.
///
/// # Errors
///
/// Says what is wrong with the request, or that nobody reads the replies.
pub fn serve_lines(
    tasks: impl FnOnce(&Request) -> Vec<Task>,
    tool: impl FnOnce() -> Tool,
    mut input: impl BufRead,
    output: &mut dyn Write,
) -> Result<(), String> {
    let mut line = String::new();
    input.read_line(&mut line).map_err(|error| format!("can't read a request: {error}"))?;
    let request: Request =
        serde_json::from_str(&line).map_err(|error| format!("expected a request of a run on stdin: {error}"))?;
    std::panic::set_hook(Box::new(|_| {}));
    request.tells();
    let tasks = tasks(&request);
    let mut replies = Replies { output, broken: None };
    match &request {
        Request::Host { protocol, task, subject } => {
            host(&tasks, (*protocol, task, subject), tool(), input, &mut |answered| replies.say(&answered));
        }
        _ => serve(&tasks, &request, &mut |reply| replies.say(&reply)),
    }
    replies.broken.map_or(Ok(()), |error| Err(format!("can't reply to the run: {error}")))
}

/// Replies, each a line of its own.
struct Replies<'a> {
    output: &'a mut dyn Write,
    broken: Option<std::io::Error>,
}

impl Replies<'_> {
    fn say(&mut self, reply: &impl Serialize) {
        let mut line = serde_json::to_vec(reply).expect("a reply is plain data");
        line.push(b'\n');
        if let Err(error) = self.output.write_all(&line).and_then(|()| self.output.flush()) {
            self.broken = Some(error);
        }
    }
}

/// Is one subject of a task until the input ends: introduces itself as `tool`, and answers orders. A parent that speaks another version of the protocol
/// learns which this one is, and nothing else.
pub fn host(
    tasks: &[Task],
    (protocol, task, subject): (u32, &str, &str),
    tool: Tool,
    orders: impl BufRead,
    say: &mut dyn FnMut(Answered),
) {
    let task = tasks.iter().find(|known| known.name == task);
    let described = task.map(|task| Described { what: task.what.clone(), bytes: task.bytes });
    let hello = Answer::Hello(Box::new(Hello { protocol: PROTOCOL, tool, task: described }));
    say(Answered { number: 0, answer: hello });
    if protocol != PROTOCOL {
        return;
    }
    let entry = task.and_then(|task| task.entries.iter().find(|entry| entry.subject == subject));
    let mut made: Option<Box<dyn Subject>> = None;
    for line in orders.lines().map_while(Result::ok) {
        say(match serde_json::from_str(&line) {
            Ok(Asked { number, order }) => Answered { number, answer: answer(order, entry, &mut made) },
            Err(error) => Answered { number: 0, answer: Answer::Failed(format!("expected an order: {error}")) },
        });
    }
}

fn answer(order: Order, entry: Option<&Entry>, made: &mut Option<Box<dyn Subject>>) -> Answer {
    match (order, made) {
        (Order::Prepare { seed }, made) => match prepared(entry, seed) {
            Ok((subject, witness)) => {
                let about = About {
                    provenance: subject.provenance(),
                    phases: subject.phases().iter().map(|&name| name.to_owned()).collect(),
                    quantities: subject.quantities(),
                    lasts_ns: subject.lasts().map(|lasts| u64::try_from(lasts.as_nanos()).unwrap_or(u64::MAX)),
                    cpu: subject.cpu_ns().is_some(),
                };
                *made = Some(subject);
                Answer::Ready { witness: Parts::from(&witness), about: Box::new(about) }
            }
            Err(refusal) => Answer::Refused(refusal),
        },
        (_, None) => Answer::Failed("expected an order to prepare first".into()),
        (Order::Check { witness }, Some(subject)) => match Witness::try_from(witness) {
            Ok(witness) => match guarded(|| subject.check(&witness)) {
                Ok(Ok(())) => Answer::Agrees,
                Ok(Err(mismatch)) => Answer::Disagrees(mismatch.to_string()),
                Err(panic) => Answer::Disagrees(panic),
            },
            Err(why) => Answer::Disagrees(why),
        },
        (Order::Turn(turn), Some(subject)) => {
            let taken = guarded(|| clock::take(subject.as_mut(), &turn, machine::involuntary_switches));
            taken.and_then(|taken| taken).map_or_else(Answer::Failed, Answer::Timed)
        }
    }
}

fn prepared(entry: Option<&Entry>, seed: u64) -> Result<(Box<dyn Subject>, Witness), Refusal> {
    let entry = entry.ok_or_else(|| Refusal::new(NO_SUBJECT))?;
    guarded(|| {
        let mut subject = entry.make()?;
        let witness = subject.prepare(seed)?;
        Ok((subject, witness))
    })
    .unwrap_or_else(|panic| Err(Refusal::failed(panic)))
}
