//! Whether the stack that a caller clears behind a kernel is as much as the kernel has used.
//!
//! The compiler puts registers aside on the stack where it has too few. `candor_primitives::stack::overwrite` clears a number of bytes that
//! stands in the source, behind each call; what the kernel needs stands in its machine code, and grows when that changes. Here the two are
//! compared, for arms too whose instructions this machine hasn't.

use crate::binary::{Binary, Function};
use crate::flow::{decode, successors, tables};
use iced_x86::{FlowControl, Instruction, InstructionInfoFactory, Mnemonic, OpAccess, OpKind, Register};
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

/// Rooms whose kernels must have the stack cleared behind them, if they go deeper than [`SHALLOW`].
const ROOMS: [&str; 3] = ["::aes::", "::sm4::", "::chacha20_poly1305::"];

/// Bytes for a return address and the registers that a function saves, which hold its caller's values, and for little more.
const SHALLOW: u64 = 160;

/// Calls of kernels behind which the stack is cleared, on some way at least, or should be. Kernels of other rooms than `ROOMS` keep nothing
/// there, wipe it themselves, or have it cleared further up: `cargo xtask residue` looks at what stays.
pub fn all(binary: &Binary) -> Vec<Cleared> {
    let named = |wanted: fn(&str) -> bool| binary.functions().filter(move |function| wanted(function.name));
    let targets = named(is_kernel).chain(named(|name| name == CLEARS)).map(|function| function.address).collect();
    let mut frames = Frames { binary, known: BTreeMap::new() };
    let callers: Vec<_> = binary.functions().filter(|function| mentions(binary, *function, &targets)).collect();
    let found: BTreeSet<_> = callers.into_iter().flat_map(|caller| frames.of_caller(caller)).collect();
    found.into_iter().collect()
}

fn is_kernel(name: &str) -> bool {
    name.contains("::low::") && name.contains("with_features")
}

