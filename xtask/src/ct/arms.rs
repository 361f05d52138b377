//! Which of the three checks each arm has: a table that SOUNDNESS.md holds and that `cargo xtask ct --write` writes.
//!
//! The arms come from the code: `candor-ct arms` runs every case on every tier of this CPU and prints what the products record. Names of
//! arms in the sources that no run has recorded must belong to another architecture, or an arm would go missing without a word.

use super::scan::{Kernels, is_read};
use super::section;
use crate::Failure;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A routine and one of its arms.
pub(super) type Arm = (String, String);

/// What the checks have found.
#[derive(Default)]
pub(super) struct Evidence {
    /// Every arm that a routine takes on some tier of this CPU.
    pub(super) arms: BTreeSet<Arm>,
    /// Arms that ran under memcheck, in cases that passed.
    pub(super) memcheck: BTreeSet<Arm>,
    /// Arms whose kernels the scan has read and found clean.
    pub(super) scan: BTreeSet<Arm>,
    /// Arms that were timed, and no difference was found.
    pub(super) dudect: BTreeSet<Arm>,
    /// The same, but before their kernels were changed.
    pub(super) stale: BTreeSet<Arm>,
    /// Names of arms in the sources that belong to other architectures.
    pub(super) foreign: BTreeSet<String>,
}

impl Evidence {
    /// Arms that nothing has checked.
    pub(super) fn unchecked(&self) -> impl Iterator<Item = &Arm> {
        let checked = |arm: &Arm| [&self.memcheck, &self.scan, &self.dudect].into_iter().any(|set| set.contains(arm));
        self.arms.iter().filter(move |arm| !checked(arm))
    }

    /// A line for each routine, for the terminal.
    pub(super) fn lines(&self) -> Vec<String> {
        self.rows()
            .into_iter()
            .map(|[routine, checks @ ..]| {
                let named = ["memcheck", "scan", "dudect"].into_iter().zip(checks).filter(|(_, arms)| !arms.is_empty());
                let parts: Vec<String> = named.map(|(check, arms)| format!("{check} {arms}")).collect();
                format!("{routine}: {}", parts.join("; "))
            })
            .collect()
    }

    /// The table as SOUNDNESS.md holds it.
    pub(super) fn table(&self) -> String {
        let mut text = "| routine | memcheck | scan | dudect |\n|---|---|---|---|\n".to_owned();
        for [routine, memcheck, scan, dudect] in self.rows() {
            text.push_str(&format!("| `{routine}` | {memcheck} | {scan} | {dudect} |\n"));
        }
        let foreign: Vec<String> = self.foreign.iter().map(|name| format!("`{name}`")).collect();
        text.push_str(&format!(
            "\nArms of other architectures, which none of the three reads: {}.\n",
            foreign.join(", ")
        ));
        text
    }

    /// Routine, and its arms by check.
    fn rows(&self) -> Vec<[String; 4]> {
        let routines: BTreeSet<&String> = self.arms.iter().map(|(routine, _)| routine).collect();
        let of = |set: &BTreeSet<Arm>, routine: &String, note: &dyn Fn(&Arm) -> &'static str| {
            let arms = set.iter().filter(|arm| arm.0 == *routine && self.arms.contains(*arm));
            arms.map(|arm| format!("{}{}", arm.1, note(arm))).collect::<Vec<_>>().join(", ")
        };
        let timed = self.dudect.union(&self.stale).cloned().collect();
        let row = |routine: &String| {
            [
                routine.clone(),
                of(&self.memcheck, routine, &|_| ""),
                of(&self.scan, routine, &|_| ""),
                of(&timed, routine, &|arm| if self.stale.contains(arm) { STALE } else { "" }),
            ]
        };
        routines.into_iter().map(row).collect()
    }

    /// What is wrong with the arms, and whether the document says what was found.
    pub(super) fn faults(&self, document: &str) -> Vec<String> {
        let mut faults: Vec<String> = self
            .unchecked()
            .map(|arm| {
                let (routine, name) = arm;
                match self.stale.contains(arm) {
                    true => format!("{routine}@{name} has neither memcheck nor scan, and was timed before its last change: run `cargo xtask ct --timing --write`"),
                    false => format!("{routine}@{name} has neither memcheck nor scan nor dudect: it needs a case"),
                }
            })
            .collect();
        // A change of a kernel doesn't make the table wrong, only older.
        let plain = |text: &str| text.trim().replace(STALE, "");
        if section::read(document, "arms").is_none_or(|text| plain(text) != plain(&self.table())) {
            faults.push(
                "the table of arms in SOUNDNESS.md is not what the checks found: run `cargo xtask ct --write`"
                    .to_owned(),
            );
        }
        faults
    }
}

/// Behind the name of an arm whose kernels are not those that were timed.
const STALE: &str = " (timed before its last change)";

