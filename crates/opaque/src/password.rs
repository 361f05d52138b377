//! Passwords, from text and from bytes.

use crate::Error;
use crate::error::PasswordError;
use crate::oprf::LONGEST_INPUT;
use candor_cpu::secret;
use core::fmt;
use zeroize::Zeroizing;

/// A password as the protocol takes it: one to 65535 bytes. What was copied is wiped on drop.
///
/// The protocol works on bytes, and one character can be typed as different bytes on different machines. So a password that
/// people type comes from `from_text`; every client of a deployment must prepare it the same way. [`Self::from_bytes`]
/// takes bytes as they are: for secrets that are not text, and for accounts made by libraries that do not prepare passwords.
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
    Prepared(Zeroizing<alloc::string::String>),
}

impl<'a> Password<'a> {
    /// These bytes, as they are.
    ///
    /// # Errors
    /// [`Error::Password`] if there are none, or more than 65535.
    // ct: public, because only the length is looked at
    pub fn from_bytes(bytes: &'a [u8]) -> Result<Self, Error> {
        expect_usable(bytes.len())?;
        Ok(Self(Bytes::Borrowed(bytes)))
    }

    /// The bytes of a text, prepared as the profile OpaqueString of RFC 8265 §4.2 says: spaces of other scripts become the ASCII space, then
    /// the text is put into Unicode normalisation form C. These characters are refused: control and format characters, invisible characters
    /// (zero-width space, directional marks, variation selectors), separators of lines and paragraphs, characters for private use, non-characters,
    /// old Hangul jamo, and the few that RFC 8264 §9.6 excludes by name. The joiners U+200C and U+200D are refused except after a virama.
    ///
    /// It differs from the profile in three ways, each so that no two versions of a client disagree about a password: it takes characters
    /// that its version of Unicode has not assigned; it refuses U+200C between letters that join, where the profile looks at a table of
    /// joining types; and it takes the seven kinds of characters for which the profile looks at the neighbours (CONTEXTO) anywhere.
    ///
    /// # Errors
    /// [`Error::Password`] if the text is empty, has a character that is refused, or comes to more than 65535 bytes.
    #[cfg(feature = "unicode")]
    pub fn from_text(text: &str) -> Result<Self, Error> {
        use unicode_normalization::UnicodeNormalization;

        candor_primitives::stack::clearing::<2048, _>(|| {
            check_characters(text)?;
            // Taken at once, so that growing leaves no copies behind. A character has at most four bytes.
            let mut prepared = Zeroizing::new(alloc::string::String::with_capacity(LONGEST_INPUT + 4));
            for character in text.chars().map(as_space).nfc() {
                prepared.push(character);
                expect_usable(prepared.len())?;
            }
            expect_usable(prepared.len())?;
            Ok(Self(Bytes::Prepared(prepared)))
        })
    }

    /// The same with another's normalisation, for programs that are too small to bring Unicode's tables, such as a module for web pages. `nfc` puts a
    /// text into normalisation form C; it is not asked for texts of ASCII characters alone, which are in it. Whoever passes one answers for its version of
    /// Unicode: the form of a character is stable from the version that assigns it on, and unassigned characters stay as they are.
    ///
    /// ```
    /// use candor_opaque::Password;
    /// let password = Password::from_text_with("caf\u{e9}", |text| text.to_owned().into())?;
    /// assert_eq!(password.as_bytes(), "café".as_bytes());
    /// # Ok::<(), candor_opaque::Error>(())
    /// ```
    ///
    /// # Errors
    /// As [`from_text`](Self::from_text) with the feature `unicode`.
    // ct: public, because preparing a text looks at its characters either way, as SOUNDNESS.md says
    pub fn from_text_with(
        text: &str,
        nfc: impl FnOnce(&str) -> Zeroizing<alloc::string::String>,
    ) -> Result<Self, Error> {
        candor_primitives::stack::clearing::<2048, _>(|| {
            check_characters(text)?;
            // No space is longer than what it stands for.
            let mut spaced = Zeroizing::new(alloc::string::String::with_capacity(text.len()));
            spaced.extend(text.chars().map(as_space));
            let prepared = if spaced.is_ascii() { spaced } else { nfc(&spaced) };
            expect_usable(prepared.len())?;
            Ok(Self(Bytes::Prepared(prepared)))
        })
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        match &self.0 {
            Bytes::Borrowed(bytes) => bytes,
            Bytes::Prepared(text) => text.as_bytes(),
        }
    }
}

