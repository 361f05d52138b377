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
    /// Reports in this function, or these, separated by `; `: in each of them and nowhere else; and why they are no leak.
    Known { function: &'static str, why: &'static str },
    /// At least one report: a negative control.
    Fires,
    /// A verdict of "ran something else than asked": a control of the proof itself.
    OtherArm,
    /// A verdict of "the kernel asked for did not run": likewise.
    OtherKernel,
    /// Nothing, because valgrind can't run it; the reason.
    Skip(&'static str),
}

impl Case {
    /// `name, routine, arm, kernel or -, expectation, function or -, reason or -`, separated by tabs. Asked for outside
    /// valgrind, so that CPUID says what the machine has: a case for a tier that it lacks is skipped.
    pub(crate) fn line(&self) -> String {
        let missing = Cpu::named(self.tier).is_err();
        let (expectation, function, reason) = match self.expect {
            Expect::Skip(reason) => ("skip", "-", reason),
            _ if missing => ("skip", "-", "this CPU lacks the tier that the case forces"),
            Expect::Clean => ("clean", "-", "-"),
            Expect::Known { function, why } => ("known", function, why),
            Expect::Fires => ("fires", "-", "-"),
            Expect::OtherArm => ("other-arm", "-", "-"),
            Expect::OtherKernel => ("other-kernel", "-", "-"),
        };
        let (routine, arm) = self.ran;
        [self.name, routine, arm, self.kernel.unwrap_or("-"), expectation, function, reason].join("\t")
    }
}
