//! The scan takes a kernel's integer arguments for pointers, lengths and choices, which are public. The signatures say whether they are.

use candor_scan::kernels::secret_arguments;
use std::fs;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// Crates with kernels for x86-64, or that may come to have some.
const CRATES: [&str; 5] = ["primitives", "gf2", "codes", "onion", "opaque"];

/// A function that is compiled with features of some CPU.
struct Kernel {
    file: PathBuf,
    /// As its symbol ends: modules from `x86_64` on, the type of a method, the function.
    name: String,
    /// The types of its parameters, and the integer registers that each takes.
    parameters: Vec<(String, Range<usize>)>,
}

/// How many integer registers hold arguments. What finds none is on the stack, and public to the scan.
const REGISTERS: usize = 6;

#[test]
fn a_word_that_a_kernel_takes_by_value_is_a_length_or_is_listed_as_secret() {
    let kernels = kernels();
    for name in CRATES.iter().take(3) {
        let inside = format!("crates/{name}/");
        let found = kernels.iter().filter(|kernel| kernel.file.to_string_lossy().contains(&inside)).count();
        assert!(found > 10, "only {found} kernels in {name}, so this test reads the wrong place");
    }
    let mut listed = Vec::new();
    for kernel in &kernels {
        for (kind, registers) in kernel.parameters.iter().filter(|(kind, _)| !is_followed(kind)) {
            for number in registers.clone().take_while(|number| *number < REGISTERS) {
                assert!(
                    secret_arguments(&kernel.name).contains(&number),
                    "{}: {}: register {number} is (a part of) a `{kind}`, which the scan takes for public; list it in crates/scan/src/kernels.rs",
                    kernel.file.display(),
                    kernel.name
                );
                listed.push(format!("{} {number}", kernel.name));
            }
        }
    }
    listed.sort();
    assert_eq!(
        listed,
        [
            "x86_64::avx2::contains::with_features 2",
            "x86_64::clmul::row 3",
            "x86_64::mceliece_avx512::affine::Elements::only 2",
            "x86_64::mceliece_avx512::affine::Elements::or 3",
            "x86_64::mceliece_avx512::affine::Factor::or 3",
            "x86_64::mceliece_avx512::pivots::eliminate 1",
            "x86_64::mceliece_avx512::pivots::eliminate 2",
            "x86_64::mceliece_avx512::pivots::eliminate 3",
            "x86_64::mceliece_avx512::pivots::eliminate 4",
            "x86_64::mceliece_avx512::pivots::eliminate 5",
            "x86_64::mceliece_avx512::polynomials::factor 1",
            "x86_64::mceliece_avx512::polynomials::sum 2",
            "x86_64::mceliece_avx512::polynomials::sum 3",
            "x86_64::montgomery::search 3",
            "x86_64::montgomery::selected 3",
            "x86_64::rsa::adx::select_on_vectors 2",
            "x86_64::rsa::ifma::select_of_length 2",
            "x86_64::rsa::ifma::select_on_vectors 2",
            "x86_64::symbols::product 0",
            "x86_64::symbols::product 1",
        ]
    );
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
    assert_eq!(described(made), ["x86_64::x::g::with_features: &Poly in 0..1, u64 in 1..2"]);
    assert_eq!(described(text), ["x86_64::x::f: &mut [u64; N] in 0..1, (usize, u64) in 1..2, u64 in 2..3"]);
}

