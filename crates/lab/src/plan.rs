//! The plan of a run. It is fixed before the first sample, so that nobody can stop when the numbers look good.

use crate::Quantity;
use crate::stats::{fewest_processes, fewest_processes_losing};
use crate::verdict::LEAST_FLOOR;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Name of the quantity that says what asking a program over pipes costs, in nanoseconds.
pub const ASKING: &str = "asking it over pipes";

/// How long an epoch of the fastest subject should take.
const EPOCH: Duration = Duration::from_millis(1);

/// How many steps of the clock an epoch must take; if it takes fewer, the lint `clock-too-coarse` fires.
pub const QUANTA: u64 = 1000;

/// The fewest rounds that make a median per process, whatever the budget.
pub const FEWEST_ROUNDS: usize = 5;

/// An operation that takes so long is an average over everything that happens meanwhile: one round of them is enough.
const LONG: Duration = Duration::from_secs(10);

/// More rounds than this don't narrow the interval, because the rest of the noise differs between processes.
pub(crate) const MOST_ROUNDS: usize = 2000;

/// A simulation needs no more than this of the budget: what it draws does not get better by the clock.
const SIMULATIONS: Duration = Duration::from_millis(500);

/// The largest part of an epoch that asking a program may take.
pub const MOST_ASKING: f64 = 0.02;

/// The quantity that says what asking a program costs.
pub(crate) fn asking_ns(quantities: &[Quantity]) -> f64 {
    let asking = quantities.iter().find(|quantity| quantity.name == ASKING && quantity.unit == "ns");
    asking.map_or(0.0, |asking| asking.value.max(0.0))
}

/// The plan of a task.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TaskPlan {
    /// The subjects by name: the baseline, its control, then the others.
    pub subjects: Vec<String>,
    /// Operations per epoch, the same for every subject.
    pub iterations: u64,
    /// Rounds in each process.
    pub rounds: usize,
    /// Whether CPU times are read beside the times, which doubles the comparisons.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub cpu: bool,
    /// How long each epoch lasts, in nanoseconds, where that is fixed and not the work ([`Subject::lasts`](crate::Subject::lasts)): the times told are
    /// then those of an amount of work at the epoch's rate. Zero for all others.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub lasts_ns: u64,
}

fn is_zero(ns: &u64) -> bool {
    *ns == 0
}

/// The name of the baseline's second entry.
pub fn control_of(baseline: &str) -> String {
    format!("{baseline}#2")
}

/// How many processes measure each task.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Processes {
    /// Half as many again as the fewest that can support a verdict.
    #[default]
    HalfAgain,
    /// The fewest that support verdicts even if each task loses one.
    LosingOne,
    /// So many.
    Exactly(usize),
}

impl From<usize> for Processes {
    fn from(processes: usize) -> Self {
        Self::Exactly(processes)
    }
}

impl Processes {
    /// Their number, for a run with so many comparisons.
    #[must_use]
    pub fn of(self, comparisons: usize) -> usize {
        match self {
            Self::HalfAgain => fewest_processes(comparisons).div_ceil(2) * 3,
            Self::LosingOne => fewest_processes_losing(1, comparisons),
            Self::Exactly(processes) => processes,
        }
    }

    /// As the settings of a manifest have it.
    pub(crate) fn told(self) -> String {
        match self {
            Self::HalfAgain => "half as many again as needed".into(),
            Self::LosingOne => LOSING_ONE.into(),
            Self::Exactly(processes) => processes.to_string(),
        }
    }

    /// What the settings of a manifest tell.
    pub(crate) fn by(told: &str) -> Self {
        match told.parse() {
            Ok(processes) => Self::Exactly(processes),
            Err(_) if told == LOSING_ONE => Self::LosingOne,
            Err(_) => Self::HalfAgain,
        }
    }
}

const LOSING_ONE: &str = "as many as needed where one is lost";

/// More processes than this narrow no interval that anybody needs narrower.
pub const MOST_PROCESSES: usize = 1000;

