//! The encodings of salts and digests.

use base64::alphabet::BCRYPT;
use base64::engine::{DecodePaddingMode, Engine, GeneralPurpose, GeneralPurposeConfig};

const LOOSE: GeneralPurposeConfig = GeneralPurposeConfig::new()
    .with_encode_padding(false)
    .with_decode_padding_mode(DecodePaddingMode::Indifferent)
    // Some writers leave random bits in the last character; they belong to no byte.
    .with_decode_allow_trailing_bits(true);

const STANDARD: GeneralPurpose = GeneralPurpose::new(&base64::alphabet::STANDARD, LOOSE);
const OF_BCRYPT: GeneralPurpose = GeneralPurpose::new(&BCRYPT, LOOSE);

/// Base64, with or without padding; passlib writes `.` for `+`.
pub(crate) fn base64(text: &str) -> Option<Vec<u8>> {
    STANDARD.decode(text.replace('.', "+")).ok()
}

/// Base64 without padding, as PHC strings have it.
pub(crate) fn to_base64(bytes: &[u8]) -> String {
    STANDARD.encode(bytes)
}

/// Base64 with padding.
pub(crate) fn to_padded_base64(bytes: &[u8]) -> String {
    base64::engine::general_purpose::STANDARD.encode(bytes)
}

/// Base64 in bcrypt's alphabet.
pub(crate) fn bcrypt64(text: &str) -> Option<Vec<u8>> {
    OF_BCRYPT.decode(text).ok()
}

/// Base64 in bcrypt's alphabet, without padding.
pub(crate) fn to_bcrypt64(bytes: &[u8]) -> String {
    OF_BCRYPT.encode(bytes)
}

/// Lower-case hexadecimal digits.
pub(crate) fn to_hexadecimal(bytes: &[u8]) -> String {
    bytes
        .iter()
        .flat_map(|byte| [byte >> 4, byte & 15])
        .filter_map(|digit| char::from_digit(digit.into(), 16))
        .collect()
}