/// The functions of `reads` that are not among the kernels without a finding.
pub(super) fn unread<'a>(reads: &'a [String], kernels: &Kernels) -> Vec<&'a str> {
    let clean = |name: &str| {
        let mut found = kernels.iter().filter(|(symbol, _)| is_read(symbol, name)).peekable();
        found.peek().is_some() && found.all(|(_, read)| read.findings == 0)
    };
    reads.iter().map(String::as_str).filter(|name| !clean(name)).collect()
}

/// The lines of `candor-ct arms`.
pub(super) fn parse(text: &str) -> Result<BTreeSet<Arm>, Failure> {
    let arm = |line: &str| line.split_once('\t').map(|(routine, arm)| (routine.to_owned(), arm.to_owned()));
    let arms: Option<BTreeSet<Arm>> = text.lines().map(arm).collect();
    arms.filter(|arms| !arms.is_empty()).ok_or_else(|| "`candor-ct arms` prints no list of arms".to_owned())
}

/// The arm of WebAssembly. It is no tier, since a module asks no CPU: it has vectors where it was compiled with them.
const WASM: &str = "simd128";

/// The names that the sources give to arms, and the tiers of other architectures.
pub(super) struct Sources {
    names: BTreeSet<String>,
    foreign_tiers: BTreeSet<String>,
}

impl Sources {
    /// Reads the rooms that have arms.
    pub(super) fn read(root: &Path) -> Result<Self, Failure> {
        let tiers = root.join("crates/cpu/src/tier.rs");
        let text = fs::read_to_string(&tiers).map_err(|error| format!("{}: {error}", tiers.display()))?;
        let mut files = Vec::new();
        for room in ["crates/primitives/src", "crates/gf2/src", "crates/codes/src"] {
            super::marked::collect(&root.join(room), &mut files)?;
        }
        let mut names = BTreeSet::new();
        for file in files {
            let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
            names.extend(named(&text));
        }
        if names.is_empty() {
            return Err("no source names an arm: xtask looks in the wrong place".to_owned());
        }
        let mut foreign_tiers = foreign_tiers(&text);
        foreign_tiers.insert(WASM.to_owned());
        Ok(Self { names, foreign_tiers })
    }

    /// Names that belong to other architectures; an error for one that no run has recorded although it should.
    pub(super) fn foreign(&self, arms: &BTreeSet<Arm>) -> Result<BTreeSet<String>, Failure> {
        let recorded: BTreeSet<&String> = arms.iter().map(|(_, arm)| arm).collect();
        let (foreign, lost): (BTreeSet<_>, BTreeSet<_>) = self
            .names
            .iter()
            .filter(|name| !recorded.contains(name))
            .cloned()
            .partition(|name| self.foreign_tiers.contains(name));
        match lost.first() {
            None => Ok(foreign),
            Some(name) => {
                Err(format!("the sources name an arm `{name}`, and no case takes it on any tier of this CPU"))
            }
        }
    }
}

/// The strings that a function `name`, `arm` or `block_arm` may return.
fn named(text: &str) -> Vec<String> {
    let text = text.split("\n#[cfg(test)]\n").next().unwrap_or(text);
    let mut names = Vec::new();
    for function in ["fn name(", "fn arm(", "fn block_arm("] {
        for (at, _) in text.match_indices(function) {
            let Some((head, rest)) = text[at..].split_once('{') else { continue };
            if head.contains("&'static str") {
                let end = rest.find("\n    }\n").unwrap_or(rest.len());
                let literals = rest[..end].split("=> \"").skip(1).filter_map(|rest| rest.split('"').next());
                names.extend(literals.map(str::to_owned));
            }
        }
    }
    names
}

