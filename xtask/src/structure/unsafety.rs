//! Where `unsafe` may stand, and which way the rooms of one crate may look.

use super::Violation;
use super::modules::named;
use super::strip::{find_word, line_of};

/// Folders whose purpose is `unsafe`: vector code, C libraries, the TUN device, the C interface.
const ROOMS: [&str; 4] = ["low", "peers", "tun", "ffi"];

/// In the crate `peers` only libraries are foreign code; what they implement is as safe as the rest.
const CONTRACT: &str = "crates/peers/src/contract";

/// Within one crate, what looks one way only: files whose path begins so may name these modules of their crate, or may not.
const STREETS: [(&str, Allowed); 2] =
    [(CONTRACT, Allowed::Only(&["contract", "seed"])), ("crates/subjects/src/ours", Allowed::AllBut(&["tasks"]))];

enum Allowed {
    Only(&'static [&'static str]),
    AllBut(&'static [&'static str]),
}

/// `unsafe`, and the lint's release by name, only in [`ROOMS`] and in the crate `cpu`.
pub(crate) fn check(file: &str, in_cpu: bool, code: &str) -> Vec<Violation> {
    if in_cpu || stands_in(file, &ROOMS) && !file.starts_with(CONTRACT) {
        return Vec::new();
    }
    let mut found = Vec::new();
    for (_, line) in find_word(code, "unsafe") {
        found.push(Violation::new(
            file,
            line,
            "`unsafe` outside low/, peers/, tun/, ffi/ and the crate cpu: move it into a folder of that name behind a safe \
             function",
        ));
    }
    for (at, line) in find_word(code, "unsafe_code") {
        if matches!(attribute_around(code, at), "allow" | "expect" | "warn") {
            found.push(Violation::new(
                file,
                line,
                "lifts the lint `unsafe_code` outside low/, peers/, tun/, ffi/: write `#![allow(unsafe_code)]` at the head \
                 of the file in such a folder instead",
            ));
        }
    }
    found
}

/// Files in low/ never look at mid/ or high/, files in mid/ never at high/: what is below must be readable without what is
/// above.
pub(crate) fn check_one_way(file: &str, code: &str) -> Vec<Violation> {
    let mut found = check_streets(file, code);
    let (room, forbidden): (&str, &[&str]) = if stands_in(file, &["low"]) {
        ("low", &["mid", "high"])
    } else if stands_in(file, &["mid"]) {
        ("mid", &["high"])
    } else {
        return found;
    };
    for root in ["crate", "super"] {
        for (at, _) in find_word(code, root) {
            for (name, line) in first_segments(code, at + root.len()) {
                if forbidden.contains(&name) {
                    found.push(Violation::new(
                        file,
                        line,
                        format!("{room}/ looks up at `{root}::{name}`: move what it needs down, or the caller up"),
                    ));
                }
            }
        }
    }
    found
}

/// The modules of its own crate that a file names, against [`STREETS`].
fn check_streets(file: &str, code: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    for (_, allowed) in STREETS.iter().filter(|(path, _)| file.starts_with(path)) {
        for (name, line) in named(file, code) {
            let fine = match allowed {
                Allowed::Only(names) => names.contains(&name),
                Allowed::AllBut(names) => !names.contains(&name),
            };
            if !fine {
                found.push(Violation::new(
                    file,
                    line,
                    format!("must not know `crate::{name}`, which stands on it: move what it needs down"),
                ));
            }
        }
    }
    found
}

/// Is one of the folders above the file called so?
fn stands_in(file: &str, rooms: &[&str]) -> bool {
    let folders = file.rsplit_once('/').map_or("", |(folders, _)| folders);
    folders.split('/').any(|folder| rooms.contains(&folder))
}

/// The word before the parenthesis that encloses `at`: `allow` in `#[cfg_attr(x, allow(missing_docs, unsafe_code))]`.
fn attribute_around(code: &str, at: usize) -> &str {
    let mut depth = 0_usize;
    for (open, c) in code[..at].char_indices().rev() {
        match c {
            ')' => depth += 1,
            '(' if depth == 0 => {
                let before = code[..open].trim_end();
                let start = before.rfind(|c: char| c != '_' && !c.is_alphanumeric()).map_or(0, |i| i + 1);
                return before.get(start..).unwrap_or("");
            }
            '(' => depth -= 1,
            '[' | ';' | '{' if depth == 0 => return "",
            _ => {}
        }
    }
    ""
}

