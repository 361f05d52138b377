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
    let mut codes: Vec<Code> = decode(function)
        .values()
        .filter(|instruction| !moves(instruction))
        .map(|instruction| plain(instruction.code()))
        .collect();
    codes.sort_unstable();
    codes
}

/// One code for instructions that do the same: the compiler takes the sum of vectors of integers or of floats by what stands around it.
fn plain(code: Code) -> Code {
    match code {
        Code::VEX_Vxorps_xmm_xmm_xmmm128 => Code::VEX_Vpxor_xmm_xmm_xmmm128,
        Code::VEX_Vxorps_ymm_ymm_ymmm256 => Code::VEX_Vpxor_ymm_ymm_ymmm256,
        other => other,
    }
}

/// Whether an instruction computes nothing: it copies a whole register, fills one with a constant, makes a zero, counts, pads, or goes on elsewhere.
fn moves(instruction: &Instruction) -> bool {
    let same = || instruction.op0_register() == instruction.op1_register();
    let constant = || instruction.is_ip_rel_memory_operand();
    match instruction.mnemonic() {
        Mnemonic::Mov | Mnemonic::Movaps | Mnemonic::Movups | Mnemonic::Movdqa | Mnemonic::Movdqu => true,
        Mnemonic::Vmovaps | Mnemonic::Vmovups | Mnemonic::Vmovdqa | Mnemonic::Vmovdqu => true,
        Mnemonic::Vmovdqa32 | Mnemonic::Vmovdqa64 | Mnemonic::Vmovdqu8 | Mnemonic::Vmovdqu64 => true,
        // Which constants stay in a register and which are filled in anew is the allocation's choice, and so is the form for it.
        Mnemonic::Vbroadcastss | Mnemonic::Vbroadcastsd | Mnemonic::Vbroadcastf128 | Mnemonic::Vbroadcasti128 => {
            constant()
        }
        Mnemonic::Vpbroadcastd | Mnemonic::Vpbroadcastq => constant(),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filling_a_register_with_a_constant_computes_nothing_and_with_data_it_does() {
        let of = |code: &[u8]| codes(Function { name: "f", address: 0x1000, code });
        let ret = of(&[0xc3]);
        // vpbroadcastq ymm2, [rip]; vbroadcastsd ymm2, [rip]; vpbroadcastq ymm2, [rdi]; each with ret behind it.
        assert_eq!(of(&[0xc4, 0xe2, 0x7d, 0x59, 0x15, 0, 0, 0, 0, 0xc3]), ret);
        assert_eq!(of(&[0xc4, 0xe2, 0x7d, 0x19, 0x15, 0, 0, 0, 0, 0xc3]), ret);
        assert_ne!(of(&[0xc4, 0xe2, 0x7d, 0x59, 0x17, 0xc3]), ret);
        // vpxor ymm0, ymm1, ymm2 and vxorps ymm0, ymm1, ymm2 do the same, vpand another thing.
        assert_eq!(of(&[0xc5, 0xf5, 0xef, 0xc2]), of(&[0xc5, 0xf4, 0x57, 0xc2]));
        assert_ne!(of(&[0xc5, 0xf5, 0xef, 0xc2]), of(&[0xc5, 0xf5, 0xdb, 0xc2]));
    }
}
