//! `cargo xtask emulate`: tests on an emulated processor with AVX-512 and GFNI, for machines that lack them.
//!
//! Debian's bochs emulates a whole computer; qemu knows no AVX-512. Debian's kernel starts on it with a file system in memory that holds the test
//! programs, the libraries that they want and the vectors. Their output comes over the serial port.
//!
//! Three things are judged. The tests, which run every arm that the processor has. For each arm that valgrind can't run, the case of `candor-ct`: it fails
//! unless the product has recorded that arm and no other. And, as the control, the same cases on an emulated processor without these instructions:
//! each must die of SIGILL, which proves that the instructions were there. [`ANYWHERE`] lists the exceptions.
//!
//! An emulator's answers are bochs's reading of Intel's manual. A wrong answer may be bochs's mistake; its times mean nothing.

mod archive;
mod machine;

use crate::Failure;
use crate::ct::{self, Unseen};
use crate::peers::quiet_step;
use crate::residue;
use crate::stage::program;
use crate::tally::{Tally, TestReader};
use crate::workspace::{Workspace, cargo};
use archive::Archive;
use machine::Parts;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

/// The emulator, its display in a terminal, and what the image of a CD is made with.
const PACKAGES: [&str; 7] =
    ["bochs", "bochs-term", "xorriso", "isolinux", "syslinux-common", "busybox-static", "binutils"];

/// A processor.
#[derive(Clone, Copy)]
struct Model {
    /// As bochs calls it.
    bochs: &'static str,
    what: &'static str,
}

const WITH: Model = Model { bochs: "tigerlake", what: "AVX-512, GFNI and SHA" };
const WITHOUT: Model = Model { bochs: "corei7_haswell_4770", what: "AVX2 and nothing wider" };

/// All tests that run arms of their own for these processors: a crate of `crates/` and a file of its `tests/`, or `lib`. `residue` is the program of
/// `cargo xtask residue`, with a part of its cases' names.
const TESTS: [&str; 19] = [
    "primitives/lib",
    "primitives/cipher",
    "primitives/hash_batch",
    "primitives/hash_xof",
    "primitives/mac_kdf",
    "primitives/argon2",
    "primitives/hash",
    "primitives/sm4",
    "primitives/aead",
    "gf2/lib",
    "gf2/field_small",
    "gf2/field_dense",
    "gf2/field_big",
    "codes/lib",
    "codes/hqc",
    "codes/known_answers",
    "residue/vpclmul",
    "residue/gfni",
    "residue/avx512",
];

/// The crate whose program is no test.
const RESIDUE: &str = "residue";

/// Cases that run to their end without the instructions of their tier, and why.
const ANYWHERE: [(&str, &str); 2] = [
    ("sha256@sha", "crate sha2 asks the CPU itself, whatever tier is forced"),
    (
        "aead/sm4-ccm@vpclmul",
        "CCM has one block of the chain and one of the key stream at a time, for which AES-NI is wide enough",
    ),
];

/// What a shell says of a program that died of SIGILL.
const ILLEGAL: &str = "132";

/// One run of a program in the machine.
struct Run {
    name: String,
    /// The folder that it runs in, and whose files it has.
    folder: PathBuf,
    program: PathBuf,
    words: String,
    /// Whether its lines are shown as they come.
    shown: bool,
}

/// What came of one.
#[derive(Default)]
struct Outcome {
    lines: Vec<String>,
    /// Its exit status, if it ended.
    status: Option<String>,
}

