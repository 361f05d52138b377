//! Runs one case under valgrind and reads what it and its tools say.

use super::judge::{Case, Observed, Report};
use crate::Failure;
use crate::stage::program;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Output;

/// memcheck, and callgrind where a kernel is to be proved.
pub(super) fn observe(binary: &Path, case: &Case, logs: &Path) -> Result<Observed, Failure> {
    let stem = logs.join(case.name.replace('/', "-"));
    let log = stem.with_added_extension("memcheck");
    let output = valgrind(
        binary,
        case,
        &["--tool=memcheck", "--leak-check=no", "--error-limit=no", "--num-callers=12"],
        &format!("--log-file={}", log.display()),
    )?;
    let mut observed = Observed::default();
    read_output(&String::from_utf8_lossy(&output.stdout), &mut observed);
    observed.died = death(&output);
    if observed.died.is_some() {
        return Ok(observed);
    }
    read_memcheck(&read(&log)?, &mut observed);

    if case.kernel.is_some() {
        let profile = stem.with_added_extension("callgrind");
        let output =
            valgrind(binary, case, &["--tool=callgrind"], &format!("--callgrind-out-file={}", profile.display()))?;
        observed.died = death(&output);
        observed.functions = functions(&read(&profile)?, &symbols(binary)?);
    }
    Ok(observed)
}

fn valgrind(binary: &Path, case: &Case, options: &[&str], log: &str) -> Result<Output, Failure> {
    let mut command = program("valgrind");
    command.args(options).arg(log).arg(binary).args(["run", &case.name]);
    // What the user exports must not decide which arm runs.
    command.env_remove("OPENSSL_ia32cap").env_remove("CANDOR_CPU");
    command.output().map_err(|error| format!("cannot start valgrind: {error}"))
}

