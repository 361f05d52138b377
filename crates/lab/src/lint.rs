//! Named lints: the mistakes that comparisons usually make, each taken from a published one, and noticed here.

use crate::Tuning;
use crate::analysis::Report;
use crate::plan::QUANTA;
use crate::runfile::Run;
use crate::stats::median;
use crate::verdict::Verdict;
use std::collections::BTreeMap;

/// A lint that fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lint {
    /// Its name; `candor explain NAME` says more.
    pub name: &'static str,
    /// The task, or empty for the whole run.
    pub task: String,
    /// The subject, or empty for the whole task.
    pub subject: String,
    /// What was found.
    pub text: String,
}

/// A lint as `candor explain` shows it.
#[derive(Debug)]
pub struct Explanation {
    /// The name.
    pub name: &'static str,
    /// When it fires.
    pub fires: &'static str,
    /// Why that matters, from a case that happened.
    pub why: &'static str,
    /// What to do.
    pub then: &'static str,
}

/// Every lint there is.
pub const LINTS: &[Explanation] = &[
    Explanation {
        name: "clock-too-coarse",
        fires: "an epoch lasted less than 1000 steps of the clock",
        why: "A published table gave medians of 5.00, 13.00, 11.00 and 30.00 µs: its clock ticked in whole microseconds, \
              up to 20 % of the value.",
        then: "Give a larger --budget, so that an epoch holds more operations.",
    },
    Explanation {
        name: "identical-values",
        fires: "three or more rows have exactly the same median",
        why: "A published report gave twelve different curve operations as 1,000 op/s each: a floor of one millisecond in \
              the harness, not a measurement. Another had two columns that were copies of each other.",
        then: "Look at the raw epochs in the run file; suspect the harness before the libraries.",
    },
    Explanation {
        name: "too-few-for-percentile",
        fires: "a percentile was asked for that needs more epochs: at least 10/(1−p), so 1000 for p99",
        why: "A published latency table gave p99 from ten samples, which is the maximum under another name.",
        then: "Leave the percentile out (reports do), or measure more rounds.",
    },
    Explanation {
        name: "different-machine",
        fires: "runs from different machines stand in one report",
        why: "A laptop was called 5.2 times faster than a paper's figure that came from a Raspberry Pi.",
        then: "Compare the ratios within each machine. Times are never divided across machines.",
    },
    Explanation {
        name: "different-operation",
        fires: "a subject's timed call does not do exactly what the baseline's does",
        why: "A whole handshake was compared with the sum of three operations, and generating a key with parsing one.",
        then: "Read what the row says it does, and compare like with like where you can.",
    },
    Explanation {
        name: "peer-not-at-its-best",
        fires: "a subject is known to leave instructions unused that this CPU has",
        why: "A machine looked four times slower at ML-KEM because its library had been built without AVX2.",
        then: "Build or load the peer with what the CPU offers, then measure again.",
    },
    Explanation {
        name: "peer-untuned",
        fires: "a subject has thresholds that can be tuned for a machine and were not",
        why: "Reviewers of a paper on binary fields asked whether gf2x had been tuned. It had not.",
        then: "Tune it here (`cargo xtask peers` does where it knows how) and measure both.",
    },
    Explanation {
        name: "peer-commit-unknown",
        fires: "neither a commit, a package id nor the digest of a shared object identifies the subject",
        why: "\"Compared with the latest version\" can't be repeated by anybody a year later.",
        then: "Use a released package or a shared object; the run file then says which.",
    },
    Explanation {
        name: "parts-do-not-add-up",
        fires: "the phases' sum differs from the whole by more than 1 % and more than the floor",
        why: "A published breakdown summed to 99.3 % of the whole, because parts and whole were means of different samples.",
        then: "Read the phases as shares. On operations of about a microsecond the clock between phases is the difference.",
    },
    Explanation {
        name: "busy-machine",
        fires: "other processes used more than a quarter of a CPU, or the hypervisor took more than 2 % of the time",
        why: "Paired rounds keep verdicts honest on a busy machine, but the intervals widen and small differences drown.",
        then: "Quiet the machine, or read `can't tell` as what it is.",
    },
    Explanation {
        name: "process-lost",
        fires: "a worker process died before it had measured",
        why: "The other processes still count, but a subject that crashes now and then is news in itself.",
        then: "Look at the reason; run again.",
    },
    Explanation {
        name: "interrupted",
        fires: "the run was stopped before its plan was done",
        why: "Whoever stops when the numbers look good has chosen them. Unfinished tasks get no verdict.",
        then: "Run it again to the end; `--quick` or a smaller --budget makes it shorter.",
    },
    Explanation {
        name: "insecure",
        fires: "a scheme that is insecure stands in the table for comparison",
        why: "Speed that was bought with security is not speed.",
        then: "Never deploy it.",
    },
];

