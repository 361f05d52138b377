//! The kernels of the release binary, read instruction by instruction: the answer for arms whose instructions valgrind can't run.
//!
//! `crates/scan` disassembles; this says what must hold of what it prints. Both binaries are read, the one that ships and the one of the
//! cases, since each has kernels that the other doesn't use; and those that both have must be the same.

use super::judge::is_named;
use crate::Failure;
use crate::tally::Tally;
use crate::workspace::cargo;
use base16ct::lower::encode_string;
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::path::Path;

/// The kernels of a binary, by name.
pub(super) type Kernels = BTreeMap<String, Read>;

/// What the scan says of a kernel. Several compiled forms of one function count together.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Read {
    pub(super) findings: usize,
    /// Of each form, in order.
    pub(super) digests: Vec<String>,
}

/// Rooms and tiers that must be found, or the scan looks in the wrong place.
const ARMS: [(&str, &str); 13] = [
    ("aws-lc::x25519", "adx"),
    ("sha2::sha256", "sha"),
    ("primitives::sha256", "sha"),
    ("primitives::batch", "avx512"),
    ("primitives::keccak", "avx512"),
    ("primitives::argon2_avx512", "avx512"),
    ("primitives::aes", "vpclmul"),
    ("primitives::aes", "avx512"),
    ("primitives::polyval", "vpclmul"),
    ("primitives::polyval", "avx512"),
    ("gf2::vpclmul", "vpclmul"),
    ("gf2::avx512", "avx512"),
    ("gf2::field", "avx512"),
];

/// Reads both binaries. Returns the kernels of the cases.
pub(super) fn run(root: &Path, cases: &Path, tally: &mut Tally) -> Kernels {
    let shipped = cases.with_file_name("candor");
    let mut kernels = Kernels::new();
    for binary in [shipped.as_path(), cases] {
        let name = binary.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        match scan(root, &["kernels", &binary.to_string_lossy()]).and_then(|text| Ok((arms(&text, &name)?, text))) {
            Ok((lines, text)) => {
                lines.iter().for_each(|line| println!("scan of {name}: {line}"));
                conclude(tally, &format!("scan of {name}"), findings(&text));
                kernels = all_kernels(&text);
            }
            Err(why) => conclude(tally, &format!("scan of {name}"), vec![why]),
        }
        let what = format!("scan of {name}: stack behind kernels");
        match frames(root, binary) {
            Ok((count, short)) => {
                println!("{what}: {count} calls of kernels have it cleared");
                conclude(tally, &what, short);
            }
            Err(why) => conclude(tally, &what, vec![why]),
        }
    }
    match scan(root, &["twins", &cases.to_string_lossy(), &shipped.to_string_lossy()]) {
        Ok(text) => {
            println!("scan: {}", text.lines().next().unwrap_or_default().replace('\t', " kernels in both binaries: "));
            conclude(tally, "scan: kernels of the cases", differences(&text));
        }
        Err(why) => conclude(tally, "scan: kernels of the cases", vec![why]),
    }
    kernels
}

/// The kernels of the cases, whatever is found in them.
pub(super) fn kernels_of(root: &Path, cases: &Path) -> Result<Kernels, Failure> {
    Ok(all_kernels(&scan(root, &["kernels", &cases.to_string_lossy()])?))
}

/// Whether a case that reads `name` means this kernel: the function of that name, or if it ends in `::*` each of that module.
pub(super) fn is_read(symbol: &str, name: &str) -> bool {
    match name.strip_suffix('*') {
        Some(module) => symbol.match_indices(module).any(|(at, _)| at == 0 || symbol[..at].ends_with("::")),
        None => is_named(symbol, name),
    }
}

/// Twelve hexadecimal digits for the code of all kernels that `reads` names; nothing if there are none.
pub(super) fn code(reads: &[String], kernels: &Kernels) -> Option<String> {
    let named = kernels.iter().filter(|(symbol, _)| reads.iter().any(|name| is_read(symbol, name)));
    let lines: String = named
        .flat_map(|(symbol, read)| read.digests.iter().map(move |digest| format!("{symbol} {digest}\n")))
        .collect();
    let digest = encode_string(&Sha256::digest(&lines));
    (!lines.is_empty()).then(|| digest[..12].to_owned())
}

/// Reads the binary of the cases alone: what its kernels leak, by name.
pub(super) fn cases_alone(root: &Path, cases: &Path) -> Result<Vec<String>, Failure> {
    let text = scan(root, &["kernels", &cases.to_string_lossy()])?;
    arms(&text, "candor-ct")?;
    Ok([findings(&text), frames(root, cases)?.1].concat())
}