/// What the probe found out about a subject.
#[derive(Clone, Debug, PartialEq)]
pub struct Probed {
    /// Its name.
    pub subject: String,
    /// Nanoseconds per operation, roughly.
    pub ns: f64,
    /// Whether it has phases, so that each round times it twice.
    pub phased: bool,
    /// What an epoch contains besides the operations, in nanoseconds: the asking of a program over pipes. Zero for all others.
    pub asking_ns: f64,
    /// Whether the CPU time of the processes that do its work is read.
    pub cpu: bool,
    /// Whether an epoch of it lasts `ns`, whatever is done in that time.
    pub lasts: bool,
    /// Whether its time is virtual. An epoch is then one operation, so that medians and percentiles are those of operations.
    pub simulated: bool,
}

/// The comparisons of a task with these subjects: all but the baseline, by their times and, where those are read, by their CPU times.
pub(crate) fn comparisons(able: &[Probed]) -> usize {
    able.len().saturating_sub(1) * measures(able.iter().any(|subject| subject.cpu))
}

/// In how many ways a subject is compared.
fn measures(cpu: bool) -> usize {
    if cpu { 2 } else { 1 }
}

impl TaskPlan {
    /// The plan of a task whose first subject is the baseline, such that all processes together take about `budget`. A small
    /// budget reduces the rounds, then the operations per epoch, never the processes. `None` without subjects.
    pub fn new(probed: &[Probed], processes: usize, budget: Duration, quantum_ns: u64) -> Option<Self> {
        let baseline = probed.first()?;
        let mut subjects = vec![baseline.subject.clone(), control_of(&baseline.subject)];
        subjects.extend(probed[1..].iter().map(|subject| subject.subject.clone()));

        let fastest = probed.iter().map(|subject| subject.ns.max(0.1)).fold(f64::INFINITY, f64::min);
        let round = round_ns(probed);
        let simulated = probed.iter().any(|subject| subject.simulated);
        let budget = if simulated { budget.min(SIMULATIONS) } else { budget };
        let budget = budget.as_nanos() as f64 / processes.max(1) as f64;

        let wanted = EPOCH.as_nanos() as f64 / fastest;
        let affordable = budget / (round * FEWEST_ROUNDS as f64);
        let least = (quantum_ns * QUANTA) as f64 / fastest;
        // Epochs long enough for what asking costs, as far as the budget goes.
        let asking = |subject: &Probed| subject.asking_ns / (subject.ns.max(0.1) * LEAST_FLOOR);
        let asking = probed.iter().map(asking).fold(0.0, f64::max).min(affordable);
        let wanted = wanted.min(affordable.max(least)).max(asking);
        let iterations = if simulated { 1.0 } else { wanted.ceil().max(1.0) };
        let rounds = (budget / turns_ns(probed, iterations as u64)) as usize;
        // Complete Latin squares if they fit, so that every subject stands in every position equally often.
        let square = subjects.len();
        let fewest = if fastest >= LONG.as_nanos() as f64 { 1 } else { FEWEST_ROUNDS };
        let rounds = rounds.clamp(fewest, MOST_ROUNDS);
        let rounds = match square {
            _ if rounds < FEWEST_ROUNDS => rounds,
            square if square <= FEWEST_ROUNDS => rounds.div_ceil(square) * square,
            square if square <= rounds => rounds - rounds % square,
            _ => rounds,
        };
        let cpu = probed.iter().any(|subject| subject.cpu);
        // The shortest, since nothing is known of how long the others' are.
        let lasts_ns = if probed.iter().all(|subject| subject.lasts) { fastest as u64 } else { 0 };
        Some(Self { subjects, iterations: iterations as u64, rounds, cpu, lasts_ns })
    }

    /// The part of an epoch that asking this subject takes.
    #[must_use]
    pub fn asking_share(&self, asking_ns: f64, ns: f64) -> f64 {
        if asking_ns > 0.0 { asking_ns / (asking_ns + ns.max(0.1) * self.iterations as f64) } else { 0.0 }
    }

