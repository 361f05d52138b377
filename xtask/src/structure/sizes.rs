//! A file is one idea of up to 600 lines, and its name says which.

use super::Violation;

const MOST_LINES: usize = 600;

/// Names that say nothing of what is inside, so that everything ends up inside.
const EMPTY_NAMES: [&str; 9] =
    ["utils", "util", "helpers", "helper", "common", "misc", "manager", "managers", "placeholder"];

/// Length and name of one Rust file.
pub(crate) fn check(file: &str, text: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    let lines = text.lines().count();
    if lines > MOST_LINES {
        found.push(Violation::new(
            file,
            MOST_LINES + 1,
            format!(
                "{lines} lines; at most {MOST_LINES} are allowed: split the file by ideas, and move tables of data out of src"
            ),
        ));
    }
    for part in file.split('/') {
        let name = part.strip_suffix(".rs").unwrap_or(part);
        if EMPTY_NAMES.contains(&name) {
            found.push(Violation::new(
                file,
                1,
                format!("the name `{name}` says nothing: name the file or folder after the idea that it holds"),
            ));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_of_601_lines_is_too_long_and_600_are_not() {
        assert!(check("a/src/b.rs", &"x\n".repeat(600)).is_empty());
        assert_eq!(check("a/src/b.rs", &"x\n".repeat(601))[0].line, 601);
    }

    #[test]
    fn empty_names_are_refused_for_files_and_folders() {
        assert_eq!(check("a/src/utils.rs", "").len(), 1);
        assert_eq!(check("a/tests/common/mod.rs", "").len(), 1);
        assert!(check("a/src/utilisation.rs", "").is_empty());
    }
}