/// How many calls of kernels have the stack cleared behind them, and those where that is less than the kernel may use.
fn frames(root: &Path, binary: &Path) -> Result<(usize, Vec<String>), Failure> {
    let text = scan(root, &["frames", &binary.to_string_lossy()])?;
    Ok((cleared(&text)?, short(&text)))
}

/// Kernels that have the stack cleared behind them, or the reader of frames looks in the wrong place.
const CLEARED: [&str; 15] = [
    "aes::counter_mode_aes",
    "aes::gcm_aes",
    "aes::gcm_vaes",
    "aes::gcm_avx512",
    "sm4::aes_ni::gcm",
    "sm4::avx2::gcm",
    "sm4::vaes::gcm",
    "sm4::gfni::gcm",
    "sm4::avx512::gcm",
    "sm4::aes_ni::cbc_decrypt",
    "sm4::avx512::cbc_decrypt",
    "sm4::avx512::ccm",
    "sm4::avx512::counter_mode",
    "chacha20_poly1305::run_avx2",
    "chacha20_poly1305::run_avx512",
];

fn cleared(text: &str) -> Result<usize, Failure> {
    match CLEARED.iter().find(|kernel| !text.lines().any(|line| line.contains(&format!("::{kernel}::")))) {
        Some(kernel) => Err(format!("nothing is cleared behind {kernel}, or the reader of frames does not see it")),
        None => Ok(text.lines().count()),
    }
}

fn short(text: &str) -> Vec<String> {
    let short = text.lines().filter_map(|line| line.strip_prefix("short\t"));
    short
        .map(|line| match line.split('\t').collect::<Vec<_>>()[..] {
            [kernel, caller, needs, clears] => {
                format!("{kernel} may use {needs} bytes of stack, and {caller} clears {clears} behind it")
            }
            _ => format!("candor-scan prints a line that does not describe a kernel's frame: {line}"),
        })
        .collect()
}

fn conclude(tally: &mut Tally, what: &str, faults: Vec<String>) {
    if faults.is_empty() {
        println!("{what}: ok");
        tally.pass();
    }
    for fault in faults {
        println!("{what}: FAILED: {fault}");
        tally.fail(format!("{what}: {fault}"));
    }
}

