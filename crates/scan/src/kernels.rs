//! Which functions are kernels, and of which arm.

use crate::binary::{Binary, Function};
use crate::flow::{self, Arguments, Call, Finding, Interface, Report, decode};
use iced_x86::{CpuidFeature, Instruction, Register};
use std::collections::BTreeSet;

/// A function that the scan reads.
pub struct Kernel<'a> {
    /// The function.
    pub function: Function<'a>,
    /// The module that it stands in, such as `gf2::field`.
    pub room: String,
    /// The tier whose instructions it has.
    pub tier: &'static str,
}

/// The crates whose kernels ship, and the libraries behind arms that memcheck can't run.
const CRATES: [&str; 6] = ["candor_primitives", "candor_gf2", "candor_codes", "candor_onion", "candor_opaque", "sha2"];

/// Assembly in AWS-LC that valgrind can't run: what its X25519 takes on CPUs with ADX.
const LIBRARY: [&str; 2] = ["_curve25519_x25519", "_curve25519_x25519base"];

/// Functions that end the program: whether they are called shows, and it is the jump there that is judged. And what the gate's program notes
/// down where bytes are declassified, which no other program has.
const UNREAD: [&str; 3] = ["core::panicking::", "core::slice::index::", "candor_cpu::secret::"];

/// Three of Classic McEliece's kernels on AVX2, the last of which sorts, keep lengths and addresses in structures in memory, where this scan takes all for data.
/// memcheck runs them, in the cases `mceliece*@avx2`. So does the search through a curve's table, in the cases `{p256,p384,secp256k1,sm2}/*@adx`,
/// and RSA's choice of an arm with the products on ADX that the compiler puts there, in the cases `rsa/*@adx`; those on AVX-512 are functions of their own.
const BY_MEMCHECK: [&str; 6] = [
    "candor_codes::low::x86_64::rows::",
    "candor_codes::low::x86_64::sort::",
    "candor_codes::low::x86_64::mceliece::look_up",
    "candor_primitives::low::x86_64::montgomery::step",
    "candor_primitives::rsa::arm_mux::Arm::",
    "candor_primitives::low::x86_64::montgomery::<impl candor_primitives::curve::Arithmetic for candor_primitives::curve::adx::Adx>::apart",
];

/// ML-KEM's matrix is drawn from public bytes (`ml-kem-rho`), with branches and tables where this scan takes all for data. memcheck sees in the cases
/// `ml-kem-*@avx2` that nothing else gets to the first; the other is given the same by the same callers.
const OF_PUBLIC_BYTES: [&str; 2] =
    ["low::x86_64::lattice::sampling::uniform::", "low::x86_64::lattice::sampling::uniform_avx512::"];

/// What the signatures of some functions say, which the machine code doesn't. Of an argument that is an array of slices, or a closure, what is
/// read through it is public, and only what is read through the pointers in it is secret. A word may be a secret itself: `tests/signatures.rs`
/// reads the signatures of all kernels and finds such arguments. Most of these functions are parts of others, and become functions of their own
/// only where the compiler likes it.
const INTERFACES: [(&str, Interface); 33] = [
    // Lengths and slices of a panel.
    ("mceliece_avx512::apply::with_features", slices(&[(3, 1)])),
    ("polyval::hash_clmul::with_features", slices(&[(1, 1)])),
    ("polyval::hash_vpclmul::with_features", slices(&[(1, 1)])),
    ("polyval::hash_avx512::with_features", slices(&[(1, 1)])),
    ("x86_64::sha256::with_features", slices(&[(1, 1)])),
    ("sha256_avx512::with_features", slices(&[(1, 1)])),
    ("sha256_avx512_8::with_features", slices(&[(1, 1)])),
    ("sha256_avx2::with_features", slices(&[(1, 1)])),
    ("sm3_avx2::with_features", slices(&[(1, 1)])),
    ("sm3_avx512::with_features", slices(&[(1, 1)])),
    ("sm3_avx512_8::with_features", slices(&[(1, 1)])),
    ("KERNEL::toom3_interpolate", slices(&[(1, 1)])),
    ("lattice::transform::inner_product::with_features", slices(&[(0, 1)])),
    ("x86_64::clmul::row", words(&[3])),
    ("x86_64::avx2::contains::with_features", words(&[2])),
    ("x86_64::symbols::product", words(&[0, 1])),
    // The number of the entry, behind the place of the result and the entries.
    ("montgomery::selected", words(&[3])),
    ("montgomery::search", words(&[3])),
    // The same behind the table; and the factors and the place of the result of one or two products, which refer to them.
    ("rsa::adx::select_on_vectors", words(&[2])),
    ("rsa::ifma::select_on_vectors", words(&[2])),
    ("rsa::ifma::select_of_length", words(&[2])),
    ("rsa::ifma::of_length", slices(&[(0, 1)])),
    ("rsa::ifma_pair::of_20_limbs", slices(&[(1, 1)])),
    ("rsa::ifma_pair::of_30_limbs", slices(&[(1, 1)])),
    ("rsa::ifma_pair::of_40_limbs", slices(&[(1, 1)])),
    // Masks that say which rows or elements are meant, and an element; a result in memory has an argument before all others.
    ("mceliece_avx512::pivots::eliminate", words(&[1, 2, 3, 4, 5])),
    ("mceliece_avx512::polynomials::factor", words(&[1])),
    ("mceliece_avx512::polynomials::sum", words(&[2, 3])),
    ("mceliece_avx512::affine::Elements::only", words(&[2])),
    ("mceliece_avx512::affine::Elements::or", words(&[3])),
    ("mceliece_avx512::affine::Factor::or", words(&[3])),
    // The first word of each block is turned into the next address, which RFC 9106 §3.4.1 lets depend on the password (`argon2id-address`).
    // The closure that does so refers to its surroundings.
    ("argon2_avx2::fill_avx2", Interface { structures: &[(4, 3)], secrets: &[], publishes: true }),
    ("argon2_avx512::fill_avx512", Interface { structures: &[(4, 3)], secrets: &[], publishes: true }),
];

