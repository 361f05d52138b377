//! Every public function that takes secrets is run by a case.
//!
//! The marks stand in the code. A function says `secret::takes("room/function", input)` or `secret::ran("routine", arm)`, which the
//! gate's program records when it runs on secret input. One that only hands its input on says `// ct: name` with the name of what it calls;
//! one whose input is public says `// ct: public, because …`. So do the functions of `PartialEq` and `ConstantTimeEq`. Functions whose parameters are all of a type that never is secret need no mark.
//!
//! This reads the sources of the rooms that hold secrets and finds functions without a mark, and marks that no case has recorded.

use crate::Failure;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Where secrets are. `low/` is missing on purpose: its functions are private to the crate, and marked functions call them.
const ROOMS: [&str; 9] = [
    "crates/primitives/src",
    "crates/gf2/src/field",
    "crates/gf2/src/multiplier.rs",
    "crates/codes/src",
    "crates/onion/src/handshake",
    "crates/onion/src/layer.rs",
    "crates/onion/src/layer",
    "crates/opaque/src",
    "crates/login/src/state.rs",
];

/// Types that carry no secret: sizes, choices, names, parameters. A parameter made of nothing else needs no mark.
const PUBLIC: [&str; 26] = [
    "Cpu",
    "usize",
    "u8",
    "u16",
    "u32",
    "bool",
    "str",
    "static",
    "Self",
    "Params",
    "Limits",
    "KsfParams",
    "Command",
    "Crypto",
    "SuiteId",
    "CredentialId",
    "Parties",
    "Option",
    "Plans",
    "Into",
    "Cow",
    "impl",
    "mut",
    "dyn",
    "const",
    "Argon2id",
];

/// Functions of traits that need a mark too, though they are not `pub`: where an early exit tells most.
const COMPARISONS: [&str; 2] = ["ct_eq", "eq"];

/// What the sources say.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Marks {
    /// Names that some case must record.
    pub(super) names: BTreeSet<String>,
    /// `file:line: function` of public functions without a mark.
    pub(super) unmarked: Vec<String>,
}

/// Reads the rooms.
pub(super) fn read(root: &Path) -> Result<Marks, Failure> {
    let mut files = Vec::new();
    for room in ROOMS {
        collect(&root.join(room), &mut files)?;
    }
    let mut marks = Marks::default();
    for file in files {
        let text = fs::read_to_string(&file).map_err(|error| format!("{}: {error}", file.display()))?;
        let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        add(&shown, &text, &mut marks);
    }
    if marks.names.is_empty() {
        return Err("no function is marked: xtask looks for the marks in the wrong place".to_owned());
    }
    Ok(marks)
}

pub(super) fn collect(path: &Path, files: &mut Vec<std::path::PathBuf>) -> Result<(), Failure> {
    let failed = |error| format!("{}: {error}", path.display());
    if path.is_file() {
        files.push(path.to_owned());
        return Ok(());
    }
    let mut entries = fs::read_dir(path).map_err(failed)?.collect::<Result<Vec<_>, _>>().map_err(failed)?;
    entries.sort_by_key(fs::DirEntry::path);
    for entry in entries {
        let path = entry.path();
        let name = entry.file_name().to_string_lossy().into_owned();
        if path.is_dir() && name != "low" || name.ends_with(".rs") && name != "tests.rs" && name != "low.rs" {
            collect(&path, files)?;
        }
    }
    Ok(())
}

/// Adds what one file says.
fn add(file: &str, text: &str, marks: &mut Marks) {
    let text = without_tests(text);
    for (at, _) in text.match_indices("takes(").chain(text.match_indices("secret::ran(")) {
        marks.names.extend(literal_after(&text[at..]));
    }
    let lines: Vec<&str> = text.lines().collect();
    for (number, line) in lines.iter().enumerate() {
        let Some(name) = declared(line) else { continue };
        let function = lines[number..].join("\n");
        let comments: Vec<&str> = lines[..number]
            .iter()
            .rev()
            .map(|line| line.trim())
            .take_while(|line| line.starts_with("//") || line.starts_with('#'))
            .collect();
        let (parameters, body) = parts(&function);
        let by_comment =
            comments.into_iter().chain(body.lines().map(str::trim)).find_map(|line| line.strip_prefix("// ct: "));
        match by_comment {
            Some(public) if public.starts_with("public, because ") => {}
            Some(names) => marks.names.extend(names.split(", ").map(str::to_owned)),
            None if body.contains("takes(\"") || body.contains("secret::ran(") => {}
            None if !COMPARISONS.contains(&name) && !takes_secrets(parameters) => {}
            None => marks.unmarked.push(format!("{file}:{}: {name}", number + 1)),
        }
    }
}

