//! Which arm of ours is the fastest: the tasks that measure a routine, and what their times say about the table of arms
//! ([`candor_cpu::arms`]). `candor doctor --arms` shows it, and `cargo xtask tune arms` writes it into the table.

use candor_cpu::Microarchitecture;
use candor_cpu::arms::{self, Routine};
use candor_lab::Task;
use candor_lab::stats::Interval;

/// Arms closer than this count as equal; of equals the narrowest is chosen.
const EQUAL: f64 = 1.01;

/// The size of tasks whose routine knows none.
const ANY: usize = usize::MAX;

/// What a task found: the time of each arm of ours in units of the first one's, which is the one that ran by default.
#[derive(Clone, Debug, PartialEq)]
pub struct Times {
    /// The task's name.
    pub task: String,
    /// Arms and times.
    pub arms: Vec<(String, f64)>,
    /// The intervals of those times that have one, in the same order as the arms.
    pub intervals: Vec<Option<Interval>>,
}

/// What is known of how far the arm that ran by default is behind the fastest.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// No arm is faster by more than is permitted.
    Within,
    /// An arm is, and so is the whole interval of its time.
    Behind,
    /// An arm is, but its interval doesn't exclude that it isn't, or it has none.
    Unsettled,
}

impl Times {
    /// From a task's subjects, their times and intervals; subjects that are not arms of ours are left out.
    pub fn new<'a>(task: &str, subjects: impl IntoIterator<Item = (&'a str, f64, Option<Interval>)>) -> Self {
        let batch = routine_of(task).is_some_and(|(_, size)| size != ANY);
        let arms = subjects
            .into_iter()
            .filter_map(|(subject, time, interval)| Some(((arm(subject, batch)?.to_owned(), time), interval)));
        let (arms, intervals) = arms.unzip();
        Self { task: task.to_owned(), arms, intervals }
    }

    /// The fastest arm and its time.
    pub fn best(&self) -> Option<(&str, f64)> {
        let best = self.arms.iter().min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some((&best.0, best.1))
    }

    /// How much longer the arm that ran by default takes than the fastest: 0.05 is 5 %.
    pub fn loss(&self) -> f64 {
        self.best().map_or(0.0, |(_, time)| loss(time))
    }

    /// What the default loses against each other arm that has an interval, as an interval.
    pub fn losses(&self) -> impl Iterator<Item = (&str, Interval)> {
        self.arms.iter().zip(&self.intervals).skip(1).filter_map(|((arm, _), time)| {
            let Interval { low, high } = (*time)?;
            Some((arm.as_str(), Interval { low: loss(high), high: loss(low) }))
        })
    }

    /// Whether the arm that ran by default takes longer than another by more than `permitted`.
    pub fn standing(&self, permitted: f64) -> Standing {
        if self.losses().any(|(_, loss)| loss.low > permitted) {
            Standing::Behind
        } else if self.loss() > permitted {
            Standing::Unsettled
        } else {
            Standing::Within
        }
    }
}

/// What the default loses against an arm that takes `time` in units of the default's.
fn loss(time: f64) -> f64 {
    1.0 / time - 1.0
}

/// What the times say about a routine.
#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    /// The routine.
    pub routine: Routine,
    /// How many tasks had a say.
    pub tasks: usize,
    /// What the table should say, in its words.
    pub arms: String,
}

