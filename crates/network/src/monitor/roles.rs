//! What is known of the roles: their latest numbers, what has changed since, what went wrong.

use super::MonitorConfig;
use super::scrape::Answer;
use crate::metrics::Sample;
use crate::proxy::CircuitReading;
use std::collections::{HashMap, VecDeque};
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

/// Points of the history of cells: two minutes of seconds.
const HISTORY: usize = 120;
/// Things that went wrong, the latest first.
const EVENTS: usize = 50;

/// The most characters of what went wrong: a role may say anything.
const MOST_WORDS: usize = 200;

/// Counters whose growth means that something went wrong: the metric, the label that says what, a value of it that is none, and how to say it.
const TROUBLES: [(&str, &str, Option<&str>, &str); 5] = [
    ("candor_relay_refused_total", "what", None, "refused"),
    ("candor_directory_errors_total", "what", None, "error"),
    ("candor_proxy_circuits_total", "outcome", Some("built"), "circuit"),
    ("candor_proxy_replies_total", "reply", Some("Succeeded"), "stream"),
    ("candor_proxy_refused_total", "what", None, "refused connection"),
];

/// Why a role is silent at first.
const UNASKED: &str = "has not been asked yet";

/// All roles.
pub(super) struct Roles {
    pub(super) every: Duration,
    pub(super) monitor: String,
    pub(super) roles: Vec<Role>,
    /// Cells a second of all relays together; seconds since 1970.
    pub(super) history: VecDeque<(f64, f64)>,
    pub(super) events: VecDeque<Event>,
}

/// One of them.
#[derive(Default)]
pub(super) struct Role {
    pub(super) name: String,
    /// Why it does not answer; nothing if it does.
    pub(super) silent: Option<String>,
    /// What it said last.
    pub(super) samples: Vec<Sample>,
    pub(super) circuits: Vec<CircuitReading>,
    /// Cells a second.
    pub(super) rate: Option<f64>,
    /// When it last answered.
    at: Option<Instant>,
}

/// Something that went wrong.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub(super) struct Event {
    /// Seconds since 1970.
    pub(super) time: f64,
    pub(super) role: String,
    pub(super) what: String,
}

impl Role {
    /// The value of a number that the role has once.
    pub(super) fn value(&self, name: &str) -> Option<f64> {
        self.samples.iter().find(|sample| sample.name == name).map(|sample| sample.value)
    }

    /// What it says it is.
    pub(super) fn kind(&self) -> Option<&str> {
        self.samples.iter().find(|sample| sample.name == "candor_info")?.label("role")
    }

    /// How often something went wrong since it started.
    pub(super) fn troubles(&self) -> f64 {
        self.samples.iter().filter(|sample| trouble(sample).is_some()).fold(0.0, |sum, sample| sum + sample.value)
    }
}

