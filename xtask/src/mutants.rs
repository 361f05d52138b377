//! `cargo xtask mutants`: does a test notice when the code is wrong?
//!
//! `xtask/mutants.toml` lists small mistakes: a dropped mask, a dropped round. Each is made alone, in a copy of the tree below
//! `target/mutants`, and its test must then fail. Before that the tests must pass without any mistake, for a test that always fails
//! would notice everything. `cargo xtask structure` finds entries whose text is no longer in the source. A mistake after which a test does not end is
//! noticed as well: the test is stopped.
//!
//! A mistake that makes time depend on a secret breaks no test: its entry names a case of the constant-time gate instead, and what the gate must
//! print, so that it is caught where it stands and not by chance. One that leaves a secret behind names a case of `cargo xtask residue` likewise.

use crate::Failure;
use crate::ct::{self, Caught};
use crate::peers::make_directory;
use crate::residue;
use crate::stage::{clock, within};
use crate::workspace::{Workspace, cargo};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::{Duration, Instant};
use toml::{Table, Value};

const LIST: &str = "xtask/mutants.toml";
/// How many times as long a test may take with a mistake as without.
const TIMES: u32 = 10;
/// And so much longer, since a short test's time says little.
const MORE: Duration = Duration::from_secs(60);
/// What stands at the root of the tree and the copy does not need. Tests read what is in `runs`.
pub(crate) const LEFT_OUT: [&str; 4] = [".git", "target", "candor-runs", "fuzz"];

/// One mistake.
#[derive(Debug, PartialEq)]
struct Mutant {
    what: String,
    /// What the report must contain, of a leak: the function that leaks, or the arm that ran.
    reports: Option<String>,
    /// The tier without which the mistake is in code that this CPU does not run.
    needs: Option<Tier>,
    /// Usually one. A reader and a writer that are wrong alike take two: round trips don't notice them.
    edits: Vec<Edit>,
    check: Check,
}

/// A tier of `candor_cpu` that a mistake may need.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Tier {
    Adx,
    Avx512,
}

impl Tier {
    fn named(name: &str) -> Option<Self> {
        match name {
            "adx" => Some(Self::Adx),
            "avx512" => Some(Self::Avx512),
            _ => None,
        }
    }

    /// Why a mistake that needs it can't be noticed here, if it can't.
    fn missing(self) -> Option<&'static str> {
        match self {
            Self::Adx if has_adx() => None,
            Self::Adx => Some("this CPU lacks tier adx"),
            Self::Avx512 if has_avx512() => None,
            Self::Avx512 => Some("this CPU lacks tier avx512"),
        }
    }
}

#[cfg(target_arch = "x86_64")]
fn has_adx() -> bool {
    is_x86_feature_detected!("bmi2") && is_x86_feature_detected!("adx")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_adx() -> bool {
    false
}

#[cfg(target_arch = "x86_64")]
fn has_avx512() -> bool {
    is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512ifma")
        && is_x86_feature_detected!("gfni")
        && is_x86_feature_detected!("vaes")
        && is_x86_feature_detected!("vpclmulqdq")
}

#[cfg(not(target_arch = "x86_64"))]
fn has_avx512() -> bool {
    false
}

/// What must notice it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Check {
    /// Words for `cargo test`.
    Test(String),
    /// A case of the constant-time gate, or `scan`.
    Ct(String),
    /// A case of `cargo xtask residue`.
    Residue(String),
}

impl fmt::Display for Check {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Test(words) => write!(f, "cargo test {words}"),
            Self::Ct(case) => write!(f, "cargo xtask ct {case}"),
            Self::Residue(case) => write!(f, "cargo xtask residue {case}"),
        }
    }
}

/// A text of one file, and what takes its place.
#[derive(Debug, PartialEq)]
struct Edit {
    file: String,
    find: String,
    replace: String,
}

