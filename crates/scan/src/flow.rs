//! Follows data through one function: what is read through a pointer is secret, and whatever is computed from it.
//!
//! Arguments in registers are pointers and lengths, so they are public, as are constants. The stack is followed byte by byte as long as it
//! is addressed by constants. The function may do anything with secrets but branch on them, use them in an address, or give them to an
//! instruction whose time depends on its operands.

use crate::binary::{Binary, Function};
use crate::lanes::{by_lanes, is_constant};
use crate::state::{State, Value};
use iced_x86::{
    Code, Decoder, DecoderOptions, FlowControl, Instruction, InstructionInfo, InstructionInfoFactory, Mnemonic,
    OpAccess, OpKind, Register, UsedMemory,
};
use std::collections::{BTreeMap, BTreeSet};

/// A place where time depends on data.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// Bytes from the function's beginning.
    pub offset: u64,
    /// What is wrong there.
    pub what: String,
}

/// What was read of a function.
#[derive(Debug, Default)]
pub struct Report {
    /// Instructions that the function has.
    pub instructions: usize,
    /// Those that were followed. The rest can't be reached, as what comes after a panic.
    pub followed: usize,
    /// Places where time depends on data.
    pub findings: BTreeSet<Finding>,
    /// How many functions were read because it calls them.
    pub called: usize,
    /// The functions of this file that it calls, and with what.
    pub(crate) calls: BTreeSet<Call>,
}

/// A call of a function whose code is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Call {
    /// Bytes from the caller's beginning.
    pub(crate) offset: u64,
    pub(crate) callee: u64,
    pub(crate) arguments: Arguments,
}

/// What a function is called with, as far as it isn't a public number or a pointer to data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Arguments {
    /// Whether each integer register holds a secret, and how many steps it is from there to the data.
    registers: [(bool, u8); 6],
    /// Whether each vector register holds a secret.
    vectors: [bool; 8],
}

impl Arguments {
    fn of(state: &State) -> Self {
        let vector = |number| state.get(Register::ZMM0 + number).secret;
        Self {
            registers: ARGUMENTS.map(|register| state.get(register)).map(|value| (value.secret, value.depth)),
            vectors: [0, 1, 2, 3, 4, 5, 6, 7].map(vector),
        }
    }

    /// Whether an integer register holds a secret: a vector register nearly always does, be it an argument or not.
    pub(crate) fn secret(&self) -> bool {
        self.registers.iter().any(|(secret, _)| *secret)
    }
}

/// The registers of integer arguments, in the order of the System V ABI.
const ARGUMENTS: [Register; 6] =
    [Register::RDI, Register::RSI, Register::RDX, Register::RCX, Register::R8, Register::R9];

/// What a reader knows of a function's interface.
#[derive(Clone, Copy, Default)]
pub struct Interface {
    /// Arguments, by number, that point to pointers and lengths, and how many steps it is to the data.
    pub structures: &'static [(usize, u8)],
    /// Arguments, by number, that are themselves secret words.
    pub secrets: &'static [usize],
    /// What goes from memory or a vector into a general register as it is, is made public on purpose. What is computed in vectors is not.
    pub publishes: bool,
}

/// Follows the data of a function. Vectors that it is given are secret, integers are public but for those that the interface names.
pub fn follow(binary: &Binary, function: Function<'_>, interface: Interface) -> Report {
    let mut arguments = Arguments { vectors: [true; 8], ..Arguments::default() };
    for &number in interface.secrets {
        arguments.registers[number].0 = true;
    }
    follow_called(binary, function, interface, &arguments)
}

