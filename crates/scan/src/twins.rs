//! Whether two binaries have the same kernels: the same instructions, but for where things stand.

use crate::binary::{Binary, Function};
use crate::flow::decode;
use crate::kernels;
use iced_x86::{Code, Instruction, Mnemonic, OpKind, Register};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write;

/// How the kernels of one binary relate to those of another.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Twins {
    /// Kernels that both have.
    pub same: usize,
    /// Kernels whose instructions stand in the other binary under no function of that name.
    pub different: BTreeSet<String>,
    /// Kernels that compute the same in other registers, and so perhaps in another order and with other values put aside: the compiler's
    /// allocation depends on the rest of the program. The scan reads both forms.
    pub renamed: BTreeSet<String>,
    /// Generic kernels whose instructions differ: each crate that uses one compiles it, and the compiler shapes it by what it knows of the caller.
    pub shaped: BTreeSet<String>,
    /// Kernels whose name the other binary lacks, such as those for a size that it doesn't use.
    pub missing: BTreeSet<String>,
}

/// Looks for each kernel of `cases` in `shipped`.
pub fn compare(cases: &Binary, shipped: &Binary) -> Twins {
    let mut known: BTreeMap<&str, Known> = BTreeMap::new();
    for kernel in kernels::all(shipped) {
        let known = known.entry(kernel.function.name).or_default();
        known.texts.insert(text(shipped, kernel.function));
        known.codes.insert(codes(kernel.function));
        known.count += 1;
    }
    let mut instances: BTreeMap<&str, usize> = BTreeMap::new();
    for kernel in kernels::all(cases) {
        *instances.entry(kernel.function.name).or_default() += 1;
    }
    let mut twins = Twins::default();
    for kernel in kernels::all(cases) {
        let name = kernel.function.name;
        match known.get(name) {
            None => drop(twins.missing.insert(name.to_owned())),
            Some(known) if known.texts.contains(&text(cases, kernel.function)) => twins.same += 1,
            Some(known) if known.count > 1 || instances[name] > 1 => drop(twins.shaped.insert(name.to_owned())),
            Some(known) if known.codes.contains(&codes(kernel.function)) => drop(twins.renamed.insert(name.to_owned())),
            Some(_) => drop(twins.different.insert(name.to_owned())),
        }
    }
    twins
}

/// What the other binary has under a name.
#[derive(Default)]
struct Known {
    texts: BTreeSet<String>,
    codes: BTreeSet<Vec<Code>>,
    count: usize,
}

/// Which instructions there are, and how many of each, but for those that only move values and step through memory.
fn codes(function: Function<'_>) -> Vec<Code> {
    let mut codes: Vec<Code> =
        decode(function).values().filter(|instruction| !moves(instruction)).map(Instruction::code).collect();
    codes.sort_unstable();
    codes
}

/// Whether an instruction computes nothing: it copies a whole register, makes a zero, counts, pads, or goes on elsewhere.
fn moves(instruction: &Instruction) -> bool {
    let same = || instruction.op0_register() == instruction.op1_register();
    match instruction.mnemonic() {
        Mnemonic::Mov | Mnemonic::Movaps | Mnemonic::Movups | Mnemonic::Movdqa | Mnemonic::Movdqu => true,
        Mnemonic::Vmovaps | Mnemonic::Vmovups | Mnemonic::Vmovdqa | Mnemonic::Vmovdqu => true,
        Mnemonic::Vmovdqa32 | Mnemonic::Vmovdqa64 | Mnemonic::Vmovdqu8 | Mnemonic::Vmovdqu64 => true,
        Mnemonic::Lea | Mnemonic::Push | Mnemonic::Pop | Mnemonic::Jmp | Mnemonic::Nop | Mnemonic::Int3 => true,
        Mnemonic::Xchg | Mnemonic::Xor | Mnemonic::Xorps | Mnemonic::Pxor => same(),
        Mnemonic::Vpxor | Mnemonic::Vpxord | Mnemonic::Vpxorq | Mnemonic::Vxorps => {
            instruction.op1_register() == instruction.op2_register() && instruction.op1_register() != Register::None
        }
        Mnemonic::Add | Mnemonic::Sub => instruction.try_immediate(1).is_ok(),
        _ => false,
    }
}

/// The instructions without addresses: jumps by distance, calls by name, constants by content.
pub(crate) fn text(binary: &Binary, function: Function<'_>) -> String {
    let mut text = String::new();
    for instruction in decode(function).values() {
        let _ = write!(text, "{:?}", instruction.code());
        for operand in 0..instruction.op_count() {
            let _ = write!(text, " {}", shown(binary, function, instruction, operand));
        }
        text.push('\n');
    }
    text
}

fn shown(binary: &Binary, function: Function<'_>, instruction: &Instruction, operand: u32) -> String {
    match instruction.op_kind(operand) {
        OpKind::Register => format!("{:?}", instruction.op_register(operand)),
        OpKind::NearBranch16 | OpKind::NearBranch32 | OpKind::NearBranch64 => {
            let target = instruction.near_branch_target();
            let distance = target.wrapping_sub(function.address);
            if distance < function.code.len() as u64 {
                format!("+{distance:x}")
            } else {
                binary.name(target).unwrap_or("?").to_owned()
            }
        }
        OpKind::Memory if instruction.is_ip_rel_memory_operand() => {
            let (at, size) = (instruction.memory_displacement64(), instruction.memory_size().size());
            match binary.import(at) {
                Some(name) => format!("[{name}]"),
                None => format!("{:02x?}", binary.bytes(at, size).unwrap_or_default()),
            }
        }
        OpKind::Memory => format!(
            "[{:?}+{:?}*{}+{:x}]",
            instruction.memory_base(),
            instruction.memory_index(),
            instruction.memory_index_scale(),
            instruction.memory_displacement64()
        ),
        _ => instruction.try_immediate(operand).map_or_else(|_| "-".to_owned(), |number| format!("{number:x}")),
    }
}
