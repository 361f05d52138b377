//! Counting: what passed, what failed, what was skipped and why.
//!
//! A check of ours counts as one. The tests of `cargo test` are counted from the `test result:` lines that libtest prints,
//! and names of failed and ignored tests are read along, so that the last page of a long run says it all.

use crate::Failure;
use serde_json::Value;

/// The sum over all stages.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// What failed, for the summary. May be shorter than the count: a test can die without a name.
    pub(crate) failures: Vec<String>,
    pub(crate) skips: Vec<Skip>,
}

/// What was skipped and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Skip {
    pub(crate) what: String,
    pub(crate) why: String,
}

impl Skip {
    fn new(what: impl Into<String>, why: impl Into<String>) -> Self {
        Self { what: what.into(), why: why.into() }
    }
}

impl std::fmt::Display for Skip {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.what, self.why)
    }
}

/// A line for each reason, in the order in which they came up, with how many it kept from running and what these are, the first few by name.
pub(crate) fn by_reason(skips: &[Skip]) -> Vec<String> {
    const NAMED: usize = 3;
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for Skip { what, why } in skips {
        match reasons.iter_mut().find(|(reason, _)| reason == why) {
            Some((_, all)) => all.push(what),
            None => reasons.push((why, Vec::from([what.as_str()]))),
        }
    }
    let line = |(why, all): &(&str, Vec<&str>)| match all.as_slice() {
        [what] => format!("{what}: {why}"),
        all if all.len() <= NAMED => format!("{} times: {why}: {}", all.len(), all.join(", ")),
        all => {
            format!("{} times: {why}: {} and {} more", all.len(), all[..NAMED].join(", "), all.len() - NAMED)
        }
    };
    reasons.iter().map(line).collect()
}

impl Tally {
    pub(crate) fn pass(&mut self) {
        self.passed += 1;
    }

    pub(crate) fn fail(&mut self, what: impl Into<String>) {
        self.failed += 1;
        self.failures.push(what.into());
    }

    pub(crate) fn skip(&mut self, what: &str, why: &str) {
        self.skipped += 1;
        self.skips.push(Skip::new(what, why));
    }

    /// A check that either holds or does not; an error to do it is a failure too.
    pub(crate) fn check(&mut self, what: &str, outcome: Result<bool, Failure>) {
        match outcome {
            Ok(true) => self.pass(),
            Ok(false) => self.fail(what),
            Err(why) => {
                println!("{what}: {why}");
                self.fail(format!("{what}: {}", why.lines().next().unwrap_or("")));
            }
        }
    }

