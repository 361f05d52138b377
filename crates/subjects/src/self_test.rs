//! Tasks whose truth is known, for `candor doctor --self-test`: what does the lab say where it can be wrong?
//!
//! They are not in [`tasks()`](crate::tasks()). The lab finds them by name in its worker processes with [`task`].
//!
//! | task | what it is | truth |
//! |---|---|---|
//! | `self-test/same` | one kernel, twice | no difference |
//! | `self-test/slower` | the peer does 1.5 % more | the baseline is faster |
//! | `self-test/faster` | the baseline does 1.5 % more | the baseline is slower |
//! | `self-test/{hash,argon2id,circuit}/same` | real work, twice: SHA-256 of 10 MB, Argon2id, 67 circuits | no difference |
//! | `self-test/{hash,argon2id,circuit}/slower` | the peer does 1.5 % more of it | the baseline is faster |
//! | `self-test/layout` | one C kernel, compiled three times | no difference but code layout: a figure, not a verdict |
//! | `self-test/wrong-answer` | peers that answer wrongly, panic, refuse | each is taken out, with its reason |
//! | `self-test/crash` | a peer that kills its process | taken out, and the run goes on |
//!
//! `self-test/slower/30` has the peer do 3 % more; any number of permille up to 1000 will do.

mod faults;
mod kernels;
mod real;

use candor_lab::{Entry, Task};
use faults::{Fault, Faulty};
use kernels::{Layout, Mixer};
use real::Work;

/// What `slower` and `faster` differ by if their name does not say otherwise: 1.5 %.
pub const PERMILLE: u32 = 15;

/// What is really the case between a baseline and a peer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Truth {
    /// They do the same work in the same code.
    Same,
    /// The peer does so much more work than the baseline: the baseline is faster.
    PeerDoesMore {
        /// In thousandths of the baseline's work.
        permille: u32,
    },
    /// The baseline does so much more work than the peer: the baseline is slower.
    BaselineDoesMore {
        /// In thousandths of the peer's work.
        permille: u32,
    },
    /// They do the same work in the same source, at other addresses: what is found is the error that A/A can't see.
    LayoutOnly,
    /// The peer must not get a time.
    TakenOut,
}

/// A self-test: a task, and the truth about each of its peers, by the subject's name.
pub struct SelfTest {
    /// What is done, in a few words: results are counted by it.
    pub work: &'static str,
    /// The task; its first entry is the baseline.
    pub task: Task,
    /// Of each other subject, in the same order.
    pub truths: Vec<(String, Truth)>,
}

impl SelfTest {
    fn new(task: Task, truth: Truth) -> Self {
        let truths = task.entries.iter().skip(1).map(|entry| (entry.subject.clone(), truth)).collect();
        Self { work: "a kernel", task, truths }
    }
}

/// All self-tests, with the default difference.
#[must_use]
pub fn all() -> Vec<SelfTest> {
    let kernel = [same(), slower(PERMILLE), faster(PERMILLE), layout(), wrong_answer(), crash()];
    let real = Work::ALL.into_iter().flat_map(|work| [false, true].map(|more| on_real_work(work, more)));
    kernel.into_iter().chain(real).collect()
}

/// The self-test of that name.
#[must_use]
pub fn find(name: &str) -> Option<SelfTest> {
    if let Some(test) = all().into_iter().find(|test| test.task.name == name) {
        return Some(test);
    }
    let (kind, permille) = match name.strip_prefix("self-test/")?.split_once('/') {
        Some((kind, permille)) => (kind, Some(permille.parse().ok().filter(|n| (1..=1000).contains(n))?)),
        None => return None,
    };
    match (kind, permille) {
        ("slower", Some(permille)) => Some(slower(permille)),
        ("faster", Some(permille)) => Some(faster(permille)),
        _ => None,
    }
}

/// The task of the self-test of that name.
#[must_use]
pub fn task(name: &str) -> Option<Task> {
    find(name).map(|test| test.task)
}

/// The same kernel, the same type, the same amount of work: whatever is found is false.
#[must_use]
pub fn same() -> SelfTest {
    let task = Task::new("self-test/same", "mixes 64 words, 1000 steps; baseline and peer are one type")
        .entry(mixer("kernel", 0))
        .entry(mixer("kernel-again", 0));
    SelfTest::new(task, Truth::Same)
}

/// The peer does `permille` thousandths more.
#[must_use]
pub fn slower(permille: u32) -> SelfTest {
    let what = format!("mixes 64 words, 1000 steps; the peer, which is the same type, {} steps", 1000 + permille);
    let task = Task::new(named("slower", permille), what)
        .entry(mixer("kernel", 0))
        .entry(mixer(format!("kernel+{permille}-permille"), permille));
    SelfTest::new(task, Truth::PeerDoesMore { permille })
}

