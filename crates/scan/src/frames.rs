//! Whether the stack that a caller clears behind a kernel is as much as the kernel has used.
//!
//! The compiler puts registers aside on the stack where it has too few. `candor_primitives::stack::overwrite` clears a number of bytes that
//! stands in the source, behind each call; what the kernel needs stands in its machine code, and grows when that changes. Here the two are
//! compared, for arms too whose instructions this machine hasn't.

use crate::binary::{Binary, Function};
use crate::flow::{decode, successors, tables};
use iced_x86::{FlowControl, Instruction, Mnemonic, OpKind, Register};
use std::collections::{BTreeMap, BTreeSet};

/// A kernel, and what is cleared behind it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Cleared {
    /// The kernel.
    pub kernel: String,
    /// The function that calls it.
    pub caller: String,
    /// The deepest byte that it may use, in bytes below the caller's frame; an error says why that isn't known.
    pub needs: Result<u64, String>,
    /// Bytes below the caller's frame that are overwritten afterwards, on the way where they are fewest.
    pub clears: u64,
}

impl Cleared {
    /// Whether all that the kernel may use is overwritten.
    pub fn is_enough(&self) -> bool {
        self.needs.as_ref().is_ok_and(|needs| *needs <= self.clears)
    }
}

/// What overwrites the stack: its frame is as large as what it overwrites.
const CLEARS: &str = "zeroize::stack::zeroize_stack";

/// Calls of kernels directly behind which the stack is cleared. Other kernels keep nothing there or wipe it themselves: `cargo xtask residue`
/// looks at what stays.
pub fn all(binary: &Binary) -> Vec<Cleared> {
    let mut frames = Frames { binary, known: BTreeMap::new() };
    let callers: Vec<_> = binary.functions().filter(|function| clears(binary, *function)).collect();
    let found: BTreeSet<_> = callers.into_iter().flat_map(|caller| frames.of_caller(caller)).collect();
    found.into_iter().collect()
}

/// Whether the bytes of a function look like a call of what clears, to spare the time for all the others.
fn clears(binary: &Binary, function: Function<'_>) -> bool {
    function.name.contains("candor_")
        && function.code.windows(6).enumerate().any(|(at, code)| {
            let next = |length: u64, distance: &[u8]| {
                let distance = i32::from_le_bytes([distance[0], distance[1], distance[2], distance[3]]);
                (function.address + at as u64 + length).wrapping_add_signed(distance.into())
            };
            let callee = match code {
                [0xe8, distance @ .., _] => Some(next(5, distance)),
                [0xff, 0x15, distance @ ..] => binary.imported(next(6, distance)),
                _ => None,
            };
            callee.and_then(|callee| binary.name(callee)) == Some(CLEARS)
        })
}

struct Frames<'a> {
    binary: &'a Binary,
    /// How deep a function goes, from the stack pointer before its call; `None` while it is being read.
    known: BTreeMap<u64, Option<Result<u64, String>>>,
}

/// Instructions of a function, and how many bytes lie between the stack pointer before each and the one at the function's first.
struct Read {
    instructions: BTreeMap<u64, Instruction>,
    /// Where each leads.
    ways: BTreeMap<u64, Vec<u64>>,
    below: Result<BTreeMap<u64, u64>, String>,
}

impl<'a> Frames<'a> {
    fn of_caller(&mut self, caller: Function<'a>) -> Vec<Cleared> {
        let read = self.read(caller);
        let binary = self.binary;
        let name = |at: &Instruction| name_of(binary, at);
        let is_kernel = |name: &str| name.contains("::low::") && name.contains("with_features");
        let calls: Vec<_> = read.instructions.values().filter(|at| name(at).is_some_and(is_kernel)).copied().collect();
        let below = match &read.below {
            Ok(below) => |at: u64| below.get(&at).copied().unwrap_or_default(),
            Err(why) => {
                let unknown = |call: &Instruction| Cleared {
                    kernel: name(call).unwrap_or_default().to_owned(),
                    caller: caller.name.to_owned(),
                    needs: Err(format!("its caller: {why}")),
                    clears: 0,
                };
                return calls.iter().map(unknown).collect();
            }
        };
        let mut found = Vec::new();
        for call in calls {
            let Some(kernel) = called(binary, &call) else { continue };
            // Each way from the call on, up to where it clears, returns, or has another kernel's call.
            let (mut todo, mut seen, mut clears) = (vec![call.next_ip()], BTreeSet::new(), Vec::new());
            while let Some(at) = todo.pop() {
                let Some(instruction) = read.instructions.get(&at).filter(|_| seen.insert(at)) else { continue };
                if name(instruction) == Some(CLEARS)
                    && let Some(callee) = called(binary, instruction)
                {
                    // Measured from the same place as what the kernel needs.
                    clears.push((self.overwritten(callee) + below(at)).saturating_sub(below(call.ip())));
                } else if !name(instruction).is_some_and(is_kernel) {
                    todo.extend(&read.ways[&at]);
                }
            }
            if let Some(clears) = clears.into_iter().min() {
                found.push(Cleared {
                    kernel: name(&call).unwrap_or_default().to_owned(),
                    caller: caller.name.to_owned(),
                    needs: self.depth(kernel),
                    clears,
                });
            }
        }
        found
    }

