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
    /// Why this machine can't run it.
    pub(super) skip: Option<String>,
}

#[derive(Debug)]
pub(super) enum Expect {
    /// No report.
    Clean,
    /// So many reports at each of these places and none elsewhere; and why they are no leak.
    Known { places: Vec<(usize, String)>, why: String },
    /// No valgrind: it can't run this, for this reason. The arm is to run on the bare CPU, and the scan must have read these functions.
    Elsewhere { reads: Vec<String>, why: String },
    /// At least one report.
    Fires,
    /// The judgement "something else ran than asked for".
    OtherArm,
    /// The judgement "the kernel did not run".
    OtherKernel,
    /// The judgement "what was declassified was never secret".
    NeverSecret,
}

/// What must stand in the list: three planted leaks that memcheck must report and their twin that it must not; proofs of arm and kernel that must
/// fail; poison that does not reach the result, which must be noticed, and poison that does, in a register and in memory.
const CONTROLS: [(&str, Expect); 8] = [
    ("control/branch", Expect::Fires),
    ("control/index", Expect::Fires),
    ("control/early-exit", Expect::Fires),
    ("control/masks", Expect::Clean),
    ("control/other-arm", Expect::OtherArm),
    ("control/other-kernel", Expect::OtherKernel),
    ("control/never-secret", Expect::NeverSecret),
    ("control/was-secret", Expect::Clean),
];

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
        let [name, routine, arm, kernel, expectation, at, reason] = fields[..] else {
            return Err(format!("`candor-ct list` prints a line that does not describe a case: {line}"));
        };
        let mut skip = None;
        let expect = match expectation {
            "clean" => Expect::Clean,
            "known" => Expect::Known { places: places(at)?, why: reason.to_owned() },
            "elsewhere" => {
                let reads = at.split("; ").filter(|name| *name != "-").map(str::to_owned).collect();
                Expect::Elsewhere { reads, why: reason.to_owned() }
            }
            "fires" => Expect::Fires,
            "other-arm" => Expect::OtherArm,
            "other-kernel" => Expect::OtherKernel,
            "never-secret" => Expect::NeverSecret,
            "skip" => {
                skip = Some(reason.to_owned());
                Expect::Clean
            }
            other => return Err(format!("`candor-ct list` names an unknown expectation for {name}: {other}")),
        };
        let kernel = Some(kernel.to_owned()).filter(|kernel| kernel != "-");
        cases.push(Case { name: name.to_owned(), ran: (routine.to_owned(), arm.to_owned()), kernel, expect, skip });
    }
    let stands = |name: &str, wanted: &Expect| {
        let same = |case: &Case| std::mem::discriminant(&case.expect) == std::mem::discriminant(wanted);
        cases.iter().any(|case| case.name == name && case.skip.is_none() && same(case))
    };
    if let Some((name, _)) = CONTROLS.iter().find(|(name, expect)| !stands(name, expect)) {
        return Err(format!("`candor-ct list` lacks the control `{name}`, so nothing would show that the gate bites"));
    }
    Ok(cases)
}

