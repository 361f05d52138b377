//! Text inside a LaTeX document.

use std::fmt::Write;

/// The text as LaTeX prints it, in any engine and any font encoding. What TeX would read as a command or join into a ligature is written out; a character
/// that not every engine has appears by its number, as `[U+4E2D]`, rather than stop the paper that includes it. Line breaks become spaces.
pub(crate) fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut last = ' ';
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' => out.push(' '),
            // Two of them become a dash or a low quotation mark.
            '-' | ',' if c == last => {
                out.push_str("{}");
                out.push(c);
            }
            '{' | '}' | '$' | '&' | '#' | '_' | '%' => out.extend(['\\', c]),
            // Brackets would end an optional argument, and begin one after `\\`.
            '[' | ']' => out.extend(['{', c, '}']),
            _ => match name(c) {
                Some(name) => out.push_str(name),
                None if c == ' ' || c.is_ascii_graphic() => out.push(c),
                None => {
                    let _ = write!(out, "{{[}}U+{:04X}{{]}}", u32::from(c));
                }
            },
        }
        last = c;
    }
    out
}

/// What stands for a character that means something else to TeX, or that a file in ASCII lacks.
fn name(c: char) -> Option<&'static str> {
    Some(match c {
        '\\' => "\\textbackslash{}",
        '~' => "\\textasciitilde{}",
        '^' => "\\textasciicircum{}",
        '<' => "\\textless{}",
        '>' => "\\textgreater{}",
        '|' => "\\textbar{}",
        // By number: as themselves they are curly, or become ligatures.
        '"' => "\\char34{}",
        '\'' => "\\char39{}",
        '`' => "\\char96{}",
        'µ' | 'μ' => "\\ensuremath{\\mu}",
        '–' => "\\textendash{}",
        '—' => "\\textemdash{}",
        '…' => "\\ldots{}",
        '×' => "\\ensuremath{\\times}",
        '±' => "\\ensuremath{\\pm}",
        '·' => "\\ensuremath{\\cdot}",
        '≥' => "\\ensuremath{\\geq}",
        '≤' => "\\ensuremath{\\leq}",
        '≠' => "\\ensuremath{\\neq}",
        '→' => "\\ensuremath{\\to}",
        '°' => "\\ensuremath{^\\circ}",
        '²' => "\\ensuremath{^2}",
        '§' => "\\S{}",
        '“' => "\\textquotedblleft{}",
        '”' => "\\textquotedblright{}",
        '‘' => "\\textquoteleft{}",
        '’' => "\\textquoteright{}",
        _ => return None,
    })
}

/// Whether TeX can read the name of a file wherever one stands. Nothing escapes the others in a way that every engine understands.
pub(crate) fn is_file_name(name: &str) -> bool {
    name.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+@ ".contains(c))
}

/// A name for `\label`: letters, digits and hyphens of a run and a task.
pub(crate) fn label(text: &str) -> String {
    text.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '-' }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// What a reader of the printed page sees.
    fn printed(tex: &str) -> String {
        let names: Vec<(char, &str)> =
            (' '..='\u{ffff}').filter(|c| *c != 'μ').filter_map(|c| Some((c, name(c)?))).collect();
        let mut out = String::new();
        let mut rest = tex;
        while !rest.is_empty() {
            if let Some((c, name)) = names.iter().find(|(_, name)| rest.starts_with(name)) {
                out.push(*c);
                rest = &rest[name.len()..];
            } else if let Some(after) = rest.strip_prefix("{[}U+").filter(|after| after.contains("{]}")) {
                let (number, after) = after.split_once("{]}").unwrap();
                out.push(char::from_u32(u32::from_str_radix(number, 16).unwrap()).unwrap());
                rest = after;
            } else if let Some(after) = rest.strip_prefix("{}") {
                rest = after;
            } else if let Some(after) = rest.strip_prefix("{[}").or(rest.strip_prefix("{]}")) {
                out.push_str(&rest[1..2]);
                rest = after;
            } else if let Some(after) = rest.strip_prefix('\\') {
                out.push_str(&after[..1]);
                rest = &after[1..];
            } else {
                let c = rest.chars().next().unwrap();
                assert!(!"{}$&#_%~^<>|\"'`[]".contains(c), "{c} stands bare in {tex}");
                out.push(c);
                rest = &rest[c.len_utf8()..];
            }
        }
        out
    }

    #[test]
    fn what_tex_would_read_as_a_command_is_written_out() {
        assert_eq!(escape("100 % of a_b & {c}"), "100 \\% of a\\_b \\& \\{c\\}");
        assert_eq!(escape("\\input{x}"), "\\textbackslash{}input\\{x\\}");
        assert_eq!(escape("--budget"), "-{}-budget");
        assert_eq!(escape("13.9 µs, 1.0 – 1.1"), "13.9 \\ensuremath{\\mu}s, 1.0 \\textendash{} 1.1");
        assert_eq!(escape("国\u{7}"), "{[}U+56FD{]}{[}U+0007{]}");
    }

    proptest! {
        /// Every text comes out in ASCII, in braces that balance, and nothing of it is lost.
        #[test]
        fn nothing_is_lost_and_nothing_is_a_command(text in "\\PC{0,40}|[ -~µ–×≥\\n\\t]{0,40}|[-,'`?!<>\\\\{}\\[\\]]{0,12}") {
            let tex = escape(&text);
            prop_assert!(tex.chars().all(|c| c == ' ' || c.is_ascii_graphic()));
            let spaced = text.replace(['\n', '\r', '\t'], " ").replace('μ', "µ");
            // A text that itself reads `[U+…]` may be taken for the number of a character.
            prop_assume!(!text.contains("[U+"));
            prop_assert_eq!(printed(&tex), spaced);
            for pair in ["--", ",,", "``", "''", "<<", ">>", "?`", "!`"] {
                prop_assert!(!tex.contains(pair), "{} in {}", pair, tex);
            }
        }
    }

    #[test]
    fn names_of_files_are_those_that_tex_reads_as_they_are() {
        assert!(is_file_name("2026-11-21-zen5-3f9c1a.tex") && is_file_name("my_run 2+3@home"));
        assert!(["a%b", "a}b", "a\\b", "a#b", "a~b", "a\nb", "ä"].into_iter().all(|name| !is_file_name(name)));
    }

    #[test]
    fn labels_have_no_character_that_tex_minds() {
        assert_eq!(label("2026-11-21-zen5-3f9c1a/hash/sha256_x"), "2026-11-21-zen5-3f9c1a-hash-sha256-x");
    }
}