impl PartialEq for Password<'_> {
    /// In constant time for passwords of the same length.
    fn eq(&self, other: &Self) -> bool {
        secret::takes("opaque/password-compare", self.as_bytes());
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

/// Refuses the characters that FreeformClass (RFC 8264 §4.3) does not have, in so far as Unicode will not change them.
fn check_characters(text: &str) -> Result<(), Error> {
    let mut before = None;
    for character in text.chars() {
        let after_virama = before.is_some_and(is_virama);
        let refused = match character {
            c if c.is_control() || is_format(c) => Some(PasswordError::Control),
            '\u{200c}' | '\u{200d}' if after_virama => None,
            c if is_ignorable(c) || is_noncharacter(c) || is_separator(c) => Some(PasswordError::Invisible),
            c if is_old_jamo(c) => Some(PasswordError::OldJamo),
            c if is_private(c) || is_excluded(c) => Some(PasswordError::Disallowed),
            _ => None,
        };
        if let Some(cause) = refused {
            return Err(Error::Password(cause));
        }
        before = Some(character);
    }
    Ok(())
}

/// The characters of canonical combining class 9 (Unicode 18).
fn is_virama(character: char) -> bool {
    matches!(character,
        '\u{94d}' | '\u{9cd}' | '\u{a4d}' | '\u{acd}' | '\u{b4d}' | '\u{bcd}' | '\u{c4d}' | '\u{ccd}' | '\u{d3b}'..='\u{d3c}'
        | '\u{d4d}' | '\u{dca}' | '\u{e3a}' | '\u{eba}' | '\u{f84}' | '\u{1039}'..='\u{103a}' | '\u{1714}'..='\u{1715}' | '\u{1734}'
        | '\u{17d2}' | '\u{1a60}' | '\u{1b44}' | '\u{1baa}'..='\u{1bab}' | '\u{1bf2}'..='\u{1bf3}' | '\u{2d7f}' | '\u{a806}'
        | '\u{a82c}' | '\u{a8c4}' | '\u{a953}' | '\u{a9c0}' | '\u{aaf6}' | '\u{abed}' | '\u{10a3f}' | '\u{11046}' | '\u{11070}'
        | '\u{1107f}' | '\u{110b9}' | '\u{11133}'..='\u{11134}' | '\u{111c0}' | '\u{11235}' | '\u{112ea}' | '\u{1134d}'
        | '\u{113ce}'..='\u{113d0}' | '\u{11442}' | '\u{114c2}' | '\u{115bf}' | '\u{1163f}' | '\u{116b6}' | '\u{1172b}' | '\u{11839}'
        | '\u{1193d}'..='\u{1193e}' | '\u{119e0}' | '\u{11a34}' | '\u{11a47}' | '\u{11a99}' | '\u{11c3f}' | '\u{11d44}'..='\u{11d45}'
        | '\u{11d97}' | '\u{11f41}'..='\u{11f42}' | '\u{1612f}')
}

/// The property Default_Ignorable_Code_Point: characters that are not seen, among them places that Unicode keeps for more of them.
fn is_ignorable(character: char) -> bool {
    matches!(character,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}' | '\u{180b}'..='\u{180f}'
        | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
        | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// U+FDD0 to U+FDEF, and the last two of each plane.
fn is_noncharacter(character: char) -> bool {
    matches!(character, '\u{fdd0}'..='\u{fdef}') || u32::from(character) & 0xfffe == 0xfffe
}

/// The separators of lines and paragraphs (categories Zl and Zp), which are no spaces.
fn is_separator(character: char) -> bool {
    matches!(character, '\u{2028}' | '\u{2029}')
}

/// Characters for private use (category Co), which look different in every font.
fn is_private(character: char) -> bool {
    matches!(character, '\u{e000}'..='\u{f8ff}' | '\u{f0000}'..='\u{ffffd}' | '\u{100000}'..='\u{10fffd}')
}

/// Format characters (category Cf) that are seen: signs that enclose numbers, annotations, joiners of hieroglyphs.
fn is_format(character: char) -> bool {
    matches!(character,
        '\u{600}'..='\u{605}' | '\u{6dd}' | '\u{70f}' | '\u{890}'..='\u{891}' | '\u{8e2}' | '\u{fff9}'..='\u{fffb}' | '\u{110bd}'
        | '\u{110cd}' | '\u{13430}'..='\u{1343f}')
}

/// The letters and marks that RFC 8264 §9.6 excludes by name: Tatweel, its sisters, tone marks and repeat marks.
fn is_excluded(character: char) -> bool {
    matches!(character, '\u{640}' | '\u{7fa}' | '\u{302e}'..='\u{302f}' | '\u{3031}'..='\u{3035}' | '\u{303b}')
}

/// Conjoining jamo, with which old Hangul is written (RFC 8264 §9.9): Hangul_Syllable_Type L, V or T.
fn is_old_jamo(character: char) -> bool {
    matches!(character,
        '\u{1100}'..='\u{11ff}' | '\u{a960}'..='\u{a97c}' | '\u{d7b0}'..='\u{d7c6}' | '\u{d7cb}'..='\u{d7fb}')
}

/// The space separators of Unicode (category Zs) become the ASCII space.
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
    fn invisible_characters_are_refused() {
        let cause = |text: &str| Password::from_text(text).err();
        for character in [
            '\u{ad}',
            '\u{2028}',
            '\u{2029}',
            '\u{200b}',
            '\u{200e}',
            '\u{2060}',
            '\u{fe0f}',
            '\u{feff}',
            '\u{e0001}',
            '\u{ffff}',
            '\u{fdd0}',
        ] {
            let text: String = ['a', character, 'b'].iter().collect();
            assert_eq!(cause(&text), Some(Error::Password(PasswordError::Invisible)), "{character:?}");
        }
        assert_eq!(cause("a\u{1}b"), Some(Error::Password(PasswordError::Control)));
        // Their visible neighbours are taken.
        for text in ["a\u{ae}b", "a\u{2010}b", "a\u{2070}b", "a\u{fe10}b", "a\u{fdf0}b", "a\u{1f600}b"] {
            assert_eq!(cause(text), None, "{text:?}");
        }
    }

    #[test]
    fn characters_for_private_use_and_those_excluded_by_name_are_refused() {
        for character in ['\u{e000}', '\u{f8ff}', '\u{f0000}', '\u{10fffd}', '\u{640}', '\u{303b}'] {
            let text = String::from_iter(['a', character]);
            assert_eq!(
                Password::from_text(&text).err(),
                Some(Error::Password(PasswordError::Disallowed)),
                "{character:?}"
            );
        }
        assert_eq!(prepared("\u{f900}"), "\u{8c48}"); // the first after them: an ideograph, and its normal form
    }

    #[test]
    fn joiners_are_taken_after_a_virama_only() {
        // Devanagari ka, virama, joiner, ssa.
        for joiner in ['\u{200c}', '\u{200d}'] {
            let after: String = ['\u{915}', '\u{94d}', joiner, '\u{937}'].iter().collect();
            let elsewhere: String = ['\u{915}', joiner, '\u{937}'].iter().collect();
            assert_eq!(prepared(&after), after);
            assert!(Password::from_text(&elsewhere).is_err());
        }
    }

    #[test]
    fn viramas_are_the_characters_of_class_9() {
        use unicode_normalization::char::canonical_combining_class;
        for character in '\0'..=char::MAX {
            assert_eq!(is_virama(character), canonical_combining_class(character) == 9, "{character:?}");
        }
    }

    #[test]
    fn the_normalisation_of_others_prepares_the_same() {
        use unicode_normalization::UnicodeNormalization;
        let theirs = |text: &str| {
            let password = Password::from_text_with(text, |text| text.nfc().collect::<String>().into());
            password.map(|password| password.as_bytes().to_vec())
        };
        for text in ["correct horse", "cafe\u{301}\u{a0}x", "\u{915}\u{94d}\u{200d}\u{937}", "", "a\u{ad}b", "\u{640}"]
        {
            let ours = Password::from_text(text).map(|password| password.as_bytes().to_vec());
            assert_eq!(theirs(text), ours, "{text:?}");
        }
        assert!(theirs(&"x".repeat(65536)).is_err() && theirs(&"x".repeat(65535)).is_ok());
        let asked = Password::from_text_with("ascii", |_| panic!("ASCII is in form C"));
        assert_eq!(asked.unwrap().as_bytes(), b"ascii");
    }

    #[test]
    fn hangul_is_taken_as_syllables_and_not_as_old_jamo() {
        assert_eq!(prepared("\u{ac01}"), "\u{ac01}");
        assert_eq!(Password::from_text("\u{1100}\u{1161}").err(), Some(Error::Password(PasswordError::OldJamo)));
        // Compatibility jamo, which keyboards give for a single letter.
        assert_eq!(prepared("\u{3131}"), "\u{3131}");
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
