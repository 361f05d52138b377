//! The verdict on a case: pure functions of what was observed.

use crate::Failure;
use std::collections::BTreeSet;

/// A line of `candor-ct list`.
#[derive(Debug)]
pub(super) struct Case {
    pub(super) name: String,
    /// Routine and arm that must have run, as the product records them.
    pub(super) ran: (String, String),
    /// A function that must be among those executed.
    pub(super) kernel: Option<String>,
    pub(super) expect: Expect,
    /// Why valgrind can't run it.
    pub(super) skip: Option<String>,
}

#[derive(Debug)]
pub(super) enum Expect {
    /// No report.
    Clean,
    /// Reports from this function, or these, separated by `; `: some from each and none from elsewhere; and why they are no leak.
    Known { function: String, why: String },
    /// At least one report.
    Fires,
    /// The judgement "something else ran than asked for".
    OtherArm,
    /// The judgement "the kernel did not run".
    OtherKernel,
}

impl Case {
    pub(super) fn is_control(&self) -> bool {
        self.name.starts_with("control/")
    }
}

/// The cases of `candor-ct list`. A list without controls is an error: nothing would show that the gate bites.
pub(super) fn parse_list(text: &str) -> Result<Vec<Case>, Failure> {
    let mut cases = Vec::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [name, routine, arm, kernel, expectation, function, reason] = fields[..] else {
            return Err(format!("`candor-ct list` prints a line that does not describe a case: {line}"));
        };
        let mut skip = None;
        let expect = match expectation {
            "clean" => Expect::Clean,
            "known" => Expect::Known { function: function.to_owned(), why: reason.to_owned() },
            "fires" => Expect::Fires,
            "other-arm" => Expect::OtherArm,
            "other-kernel" => Expect::OtherKernel,
            "skip" => {
                skip = Some(reason.to_owned());
                Expect::Clean
            }
            other => return Err(format!("`candor-ct list` names an unknown expectation for {name}: {other}")),
        };
        let kernel = Some(kernel.to_owned()).filter(|kernel| kernel != "-");
        cases.push(Case { name: name.to_owned(), ran: (routine.to_owned(), arm.to_owned()), kernel, expect, skip });
    }
    let control = |wanted: fn(&Expect) -> bool| {
        cases.iter().any(|case: &Case| case.is_control() && case.skip.is_none() && wanted(&case.expect))
    };
    if !(control(|expect| matches!(expect, Expect::Fires))
        && control(|expect| matches!(expect, Expect::OtherArm))
        && control(|expect| matches!(expect, Expect::OtherKernel)))
    {
        return Err("`candor-ct list` lacks a control, so nothing would show that the gate bites".to_owned());
    }
    Ok(cases)
}

/// What was observed of one case.
#[derive(Default)]
pub(super) struct Observed {
    /// How the process ended, if not well: status and the end of its stderr.
    pub(super) died: Option<String>,
    /// The program itself saw valgrind.
    pub(super) under_valgrind: bool,
    /// Routines and arms, as the product recorded them.
    pub(super) arms: Vec<(String, String)>,
    /// memcheck's reports.
    pub(super) reports: Vec<Report>,
    /// How many distinct reports memcheck itself counts; `None` if its log ends early.
    pub(super) counted: Option<usize>,
    /// The functions executed, where a kernel is to be proved.
    pub(super) functions: BTreeSet<String>,
}

/// One report of memcheck.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Report {
    pub(super) what: String,
    /// Innermost first: `function (file:line)`.
    pub(super) frames: Vec<String>,
}

impl Report {
    /// A function's name may have spaces, as `<impl field::Element>::invert` has.
    fn is_in(&self, function: &str) -> bool {
        self.frames.first().is_some_and(|frame| frame.rsplit_once(" (").is_some_and(|(name, _)| name == function))
    }
}

pub(super) enum Verdict {
    /// Says in a few words what was proved.
    Pass(String),
    Fail(String),
    Skip(String),
}

/// The verdict on a case that ran.
pub(super) fn judge(case: &Case, observed: &Observed) -> Verdict {
    if let Some(why) = broken(observed) {
        return Verdict::Fail(why);
    }
    let (arm, kernel) = (wrong_arm(case, observed), missing_kernel(case, observed));
    match &case.expect {
        Expect::OtherArm => match arm {
            Some(why) => Verdict::Pass(format!("caught, as it must be: {why}")),
            None => Verdict::Fail("a case passed although the arm that it asks for did not run".to_owned()),
        },
        Expect::OtherKernel => match kernel {
            Some(why) => Verdict::Pass(format!("caught, as it must be: {why}")),
            None => Verdict::Fail("a case passed although the kernel that it asks for did not run".to_owned()),
        },
        expect => match arm.or(kernel) {
            Some(why) => Verdict::Fail(why),
            None => reports(case, expect, observed),
        },
    }
}

