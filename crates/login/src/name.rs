//! Names of accounts.

use candor_opaque::Password;
use candor_opaque::error::PasswordError;
use std::fmt;
use unicode_normalization::UnicodeNormalization;

/// The most bytes of a name's key.
const LONGEST: usize = 256;

/// The name of an account: as its owner wrote it, and the key under which it is found.
///
/// Names that differ only in Unicode form, in width or in case have the same key and are one name: the key is RFC 8265's UsernameCaseMapped
/// (§3.3) with normalisation form KC in place of C, so that no two names look alike for being full-width or a ligature. Characters that
/// [`Password::from_text`] refuses are refused here too, and so are spaces.
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
    if prepared.contains(' ') { Err(NameError::Space) } else { Ok(prepared) }
}

/// Lower case in form KC; the second pass takes what lower case has taken apart.
fn folded(text: &str) -> String {
    let lower: String = text.nfkc().flat_map(char::to_lowercase).collect();
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
    /// It has a control character, an invisible one, or one for private use.
    #[error("name contains a control character, an invisible character or one for private use")]
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
            &["\u{3c3}\u{3c3}", "\u{3a3}\u{3a3}"],
            &["\u{1100}x", "\u{1100}x"][..0],
        ] {
            for form in forms {
                assert_eq!(key(form), key(forms[0]), "{form:?}");
            }
        }
        assert_ne!(key("alice"), key("alicf"));
        assert_ne!(key("jose"), key("jos\u{e9}"));
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
        assert_eq!(refused(&"x".repeat(257)), NameError::TooLong);
        assert_eq!(refused(&"x".repeat(1 << 20)), NameError::TooLong);
        assert_eq!(UserName::parse(&"x".repeat(256)).unwrap().key().len(), 256);
    }
}