/// Follows the data of a function that is called with these arguments.
pub(crate) fn follow_called(
    binary: &Binary,
    function: Function<'_>,
    interface: Interface,
    arguments: &Arguments,
) -> Report {
    let instructions = decode(function);
    let mut start = State::default();
    start.set(Register::RSP, Value { stack: Some(0), ..Value::PUBLIC });
    for (register, &(secret, depth)) in ARGUMENTS.into_iter().zip(&arguments.registers) {
        start.set(register, Value { secret, depth, ..Value::PUBLIC });
    }
    for (number, &secret) in (0..).zip(&arguments.vectors) {
        start.set(Register::ZMM0 + number, Value::of(secret));
    }
    for &(number, depth) in interface.structures {
        start.set(ARGUMENTS[number], Value { depth, ..Value::PUBLIC });
    }
    let mut walk = Walk {
        binary,
        function,
        interface,
        factory: InstructionInfoFactory::new(),
        findings: BTreeSet::new(),
        calls: BTreeSet::new(),
    };
    let tables = tables(binary, function, &instructions);
    // States are kept where control flow meets or parts.
    let mut leaders = tables.clone();
    for instruction in instructions.values().filter(|it| it.flow_control() != FlowControl::Next) {
        leaders.extend(successors(instruction, &tables));
    }
    let mut states: BTreeMap<u64, State> = BTreeMap::from([(function.address, start)]);
    let mut todo = BTreeSet::from([function.address]);
    let mut seen = BTreeSet::new();
    while let Some(mut at) = todo.pop_first() {
        let Some(mut state) = states.get(&at).cloned() else { continue };
        while let Some(instruction) = instructions.get(&at) {
            seen.insert(at);
            walk.step(instruction, &mut state);
            if walk.ends_the_program(instruction, &state) {
                break;
            }
            let next = successors(instruction, &tables);
            if let [only] = next[..]
                && !leaders.contains(&only)
            {
                at = only;
                continue;
            }
            for next in next.into_iter().filter(|next| instructions.contains_key(next)) {
                let changed = match states.get_mut(&next) {
                    Some(known) => known.join(&state),
                    None => states.insert(next, state.clone()).is_none(),
                };
                if changed {
                    todo.insert(next);
                }
            }
            break;
        }
    }
    Report {
        instructions: instructions.len(),
        followed: seen.len(),
        findings: walk.findings,
        called: 0,
        calls: walk.calls,
    }
}

/// A function's instructions by address. Bytes that are none are one invalid instruction each.
pub(crate) fn decode(function: Function<'_>) -> BTreeMap<u64, Instruction> {
    let mut decoder = Decoder::with_ip(64, function.code, function.address, DecoderOptions::NONE);
    decoder.iter().map(|instruction| (instruction.ip(), instruction)).collect()
}

/// Where jump tables lead: their entries are distances from the table, and each table is addressed relative to the code.
pub(crate) fn tables(
    binary: &Binary,
    function: Function<'_>,
    instructions: &BTreeMap<u64, Instruction>,
) -> BTreeSet<u64> {
    let inside = function.address..function.address + function.code.len() as u64;
    let mut targets = BTreeSet::new();
    for lea in instructions.values().filter(|lea| lea.mnemonic() == Mnemonic::Lea && lea.is_ip_rel_memory_operand()) {
        let table = lea.memory_displacement64();
        for entry in 0.. {
            let Some(distance) = binary.bytes(table + 4 * entry, 4) else { break };
            let distance = i32::from_le_bytes([distance[0], distance[1], distance[2], distance[3]]);
            let target = table.wrapping_add_signed(distance.into());
            if !inside.contains(&target) || !instructions.contains_key(&target) {
                break;
            }
            targets.insert(target);
        }
    }
    targets
}

pub(crate) fn successors(instruction: &Instruction, tables: &BTreeSet<u64>) -> Vec<u64> {
    let next = instruction.next_ip();
    match instruction.flow_control() {
        FlowControl::UnconditionalBranch => vec![instruction.near_branch_target()],
        FlowControl::ConditionalBranch => vec![instruction.near_branch_target(), next],
        FlowControl::IndirectBranch => tables.iter().copied().collect(),
        FlowControl::Return | FlowControl::Exception | FlowControl::Interrupt => Vec::new(),
        _ => vec![next],
    }
}

struct Walk<'a> {
    binary: &'a Binary,
    function: Function<'a>,
    interface: Interface,
    factory: InstructionInfoFactory,
    findings: BTreeSet<Finding>,
    calls: BTreeSet<Call>,
}