/// The baseline does `permille` thousandths more.
#[must_use]
pub fn faster(permille: u32) -> SelfTest {
    let what = format!("mixes 64 words, {} steps; the peer, which is the same type, 1000 steps", 1000 + permille);
    let task = Task::new(named("faster", permille), what)
        .entry(mixer(format!("kernel+{permille}-permille"), permille))
        .entry(mixer("kernel", 0));
    SelfTest::new(task, Truth::BaselineDoesMore { permille })
}

/// Real work beside the same, or beside 1.5 % more of it.
fn on_real_work(work: Work, more: bool) -> SelfTest {
    let (amount, planted) = work.amounts();
    let (kind, truth, peers) = match more {
        false => ("same", Truth::Same, amount),
        true => ("slower", Truth::PeerDoesMore { permille: PERMILLE }, amount + planted),
    };
    let what = format!("{}: {amount} {}; the peer, which is the same type, {peers}", work.title(), work.unit());
    let entry = |subject: &str, more| Entry::boxed(subject, move || work.make(more));
    let task = Task::new(format!("self-test/{}/{kind}", work.name()), what)
        .entry(entry(work.name(), false))
        .entry(entry(&format!("{}{}", work.name(), if more { "+15-permille" } else { "-again" }), more));
    SelfTest { work: work.title(), ..SelfTest::new(task, truth) }
}

/// One C source, compiled twice into this program and once into a shared object.
#[must_use]
pub fn layout() -> SelfTest {
    let task =
        Task::new("self-test/layout", "mixes 16 words 32 times in C; one source and one set of flags, three copies")
            .entry(Entry::new("c-kernel", || Ok(Layout::first())))
            .entry(Entry::new("c-kernel-compiled-again", || Ok(Layout::second())))
            .entry(Entry::new("c-kernel-behind-dlopen", Layout::shared));
    SelfTest::new(task, Truth::LayoutOnly)
}

/// Peers that must not get a time: each ends in another way before the clock starts.
#[must_use]
pub fn wrong_answer() -> SelfTest {
    let task =
        Task::new("self-test/wrong-answer", "mixes 64 words, 1000 steps; the peers answer wrongly, panic, refuse")
            .entry(mixer("kernel", 0))
            .entry(faulty("kernel-wrong", Fault::WrongAnswer))
            .entry(faulty("kernel-panics", Fault::Panics))
            .entry(faulty("kernel-refuses", Fault::Refuses));
    SelfTest::new(task, Truth::TakenOut)
}

/// A peer that takes its process with it.
#[must_use]
pub fn crash() -> SelfTest {
    let task = Task::new("self-test/crash", "mixes 64 words, 1000 steps; the peer aborts its process in prepare")
        .entry(mixer("kernel", 0))
        .entry(faulty("kernel-aborts", Fault::Aborts));
    SelfTest::new(task, Truth::TakenOut)
}

fn named(kind: &str, permille: u32) -> String {
    match permille {
        PERMILLE => format!("self-test/{kind}"),
        _ => format!("self-test/{kind}/{permille}"),
    }
}

fn mixer(subject: impl Into<String>, extra: u32) -> Entry {
    Entry::new(subject, move || Ok(Mixer::new(extra)))
}

fn faulty(subject: &str, fault: Fault) -> Entry {
    Entry::new(subject, move || Ok(Faulty::new(fault)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_finds_its_own_task() {
        for test in all() {
            assert_eq!(task(&test.task.name).unwrap().name, test.task.name);
        }
        assert_eq!(task("self-test/slower/30").unwrap().name, "self-test/slower/30");
        assert_eq!(task("self-test/slower/15").unwrap().name, "self-test/slower");
        for nonsense in [
            "self-test",
            "self-test/",
            "self-test/slower/",
            "self-test/slower/0",
            "self-test/same/3",
            "same",
            "self-test/hash",
            "self-test/hash/15",
        ] {
            assert!(task(nonsense).is_none(), "{nonsense}");
        }
    }

    #[test]
    fn a_truth_stands_beside_every_peer() {
        for test in all() {
            let peers: Vec<_> = test.task.entries.iter().skip(1).map(|entry| entry.subject.as_str()).collect();
            let truths: Vec<_> = test.truths.iter().map(|(subject, _)| subject.as_str()).collect();
            assert_eq!(peers, truths, "{}", test.task.name);
        }
    }

    #[test]
    fn slower_means_the_peer_and_faster_the_baseline() {
        assert_eq!(slower(15).truths[0].1, Truth::PeerDoesMore { permille: 15 });
        assert_eq!(faster(15).truths[0].1, Truth::BaselineDoesMore { permille: 15 });
    }
}
