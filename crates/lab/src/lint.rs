//! Named lints: the mistakes that comparisons usually make, each taken from a published one, and noticed here.

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