impl Walk<'_> {
    fn report(&mut self, instruction: &Instruction, what: impl Into<String>) {
        self.findings.insert(Finding { offset: instruction.ip() - self.function.address, what: what.into() });
    }

    fn step(&mut self, instruction: &Instruction, state: &mut State) {
        if instruction.code() == Code::INVALID {
            return self.report(instruction, "bytes that are no instruction");
        }
        let info = self.factory.info(instruction).clone();
        let memory = || info.used_memory().iter().filter(|memory| reads(memory.access()));
        let vector = (0..instruction.op_count()).any(|operand| {
            instruction.op_kind(operand) == OpKind::Register && instruction.op_register(operand).is_vector_register()
        });
        let published = self.interface.publishes && !vector;
        let secret_memory = !published && memory().any(|memory| loaded(state, memory).secret);
        let secret_registers = !is_constant(instruction)
            && info.used_registers().iter().any(|used| {
                reads(used.access()) && !is_address(instruction, used.register()) && state.get(used.register()).secret
            });
        let secret_operands = secret_memory || secret_registers;
        let secret_flags = instruction.rflags_read() & state.secret_flags != 0;
        self.judge(instruction, &info, state, secret_operands, secret_flags);
        if matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall) {
            return self.call(instruction, state);
        }
        if self.leaves(instruction) {
            self.enter(instruction, state);
        }
        let result = self.result(instruction, &info, state).unwrap_or(Value::of(secret_operands || secret_flags));
        self.write(instruction, &info, state, result);
        let modified = instruction.rflags_modified();
        state.secret_flags &= !modified;
        // What a constant decides is not written by the operands.
        let decided = instruction.rflags_cleared() | instruction.rflags_set();
        if secret_operands || secret_flags && instruction.rflags_read() != 0 {
            state.secret_flags |= modified & !decided;
        }
    }

    /// Reports what must not be.
    fn judge(
        &mut self,
        instruction: &Instruction,
        info: &InstructionInfo,
        state: &State,
        secret_operands: bool,
        secret_flags: bool,
    ) {
        let mnemonic = instruction.mnemonic();
        let name = format!("{mnemonic:?}").to_lowercase();
        for memory in info.used_memory() {
            if state.get(memory.base()).secret || state.get(memory.index()).secret {
                self.report(instruction, format!("{name} at an address that depends on data"));
            }
        }
        match instruction.flow_control() {
            FlowControl::ConditionalBranch if secret_flags || secret_operands => {
                self.report(instruction, format!("{name} depends on data"));
            }
            FlowControl::IndirectBranch | FlowControl::IndirectCall if secret_operands => {
                self.report(instruction, format!("{name} to an address that depends on data"));
            }
            _ => {}
        }
        // Of integers, and of floating point numbers in any register; so are square roots.
        let plain = name.trim_start_matches('v');
        let divides = ["div", "idiv", "sqrt", "fdiv", "fidiv", "fsqrt"].iter().any(|kind| plain.starts_with(kind));
        if divides && secret_operands {
            self.report(instruction, format!("{name} of data: its time depends on the operands"));
        }
        // In microcode on some AMD processors, bit by bit of the mask.
        if matches!(mnemonic, Mnemonic::Pdep | Mnemonic::Pext) && secret_operands {
            self.report(instruction, format!("{name} with data: its time depends on the mask"));
        }
        if let Some(what) = by_lanes(instruction, state, secret_operands) {
            self.report(instruction, format!("{name} {what}"));
        }
        if (instruction.has_rep_prefix() || instruction.has_repne_prefix()) && instruction.is_string_instruction() {
            let compares = matches!(
                mnemonic,
                Mnemonic::Cmpsb | Mnemonic::Cmpsd | Mnemonic::Cmpsq | Mnemonic::Cmpsw | Mnemonic::Scasb
            );
            if state.get(Register::RCX).secret || compares {
                self.report(instruction, format!("rep {name}: so many steps as the data say"));
            }
        }
    }

    /// The result of instructions that move addresses and numbers about.
    fn result(&self, instruction: &Instruction, info: &InstructionInfo, state: &State) -> Option<Value> {
        let register = |operand| {
            (instruction.op_kind(operand) == OpKind::Register).then(|| state.get(instruction.op_register(operand)))
        };
        let immediate = |operand| {
            matches!(
                instruction.op_kind(operand),
                OpKind::Immediate8
                    | OpKind::Immediate32
                    | OpKind::Immediate64
                    | OpKind::Immediate8to32
                    | OpKind::Immediate8to64
                    | OpKind::Immediate32to64
            )
            .then(|| instruction.immediate(operand))
        };
        let whole =
            |operand| instruction.op_kind(operand) == OpKind::Register && instruction.op_register(operand).is_gpr64();
        match instruction.mnemonic() {
            Mnemonic::Movq | Mnemonic::Vmovq | Mnemonic::Movlps | Mnemonic::Vmovlps if self.interface.publishes => {
                Some(Value::PUBLIC)
            }
            Mnemonic::Mov if instruction.op_kind(0) == OpKind::Register => {
                if let Some(number) = immediate(1) {
                    return Some(Value { constant: Some(number), ..Value::PUBLIC });
                }
                if !whole(0) && !instruction.op_register(0).is_gpr32() {
                    return None;
                }
                match info.used_memory().first() {
                    Some(_) if instruction.is_ip_rel_memory_operand() => Some(Value {
                        constant: self.binary.imported(instruction.memory_displacement64()),
                        ..Value::PUBLIC
                    }),
                    Some(_) if self.interface.publishes => Some(Value::PUBLIC),
                    Some(memory) => Some(loaded(state, memory)),
                    None => register(1),
                }
            }
            Mnemonic::Pop => info.used_memory().first().map(|memory| loaded(state, memory)),
            Mnemonic::Lea => {
                let base = state.get(instruction.memory_base());
                let index = state.get(instruction.memory_index());
                let plain = instruction.memory_index() == Register::None;
                let distance = instruction.memory_displacement64().cast_signed();
                Some(Value {
                    secret: base.secret || index.secret,
                    stack: base.stack.filter(|_| plain).map(|at| at.wrapping_add(distance)),
                    depth: base.depth,
                    ..Value::PUBLIC
                })
            }
            Mnemonic::Add | Mnemonic::Sub if whole(0) => {
                let (old, by) = (register(0)?, immediate(1).or(register(1).and_then(|value| value.constant)));
                let sign = if instruction.mnemonic() == Mnemonic::Add { 1 } else { -1 };
                let other = register(1).unwrap_or_default();
                let stack = old.stack.zip(by).map(|(at, by)| at.wrapping_add(sign * by.cast_signed()));
                (old.stack.is_some() || old.depth > 0).then_some(Value {
                    secret: old.secret || other.secret,
                    stack,
                    depth: old.depth,
                    ..Value::PUBLIC
                })
            }
            // The stack pointer is aligned. As if it had been aligned before: what stands above and below doesn't meet.
            Mnemonic::And if instruction.op0_register() == Register::RSP => {
                let (old, mask) = (register(0)?, immediate(1)?);
                Some(Value { stack: old.stack.map(|at| at & mask.cast_signed()), ..old })
            }
            _ => None,
        }
    }

    fn write(&mut self, instruction: &Instruction, info: &InstructionInfo, state: &mut State, result: Value) {
        for memory in info.used_memory().iter().filter(|memory| writes(memory.access())) {
            let stored = match instruction.mnemonic() {
                Mnemonic::Mov | Mnemonic::Push => {
                    let last = instruction.op_count() - 1;
                    match instruction.op_kind(last) {
                        OpKind::Register => state.get(instruction.op_register(last)),
                        _ => Value::of(result.secret),
                    }
                }
                _ => Value::of(result.secret),
            };
            let spilled = matches!(instruction.mnemonic(), Mnemonic::Mov | Mnemonic::Push)
                && instruction.op_kind(instruction.op_count() - 1) == OpKind::Register
                && instruction.op_register(instruction.op_count() - 1).is_gpr64()
                && !stored.secret;
            // A pointer or a counter that was put aside stays one when it is changed in its place.
            let changed = matches!(memory.access(), OpAccess::ReadWrite)
                && !stored.secret
                && matches!(place(state, memory), Place::Stack(at) if state.is_spilled(at, size(memory)));
            let spilled = spilled || changed;
            match place(state, memory) {
                // `push` reports the address before it moves the stack pointer, less the operand's size.
                Place::Stack(at) => state.store(at, size(memory), stored, spilled),
                Place::Somewhere(from) if stored.secret => state.smear(from),
                Place::Somewhere(_) | Place::Elsewhere => {}
            }
        }
        // Moves of the stack pointer by pushes and pops.
        let moved = instruction.stack_pointer_increment();
        for used in info.used_registers().iter().filter(|used| writes(used.access())) {
            let register = used.register();
            if register == Register::RSP && moved != 0 {
                let old = state.get(Register::RSP);
                state.set(register, Value { stack: old.stack.map(|at| at + i64::from(moved)), ..old });
            } else if matches!(used.access(), OpAccess::CondWrite | OpAccess::ReadCondWrite) {
                state.set(register, state.get(register).or(Value::of(result.secret)));
            } else if register.is_gpr()
                && instruction.op_count() > 0
                && instruction.op0_kind() == OpKind::Register
                && instruction.op0_register().full_register() == register.full_register()
            {
                state.set(register, result);
            } else {
                state.set(register, Value::of(result.secret));
            }
        }
    }

    /// Whether a jump leads to another function: a call whose result is the caller's.
    fn leaves(&self, instruction: &Instruction) -> bool {
        let inside = self.function.address..self.function.address + self.function.code.len() as u64;
        match instruction.flow_control() {
            FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                !inside.contains(&instruction.near_branch_target())
            }
            FlowControl::IndirectBranch => instruction.is_ip_rel_memory_operand(),
            _ => false,
        }
    }

    /// Notes what a function is called with, or reports that a secret is given to one whose code isn't here.
    fn enter(&mut self, instruction: &Instruction, state: &State) {
        let arguments = Arguments::of(state);
        match self.target(instruction, state) {
            Some(callee) => {
                let offset = instruction.ip() - self.function.address;
                self.calls.insert(Call { offset, callee, arguments });
            }
            None if arguments.secret() => {
                let name = self.imported(instruction).unwrap_or_else(|| "a function that is not known".to_owned());
                self.report(instruction, format!("call of {name} with data in a register of arguments"));
            }
            None => {}
        }
    }

    /// Where the function stands that a call or a jump leads to, if it is in this file.
    fn target(&self, instruction: &Instruction, state: &State) -> Option<u64> {
        match instruction.flow_control() {
            FlowControl::Call | FlowControl::UnconditionalBranch | FlowControl::ConditionalBranch => {
                Some(instruction.near_branch_target()).filter(|&at| self.binary.name(at).is_some())
            }
            _ if instruction.is_ip_rel_memory_operand() => self.binary.imported(instruction.memory_displacement64()),
            // The address was loaded before, such as in front of a loop.
            _ if instruction.op0_kind() == OpKind::Register => {
                state.get(instruction.op0_register()).constant.filter(|&at| self.binary.name(at).is_some())
            }
            _ => None,
        }
    }

    /// Whether a call never returns, so that what stands behind it belongs to other ways.
    fn ends_the_program(&self, instruction: &Instruction, state: &State) -> bool {
        matches!(instruction.flow_control(), FlowControl::Call | FlowControl::IndirectCall)
            && self.target(instruction, state).and_then(|at| self.binary.name(at)).is_some_and(|name| {
                name.starts_with("core::panicking::")
                    || name.starts_with("core::slice::index::") && name.ends_with("_fail")
            })
    }

    /// A call. What the function does is for who reads it, unless it is one of the C library's that copy or compare.
    fn call(&mut self, instruction: &Instruction, state: &mut State) {
        let callee = self.target(instruction, state).and_then(|at| self.binary.name(at)).map(str::to_owned);
        let callee = callee.or_else(|| self.imported(instruction)).unwrap_or_default();
        if callee.ends_with("memcmp") || callee.ends_with("bcmp") {
            self.report(instruction, format!("call of {callee}, which stops at the first difference"));
        }
        let copies = ["memcpy", "memmove", "memset"].iter().any(|name| callee.ends_with(name));
        if copies && state.get(Register::RDX).secret {
            self.report(instruction, format!("call of {callee} with a length that depends on data"));
        }
        if !copies {
            self.enter(instruction, state);
        }
        let arguments = ARGUMENTS.map(|register| state.get(register));
        match (arguments[0].stack, arguments[2].constant) {
            (Some(to), Some(length)) if copies => {
                let secret = match arguments[1].stack {
                    Some(from) => state.load(from, length as usize).secret,
                    None => !callee.ends_with("memset") || arguments[1].secret,
                };
                state.store(to, length as usize, Value::of(secret), false);
            }
            _ => {
                let on_stack: Vec<i64> =
                    arguments.iter().take(if copies { 1 } else { 6 }).filter_map(|value| value.stack).collect();
                on_stack.into_iter().for_each(|from| state.smear(from));
            }
        }
        for register in [
            Register::RAX,
            Register::RCX,
            Register::RDX,
            Register::RSI,
            Register::RDI,
            Register::R8,
            Register::R9,
            Register::R10,
            Register::R11,
        ] {
            // What a function returns may come from data; the C library's copies return a pointer.
            state.set(register, Value::of(!copies && matches!(register, Register::RAX | Register::RDX)));
        }
        for number in 0..32 {
            state.set(Register::ZMM0 + number, Value::SECRET);
        }
        state.secret_flags = 0;
    }

    /// The C library's function behind an indirect call through the table that the loader fills, by its stub's name if there is one.
    fn imported(&self, instruction: &Instruction) -> Option<String> {
        (matches!(instruction.flow_control(), FlowControl::IndirectCall | FlowControl::IndirectBranch)
            && instruction.is_ip_rel_memory_operand())
        .then(|| self.binary.import(instruction.memory_displacement64()).map(str::to_owned))
        .flatten()
    }
}