fn scan(root: &Path, words: &[&str]) -> Result<String, Failure> {
    let output = cargo()
        .current_dir(root)
        .args(["run", "--quiet", "--package", "candor-scan", "--"])
        .args(words)
        .output()
        .map_err(|error| format!("cannot start cargo: {error}"))?;
    if !output.status.success() {
        return Err(format!("candor-scan failed: {}", String::from_utf8_lossy(&output.stderr).trim_end()));
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

/// A sentence for each arm. An error if one is missing that must be there.
fn arms(text: &str, binary: &str) -> Result<Vec<String>, Failure> {
    let mut lines = Vec::new();
    let mut missing = ARMS.to_vec();
    for line in text.lines().filter_map(|line| line.strip_prefix("arm\t")) {
        let fields: Vec<&str> = line.split('\t').collect();
        let [room, tier, functions, instructions, unreached, found] = fields[..] else {
            return Err(format!("candor-scan prints a line that does not describe an arm: {line}"));
        };
        missing.retain(|(wanted, of)| (*wanted, *of) != (room, tier));
        lines.push(format!("{room}@{tier}: {functions} functions, {instructions} instructions ({unreached} unreachable), {found} findings"));
    }
    match missing.first() {
        None => Ok(lines),
        Some((room, tier)) => Err(format!("{binary} has no kernel of {room}@{tier}, so the scan read something else")),
    }
}

fn all_kernels(text: &str) -> Kernels {
    let mut kernels = Kernels::new();
    for line in text.lines().filter_map(|line| line.strip_prefix("kernel\t")) {
        if let [name, found, digest] = line.split('\t').collect::<Vec<_>>()[..] {
            let read = kernels.entry(name.to_owned()).or_default();
            read.findings += found.parse().unwrap_or(1);
            read.digests.push(digest.to_owned());
        }
    }
    kernels.values_mut().for_each(|read| read.digests.sort_unstable());
    kernels
}

fn findings(text: &str) -> Vec<String> {
    text.lines().filter_map(|line| line.strip_prefix("finding\t")).map(|line| line.replace('\t', " ")).collect()
}

/// Kernels that keep more in flight than fits into registers. What the compiler puts aside, and where, depends on the rest of the program, so
/// the two binaries may differ there; the scan reads both forms, and SOUNDNESS.md says so.
const SPILL: [&str; 2] = ["sm4::aes_ni::counter_mode::with_features", "sm4::avx2::counter_mode::with_features"];

/// Kernels of the cases that the shipped binary has otherwise. One that it lacks altogether is none: nobody runs it there. Nor is one that is
/// generic: the scan reads all its forms.
fn differences(text: &str) -> Vec<String> {
    let different = text.lines().filter_map(|line| line.strip_prefix("different\t"));
    let different = different.filter(|name| !SPILL.iter().any(|spill| is_named(name, spill)));
    let mut faults: Vec<String> =
        different.map(|name| format!("{name} has other instructions than the one that ships")).collect();
    if !text.lines().any(|line| line.strip_prefix("same\t").is_some_and(|count| count != "0")) {
        faults.push("no kernel stands in both binaries".to_owned());
    }
    faults
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all_arms() -> String {
        ARMS.iter().map(|(room, tier)| format!("arm\t{room}\t{tier}\t2\t90\t1\t0\n")).collect()
    }

    #[test]
    fn each_arm_says_what_was_read() {
        let lines = arms(&all_arms(), "candor").unwrap();
        assert_eq!(lines.len(), ARMS.len());
        assert_eq!(lines[1], "sha2::sha256@sha: 2 functions, 90 instructions (1 unreachable), 0 findings");
        let without = all_arms().replace("gf2::vpclmul\tvpclmul", "gf2::vpclmul\tavx2");
        assert!(arms(&without, "candor").is_err_and(|why| why.contains("gf2::vpclmul@vpclmul")));
        assert!(arms("arm\tx\n", "candor").is_err());
    }

    #[test]
    fn a_kernel_that_uses_more_stack_than_is_cleared_is_a_finding() {
        let all: String = CLEARED.iter().map(|kernel| format!("enough\tx::{kernel}::f\ty\t8\t16\n")).collect();
        assert_eq!((cleared(&all), short(&all)), (Ok(CLEARED.len()), Vec::new()));
        assert!(cleared(&all.replace("gfni", "none")).is_err_and(|why| why.contains("sm4::gfni::gcm")));
        assert_eq!(short("short\ta\tb\t24\t16\n"), ["a may use 24 bytes of stack, and b clears 16 behind it"]);
        assert_eq!(short("short\ta\n").len(), 1);
    }

    #[test]
    fn a_finding_names_its_place() {
        assert_eq!(findings("finding\ta::b\t+1f\tje depends on data\narm\tx\n"), ["a::b +1f je depends on data"]);
        assert!(findings(&all_arms()).is_empty());
    }

    #[test]
    fn forms_of_one_kernel_count_together() {
        let kernels = all_kernels("kernel\ta::b\t0\tff\narm\tx\nkernel\ta::b\t2\tee\nkernel\tc\t0\taa\n");
        let read =
            |findings, digests: &[&str]| Read { findings, digests: digests.iter().map(|&it| it.into()).collect() };
        assert_eq!(kernels, [("a::b".to_owned(), read(2, &["ee", "ff"])), ("c".to_owned(), read(0, &["aa"]))].into());
    }

    #[test]
    fn code_is_known_by_the_kernels_that_a_case_reads() {
        let kernels = |b: &str| all_kernels(&format!("kernel\tx::low::a::b\t0\t{b}\nkernel\tx::low::a::c\t0\t11\n"));
        let of = |reads: &[&str], b| code(&reads.iter().map(|&name| name.to_owned()).collect::<Vec<_>>(), &kernels(b));
        assert_eq!(of(&["a::b"], "22").map(|code| code.len()), Some(12));
        assert_ne!(of(&["a::b"], "22"), of(&["a::b"], "33"));
        assert_eq!(of(&["a::c"], "22"), of(&["a::c"], "33"));
        assert_ne!(of(&["low::a::*"], "22"), of(&["low::a::*"], "33"));
        assert_eq!(of(&["a::b", "a::c"], "22"), of(&["low::a::*"], "22"));
        assert_eq!([of(&["w::*"], "22"), of(&["a::d"], "22"), of(&[], "22")], [None, None, None]);
    }

    #[test]
    fn a_kernel_that_differs_fails_unless_it_is_generic() {
        assert!(
            differences("same\t9\nmissing\tx::packed\nrenamed\ta::one\nshaped\ta::argon2_avx2::fill_avx2\n").is_empty()
        );
        assert!(differences("same\t9\ndifferent\ta::aes::counter_mode\n")[0].contains("counter_mode"));
        assert_eq!(differences("same\t9\ndifferent\ta::sm4::avx2::counter_mode::with_features\n"), [""; 0]);
        assert_eq!(differences("same\t9\ndifferent\ta::sm4::avx2::blocks::with_features\n").len(), 1);
        assert!(differences("same\t0\n")[0].contains("both binaries"));
    }
}
