//! A header of C, and the functions of Rust that it declares, as far as candor's libraries need it.

use std::collections::BTreeMap;
use std::path::Path;

/// Types of Rust, and what stands for each in C, without spaces.
const TYPES: [(&str, &str); 7] = [
    ("c_int", "int"),
    ("u32", "uint32_t"),
    ("usize", "size_t"),
    ("*const u8", "constuint8_t*"),
    ("*mut u8", "uint8_t*"),
    ("*mut usize", "size_t*"),
    ("*const c_char", "constchar*"),
];

/// A function with its types in C.
#[derive(Debug, PartialEq, Eq)]
pub struct Function {
    /// Its name.
    pub name: String,
    returns: String,
    /// Type and name of each.
    parameters: Vec<(String, String)>,
}

/// What a header declares.
pub(super) fn declared(text: &str) -> Vec<Function> {
    let without_comments: String =
        text.split("/*").map(|part| part.split_once("*/").map_or(part, |(_, code)| code)).collect();
    // Of the preprocessor's lines none declares anything.
    let code: Vec<&str> = without_comments.lines().filter(|line| !line.starts_with('#')).collect();
    let code = code.join("\n").replace("extern \"C\" {", "");
    let statements = code.split(';').map(|statement| statement.split_whitespace().collect::<Vec<_>>().join(" "));
    statements
        .filter_map(|statement| {
            let (head, list) = statement.split_once('(')?;
            let (returns, name) = split_name(head);
            let parameters = list.strip_suffix(')')?.split(", ").filter(|one| *one != "void").map(split_name).collect();
            Some(Function { name, returns, parameters })
        })
        .collect()
}

/// `PREFIX_NAME = 7,`: names and numbers.
pub(super) fn numbered(text: &str, prefix: &str) -> BTreeMap<String, u32> {
    let lines = text.lines().map(str::trim).filter(|line| line.starts_with(prefix));
    lines
        .filter_map(|line| line.split_once(" = "))
        .map(|(name, rest)| (name.to_owned(), rest.split_once(',').expect("a comma").0.parse().expect("a number")))
        .collect()
}

/// What the sources in a folder export, with their types in C.
pub(super) fn exported(sources: &Path, types: &[(&str, &str)]) -> Vec<Function> {
    let in_c = |kind: &str| {
        let found = TYPES.iter().chain(types).find(|(rust, _)| *rust == kind);
        found.unwrap_or_else(|| panic!("no type of C stands for {kind}")).1.to_owned()
    };
    let mut found = Vec::new();
    for file in std::fs::read_dir(sources).expect("the sources").flatten() {
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

/// `const uint8_t *data`: the type, and the name.
fn split_name(declaration: &str) -> (String, String) {
    let at = declaration.rfind([' ', '*']).expect("a type and a name") + 1;
    (declaration[..at].replace(' ', ""), declaration[at..].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: &str = "/* int not_me(void); */\n#ifdef __cplusplus\nextern \"C\" {\n#endif\nenum {\n    A_OK = 0, /* fine */\n    A_BAD = 3,\n};\n\
                          typedef uint64_t a_handle;\ntypedef struct { const uint8_t *at; size_t length; } a_thing;\nint a_call(const uint8_t *data,\n    \
                          size_t length, a_handle *made);\nconst char *a_name(void);\n#ifdef __cplusplus\n}\n#endif\n";
    const SOURCE: &str = "#[unsafe(no_mangle)]\npub unsafe extern \"C\" fn a_call(data: *const u8, length: usize, made: *mut Handle) -> c_int {\n    0\n}\n\
                          #[unsafe(no_mangle)]\npub extern \"C\" fn a_name() -> *const c_char {\n    NAME\n}\n";

    #[test]
    fn a_header_is_what_a_source_exports_and_is_not_once_a_type_or_a_name_differs() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a.rs"), SOURCE).unwrap();
        let exported = exported(folder.path(), &[("*mut Handle", "a_handle*")]);
        assert_eq!(declared(HEADER), exported);
        assert_eq!(exported.len(), 2);
        for (from, to) in
            [("size_t length, a_handle", "uint32_t length, a_handle"), ("a_name", "the_name"), ("*data", "*bytes")]
        {
            assert_ne!(declared(&HEADER.replace(from, to)), exported, "{to}");
        }
    }

    #[test]
    fn constants_are_read_with_their_numbers() {
        assert_eq!(numbered(HEADER, "A_"), BTreeMap::from([("A_OK".to_owned(), 0), ("A_BAD".to_owned(), 3)]));
    }
}