/// Runs the tests named by `words`, `CRATE/TEST` or `CRATE/TEST/PART-OF-A-NAME`, or all; the proofs and the control always.
pub(crate) fn run(words: &[String]) -> Result<bool, Failure> {
    let workspace = Workspace::here()?;
    let names: Vec<&str> = match words {
        [] => TESTS.to_vec(),
        words => words.iter().map(String::as_str).collect(),
    };
    let parts = match Parts::prepare(&workspace.target.join("emulate")) {
        Ok(parts) => parts,
        Err(why) => {
            println!("emulate: not run: {why}");
            return Ok(false);
        }
    };
    let tests = names.iter().map(|name| test(&workspace, name)).collect::<Result<Vec<Run>, _>>()?;
    let (binary, proofs) = ct::unseen(&workspace.root)?;
    let mut runs: Vec<Run> = proofs.iter().map(|proof| proof_run(&workspace, &binary, proof)).collect();

    let mut tally = Tally::default();
    let without = on(&parts, WITHOUT, &workspace, &runs)?;
    runs.extend(tests);
    let with = on(&parts, WITH, &workspace, &runs)?;
    let (proving, testing) = with.split_at(proofs.len());
    for ((proof, here), there) in proofs.iter().zip(proving).zip(&without) {
        let judged = judge(proof, here, there);
        match (&judged, ANYWHERE.iter().find(|(case, _)| *case == proof.case)) {
            (Ok(()), None) => {
                println!("{}: ok ({} {}; dies without the instructions)", proof.case, proof.routine, proof.arm)
            }
            (Ok(()), Some((_, why))) => {
                println!("{}: ok ({} {}; no control: {why})", proof.case, proof.routine, proof.arm)
            }
            (Err(why), _) => println!("{}: FAILED: {why}", proof.case),
        }
        match judged {
            Ok(()) => tally.pass(),
            Err(why) => tally.fail(format!("{}: {why}", proof.case)),
        }
    }
    for (test, outcome) in runs[proofs.len()..].iter().zip(testing) {
        count(test, outcome, &mut tally);
    }
    tally.failures.iter().for_each(|failure| println!("FAILED: {failure}"));
    tally.skips.iter().for_each(|skip| println!("skipped: {skip}"));
    println!("emulate: {}", tally.line());
    Ok(tally.failed == 0)
}

/// Counts what a test program printed.
fn count(test: &Run, outcome: &Outcome, tally: &mut Tally) {
    let well = outcome.status.as_deref() == Some("0");
    if test.name.starts_with(RESIDUE) {
        let failed = tally.failed;
        let verdicts = outcome.lines.iter().filter(|line| residue::count(line, tally)).count();
        if verdicts == 0 || well != (tally.failed == failed) {
            tally.fail(format!("{}: did not run to its end", test.name));
        }
        return;
    }
    let mut reader = TestReader::default();
    reader.line(&format!("Running {} ({})", test.name, test.program.display()));
    outcome.lines.iter().for_each(|line| reader.line(line));
    reader.close(&test.name, well, tally);
}

/// The test `CRATE/TEST` or `CRATE/TEST/PART-OF-A-NAME`, built.
fn test(workspace: &Workspace, name: &str) -> Result<Run, Failure> {
    let mut words = name.splitn(3, '/');
    let (Some(room), Some(file)) = (words.next(), words.next()) else {
        return Err(format!("expected CRATE/TEST, found `{name}`; for example primitives/aead"));
    };
    let package = format!("candor-{room}");
    if room == RESIDUE {
        let program = residue::built(workspace)?;
        return Ok(Run {
            name: name.to_owned(),
            folder: workspace.root.clone(),
            program,
            words: file.to_owned(),
            shown: true,
        });
    }
    let member = workspace.members.iter().find(|member| member.name == package);
    let member = member.ok_or_else(|| format!("there is no crate `{package}`"))?;
    let mut build = cargo();
    build.current_dir(&workspace.root).args(["test", "--no-run", "--package", &package]);
    build.args(["--message-format", "json-render-diagnostics"]);
    match file {
        "lib" => build.arg("--lib"),
        file => build.args(["--test", file]),
    };
    let said = quiet_step(&format!("building {room}/{file}"), build)?;
    let messages = said.lines().filter_map(|line| serde_json::from_str::<serde_json::Value>(line).ok());
    let mut programs = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    let program = programs.next().ok_or_else(|| format!("cargo did not say where it put {name}"))?;
    let words = format!("--test-threads 1 {}", words.next().unwrap_or_default());
    Ok(Run { name: name.to_owned(), folder: member.folder.clone(), program, words, shown: true })
}

/// The case of an arm.
fn proof_run(workspace: &Workspace, binary: &Path, proof: &Unseen) -> Run {
    Run {
        name: proof.case.clone(),
        folder: workspace.root.clone(),
        program: binary.to_owned(),
        words: format!("run {}", proof.case),
        shown: false,
    }
}

