//! `candor onion soak`: a test network of processes under circuits and streams that come and go, for as long as it is told.

mod held;
mod load;
mod memory;
mod tally;

use super::family::Family;
use super::{Stop, runtime};
use crate::Failure;
use crate::cli::{ListFormat, SoakArguments};
use crate::output::{Talk, print};
use candor_network::{Client, ClientOptions, HandshakeType, RelayList};
use held::Held;
use load::{Load, PATIENCE, Shape};
use memory::{FLAT, LONG_ENOUGH, Memory};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use tokio::time::{Instant, interval_at};

/// The relays, in the order in which circuits go through them.
const RELAYS: [&str; 3] = ["guard", "middle", "exit"];
/// How long the processes may take to be ready.
const READY: Duration = Duration::from_secs(30);
/// How often memory is looked at.
const SAMPLE: Duration = Duration::from_secs(1);
/// How often it is said how things are: so often in all, and no more often than this.
const REPORTS: u32 = 60;
const LEAST_REPORT: Duration = Duration::from_secs(2);
/// How long what there is may take to come to its end when the time is over: a page's time, and that of one that is stuck.
const ENDING: Duration = PATIENCE.saturating_add(Duration::from_secs(60));
/// Streams that an exit may still be closing while their successors are there.
const CLOSING: usize = 256;

pub(super) fn execute(arguments: &SoakArguments, talk: Talk) -> Result<(), Failure> {
    // What runs in `block_on` runs on the main thread, which children must be started on.
    runtime()?.block_on(async {
        let mut stop = Stop::new()?;
        let mut family = Family::new(talk);
        let began = tokio::select! {
            () = stop.asked() => Err(Failure::Condition("stopped before it had begun".to_owned())),
            started = Soak::start(&mut family, arguments) => started,
        };
        let outcome = match began {
            Ok(mut soak) => {
                let end = soak.run(&mut family, &mut stop, arguments.lasts, talk).await;
                soak.end(end, arguments.format)
            }
            Err(failure) => Err(failure),
        };
        tokio::select! {
            () = family.stop("guard") => {}
            () = stop.asked() => {}
        }
        outcome
    })
}

/// A soak under way.
struct Soak {
    load: Arc<Load>,
    shape: Shape,
    memories: Vec<Memory>,
    held: Held,
    began: Instant,
    /// How long there was load.
    lasted: Duration,
}

/// How it came to its end.
enum End {
    /// The time was over, and every stream came to its end.
    Done,
    /// The time was over, and some did not.
    Stuck,
    Interrupted,
    /// A process ended.
    Died(Failure),
}

impl Soak {
    async fn start(family: &mut Family, arguments: &SoakArguments) -> Result<Self, Failure> {
        let until = Instant::now() + READY;
        let handshake: HandshakeType = arguments.handshake.parse()?;
        family.start("target", &["onion", "target"])?;
        let target = address_of(&family.line("target", until).await?)?;
        let streams = (arguments.streams + CLOSING).to_string();
        for name in RELAYS {
            let exit = if name == "exit" { &target[..] } else { "" };
            family.start(
                name,
                &["onion", "relay", "--name", name, "--exit", exit, "--streams", &streams, "--patience", "2"],
            )?;
        }
        let mut lines = String::new();
        for name in RELAYS {
            lines += &format!("{}\n", family.line(name, until).await?);
        }
        let shape = Shape::new(arguments.circuits, arguments.streams, arguments.seed, handshake, arguments.lasts);
        let client = Client::new(ClientOptions::default())?;
        let load = Load::new(shape, client, RelayList::parse(&lines)?, &target)?;
        let is_relay = |(name, _): &(&str, u32)| RELAYS.contains(name);
        let memories = family.processes().filter(is_relay).map(|(name, process)| Memory::of(name, process));
        let (memories, began) = (memories.collect(), Instant::now());
        Ok(Self { load, shape, memories, held: Held::default(), began, lasted: Duration::ZERO })
    }

    /// Until the time is over and all streams have ended, somebody asks to stop, or a process ends.
    async fn run(&mut self, family: &mut Family, stop: &mut Stop, lasts: Duration, talk: Talk) -> End {
        let report = (lasts / REPORTS).max(LEAST_REPORT);
        let mut samples = interval_at(self.began, SAMPLE);
        let mut reports = interval_at(self.began + report, report);
        let mut until = self.began + lasts;
        let mut is_over = false;
        let load = Arc::clone(&self.load);
        let carrying = load.carry();
        tokio::pin!(carrying);
        loop {
            tokio::select! {
                () = &mut carrying => match is_over {
                    true => return End::Done,
                    false => return End::Died(Failure::Error("no circuit is left".to_owned())),
                },
                () = tokio::time::sleep_until(until) => match is_over {
                    true => return End::Stuck,
                    false => {
                        (is_over, until, self.lasted) = (true, until + ENDING, lasts);
                        load.finish();
                    }
                },
                () = stop.asked() => return End::Interrupted,
                failure = family.until_one_ends() => return End::Died(failure),
                _ = samples.tick(), if !is_over => self.sample(),
                _ = reports.tick() => talk.say(&self.progress()),
            }
        }
    }

    fn sample(&mut self) {
        self.lasted = self.began.elapsed();
        self.memories.iter_mut().for_each(|memory| memory.sample(self.lasted));
        let tally = &self.load.tally;
        self.held.sample(self.lasted, [tally.circuits.now(), tally.streams.now()]);
    }

