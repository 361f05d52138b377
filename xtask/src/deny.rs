//! `cargo xtask deny`: licences, duplicates, bans and sources of everything that can be linked in, by the rules of `deny.toml`.
//!
//! The file is cargo-deny's, and says the same to both. cargo-deny takes minutes to build on a fresh machine; these four questions can be
//! answered from `cargo metadata` in a second. Advisories need RustSec's database: where cargo-deny and a copy of the database are at hand,
//! cargo-deny checks them offline. Yanked versions need the registry and are not checked.

use crate::Failure;
use crate::stage::{program, stream};
use crate::tally::Tally;
use crate::workspace::{Workspace, cargo};
use serde_json::Value;
use spdx::{Expression, ParseMode};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use toml::Table;

const FILE: &str = "deny.toml";

/// Prints what breaks a rule; `Ok(true)` when nothing does.
pub(crate) fn run() -> Result<bool, Failure> {
    let workspace = Workspace::here()?;
    let rules = rules(&workspace)?;
    let advisories = match can_check_advisories() {
        Ok(()) => advisories(&workspace)?,
        Err(why) => {
            println!("deny: advisories are not checked: {why}");
            true
        }
    };
    Ok(rules && advisories)
}

/// The same as a stage of the gate. Advisories that can't be checked here are a skip.
pub(crate) fn in_the_gate(workspace: &Workspace, tally: &mut Tally) {
    tally.check("deny", rules(workspace));
    match can_check_advisories() {
        Ok(()) => tally.check("advisories", advisories(workspace)),
        Err(why) => {
            println!("advisories: skipped: {why}");
            tally.skip("advisories", &why);
        }
    }
}

/// Whether cargo-deny is installed and has ever fetched RustSec's database.
fn can_check_advisories() -> Result<(), Failure> {
    if !program("cargo-deny").arg("--version").output().is_ok_and(|output| output.status.success()) {
        return Err("cargo-deny is not installed (`cargo install cargo-deny`)".to_owned());
    }
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(std::env::home_dir()?.join(".cargo")));
    let databases = home.map(|home| home.join("advisory-dbs"));
    let is_there = |path: PathBuf| std::fs::read_dir(path).is_ok_and(|mut entries| entries.next().is_some());
    match databases.is_some_and(is_there) {
        true => Ok(()),
        false => Err("RustSec's database was never fetched here (`cargo deny fetch db`)".to_owned()),
    }
}

/// Advisories by cargo-deny, from the copy of RustSec's database that is on this machine.
fn advisories(workspace: &Workspace) -> Result<bool, Failure> {
    let mut command = program("cargo-deny");
    command.current_dir(&workspace.root).args(["--offline", "--all-features", "check", "advisories"]);
    stream(command, |_| ())
}

/// Licences, duplicates, bans and sources.
fn rules(workspace: &Workspace) -> Result<bool, Failure> {
    let path = workspace.root.join(FILE);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    let output = cargo()
        .current_dir(&workspace.root)
        .args(["metadata", "--format-version", "1", "--all-features"])
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("`cargo metadata` failed:\n{}", String::from_utf8_lossy(&output.stderr).trim_end()));
    }
    let packages = Package::list(&String::from_utf8_lossy(&output.stdout))?;
    let faults = Rules::parse(&text)?.faults(&packages);
    faults.iter().for_each(|fault| println!("deny: {fault}"));
    println!("deny: {} packages, {} faults", packages.len(), faults.len());
    Ok(faults.is_empty())
}

/// A package of the dependency graph.
struct Package {
    id: String,
    name: String,
    version: String,
    licence: Option<String>,
    /// Nothing for a member of the workspace.
    source: Option<String>,
    /// Ids of what it uses.
    uses: Vec<String>,
    /// Dependencies that take any version.
    wildcards: Vec<String>,
}