const fn slices(structures: &'static [(usize, u8)]) -> Interface {
    Interface { structures, secrets: &[], publishes: false }
}

const fn words(secrets: &'static [usize]) -> Interface {
    Interface { structures: &[], secrets, publishes: false }
}

/// The kernels: each function of these crates that has an instruction of some tier, so no arm is forgotten for its name; and a library's.
pub fn all(binary: &Binary) -> Vec<Kernel<'_>> {
    binary.functions().filter_map(kernel).collect()
}

fn kernel(function: Function<'_>) -> Option<Kernel<'_>> {
    let name = function.name.trim_start_matches('<');
    if LIBRARY.iter().any(|library| name.ends_with(library)) {
        return Some(Kernel { function, room: "aws-lc::x25519".to_owned(), tier: "adx" });
    }
    if BY_MEMCHECK.iter().any(|room| name.starts_with(room)) {
        return None;
    }
    if OF_PUBLIC_BYTES.iter().any(|kernel| name.contains(kernel)) {
        return None;
    }
    let ours = CRATES.iter().find(|name| function.name.contains(&format!("{name}::")))?;
    let low = name.contains("::low::") || name.contains("_mux") || *ours == "sha2";
    let tier = decode(function).values().filter_map(tier).max()?;
    // Below the widest tiers the compiler uses AVX2 only where a kernel asks for it, and `low` has them all.
    let room = name.strip_prefix("candor_").unwrap_or(name);
    let room = room.split("::with_features").next().unwrap_or(room);
    let room: Vec<&str> = room.split("::").filter(|part| !matches!(*part, "low" | "x86_64")).collect();
    let room = room[..room.len().min(2)].join("::");
    low.then_some(Kernel { function, room, tier: tier.name() })
}

/// From the one that most CPUs have to the one that fewest have.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    Clmul,
    Sha,
    Avx2,
    Vpclmul,
    Avx512,
}

impl Tier {
    fn name(self) -> &'static str {
        match self {
            Self::Clmul => "clmul",
            Self::Sha => "sha",
            Self::Avx2 => "avx2",
            Self::Vpclmul => "vpclmul",
            Self::Avx512 => "avx512",
        }
    }
}

/// The tier that an instruction needs; `None` for those that every x86-64 has.
fn tier(instruction: &Instruction) -> Option<Tier> {
    let wide = (0..instruction.op_count()).any(|operand| {
        let register = instruction.op_register(operand);
        register != Register::None && register.is_ymm()
    });
    instruction
        .cpuid_features()
        .iter()
        .filter_map(|feature| match feature {
            CpuidFeature::AVX512F | CpuidFeature::AVX512VL | CpuidFeature::AVX512BW | CpuidFeature::AVX512DQ => {
                Some(Tier::Avx512)
            }
            CpuidFeature::VAES | CpuidFeature::VPCLMULQDQ if wide => Some(Tier::Vpclmul),
            CpuidFeature::AVX | CpuidFeature::AVX2 | CpuidFeature::BMI1 | CpuidFeature::BMI2 => Some(Tier::Avx2),
            CpuidFeature::SHA => Some(Tier::Sha),
            CpuidFeature::AES | CpuidFeature::PCLMULQDQ => Some(Tier::Clmul),
            _ => None,
        })
        .max()
}

impl Kernel<'_> {
    /// Follows its data, and through the functions that it calls.
    pub fn follow(&self, binary: &Binary) -> Report {
        follow(binary, self.function)
    }
}

/// Follows the data of a function, and through the functions that it calls. A finding in one of those stands where it is called.
pub fn follow(binary: &Binary, function: Function<'_>) -> Report {
    let mut report = flow::follow(binary, function, interface(function.name));
    let mut todo: Vec<Call> = report.calls.iter().copied().collect();
    let mut seen = BTreeSet::new();
    while let Some(call) = todo.pop() {
        let Some(callee) = binary.function(call.callee).filter(|callee| is_read(*callee, &call.arguments)) else {
            continue;
        };
        // Argon2's closure makes an address of the word that was published for it.
        if interface(function.name).publishes && callee.name == "core::ops::function::FnOnce::call_once" {
            continue;
        }
        if !seen.insert((call.offset, call.callee, call.arguments)) {
            continue;
        }
        let inner = flow::follow_called(binary, callee, interface(callee.name), &call.arguments);
        report.called += 1;
        report.findings.extend(inner.findings.into_iter().map(|finding| Finding {
            offset: call.offset,
            what: format!("call of {}: +{:x}: {}", callee.name, finding.offset, finding.what),
        }));
        todo.extend(inner.calls.into_iter().map(|deeper| Call { offset: call.offset, ..deeper }));
    }
    report
}

/// The integer registers, by number, in which a function is given secret words. Any other that is no pointer counts as public.
pub fn secret_arguments(name: &str) -> &'static [usize] {
    interface(name).secrets
}

fn interface(name: &str) -> Interface {
    let known = INTERFACES.iter().find(|(ending, _)| name.ends_with(ending));
    known.map_or_else(Interface::default, |(_, interface)| *interface)
}

/// Whether a function that a kernel calls is read there: each that is given a secret in a register, and each that isn't read for itself, since the
/// secret may lie behind an address.
fn is_read(callee: Function<'_>, arguments: &Arguments) -> bool {
    !UNREAD.iter().any(|end| callee.name.starts_with(end)) && (arguments.secret() || kernel(callee).is_none())
}