/// Makes each mistake whose description or file contains one of `words`, every one if there are no words, and prints a line for it, and then
/// the minutes; `Ok(true)` when none survived. One in code that this CPU does not run is skipped.
pub(crate) fn run(words: &[String]) -> Result<bool, Failure> {
    let start = Instant::now();
    let workspace = Workspace::here()?;
    let text = fs::read_to_string(workspace.root.join(LIST)).map_err(|error| format!("{LIST}: {error}"))?;
    let mut mutants = parse(&text)?;
    let named = |mutant: &Mutant, word: &str| {
        mutant.what.contains(word) || mutant.edits.iter().any(|edit| edit.file.contains(word))
    };
    if let Some(word) = words.iter().find(|word| !mutants.iter().any(|mutant| named(mutant, word))) {
        return Err(format!("{LIST} has no mutant whose description or file contains `{word}`"));
    }
    mutants.retain(|mutant| words.is_empty() || words.iter().any(|word| named(mutant, word)));
    // Stale lines are found before anything is built.
    for mutant in &mutants {
        mutant.apply(&workspace.root)?;
    }
    let at = workspace.target.join("mutants");
    let tree = Tree { root: at.join("tree"), build: at.join("build"), original: workspace.root.clone() };
    let _ = fs::remove_dir_all(&tree.root);
    copy(&workspace.root, &tree.root, &LEFT_OUT)?;

    let (mutants, skipped): (Vec<Mutant>, Vec<Mutant>) =
        mutants.into_iter().partition(|mutant| mutant.needs.and_then(Tier::missing).is_none());
    for mutant in &skipped {
        println!("skipped        {}: {}", mutant.what, mutant.needs.and_then(Tier::missing).unwrap_or_default());
    }
    let mut patience = BTreeMap::new();
    for check in mutants.iter().map(|mutant| &mutant.check).collect::<BTreeSet<_>>() {
        let (outcome, taken) = tree.run(check, Duration::MAX)?;
        match outcome {
            Outcome::Passed => println!("without a mistake: `{check}` passes"),
            Outcome::Failed(said) => return Err(format!("`{check}` fails without any mistake: {said}")),
            Outcome::Endless => return Err(format!("`{check}` does not end without any mistake")),
            Outcome::NotBuilt(why) => return Err(format!("`{check}` does not build:\n{why}")),
        }
        patience.insert(check, TIMES * taken + MORE);
    }
    let (mut survived, mut broken) = (Vec::new(), Vec::new());
    for (number, mutant) in mutants.iter().enumerate() {
        let told = format!("{:>3}/{}  {}", number + 1, mutants.len(), mutant.what);
        let spoilt = mutant.apply(&tree.root)?;
        let originals: Vec<(PathBuf, String)> =
            spoilt.keys().map(|file| Ok((file.clone(), read(file)?))).collect::<Result<_, Failure>>()?;
        spoilt.iter().try_for_each(|(file, text)| write(file, text))?;
        let outcome = tree.run(&mutant.check, patience[&mutant.check]);
        originals.iter().try_for_each(|(file, text)| write(file, text))?;
        match outcome?.0 {
            Outcome::Failed(said) if mutant.reports.as_ref().is_none_or(|named| said.contains(named)) => {
                println!("killed         {told}");
            }
            Outcome::Failed(said) => {
                println!("NOT BY NAME    {told}");
                let named = mutant.reports.as_deref().unwrap_or_default();
                survived.push(format!("not by name: {} (the report lacks `{named}`)\n{said}", mutant.what));
            }
            Outcome::Endless => println!("killed         {told} (the test did not end)"),
            Outcome::Passed => {
                println!("SURVIVED       {told}");
                survived.push(format!("survived: {} (`{}` passes with it)", mutant.what, mutant.check));
            }
            Outcome::NotBuilt(why) => {
                println!("NOT COMPILED   {told}");
                broken.push(format!("does not compile: {}\n{why}", mutant.what));
            }
        }
    }
    println!();
    survived.iter().chain(&broken).for_each(|line| println!("{line}"));
    let (survived, broken) = (survived.len(), broken.len());
    let killed = mutants.len() - survived - broken;
    let skipped = skipped.len();
    println!(
        "{killed} killed, {survived} survived, {broken} not compiled, {skipped} skipped, {} minutes",
        clock(start.elapsed())
    );
    Ok(survived + broken == 0)
}

/// The entries that no longer fit the tree: the line in the list, and why.
pub(crate) fn stale(root: &Path) -> Result<Vec<(usize, Failure)>, Failure> {
    let path = root.join(LIST);
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = read(&path)?;
    let line = |mutant: &Mutant| text.lines().position(|line| line.starts_with("what") && line.contains(&mutant.what));
    let stale = parse(&text)?.into_iter().filter_map(|mutant| {
        let why = match mutant.apply(root) {
            Ok(spoilt) if spoilt.iter().all(|(file, text)| read(file).is_ok_and(|original| original != *text)) => {
                return None;
            }
            Ok(_) => format!("the mutant “{}” changes nothing", mutant.what),
            Err(why) => why,
        };
        Some((line(&mutant).map_or(1, |index| index + 1), why))
    });
    Ok(stale.collect())
}

