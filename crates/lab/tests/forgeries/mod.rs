//! What a forger may do to a run file who can seal it again, and where that is noticed.

use serde_json::{Value, json};

/// Lines of the small run, counted from 0: manifest, task, two subjects, two blocks, end.
pub(crate) const MANIFEST: usize = 0;
pub(crate) const TASK: usize = 1;
pub(crate) const PEER: usize = 3;
pub(crate) const FIRST: usize = 4;
pub(crate) const SECOND: usize = 5;
pub(crate) const END: usize = 6;

/// An edit of the lines of a run, the seal left out.
pub(crate) type Forgery = fn(&mut Vec<Value>);

/// What a forger may do who can seal a file again, the line that gives it away (counted from 1), and what the error says.
pub(crate) const FORGERIES: &[(Forgery, usize, &str)] = &[
    // Of the plan.
    (|lines| lines[TASK]["plan"]["iterations"] = json!(0), 2, "or no iterations"),
    (|lines| lines[TASK]["plan"]["rounds"] = json!(4), 2, "fewer or more rounds"),
    (|lines| lines[TASK]["plan"]["rounds"] = json!(2005), 2, "fewer or more rounds"),
    (|lines| lines[TASK]["plan"]["subjects"] = json!(["ours"]), 2, "has no subjects"),
    (|lines| lines[TASK]["plan"]["subjects"] = json!(["ours", "peer"]), 2, "does not have its baseline twice"),
    (|lines| lines[TASK]["plan"]["subjects"] = json!(["ours", "ours#2", "ours"]), 2, "has a subject twice"),
    (|lines| lines.insert(FIRST, lines[TASK].clone()), 5, "a second entry for task t"),
    (|lines| drop(lines.remove(PEER)), 4, "no line says where peer of task t comes from"),
    (|lines| lines[MANIFEST]["comparisons"] = json!(0), 5, "counts 0 comparisons, and the plans have 1"),
    (|lines| lines.swap(PEER, FIRST), 4, "no line says where peer"),
    (|lines| lines.insert(SECOND, lines[PEER].clone()), 6, "after the first block"),
    // Of who measured, and when.
    (|lines| drop(lines.remove(FIRST)), 5, "process 0 of task t is next; found process 1"),
    (|lines| drop(lines.remove(SECOND)), 6, "process 1 of task t is missing"),
    (|lines| drop(lines.drain(FIRST..=SECOND)), 5, "process 0 of task t is missing"),
    (|lines| lines.swap(FIRST, SECOND), 5, "process 0 of task t is next; found process 1"),
    (|lines| lines[SECOND] = lines[FIRST].clone(), 6, "process 1 of task t is next; found process 0"),
    (|lines| lines.insert(END, lines[SECOND].clone()), 7, "beyond the plan"),
    (|lines| lines[SECOND]["process"] = json!(2), 6, "found process 2"),
    (|lines| lines[FIRST]["task"] = json!("another"), 5, "found process 0 of task another"),
    (
        |lines| lines[FIRST] = json!({"kind": "lost", "task": "t", "process": 1, "reason": "crashed"}),
        5,
        "found process 1",
    ),
    (|lines| lines[MANIFEST]["processes"] = json!(3), 5, "has 3 processes, and by its settings there are 2"),
    (|lines| lines[MANIFEST]["settings"] = json!({}), 5, "has 2 processes, and by its settings there are 9"),
    (|lines| set_processes(lines, 3), 7, "process 2 of task t is missing"),
    (|lines| set_processes(lines, 1), 6, "beyond the plan"),
    // A sign test of more than 1074 processes has no first term, and its interval was turned inside out.
    (|lines| set_processes(lines, 1001), 1, "1001 processes; no more than 1000 are measured"),
    // Of subjects and what they did.
    (|lines| lines.insert(FIRST, lines[PEER].clone()), 6, "peer of task t has two lines"),
    (|lines| lines[PEER]["task"] = json!("another"), 5, "there is no such task"),
    (|lines| lines.insert(FIRST, refusal("another")), 6, "there is no such task"),
    (|lines| lines[FIRST]["outcomes"] = json!({"peer": {"attempts": 1, "successes": 2}}), 5, "succeeded more often"),
    (|lines| lines.insert(END, trial()), 7, "a trial in a run of tasks"),
    (|lines| lines.insert(TASK, trial()), 3, "a task in a self-test"),
    (|lines| declare(lines, json!(["hums"])), 4, "habit \"hums\" is not known to this version"),
    (|lines| declare(lines, json!(["Allocates"])), 4, "habit \"Allocates\" is not known"),
    (|lines| declare(lines, json!(["allocates", "batches", "allocates"])), 4, "habit \"allocates\" is declared twice"),
    (|lines| declare(lines, json!([1])), 4, "expected a string"),
    (|lines| declare(lines, json!("allocates")), 4, "expected a sequence"),
    (|lines| declare(lines, json!(null)), 4, "expected a sequence"),
    // Of what instructions were used.
    (|lines| lines[PEER]["used"] = scalar(100), 4, "says what instructions it used, and nothing sampled them"),
    (
        |lines| drop(watched(lines)[PEER].as_object_mut().unwrap().remove("used")),
        4,
        "peer of task t does not say what instructions it used",
    ),
    (
        |lines| {
            watched(lines)[PEER]["used"] = used(json!({"vaes": 100}));
        },
        4,
        "vaes is said to be used, and the machine's features",
    ),
    (|lines| watched(lines)[PEER]["used"] = used(json!({"sha": 60, "scalar": 39})), 4, "don't add up to 100 samples"),
    (|lines| watched(lines)[PEER]["used"] = used(json!({"sha": 101})), 4, "sha is said to be in 101 of 100 samples"),
    (|lines| watched(lines)[PEER]["used"] = used(json!({"mmx": 100})), 4, "unknown variant `mmx`"),
    (|lines| watched(lines)[PEER]["used"]["sampled"]["later"] = json!(1), 4, "unknown field `later`"),
    (|lines| watched(lines)[PEER]["used"]["sampled"]["samples"] = json!(2000), 4, "2000 samples of what was used"),
    // Of seeds and orders.
    (|lines| lines[MANIFEST]["seed"] = json!(8), 5, "by the run's seed"),
    (|lines| lines[FIRST]["seed"] = json!(1), 5, "by the run's seed"),
    (|lines| lines[FIRST]["padding"] = json!(0), 5, "by the run's seed"),
    (|lines| lines[FIRST]["orders"].as_array_mut().unwrap().swap(0, 1), 5, "the order of round 0 does not follow"),
    (|lines| lines[SECOND]["orders"][2] = json!([0, 0, 0]), 6, "the order of round 2 does not follow"),
    (|lines| drop(lines[FIRST]["orders"].as_array_mut().unwrap().pop()), 5, "differ from the plan"),
    // Of times.
    (|lines| lines[FIRST]["iterations"] = json!(11), 5, "differ from the plan"),
    (|lines| lines[FIRST]["ns"]["peer"][1] = json!(0), 5, "a time of zero"),
    // The best process in place of another, under that one's seed.
    (|lines| lines[SECOND]["ns"] = lines[FIRST]["ns"].clone(), 6, "process 1 of task t has the very times of another"),
    (|lines| drop(lines[FIRST]["ns"]["peer"].as_array_mut().unwrap().pop()), 5, "an epoch is missing"),
    (|lines| drop(lines[FIRST]["ns"].as_object_mut().unwrap().remove("peer")), 5, "not those of the plan"),
    (|lines| lines[FIRST]["ns"]["stranger"] = json!([1, 2, 3]), 5, "not those of the plan"),
    (
        |lines| lines[FIRST]["ns"]["peer"][1] = json!(9_000_000_000_u64),
        7,
        "the epochs took 9.0 s in all, and the run 1.5 s",
    ),
    (|lines| lasting(lines, 60_000_000), 7, "the epochs took 1.8 s in all, and the run 1.5 s"),
    (|lines| lines[TASK]["plan"]["lasts_ns"] = json!(50_000_000), 2, "epochs of a fixed length and several operations"),
    (|lines| lines[FIRST]["disturbed"] = json!({"peer": [5]}), 5, "a disturbed round"),
    // A round that is said to have failed has no time: nobody may say so of work that did not fail.
    (|lines| lines[FIRST]["failed"] = json!({"peer": [0]}), 5, "a failed round"),
    (|lines| failed(lines, json!([5]), 1), 5, "a failed round"),
    (|lines| failed(lines, json!([0, 1]), 1), 5, "a failed round"),
    (|lines| failed(lines, json!([1, 0]), 2), 5, "a failed round"),
    (|lines| failed(lines, json!([1, 1]), 2), 5, "a failed round"),
    (|lines| failed(lines, json!([0]), 2_000_000_000), 5, "a process tried 2000000001 times"),
    // Of the floor. A layout without effect would only silence the lint `layout-unknown`.
    (|lines| lines[MANIFEST]["layout"] = json!({"floor": -5.0, "run": "a"}), 1, "the effect of layout is -5"),
    (|lines| lines[MANIFEST]["layout"] = json!({"floor": 0.0, "run": "a"}), 1, "the effect of layout is 0"),
    // Of the machine: noise that is less than none would only silence the lint `busy-machine`, and a clock without steps `clock-too-coarse`.
    (
        |lines| lines[MANIFEST]["before"]["load"] = json!(-3),
        1,
        "the load is -3e0; expected 0 to 1000000, before the run",
    ),
    (|lines| lines[END]["during"]["load"] = json!(-0.5), 7, "the load is -5e-1; expected 0 to 1000000, during the run"),
    (
        |lines| lines[END]["during"]["others_cpus"] = json!(-1),
        7,
        "the number of CPUs that others used is -1e0; expected 0 to",
    ),
    (|lines| lines[END]["during"]["others_cpus"] = json!(1e308), 7, "the number of CPUs that others used is 1e308"),
    (
        |lines| lines[END]["during"]["steal"] = json!(1.5),
        7,
        "the share that the hypervisor took is 1.5e0; expected 0 to 1",
    ),
    (
        |lines| lines[MANIFEST]["clock_quantum_ns"] = json!(0),
        5,
        "the manifest's clock has steps of 0 ns; expected 1 or more",
    ),
    // Of a later version.
    (|lines| lines[MANIFEST]["later"] = json!(1), 1, "unknown field `later`"),
    (|lines| lines[MANIFEST]["tool"]["later"] = json!(1), 1, "unknown field `later`"),
    (|lines| lines[MANIFEST]["machine"]["later"] = json!(1), 1, "unknown field `later`"),
    (|lines| lines[MANIFEST]["before"]["later"] = json!(1), 1, "unknown field `later`"),
    (|lines| lines[TASK]["later"] = json!(1), 2, "unknown field `later`"),
    (|lines| lines[TASK]["plan"]["later"] = json!(1), 2, "unknown field `later`"),
    (|lines| lines[PEER]["later"] = json!(1), 4, "unknown field `later`"),
    (|lines| lines[FIRST]["later"] = json!(1), 5, "unknown field `later`"),
    (|lines| lines[FIRST]["phases"]["peer"]["later"] = json!(1), 5, "unknown field `later`"),
    (|lines| lines[END]["later"] = json!(1), 7, "unknown field `later`"),
];