/// Runs the programs on that processor, one after another.
fn on(parts: &Parts, model: Model, workspace: &Workspace, runs: &[Run]) -> Result<Vec<Outcome>, Failure> {
    println!("starting a processor with {} (bochs: {})", model.what, model.bochs);
    let (files, script) = (pack(workspace, runs)?, script(runs));
    let mut outcomes: Vec<Outcome> = Vec::new();
    parts.run(model, files, &script, &mut |line| {
        if let Some(("", name)) = line.split_once(BEGIN) {
            println!("{name} ({} of {})", outcomes.len() + 1, runs.len());
            outcomes.push(Outcome::default());
            return;
        }
        if outcomes.len().checked_sub(1).and_then(|last| runs.get(last)).is_none_or(|run| run.shown) {
            println!("    {line}");
        }
        let Some(outcome) = outcomes.last_mut() else { return };
        match line.split_once(END) {
            // What the program wrote last may have no end of line.
            Some((rest, status)) => {
                outcome.lines.extend((!rest.is_empty()).then(|| rest.to_owned()));
                outcome.status = Some(status.to_owned());
            }
            None => outcome.lines.push(line.to_owned()),
        }
    })?;
    outcomes.resize_with(runs.len(), Outcome::default);
    Ok(outcomes)
}

const BEGIN: &str = "emulate: begin ";
const END: &str = "emulate: end ";

/// For the machine's shell. Its words are ours: names of cases and tests, and paths, none with a quote in it.
fn script(runs: &[Run]) -> String {
    let run = |run: &Run| {
        let Run { name, folder, words, .. } = run;
        let inside = inside(&run.program);
        format!("echo '{BEGIN}{name}'\ncd '{}'\n'{}' {words}\necho \"{END}$?\"\n", folder.display(), inside.display())
    };
    runs.iter().map(run).collect()
}

/// Where a program lies in the machine.
fn inside(program: &Path) -> PathBuf {
    Path::new("/run").join(program.file_name().unwrap_or_default())
}

/// The programs without their symbols, the libraries that they want, and the files that tests read, at their own places.
fn pack(workspace: &Workspace, runs: &[Run]) -> Result<Archive, Failure> {
    let mut files = Archive::default();
    let read = |path: &Path| fs::read(path).map_err(|error| format!("{}: {error}", path.display()));
    let programs: BTreeSet<&Path> = runs.iter().map(|run| run.program.as_path()).collect();
    let mut libraries = BTreeSet::new();
    let stripped = workspace.target.join("emulate/stripped");
    for path in programs {
        let mut strip = program("strip");
        strip.arg("-o").arg(&stripped).arg(path);
        quiet_step(&format!("packing {}", path.display()), strip)?;
        files.file(&inside(path), &read(&stripped)?);
        let mut asked = program("ldd");
        asked.arg(path);
        libraries.extend(paths(&quiet_step("asking which libraries it wants", asked)?));
    }
    for library in libraries {
        files.file(&library, &read(&library)?);
    }
    runs.iter().for_each(|run| files.folder(&run.folder));
    for folder in ["crates/test-support", "vectors"] {
        let folder = workspace.root.join(folder);
        files.folder(&folder);
        for entry in fs::read_dir(&folder).map_err(|error| format!("{}: {error}", folder.display()))?.flatten() {
            if entry.path().is_file() {
                files.file(&entry.path(), &read(&entry.path())?);
            }
        }
    }
    Ok(files)
}

/// The files that `ldd` names: `libc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x…)`, `/lib64/ld-linux-x86-64.so.2 (0x…)`.
fn paths(ldd: &str) -> Vec<PathBuf> {
    let words = ldd.lines().filter_map(|line| line.split_whitespace().find(|word| word.starts_with('/')));
    words.map(PathBuf::from).collect()
}