/// The name of the public function, or of the comparison, that a line declares.
fn declared(line: &str) -> Option<&str> {
    let line = line.trim_start();
    let name = line.strip_prefix("pub fn ").or_else(|| line.strip_prefix("fn "))?;
    let name = name.split(['(', '<']).next().unwrap_or(name);
    (line.starts_with("pub ") || COMPARISONS.contains(&name)).then_some(name)
}

/// Tests stand at the end. A file of tests that is declared further up ends nothing.
pub(super) fn without_tests(text: &str) -> &str {
    text.split("\n#[cfg(test)]\nmod tests").next().unwrap_or(text)
}

/// The first argument, if it is a literal; a macro's parameter gets its literal elsewhere.
fn literal_after(call: &str) -> Option<String> {
    let argument = call.split_once('(')?.1.trim_start().strip_prefix('"')?;
    argument.split_once('"').map(|(name, _)| name.to_owned())
}

/// A function's parameters and its body.
fn parts(function: &str) -> (&str, &str) {
    // The parameters begin at the first parenthesis that is in no angle brackets.
    let mut depth = 0_i32;
    let mut before = ' ';
    let mut open = 0;
    for (at, character) in function.char_indices() {
        match character {
            '<' => depth += 1,
            '>' if before != '-' => depth -= 1,
            '(' if depth == 0 => {
                open = at;
                break;
            }
            _ => {}
        }
        before = character;
    }
    let close = open + matching(&function[open..], '(', ')');
    // A semicolon inside brackets is an array's.
    let mut depth = 0;
    let body = function[close + 1..].char_indices().find_map(|(at, character)| {
        depth += i32::from(character == '[') - i32::from(character == ']');
        (character == '{' || character == ';' && depth == 0).then_some(close + 1 + at)
    });
    let Some(body) = body else { return (&function[open + 1..close], "") };
    let end = if function[body..].starts_with('{') { body + matching(&function[body..], '{', '}') } else { body };
    (&function[open + 1..close], &function[body..end])
}

/// Where the bracket closes that `text` begins with.
fn matching(text: &str, open: char, close: char) -> usize {
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        if character == open {
            depth += 1;
        } else if character == close {
            depth -= 1;
            if depth == 0 {
                return at;
            }
        }
    }
    text.len()
}

/// Whether a parameter has a type that can carry a secret.
fn takes_secrets(parameters: &str) -> bool {
    let types = pieces(parameters).into_iter().filter_map(|parameter| parameter.split_once(':').map(|(_, kind)| kind));
    types
        .flat_map(|kind| kind.split(|c: char| !c.is_alphanumeric() && c != '_' && c != '['))
        // `[u8` is a word of its own: one byte may be a choice, several may be secret. Lifetimes, and single capitals, which are back ends and suites.
        .filter(|word| word.len() > 1)
        .any(|word| !PUBLIC.contains(&word))
}