    /// Bytes below the stack pointer before the call that a function of that kind overwrites: the return address, what it puts aside, its array.
    fn overwritten(&self, function: u64) -> u64 {
        let function = self.binary.function(function).expect("it has a name");
        let below = self.read(function).below;
        8 + below.ok().and_then(|below| below.values().max().copied()).unwrap_or_default()
    }

    /// How deep a function goes with all that it calls, from the stack pointer before its call.
    fn depth(&mut self, address: u64) -> Result<u64, String> {
        match self.known.get(&address) {
            Some(Some(known)) => return known.clone(),
            Some(None) => return Err("calls itself".to_owned()),
            None => {}
        }
        let Some(function) = self.binary.function(address) else { return Err("has no symbol".to_owned()) };
        if never_returns(function.name) {
            return Ok(0);
        }
        self.known.insert(address, None);
        let read = self.read(function);
        let depth = read.below.and_then(|below| {
            let inside = address..address + function.code.len() as u64;
            let mut deepest = below.values().max().copied().unwrap_or_default();
            for (at, below) in &below {
                let instruction = &read.instructions[at];
                let deeper = match instruction.flow_control() {
                    FlowControl::Call => self.depth(instruction.near_branch_target())?,
                    FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch
                        if !inside.contains(&instruction.near_branch_target()) =>
                    {
                        self.depth(instruction.near_branch_target())?.saturating_sub(8)
                    }
                    FlowControl::IndirectCall => self.indirect(instruction, &read.instructions)?,
                    FlowControl::IndirectBranch if instruction.is_ip_rel_memory_operand() => {
                        self.indirect(instruction, &read.instructions)?
                    }
                    _ => 0,
                };
                deepest = deepest.max(below + deeper);
            }
            Ok(8 + deepest)
        });
        self.known.insert(address, Some(depth.clone()));
        depth
    }

    /// An indirect call, of an address that the loader has put into a table or that was loaded from there before. The C library's copies keep
    /// nothing on the stack but the address that they return to; other functions of its aren't known.
    fn indirect(&mut self, call: &Instruction, function: &BTreeMap<u64, Instruction>) -> Result<u64, String> {
        let is_load = |at: &&Instruction| at.mnemonic() == Mnemonic::Mov && at.is_ip_rel_memory_operand();
        let places: Vec<u64> = match call.is_ip_rel_memory_operand() {
            true => vec![call.memory_displacement64()],
            // A register's, which may have been copied or put aside meanwhile: any that the function loads.
            false => function.values().filter(is_load).map(Instruction::memory_displacement64).collect(),
        };
        let (mut deepest, mut known) = (8, false);
        for place in places {
            match (self.binary.imported(place), self.binary.import(place)) {
                (Some(callee), _) => deepest = deepest.max(self.depth(callee)?),
                (None, Some("memcpy" | "memmove" | "memset" | "memcmp" | "bcmp")) => {}
                (None, Some(name)) => return Err(format!("calls {name}")),
                // Data.
                (None, None) => continue,
            }
            known = true;
        }
        if known { Ok(deepest) } else { Err("calls a function that is not known".to_owned()) }
    }