    fn progress(&self) -> String {
        let tally = &self.load.tally;
        let mut line = format!(
            "{:>5} s  {} circuits and {} streams now; {} built, {} pages, {:.1} MB, {} failures; RSS in MB:",
            self.began.elapsed().as_secs(),
            tally.circuits.now(),
            tally.streams.now(),
            tally.circuits.outcomes().successes,
            tally.streams.outcomes().successes,
            tally.bytes.load(Ordering::Relaxed) as f64 / 1e6,
            tally.circuits.failures() + tally.streams.failures()
        );
        for memory in &self.memories {
            let _ = write!(line, " {} {:.1}", memory.name, memory.now().unwrap_or_default() as f64 / 1e3);
        }
        line
    }

    /// The summary, and what follows from it.
    fn end(&self, end: End, format: ListFormat) -> Result<(), Failure> {
        let lasted = self.lasted;
        let grown: Vec<&str> = self
            .memories
            .iter()
            .filter(|memory| memory.course().is_some_and(|course| course.growth > FLAT))
            .map(|memory| memory.name.as_str())
            .collect();
        print(&match format {
            ListFormat::Text => self.text(lasted),
            ListFormat::Json => format!("{}\n", self.json(lasted)),
        })?;
        let tally = &self.load.tally;
        let failures = tally.circuits.failures() + tally.streams.failures();
        let asked = [self.shape.circuits, self.shape.streams];
        let [circuits, streams] = asked;
        let reached =
            [tally.circuits.most(), tally.streams.most()].iter().zip(asked).all(|(most, asked)| *most >= asked);
        let unless = |why: String| Err(Failure::Condition(why));
        match end {
            End::Died(Failure::Error(why) | Failure::Condition(why)) => unless(why),
            End::Died(failure) => Err(failure),
            End::Stuck => unless(format!(
                "{} streams did not come to their ends within {} s",
                tally.streams.now(),
                ENDING.as_secs()
            )),
            _ if failures > 0 => unless(format!("{failures} circuits or streams failed")),
            End::Interrupted => unless("interrupted: the summary is of what there was until then".to_owned()),
            End::Done if !reached => unless(format!(
                "there were never {circuits} circuits and {streams} streams at once: this machine is too slow for them, or the time too short"
            )),
            End::Done if lasted >= LONG_ENOUGH && !self.held.is_held(asked) => unless(format!(
                "there were once {circuits} circuits and {streams} streams, and not most of the time: this machine is too slow for them"
            )),
            End::Done if lasted >= LONG_ENOUGH && !grown.is_empty() => {
                unless(format!("RSS of {} grew by more than {:.0} %", grown.join(", "), FLAT * 100.0))
            }
            End::Done => Ok(()),
        }
    }

    fn text(&self, lasted: Duration) -> String {
        let tally = &self.load.tally;
        let mut text = format!(
            "a soak of {} s, seed {}, handshake {}: at once up to {} circuits and {} streams\n",
            lasted.as_secs(),
            self.shape.seed,
            self.shape.handshake,
            tally.circuits.most(),
            tally.streams.most()
        );
        if let Some([circuits, streams]) = self.held.levels() {
            let _ = writeln!(
                text,
                "after the first third there were {:.0} circuits and {:.0} streams on average, and {} and {} at least",
                circuits.mean, streams.mean, circuits.least, streams.least
            );
        }
        text += &tally.circuits.told("circuits built");
        text += &tally.streams.told("pages fetched");
        let (bytes, closed) = (tally.bytes.load(Ordering::Relaxed), tally.closed.load(Ordering::Relaxed));
        let _ = writeln!(
            text,
            "{bytes} bytes, all checked by SHA-256; {closed} of the pages only as far as they had come when the schedule closed their streams"
        );
        for memory in &self.memories {
            let Some(course) = memory.course() else { continue };
            let mb = |kb: u64| kb as f64 / 1e3;
            let _ = writeln!(
                text,
                "RSS of {:<6} {:.1} MB at the start, {:.1} at the end, {:.1} at most after the first third; growth since then {:+.1} %{}",
                memory.name,
                mb(course.start),
                mb(course.end),
                mb(course.most),
                course.growth * 100.0,
                if lasted < LONG_ENOUGH { ", which says little of so short a time" } else { "" }
            );
        }
        text
    }

    fn json(&self, lasted: Duration) -> Value {
        let tally = &self.load.tally;
        let levels = self.held.levels();
        let kind = |kind: &tally::Kind, which: usize| {
            let outcomes = kind.outcomes();
            let level = levels.map(|levels| levels[which]);
            json!({
                "attempts": outcomes.attempts,
                "failures": kind.failures(),
                "failures_at_most": tally::bound(outcomes),
                "at_once": kind.most(),
                "at_once_mean": level.map(|level| level.mean),
                "at_once_least": level.map(|level| level.least),
            })
        };
        let memory = |memory: &Memory| {
            memory.course().map(|course| {
                json!({
                    "name": memory.name,
                    "start_kb": course.start,
                    "end_kb": course.end,
                    "most_kb": course.most,
                    "growth": course.growth,
                })
            })
        };
        json!({
            "seconds": lasted.as_secs_f64(),
            "seed": self.shape.seed,
            "handshake": self.shape.handshake.to_string(),
            "circuits": kind(&tally.circuits, 0),
            "streams": kind(&tally.streams, 1),
            "bytes": tally.bytes.load(Ordering::Relaxed),
            "closed_early": tally.closed.load(Ordering::Relaxed),
            "relays": self.memories.iter().filter_map(memory).collect::<Vec<_>>(),
        })
    }
}

fn address_of(line: &str) -> Result<String, Failure> {
    let said: Value = serde_json::from_str(line)?;
    let address = said["address"].as_str().map(str::to_owned);
    address.ok_or_else(|| Failure::Error(format!("the target printed `{line}`; expected its address")))
}