/// The same of the small self-test: manifest, five trials, end.
pub(crate) const FORGED_TRIALS: &[(Forgery, usize, &str)] = &[
    (|lines| drop(lines.remove(1)), 6, "trial 0 is same; found more"),
    (|lines| drop(lines.remove(3)), 6, "trial 2 is layout/twin; found same"),
    (|lines| drop(lines.remove(5)), 6, "a trial of more is missing"),
    (|lines| lines.swap(4, 5), 7, "trial 3 is same; found more"),
    (|lines| lines.insert(6, lines[5].clone()), 8, "trial 5 is one too many; found more"),
    (|lines| lines[1]["name"] = json!("more"), 7, "trial 0 is same; found more"),
    (|lines| drop(lines[1]["control"].as_array_mut().unwrap().pop()), 2, "a trial has 8 and 9 medians"),
    (|lines| drop(lines[1]["subject"].as_array_mut().unwrap().pop()), 2, "a trial has 9 and 8 medians"),
    (|lines| lines[1]["lost"] = json!(1), 2, "and 1 processes were lost; expected 9"),
    (|lines| lines[1]["lost"] = json!(u64::MAX), 2, "expected 9"),
    (|lines| lines[1]["later"] = json!(1), 2, "unknown field `later`"),
];

/// Marks rounds as failed, for so many failures.
pub(crate) fn failed(lines: &mut [Value], rounds: Value, failures: u64) {
    lines[FIRST]["failed"] = json!({"peer": rounds});
    lines[FIRST]["outcomes"] = json!({"peer": {"attempts": failures + 1, "successes": 1}});
}

