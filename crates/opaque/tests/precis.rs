//! `Password::from_text` against an OpaqueString (RFC 8265 §4.2) that others wrote: crate `precis-profiles`, on the data of Unicode 6.3.
//!
//! The two may differ only where the documentation of `from_text` says so.
#![cfg(feature = "unicode")]

use candor_opaque::Password;
use precis_core::profile::PrecisFastInvocation;
use precis_core::{DerivedPropertyValue, FreeformClass, StringClass};
use precis_profiles::OpaqueString;
use proptest::prelude::*;

fn ours(text: &str) -> Option<String> {
    let password = Password::from_text(text).ok()?;
    Some(String::from_utf8(password.as_bytes().to_vec()).unwrap())
}

fn theirs(text: &str) -> Option<String> {
    OpaqueString::enforce(text).ok().map(|text| text.into_owned())
}

/// Whether the documentation of `from_text` lets the two differ on a text with this character.
fn may_differ(character: char) -> bool {
    match FreeformClass::default().get_value_from_char(character) {
        DerivedPropertyValue::Unassigned | DerivedPropertyValue::ContextO => true,
        DerivedPropertyValue::ContextJ => character == '\u{200c}',
        _ => false,
    }
}

#[test]
fn every_character_is_taken_refused_and_changed_as_by_the_oracle() {
    let (mut taken, mut refused) = (0, 0);
    for character in (0..=0x10ffff).filter_map(char::from_u32) {
        if may_differ(character) {
            continue;
        }
        let text: String = ['a', character, 'b'].iter().collect();
        let found = ours(&text);
        assert_eq!(found, theirs(&text), "U+{:04X}", u32::from(character));
        *(if found.is_some() { &mut taken } else { &mut refused }) += 1;
    }
    // Unicode 6.3 has about 110,000 characters and 137,000 for private use, which the profile refuses.
    assert!(taken > 100_000 && refused > 100_000, "{taken} taken, {refused} refused");
}

#[test]
fn the_three_differences_are_those_that_are_documented() {
    // U+1F970, a smiling face, came with Unicode 11.
    assert_eq!((ours("\u{1f970}").is_some(), theirs("\u{1f970}")), (true, None));
    // A middle dot is for Catalan, between two l; a Greek numeral sign needs a Greek letter after it.
    for text in ["a\u{b7}b", "\u{375}a"] {
        assert_eq!((ours(text).is_some(), theirs(text)), (true, None), "{text:?}");
    }
    // A non-joiner between Arabic letters that would join.
    let farsi = "\u{628}\u{200c}\u{628}";
    assert_eq!((ours(farsi), theirs(farsi).is_some()), (None, true));
}

/// Characters that a text is most likely to be refused or changed for, and their neighbours.
const INTERESTING: &[char] = &[
    'a',
    'l',
    ' ',
    '\u{b7}',
    '\u{301}',
    '\u{327}',
    '\u{a0}',
    '\u{3000}',
    '\u{915}',
    '\u{94d}',
    '\u{937}',
    '\u{200b}',
    '\u{200d}',
    '\u{200e}',
    '\u{1100}',
    '\u{1161}',
    '\u{11a8}',
    '\u{ac00}',
    '\u{3131}',
    '\u{fe0f}',
    '\u{212b}',
    '\u{fb01}',
    '\u{feff}',
    '\u{1f600}',
    '\u{ad}',
    '\u{e000}',
    '\u{30fb}',
    '\u{660}',
    '\u{6f0}',
];

proptest! {
    #[test]
    fn a_text_of_several_characters_is_prepared_as_by_the_oracle(text in proptest::collection::vec(proptest::sample::select(INTERESTING), 0..8)) {
        let text: String = text.into_iter().filter(|character| !may_differ(*character)).collect();
        prop_assert_eq!(ours(&text), theirs(&text));
    }
}