/// "1xfunction (file:line); 2x…"
fn places(text: &str) -> Result<Vec<(usize, String)>, Failure> {
    let place = |text: &str| {
        let (count, at) = text.split_once('x')?;
        Some((count.parse().ok()?, at.to_owned()))
    };
    let unknown = || format!("`candor-ct list` excuses `{text}`; expected a count, `x` and a place");
    text.split("; ").map(place).collect::<Option<_>>().ok_or_else(unknown)
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
    /// The marked functions that have taken secrets.
    pub(super) taken: Vec<String>,
    /// The reasons of `declassify`, and whether any of the bytes were secret until then.
    pub(super) published: Vec<(String, bool)>,
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

pub(super) enum Verdict {
    /// Says in a few words what was proved.
    Pass(String),
    Fail(String),
    Skip(String),
}

/// The verdict on a case that ran.
pub(super) fn judge(case: &Case, observed: &Observed) -> Verdict {
    if let Expect::Elsewhere { why, .. } = &case.expect {
        return match observed.died.clone().or_else(|| wrong_arm(case, observed)) {
            Some(fault) => Verdict::Fail(fault),
            None => Verdict::Pass(format!("{}@{} ran on the bare CPU: {why}", case.ran.0, case.ran.1)),
        };
    }
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
        Expect::NeverSecret => match never_secret(observed) {
            Some(why) => Verdict::Pass(format!("caught, as it must be: {why}")),
            None => Verdict::Fail("a case whose poison does not reach its result was let pass".to_owned()),
        },
        expect => match arm.or(kernel).or_else(|| never_secret(observed)) {
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

/// What shows that the poison did not reach the end of the case: its result was public all along.
fn never_secret(observed: &Observed) -> Option<String> {
    let (why, _) = observed.published.iter().find(|(why, was_secret)| why == "result" && !was_secret)?;
    Some(format!("what was declassified as `{why}` was never secret: the poison does not reach it"))
}

fn missing_kernel(case: &Case, observed: &Observed) -> Option<String> {
    let kernel = case.kernel.as_ref()?;
    if observed.functions.iter().any(|function| is_named(function, kernel)) {
        return None;
    }
    Some(format!("{kernel} is not among the {} functions executed", observed.functions.len()))
}

/// Whether a symbol is the function of that name, with a path, a prefix of its library or nothing before it.
pub(super) fn is_named(symbol: &str, name: &str) -> bool {
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
        Expect::Known { places, why } => match unexcused(places, &observed.reports) {
            Some(fault) => Verdict::Fail(fault),
            None => {
                let at: Vec<&str> = places.iter().map(|(_, place)| place.as_str()).collect();
                Verdict::Pass(format!("{ran}; {} at {}, known: {why}", count(observed), at.join(" and ")))
            }
        },
        _ if observed.reports.is_empty() => Verdict::Pass(format!("{ran}, no report")),
        _ => Verdict::Fail(describe(&observed.reports)),
    }
}

/// What the excuses do not cover. A new place comes first: it may be a leak, and an excuse that is gone is only housekeeping.
fn unexcused(places: &[(usize, String)], reports: &[Report]) -> Option<String> {
    let innermost = |report: &Report| report.frames.first().cloned().unwrap_or_default();
    let new: Vec<Report> =
        reports.iter().filter(|report| !places.iter().any(|(_, at)| *at == innermost(report))).cloned().collect();
    if !new.is_empty() {
        return Some(describe(&new));
    }
    places.iter().find_map(|(expected, at)| {
        let here: Vec<Report> = reports.iter().filter(|report| innermost(report) == *at).cloned().collect();
        match here.len() {
            0 => Some(format!("the finding known at {at} is gone: take it off the list")),
            found if found > *expected => Some(format!("at {at} {expected} reports are known; {}", describe(&here))),
            found if found < *expected => {
                Some(format!("at {at} {expected} reports are known and {found} came: correct the list"))
            }
            _ => None,
        }
    })
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
        control/other-arm\tsha256\tsha\t-\tother-arm\t-\t-\n\
        control/other-kernel\tsha256\tportable\tnone\tother-kernel\t-\t-\n\
        control/never-secret\tsha256\tportable\t-\tnever-secret\t-\t-\n\
        sha256@portable\tsha256\tportable\tcompress\tclean\t-\t-\n\
        x25519\tX25519\taws-lc\t-\tknown\t1xderive (p.c:54)\tall-zero check\n\
        control/index\tcontrol\tindex\t-\tfires\t-\t-\n\
        control/early-exit\tcontrol\tearly-exit\t-\tfires\t-\t-\n\
        control/masks\tcontrol\tmasks\t-\tclean\t-\t-\n\
        control/was-secret\tcontrol\twas-secret\t-\tclean\t-\t-\n\
        sha256@sha\tsha256\tsha\t-\telsewhere\tcompress256; finish\tno SHA instructions\n";

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
        passes(judge(&case(4), &seen(&[PORTABLE], &[])));
    }

    #[test]
    fn a_report_fails_and_names_the_place() {
        fails(judge(&case(4), &seen(&[PORTABLE], &["leak (x.rs:7)"])), "leak (x.rs:7)");
    }

    #[test]
    fn another_arm_than_asked_for_fails() {
        fails(judge(&case(4), &seen(&[("sha256", "sha")], &[])), "what ran was sha256@sha");
        fails(judge(&case(4), &seen(&[], &[])), "nothing that records its arm");
        fails(judge(&case(4), &seen(&[PORTABLE, ("sha256", "sha")], &[])), "another arm");
    }

    #[test]
    fn a_kernel_that_did_not_run_fails() {
        let mut observed = seen(&[PORTABLE], &[]);
        observed.functions = ["lib::sha256::decompress".to_owned()].into();
        fails(judge(&case(4), &observed), "compress is not among the 1 functions");
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
    fn a_known_finding_excuses_its_own_place_and_count_only() {
        let ran = [("X25519", "aws-lc")];
        passes(judge(&case(5), &seen(&ran, &["derive (p.c:54)"])));
        fails(judge(&case(5), &seen(&ran, &["derive (p.c:54)", "derive (p.c:55)"])), "p.c:55");
        fails(
            judge(&case(5), &seen(&ran, &["derive (p.c:54)", "derive (p.c:54)"])),
            "1 reports are known; branches or addresses",
        );
        fails(judge(&case(5), &seen(&ran, &[])), "take it off");
        let with = |places: &[(usize, &str)]| {
            let places = places.iter().map(|(count, at)| (*count, (*at).to_owned())).collect();
            Case { expect: Expect::Known { places, why: "a check".to_owned() }, ..case(5) }
        };
        let two = with(&[(1, "derive (p.c:54)"), (2, "<impl a::F>::invert (f.rs:1)")]);
        let all = ["derive (p.c:54)", "<impl a::F>::invert (f.rs:1)", "<impl a::F>::invert (f.rs:1)"];
        passes(judge(&two, &seen(&ran, &all)));
        fails(judge(&two, &seen(&ran, &all[..2])), "2 reports are known and 1 came");
        // A new place matters more than an excuse that is gone.
        fails(judge(&two, &seen(&ran, &["derive (p.c:54)", "<impl (g.rs:2)"])), "g.rs:2");
    }

    #[test]
    fn a_result_that_was_never_secret_fails() {
        let published = |was_secret| Observed {
            published: vec![("public-key".to_owned(), false), ("result".to_owned(), was_secret)],
            ..seen(&[PORTABLE], &[])
        };
        passes(judge(&case(4), &Observed { functions: seen(&[PORTABLE], &[]).functions, ..published(true) }));
        fails(judge(&case(4), &published(false)), "was never secret");
        passes(judge(&case(3), &published(false)));
        fails(judge(&case(3), &published(true)), "let pass");
    }

    #[test]
    fn a_run_that_proves_nothing_fails_even_without_reports() {
        let mut died = seen(&[PORTABLE], &[]);
        died.died = Some("signal 4 (SIGILL)".to_owned());
        fails(judge(&case(4), &died), "SIGILL");
        let mut bare = seen(&[PORTABLE], &[]);
        bare.under_valgrind = false;
        fails(judge(&case(4), &bare), "did not run under valgrind");
        let mut cut = seen(&[PORTABLE], &[]);
        cut.counted = None;
        fails(judge(&case(4), &cut), "cut short");
        let mut misread = seen(&[PORTABLE], &[]);
        misread.counted = Some(2);
        fails(judge(&case(4), &misread), "can't read the logs");
        // …and the controls of the proof are no excuse for a run that died
        fails(judge(&case(1), &died), "SIGILL");
    }

    #[test]
    fn a_list_without_controls_or_of_another_form_is_refused() {
        assert!(parse_list("").is_err());
        assert!(parse_list("x\tx\ta\t-\tclean\t-\t-\n").is_err_and(|why| why.contains("control")));
        for (name, _) in CONTROLS {
            let lines = LIST.split_inclusive('\n');
            let without: String = lines.clone().filter(|line| !line.starts_with(name)).collect();
            assert!(parse_list(&without).is_err_and(|why| why.contains(&format!("`{name}`"))), "{name}");
            // A control that expects something else, or that nobody runs, is as good as none.
            let blunt = |line: &str| match line.starts_with(name) {
                true => line.split('\t').take(4).chain(["skip", "-", "not here\n"]).collect::<Vec<_>>().join("\t"),
                false => line.to_owned(),
            };
            assert!(parse_list(&lines.map(blunt).collect::<String>()).is_err(), "{name}");
        }
        assert!(parse_list("x\tx\n").is_err_and(|why| why.contains("does not describe a case")));
        assert!(parse_list("x\tx\ta\t-\tsometimes\t-\t-\n").is_err_and(|why| why.contains("sometimes")));
    }

    #[test]
    fn what_valgrind_cannot_run_must_run_without_it_on_the_right_arm() {
        let bare = |arm| Observed { arms: vec![("sha256".to_owned(), arm)], ..Observed::default() };
        assert!(matches!(&case(10).expect, Expect::Elsewhere { reads, .. } if *reads == ["compress256", "finish"]));
        passes(judge(&case(10), &bare("sha".to_owned())));
        fails(judge(&case(10), &bare("portable".to_owned())), "what ran was sha256@portable");
        let died = Observed { died: Some("signal 4 (SIGILL)".to_owned()), ..bare("sha".to_owned()) };
        fails(judge(&case(10), &died), "SIGILL");
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