    fn read(&self, function: Function<'_>) -> Read {
        let instructions = decode(function);
        let tables = tables(self.binary, function, &instructions);
        let next = |at: &Instruction| match name_of(self.binary, at).is_some_and(never_returns) {
            true => Vec::new(),
            false => successors(at, &tables),
        };
        let ways: BTreeMap<_, _> = instructions.iter().map(|(address, at)| (*address, next(at))).collect();
        let below = below(&instructions, &ways, function.address);
        Read { instructions, ways, below }
    }
}

/// The function of this file that an instruction calls, by its address or through the table that the loader fills.
fn called(binary: &Binary, call: &Instruction) -> Option<u64> {
    match call.flow_control() {
        FlowControl::Call => Some(call.near_branch_target()),
        FlowControl::IndirectCall if call.is_ip_rel_memory_operand() => binary.imported(call.memory_displacement64()),
        _ => None,
    }
}

/// The name of the function that an instruction calls, be it of this file or another.
fn name_of<'a>(binary: &'a Binary, call: &Instruction) -> Option<&'a str> {
    match called(binary, call) {
        Some(callee) => binary.name(callee),
        None if call.flow_control() == FlowControl::IndirectCall && call.is_ip_rel_memory_operand() => {
            binary.import(call.memory_displacement64())
        }
        None => None,
    }
}

/// Functions that panic or unwind. What stands behind a call of one belongs to another way.
fn never_returns(name: &str) -> bool {
    ["core::panicking::", "alloc::alloc::handle_alloc_error", "alloc::raw_vec::handle_error", "_Unwind_Resume"]
        .iter()
        .any(|start| name.starts_with(start))
        || ["_fail", "_failed"].iter().any(|end| name.ends_with(end))
}

/// More than any stack has: a loop that moves the stack pointer.
const DEEPEST: u64 = 1 << 24;

/// For each instruction that a way leads to, the bytes between the stack pointer before it and the one at the function's beginning.
fn below(
    instructions: &BTreeMap<u64, Instruction>,
    ways: &BTreeMap<u64, Vec<u64>>,
    start: u64,
) -> Result<BTreeMap<u64, u64>, String> {
    let (mut below, mut todo) = (BTreeMap::new(), vec![(start, 0)]);
    while let Some((at, depth)) = todo.pop() {
        let Some(instruction) = instructions.get(&at) else { continue };
        match below.get(&at) {
            // Behind an alignment, whose bytes count in full, a way back up may seem to end higher than it does.
            Some(&known) if known >= depth => continue,
            _ if depth > DEEPEST => return Err("has no bound that shows".to_owned()),
            _ => below.insert(at, depth),
        };
        let after = moved(instruction, depth)?;
        todo.extend(ways[&at].iter().map(|next| (*next, after)));
    }
    // A function that calls none may use 128 bytes below the stack pointer.
    for (at, depth) in &mut below {
        let instruction = &instructions[at];
        if instruction.memory_base() == Register::RSP {
            *depth += instruction.memory_displacement64().cast_signed().min(0).unsigned_abs();
        }
    }
    Ok(below)
}

/// The same behind an instruction.
fn moved(instruction: &Instruction, depth: u64) -> Result<u64, String> {
    let to_pointer = instruction.op0_kind() == OpKind::Register && instruction.op0_register() == Register::RSP;
    match instruction.mnemonic() {
        // What it calls has put the stack pointer back.
        Mnemonic::Call => Ok(depth),
        Mnemonic::And if to_pointer => Ok(depth + (instruction.immediate(1).wrapping_neg() - 1)),
        // From the frame pointer, in an epilogue: nothing is called behind it, so the depth doesn't count any more.
        Mnemonic::Mov | Mnemonic::Lea | Mnemonic::Leave if to_pointer || instruction.mnemonic() == Mnemonic::Leave => {
            Ok(depth)
        }
        Mnemonic::Sub | Mnemonic::Add if to_pointer && instruction.op1_kind() == OpKind::Register => {
            Err("moves the stack pointer by what isn't a constant".to_owned())
        }
        Mnemonic::Sub if to_pointer => Ok(depth.saturating_add_signed(instruction.immediate(1).cast_signed())),
        Mnemonic::Add if to_pointer => Ok(depth.saturating_add_signed(-instruction.immediate(1).cast_signed())),
        _ => Ok(depth.saturating_add_signed(-i64::from(instruction.stack_pointer_increment()))),
    }
}