impl Package {
    fn list(metadata: &str) -> Result<Vec<Self>, Failure> {
        let value: Value =
            serde_json::from_str(metadata).map_err(|error| format!("cannot read `cargo metadata`: {error}"))?;
        let text = |value: &Value, field: &str| value[field].as_str().map(str::to_owned);
        let nodes = value["resolve"]["nodes"].as_array().ok_or("`cargo metadata` resolved nothing")?;
        let uses: BTreeMap<String, Vec<String>> = nodes
            .iter()
            .filter_map(|node| {
                let deps = node["deps"].as_array()?.iter().filter_map(|dep| text(dep, "pkg")).collect();
                Some((text(node, "id")?, deps))
            })
            .collect();
        let packages = value["packages"].as_array().ok_or("`cargo metadata` lists no packages")?;
        let parse = |package: &Value| {
            let id = text(package, "id")?;
            let ours = package["source"].is_null();
            let wild = |dependency: &&Value| ours && dependency["req"] == "*" && dependency["path"].is_null();
            let dependencies = package["dependencies"].as_array()?;
            Some(Self {
                name: text(package, "name")?,
                version: text(package, "version")?,
                licence: text(package, "license"),
                source: text(package, "source"),
                uses: uses.get(&id).cloned().unwrap_or_default(),
                wildcards: dependencies.iter().filter(wild).filter_map(|dependency| text(dependency, "name")).collect(),
                id,
            })
        };
        let listed: Option<Vec<Self>> = packages.iter().map(parse).collect();
        listed.ok_or_else(|| "`cargo metadata` has a package without id, name or version".to_owned())
    }

    fn shown(&self) -> String {
        format!("{} {}", self.name, self.version)
    }
}

/// `deny.toml`, reduced to what is checked here.
struct Rules {
    licences: BTreeSet<String>,
    banned: Vec<Entry>,
    skipped: Vec<Entry>,
    skipped_trees: Vec<Entry>,
}

/// A package in one of the lists, and why it is there.
struct Entry {
    name: String,
    /// The beginning of its version: `0.8` of `libloading@0.8`. Empty for any.
    version: String,
    reason: String,
}

impl Entry {
    fn fits(&self, package: &Package) -> bool {
        let rest = package.version.strip_prefix(self.version.as_str());
        package.name == self.name
            && rest.is_some_and(|rest| self.version.is_empty() || !rest.starts_with(|c: char| c.is_ascii_digit()))
    }

    fn shown(&self) -> String {
        format!("{}@{}", self.name, if self.version.is_empty() { "any" } else { &self.version })
    }
}

impl Rules {
    fn parse(text: &str) -> Result<Self, Failure> {
        let table: Table = text.parse().map_err(|error| format!("{FILE}: {error}"))?;
        let list = |section: &str, name: &str| {
            let list = table.get(section).and_then(|section| section.get(name)).and_then(toml::Value::as_array);
            list.cloned().ok_or_else(|| format!("{FILE}: [{section}] has no list `{name}`"))
        };
        let entries = |name: &str| -> Result<Vec<Entry>, Failure> {
            let entry = |value: &toml::Value| {
                let text = |field: &str| value.get(field).and_then(toml::Value::as_str).filter(|text| !text.is_empty());
                let (package, reason) = (text("crate")?, text("reason")?.to_owned());
                let (name, version) = package.split_once('@').unwrap_or((package, ""));
                Some(Entry { name: name.to_owned(), version: version.to_owned(), reason })
            };
            let parsed: Option<Vec<Entry>> = list("bans", name)?.iter().map(entry).collect();
            parsed.ok_or_else(|| format!("{FILE}: each entry of [bans] {name} needs `crate` and `reason`"))
        };
        let licences = list("licenses", "allow")?;
        Ok(Self {
            licences: licences.iter().filter_map(toml::Value::as_str).map(str::to_owned).collect(),
            banned: entries("deny")?,
            skipped: entries("skip")?,
            skipped_trees: entries("skip-tree")?,
        })
    }