/// Whether a case proves its arm: it ran to its end on the processor that has the instructions, with the arm recorded, and died for want of them on the
/// other.
fn judge(proof: &Unseen, here: &Outcome, there: &Outcome) -> Result<(), Failure> {
    if here.status.as_deref() != Some("0") || here.lines.last().map(String::as_str) != Some("done") {
        let status = here.status.as_deref().unwrap_or("none");
        return Err(format!("did not run to its end, status {status}: {}", here.lines.join(" / ")));
    }
    let wanted = format!("arm\t{}\t{}", proof.routine, proof.arm);
    if !here.lines.contains(&wanted) {
        return Err(format!("expected {} {}, recorded: {}", proof.routine, proof.arm, here.lines.join(" / ")));
    }
    let anywhere = ANYWHERE.iter().any(|(case, _)| *case == proof.case);
    let (expected, what) = if anywhere { ("0", "a good end") } else { (ILLEGAL, "death by SIGILL") };
    match there.status.as_deref() {
        Some(status) if status == expected => Ok(()),
        status => Err(format!(
            "without the instructions: expected {what} ({expected}), found status {}",
            status.unwrap_or("none")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(lines: &[&str], status: &str) -> Outcome {
        Outcome { lines: lines.iter().map(|line| (*line).to_owned()).collect(), status: Some(status.to_owned()) }
    }

    #[test]
    fn an_arm_is_proved_by_its_record_and_by_the_death_without_its_instructions() {
        let proof = Unseen { case: "k@avx512".to_owned(), routine: "k".to_owned(), arm: "avx512".to_owned() };
        let (good, dead) = (outcome(&["arm\tk\tavx512", "done"], "0"), outcome(&["Illegal instruction"], ILLEGAL));
        assert_eq!(judge(&proof, &good, &dead), Ok(()));
        let other = outcome(&["arm\tk\tavx2", "done"], "0");
        assert!(judge(&proof, &other, &dead).unwrap_err().contains("recorded: arm\tk\tavx2"));
        let failed = outcome(&["arm\tk\tavx512", "thread panicked"], "101");
        assert!(judge(&proof, &failed, &dead).unwrap_err().contains("status 101"));
        assert!(judge(&proof, &good, &good).unwrap_err().contains("expected death by SIGILL (132), found status 0"));
        assert!(judge(&proof, &good, &Outcome::default()).unwrap_err().contains("status none"));
        let sha = Unseen { case: "sha256@sha".to_owned(), ..proof };
        assert_eq!(judge(&sha, &good, &good), Ok(()));
        assert!(judge(&sha, &good, &dead).unwrap_err().contains("expected a good end (0), found status 132"));
    }

    #[test]
    fn a_program_that_dies_or_fails_a_test_is_a_failure() {
        let run = |name: &str| Run {
            name: name.to_owned(),
            folder: PathBuf::new(),
            program: PathBuf::from("/deps/aead-0123"),
            words: String::new(),
            shown: true,
        };
        let failures = |name: &str, outcome: &Outcome| {
            let mut tally = Tally::default();
            count(&run(name), outcome, &mut tally);
            tally.failed
        };
        let result =
            |text: &str| format!("test result: {text}. 1 passed; {} failed; 0 ignored", u8::from(text != "ok"));
        assert_eq!(failures("primitives/aead", &outcome(&[&result("ok")], "0")), 0);
        assert_eq!(failures("primitives/aead", &outcome(&[&result("FAILED")], "101")), 1);
        assert_eq!(failures("primitives/aead", &outcome(&["test a ... "], "139")), 1);
        assert_eq!(failures("primitives/aead", &Outcome::default()), 1);
        assert_eq!(failures("residue/avx512", &outcome(&["a@avx512\tok\tnothing left"], "0")), 0);
        assert_eq!(failures("residue/avx512", &outcome(&["a@avx512\tFAILED\t16 bytes"], "1")), 1);
        assert_eq!(failures("residue/avx512", &outcome(&["a@avx512\tok\tnothing left"], "139")), 1);
        assert_eq!(failures("residue/avx512", &Outcome::default()), 1);
    }

    #[test]
    fn the_files_that_ldd_names_are_packed() {
        let ldd = "\tlinux-vdso.so.1 (0x1)\n\tlibc.so.6 => /lib/libc.so.6 (0x2)\n\t/lib64/ld-linux-x86-64.so.2 (0x3)\n";
        assert_eq!(paths(ldd), [Path::new("/lib/libc.so.6"), Path::new("/lib64/ld-linux-x86-64.so.2")]);
        assert_eq!(paths("\tstatically linked\n").len(), 0);
    }

    #[test]
    fn every_test_of_the_list_is_a_file() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
        for (room, file) in TESTS.iter().map(|name| name.split_once('/').unwrap()).filter(|(room, _)| *room != RESIDUE)
        {
            let path = if file == "lib" { "src/lib.rs".to_owned() } else { format!("tests/{file}.rs") };
            assert!(root.join(room).join(&path).is_file(), "{room}/{path}");
        }
    }
}