fn parse(text: &str) -> Result<Vec<Mutant>, Failure> {
    let table: Table = text.parse().map_err(|error| format!("{LIST}: {error}"))?;
    let list = table.get("mutant").and_then(Value::as_array).ok_or(format!("{LIST}: there is no [[mutant]]"))?;
    let mutant = |(index, value): (usize, &Value)| {
        let field = |name: &str| {
            let text = value.get(name).and_then(Value::as_str).map(str::to_owned);
            text.ok_or_else(|| format!("{LIST}, mutant {}: `{name}` is missing or not a text", index + 1))
        };
        let edit = |value: &Value| {
            let field = |name: &str| {
                let text = value.get(name).and_then(Value::as_str).map(str::to_owned);
                text.ok_or_else(|| format!("{LIST}, mutant {}: `{name}` is missing or not a text", index + 1))
            };
            Ok::<Edit, Failure>(Edit { file: field("file")?, find: field("find")?, replace: field("replace")? })
        };
        let mut edits = Vec::from([edit(value)?]);
        for also in value.get("also").and_then(Value::as_array).into_iter().flatten() {
            edits.push(edit(also)?);
        }
        let (check, reports) = match (value.get("ct"), value.get("residue")) {
            (Some(_), _) => (Check::Ct(field("ct")?), Some(field("reports")?)),
            (None, Some(_)) => (Check::Residue(field("residue")?), Some(field("reports")?)),
            (None, None) => (Check::Test(field("test")?), None),
        };
        let needs = match value.get("needs") {
            None => None,
            Some(_) => {
                let name = field("needs")?;
                let tier = Tier::named(&name);
                Some(tier.ok_or_else(|| format!("{LIST}, mutant {}: `needs` knows no tier `{name}`", index + 1))?)
            }
        };
        Ok(Mutant { what: field("what")?, reports, needs, edits, check })
    };
    list.iter().enumerate().map(mutant).collect()
}

impl Mutant {
    /// The files below `root` with the mistake in them.
    fn apply(&self, root: &Path) -> Result<BTreeMap<PathBuf, String>, Failure> {
        let mut spoilt: BTreeMap<PathBuf, String> = BTreeMap::new();
        for edit in &self.edits {
            let path = root.join(&edit.file);
            let text = match spoilt.get(&path) {
                Some(text) => text.clone(),
                None => read(&path).map_err(|why| format!("the mutant “{}” is stale: {why}", self.what))?,
            };
            let text = edit.apply(&text).map_err(|why| format!("the mutant “{}” is stale: {why}", self.what))?;
            spoilt.insert(path, text);
        }
        Ok(spoilt)
    }
}

impl Edit {
    fn apply(&self, original: &str) -> Result<String, Failure> {
        match original.matches(&self.find).count() {
            1 => Ok(original.replacen(&self.find, &self.replace, 1)),
            n => {
                Err(format!("its text must occur exactly once in {}, but occurs {n} times:\n{}", self.file, self.find))
            }
        }
    }
}

enum Outcome {
    Passed,
    /// What the gate printed; nothing for a test.
    Failed(String),
    /// A test took so long that it was stopped.
    Endless,
    /// The compiler's errors.
    NotBuilt(String),
}

impl From<Caught> for Outcome {
    fn from(caught: Caught) -> Self {
        match caught {
            Caught::Not => Self::Passed,
            Caught::With(report) => Self::Failed(report),
            Caught::NotBuilt(why) => Self::NotBuilt(why),
        }
    }
}

/// The copy, where it is built, and what it is a copy of.
struct Tree {
    root: PathBuf,
    build: PathBuf,
    original: PathBuf,
}

impl Tree {
    /// What comes of it, and how long a test took, which is stopped after `patience`. Cases of the two gates have no limit.
    fn run(&self, check: &Check, patience: Duration) -> Result<(Outcome, Duration), Failure> {
        let at_once = |caught: Caught| (caught.into(), Duration::ZERO);
        match check {
            Check::Test(words) => self.test(words, patience),
            Check::Ct(case) => ct::caught(&self.original, &self.root, &self.build, case).map(at_once),
            Check::Residue(case) => residue::caught(&self.root, &self.build, case).map(at_once),
        }
    }

