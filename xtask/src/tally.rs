//! Counting: what passed, what failed, what was skipped and why.
//!
//! A check of ours counts as one. The tests of `cargo test` are counted from the `test result:` lines that libtest prints,
//! and names of failed and ignored tests are read along, so that the last page of a long run says it all.

use crate::Failure;

/// The sum over all stages.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
    /// What failed, for the summary. May be shorter than the count: a test can die without a name.
    pub(crate) failures: Vec<String>,
    /// What was skipped and why.
    pub(crate) skips: Vec<String>,
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
        self.skips.push(format!("{what}: {why}"));
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
    /// Test programs started and test programs that lived to print their result.
    started: u64,
    finished: u64,
    /// The test program that runs now, for names.
    program: String,
    failures: Vec<String>,
    skips: Vec<String>,
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
        } else if let Some((name, outcome)) = trimmed.strip_prefix("test ").and_then(|rest| rest.rsplit_once(" ... ")) {
            if outcome == "FAILED" {
                self.failures.push(format!("{} {name}", self.program));
            } else if let Some(why) = outcome.strip_prefix("ignored") {
                let why = why.trim_start_matches([',', ' ']);
                self.skips.push(format!("{} {name}: {}", self.program, if why.is_empty() { "ignored" } else { why }));
            }
        }
    }

    /// Adds what was read to the sum. `succeeded` is what the exit status said.
    pub(crate) fn close(self, stage: &str, succeeded: bool, tally: &mut Tally) {
        let dead = self.started.saturating_sub(self.finished);
        tally.passed += self.passed;
        tally.failed += self.failed + dead;
        tally.skipped += self.ignored;
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

/// Reads the output of `candor run --smoke all`, whose last line is `N passed, N failed, N refused` and which begins the
/// line of each refusal with `refused`.
#[derive(Default)]
pub(crate) struct SmokeReader {
    counts: Option<(u64, u64, u64)>,
    refusals: Vec<String>,
    failures: Vec<String>,
}

impl SmokeReader {
    pub(crate) fn line(&mut self, line: &str) {
        let line = line.trim();
        if let Some(counts) = three_counts(line) {
            self.counts = Some(counts);
        } else if let Some(reason) = line.strip_prefix("refused") {
            self.refusals.push(reason.trim_start_matches([':', ' ']).to_owned());
        } else if let Some(what) = line.strip_prefix("failed") {
            self.failures.push(what.trim_start_matches([':', ' ']).to_owned());
        }
    }

    pub(crate) fn close(self, stage: &str, succeeded: bool, tally: &mut Tally) {
        let Some((passed, failed, refused)) = self.counts else {
            tally.fail(format!("{stage}: no line `N passed, N failed, N refused` at its end"));
            return;
        };
        tally.passed += passed;
        tally.failed += failed;
        tally.skipped += refused;
        tally.skips.extend(self.refusals.iter().map(|reason| format!("{stage}: {reason}")));
        if failed > 0 {
            tally.failures.extend(self.failures.iter().map(|what| format!("{stage}: {what}")));
            tally.failures.push(format!("{stage}: {failed} task(s) failed; see above"));
        } else if !succeeded {
            tally.fail(format!("{stage}: ended with an error though it counted no failure"));
        }
    }
}

/// The three numbers of a line that is exactly `N passed, N failed, N refused`.
fn three_counts(line: &str) -> Option<(u64, u64, u64)> {
    let mut parts = line.split(", ");
    let mut next = |word: &str| parts.next()?.strip_suffix(word)?.trim_end().parse().ok();
    let counts = (next("passed")?, next("failed")?, next("refused")?);
    parts.next().is_none().then_some(counts)
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
        assert_eq!(tally.skips, ["candor_cpu tier::c: needs an AVX-512 CPU", "candor_cpu tier::d: ignored"]);
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

    #[test]
    fn the_smoke_line_is_read_and_refusals_are_skips() {
        let mut smoke = SmokeReader::default();
        for line in [
            "refused kem/ml-kem-768/encaps openssl-3.0.19: has no ML-KEM (needs 3.5)",
            "ok",
            "12 passed, 0 failed, 1 refused",
        ] {
            smoke.line(line);
        }
        let mut tally = Tally::default();
        smoke.close("smoke", true, &mut tally);
        assert_eq!(tally.line(), "12 passed, 0 failed, 1 skipped");
        assert!(tally.skips[0].contains("has no ML-KEM"));
    }

    #[test]
    fn smoke_without_its_last_line_is_a_failure() {
        let mut tally = Tally::default();
        SmokeReader::default().close("smoke", true, &mut tally);
        assert_eq!(tally.line(), "0 passed, 1 failed, 0 skipped");
    }

    #[test]
    fn only_the_exact_line_counts() {
        assert_eq!(three_counts("1 passed, 2 failed, 3 refused"), Some((1, 2, 3)));
        for other in
            ["1 passed, 2 failed", "a passed, 2 failed, 3 refused", "1 passed, 2 failed, 3 refused, 4 lost", ""]
        {
            assert_eq!(three_counts(other), None, "{other}");
        }
    }
}