/// The routine that a task measures, and the size of its work if the routine knows it.
///
/// No task measures POLYVAL alone. Cells of the layer CGO stand for it, and their subjects switch the arm of AES together with that of
/// POLYVAL: a choice for POLYVAL is one for both. If one of the two were faster on a narrower arm, these times wouldn't show it.
pub fn routine_of(task: &str) -> Option<(Routine, usize)> {
    let parts: Vec<&str> = task.split('/').collect();
    let batch = parts.last()?.strip_prefix("batch").and_then(|messages| messages.parse().ok());
    let routine = match (parts[0], *parts.get(1)?, batch) {
        ("gf2", "mul", _) => Routine::Gf2Mul,
        ("gf2m", ..) => Routine::Gf2Field,
        ("hash", "sha256", None) => Routine::Sha256,
        ("hash", "sha256", Some(_)) => Routine::Sha256Batch,
        ("hash", "sha384" | "sha512", _) => Routine::Sha512,
        ("hash", "blake2b-512", None) => Routine::Blake2b,
        ("hash", "sm3", None) => Routine::Sm3,
        ("hash", "sm3", Some(_)) => Routine::Sm3Batch,
        ("hash", "sha3-256" | "sha3-512" | "shake128" | "shake256", None) => Routine::Keccak,
        ("hash", "sha3-256" | "sha3-512" | "shake128" | "shake256", Some(_)) => Routine::KeccakBatch,
        ("relay", "cells", _) if task.ends_with("/tor1") => Routine::AesCtr,
        ("relay", "cells", _) if task.ends_with("/cgo") => Routine::Polyval,
        ("aead", "aes-128-gcm" | "aes-256-gcm", _) => Routine::AesGcm,
        ("aead", "chacha20-poly1305" | "xchacha20-poly1305", _) => Routine::ChaCha20Poly1305,
        ("cipher", "sm4-ctr" | "sm4-cbc", _) | ("aead", "sm4-gcm" | "sm4-ccm", _) => Routine::Sm4,
        ("ksf", ..) => Routine::Argon2id,
        _ => return None,
    };
    Some((routine, batch.unwrap_or(ANY)))
}

/// The tasks that compare arms, each with no subjects but those arms.
pub fn tasks() -> Vec<Task> {
    let mut tasks = crate::tasks();
    tasks.retain(|task| routine_of(&task.name).is_some());
    for task in &mut tasks {
        let batch = routine_of(&task.name).is_some_and(|(_, size)| size != ANY);
        task.entries.retain(|entry| arm(&entry.subject, batch).is_some());
    }
    tasks.retain(|task| task.entries.len() > 1);
    tasks
}

/// The arm in a subject's name. Tasks of batches have entries that hash one message after another; those are no arms of the batch.
fn arm(subject: &str, batch: bool) -> Option<&str> {
    let arm = subject.strip_prefix("candor@")?;
    match batch {
        true => arm.strip_suffix("+batch"),
        false => Some(arm).filter(|arm| !arm.contains(['+', '#'])),
    }
}

/// What the times say, routine by routine.
pub fn choices(times: &[Times]) -> Vec<Choice> {
    Routine::ALL.into_iter().filter_map(|routine| choice(routine, times)).collect()
}

fn choice(routine: Routine, times: &[Times]) -> Option<Choice> {
    let mut of: Vec<(usize, &Times)> = Vec::new();
    for times in times {
        match routine_of(&times.task) {
            Some((measured, size)) if measured == routine && times.arms.len() > 1 => of.push((size, times)),
            _ => {}
        }
    }
    of.sort_by_key(|(size, _)| *size);
    let overall = best(routine, &of)?;
    let by_size = of.chunk_by(|a, b| a.0 == b.0).filter_map(|group| Some((group[0].0, best(routine, group)?)));
    let by_size: Vec<(usize, &str)> = by_size.collect();
    let runs: Vec<&[(usize, &str)]> = by_size.chunk_by(|a, b| a.1 == b.1).collect();
    let arms = match runs[..] {
        [few, many] => {
            let border = (few[few.len() - 1].0 + many[0].0) / 2;
            format!("{}<={border},{}", tier(routine, few[0].1), tier(routine, many[0].1))
        }
        _ => tier(routine, overall).to_owned(),
    };
    Some(Choice { routine, tasks: of.len(), arms })
}