    fn test(&self, words: &str, patience: Duration) -> Result<(Outcome, Duration), Failure> {
        let test = || {
            let mut test = cargo();
            test.current_dir(&self.root).args(["test", "--quiet"]).args(words.split_whitespace());
            test.env("CARGO_TARGET_DIR", &self.build);
            // Nobody debugs a mutant; without symbols its tests compile and link faster.
            test.env("CARGO_PROFILE_TEST_DEBUG", "0").env("CARGO_PROFILE_DEV_DEBUG", "0");
            test
        };
        let built = test().arg("--no-run").output().map_err(|error| format!("cannot start cargo: {error}"))?;
        if !built.status.success() {
            let why = String::from_utf8_lossy(&built.stderr).trim_end().to_owned();
            return Ok((Outcome::NotBuilt(why), Duration::ZERO));
        }
        // Into a file: nobody would empty a pipe.
        let said = self.build.join("said");
        let file = File::create(&said).map_err(|error| format!("{}: {error}", said.display()))?;
        let mut tested = test();
        tested.stdin(Stdio::null()).stdout(file).stderr(Stdio::null());
        let (Some(status), taken) = within(tested, patience)? else { return Ok((Outcome::Endless, patience)) };
        let said = String::from_utf8_lossy(&fs::read(&said).map_err(|error| format!("{}: {error}", said.display()))?)
            .into_owned();
        if said.lines().all(|line| !line.starts_with("running ") || line.starts_with("running 0 ")) {
            return Err(format!("`cargo test {words}` runs no test"));
        }
        Ok((if status.success() { Outcome::Passed } else { Outcome::Failed(String::new()) }, taken))
    }
}

fn read(path: &Path) -> Result<String, Failure> {
    fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<(), Failure> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
}

