//! The scan takes a kernel's integer arguments for pointers, lengths and choices, which are public. The signatures say whether they are.

use candor_scan::kernels::secret_arguments;
use std::fs;
use std::path::{Path, PathBuf};

/// Crates with kernels for x86-64.
const CRATES: [&str; 4] = ["primitives", "gf2", "onion", "opaque"];

/// A function that is compiled with features of some CPU.
struct Kernel {
    file: PathBuf,
    name: String,
    /// The types of its parameters.
    types: Vec<String>,
}

#[test]
fn a_word_that_a_kernel_takes_by_value_is_a_length_or_is_listed_as_secret() {
    let kernels = kernels();
    assert!(kernels.len() > 80, "only {} kernels, so this test reads the wrong place", kernels.len());
    let mut listed = Vec::new();
    for kernel in &kernels {
        let stem = kernel.file.file_stem().expect("a file").to_string_lossy();
        let name = format!("x86_64::{stem}::{}", kernel.name);
        for (number, kind) in kernel.types.iter().enumerate().filter(|(_, kind)| !is_followed(kind)) {
            assert!(
                secret_arguments(&name).contains(&number),
                "{}: {}: argument {number} is `{kind}`, which the scan takes for public; list it in crates/scan/src/kernels.rs",
                kernel.file.display(),
                kernel.name
            );
            listed.push(format!("{name} {number}"));
        }
    }
    assert_eq!(listed, ["x86_64::clmul::row 3"]);
}

#[test]
fn what_is_no_reference_length_or_vector_is_found() {
    for kind in ["u64", "u32", "u8", "[u8; 16]", "[u64; 2]", "Block", "Option<u64>", "(usize, u64)"] {
        assert!(!is_followed(kind), "{kind}");
    }
    for kind in ["&[u8]", "&mut State", "*const u64", "usize", "bool", "__m256i", "[__m512i; 3]", "[&[u8; 64]; 4]"] {
        assert!(is_followed(kind), "{kind}");
    }
    let text = "#[inline]\n#[target_feature(enable = \"avx2\")]\npub(super) unsafe fn f<const N: usize>(out: &mut [u64; N], (a, b): (usize, u64), k: u64) {}";
    let made = "macro_rules! entry {\n #[target_feature(enable = \"avx2\")]\n fn with($($argument: $type),*)\n}\nentry! {\n    g(a: &Poly, k: u64) {\n        f(k) {\n    }\n}\n";
    let [kernel] = &kernels_of(Path::new("x.rs"), made)[..] else { panic!("only what the macro made") };
    assert_eq!((kernel.name.as_str(), &kernel.types[..]), ("g", &["&Poly", "u64"].map(str::to_owned)[..]));
    let found = kernels_of(Path::new("x.rs"), text);
    let [kernel] = &found[..] else { panic!("{} kernels", found.len()) };
    assert_eq!(
        (kernel.name.as_str(), &kernel.types[..]),
        ("f", &["&mut [u64; N]", "(usize, u64)", "u64"].map(str::to_owned)[..])
    );
}

/// Whether the scan sees all that a secret in this type can be in: memory behind a pointer, or a vector. Or there can be none: lengths, choices,
/// tokens that prove instructions, and the roots of unity in ML-KEM's tables.
fn is_followed(kind: &str) -> bool {
    let kind = kind.trim().trim_start_matches('[');
    let inner = kind.strip_prefix("Option<").unwrap_or(kind);
    const PUBLIC: [&str; 5] = ["usize", "bool", "Tokens", "$token", "Twiddle"];
    // The tokens of a macro with several.
    const SEVERAL: &str = "($($token,)+)";
    inner.starts_with(['&', '*'])
        || kind.starts_with("__m")
        || kind.starts_with("Have")
        // A closure is a reference to its surroundings; `INTERFACES` says what is behind it.
        || kind.starts_with("impl Fn")
        || PUBLIC.contains(&kind)
        || kind == SEVERAL
        // Vectors in a structure: batches of `gf2`, ChaCha20's four blocks, a schedule that a macro makes, constants of ML-KEM's transform.
        || ["Xmm", "Ymm", "Zmm", "Four", "Made", "Constants"].contains(&kind)
}

fn kernels() -> Vec<Kernel> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("in `crates`");
    let mut found = Vec::new();
    let mut todo: Vec<PathBuf> = CRATES.iter().map(|name| crates.join(name).join("src/low/x86_64")).collect();
    todo.retain(|path| path.is_dir());
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(fs::read_dir(&path).expect("a directory").map(|entry| entry.expect("an entry").path()));
        } else if path.extension().is_some_and(|ending| ending == "rs") {
            found.extend(kernels_of(&path, &fs::read_to_string(&path).expect("a source")));
        }
    }
    found
}

fn kernels_of(file: &Path, text: &str) -> Vec<Kernel> {
    let text = text.split("\n#[cfg(test)]").next().unwrap_or(text);
    let kernel = |function: &str| {
        let name = function.split(['(', '<']).next()?.to_owned();
        // Behind the parameters of the type, which have no parentheses.
        let parameters = between_parentheses(function);
        let types = pieces(parameters).into_iter().filter_map(|parameter| parameter.split_once(": "));
        let types = types.map(|(_, kind)| kind.trim().to_owned()).collect();
        Some(Kernel { file: file.to_owned(), name, types })
    };
    let written = text.match_indices("#[target_feature(").filter_map(|(at, _)| Some(text[at..].split_once("fn ")?.1));
    // What a macro makes has its signature where the macro is used.
    let written = written.filter(|function| between_parentheses(function) != "$($argument: $type),*");
    let made = text.split("\nentry! {\n").skip(1).flat_map(|uses| {
        let uses = uses.split("\n}").next().unwrap_or(uses);
        uses.lines().filter_map(|line| line.strip_prefix("    ")).filter(|line| {
            line.starts_with(|first: char| first.is_ascii_lowercase()) && line.contains('(') && line.ends_with('{')
        })
    });
    written.chain(made).filter_map(kernel).collect()
}

/// What a function's parameters are, as they are written.
fn between_parentheses(function: &str) -> &str {
    function.find('(').map_or("", |at| between(&function[at..]))
}

/// What stands between the parenthesis that `text` begins with and the one that closes it.
fn between(text: &str) -> &str {
    let mut depth = 0;
    for (at, character) in text.char_indices() {
        depth += i32::from(character == '(') - i32::from(character == ')');
        if depth == 0 {
            return &text[1..at];
        }
    }
    text
}

/// Cut at commas outside of brackets.
fn pieces(parameters: &str) -> Vec<&str> {
    let (mut depth, mut start, mut pieces) = (0, 0, Vec::new());
    for (at, character) in parameters.char_indices() {
        match character {
            '(' | '[' | '<' => depth += 1,
            ')' | ']' | '>' => depth -= 1,
            ',' if depth == 0 => {
                pieces.push(&parameters[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    pieces.push(&parameters[start..]);
    pieces
}