/// The parameters, cut at commas outside of brackets.
fn pieces(parameters: &str) -> Vec<&str> {
    let (mut depth, mut start, mut pieces) = (0, 0, Vec::new());
    for (at, character) in parameters.char_indices() {
        match character {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' => depth -= 1,
            ',' if depth == 0 => {
                pieces.push(&parameters[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&parameters[start..]);
    pieces
}

/// Names that no case has recorded.
pub(super) fn unrecorded<'a>(marks: &'a Marks, recorded: &BTreeSet<String>) -> Vec<&'a str> {
    marks.names.iter().filter(|name| !recorded.contains(*name)).map(String::as_str).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Marks {
        let mut marks = Marks::default();
        add("x.rs", text, &mut marks);
        marks
    }

    #[test]
    fn a_public_function_that_takes_bytes_must_be_marked() {
        let bare = "impl X {\n    pub fn open(&self, sealed: &[u8]) -> bool {\n        self.inner(sealed)\n    }\n}\n";
        assert_eq!(read(bare).unmarked, ["x.rs:2: open"]);
        for mark in ["secret::takes(\"x/open\", sealed);", "secret::ran(\"x/open\", self.arm());", "// ct: x/open"] {
            let marked = read(&bare.replace("self.inner", &format!("{mark}\n        self.inner")));
            assert_eq!(marked.unmarked, [""; 0], "{mark}");
            assert_eq!(marked.names, ["x/open".to_owned()].into(), "{mark}");
        }
        let public = read(&bare.replace("    pub fn", "    // ct: public, because it is a ciphertext\n    pub fn"));
        assert_eq!(public, Marks::default());
    }

    #[test]
    fn sizes_and_choices_need_no_mark() {
        let text = "pub fn with_cpu(cpu: Cpu, words: usize) -> Self {\n}\npub fn new<const N: usize>() -> Self {\n}\n";
        assert_eq!(read(text), Marks::default());
        assert_eq!(read("pub fn mul<const N: usize>(a: &[[u64; N]]) {\n}\n").unmarked.len(), 1);
        assert_eq!(
            read("pub fn generate(suite: S, rng: &mut (impl CryptoRng + ?Sized)) -> Self {\n}\n").unmarked.len(),
            1
        );
    }

    #[test]
    fn a_comparison_must_be_marked_though_it_is_a_traits() {
        let bare =
            "impl PartialEq for X {\n    fn eq(&self, other: &Self) -> bool {\n        self.0 == other.0\n    }\n}\n";
        assert_eq!(read(bare).unmarked, ["x.rs:2: eq"]);
        assert_eq!(
            read(&bare.replace("PartialEq", "ConstantTimeEq").replace("fn eq", "fn ct_eq")).unmarked,
            ["x.rs:2: ct_eq"]
        );
        assert_eq!(read(&bare.replace("fn eq", "fn equal")), Marks::default());
        let marked = read(&bare.replace("    fn", "    // ct: x/compare\n    fn"));
        assert_eq!(marked, Marks { names: ["x/compare".to_owned()].into(), unmarked: Vec::new() });
    }

    #[test]
    fn tests_that_are_declared_above_hide_nothing_and_those_at_the_end_are_left_out() {
        let text = "mod a;\n#[cfg(test)]\nmod vectors;\n\npub fn b(x: &[u8]) {\n}\n\n#[cfg(test)]\nmod tests {\npub fn c(x: &[u8]) {\n}\n}\n";
        assert_eq!(read(text).unmarked, ["x.rs:5: b"]);
    }

    #[test]
    fn a_mark_of_one_function_is_none_of_the_next() {
        let text = "pub fn a(x: &[u8]) {\n    secret::takes(\"a\", x);\n}\npub fn b(\n    x: &[u8],\n) {\n}\n";
        assert_eq!(read(text).unmarked, ["x.rs:4: b"]);
    }

    #[test]
    fn a_mark_that_no_case_has_recorded_is_named() {
        let marks = Marks { names: ["a".to_owned(), "b".to_owned()].into(), unmarked: Vec::new() };
        assert_eq!(unrecorded(&marks, &["a".to_owned()].into()), ["b"]);
        assert!(unrecorded(&marks, &["a".to_owned(), "b".to_owned(), "c".to_owned()].into()).is_empty());
    }

    #[test]
    fn the_rooms_are_where_this_looks() {
        let marks = super::read(&crate::workspace::Workspace::here().unwrap().root).unwrap();
        assert_eq!(marks.unmarked, [""; 0]);
        assert!(marks.names.contains("gf2-mul") && marks.names.len() > 50, "{:?}", marks.names);
    }
}