/// Copies a folder, without those of its entries that are left out.
pub(crate) fn copy(from: &Path, to: &Path, left_out: &[&str]) -> Result<(), Failure> {
    make_directory(to)?;
    let listed = fs::read_dir(from).map_err(|error| format!("{}: {error}", from.display()))?;
    for entry in listed.flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        if left_out.iter().any(|left_out| name == *left_out) {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name), &[])?;
        } else {
            fs::copy(&path, to.join(name)).map_err(|error| format!("cannot copy {}: {error}", path.display()))?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_that_no_longer_fits_the_tree_is_found_at_its_line() {
        let root = std::env::temp_dir().join(format!("xtask-mutants-stale-{}", std::process::id()));
        fs::create_dir_all(root.join("xtask")).unwrap();
        write(&root.join("code"), "a = 1;").unwrap();
        let entry = |what: &str, find: &str, replace: &str| {
            format!(
                "[[mutant]]\nwhat = \"{what}\"\nfile = \"code\"\nfind = \"{find}\"\nreplace = \"{replace}\"\ntest = \"t\"\n"
            )
        };
        write(&root.join(LIST), &[entry("fits", "1", "2"), entry("gone", "7", "2"), entry("same", "1", "1")].concat())
            .unwrap();
        let found = stale(&root);
        fs::remove_dir_all(&root).unwrap();
        let found = found.unwrap();
        assert_eq!(found.iter().map(|(line, _)| *line).collect::<Vec<_>>(), [8, 14]);
        assert!(found[0].1.contains("occurs 0 times") && found[1].1.contains("changes nothing"), "{found:?}");
    }

    #[test]
    fn only_the_root_is_copied_in_part() {
        let root = std::env::temp_dir().join(format!("xtask-mutants-{}", std::process::id()));
        let (from, to) = (root.join("from"), root.join("to"));
        for file in ["fuzz/a", "src/fuzz/b"] {
            fs::create_dir_all(from.join(file).parent().unwrap()).unwrap();
            write(&from.join(file), "").unwrap();
        }
        copy(&from, &to, &LEFT_OUT).unwrap();
        let copied = ["fuzz/a", "src/fuzz/b"].map(|file| to.join(file).exists());
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(copied, [false, true]);
    }

    #[test]
    fn a_text_that_is_gone_or_stands_twice_is_an_error() {
        let text = "[[mutant]]\nwhat = \"w\"\nfile = \"f\"\nfind = \"x & 1\"\nreplace = \"x\"\ntest = \"t\"\n";
        let edit = parse(text).unwrap().remove(0).edits.remove(0);
        assert_eq!(edit.apply("let y = x & 1;").unwrap(), "let y = x;");
        assert!(edit.apply("let y = x;").unwrap_err().contains("occurs 0 times"));
        assert!(edit.apply("x & 1; x & 1").is_err());
        assert!(parse("[[mutant]]\nwhat = \"w\"\n").unwrap_err().contains("file"));
    }

    #[test]
    fn a_leak_names_its_case_and_what_the_report_must_say() {
        let leak = "[[mutant]]\nwhat = \"w\"\nfile = \"f\"\nfind = \"x\"\nreplace = \"y\"\nct = \"sm3@avx2\"\nreports = \"compress\"\n";
        let mutant = parse(leak).unwrap().remove(0);
        assert_eq!(
            (mutant.check.to_string().as_str(), mutant.reports.as_deref()),
            ("cargo xtask ct sm3@avx2", Some("compress"))
        );
        assert!(parse(&leak.replace("reports = \"compress\"\n", "")).unwrap_err().contains("reports"));
        assert!(parse(&leak.replace("ct = \"sm3@avx2\"", "c = \"\"")).unwrap_err().contains("`test`"));
    }

    #[test]
    fn a_mistake_may_need_a_tier_and_an_unknown_one_is_an_error() {
        let text =
            "[[mutant]]\nwhat = \"w\"\nfile = \"f\"\nfind = \"x\"\nreplace = \"y\"\ntest = \"t\"\nneeds = \"avx512\"\n";
        assert_eq!(parse(text).unwrap().remove(0).needs, Some(Tier::Avx512));
        assert_eq!(parse(&text.replace("needs = \"avx512\"\n", "")).unwrap().remove(0).needs, None);
        assert!(parse(&text.replace("avx512", "avx521")).unwrap_err().contains("no tier `avx521`"));
        assert!(parse(&text.replace("\"avx512\"", "512")).unwrap_err().contains("not a text"));
        assert_eq!(Tier::Avx512.missing().is_none(), has_avx512());
        assert_eq!(parse(&text.replace("avx512", "adx")).unwrap().remove(0).needs, Some(Tier::Adx));
    }

    #[test]
    fn mistakes_in_code_for_avx512_say_that_they_need_it() {
        let root = Workspace::here().unwrap().root;
        for mutant in parse(&read(&root.join(LIST)).unwrap()).unwrap() {
            let files = mutant.edits.iter().any(|edit| edit.file.contains("avx512"));
            let wide = match &mutant.check {
                Check::Test(_) => files || mutant.what.contains("AVX-512"),
                Check::Residue(case) => case.ends_with("@avx512"),
                // The scan reads what this CPU can't run.
                Check::Ct(_) => false,
            };
            assert!(!wide || mutant.needs.is_some(), "“{}” lacks `needs = \"avx512\"`", mutant.what);
        }
    }

    #[test]
    fn a_reader_and_a_writer_are_spoilt_together() {
        let root = std::env::temp_dir().join(format!("xtask-mutants-also-{}", std::process::id()));
        fs::create_dir_all(&root).unwrap();
        write(&root.join("codec"), "write 1; read 1; keep 2;").unwrap();
        write(&root.join("other"), "keep 1").unwrap();
        let text = "[[mutant]]\nwhat = \"w\"\nfile = \"codec\"\nfind = \"write 1\"\nreplace = \"write 3\"\ntest = \"t\"\n\
            [[mutant.also]]\nfile = \"codec\"\nfind = \"read 1\"\nreplace = \"read 3\"\n\
            [[mutant.also]]\nfile = \"other\"\nfind = \"1\"\nreplace = \"3\"\n";
        let spoilt = parse(text).unwrap().remove(0).apply(&root).unwrap();
        let stale = parse(&text.replace("read 1", "read 9")).unwrap().remove(0).apply(&root);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(spoilt.values().collect::<Vec<_>>(), ["write 3; read 3; keep 2;", "keep 3"]);
        assert!(stale.unwrap_err().contains("“w” is stale"));
    }
}
