//! What the gate must know about a case.

use candor_cpu::Cpu;

/// One thing to run with secrets poisoned.
pub(crate) struct Case {
    /// A path: `<routine>@<arm>` for our own arms, `<algorithm>/<operation>/<back end>` for others' code.
    pub(crate) name: &'static str,
    /// What must have run, by the names that the product gives to `candor_cpu::secret::ran`.
    pub(crate) ran: (&'static str, &'static str),
    /// The tier that is forced, whatever CPUID says under valgrind.
    pub(crate) tier: &'static str,
    /// A function that must be among those executed; for code that chooses its arm itself, and for kernels of ours.
    pub(crate) kernel: Option<&'static str>,
    /// What the gate must see.
    pub(crate) expect: Expect,
    /// The work.
    pub(crate) run: fn(Cpu),
}

/// What the gate must see of a case.
pub(crate) enum Expect {
    /// No report at all.
    Clean,
    /// Reports in code that is not ours, at these places, so many at each and none elsewhere; and why they are no leak.
    Known { places: &'static [Place], why: &'static str },
    /// At least one report: a negative control.
    Fires,
    /// A verdict of "ran something else than asked": a control of the proof itself.
    OtherArm,
    /// A verdict of "the kernel asked for did not run": likewise.
    OtherKernel,
    /// A verdict of "what was declassified was never secret": a control of the poison.
    NeverSecret,
    /// Nothing: valgrind can't run it. Instead it runs on the bare CPU, where the arm is recorded and the result compared as well; the scan
    /// must have read these functions (`MODULE::*`: all of a module); and `candor-timing` has a case of this name.
    Elsewhere { why: &'static str, reads: &'static [&'static str] },
}

/// Where a report is excused.
pub(crate) struct Place {
    /// How many distinct reports.
    pub(crate) reports: usize,
    /// `function (file:line)`, as valgrind names it.
    pub(crate) at: &'static str,
}

impl Case {
    /// `name, routine, arm, kernel or -, expectation, places or functions or -, reason or -`, separated by tabs. Asked for outside
    /// valgrind, so that CPUID says what the machine has: a case for a tier that it lacks is skipped.
    pub(crate) fn line(&self) -> String {
        let missing = Cpu::named(self.tier).is_err();
        let none = || "-".to_owned();
        let (expectation, places, reason) = match self.expect {
            _ if missing => ("skip", none(), LACKS_THE_TIER),
            Expect::Elsewhere { why, reads } => {
                ("elsewhere", if reads.is_empty() { none() } else { reads.join("; ") }, why)
            }
            Expect::Clean => ("clean", none(), "-"),
            Expect::Known { places, why } => {
                let places: Vec<String> =
                    places.iter().map(|place| format!("{}x{}", place.reports, place.at)).collect();
                ("known", places.join("; "), why)
            }
            Expect::Fires => ("fires", none(), "-"),
            Expect::OtherArm => ("other-arm", none(), "-"),
            Expect::OtherKernel => ("other-kernel", none(), "-"),
            Expect::NeverSecret => ("never-secret", none(), "-"),
        };
        let (routine, arm) = self.ran;
        [self.name, routine, arm, self.kernel.unwrap_or("-"), expectation, &places, reason].join("\t")
    }
}

/// Why a case is skipped that another machine runs.
const LACKS_THE_TIER: &str = "this CPU lacks the tier that the case forces";
