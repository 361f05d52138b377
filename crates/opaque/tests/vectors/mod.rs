//! Reads the files of `vectors/`.

use serde_json::Value;
use std::path::Path;

/// The file of that name, as JSON.
pub(crate) fn load(name: &str) -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../vectors").join(name);
    let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The bytes that field `name` holds in hex.
pub(crate) fn bytes(of: &Value, name: &str) -> Vec<u8> {
    let hex = of[name].as_str().unwrap_or_else(|| panic!("no text field {name}"));
    let digit = |c: u8| (c as char).to_digit(16).unwrap_or_else(|| panic!("{name} is not hex")) as u8;
    hex.as_bytes().chunks(2).map(|pair| digit(pair[0]) << 4 | digit(pair[1])).collect()
}

/// The elements of the list in field `name`; never empty, so that no test passes by having nothing to do.
#[allow(dead_code)] // not every test file has lists
pub(crate) fn list<'a>(of: &'a Value, name: &str) -> &'a [Value] {
    let list = of[name].as_array().unwrap_or_else(|| panic!("no list {name}"));
    assert!(!list.is_empty(), "the list {name} is empty");
    list
}
