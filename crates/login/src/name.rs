//! Names of accounts.

use candor_opaque::Password;
use candor_opaque::error::PasswordError;
use std::fmt;
use unicode_normalization::UnicodeNormalization;
use unicode_normalization::char::is_combining_mark;

/// The most bytes of a name's key.
const LONGEST: usize = 256;
/// A letter of Braille without dots, which looks like a space.
const EMPTY_CELL: char = '\u{2800}';

/// The name of an account: as its owner wrote it, and the key under which it is found.
///
/// Names that differ only in Unicode form, in width or in case have the same key and are one name: the key is RFC 8265's UsernameCaseMapped
/// (§3.3), with two changes. Normalisation form KC takes the place of C, so that no two names look alike for being full-width or a ligature. And letters that
/// have the same capitals are the same letter: `ς` is `σ`, `ß` is `ss`, `ı` is `i`. So an owner finds the account with the caps lock on, too. Characters that
/// [`Password::from_text`] refuses are refused here as well, and so are spaces, the empty Braille cell, and combining marks at the beginning.
///
/// OPAQUE is given the key ([`Self::key`]) as the name.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct UserName {
    shown: String,
    key: String,
}

impl UserName {
    /// Reads a name.
    ///
    /// # Errors
    /// [`NameError`] if it is empty, longer than 256 bytes, or has a character that no name may have.
    pub fn parse(text: &str) -> Result<Self, NameError> {
        if text.len() > 4 * LONGEST {
            return Err(NameError::TooLong);
        }
        let shown = prepared(text)?;
        let key = folded(&shown);
        // Folding twice must change nothing, or one name had two keys.
        let again = folded(&prepared(&key)?);
        match key.len() {
            0 => Err(NameError::Empty),
            1..=LONGEST if again == key => Ok(Self { shown, key }),
            1..=LONGEST => Err(NameError::Unstable),
            _ => Err(NameError::TooLong),
        }
    }

    /// As its owner wrote it, in normalisation form C.
    #[must_use]
    pub fn shown(&self) -> &str {
        &self.shown
    }

    /// What it is compared by.
    #[must_use]
    pub fn key(&self) -> &str {
        &self.key
    }

    /// A name that the database has kept.
    pub(crate) fn stored(shown: String, key: String) -> Self {
        Self { shown, key }
    }
}

fn prepared(text: &str) -> Result<String, NameError> {
    let prepared = Password::from_text(text).map_err(|error| match error {
        candor_opaque::Error::Password(PasswordError::Empty) => NameError::Empty,
        candor_opaque::Error::Password(PasswordError::TooLong) => NameError::TooLong,
        _ => NameError::Character,
    })?;
    let prepared = String::from_utf8_lossy(prepared.as_bytes()).into_owned();
    if prepared.contains(' ') {
        return Err(NameError::Space);
    }
    if prepared.contains(EMPTY_CELL) || prepared.starts_with(is_combining_mark) {
        return Err(NameError::Character);
    }
    Ok(prepared)
}

/// Lower case of upper case, in form KC: lower case alone keeps letters apart that have the same capitals. The second pass takes what the change of case has
/// taken apart.
fn folded(text: &str) -> String {
    let upper = text.nfkc().flat_map(char::to_lowercase).flat_map(char::to_uppercase);
    let lower: String = upper.flat_map(char::to_lowercase).collect();
    lower.nfkc().collect()
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

impl fmt::Debug for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "UserName({:?})", self.shown)
    }
}

/// Why a text can't be the name of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NameError {
    /// It is empty.
    #[error("name is empty")]
    Empty,
    /// It is too long.
    #[error("name is longer than 256 bytes")]
    TooLong,
    /// It has a space.
    #[error("name contains a space")]
    Space,
    /// It has a control character, an invisible one, or one for private use, or begins with a combining mark.
    #[error(
        "name contains a control character, an invisible character or one for private use, or begins with a combining mark"
    )]
    Character,
    /// It changes again when it is normalised twice.
    #[error("name contains a character that has no stable lower-case form; leave it out")]
    Unstable,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(text: &str) -> String {
        UserName::parse(text).unwrap().key().to_owned()
    }

    #[test]
    fn forms_of_one_name_have_one_key() {
        for forms in [
            &["jos\u{e9}", "jose\u{301}", "JOSE\u{301}", "Jos\u{e9}"][..],
            &["alice@example.org", "Alice@Example.ORG", "\u{ff21}lice@example.org"],
            &["\u{fb01}n", "fin", "FIN"],
            // Final sigma, sharp s in both cases, dotless i, iota subscript, Cherokee.
            &["\u{3c3}\u{3c2}", "\u{3c3}\u{3c3}", "\u{3a3}\u{3a3}"],
            &["gro\u{df}", "GROSS", "gross", "GRO\u{1e9e}"],
            &["\u{131}l\u{131}k", "ILIK", "ilik"],
            &["\u{1fb3}", "\u{391}\u{399}", "\u{3b1}\u{3b9}"],
            &["\u{13a0}", "\u{ab70}"],
        ] {
            for form in forms {
                assert_eq!(key(form), key(forms[0]), "{form:?}");
            }
        }
        assert_ne!(key("alice"), key("alicf"));
        assert_ne!(key("jose"), key("jos\u{e9}"));
    }

    #[test]
    fn every_character_has_one_key_in_both_cases() {
        let mut changed = 0;
        for character in ('\0'..=char::MAX).filter(|character| !is_combining_mark(*character)) {
            // Inside a word and at its end, where sigma has another form.
            for text in [format!("1{character}1"), format!("1{character}")] {
                for other in [text.to_uppercase(), text.to_lowercase()].iter().filter(|other| **other != text) {
                    let Ok(name) = UserName::parse(&text) else { continue };
                    assert_eq!(
                        UserName::parse(other).as_ref().map(UserName::key),
                        Ok(name.key()),
                        "{text:?}, {other:?}"
                    );
                    changed += 1;
                }
            }
        }
        // There are about 1,400 capitals.
        assert!(changed > 5000, "{changed}");
    }

    #[test]
    fn a_name_is_shown_as_it_was_written() {
        let name = UserName::parse("Jose\u{301}").unwrap();
        assert_eq!((name.shown(), name.key()), ("Jos\u{e9}", "jos\u{e9}"));
    }

    #[test]
    fn names_that_nobody_could_read_are_refused() {
        let refused = |text: &str| UserName::parse(text).unwrap_err();
        assert_eq!(refused(""), NameError::Empty);
        assert_eq!(refused("a b"), NameError::Space);
        assert_eq!(refused("a\u{a0}b"), NameError::Space);
        assert_eq!(refused("a\0b"), NameError::Character);
        assert_eq!(refused("a\u{200b}b"), NameError::Character);
        assert_eq!(refused("\u{2800}"), NameError::Character);
        assert_eq!(refused("\u{345}"), NameError::Character);
        assert_eq!(key("a\u{2801}b\u{345}"), "a\u{2801}b\u{3b9}");
        assert_eq!(refused(&"x".repeat(257)), NameError::TooLong);
        assert_eq!(refused(&"x".repeat(1 << 20)), NameError::TooLong);
        assert_eq!(UserName::parse(&"x".repeat(256)).unwrap().key().len(), 256);
    }
}
