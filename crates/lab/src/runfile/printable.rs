//! Strings of a run are printed to terminals, and anybody may have written the run. A character that moves the cursor, begins a line or turns the direction
//! of writing is therefore read as its escape: `\u001b` is six characters then, wherever it is printed.

use std::borrow::Cow;

/// Whether a terminal would do something else with the character than show it.
pub(super) fn is_unprintable(c: char) -> bool {
    c.is_control() || matches!(c, '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

/// A line of JSON, in whose strings each such character is replaced by its escape.
pub(super) fn printable(line: &str) -> Cow<'_, str> {
    let (json, end) = line.strip_suffix('\n').map_or((line, ""), |json| (json, "\n"));
    if !json.contains(|c| c == '\\' || is_unprintable(c)) {
        return line.into();
    }
    let mut text = String::with_capacity(line.len());
    let mut rest = json;
    while let Some(c) = rest.chars().next() {
        // An escape in JSON is a backslash and a character, or a backslash, u and four digits.
        let length = match (c, rest.as_bytes().get(1)) {
            ('\\', Some(b'u')) => 6,
            ('\\', Some(_)) => 2,
            _ => c.len_utf8(),
        };
        // A line with a broken escape is no JSON, whatever becomes of it here.
        let Some((part, others)) = rest.split_at_checked(length) else { break };
        let digits = part.strip_prefix("\\u").and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let escaped = digits.and_then(char::from_u32).is_some_and(is_unprintable);
        match part {
            _ if escaped || matches!(part, "\\n" | "\\r" | "\\t" | "\\b" | "\\f") => text.extend(["\\", part]),
            _ if is_unprintable(c) => text += &format!("\\\\u{:04x}", u32::from(c)),
            _ => text += part,
        }
        rest = others;
    }
    text += rest;
    text += end;
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(line: &str) -> String {
        serde_json::from_str(&printable(line)).unwrap()
    }

    #[test]
    fn what_would_move_the_cursor_is_read_as_its_escape() {
        for (line, found) in [
            (r#""plain \"quoted\" \\ \/ \u00e9 é""#, r#"plain "quoted" \ / é é"#),
            (r#""\u001b[2J""#, r"\u001b[2J"),
            (r#""a\nb\tc\r""#, r"a\nb\tc\r"),
            (r#""\\n""#, r"\n"),
            ("\"\u{9b}2J\u{7f}\"", r"\u009b2J\u007f"),
            ("\"\u{202e}\"", r"\u202e"),
            (r#""\u202E""#, r"\u202E"),
            (r#""\ud83d\ude00""#, "😀"),
        ] {
            assert_eq!(read(line), found, "{line}");
        }
    }

    #[test]
    fn a_line_without_such_characters_is_left_as_it_is() {
        for line in ["{\"kind\":\"seal\"}\n", "", "\n", "é"] {
            assert!(matches!(printable(line), Cow::Borrowed(same) if same == line));
        }
        // Broken escapes stay broken.
        for line in ["\"\\", "\"\\u00", "\"\\u00é0\"", "\"\\x\""] {
            assert!(serde_json::from_str::<String>(&printable(line)).is_err(), "{line}");
        }
    }

    proptest! {
        #[test]
        fn no_string_is_read_with_a_character_that_is_not_shown(text in any::<String>()) {
            let found = read(&serde_json::to_string(&text).unwrap());
            prop_assert!(!found.contains(is_unprintable));
            if !text.contains(is_unprintable) {
                prop_assert_eq!(found, text);
            }
        }

        #[test]
        fn no_line_makes_it_panic(line in any::<String>()) {
            let _ = printable(&line);
        }
    }
}