enum Place {
    Stack(i64),
    /// On the stack, at or above.
    Somewhere(i64),
    Elsewhere,
}

fn place(state: &State, memory: &UsedMemory) -> Place {
    let (base, index) = (state.get(memory.base()), state.get(memory.index()));
    let distance = memory.displacement().cast_signed();
    match (base.stack, index.stack) {
        (Some(at), _) if memory.index() == Register::None => Place::Stack(at.wrapping_add(distance)),
        (None, Some(at)) if memory.base() == Register::None && memory.scale() == 1 => {
            Place::Stack(at.wrapping_add(distance))
        }
        (Some(at), _) | (None, Some(at)) => Place::Somewhere(at.wrapping_add(distance)),
        (None, None) => Place::Elsewhere,
    }
}

fn loaded(state: &State, memory: &UsedMemory) -> Value {
    if matches!(memory.base(), Register::RIP | Register::EIP)
        || memory.base() == Register::None && memory.index() == Register::None
    {
        return Value::PUBLIC;
    }
    match place(state, memory) {
        Place::Stack(at) => state.load(at, size(memory)),
        Place::Somewhere(_) => state.load_somewhere(),
        Place::Elsewhere if state.get(memory.base()).depth > 0 => {
            Value { depth: state.get(memory.base()).depth - 1, ..Value::PUBLIC }
        }
        Place::Elsewhere => Value::SECRET,
    }
}

fn size(memory: &UsedMemory) -> usize {
    memory.memory_size().size().max(1)
}

fn reads(access: OpAccess) -> bool {
    matches!(access, OpAccess::Read | OpAccess::CondRead | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

fn writes(access: OpAccess) -> bool {
    matches!(access, OpAccess::Write | OpAccess::CondWrite | OpAccess::ReadWrite | OpAccess::ReadCondWrite)
}

/// A register that is read for an address only: `judge` looks at those.
fn is_address(instruction: &Instruction, register: Register) -> bool {
    let register = register.full_register();
    let in_address = instruction.mnemonic() != Mnemonic::Lea
        && [instruction.memory_base(), instruction.memory_index()]
            .iter()
            .any(|part| *part != Register::None && part.full_register() == register);
    let as_operand = (0..instruction.op_count()).any(|operand| {
        instruction.op_kind(operand) == OpKind::Register && instruction.op_register(operand).full_register() == register
    });
    in_address && !as_operand
}
