//! Instructions that treat the lanes of a vector one by one.

use crate::state::State;
use iced_x86::{Instruction, Mnemonic, OpKind, Register};

/// What time may depend on in an instruction that treats the lanes of a vector one by one. A store whose mask is public, as at the end of an array, is no
/// finding, and neither is a load: SOUNDNESS.md says what is assumed of masks.
pub(crate) fn by_lanes(instruction: &Instruction, state: &State, secret_operands: bool) -> Option<&'static str> {
    let name = format!("{:?}", instruction.mnemonic());
    let begins = |kinds: &[&str]| kinds.iter().any(|kind| name.starts_with(kind));
    let to_memory = instruction.op_count() > 0 && instruction.op0_kind() == OpKind::Memory;
    let from_memory = (1..instruction.op_count()).any(|operand| instruction.op_kind(operand) == OpKind::Memory);
    let gathers = begins(&["Vgather", "Vpgather", "Vscatter", "Vpscatter"]);
    let packs = begins(&["Vcompress", "Vpcompress", "Vexpand", "Vpexpand"]) && (to_memory || from_memory);
    // AVX-512 has registers of masks. Before that a mask is a vector: of a gather the third operand, of a store the second of three, and of SSE2's the last
    // of two, with an address that is implied.
    let mask = match () {
        () if instruction.op_mask() != Register::None => instruction.op_mask(),
        () if gathers => instruction.op2_register(),
        () if begins(&["Vmaskmovp", "Vpmaskmov"]) => instruction.op1_register(),
        () if begins(&["Maskmov", "Vmaskmovdqu"]) => instruction.op_register(instruction.op_count() - 1),
        () => Register::None,
    };
    let secret = mask != Register::None && state.get(mask).secret;
    let stores = to_memory || begins(&["Maskmov", "Vmaskmovdqu"]);
    match () {
        () if begins(&["Vpconflict"]) && secret_operands => Some("of data: its time may depend on the operands"),
        () if secret && (gathers || packs || stores) => {
            Some("of lanes that data choose: its time may depend on the mask")
        }
        () => None,
    }
}

/// Whether the result is the same whatever the operands hold: a vector compared with itself, as the compiler makes ones.
pub(crate) fn is_constant(instruction: &Instruction) -> bool {
    use Mnemonic::*;
    let last = instruction.op_count().saturating_sub(1);
    let compares = matches!(
        instruction.mnemonic(),
        Pcmpeqb | Pcmpeqw | Pcmpeqd | Pcmpeqq | Vpcmpeqb | Vpcmpeqw | Vpcmpeqd | Vpcmpeqq
    );
    compares
        && instruction.op_mask() == Register::None
        && instruction.op_kind(last) == OpKind::Register
        && instruction.op_kind(last - 1) == OpKind::Register
        && instruction.op_register(last) == instruction.op_register(last - 1)
}