#[test]
fn kernels_are_found_in_each_form_that_the_crates_write_them() {
    let entries = "    entry! {\n        Wide, \"avx2\";\n        /// g(x: u8)\n        g[const M](proof, a: &[u16], k: u64) -> u8, {\n            f(k: u32);\n        };\n        h, HaveAvx2, \"avx2\": (t: usize),\n    }\n    i(b: u8);\n";
    assert_eq!(
        described(entries),
        ["x86_64::x::g::with_features: &[u16] in 0..2, u64 in 2..3", "x86_64::x::h::with_features: usize in 0..1"]
    );
    let methods = "impl<const N: usize> State<N> {\n    #[target_feature(enable = \"avx2\")]\n    fn only(self, mask: u64) -> Self {\n    }\n}\n\n#[target_feature(enable = \"avx2\")]\nfn after(token: HaveAvx2, wide: u128, other: __m256i) -> u16 {}";
    assert_eq!(
        described(methods),
        [
            "x86_64::x::State::only: Self in 1..2, u64 in 2..3",
            "x86_64::x::after: HaveAvx2 in 0..0, u128 in 0..2, __m256i in 2..3"
        ]
    );
    let macros = "    #[target_feature(enable = $features)]\n    fn with $(<$(const $size: usize),+>)? ($proof: $token, $($argument: $type),*) {\n    }\n";
    assert!(described(macros).is_empty());
}

fn described(text: &str) -> Vec<String> {
    let parameter = |(kind, registers): &(String, Range<usize>)| format!("{kind} in {registers:?}");
    let kernels = kernels_of(Path::new("low/x86_64/x.rs"), text);
    let line = |kernel: &Kernel| {
        format!("{}: {}", kernel.name, kernel.parameters.iter().map(parameter).collect::<Vec<_>>().join(", "))
    };
    kernels.iter().map(line).collect()
}

/// Whether the scan sees all that a secret in this type can be in: memory behind a pointer, or a vector. Or there can be none: lengths, choices,
/// tokens that prove instructions, parameter sets, and the roots of unity in ML-KEM's tables.
fn is_followed(kind: &str) -> bool {
    // More than two words are passed by a pointer, and count as data behind it.
    const BY_POINTER: [&str; 7] = ["Elements", "Two", "Factor", "Self", "Panel<'_>", "Permutation<'_>", "[i64; EIGHT]"];
    if BY_POINTER.contains(&kind.trim()) {
        return true;
    }
    let kind = kind.trim().trim_start_matches('[');
    let inner = kind.strip_prefix("Option<").unwrap_or(kind);
    const PUBLIC: [&str; 6] = ["usize", "bool", "Set", "Tokens", "$token", "Twiddle"];
    // The tokens of a macro with several.
    const SEVERAL: &str = "($($token,)+)";
    inner.starts_with(['&', '*'])
        || kind.starts_with("__m")
        || is_token(kind)
        // A closure is a reference to its surroundings; `INTERFACES` says what is behind it.
        || kind.starts_with("impl Fn")
        || PUBLIC.contains(&kind)
        || kind == SEVERAL
        // Vectors in a structure: batches of `gf2`, ChaCha20's four blocks, a schedule that a macro makes, constants of ML-KEM's transform.
        || ["Xmm", "Ymm", "Zmm", "Four", "Made", "Constants", "$register"].contains(&kind)
}

/// What proves instructions has no bytes.
fn is_token(kind: &str) -> bool {
    kind.starts_with("Have")
}

/// How many integer registers an argument takes.
fn registers(kind: &str) -> usize {
    // An array has a semicolon behind its element; a slice is an address and a length.
    let behind =
        kind.trim_start_matches(['&', '*']).trim_start_matches(|it: char| it == '\'' || it.is_ascii_lowercase());
    let slice = kind.starts_with(['&', '*']) && behind.trim_start().starts_with('[') && !behind.contains(';');
    match kind {
        _ if is_token(kind) => 0,
        "u128" | "i128" => 2,
        _ if slice => 2,
        _ => 1,
    }
}

/// Whether a result is written through a pointer that comes before all arguments.
fn is_large(result: &str) -> bool {
    let word = ["u8", "u16", "u32", "u64", "u128", "i8", "i16", "i32", "i64", "usize", "bool", "()"];
    !word.contains(&result) && !result.starts_with(['&', '*'])
}