/// Why the whole observation is worthless, if it is.
fn broken(observed: &Observed) -> Option<String> {
    if let Some(why) = &observed.died {
        return Some(why.clone());
    }
    if !observed.under_valgrind {
        return Some("the program did not run under valgrind, so nothing was poisoned".to_owned());
    }
    match observed.counted {
        None => Some("memcheck's log has no summary: it was cut short".to_owned()),
        Some(counted) if counted != observed.reports.len() => Some(format!(
            "memcheck counts {counted} reports, but {} were read from its log: xtask can't read the logs of this valgrind",
            observed.reports.len()
        )),
        Some(_) => None,
    }
}

fn wrong_arm(case: &Case, observed: &Observed) -> Option<String> {
    if observed.arms.contains(&case.ran) {
        let others = observed.arms.iter().any(|(routine, arm)| *routine == case.ran.0 && *arm != case.ran.1);
        return others.then(|| format!("another arm of {1} ran besides {0}", case.ran.1, case.ran.0));
    }
    let ran: Vec<String> = observed.arms.iter().map(|(routine, arm)| format!("{routine}@{arm}")).collect();
    Some(format!(
        "expected {}@{} to run; what ran was {}",
        case.ran.0,
        case.ran.1,
        if ran.is_empty() { "nothing that records its arm".to_owned() } else { ran.join(", ") }
    ))
}

fn missing_kernel(case: &Case, observed: &Observed) -> Option<String> {
    let kernel = case.kernel.as_ref()?;
    if observed.functions.iter().any(|function| is_named(function, kernel)) {
        return None;
    }
    Some(format!("{kernel} is not among the {} functions executed", observed.functions.len()))
}

/// Whether a symbol is the function of that name, with a path, a prefix of its library or nothing before it.
fn is_named(symbol: &str, name: &str) -> bool {
    symbol.strip_suffix(name).is_some_and(|before| before.is_empty() || before.ends_with("::") || before.ends_with('_'))
}

fn reports(case: &Case, expect: &Expect, observed: &Observed) -> Verdict {
    let ran = match &case.kernel {
        Some(kernel) => format!("{}@{} ran, with {kernel}", case.ran.0, case.ran.1),
        None => format!("{}@{} ran", case.ran.0, case.ran.1),
    };
    match expect {
        Expect::Fires if observed.reports.is_empty() => {
            Verdict::Fail("this control leaks, but memcheck reported nothing: the gate is blind".to_owned())
        }
        Expect::Fires => Verdict::Pass(format!("{ran}; {} as it must: {}", count(observed), observed.reports[0].what)),
        Expect::Known { function, why } => {
            let known: Vec<&str> = function.split("; ").collect();
            let gone = known.iter().find(|known| !observed.reports.iter().any(|report| report.is_in(known)));
            if let Some(gone) = gone {
                Verdict::Fail(format!("the known finding in {gone} no longer occurs: take it off the list"))
            } else if let Some(other) =
                observed.reports.iter().find(|report| !known.iter().any(|known| report.is_in(known)))
            {
                Verdict::Fail(describe(std::slice::from_ref(other)))
            } else {
                Verdict::Pass(format!("{ran}; {} in {function}, known: {why}", count(observed)))
            }
        }
        _ if observed.reports.is_empty() => Verdict::Pass(format!("{ran}, no report")),
        _ => Verdict::Fail(describe(&observed.reports)),
    }
}

fn count(observed: &Observed) -> String {
    match observed.reports.len() {
        1 => "1 report".to_owned(),
        many => format!("{many} reports"),
    }
}

