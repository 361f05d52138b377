//! The members' manifests: a reason beside each dependency, and the workspace's lints in force.

use super::Violation;

/// Each line of a dependency table has a comment beside or above it; one above a group holds until the next blank line.
/// Our own crates need none: the diagram in ARCHITECTURE.md is their reason.
pub(crate) fn check_comments(file: &str, text: &str, ours: &[&str]) -> Vec<Violation> {
    let mut found = Vec::new();
    let mut in_table = false;
    let mut reason = false;
    let mut open = 0_i32;
    for (index, raw) in text.lines().enumerate() {
        let (code, comment) = split_comment(raw);
        let code = code.trim();
        if open > 0 {
            // The rest of a value that spans lines.
            open += balance(code);
            continue;
        }
        if code.is_empty() {
            reason = comment || (reason && !raw.trim().is_empty());
            continue;
        }
        if let Some(header) = code.strip_prefix('[') {
            let header = header.trim_end_matches(']').trim();
            let one = single_dependency(header);
            in_table = one.is_none() && is_dependency_table(header);
            if let Some(name) = one
                && !(reason || comment || ours.contains(&name))
            {
                found.push(missing(file, index + 1, name));
            }
            // A comment above the header speaks of the table, not of each line in it.
            reason = in_table && comment;
            continue;
        }
        open = balance(code).max(0);
        if !in_table {
            continue;
        }
        let name = code.split(['=', '.', ' ']).next().unwrap_or("").trim_matches(['"', '\'']);
        if !(reason || comment || ours.contains(&name)) {
            found.push(missing(file, index + 1, name));
        }
    }
    found
}

fn missing(file: &str, line: usize, name: &str) -> Violation {
    Violation::new(
        file,
        line,
        format!("the dependency `{name}` has no comment: say above or beside it why it is there"),
    )
}

/// The lints of the workspace (which deny `unsafe`) hold in a member only if its manifest says so.
pub(crate) fn check_lints(file: &str, text: &str) -> Vec<Violation> {
    let in_force = text.parse::<toml::Table>().is_ok_and(|manifest| {
        manifest.get("lints").and_then(|lints| lints.get("workspace")).and_then(toml::Value::as_bool) == Some(true)
    });
    if in_force {
        return Vec::new();
    }
    Vec::from([Violation::new(
        file,
        1,
        "the workspace's lints are not in force here: add `[lints]` with `workspace = true`",
    )])
}

/// A line's code, and whether a comment that says something follows it. A `#` inside a string begins none.
fn split_comment(line: &str) -> (&str, bool) {
    let mut quote = None;
    let mut escaped = false;
    for (at, c) in line.char_indices() {
        match (quote, c) {
            _ if escaped => escaped = false,
            (Some('"'), '\\') => escaped = true,
            (Some(open), c) if c == open => quote = None,
            (None, '"' | '\'') => quote = Some(c),
            (None, '#') => return (&line[..at], line[at..].chars().any(char::is_alphabetic)),
            _ => {}
        }
    }
    (line, false)
}

/// Brackets opened less brackets closed, outside strings.
fn balance(code: &str) -> i32 {
    let mut quote = None;
    let mut open = 0;
    for c in code.chars() {
        match (quote, c) {
            (Some(q), c) if c == q => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'') => quote = Some(c),
            (None, '[' | '{') => open += 1,
            (None, ']' | '}') => open -= 1,
            _ => {}
        }
    }
    open
}

const TABLES: [&str; 3] = ["dependencies", "dev-dependencies", "build-dependencies"];

fn is_dependency_table(header: &str) -> bool {
    let last = header.rsplit('.').next().unwrap_or(header);
    TABLES.contains(&last.trim())
}

/// `serde` of `[dependencies.serde]`.
fn single_dependency(header: &str) -> Option<&str> {
    let (table, name) = header.rsplit_once('.')?;
    is_dependency_table(table).then(|| name.trim().trim_matches(['"', '\'']))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check_comments("Cargo.toml", text, &["candor-cpu"]).iter().map(|violation| violation.line).collect()
    }

    #[test]
    fn a_dependency_without_a_reason_is_found() {
        assert_eq!(lines("[dependencies]\nsubtle = \"2\"\n"), [2]);
        assert_eq!(lines("[dependencies]\n# Why.\nsubtle = \"2\"\n\nzeroize = \"1\"\n"), [5]);
        assert_eq!(lines("# Of the table.\n[dependencies]\nsubtle = \"2\"\n"), [3]);
        assert_eq!(lines("[target.'cfg(unix)'.dependencies]\nnix.workspace = true\n"), [2]);
        assert_eq!(lines("[dev-dependencies.proptest]\nversion = \"1\"\n"), [1]);
        assert_eq!(lines("[workspace.dependencies]\n#\nserde = \"1\"\n"), [3]);
        assert_eq!(lines("[dependencies]\nserde = \"1#not a comment\"\n"), [2]);
    }

    #[test]
    fn a_comment_above_beside_or_over_the_group_is_a_reason() {
        assert!(lines("[dependencies]\n# Why.\nsubtle = \"2\"\nzeroize.workspace = true\n").is_empty());
        assert!(lines("[dependencies]\nsubtle = \"2\" # Why.\n").is_empty());
        assert!(lines("# Why.\n[dev-dependencies.proptest]\nversion = \"1\"\n").is_empty());
        assert!(
            lines("[dependencies]\n# Why.\nserde = { features = [\n    \"derive\",\n] }\nserde_json = \"1\"\n")
                .is_empty()
        );
    }

    #[test]
    fn our_own_crates_need_no_reason_and_other_tables_are_left_alone() {
        assert!(lines("[dependencies]\ncandor-cpu.workspace = true\n").is_empty());
        assert!(lines("[features]\ndefault = [\"std\"]\n[package]\nname = \"x\"\n").is_empty());
    }

    #[test]
    fn lints_must_be_in_force() {
        assert!(check_lints("Cargo.toml", "[lints]\nworkspace = true\n").is_empty());
        assert!(check_lints("Cargo.toml", "lints.workspace = true\n").is_empty());
        assert_eq!(check_lints("Cargo.toml", "[lints.rust]\nunsafe_code = \"allow\"\n").len(), 1);
        assert_eq!(check_lints("Cargo.toml", "[lints\n").len(), 1);
    }
}