fn kernels() -> Vec<Kernel> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("in `crates`");
    let mut found = Vec::new();
    let mut todo: Vec<PathBuf> = CRATES.iter().map(|name| crates.join(name).join("src")).collect();
    while let Some(path) = todo.pop() {
        if path.is_dir() {
            todo.extend(fs::read_dir(&path).expect("a directory").map(|entry| entry.expect("an entry").path()));
        } else if path.to_string_lossy().contains("/low/x86_64") && path.extension().is_some_and(|it| it == "rs") {
            found.extend(kernels_of(&path, &fs::read_to_string(&path).expect("a source")));
        }
    }
    found
}

fn kernels_of(file: &Path, text: &str) -> Vec<Kernel> {
    let text = text.split("\n#[cfg(test)]").next().unwrap_or(text);
    let path = file.with_extension("").to_string_lossy().into_owned();
    let module = path.rsplit_once("low/").map_or(path.as_str(), |(_, module)| module).replace('/', "::");
    let kernel = |kind: &str, function: &str, made: bool| {
        let name = function.split(['(', '<', '[', ',']).next()?;
        // Behind the parameters of the type, which have no parentheses.
        let inside = between_parentheses(function);
        let behind = function.split_once(inside).and_then(|(_, behind)| behind.strip_prefix(") -> "));
        let result = behind.and_then(|behind| behind.split([' ', ',']).next()).unwrap_or("()");
        let mut next = usize::from(is_large(result));
        let mut parameters = Vec::new();
        for piece in pieces(inside) {
            let piece = piece.trim();
            let kind = match piece.split_once(": ") {
                Some((_, kind)) => kind.trim(),
                None if piece == "self" || piece == "mut self" => "Self",
                None if piece.ends_with("self") => "&Self",
                // A macro's proof.
                None => continue,
            };
            parameters.push((kind.to_owned(), next..next + registers(kind)));
            next += registers(kind);
        }
        let method = if kind.is_empty() { String::new() } else { format!("{kind}::") };
        let made = if made { "::with_features" } else { "" };
        Some(Kernel { file: file.to_owned(), name: format!("{module}::{method}{name}{made}"), parameters })
    };
    let written = text.match_indices("#[target_feature(").filter_map(|(at, _)| {
        let function = text[at..].split_once("fn ")?.1;
        // What a macro makes has its signature where the macro is used.
        let head = function.split('{').next().unwrap_or(function);
        (!head.contains("$($argument: $type),*")).then(|| kernel(type_around(text, at), function, false))?
    });
    let made = text.match_indices("entry! {\n").filter(|(at, _)| !text[..*at].ends_with("macro_rules! "));
    let made = made.flat_map(|(at, opening)| {
        let indent = text[..at].rfind('\n').map_or(at, |line| at - line - 1);
        let uses = &text[at + opening.len()..];
        let uses = uses.split(&format!("\n{}}}", " ".repeat(indent))).next().unwrap_or(uses);
        let inner = " ".repeat(indent + 4);
        let lines = uses.lines().filter_map(move |line| line.strip_prefix(&inner).map(str::to_owned));
        lines.filter(|line| line.starts_with(|first: char| first.is_ascii_lowercase()) && line.contains('('))
    });
    written.chain(made.filter_map(|function| kernel("", &function, true))).collect()
}

/// The type whose `impl` stands around a place, without its parameters.
fn type_around(text: &str, at: usize) -> &str {
    let before = &text[..at];
    let Some(start) = before.rfind("\nimpl").map(|line| line + 1).or(before.starts_with("impl").then_some(0)) else {
        return "";
    };
    let head = before[start..].split(" {").next().unwrap_or_default();
    if before[start..].contains("\n}\n") {
        return "";
    }
    // Behind `impl<…>`, and behind the trait.
    let kind = head.rsplit_once(" for ").map_or(head, |(_, kind)| kind);
    let kind = kind.strip_prefix("impl ").or_else(|| kind.split_once("> ").map(|(_, kind)| kind)).unwrap_or(kind);
    kind.split('<').next().unwrap_or(kind)
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
