//! Passwords, from text and from bytes.

use crate::Error;
use crate::error::PasswordError;
use crate::oprf::LONGEST_INPUT;
use core::fmt;
#[cfg(feature = "unicode")]
use zeroize::Zeroizing;

/// A password as the protocol takes it: one to 65535 bytes. What was copied is wiped on drop.
///
/// The protocol works on bytes, and one character can be typed as different bytes on different machines. So a password that
/// people type comes from [`Self::from_text`]; every client of a deployment must prepare it the same way. [`Self::from_bytes`]
/// takes bytes as they are, for what is no text and for accounts made by other libraries, which do not prepare.
///
/// The empty password is refused: RFC 8265 §4.2.1 demands it, and an empty field is a mistake and not a secret. More than 65535
/// bytes are refused because RFC 9497 has no encoding for them; nothing is ever cut off silently.
///
/// ```
/// use candor_opaque::Password;
/// # #[cfg(feature = "unicode")] {
/// // é as one character and as e with an accent: the same password.
/// assert!(Password::from_text("caf\u{e9}")? == Password::from_text("cafe\u{301}")?);
/// # }
/// assert!(Password::from_bytes(b"").is_err());
/// # Ok::<(), candor_opaque::Error>(())
/// ```
pub struct Password<'a>(Bytes<'a>);

enum Bytes<'a> {
    Borrowed(&'a [u8]),
    #[cfg(feature = "unicode")]
    Prepared(Zeroizing<alloc::string::String>),
}

impl<'a> Password<'a> {
    /// These bytes, as they are.
    ///
    /// # Errors
    /// [`Error::Password`] if there are none, or more than 65535.
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Error> {
        expect_usable(bytes.len())?;
        Ok(Self(Bytes::Borrowed(bytes)))
    }

    /// The bytes of a text, prepared after the profile OpaqueString of RFC 8265 §4.2: spaces of other scripts become the ASCII
    /// space, then Unicode normalisation form C. Control characters are refused.
    ///
    /// Unlike the profile this does not refuse characters that Unicode has not assigned: with a table of them, a password that
    /// was taken by a new version of a client would be refused by an old one.
    ///
    /// # Errors
    /// [`Error::Password`] if the text is empty, has a control character, or comes to more than 65535 bytes.
    #[cfg(feature = "unicode")]
    pub fn from_text(text: &str) -> Result<Self, Error> {
        use unicode_normalization::UnicodeNormalization;

        if text.chars().any(char::is_control) {
            return Err(Error::Password(PasswordError::Control));
        }
        // Taken at once, so that growing leaves no copies behind. A character has at most four bytes.
        let mut prepared = Zeroizing::new(alloc::string::String::with_capacity(LONGEST_INPUT + 4));
        for character in text.chars().map(as_space).nfc() {
            prepared.push(character);
            expect_usable(prepared.len())?;
        }
        expect_usable(prepared.len())?;
        Ok(Self(Bytes::Prepared(prepared)))
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Borrowed(bytes) => bytes,
            #[cfg(feature = "unicode")]
            Bytes::Prepared(text) => text.as_bytes(),
        }
    }
}

impl PartialEq for Password<'_> {
    /// In constant time for passwords of the same length.
    fn eq(&self, other: &Self) -> bool {
        subtle::ConstantTimeEq::ct_eq(self.as_bytes(), other.as_bytes()).into()
    }
}

impl Eq for Password<'_> {}

impl fmt::Debug for Password<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Password(..)")
    }
}

fn expect_usable(length: usize) -> Result<(), Error> {
    match length {
        0 => Err(Error::Password(PasswordError::Empty)),
        1..=LONGEST_INPUT => Ok(()),
        _ => Err(Error::Password(PasswordError::TooLong)),
    }
}

/// The space separators of Unicode (category Zs) become the ASCII space.
#[cfg(feature = "unicode")]
fn as_space(character: char) -> char {
    match character {
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        other => other,
    }
}

#[cfg(all(test, feature = "unicode"))]
mod tests {
    use super::*;
    use alloc::string::String;

    fn prepared(text: &str) -> String {
        String::from_utf8(Password::from_text(text).unwrap().as_bytes().to_vec()).unwrap()
    }

    /// RFC 8265 §4.3, table 3: examples of what is taken.
    #[test]
    fn the_rfcs_examples_are_prepared_as_it_says() {
        for text in ["correct horse battery staple", "Correct Horse Battery Staple", "πßå", "Jack of ♦s"] {
            assert_eq!(prepared(text), text);
        }
        assert_eq!(prepared("foo\u{1680}bar"), "foo bar");
    }

    #[test]
    fn the_same_characters_are_the_same_password_however_they_are_typed() {
        assert_eq!(prepared("e\u{301}"), "\u{e9}");
        assert_eq!(prepared("\u{212b}"), "\u{c5}");
        // Form C, not KC: a ligature and a full-width letter stay what they are.
        assert_eq!(prepared("\u{fb01}"), "\u{fb01}");
        assert_eq!(prepared("\u{ff21}"), "\u{ff21}");
    }

    #[test]
    fn empty_too_long_and_control_characters_are_refused() {
        let refused = |text: &str| Password::from_text(text).is_err();
        assert!(refused(""));
        assert!(refused("tab\tbed"));
        assert!(refused("null\0"));
        assert!(!refused(&"x".repeat(65535)));
        assert!(refused(&"x".repeat(65536)));
        assert!(refused(&"\u{e9}".repeat(32768)));
        assert!(refused(&"x".repeat(1 << 20)));
        assert!(Password::from_bytes(&[0; 1 << 20]).is_err());
        assert!(Password::from_bytes(&[0; 65535]).is_ok());
    }
}
