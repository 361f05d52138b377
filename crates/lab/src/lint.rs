//! Named lints: common mistakes in comparisons, most of them learned from a publication that made them.

/// A lint that fired.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lint {
    /// Its name. `candor explain NAME` says more.
    pub name: &'static str,
    /// The task. Empty if it concerns the whole run.
    pub task: String,
    /// The subject. Empty if it concerns the whole task.
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
    /// Why it matters, with a case that happened.
    pub why: &'static str,
    /// What to do.
    pub then: &'static str,
}

/// All lints.
pub const LINTS: &[Explanation] = &[
    Explanation {
        name: "clock-too-coarse",
        fires: "an epoch lasted less than 1000 steps of the clock; of an imported figure, if a step of its tool's clock or of its digits is over 0.5 % of it, or if all \
                times of a tool are whole microseconds, milliseconds or seconds",
        why: "A published table gave medians of 5.00, 13.00, 11.00 and 30.00 µs. Its clock counted whole microseconds, which \
              is up to 20 % of the value.",
        then: "Use a larger --budget, so that an epoch contains more operations; let the other tool measure longer.",
    },
    Explanation {
        name: "identical-values",
        fires: "three or more rows have exactly the same median, or three or more imported figures of a tool exactly the same value",
        why: "A published report gave 1,000 op/s for each of twelve different curve operations: its harness could not \
              measure less than a millisecond. Another had two columns that were copies of each other.",
        then: "Look at the raw epochs in the run file. Suspect the harness before the libraries.",
    },
    Explanation {
        name: "identical-processes",
        fires: "six or more processes of a subject have medians that lie within one step of the clock",
        why: "Processes differ in memory layout and in what else the machine does, by far more than a step of the clock. A file whose processes were one process and a few \
              nanoseconds has intervals of no width, and passes every check of its form.",
        then: "Look at the raw epochs in the run file, and measure it yourself: `candor rerun` repeats a run.",
    },
    Explanation {
        name: "too-few-for-percentile",
        fires: "a percentile needs more samples than there are: at least 10/(1−p), which is 1000 for p99",
        why: "A published latency table gave the p99 of ten samples, which is just their maximum.",
        then: "Leave the percentile out, as reports do, or measure more rounds.",
    },
    Explanation {
        name: "different-machine",
        fires: "a report contains runs from different machines, or imported figures of a machine that is not known to be the run's",
        why: "A program was said to be 5.2 times faster than a paper's, but it ran on a laptop and the paper's on a Raspberry Pi.",
        then: "Compare the ratios within each machine, not the times.",
    },
    Explanation {
        name: "different-operation",
        fires: "the timed call of a subject does not do exactly the same as the baseline's, by what is written of the two; an imported figure is of another number of bytes than its task",
        why: "One publication compared a whole handshake with the sum of three operations, another the generation of a key \
              with the parsing of one.",
        then: "Read what the row says it does. It gets no verdict and stands in no plot of ratios; compare rows that do the same work.",
    },
    Explanation {
        name: "unlike-conditions",
        fires: "a timed call draws randomness by a system call, reads or checks a key or keeps one parsed, hashes, allocates its memory, works on several at once or \
                one after another, wipes nothing, blinds, checks a key that it has made or makes its primes from auxiliary ones, and the baseline's does not, or the other \
                way round",
        why: "A system call for randomness takes 360 to 500 ns, up to 6 % of a key pair, and mapping 256 MiB a third of Argon2id. It is part of what a library \
              costs, and no part of its arithmetic.",
        then: "Take the difference for that of two libraries as they are, not of two kernels.",
    },
    Explanation {
        name: "peer-not-at-its-best",
        fires: "a subject is known not to use instructions that this CPU has: by what it says, or because at most one in fifty samples of its call is beyond scalar code and SSE, and \
                a faster one of the same work is at AVX2, AVX-512, SHA, AES or other special instructions in half of its own",
        why: "A machine seemed four times slower at ML-KEM because its library had been built without AVX2. A library may also see all features and use none of them.",
        then: "Build or load the library for this CPU, then measure again.",
    },
    Explanation {
        name: "old-peer",
        fires: "a newer release of the library is known to this version of candor",
        why: "A library of today was compared with another's of years ago: our SHA3-512 was ahead of libgcrypt 1.10, which Debian has, and behind 1.11.",
        then: "Read the row of a newer version, if there is one. `cargo xtask peers` builds newer versions of some libraries than Debian has, though not always the \
               newest.",
    },
    Explanation {
        name: "peer-untuned",
        fires: "a subject has thresholds that can be tuned for this machine, and they were not",
        why: "Reviewers of a paper on binary fields asked whether gf2x had been tuned. It had not.",
        then: "Tune it on this machine (`cargo xtask peers` can, for some libraries) and measure both.",
    },
    Explanation {
        name: "peer-commit-unknown",
        fires: "no commit, package version or digest of a shared object identifies the subject",
        why: "A year later nobody can repeat a comparison \"with the latest version\".",
        then: "Use a released package or a shared object, which the run file then identifies.",
    },
    Explanation {
        name: "unknown-phase",
        fires: "a published number is about a part of an operation that the row beside it does not have",
        why: "Phases are called otherwise in every program, and a misspelt one would silently stand beside nothing.",
        then: "Take one of the names that the lint gives for the claim's `phase`.",
    },
    Explanation {
        name: "parts-do-not-add-up",
        fires: "the sum of the phases differs from the whole by more than 1 % and by more than the floor",
        why: "The parts of a published breakdown added up to 99.3 % of the whole, because parts and whole were means of different \
              samples.",
        then: "Read the phases as shares. For operations of about a microsecond, reading the clock between phases makes the \
               difference.",
    },
    Explanation {
        name: "busy-machine",
        fires: "other processes used more than a quarter of one CPU's time, or the hypervisor took more than 2 % of it, or the load average at the end was above the \
                number of CPUs",
        why: "Because rounds are paired, verdicts stay right on a busy machine. But intervals become wider, and small differences can no longer \
              be told.",
        then: "If rows that you need read `can't tell`, stop the other programs and measure again.",
    },
    Explanation {
        name: "layout-unknown",
        fires: "no self-test of the same build stands beside the runs",
        why: "The same source at other addresses can take a per cent more or less, and a comparison of identical code in one program does not show it.",
        then: "Run `candor doctor --self-test` with this build; later runs of it count what it finds into their floor.",
    },
    Explanation {
        name: "lock-differs",
        fires: "the Cargo.lock with which the program was built is not the one of its commit",
        why: "The versions of the libraries that are linked in come from that file. With another one, the same commit is another program, and nobody can build it \
              from the commit.",
        then: "Restore Cargo.lock, build with --locked, and measure again.",
    },
    Explanation {
        name: "follows-itself",
        fires: "the baseline takes over 0.5 % less time where it runs right behind its own second entry",
        why: "Code that has just run finds caches and branches as it left them. The baseline is in every table twice, so it is the only code that can follow \
              itself in a round: an advantage over every peer. In runs from before 2026-11-25 it had up to 1.6 % from that.",
        then: "Trust no difference as small as that; it is part of the floor. Newer runs let every subject do some operations right before its epoch, outside the \
               clock, which makes it smaller.",
    },
    Explanation {
        name: "asked-over-pipes",
        fires: "a subject is a program of its own, which is asked over pipes for each epoch",
        why: "A question and an answer take some microseconds, in which two processes change places, and no other subject has that in its epochs. And its answers are checked, but not how \
              it came by them: one that remembers its answer and waits in proportion to the work that it was told passes, and beats everybody.",
        then: "Trust no difference smaller than the row's floor, which contains the asking. A larger --budget makes epochs longer and the share smaller. Trust no program that you have not read.",
    },
    Explanation {
        name: "mostly-waiting",
        fires: "the processes that do a subject's work compute in less than a fifth of its time",
        why: "C tor's relays took 51 ms for a circuit and computed in 1.9 of them, ours 1.0 and 0.8 (runs/2026-11-29-zen5-39e5ee). Its scheduler writes every ten milliseconds, and the times fit sockets that hold \
              back what follows a cell that nobody answers until the other kernel's delayed acknowledgement, 40 ms later. A ratio of 52 said nothing of what a circuit costs.",
        then: "Read the table of CPU times, and find out what is waited for: a timer, an acknowledgement, the other end.",
    },
    Explanation {
        name: "process-lost",
        fires: "a worker process died before it had measured",
        why: "A process without a result might have had any: the interval is wide enough for each of them below all others and above. A subject that sometimes crashes is a finding in itself.",
        then: "Read the reason, then run again.",
    },
    Explanation {
        name: "failed-work",
        fires: "operations of a subject failed while it was measured",
        why: "A circuit that fails at its first hop takes a third of the time of one that is built. Rounds in which that happened are marked in the run file, \
              have no times in reports, and might have taken any time as far as verdicts are concerned; runs from before 2026-11-25 have no such marks, and their failures are among the times.",
        then: "Read the success rate beside the time. If it is not close to 100 %, look for the cause before the time.",
    },
    Explanation {
        name: "bad-signature",
        fires: "a file RUN.sig stands beside a run and is no signature of it",
        why: "Somebody signed another file, or changed this one after it was signed.",
        then: "Ask whoever gave you the run for the file that was signed. `candor verify RUN --key FILE` says whose signature it is.",
    },
    Explanation {
        name: "interrupted",
        fires: "the run was stopped before its plan was done",
        why: "Stopping when the numbers look good selects them. Unfinished tasks get no verdict.",
        then: "Run it again to the end. `--quick` or a smaller --budget makes it shorter.",
    },
    Explanation {
        name: "insecure",
        fires: "the table contains an insecure scheme for comparison",
        why: "Giving up security makes many schemes faster.",
        then: "Never use it.",
    },
];