/// All lints that fire on a run.
pub(crate) fn of(run: &Run, report: &Report) -> Vec<Lint> {
    let mut lints = Vec::new();
    let mut add = |name: &'static str, task: &str, subject: &str, text: String| {
        debug_assert!(LINTS.iter().any(|lint| lint.name == name));
        lints.push(Lint { name, task: task.into(), subject: subject.into(), text });
    };

    if run.end.interrupted {
        add("interrupted", "", "", "the run was stopped before its plan was done".into());
    }
    let during = &run.end.during;
    if during.is_loud() {
        let text = format!("others used {:.1} CPUs, steal {:.1} %", during.others_cpus, during.steal * 100.0);
        add("busy-machine", "", "", text);
    }
    for lost in &run.lost {
        add("process-lost", &lost.task, "", format!("process {}: {}", lost.process, lost.reason));
    }
    for task in &run.tasks {
        let least = (run.manifest.clock_quantum_ns * QUANTA) as f64;
        let blocks = run.blocks.iter().filter(|block| block.task == task.task);
        let epochs = blocks.flat_map(|block| block.ns.values());
        let shortest =
            epochs.filter_map(|ns| median(&ns.iter().map(|&ns| ns as f64).collect::<Vec<_>>())).reduce(f64::min);
        if let Some(shortest) = shortest.filter(|&shortest| shortest < least) {
            let quantum = run.manifest.clock_quantum_ns;
            add(
                "clock-too-coarse",
                &task.task,
                "",
                format!("an epoch of {shortest:.0} ns, the clock steps {quantum} ns"),
            );
        }
    }

    let mut medians: BTreeMap<u64, Vec<String>> = BTreeMap::new();
    for (task, row) in report.rows() {
        medians.entry(row.median_ns.to_bits()).or_default().push(format!("{} of {}", row.subject, task.task));
        let provenance = &row.provenance;
        if let Some(residual) = row.residual.filter(|residual| residual.abs() > row.floor.max(0.01)) {
            let text = format!("the phases sum to {:+.1} % of the whole", residual * 100.0);
            add("parts-do-not-add-up", &task.task, &row.subject, text);
        }
        if row.verdict == Verdict::Control {
            continue; // the same library as the baseline, already looked at
        }
        if let Some(text) = &provenance.different_operation {
            add("different-operation", &task.task, &row.subject, text.clone());
        }
        if let Some(text) = &provenance.not_at_its_best {
            add("peer-not-at-its-best", &task.task, &row.subject, text.clone());
        }
        if let Some(text) = &provenance.insecure {
            add("insecure", &task.task, &row.subject, text.clone());
        }
        if provenance.tuning == Tuning::Stock {
            add("peer-untuned", &task.task, &row.subject, "could be tuned for this machine and was not".into());
        }
        let ours = row.verdict == Verdict::Baseline || row.subject.starts_with("candor@");
        if !ours && provenance.commit.is_none() && provenance.object_sha256.is_none() {
            add("peer-commit-unknown", &task.task, &row.subject, "neither commit, package nor object is known".into());
        }
    }
    for rows in medians.into_values().filter(|rows| rows.len() >= 3) {
        add("identical-values", "", "", format!("exactly the same median: {}", rows.join(", ")));
    }
    lints
}

/// `different-machine`, which only shows when runs stand together.
pub fn across(reports: &[Report]) -> Option<Lint> {
    let (first, rest) = reports.split_first()?;
    let other = rest.iter().find(|other| !other.machine.same_as(&first.machine))?;
    Some(Lint {
        name: "different-machine",
        task: String::new(),
        subject: String::new(),
        text: format!("{} and {}: compare ratios, not times", first.machine.line(), other.machine.line()),
    })
}