impl Roles {
    pub(super) fn new(config: &MonitorConfig) -> Self {
        let role = |watched: &super::Watched| Role {
            name: watched.name.clone(),
            silent: Some(UNASKED.to_owned()),
            ..Role::default()
        };
        Self {
            every: config.every,
            monitor: config.name.clone(),
            roles: config.watched.iter().map(role).collect(),
            history: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// Whether each role answers.
    pub(super) fn answering(&self) -> impl Iterator<Item = (&str, bool)> {
        self.roles.iter().map(|role| (role.name.as_str(), role.silent.is_none()))
    }

    /// Takes what the roles have answered, in their order.
    pub(super) fn learn(&mut self, answers: Vec<Result<Answer, String>>) {
        let time = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64();
        let mut happened = Vec::new();
        for (role, answer) in self.roles.iter_mut().zip(answers) {
            role.learn(answer, &mut |role: &str, what: String| {
                let what = what.chars().take(MOST_WORDS).collect();
                happened.push(Event { time, role: role.to_owned(), what });
            });
        }
        let rates: Vec<f64> = self.roles.iter().filter_map(|role| role.rate).collect();
        if !rates.is_empty() {
            keep(&mut self.history, (time, rates.iter().sum()), HISTORY);
        }
        happened.into_iter().for_each(|event| keep(&mut self.events, event, EVENTS));
    }
}

/// Puts something behind the others, of which there may be only so many.
fn keep<T>(all: &mut VecDeque<T>, new: T, most: usize) {
    all.push_back(new);
    while all.len() > most {
        all.pop_front();
    }
}

impl Role {
    fn learn(&mut self, answer: Result<Answer, String>, tell: &mut impl FnMut(&str, String)) {
        match answer {
            Ok(answer) => {
                if self.silent.take().is_some_and(|why| why != UNASKED) {
                    tell(&self.name, "answers again".to_owned());
                }
                self.take(answer, tell);
            }
            Err(why) => {
                if self.silent.as_deref().is_none_or(|why| why == UNASKED) {
                    tell(&self.name, why.clone());
                }
                self.silent = Some(why);
                self.rate = None;
                self.circuits.clear();
            }
        }
    }

    fn take(&mut self, answer: Answer, tell: &mut impl FnMut(&str, String)) {
        const STARTED: &str = "process_start_time_seconds";
        const CELLS: &str = "candor_relay_cells_total";
        let before = std::mem::replace(&mut self.samples, answer.samples);
        let last = self.at.replace(answer.at);
        self.circuits = answer.circuits;
        let then = |name: &str| before.iter().find(|sample| sample.name == name).map(|sample| sample.value);
        // One that was started anew counts from the beginning.
        let same = then(STARTED) == self.value(STARTED);
        self.rate = self.value(CELLS).map(|now| match (then(CELLS).filter(|_| same), last) {
            (Some(then), Some(last)) if answer.at > last => (now - then) / (answer.at - last).as_secs_f64(),
            _ => 0.0,
        });
        if last.is_none() {
            return;
        }
        let known: HashMap<_, _> = before.iter().filter(|_| same).map(|sample| (key(sample), sample.value)).collect();
        for sample in &self.samples {
            let more = sample.value - known.get(&key(sample)).copied().unwrap_or(0.0);
            if let Some(what) = trouble(sample).filter(|_| more > 0.0) {
                tell(&self.name, if more > 1.0 { format!("{what} ({more} times)") } else { what });
            }
        }
    }
}

fn key(sample: &Sample) -> (&str, &[(String, String)]) {
    (&sample.name, &sample.labels)
}

/// What has gone wrong as often as the sample says; nothing if it counts something else.
fn trouble(sample: &Sample) -> Option<String> {
    let (_, label, none, words) = TROUBLES.iter().find(|(name, ..)| *name == sample.name)?;
    let what = sample.label(label)?;
    (Some(what) != *none).then(|| format!("{words}: {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::metrics::parse;

    fn answer(at: Instant, text: &str) -> Result<Answer, String> {
        Ok(Answer { at, samples: parse(text).unwrap(), circuits: Vec::new() })
    }

    fn roles() -> Roles {
        let watched = ["ada", "bob"].map(|name| format!("{name}=http://127.0.0.1:1/metrics").parse().unwrap());
        Roles::new(&MonitorConfig::new(([127, 0, 0, 1], 0).into(), watched.to_vec()))
    }

    #[test]
    fn cells_a_second_are_counted_between_two_answers_of_one_process() {
        let (mut roles, start) = (roles(), crate::clock::instant());
        let at = |seconds| start + Duration::from_secs(seconds);
        let relay = |started: u32, cells: u32| {
            format!("process_start_time_seconds {started}\ncandor_relay_cells_total {cells}\n")
        };
        let rates = |roles: &Roles| roles.roles.iter().map(|role| role.rate).collect::<Vec<_>>();
        roles.learn(vec![answer(at(0), &relay(1, 1000)), answer(at(0), "other 1\n")]);
        assert_eq!(rates(&roles), [Some(0.0), None]);
        roles.learn(vec![answer(at(2), &relay(1, 1500)), answer(at(2), "other 1\n")]);
        assert_eq!(rates(&roles), [Some(250.0), None]);
        roles.learn(vec![answer(at(3), &relay(3, 10)), Err("gone".to_owned())]);
        assert_eq!(rates(&roles), [Some(0.0), None], "a new process has no rate yet");
        roles.learn(vec![answer(at(4), &relay(3, 20)), Err("gone".to_owned())]);
        assert_eq!(rates(&roles), [Some(10.0), None]);
        assert_eq!(roles.history.iter().map(|(_, rate)| *rate).collect::<Vec<_>>(), [0.0, 250.0, 0.0, 10.0]);
        for second in 5..300 {
            roles.learn(vec![answer(at(second), &relay(3, 20)), Err("gone".to_owned())]);
        }
        assert_eq!(roles.history.len(), HISTORY);
    }

    #[test]
    fn what_goes_wrong_is_told_once_and_what_went_wrong_before_is_not() {
        let (mut roles, start) = (roles(), crate::clock::instant());
        let proxy = |failed: u32, built: u32| {
            format!(
                "candor_proxy_circuits_total{{outcome=\"failed\"}} {failed}\ncandor_proxy_circuits_total{{outcome=\"built\"}} {built}\n"
            )
        };
        let told = |roles: &mut Roles| {
            roles.events.drain(..).map(|event| format!("{} {}", event.role, event.what)).collect::<Vec<_>>()
        };
        roles.learn(vec![answer(start, &proxy(5, 1)), Err("can't be reached".to_owned())]);
        assert_eq!(
            told(&mut roles),
            ["bob can't be reached"],
            "of what was before, a monitor that has just started knows nothing"
        );
        assert_eq!(roles.roles[0].troubles(), 5.0);
        roles.learn(vec![answer(start, &proxy(6, 9)), answer(start, "a 1\n")]);
        assert_eq!(told(&mut roles), ["ada circuit: failed", "bob answers again"]);
        roles.learn(vec![answer(start, &proxy(8, 9)), Err("can't be reached".to_owned())]);
        assert_eq!(told(&mut roles), ["ada circuit: failed (2 times)", "bob can't be reached"]);
        roles.learn(vec![answer(start, &proxy(8, 9)), Err("can't be reached".to_owned())]);
        assert_eq!(told(&mut roles), [""; 0]);
        roles.learn(vec![answer(start, &proxy(8, 9)), answer(start, "a 1\n")]);
        assert_eq!(told(&mut roles), ["bob answers again"]);
        for failed in 9..200 {
            roles.learn(vec![answer(start, &proxy(failed, 9)), answer(start, "a 1\n")]);
        }
        assert_eq!(roles.events.len(), EVENTS);
        roles.learn(vec![Err("x".repeat(1000)), answer(start, "a 1\n")]);
        assert_eq!(roles.events.back().map(|event| event.what.len()), Some(MOST_WORDS));
    }
}