    /// How long the rounds of one process take, roughly, and the epochs before them, by what the probe found.
    pub fn takes(&self, probed: &[Probed]) -> Duration {
        // What only gets warm before the first round takes no time worth telling.
        let before = |subject: &Probed| if subject.lasts { 0.0 } else { subject.ns.max(0.1) };
        let before = with_control(probed, before) * self.iterations as f64;
        let before = before * untimed_epochs(self.iterations) as f64;
        Duration::from_secs_f64((before + turns_ns(probed, self.iterations) * self.rounds as f64) / 1e9)
    }

    /// The baseline's name.
    pub fn baseline(&self) -> &str {
        self.subjects.first().map_or("", |name| name)
    }

    /// The number of comparisons: all subjects but the baseline and its control, by their times and, where those are read, by their CPU times.
    pub fn comparisons(&self) -> usize {
        self.subjects.len().saturating_sub(2) * measures(self.cpu)
    }
}

/// How many operations a subject does right before each of its epochs, outside the clock: it then follows itself, as every other does. Where an epoch is a
/// single operation there are none. That one takes longer than a millisecond, and what it finds of others' in the caches is a small part of it.
pub(crate) fn warm_up(iterations: u64) -> u64 {
    if iterations > 1 { iterations.div_ceil(16) } else { 0 }
}

/// How many epochs each subject does in a process before the first round. They fill the caches and let the processor reach its clock frequency; where an
/// epoch is a single operation, which takes over a millisecond, one of each subject has done that.
pub(crate) fn untimed_epochs(iterations: u64) -> u32 {
    if iterations > 1 { 3 } else { 1 }
}

/// Nanoseconds for one operation of every subject, and of the baseline's control; those with phases do it twice.
fn round_ns(probed: &[Probed]) -> f64 {
    with_control(probed, |subject| subject.ns.max(0.1) * if subject.phased { 2.0 } else { 1.0 })
}

/// Nanoseconds of a round of so many operations, each epoch with what goes before it.
fn turns_ns(probed: &[Probed], iterations: u64) -> f64 {
    let before = with_control(probed, |subject| subject.ns.max(0.1)) * warm_up(iterations) as f64;
    round_ns(probed) * iterations as f64 + before
}

