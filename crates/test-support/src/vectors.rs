//! The files of `vectors/`: JSON, byte strings in hex. `vectors/SOURCES.toml` says where each comes from and has its digest.

use serde_json::Value;
use std::fs;

/// The file of that name.
///
/// # Panics
/// If it is missing or is not JSON.
pub fn load(name: &str) -> Value {
    let path = crate::from_root("vectors").join(name);
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Rewrites that file: for the tests, ignored by default, that make our own vectors. Update its digest in `vectors/SOURCES.toml` too.
///
/// # Panics
/// If it can't be written.
pub fn save(name: &str, content: &Value) {
    let path = crate::from_root("vectors").join(name);
    fs::write(&path, format!("{content:#}\n")).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
}

/// The bytes that field `name` holds in hex.
///
/// # Panics
/// If the field is missing or is not hex.
pub fn bytes(of: &Value, name: &str) -> Vec<u8> {
    let text = of[name].as_str().unwrap_or_else(|| panic!("no text field {name}"));
    base16ct::mixed::decode_vec(text).unwrap_or_else(|error| panic!("{name} is not hex: {error}"))
}

/// The bytes of a field that must be `N` bytes long.
///
/// # Panics
/// As [`bytes`], or if there are more or fewer.
pub fn array<const N: usize>(of: &Value, name: &str) -> [u8; N] {
    let bytes = bytes(of, name);
    let length = bytes.len();
    bytes.try_into().unwrap_or_else(|_| panic!("{name} is {length} bytes long; expected {N}"))
}

/// The elements of the list in field `name`.
///
/// # Panics
/// If the list is missing or empty: no test should pass because it had nothing to do.
pub fn list<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    let list = of[name].as_array().unwrap_or_else(|| panic!("no list {name}"));
    assert!(!list.is_empty(), "the list {name} is empty");
    list
}

/// Bytes as the files have them.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    base16ct::lower::encode_string(bytes.as_ref())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn bytes_are_read_as_hex_writes_them() {
        assert_eq!(bytes(&json!({ "x": hex([0, 0x1f, 0xff]) }), "x"), [0, 0x1f, 0xff]);
        assert_eq!(array(&json!({ "x": "00Ff" }), "x"), [0, 0xff]);
    }

    #[test]
    #[should_panic(expected = "x is not hex")]
    fn half_a_byte_is_an_error() {
        bytes(&json!({ "x": "123" }), "x");
    }

    #[test]
    #[should_panic(expected = "x is not hex")]
    fn a_letter_beyond_f_is_an_error() {
        bytes(&json!({ "x": "0g" }), "x");
    }

    #[test]
    #[should_panic(expected = "x is 2 bytes long; expected 3")]
    fn another_length_than_the_one_asked_for_is_an_error() {
        array::<3>(&json!({ "x": "0011" }), "x");
    }

    #[test]
    #[should_panic(expected = "the list x is empty")]
    fn an_empty_list_is_no_success() {
        assert_eq!(list(&json!({ "x": [1] }), "x").len(), 1);
        list(&json!({ "x": [] }), "x");
    }
}