/// Makes it a run whose epochs last so long, whatever is done in them, and gives one of them the time of an amount of work at its rate.
pub(crate) fn lasting(lines: &mut [Value], ns: u64) {
    lines[TASK]["plan"]["iterations"] = json!(1);
    lines[TASK]["plan"]["lasts_ns"] = json!(ns);
    for block in [FIRST, SECOND] {
        lines[block]["iterations"] = json!(1);
    }
    lines[FIRST]["ns"]["peer"][1] = json!(9_000_000_000_u64);
}

/// Declares what the peer does besides its work.
pub(crate) fn declare(lines: &mut [Value], habits: Value) {
    lines[PEER]["provenance"]["habits"] = habits;
}

/// Makes it a run whose subjects were watched.
pub(crate) fn watched(lines: &mut Vec<Value>) -> &mut Vec<Value> {
    lines[MANIFEST]["settings"]["instructions"] = json!("sampled at the end of each probe");
    lines[MANIFEST]["machine"]["features"] = json!(["sha_ni"]);
    lines[PEER - 1]["used"] = used(json!({"sha": 90, "scalar": 10}));
    lines[PEER]["used"] = scalar(100);
    lines
}

pub(crate) fn used(kinds: Value) -> Value {
    json!({"sampled": {"samples": 100, "kinds": kinds}})
}

pub(crate) fn scalar(samples: u64) -> Value {
    used(json!({"scalar": samples}))
}

/// Phases have shapes of their own.
pub(crate) const FORGED_PHASES: [Forgery; 4] = [
    |lines| drop(lines[FIRST]["phases"]["peer"]["ns"][0].as_array_mut().unwrap().pop()),
    |lines| lines[FIRST]["phases"]["peer"]["ns"].as_array_mut().unwrap().push(json!([1, 2, 3])),
    |lines| lines[FIRST]["phases"]["stranger"] = json!({"names": [], "ns": []}),
    |lines| lines[FIRST]["phases"]["peer"]["names"] = json!([]),
];

pub(crate) fn set_processes(lines: &mut [Value], processes: usize) {
    lines[MANIFEST]["processes"] = json!(processes);
    lines[MANIFEST]["settings"]["processes"] = json!(processes.to_string());
}

pub(crate) fn refusal(task: &str) -> Value {
    json!({"kind": "refusal", "task": task, "subject": "other", "reason": "none"})
}

pub(crate) fn trial() -> Value {
    json!({"kind": "trial", "name": "same", "control": [0.0, 0.0], "subject": [0.0, 0.0]})
}