    fn faults(&self, packages: &[Package]) -> Vec<String> {
        let mut faults = Vec::new();
        for package in packages {
            faults.extend(self.licence_fault(package));
            for entry in self.banned.iter().filter(|entry| entry.fits(package)) {
                faults.push(format!("{} is banned: {}", package.shown(), entry.reason));
            }
            for name in &package.wildcards {
                faults.push(format!("{} takes any version of `{name}`: name one", package.shown()));
            }
            if package.source.as_deref().is_some_and(|source| !is_rust_registry(source)) {
                faults.push(format!("{} does not come from the Rust registry", package.shown()));
            }
        }
        faults.extend(self.duplicates(packages));
        faults
    }

    fn licence_fault(&self, package: &Package) -> Option<String> {
        let Some(licence) = &package.licence else {
            return Some(format!("{} states no licence", package.shown()));
        };
        // Old manifests write MIT/Apache-2.0.
        let Ok(expression) = Expression::parse_mode(licence, ParseMode::LAX) else {
            return Some(format!("{}: `{licence}` is no SPDX expression", package.shown()));
        };
        let allowed = expression.evaluate(|requirement| self.licences.contains(&requirement.to_string()));
        (!allowed).then(|| format!("{}: the licence `{licence}` is not allowed by {FILE}", package.shown()))
    }

    /// Older versions that nothing excuses, and excuses that nothing needs.
    fn duplicates(&self, packages: &[Package]) -> Vec<String> {
        let mut versions: BTreeMap<&str, Vec<&Package>> = BTreeMap::new();
        for package in packages {
            versions.entry(&package.name).or_default().push(package);
        }
        let mut older = Vec::new();
        for same in versions.values_mut() {
            same.sort_by_key(|package| numbers(&package.version));
            same.pop();
            older.append(same);
        }
        let trees: Vec<BTreeSet<&str>> = self.skipped_trees.iter().map(|root| below(root, packages)).collect();
        let mut needed = vec![false; self.skipped.len() + trees.len()];
        let mut faults = Vec::new();
        for package in older {
            let single = self.skipped.iter().map(|entry| entry.fits(package));
            let excuses: Vec<bool> =
                single.chain(trees.iter().map(|tree| tree.contains(package.id.as_str()))).collect();
            if !excuses.contains(&true) {
                let newest = versions_of(&package.name, packages);
                faults.push(format!(
                    "{} stands beside {newest}: use one, or say in [bans] skip of {FILE} why not",
                    package.shown()
                ));
            }
            needed.iter_mut().zip(excuses).for_each(|(needed, excuse)| *needed |= excuse);
        }
        let unused = self.skipped.iter().chain(&self.skipped_trees).zip(needed).filter(|(_, needed)| !needed);
        faults.extend(
            unused.map(|(entry, _)| format!("{} in {FILE} excuses no duplicate any more: remove it", entry.shown())),
        );
        faults
    }
}

/// The ids of the packages that fit and of everything below them.
fn below<'a>(root: &Entry, packages: &'a [Package]) -> BTreeSet<&'a str> {
    let by_id: BTreeMap<&str, &Package> = packages.iter().map(|package| (package.id.as_str(), package)).collect();
    let mut waiting: Vec<&Package> = packages.iter().filter(|package| root.fits(package)).collect();
    let mut found = BTreeSet::new();
    while let Some(package) = waiting.pop() {
        if found.insert(package.id.as_str()) {
            waiting.extend(package.uses.iter().filter_map(|id| by_id.get(id.as_str())));
        }
    }
    found
}

fn versions_of(name: &str, packages: &[Package]) -> String {
    let newest = packages.iter().filter(|package| package.name == name).max_by_key(|package| numbers(&package.version));
    newest.map(Package::shown).unwrap_or_default()
}

/// For sorting; a version before a release counts as the release.
fn numbers(version: &str) -> Vec<u64> {
    let release = version.split(['-', '+']).next().unwrap_or(version);
    release.split('.').map(|part| part.parse().unwrap_or(0)).collect()
}

/// Cargo's name for the registry that it uses unless told otherwise.
fn is_rust_registry(source: &str) -> bool {
    source.starts_with("registry") && source.contains("github.com/rust-lang/")
}

#[cfg(test)]
mod tests {
    use super::*;