    /// Adds another sum to this one.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
        self.failures.extend(other.failures);
        self.skips.extend(other.skips);
    }

    /// The line by which a machine reads a run.
    pub(crate) fn line(&self) -> String {
        format!("{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

/// Reads the output of `cargo test` line by line.
#[derive(Default)]
pub(crate) struct TestReader {
    passed: u64,
    failed: u64,
    ignored: u64,
    /// Tests that passed only since they said that they can't run here.
    passed_over: u64,
    /// Test programs started and test programs that lived to print their result.
    started: u64,
    finished: u64,
    /// The test program that runs now, for names.
    program: String,
    failures: Vec<String>,
    skips: Vec<Skip>,
}

impl TestReader {
    pub(crate) fn line(&mut self, line: &str) {
        let trimmed = line.trim_start();
        if let Some(counts) = trimmed.strip_prefix("test result: ") {
            self.finished += 1;
            self.passed += count_before(counts, "passed");
            self.failed += count_before(counts, "failed");
            self.ignored += count_before(counts, "ignored");
        } else if let Some(program) = trimmed.strip_prefix("Running ").filter(|rest| rest.ends_with(')')) {
            self.started += 1;
            self.program = short_name(program);
        } else if let Some(library) = trimmed.strip_prefix("Doc-tests ") {
            // No count of programs: rustdoc may print one result for it or two (merged and alone).
            self.program = format!("docs of {library}");
        } else if let Some((_, why)) =
            trimmed.split_once("skipped: ").filter(|(before, _)| before.is_empty() || before.ends_with(" ... "))
        {
            // A test that finds out at run time what this machine lacks. libtest counts it as passed.
            self.passed_over += 1;
            self.skips.push(Skip::new(self.program.clone(), why));
        } else if let Some((name, outcome)) = trimmed.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... ")) {
            if outcome == "FAILED" {
                self.failures.push(format!("{} {name}", self.program));
            } else if let Some(why) = outcome.strip_prefix("ignored") {
                let why = why.trim_start_matches([',', ' ']);
                let why = if why.is_empty() { "ignored" } else { why };
                self.skips.push(Skip::new(format!("{} {name}", self.program), why));
            }
        }
    }

    /// Adds what was read to the sum. `succeeded` is what the exit status said.
    pub(crate) fn close(self, stage: &str, succeeded: bool, tally: &mut Tally) {
        let dead = self.started.saturating_sub(self.finished);
        tally.passed += self.passed.saturating_sub(self.passed_over);
        tally.failed += self.failed + dead;
        tally.skipped += self.ignored + self.passed_over;
        tally.failures.extend(self.failures);
        tally.skips.extend(self.skips);
        if dead > 0 {
            tally.failures.push(format!("{stage}: {dead} test program(s) died before they printed a result"));
        }
        if !succeeded && self.failed + dead == 0 {
            tally.fail(format!("{stage}: cargo failed before or between the tests; see above"));
        }
    }
}

/// `3` of `ok. 5 passed; 3 failed; …` for the word `failed`.
fn count_before(text: &str, word: &str) -> u64 {
    let parts = text.split([';', '.']).map(str::trim);
    parts.filter_map(|part| part.strip_suffix(word)).find_map(|number| number.trim().parse().ok()).unwrap_or(0)
}

/// `candor_cpu` of `unittests src/lib.rs (target/debug/deps/candor_cpu-0123456789abcdef)`.
fn short_name(program: &str) -> String {
    let path = program.rsplit_once('(').map_or(program, |(_, path)| path.trim_end_matches(')'));
    let file = path.rsplit(['/', '\\']).next().unwrap_or(path);
    file.rsplit_once('-').map_or(file, |(name, _)| name).to_owned()
}

/// Reads the output of `candor run --smoke all --format json`: one object per task, which lists the subjects that passed, refused and
/// failed. A refusal of the kind `never` is a fact about a library and leaves nothing untested, so it is no skip.
#[derive(Default)]
pub(crate) struct SmokeReader {
    tasks: u64,
    passed: u64,
    skips: Vec<Skip>,
    failures: Vec<String>,
}

impl SmokeReader {
    pub(crate) fn line(&mut self, line: &str) {
        if self.outcome(line).is_none() {
            self.failures.push(format!("a line that is not the outcome of a task: {line}"));
        }
    }

    fn outcome(&mut self, line: &str) -> Option<()> {
        let outcome: Value = serde_json::from_str(line).ok()?;
        let list = |name: &str| outcome.get(name)?.as_array();
        let text = |value: &Value, name: &str| Some(value.get(name)?.as_str()?.to_owned());
        let task = text(&outcome, "task")?;
        let told =
            |out: &Value| Some(Skip::new(&*task, format!("{}: {}", text(out, "subject")?, text(out, "reason")?)));
        self.passed += list("passed")?.len() as u64;
        for out in list("refused")? {
            if text(out, "kind")? != "never" {
                self.skips.push(told(out)?);
            }
        }
        for out in list("failed")? {
            self.failures.push(told(out)?.to_string());
        }
        self.tasks += 1;
        Some(())
    }

    pub(crate) fn close(self, stage: &str, succeeded: bool, tally: &mut Tally) {
        tally.passed += self.passed;
        self.skips.iter().for_each(|skip| tally.skip(&format!("{stage}: {}", skip.what), &skip.why));
        self.failures.iter().for_each(|what| tally.fail(format!("{stage}: {what}")));
        if self.tasks == 0 {
            tally.fail(format!("{stage}: no task was tried"));
        } else if !succeeded && self.failures.is_empty() {
            tally.fail(format!("{stage}: ended with an error though it reported no failure"));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str, succeeded: bool) -> Tally {
        let mut reader = TestReader::default();
        output.lines().for_each(|line| reader.line(line));
        let mut tally = Tally::default();
        reader.close("tests", succeeded, &mut tally);
        tally
    }

    #[test]
    fn counts_and_names_are_read_from_libtest() {
        let tally = read(
            "     Running unittests src/lib.rs (target/debug/deps/candor_cpu-0123)\n\
             test tier::a ... ok\ntest tier::b - should panic ... ok\ntest tier::c ... ignored, needs an AVX-512 CPU\n\
             test tier::d ... ignored\ntest tier::e ... FAILED\n\
             test result: FAILED. 2 passed; 1 failed; 2 ignored; 0 measured; 0 filtered out; finished in 0.00s\n\
             \u{20}  Doc-tests candor_cpu\n\
             test crates/cpu/src/lib.rs - (line 9) ... ok\n\
             test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out; finished in 0.20s\n",
            false,
        );
        assert_eq!(tally.line(), "3 passed, 1 failed, 2 skipped");
        assert_eq!(tally.failures, ["candor_cpu tier::e"]);
        assert_eq!(
            by_reason(&tally.skips),
            ["candor_cpu tier::c: needs an AVX-512 CPU", "candor_cpu tier::d: ignored"]
        );
    }

    #[test]
    fn a_test_that_says_why_it_is_skipped_is_no_pass() {
        for line in ["skipped: no `tor` here", "test c_tor ... skipped: no `tor` here"] {
            let tally = read(
                &format!(
                    "     Running tests/c_tor.rs (target/debug/deps/c_tor-01)\n{line}\nok\n\
                     test result: ok. 1 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n"
                ),
                true,
            );
            assert_eq!(tally.line(), "0 passed, 0 failed, 1 skipped");
            assert_eq!(by_reason(&tally.skips), ["c_tor: no `tor` here"]);
        }
    }

    #[test]
    fn a_reason_is_said_once_with_what_it_kept_from_running() {
        let skips =
            [("a", "no x"), ("b", "no y"), ("c", "no x"), ("d", "no z"), ("e", "no z"), ("f", "no z"), ("g", "no z")];
        let lines = by_reason(&skips.map(|(what, why)| Skip::new(what, why)));
        assert_eq!(lines, ["2 times: no x: a, c", "b: no y", "4 times: no z: d, e, f and 1 more"]);
    }

    #[test]
    fn a_test_program_that_dies_is_a_failure() {
        let tally =
            read("     Running tests/a.rs (target/debug/deps/a-01)\nrunning 3 tests\nSegmentation fault\n", false);
        assert_eq!(tally.failed, 1);
        assert!(tally.failures[0].contains("died"));
    }

    #[test]
    fn code_that_does_not_compile_is_a_failure() {
        assert_eq!(read("error: could not compile\n", false).line(), "0 passed, 1 failed, 0 skipped");
    }

    fn smoke(lines: &[&str], succeeded: bool) -> Tally {
        let mut reader = SmokeReader::default();
        lines.iter().for_each(|line| reader.line(line));
        let mut tally = Tally::default();
        reader.close("smoke", succeeded, &mut tally);
        tally
    }

    const REFUSED: &str = r#"{"task":"kem/ml-kem-768/encaps","passed":["candor@auto","ring"],"failed":[],"refused":[
        {"subject":"openssl-3.0.19","kind":"not-here","reason":"has no ML-KEM (needs 3.5)"},
        {"subject":"graviola","kind":"never","reason":"has no ML-KEM-512 (only 768)"}]}"#;

    #[test]
    fn a_missing_library_is_a_skip_and_a_fact_about_a_library_is_not() {
        let tally = smoke(&[REFUSED], true);
        assert_eq!(tally.line(), "2 passed, 0 failed, 1 skipped");
        assert_eq!(
            by_reason(&tally.skips),
            ["smoke: kem/ml-kem-768/encaps: openssl-3.0.19: has no ML-KEM (needs 3.5)"]
        );
    }

    #[test]
    fn a_subject_that_fails_fails_the_stage() {
        let line = r#"{"task":"t","passed":["a"],"refused":[],"failed":[{"subject":"b","kind":"failed","reason":"panicked"}]}"#;
        let tally = smoke(&[line], false);
        assert_eq!(tally.line(), "1 passed, 1 failed, 0 skipped");
        assert_eq!(tally.failures, ["smoke: t: b: panicked"]);
    }

    #[test]
    fn smoke_that_says_nothing_or_dies_is_a_failure() {
        assert_eq!(smoke(&[], true).line(), "0 passed, 1 failed, 0 skipped");
        assert_eq!(smoke(&[REFUSED], false).line(), "2 passed, 1 failed, 1 skipped");
        assert_eq!(smoke(&[REFUSED, "Illegal instruction"], true).line(), "2 passed, 1 failed, 1 skipped");
    }
}