fn read(path: &Path) -> Result<String, Failure> {
    // Symbols may hold any bytes.
    let bytes = std::fs::read(path).map_err(|error| format!("valgrind left no {}: {error}", path.display()))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Why the process counts as dead: it failed, or did not print its last line.
fn death(output: &Output) -> Option<String> {
    let finished = String::from_utf8_lossy(&output.stdout).lines().last() == Some("done");
    if output.status.success() && finished {
        return None;
    }
    let stderr = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = stderr.lines().filter(|line| !line.starts_with("==")).collect();
    Some(format!("died ({}): {}", output.status, lines[lines.len().saturating_sub(3)..].join(" / ")))
}

/// What the program prints: `valgrind yes`, and an `arm` line each.
fn read_output(text: &str, observed: &mut Observed) {
    for line in text.lines() {
        match line.split('\t').collect::<Vec<_>>()[..] {
            ["valgrind", answer] => observed.under_valgrind = answer == "yes",
            ["arm", routine, arm] => observed.arms.push((routine.to_owned(), arm.to_owned())),
            _ => {}
        }
    }
}

/// memcheck's log: after `==pid== ` a report's first line stands at the margin, its frames are indented.
fn read_memcheck(log: &str, observed: &mut Observed) {
    let mut margin = "";
    for line in log.lines().filter_map(body) {
        if let Some(summary) = line.strip_prefix("ERROR SUMMARY: ") {
            // "3 errors from 2 contexts (suppressed: 0 from 0)"
            observed.counted = summary.split(' ').nth(3).and_then(|count| count.parse().ok());
        } else if let Some(frame) = line.strip_prefix("   at ") {
            observed.reports.push(Report { what: margin.to_owned(), frames: vec![place(frame)] });
        } else if let Some(frame) = line.strip_prefix("   by ")
            && let Some(report) = observed.reports.last_mut()
        {
            report.frames.push(place(frame));
        } else {
            margin = line;
        }
    }
}

/// The line without `==pid== `.
fn body(line: &str) -> Option<&str> {
    let (pid, rest) = line.strip_prefix("==")?.split_once("==")?;
    pid.bytes().all(|byte| byte.is_ascii_digit()).then(|| rest.strip_prefix(' ').unwrap_or(rest))
}

/// `0x1FAC64: function (file.rs:30)` without the address.
fn place(frame: &str) -> String {
    frame.split_once(": ").map_or(frame, |(_, place)| place).to_owned()
}

/// The functions that a callgrind profile names. Assembly without a type has only its address there: `symbols` names it.
fn functions(profile: &str, symbols: &BTreeMap<u64, String>) -> BTreeSet<String> {
    let mut functions = BTreeSet::new();
    for line in profile.lines() {
        // "fn=(12) name" where a name is used first, "fn=(12)" from then on; cfn for a callee
        let Some(rest) = line.strip_prefix("fn=(").or_else(|| line.strip_prefix("cfn=(")) else { continue };
        let Some((_, name)) = rest.split_once(") ") else { continue };
        let address = name.strip_prefix("0x").and_then(|hex| u64::from_str_radix(hex, 16).ok());
        functions.insert(address.and_then(|address| symbols.get(&address)).map_or(name, |symbol| symbol).to_owned());
    }
    functions
}

/// The binary's symbols by address, from `nm`, which stands wherever a linker does.
fn symbols(binary: &Path) -> Result<BTreeMap<u64, String>, Failure> {
    let output = program("nm").arg(binary).output().map_err(|error| format!("cannot start nm: {error}"))?;
    Ok(String::from_utf8_lossy(&output.stdout).lines().filter_map(symbol).collect())
}

/// "00000000002671f0 T name"
fn symbol(line: &str) -> Option<(u64, String)> {
    let mut words = line.split_whitespace();
    let address = u64::from_str_radix(words.next()?, 16).ok()?;
    let name = words.nth(1)?;
    Some((address, name.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    const LOG: &str = "\
==7== Memcheck, a memory error detector
==7== Command: candor-ct run control/branch
==7==
==7== Conditional jump or move depends on uninitialised value(s)
==7==    at 0x1FAC64: candor_ct::cases::controls::leak_by_branch (controls.rs:30)
==7==    by 0x1FB16A: run (main.rs:41)
==7== 
==7== Use of uninitialised value of size 8
==7==    at 0x1FAC4A: candor_ct::index (controls.rs:48)
==7== 
==7== HEAP SUMMARY:
==7==     in use at exit: 1,000 bytes in 3 blocks
==7== ERROR SUMMARY: 5 errors from 2 contexts (suppressed: 0 from 0)
";

    #[test]
    fn reports_are_read_with_their_frames_and_their_count() {
        let mut observed = Observed::default();
        read_memcheck(LOG, &mut observed);
        assert_eq!(observed.counted, Some(2));
        assert_eq!(observed.reports.len(), 2);
        assert!(observed.reports[0].what.starts_with("Conditional jump"));
        assert_eq!(
            observed.reports[0].frames,
            ["candor_ct::cases::controls::leak_by_branch (controls.rs:30)", "run (main.rs:41)"]
        );
        assert_eq!(observed.reports[1].what, "Use of uninitialised value of size 8");
    }

    #[test]
    fn a_log_that_ends_early_has_no_count() {
        let mut observed = Observed::default();
        read_memcheck(&LOG[..LOG.len() / 2], &mut observed);
        assert_eq!(observed.counted, None);
    }

    #[test]
    fn the_programs_own_lines_are_read() {
        let mut observed = Observed::default();
        read_output("valgrind\tyes\narm\tsha256\tportable\nerrors\t0\ndone\n", &mut observed);
        assert!(observed.under_valgrind);
        assert_eq!(observed.arms, [("sha256".to_owned(), "portable".to_owned())]);
    }

    #[test]
    fn functions_without_a_name_are_looked_up() {
        let symbols = [symbol("00000000002671f0 T kernel_asm"), symbol("                 U memcpy")];
        assert_eq!(symbols[1], None);
        let symbols = symbols.into_iter().flatten().collect();
        let profile = "fn=(1) main\ncalls=1 0\ncfn=(2) 0x00000000002671f0\nfn=(1)\nfn=(3) 0x0000000000000001\n";
        let found: Vec<String> = functions(profile, &symbols).into_iter().collect();
        assert_eq!(found, ["0x0000000000000001", "kernel_asm", "main"]);
    }
}