/// The arm with the least geometric mean of its times, among those that all of the tasks have; of those that are equal, the narrowest.
fn best(routine: Routine, times: &[(usize, &Times)]) -> Option<&'static str> {
    let mean = |arm: &str| {
        let log = |(_, times): &(usize, &Times)| Some(times.arms.iter().find(|(name, _)| name == arm)?.1.ln());
        let logs: Option<Vec<f64>> = times.iter().map(log).collect();
        logs.map(|logs| (logs.iter().sum::<f64>() / logs.len() as f64).exp())
    };
    let means: Vec<(&'static str, f64)> =
        ladder(routine).iter().filter_map(|(arm, _)| mean(arm).map(|mean| (*arm, mean))).collect();
    let least = means.iter().map(|(_, mean)| *mean).fold(f64::INFINITY, f64::min);
    means.iter().rev().find(|(_, mean)| *mean <= EQUAL * least).map(|(arm, _)| *arm)
}

/// The arms of a routine from the widest to the narrowest, each with the highest tier in which it is the widest.
fn ladder(routine: Routine) -> &'static [(&'static str, &'static str)] {
    match routine {
        Routine::Gf2Mul | Routine::Gf2Field => &[
            ("avx512", "widest"),
            ("pmull", "widest"),
            ("zbc", "widest"),
            ("vpclmul", "vpclmul"),
            ("clmul", "avx2"),
            ("portable", "portable"),
        ],
        Routine::AesCtr | Routine::Polyval => {
            &[("avx512", "widest"), ("vpclmul", "vpclmul"), ("clmul", "avx2"), ("auto", "portable")]
        }
        Routine::AesGcm => &[("avx512", "widest"), ("vaes", "vpclmul"), ("aes-ni", "avx2"), ("library", "portable")],
        Routine::Sha256 => &[("sha", "widest"), ("arm-sha2", "widest"), ("portable", "portable")],
        Routine::Sha256Batch => &[("avx512", "widest"), ("sha", "vpclmul"), ("avx2", "avx2")],
        Routine::Sm4 => &[
            ("avx512", "widest"),
            ("gfni", "gfni"),
            ("vaes", "vpclmul"),
            ("avx2", "avx2"),
            ("aes-ni", "sha"),
            ("portable", "portable"),
        ],
        Routine::Blake2b => &[("avx512", "widest"), ("portable", "gfni")],
        _ => &[("avx512", "widest"), ("avx2", "vpclmul"), ("portable", "sha")],
    }
}

fn tier(routine: Routine, arm: &str) -> &'static str {
    ladder(routine).iter().find(|(known, _)| *known == arm).map_or("widest", |(_, tier)| tier)
}

/// What the table says about a routine on a microarchitecture, and where that comes from.
pub fn written(cpu: Microarchitecture, routine: Routine) -> (&'static str, &'static str) {
    let row = |cpu| arms::rows().find(|row| row.cpu == cpu && row.routine == routine).expect("the table is complete");
    let here = row(cpu);
    let arms = if here.arms == "-" { row(Microarchitecture::UNKNOWN).arms } else { here.arms };
    (arms, here.source)
}

