//! Within a crate, modules depend on each other one way: none needs, over others, itself.

use super::Violation;
use super::modules::named;
use std::collections::BTreeMap;

/// The rooms that are free of circles, and stay so. A room joins the list when its last circle is gone.
const ROOMS: [&str; 18] = [
    "crates/cpu/src/",
    "crates/primitives/src/",
    "crates/suite/src/",
    "crates/c-abi/src/",
    "crates/ffi/src/",
    "crates/gf2/src/",
    "crates/codes/src/",
    "crates/opaque/src/",
    "crates/opaque-ffi/src/",
    "crates/onion/src/",
    "crates/tor-directory/src/",
    "crates/network/src/",
    "crates/login/src/",
    "crates/old-hashes/src/",
    "crates/lab/src/",
    "crates/peers/src/",
    "crates/subjects/src/",
    "crates/candor/src/",
];

/// A module's needs: which module, and a file and line that names it.
type Needs = BTreeMap<String, (String, usize)>;

/// The circles among the top-level modules of each room, given all files and their code without comments and literals.
pub(crate) fn check(files: &[(String, String)]) -> Vec<Violation> {
    ROOMS.iter().flat_map(|room| check_room(room, files)).collect()
}

fn check_room(room: &str, files: &[(String, String)]) -> Vec<Violation> {
    let inside = || files.iter().filter_map(|(file, code)| Some((file, file.strip_prefix(room)?, code)));
    let root = inside().find(|(_, path, _)| matches!(*path, "lib.rs" | "main.rs")).map_or("", |(_, _, code)| code);
    let shown_by = reexports(root);
    let mut graph: BTreeMap<String, Needs> = BTreeMap::new();
    for (file, path, code) in inside() {
        let module = path.split('/').next().unwrap_or(path).trim_end_matches(".rs");
        let needs = graph.entry(module.to_owned()).or_default();
        // Tests, which stand at the end of a file, may use what stands above.
        let code = code.split("#[cfg(test)]\nmod tests").next().unwrap_or(code);
        for (name, line) in named(file, code) {
            let name = shown_by.get(name).map_or(name, String::as_str);
            if name != module {
                needs.entry(name.to_owned()).or_insert_with(|| (file.clone(), line));
            }
        }
    }
    // The root names every module and stands above them all.
    graph.remove("lib");
    graph.remove("main");
    circle(&graph).into_iter().collect()
}

/// What `pub use module::{A, B}` in the root shows as its own: the name, and the module that it comes from.
fn reexports(root: &str) -> BTreeMap<&str, String> {
    let mut shown = BTreeMap::new();
    for statement in root.split(';') {
        let Some((_, path)) = statement.rsplit_once("pub use ") else { continue };
        let Some((module, names)) = path.split_once("::") else { continue };
        for name in names.split(['{', '}', ',']).map(str::trim).filter(|name| !name.is_empty()) {
            shown.insert(name, module.trim().to_owned());
        }
    }
    shown
}

/// A circle, if there is one, at the line that closes it.
fn circle(graph: &BTreeMap<String, Needs>) -> Option<Violation> {
    let mut done: Vec<&str> = Vec::new();
    graph.keys().find_map(|start| search(graph, start, &mut Vec::new(), &mut done))
}

fn search<'a>(
    graph: &'a BTreeMap<String, Needs>,
    module: &'a str,
    above: &mut Vec<&'a str>,
    done: &mut Vec<&'a str>,
) -> Option<Violation> {
    if done.contains(&module) {
        return None;
    }
    above.push(module);
    for (next, (file, line)) in graph.get(module).into_iter().flatten() {
        if let Some(at) = above.iter().position(|module| module == next) {
            let way = [&above[at..], &[next.as_str()]].concat().join(" → ");
            let what = format!("modules need each other in a circle, {way}: move what both need into a module below");
            return Some(Violation::new(file, *line, what));
        }
        if let Some(found) = search(graph, next, above, done) {
            return Some(found);
        }
    }
    above.pop();
    done.push(module);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(files: &[(&str, &str)]) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(file, code)| (format!("crates/lab/src/{file}"), (*code).into())).collect();
        check(&files).iter().map(Violation::to_string).collect()
    }

    #[test]
    fn a_circle_is_found_however_long_and_named_at_its_closing_line() {
        let circle = found(&[
            ("report.rs", "use crate::figure::style;\n"),
            ("report/html.rs", "\n"),
            ("figure/svg.rs", "use crate::{claims::Claim, stats};\n"),
            ("claims.rs", "\nfn f() { crate::report::time() }\n"),
            ("stats.rs", ""),
        ]);
        assert_eq!(circle.len(), 1, "{circle:?}");
        assert!(circle[0].contains("claims → report → figure → claims"), "{circle:?}");
        assert!(circle[0].starts_with("crates/lab/src/figure/svg.rs:1: "), "{circle:?}");
    }

    #[test]
    fn a_circle_spelled_with_super_is_a_circle() {
        let circle = found(&[("report.rs", "use crate::stats;\n"), ("stats.rs", "use super::report;\n")]);
        assert!(circle.len() == 1 && circle[0].contains("report → stats → report"), "{circle:?}");
    }

    #[test]
    fn tests_may_use_what_stands_above() {
        let tests = "#[cfg(test)]\nmod tests {\n    use crate::report::Form;\n}\n";
        let code = |stats: &str| found(&[("report.rs", "use crate::stats;\n"), ("stats.rs", stats)]).len();
        assert_eq!(code(tests), 0);
        assert_eq!(code(&format!("use crate::report;\n{tests}")), 1);
    }

    #[test]
    fn one_way_is_no_circle() {
        let files = [
            ("report.rs", "use crate::figure::style;\nuse crate::stats::median;\n"),
            ("report/html.rs", "use crate::report::Form;\nuse crate::units::time;\n"),
            ("figure.rs", "use crate::units::time;\nuse crate::stats;\n"),
        ];
        assert_eq!(found(&files), Vec::<String>::new());
    }

    #[test]
    fn names_that_the_root_shows_are_their_modules() {
        let root = "mod a;\nmod b;\npub use a::{A, Other};\npub use b::B;\n";
        let circle = found(&[("lib.rs", root), ("a.rs", "use crate::B;\n"), ("b.rs", "use crate::{Other};\n")]);
        assert!(circle.len() == 1 && circle[0].contains("a → b → a"), "{circle:?}");
        assert_eq!(found(&[("lib.rs", root), ("a.rs", "use crate::B;\n"), ("b.rs", "")]), Vec::<String>::new());
    }
}