/// What comes right after `crate` or `super` in a path, with its line: one name, or in a group (`::{a, b::c}`) one each.
pub(super) fn first_segments(code: &str, mut at: usize) -> Vec<(&str, usize)> {
    at += space(&code[at..]);
    let Some(rest) = code[at..].strip_prefix("::") else { return Vec::new() };
    at = code.len() - rest.len();
    at += space(&code[at..]);
    if !code[at..].starts_with('{') {
        return Vec::from([(name_at(code, at), line_of(code, at))]);
    }
    let mut found = Vec::new();
    let mut depth = 0_usize;
    let mut fresh = false;
    for (offset, c) in code[at..].char_indices() {
        match c {
            '{' => {
                depth += 1;
                fresh = depth == 1;
            }
            '}' if depth <= 1 => break,
            '}' => depth -= 1,
            ',' => fresh = depth == 1,
            c if fresh && !c.is_whitespace() => {
                found.push((name_at(code, at + offset), line_of(code, at + offset)));
                fresh = false;
            }
            _ => {}
        }
    }
    found
}

fn space(text: &str) -> usize {
    text.len() - text.trim_start().len()
}

fn name_at(code: &str, at: usize) -> &str {
    let rest = &code[at..];
    &rest[..rest.find(|c: char| c != '_' && !c.is_alphanumeric()).unwrap_or(rest.len())]
}

#[cfg(test)]
mod tests {
    use super::super::strip::strip;
    use super::*;

    fn lines(file: &str, source: &str) -> Vec<usize> {
        check(file, false, &strip(source)).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn unsafe_stands_only_in_its_rooms() {
        let source = "fn f() {\n    unsafe { g() }\n}\n";
        assert_eq!(lines("crates/primitives/src/kem.rs", source), [2]);
        assert_eq!(lines("crates/primitives/src/low.rs", source), [2]);
        assert_eq!(lines("crates/yellow/src/a.rs", source), [2]);
        assert!(lines("crates/primitives/src/low/x86_64/sha.rs", source).is_empty());
        assert!(lines("crates/peers/src/openssl.rs", source).is_empty());
        assert_eq!(lines("crates/peers/src/contract/hash.rs", source), [2]);
        assert!(check("crates/cpu/src/token.rs", true, source).is_empty());
    }

    #[test]
    fn a_lower_module_names_none_above_it() {
        let lines = |file, source: &str| -> Vec<usize> {
            check_one_way(file, &strip(source)).iter().map(|violation| violation.line).collect()
        };
        let source = "use crate::contract::hash;\nuse crate::seed::Stream;\nuse crate::{ring, linked::package};\n";
        assert_eq!(lines("crates/peers/src/contract/mac.rs", source), [3, 3]);
        assert!(lines("crates/peers/src/ring.rs", source).is_empty());
        let source = "use crate::ours::town;\nuse crate::tasks::hash;\n";
        assert_eq!(lines("crates/subjects/src/ours/hash.rs", source), [2]);
        assert!(lines("crates/subjects/src/tasks/hash.rs", source).is_empty());
    }

    #[test]
    fn the_word_in_a_comment_or_a_message_is_no_code() {
        assert!(lines("a/src/b.rs", "// unsafe\nconst WHY: &str = \"unsafe\"; /* unsafe */\n").is_empty());
    }

    #[test]
    fn lifting_the_lint_needs_the_same_room() {
        assert_eq!(lines("a/src/b.rs", "\n#![allow(unsafe_code)]\n"), [2]);
        assert_eq!(lines("a/src/b.rs", "#[cfg_attr(test, allow(dead_code, unsafe_code))]\nmod low;\n"), [1]);
        assert_eq!(lines("a/src/b.rs", "#[expect(unsafe_code)]\nmod low;\n"), [1]);
        assert!(lines("a/src/b.rs", "#![forbid(unsafe_code)]\n#![deny(unsafe_code)]\n").is_empty());
        assert!(lines("a/src/low/b.rs", "#![allow(unsafe_code)]\n").is_empty());
    }

    fn upward(file: &str, source: &str) -> Vec<usize> {
        check_one_way(file, &strip(source)).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn low_never_looks_at_mid_or_high() {
        let low = "crates/p/src/low/a.rs";
        assert_eq!(upward(low, "use crate::mid::X;\n"), [1]);
        assert_eq!(upward(low, "\nfn f() { crate :: high::g() }\n"), [2]);
        assert_eq!(upward(low, "use crate::{\n    low::b,\n    mid::{c, d},\n};\n"), [3]);
        assert_eq!(upward(low, "use super::super::high::X;\n"), [1]);
        assert!(upward(low, "use crate::low::mid::X;\nuse crate::{low::{high, x}, midway};\n").is_empty());
    }

    #[test]
    fn mid_never_looks_at_high_but_may_look_down() {
        assert_eq!(upward("crates/p/src/mid/a.rs", "use crate::high::X;\n"), [1]);
        assert!(upward("crates/p/src/mid/a.rs", "use crate::low::X;\n").is_empty());
        assert!(upward("crates/p/src/high/a.rs", "use crate::{low::X, mid::Y};\n").is_empty());
    }

    #[test]
    fn a_group_that_is_never_closed_does_not_panic() {
        upward("a/low/b.rs", "use crate::{mid, {");
        upward("a/low/b.rs", "use crate::");
        upward("a/low/b.rs", "crate");
    }
}