fn with_control(probed: &[Probed], each: impl Fn(&Probed) -> f64) -> f64 {
    probed.first().map_or(0.0, &each) + probed.iter().map(&each).sum::<f64>()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn probed(ns: &[f64]) -> Vec<Probed> {
        ns.iter()
            .enumerate()
            .map(|(i, &ns)| Probed {
                subject: format!("s{i}"),
                ns,
                phased: false,
                asking_ns: 0.0,
                cpu: false,
                lasts: false,
                simulated: false,
            })
            .collect()
    }

    #[test]
    fn the_baseline_enters_twice() {
        let plan = TaskPlan::new(&probed(&[100.0, 200.0]), 9, Duration::from_secs(8), 30).unwrap();
        assert_eq!(plan.subjects, ["s0", "s0#2", "s1"]);
        assert_eq!((plan.baseline(), plan.comparisons()), ("s0", 1));
        assert_eq!(plan.iterations, 10_000);
    }

    #[test]
    fn an_operation_above_a_millisecond_runs_once_an_epoch() {
        let plan = TaskPlan::new(&probed(&[5e6, 9e6]), 9, Duration::from_secs(8), 30).unwrap();
        assert_eq!(plan.iterations, 1);
    }

    #[test]
    fn a_small_budget_reduces_rounds_and_epochs_but_never_to_nothing() {
        let plan = TaskPlan::new(&probed(&[100.0, 1e6]), 18, Duration::from_millis(100), 30).unwrap();
        assert_eq!(plan.rounds, 6, "two whole squares of three");
        assert!(plan.iterations >= 300, "an epoch of the fastest still lasts 1000 quanta");
    }

    #[test]
    fn a_simulation_counts_single_operations_and_takes_half_a_second() {
        let mut probed = probed(&[100_000.0]);
        probed[0].simulated = true;
        let plan = TaskPlan::new(&probed, 10, Duration::from_secs(8), 30).unwrap();
        assert_eq!((plan.iterations, plan.rounds), (1, 250));
        let plan = TaskPlan::new(&probed, 10, Duration::from_millis(100), 30).unwrap();
        assert_eq!((plan.iterations, plan.rounds), (1, 50));
    }

    #[test]
    fn rounds_are_whole_latin_squares_where_the_budget_allows() {
        for n in 1..9 {
            let plan = TaskPlan::new(&probed(&vec![1000.0; n]), 9, Duration::from_secs(8), 30).unwrap();
            assert_eq!(plan.rounds % (n + 1), 0);
        }
    }

    #[test]
    fn epochs_are_longer_for_a_program_as_far_as_the_budget_goes() {
        let mut probed = probed(&[1000.0, 2000.0]);
        let plan = |probed: &[Probed], budget| TaskPlan::new(probed, 9, Duration::from_secs(budget), 30).unwrap();
        assert_eq!(plan(&probed, 90).iterations, 1000);
        // 20 µs are 0.5 % of 4 ms.
        probed[1].asking_ns = 20_000.0;
        let long = plan(&probed, 90);
        assert_eq!(long.iterations, 2000);
        assert!((long.asking_share(20_000.0, 2000.0) - 0.005).abs() < 1e-4);
        // A second for all nine: five rounds of three subjects take no more.
        probed[1].asking_ns = 20e6;
        let short = plan(&probed, 1);
        assert!(short.iterations < 6000 && short.asking_share(20e6, 2000.0) > MOST_ASKING, "{short:?}");
        assert_eq!(short.asking_share(0.0, 2000.0), 0.0);
    }

    #[test]
    fn there_are_half_as_many_processes_again_as_needed_or_enough_to_lose_one() {
        let of = |processes: Processes| [1, 60, 1110].map(|comparisons| processes.of(comparisons));
        assert_eq!(of(Processes::HalfAgain), [9, 18, 24]);
        assert_eq!(of(Processes::LosingOne), [9, 16, 20]);
        assert_eq!(of(Processes::Exactly(7)), [7, 7, 7]);
    }

    #[test]
    fn the_number_of_processes_is_read_as_it_was_told() {
        for processes in [Processes::HalfAgain, Processes::LosingOne, Processes::Exactly(7)] {
            assert_eq!(Processes::by(&processes.told()), processes);
        }
    }

    #[test]
    fn the_expected_time_counts_every_subject_and_the_control() {
        let probed = [
            Probed {
                subject: "a".into(),
                ns: 100.0,
                phased: false,
                asking_ns: 0.0,
                cpu: false,
                lasts: false,
                simulated: false,
            },
            Probed {
                subject: "b".into(),
                ns: 50.0,
                phased: true,
                asking_ns: 0.0,
                cpu: false,
                lasts: false,
                simulated: false,
            },
        ];
        let plan = TaskPlan {
            subjects: vec!["a".into(), "a#2".into(), "b".into()],
            iterations: 1000,
            rounds: 2000,
            ..TaskPlan::default()
        };
        // 2 · 100 + 2 · 50 ns a thousand times, and before them 2 · 100 + 50 ns 63 times; and three epochs before all rounds.
        let rounds = 2000 * (300 * 1000 + 250 * 63);
        assert_eq!(plan.takes(&probed), Duration::from_nanos(rounds + 3 * 250 * 1000));
        let single = TaskPlan { iterations: 1, ..plan };
        assert_eq!(single.takes(&probed), Duration::from_nanos(2000 * 300 + 250));
        // Slow operations exceed the budget: the rounds are never fewer than five.
        let mut slow = self::probed(&[1e9]);
        let plan = TaskPlan::new(&slow, 9, Duration::from_secs(1), 30).unwrap();
        assert_eq!((plan.takes(&slow).as_secs(), plan.lasts_ns), (14, 0), "six rounds of two, and one before them");
        slow[0].lasts = true;
        let plan = TaskPlan::new(&slow, 9, Duration::from_secs(1), 30).unwrap();
        assert_eq!((plan.takes(&slow).as_secs(), plan.lasts_ns), (12, 1_000_000_000), "it gets warm in no time");
    }

    #[test]
    fn without_subjects_there_is_no_plan() {
        assert_eq!(TaskPlan::new(&[], 9, Duration::from_secs(1), 30), None);
    }
}
