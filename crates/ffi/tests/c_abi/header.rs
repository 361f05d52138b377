//! The header against the functions: names, order and types of parameters, and the numbers of algorithms and statuses.

use super::here;
use candor_ffi::status::Status;
use std::collections::BTreeMap;

/// A function with its types in C.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Function {
    pub(crate) name: String,
    returns: String,
    /// Type and name of each.
    parameters: Vec<(String, String)>,
}

fn text() -> String {
    std::fs::read_to_string(here("include/candor.h")).expect("the header")
}

/// What the header declares.
pub(crate) fn declared() -> Vec<Function> {
    let text = text();
    let body = text.split_once("typedef uint64_t candor_handle;").expect("handles are declared").1;
    let without_comments: String =
        body.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect();
    let statements =
        without_comments.split(';').map(|statement| statement.split_whitespace().collect::<Vec<_>>().join(" "));
    statements
        .filter_map(|statement| {
            let (head, list) = statement.split_once('(')?;
            let (returns, name) = split_name(head);
            let parameters = list.strip_suffix(')')?.split(", ").filter(|one| *one != "void").map(split_name).collect();
            Some(Function { name, returns, parameters })
        })
        .collect()
}

/// `const uint8_t *data`: the type, and the name.
fn split_name(declaration: &str) -> (String, String) {
    let at = declaration.rfind([' ', '*']).expect("a type and a name") + 1;
    (declaration[..at].replace(' ', ""), declaration[at..].to_owned())
}

/// What the sources export, with their types in C.
fn exported() -> Vec<Function> {
    let mut found = Vec::new();
    for file in std::fs::read_dir(here("src")).expect("the sources").flatten() {
        let source = std::fs::read_to_string(file.path()).expect("a source");
        for part in source.split("#[unsafe(no_mangle)]").skip(1) {
            let (_, after) = part.split_once("extern \"C\" fn ").expect("an exported function");
            let (name, rest) = after.split_once('(').expect("parameters");
            let (list, rest) = rest.split_once(')').expect("the end of the parameters");
            let returns = rest.split_once("-> ").expect("a result").1.split_once(" {").expect("a body").0;
            let parameters = list.split(',').filter_map(|one| one.trim().split_once(": "));
            let parameters = parameters.map(|(name, kind)| (in_c(kind), name.to_owned())).collect();
            found.push(Function { name: name.to_owned(), returns: in_c(returns), parameters });
        }
    }
    found
}

fn in_c(kind: &str) -> String {
    let types = BTreeMap::from([
        ("c_int", "int"),
        ("u32", "uint32_t"),
        ("usize", "size_t"),
        ("Handle", "candor_handle"),
        ("*const u8", "constuint8_t*"),
        ("*mut u8", "uint8_t*"),
        ("*mut usize", "size_t*"),
        ("*mut Handle", "candor_handle*"),
        ("*const c_char", "constchar*"),
    ]);
    (*types.get(kind).unwrap_or_else(|| panic!("no type of C stands for {kind}"))).to_owned()
}

#[test]
fn the_header_declares_what_the_library_exports() {
    let by_name = |mut functions: Vec<Function>| {
        functions.sort_by(|a, b| a.name.cmp(&b.name));
        functions
    };
    let (declared, exported) = (by_name(declared()), by_name(exported()));
    assert!(declared.len() > 30, "only {} functions were read", declared.len());
    for (declared, exported) in declared.iter().zip(&exported) {
        assert_eq!(declared, exported);
    }
    assert_eq!(declared.len(), exported.len());
}

#[test]
fn the_header_numbers_algorithms_and_statuses_as_the_library_does() {
    use candor_suite::signing::Padding;
    use candor_suite::{aead::AeadAlgorithm, hash::HashAlgorithm, key::KeyKind, mac::MacAlgorithm};
    let mut expected: BTreeMap<String, u32> = BTreeMap::from([("CANDOR_OK".to_owned(), 0)]);
    let mut expect = |family: &str, name: &str, number: u32| {
        expected.insert(format!("CANDOR_{family}_{}", name.to_uppercase().replace('-', "_")), number);
    };
    HashAlgorithm::ALL.iter().for_each(|hash| expect("HASH", hash.name(), *hash as u32));
    MacAlgorithm::ALL.iter().for_each(|mac| expect("MAC", mac.name(), *mac as u32));
    AeadAlgorithm::ALL.iter().for_each(|aead| expect("AEAD", aead.name(), *aead as u32));
    KeyKind::ALL.iter().for_each(|kind| expect("KEY", kind.name(), *kind as u32));
    Padding::ALL.iter().for_each(|padding| expect("PADDING", padding.name(), *padding as u32));
    expected.extend(Status::ALL.iter().map(|(status, name)| ((*name).to_owned(), *status as u32)));
    let text = text();
    let lines = text.lines().filter_map(|line| line.trim().strip_prefix("CANDOR_")?.split_once(" = "));
    let found: BTreeMap<String, u32> = lines
        .map(|(name, rest)| {
            (format!("CANDOR_{name}"), rest.split_once(',').expect("a comma").0.parse().expect("a number"))
        })
        .collect();
    assert_eq!(found, expected);
}