/// Whether the bytes of a function look as if it called or named one of these, to spare the time for all the others.
fn mentions(binary: &Binary, function: Function<'_>, targets: &BTreeSet<u64>) -> bool {
    function.code.windows(7).enumerate().any(|(at, code)| {
        let next = |length: u64, distance: &[u8]| {
            let distance = i32::from_le_bytes([distance[0], distance[1], distance[2], distance[3]]);
            (function.address + at as u64 + length).wrapping_add_signed(distance.into())
        };
        let callee = match code {
            [0xe8 | 0xe9, distance @ .., _, _] => Some(next(5, distance)),
            [0xff, 0x15 | 0x25, distance @ .., _] => binary.imported(next(6, distance)),
            [0x48 | 0x4c, 0x8d, register, distance @ ..] if register & 0xc7 == 5 => Some(next(7, distance)),
            _ => None,
        };
        callee.is_some_and(|callee| targets.contains(&callee))
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
        let row = |kernel: &str, needs, clears| Cleared {
            kernel: kernel.to_owned(),
            caller: caller.name.to_owned(),
            needs,
            clears,
        };
        let mut found = Vec::new();
        for at in read.instructions.values() {
            if at.mnemonic() == Mnemonic::Lea
                && at.is_ip_rel_memory_operand()
                && let Some(kernel) = binary.name(at.memory_displacement64()).filter(|name| is_kernel(name))
            {
                found.push(row(
                    kernel,
                    Err("is called by its address, so what is behind it isn't known".to_owned()),
                    0,
                ));
            }
        }
        for call in read.instructions.values().filter(|at| name(at).is_some_and(is_kernel)) {
            let (Some(kernel), Some(named)) = (called(binary, call), name(call)) else { continue };
            let below = match &read.below {
                Ok(below) => |at: u64| below.get(&at).copied().unwrap_or_default(),
                Err(why) => {
                    found.push(row(named, Err(format!("its caller: {why}")), 0));
                    continue;
                }
            };
            // Each way from the call on, up to where it clears or leaves the function.
            let mut todo = match call.flow_control() {
                FlowControl::Call | FlowControl::IndirectCall => vec![call.next_ip()],
                _ => Vec::new(),
            };
            let (mut seen, mut clears) = (BTreeSet::new(), Vec::new());
            if todo.is_empty() {
                clears.push(0);
            }
            while let Some(at) = todo.pop() {
                let Some(instruction) = read.instructions.get(&at).filter(|_| seen.insert(at)) else { continue };
                if name(instruction) == Some(CLEARS)
                    && let Some(callee) = called(binary, instruction)
                {
                    // Measured from the same place as what the kernel needs. A jump puts no return address there, and leaves with the
                    // pointer where the function began.
                    let overwritten = match instruction.flow_control() {
                        FlowControl::Call | FlowControl::IndirectCall => self.overwritten(callee) + below(at),
                        _ => self.overwritten(callee) - 8,
                    };
                    clears.push(overwritten.saturating_sub(below(call.ip())));
                } else if leaves(instruction, caller) {
                    clears.push(0);
                } else {
                    todo.extend(&read.ways[&at]);
                }
            }
            let wanted = ROOMS.iter().any(|room| named.contains(room)) && !is_kernel(caller.name);
            let Some(fewest) = clears.iter().min().copied() else { continue };
            let needs = self.depth(kernel);
            let shallow = fewest == 0 && needs.as_ref().is_ok_and(|needs| *needs <= SHALLOW);
            if !shallow && (wanted || clears.iter().any(|clears| *clears > 0)) {
                found.push(row(named, needs, fewest));
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
        let depth = read.below.clone().and_then(|below| {
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
                    FlowControl::IndirectCall => self.indirect(instruction, &read)?,
                    FlowControl::IndirectBranch if instruction.is_ip_rel_memory_operand() => {
                        self.indirect(instruction, &read)?
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
    fn indirect(&mut self, call: &Instruction, function: &Read) -> Result<u64, String> {
        let unknown = || "calls a function that is not known".to_owned();
        let mut deepest = 8;
        for place in places(self.binary, call, function).ok_or_else(unknown)? {
            match (self.binary.imported(place), self.binary.import(place)) {
                (Some(callee), _) => deepest = deepest.max(self.depth(callee)?),
                (None, Some("memcpy" | "memmove" | "memset" | "memcmp" | "bcmp")) => {}
                (None, Some(name)) => return Err(format!("calls {name}")),
                (None, None) => return Err(unknown()),
            }
        }
        Ok(deepest)
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

/// Where the loader has put the address that is called, or the addresses, if it depends on the way; `None` if it may come from elsewhere.
fn places(binary: &Binary, call: &Instruction, function: &Read) -> Option<BTreeSet<u64>> {
    let is_load = |at: &Instruction| at.mnemonic() == Mnemonic::Mov && at.is_ip_rel_memory_operand();
    if call.is_ip_rel_memory_operand() {
        return Some([call.memory_displacement64()].into());
    }
    // Back along each way to what wrote the register. No way leads to what fills the gaps between blocks.
    let reached = function.below.as_ref().ok()?;
    let mut before: BTreeMap<u64, Vec<u64>> = BTreeMap::new();
    for (from, ways) in function.ways.iter().filter(|(from, _)| reached.contains_key(from)) {
        ways.iter().for_each(|to| before.entry(*to).or_default().push(*from));
    }
    let mut factory = InstructionInfoFactory::new();
    let mut places = BTreeSet::new();
    let mut todo = vec![(call.ip(), (call.op0_kind() == OpKind::Register).then(|| call.op0_register())?)];
    let mut seen = BTreeSet::new();
    while let Some((at, register)) = todo.pop() {
        // At the function's beginning it is an argument, or a register of its caller's.
        for from in before.get(&at)? {
            let instruction = &function.instructions[from];
            let calls = matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall);
            let writes = factory.info(instruction).used_registers().iter().any(|used| {
                used.register().full_register() == register
                    && !matches!(used.access(), OpAccess::Read | OpAccess::CondRead)
            });
            match () {
                () if calls && !SAVED.contains(&register) => return None,
                () if !writes => {
                    if seen.insert((*from, register)) {
                        todo.push((*from, register));
                    }
                }
                () if is_load(instruction) => {
                    places.insert(instruction.memory_displacement64());
                }
                () if instruction.mnemonic() == Mnemonic::Mov && instruction.op1_kind() == OpKind::Register => {
                    if seen.insert((*from, instruction.op1_register())) {
                        todo.push((*from, instruction.op1_register()));
                    }
                }
                // Put aside meanwhile: any function's address that is loaded.
                () if instruction.mnemonic() == Mnemonic::Mov && instruction.memory_base() == Register::RSP => {
                    let loads = function.instructions.values().filter(|at| is_load(at));
                    let known =
                        loads.map(Instruction::memory_displacement64).filter(|place| binary.import(*place).is_some());
                    places.extend(known);
                    if places.is_empty() {
                        return None;
                    }
                }
                () => return None,
            }
        }
    }
    Some(places)
}

/// Registers that a call leaves as they were.
const SAVED: [Register; 6] = [Register::RBX, Register::RBP, Register::R12, Register::R13, Register::R14, Register::R15];

/// The function of this file that an instruction calls, by its address or through the table that the loader fills.
fn called(binary: &Binary, call: &Instruction) -> Option<u64> {
    match call.flow_control() {
        FlowControl::Call | FlowControl::UnconditionalBranch => Some(call.near_branch_target()),
        FlowControl::IndirectCall | FlowControl::IndirectBranch if call.is_ip_rel_memory_operand() => {
            binary.imported(call.memory_displacement64())
        }
        _ => None,
    }
}

/// Whether a way ends here: with a return, or with a jump to another function.
fn leaves(instruction: &Instruction, function: Function<'_>) -> bool {
    let inside = function.address..function.address + function.code.len() as u64;
    match instruction.flow_control() {
        FlowControl::Return => true,
        FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
            !inside.contains(&instruction.near_branch_target())
        }
        FlowControl::IndirectBranch => instruction.is_ip_rel_memory_operand(),
        _ => false,
    }
}

/// The name of the function that an instruction calls or jumps to, be it of this file or another.
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
        Mnemonic::Lea if to_pointer && instruction.memory_base() == Register::RSP => {
            Ok(depth.saturating_add_signed(-instruction.memory_displacement64().cast_signed()))
        }
        // From the frame pointer, in an epilogue: nothing is called behind it, so the depth doesn't count any more.
        Mnemonic::Leave => Ok(depth),
        Mnemonic::Lea if to_pointer && instruction.memory_base() == Register::RBP => Ok(depth),
        Mnemonic::Mov if to_pointer && instruction.op1_register() == Register::RBP => Ok(depth),
        Mnemonic::Mov | Mnemonic::Lea | Mnemonic::Xchg if to_pointer => {
            Err("sets the stack pointer to what isn't known".to_owned())
        }
        Mnemonic::Sub | Mnemonic::Add if to_pointer && instruction.op1_kind() == OpKind::Register => {
            Err("moves the stack pointer by what isn't a constant".to_owned())
        }
        Mnemonic::Sub if to_pointer => Ok(depth.saturating_add_signed(instruction.immediate(1).cast_signed())),
        Mnemonic::Add if to_pointer => Ok(depth.saturating_add_signed(-instruction.immediate(1).cast_signed())),
        _ => Ok(depth.saturating_add_signed(-i64::from(instruction.stack_pointer_increment()))),
    }
}