    const RULES: &str = r#"
        [licenses]
        allow = ["MIT", "ISC", "Apache-2.0 WITH LLVM-exception"]
        [bans]
        deny = [{ crate = "bad", reason = "because" }]
        skip = [{ crate = "old@1", reason = "because" }]
        skip-tree = [{ crate = "peer", reason = "because" }]
    "#;

    fn package(name: &str, version: &str, uses: &[&str]) -> Package {
        Package {
            id: format!("{name}@{version}"),
            name: name.to_owned(),
            version: version.to_owned(),
            licence: Some("MIT".to_owned()),
            source: Some(concat!("registry", "+https://github.com/rust-lang/index").to_owned()),
            uses: uses.iter().map(|id| (*id).to_owned()).collect(),
            wildcards: Vec::new(),
        }
    }

    /// Packages that the rules allow, with every excuse in use.
    fn clean() -> Vec<Package> {
        Vec::from([
            package("old", "1.9.0", &[]),
            package("old", "2.0.0", &[]),
            package("peer", "0.1.0", &["deep@0.8.0"]),
            package("deep", "0.8.0", &[]),
            package("deep", "0.9.0", &[]),
        ])
    }

    /// The violations after a change of the packages.
    fn after(change: impl FnOnce(&mut Vec<Package>)) -> Vec<String> {
        let mut packages = clean();
        change(&mut packages);
        Rules::parse(RULES).unwrap().faults(&packages)
    }

    #[test]
    fn a_clean_graph_passes() {
        assert_eq!(after(|_| ()), Vec::<String>::new());
    }

    #[test]
    fn licences_are_read_as_expressions() {
        let judged = |licence: &str| after(|packages| packages[0].licence = Some(licence.to_owned())).len();
        for allowed in ["MIT", "GPL-3.0-only OR MIT", "MIT AND ISC", "MIT/Apache-2.0", "Apache-2.0 WITH LLVM-exception"]
        {
            assert_eq!(judged(allowed), 0, "{allowed}");
        }
        for refused in ["GPL-3.0-only", "MIT AND GPL-3.0-only", "Apache-2.0", "my own"] {
            assert_eq!(judged(refused), 1, "{refused}");
        }
        assert!(after(|packages| packages[0].licence = None)[0].contains("states no licence"));
    }

    #[test]
    fn a_duplicate_needs_an_excuse_and_an_excuse_a_duplicate() {
        let found = after(|packages| packages.push(package("deep", "0.7.0", &[])));
        assert!(found.len() == 1 && found[0].contains("deep 0.7.0 stands beside deep 0.9.0"), "{found:?}");
        let found = after(|packages| drop(packages.remove(1)));
        assert!(found.len() == 1 && found[0].contains("old@1 in deny.toml excuses no duplicate"), "{found:?}");
        let found = after(|packages| packages[2].uses.clear());
        assert_eq!(found.len(), 2, "{found:?}");
        // 1 is no beginning of 10.
        assert_eq!(after(|packages| packages[0].version = "10.0.0".to_owned()).len(), 2);
    }

    #[test]
    fn bans_sources_and_wildcards_are_found() {
        assert!(after(|packages| packages.push(package("bad", "1.0.0", &[])))[0].contains("because"));
        assert!(
            after(|packages| packages[0].source = Some("git+https://example.org/x".to_owned()))[0].contains("registry")
        );
        assert!(after(|packages| packages[0].wildcards.push("serde".to_owned()))[0].contains("any version of `serde`"));
        assert!(after(|packages| packages[0].source = None).is_empty());
    }

    #[test]
    fn a_rule_without_a_reason_is_refused() {
        let without = RULES.replacen(r#"{ crate = "old@1", reason = "because" }"#, r#"{ crate = "old@1" }"#, 1);
        assert!(Rules::parse(&without).is_err_and(|why| why.contains("`reason`")));
        assert!(Rules::parse("").is_err());
    }

    #[test]
    fn our_own_file_is_understood() {
        let rules = Rules::parse(include_str!("../../deny.toml")).unwrap();
        assert!(rules.licences.contains("MIT") && !rules.skipped.is_empty());
    }
}