/// The microarchitecture that a run file's line about the CPU names: `vendor_id AuthenticAMD, cpu family 26, model 2, …`.
pub fn microarchitecture(cpu_id: &str) -> Microarchitecture {
    let word = |name: &str| cpu_id.split(", ").find_map(|part| part.strip_prefix(name)?.strip_prefix(' '));
    let number = |name: &str| word(name)?.parse().ok();
    match (word("vendor_id"), number("cpu family"), number("model")) {
        (Some(vendor), Some(family), Some(model)) => Microarchitecture::of(vendor, family, model),
        _ => Microarchitecture::UNKNOWN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn times(task: &str, arms: &[(&str, f64)]) -> Times {
        Times::new(task, arms.iter().map(|&(arm, time)| (arm, time, None)))
    }

    fn chosen(routine: Routine, times: &[Times]) -> Option<String> {
        choices(times).into_iter().find(|choice| choice.routine == routine).map(|choice| choice.arms)
    }

    #[test]
    fn the_least_geometric_mean_wins() {
        let wide = [("candor@avx512", 1.0), ("candor@vpclmul", 0.9), ("candor@clmul", 2.0), ("gf2x-1.3.0+tuned", 0.1)];
        let long = [("candor@avx512", 1.0), ("candor@vpclmul", 1.05), ("candor@clmul", 2.0)];
        let both = [times("gf2/mul/3w", &wide), times("gf2/mul/901w", &long)];
        assert_eq!(chosen(Routine::Gf2Mul, &both).as_deref(), Some("vpclmul"));
        assert_eq!(chosen(Routine::Gf2Mul, &both[1..]).as_deref(), Some("widest"));
        assert_eq!(chosen(Routine::Gf2Field, &both), None);
    }

    #[test]
    fn of_equal_arms_the_narrowest_is_chosen() {
        let close = |wide: f64| [times("hash/sha3-256/1k", &[("candor@avx512", wide), ("candor@avx2", 1.0)])];
        assert_eq!(chosen(Routine::Keccak, &close(0.995)).as_deref(), Some("vpclmul"));
        assert_eq!(chosen(Routine::Keccak, &close(0.98)).as_deref(), Some("widest"));
    }

    #[test]
    fn arms_that_cross_get_a_size_between_the_sizes_measured() {
        let batch = |messages, wide: f64| {
            let arms = [("candor@avx512+batch", wide), ("candor@sha+batch", 1.0), ("candor@sha", 0.1)];
            times(&format!("hash/sha256/batch{messages}"), &arms)
        };
        let crossing = [batch(8, 0.9), batch(4, 1.5), batch(16, 0.5)];
        assert_eq!(chosen(Routine::Sha256Batch, &crossing).as_deref(), Some("vpclmul<=6,widest"));
        assert_eq!(chosen(Routine::Sha256Batch, &crossing[..1]).as_deref(), Some("widest"));
        assert_eq!(chosen(Routine::Sha256Batch, &crossing[1..2]).as_deref(), Some("vpclmul"));
        // Not one border but two: one arm for all sizes then.
        let wild = [batch(4, 0.5), batch(8, 1.1), batch(16, 0.5)];
        assert_eq!(chosen(Routine::Sha256Batch, &wild).as_deref(), Some("widest"));
    }

    #[test]
    fn an_arm_that_a_task_dropped_does_not_compete() {
        let first = times("gf2/mul/1w", &[("candor@avx512", 1.0), ("candor@clmul", 0.5)]);
        let second = times("gf2/mul/8w", &[("candor@avx512", 1.0), ("candor@vpclmul", 1.3)]);
        assert_eq!(chosen(Routine::Gf2Mul, &[first, second]).as_deref(), Some("widest"));
    }

    #[test]
    fn a_loss_is_counted_from_the_arm_that_ran_by_default() {
        let lost =
            times("gf2/mul/4w/latency", &[("candor@avx512", 1.0), ("candor@avx512#2", 0.5), ("candor@clmul", 0.8)]);
        assert_eq!(lost.best(), Some(("clmul", 0.8)));
        assert!((lost.loss() - 0.25).abs() < 1e-9);
        assert_eq!(times("gf2/mul/4w", &[("candor@avx512", 1.0), ("candor@clmul", 2.0)]).loss(), 0.0);
    }

    #[test]
    fn the_default_is_behind_only_if_the_whole_interval_says_so() {
        let found = |time: f64, low: f64, high: f64| {
            let other = ("candor@clmul", time, Some(Interval { low, high }));
            Times::new("gf2/mul/4w", [("candor@avx512", 1.0, None), other])
        };
        // A time of 0.9 is a loss of 11 %, one of 0.97 a loss of 3.1 %, one of 0.98 a loss of 2 %.
        assert_eq!(found(0.9, 0.8, 0.97).standing(0.03), Standing::Behind);
        assert_eq!(found(0.9, 0.8, 0.98).standing(0.03), Standing::Unsettled);
        assert_eq!(found(0.98, 0.9, 1.1).standing(0.03), Standing::Within);
        assert_eq!(
            times("gf2/mul/4w", &[("candor@avx512", 1.0), ("candor@clmul", 0.9)]).standing(0.03),
            Standing::Unsettled
        );
        let found = found(0.9, 0.8, 0.97);
        let losses: Vec<_> = found.losses().collect();
        assert!(losses.len() == 1 && losses[0].0 == "clmul" && (losses[0].1.high - 0.25).abs() < 1e-9);
    }

    #[test]
    fn every_task_with_several_arms_belongs_to_a_routine() {
        for task in crate::tasks() {
            // HQC's tiers are those of gf2's products, which have a routine, and of kernels with two arms, which have none; those of Classic McEliece
            // have three, of which the wider is the faster wherever it was measured, and so have those of our own ML-KEM, beside `auto`, of X25519, and of what is made of both. The curves, SM2's too, have one
            // arm beside safe Rust, and RSA two that nobody has measured.
            if ["kem/hqc-", "kem/mceliece", "kem/ml-kem-", "ec/", "ntor/", "relay/create2/", "opaque/", "rsa/", "sm2/"]
                .iter()
                .any(|family| task.name.starts_with(family))
            {
                continue;
            }
            let ours = task.entries.iter().filter(|entry| arm(&entry.subject, false).is_some()).count();
            assert!(ours < 2 || routine_of(&task.name).is_some(), "{} has {ours} arms", task.name);
        }
        let tasks = tasks();
        assert!(tasks.iter().all(|task| task.entries.len() > 1));
        if candor_cpu::Cpu::default().tier() != "portable" {
            assert!(tasks.iter().any(|task| task.name == "gf2/mul/8w"));
        }
    }

    #[test]
    fn the_ladders_name_every_arm_of_this_machine() {
        for task in tasks() {
            let (routine, size) = routine_of(&task.name).unwrap();
            for entry in &task.entries {
                let arm = arm(&entry.subject, size != ANY).unwrap();
                assert!(ladder(routine).iter().any(|(known, _)| *known == arm), "{} of {}", entry.subject, task.name);
            }
        }
    }

    #[test]
    fn the_table_answers_and_a_run_names_its_cpu() {
        let zen4 =
            microarchitecture("vendor_id AuthenticAMD, cpu family 25, model 17, stepping 1, microcode 0xa101148");
        assert_eq!(zen4.name(), "zen4");
        assert_eq!(written(zen4, Routine::Gf2Mul).0, "vpclmul");
        assert_eq!(microarchitecture("CPU implementer 0x41, CPU part 0xd40"), Microarchitecture::UNKNOWN);
        let (arms, source) = written(Microarchitecture::named("zen2").unwrap(), Routine::Gf2Mul);
        assert_eq!((arms, source), ("widest", "not run"));
    }

    /// Emerald Rapids has the core of Sapphire Rapids and larger caches: the same arms, and another kind of CPU for whoever compares runs.
    #[test]
    fn run_files_and_the_table_give_the_same_names_to_the_designs_of_amd_and_intel() {
        use candor_lab::machine::Machine;
        let amd = (20..=30).map(|family| ("AuthenticAMD", family));
        let intel = [6, 15, 19].map(|family| ("GenuineIntel", family));
        let mut named = std::collections::BTreeSet::new();
        for ((vendor, family), model) in
            amd.chain(intel).flat_map(|design| (0..=0xff).map(move |model: u32| (design, model)))
        {
            let cpu_id = format!("vendor_id {vendor}, cpu family {family}, model {model}, stepping 1");
            let known = Some(microarchitecture(&cpu_id)).filter(|cpu| *cpu != Microarchitecture::UNKNOWN);
            let machine = Machine { cpu: "Some CPU here".into(), cpu_id, ..Machine::default() };
            let expected = match known.map(Microarchitecture::name) {
                Some("sapphire-rapids") if model == 0xcf => "emerald-rapids",
                Some(name) => name,
                None => "some-here",
            };
            assert_eq!(machine.short_name(), expected, "{vendor}, family {family}, model {model:x}h");
            named.insert(expected);
        }
        assert!(["zen4", "skylake", "emerald-rapids", "granite-rapids"].iter().all(|name| named.contains(name)));
    }
}