/// The reports, for somebody who has to find the places.
fn describe(reports: &[Report]) -> String {
    let places = if reports.len() == 1 { "place" } else { "places" };
    let mut text = format!("branches or addresses depend on a secret at {} {places}", reports.len());
    for report in reports.iter().take(5) {
        text.push_str(&format!("\n    {}", report.what));
        for frame in report.frames.iter().take(4) {
            text.push_str(&format!("\n      at {frame}"));
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "control/branch\tcontrol\tbranch\t-\tfires\t-\t-\n\
        control/arm\tsha256\tsha\t-\tother-arm\t-\t-\n\
        control/kernel\tsha256\tportable\tnone\tother-kernel\t-\t-\n\
        sha256@portable\tsha256\tportable\tcompress\tclean\t-\t-\n\
        x25519\tX25519\taws-lc\t-\tknown\tderive\tall-zero check\n";

    fn case(at: usize) -> Case {
        parse_list(LIST).unwrap().swap_remove(at)
    }

    fn seen(arms: &[(&str, &str)], frames: &[&str]) -> Observed {
        let report = |frame: &&str| Report { what: "Conditional jump".to_owned(), frames: vec![(*frame).to_owned()] };
        Observed {
            under_valgrind: true,
            arms: arms.iter().map(|(routine, arm)| ((*routine).to_owned(), (*arm).to_owned())).collect(),
            reports: frames.iter().map(report).collect(),
            counted: Some(frames.len()),
            functions: ["lib::sha256::compress".to_owned()].into(),
            ..Observed::default()
        }
    }

    fn fails(verdict: Verdict, because: &str) {
        match verdict {
            Verdict::Fail(why) => assert!(why.contains(because), "{why}"),
            Verdict::Pass(why) | Verdict::Skip(why) => panic!("let pass: {why}"),
        }
    }

    fn passes(verdict: Verdict) {
        assert!(matches!(verdict, Verdict::Pass(_)));
    }

    const PORTABLE: (&str, &str) = ("sha256", "portable");

    #[test]
    fn no_report_and_the_right_arm_passes() {
        passes(judge(&case(3), &seen(&[PORTABLE], &[])));
    }

    #[test]
    fn a_report_fails_and_names_the_place() {
        fails(judge(&case(3), &seen(&[PORTABLE], &["leak (x.rs:7)"])), "leak (x.rs:7)");
    }

    #[test]
    fn another_arm_than_asked_for_fails() {
        fails(judge(&case(3), &seen(&[("sha256", "sha")], &[])), "what ran was sha256@sha");
        fails(judge(&case(3), &seen(&[], &[])), "nothing that records its arm");
        fails(judge(&case(3), &seen(&[PORTABLE, ("sha256", "sha")], &[])), "another arm");
    }

    #[test]
    fn a_kernel_that_did_not_run_fails() {
        let mut observed = seen(&[PORTABLE], &[]);
        observed.functions = ["lib::sha256::decompress".to_owned()].into();
        fails(judge(&case(3), &observed), "compress is not among the 1 functions");
    }

    #[test]
    fn a_control_that_does_not_fire_fails() {
        fails(judge(&case(0), &seen(&[("control", "branch")], &[])), "blind");
        passes(judge(&case(0), &seen(&[("control", "branch")], &["leak (x.rs:7)"])));
    }

    #[test]
    fn the_controls_of_the_proof_pass_only_if_the_proof_bites() {
        passes(judge(&case(1), &seen(&[PORTABLE], &[])));
        fails(judge(&case(1), &seen(&[("sha256", "sha")], &[])), "a case passed although");
        passes(judge(&case(2), &seen(&[PORTABLE], &[])));
        let mut with_kernel = seen(&[PORTABLE], &[]);
        with_kernel.functions.insert("none".to_owned());
        fails(judge(&case(2), &with_kernel), "a case passed although");
    }

    #[test]
    fn a_known_finding_excuses_its_own_function_only_and_must_still_be_there() {
        let ran = [("X25519", "aws-lc")];
        passes(judge(&case(4), &seen(&ran, &["derive (p.c:54)"])));
        fails(judge(&case(4), &seen(&ran, &["derive (p.c:54)", "derive_more (p.c:9)"])), "derive_more");
        fails(judge(&case(4), &seen(&ran, &[])), "take it off");
        let two = Case {
            expect: Expect::Known { function: "derive; <impl a::F>::invert".to_owned(), why: "a check".to_owned() },
            ..case(4)
        };
        passes(judge(&two, &seen(&ran, &["derive (p.c:54)", "<impl a::F>::invert (f.rs:1)"])));
        fails(judge(&two, &seen(&ran, &["derive (p.c:54)"])), "invert no longer occurs");
        fails(judge(&two, &seen(&ran, &["derive (p.c:54)", "<impl a::F>::invert (f.rs:1)", "<impl (g.rs:2)"])), "g.rs");
    }

    #[test]
    fn a_run_that_proves_nothing_fails_even_without_reports() {
        let mut died = seen(&[PORTABLE], &[]);
        died.died = Some("signal 4 (SIGILL)".to_owned());
        fails(judge(&case(3), &died), "SIGILL");
        let mut bare = seen(&[PORTABLE], &[]);
        bare.under_valgrind = false;
        fails(judge(&case(3), &bare), "did not run under valgrind");
        let mut cut = seen(&[PORTABLE], &[]);
        cut.counted = None;
        fails(judge(&case(3), &cut), "cut short");
        let mut misread = seen(&[PORTABLE], &[]);
        misread.counted = Some(2);
        fails(judge(&case(3), &misread), "can't read the logs");
        // …and the controls of the proof are no excuse for a run that died
        fails(judge(&case(1), &died), "SIGILL");
    }

    #[test]
    fn a_list_without_controls_or_of_another_form_is_refused() {
        assert!(parse_list("").is_err());
        assert!(parse_list("x\tx\ta\t-\tclean\t-\t-\n").is_err_and(|why| why.contains("control")));
        assert!(parse_list("x\tx\n").is_err_and(|why| why.contains("does not describe a case")));
        assert!(parse_list("x\tx\ta\t-\tsometimes\t-\t-\n").is_err_and(|why| why.contains("sometimes")));
    }

    #[test]
    fn names_match_whole_words_of_a_symbol() {
        assert!(is_named("a::b::compress", "compress"));
        assert!(is_named("aws_lc_0_47_0_x25519_alt", "x25519_alt"));
        assert!(is_named("compress", "compress"));
        assert!(!is_named("decompress", "compress"));
        assert!(!is_named("compress_c", "compress"));
    }
}