/// `Tier { name: "pmull", what: "AArch64: …" }`
fn foreign_tiers(text: &str) -> BTreeSet<String> {
    let list =
        text.split_once("TIERS: &[Tier] = &[").and_then(|(_, rest)| rest.split_once("];")).map_or("", |(list, _)| list);
    let tiers = list.split("Tier {").skip(1).filter_map(|tier| {
        let mut strings = tier.split('"').skip(1).step_by(2);
        Some((strings.next()?, strings.next()?))
    });
    let foreign = tiers.filter(|(_, what)| what.contains(": ") && !what.starts_with("x86-64: "));
    foreign.map(|(name, _)| name.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::super::scan::Read;
    use super::*;

    fn set(arms: &[(&str, &str)]) -> BTreeSet<Arm> {
        arms.iter().map(|(routine, arm)| ((*routine).to_owned(), (*arm).to_owned())).collect()
    }

    fn evidence() -> Evidence {
        Evidence {
            arms: set(&[("keccak", "avx512"), ("keccak", "portable"), ("sha256", "sha")]),
            memcheck: set(&[("keccak", "portable"), ("control", "branch")]),
            scan: set(&[("sha256", "sha"), ("keccak", "avx512")]),
            dudect: set(&[("sha256", "sha")]),
            stale: set(&[]),
            foreign: ["pmull".to_owned()].into(),
        }
    }

    #[test]
    fn the_table_has_a_row_for_each_routine() {
        let table = evidence().table();
        assert!(table.contains("| `keccak` | portable | avx512 |  |\n| `sha256` |  | sha | sha |\n"), "{table}");
        assert!(table.ends_with("none of the three reads: `pmull`.\n") && !table.contains("control"));
        assert_eq!(evidence().lines(), ["keccak: memcheck portable; scan avx512", "sha256: scan sha; dudect sha"]);
    }

    #[test]
    fn an_arm_without_any_check_and_a_stale_table_are_faults() {
        let document =
            section::replace("a <!-- arms: x -->\nold\n<!-- end of arms -->\n", "arms", &evidence().table()).unwrap();
        assert_eq!(evidence().faults(&document), [""; 0]);
        assert!(evidence().faults("")[0].contains("cargo xtask ct --write"));
        let timed_only = Evidence { scan: set(&[("keccak", "avx512")]), ..evidence() };
        assert_eq!(timed_only.unchecked().count(), 0);
        assert!(timed_only.faults(&document)[0].contains("--write"));
        let none = Evidence { dudect: BTreeSet::new(), ..timed_only };
        assert!(none.faults(&document)[0].starts_with("sha256@sha has neither"));
    }

    #[test]
    fn an_arm_that_was_timed_before_its_last_change_needs_another_check() {
        let document =
            section::replace("<!-- arms: x -->\n<!-- end of arms -->\n", "arms", &evidence().table()).unwrap();
        let stale = || Evidence { dudect: set(&[]), stale: set(&[("sha256", "sha")]), ..evidence() };
        assert!(stale().table().contains("| `sha256` |  | sha | sha (timed before its last change) |\n"));
        assert_eq!(stale().faults(&document), [""; 0]);
        let changed = section::replace(&document, "arms", &stale().table()).unwrap();
        assert_eq!([evidence().faults(&changed), stale().faults(&changed)], [[""; 0]; 2]);
        let unread = Evidence { scan: set(&[("keccak", "avx512")]), ..stale() };
        assert!(unread.faults(&document)[0].contains("sha256@sha has neither memcheck nor scan, and was timed before"));
    }

    #[test]
    fn a_kernel_counts_as_read_if_the_scan_found_it_and_nothing_in_it() {
        let kernels = |findings| {
            let read = |findings| Read { findings, digests: Vec::new() };
            Kernels::from([("a::low::fill".to_owned(), read(0)), ("b::low::fill".to_owned(), read(findings))])
        };
        let reads = ["low::fill".to_owned(), "a::low::fill".to_owned(), "drain".to_owned()];
        assert_eq!(unread(&reads, &kernels(0)), ["drain"]);
        assert_eq!(unread(&reads, &kernels(1)), ["low::fill", "drain"]);
    }

    #[test]
    fn names_of_arms_are_recorded_or_of_another_architecture() {
        let text = "impl Arm {\n    fn name(self) -> &'static str {\n        match self {\n            Self::A(_) => \"avx2\",\n            Self::P => \"pmull\",\n        }\n    }\n    fn other(self) -> &'static str {\n        match self { _ => \"no arm\" }\n    }\n}\n";
        let tiers = "TIERS: &[Tier] = &[\n Tier { name: \"portable\", what: \"nothing\" }, Tier { name: \"avx2\", what: \"x86-64: x\" },\n Tier {\n name: \"pmull\",\n what: \"AArch64: x\" },\n];";
        let sources = Sources { names: named(text).into_iter().collect(), foreign_tiers: foreign_tiers(tiers) };
        assert_eq!(sources.foreign(&set(&[("x", "avx2")])), Ok(["pmull".to_owned()].into()));
        assert!(sources.foreign(&set(&[("x", "portable")])).is_err_and(|why| why.contains("`avx2`")));
    }

    #[test]
    fn the_sources_have_arms_of_three_architectures() {
        let sources = Sources::read(&crate::workspace::Workspace::here().unwrap().root).unwrap();
        assert!(
            ["avx512", "sha", "vaes", "pmull", "portable"].iter().all(|name| sources.names.contains(*name)),
            "{:?}",
            sources.names
        );
        assert_eq!(sources.foreign_tiers, ["arm-sha2", "pmull", WASM, "zbc"].map(str::to_owned).into());
    }

    #[test]
    fn a_list_of_arms_has_a_tab_in_each_line() {
        assert_eq!(parse("a\tb\n"), Ok(set(&[("a", "b")])));
        assert!(parse("").is_err() && parse("a\n").is_err());
    }
}
