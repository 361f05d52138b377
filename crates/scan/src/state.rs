//! What is known of registers, flags and the stack at one point of a function.

use iced_x86::Register;
use std::collections::BTreeMap;

/// What is known of a value.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Value {
    /// It depends on data that was read through a pointer.
    pub(crate) secret: bool,
    /// It is an address on the stack: so many bytes from where the stack pointer stood at the function's beginning.
    pub(crate) stack: Option<i64>,
    /// It is this number.
    pub(crate) constant: Option<u64>,
    /// It points to pointers and lengths: so many steps away there is still no data.
    pub(crate) depth: u8,
    /// The lowest byte is public, though the rest is secret: a flag was put into a register that held data.
    pub(crate) low_public: bool,
}

impl Value {
    pub(crate) const PUBLIC: Self = Self { secret: false, stack: None, constant: None, depth: 0, low_public: false };
    pub(crate) const SECRET: Self = Self { secret: true, ..Self::PUBLIC };

    pub(crate) fn of(secret: bool) -> Self {
        Self { secret, ..Self::PUBLIC }
    }

    pub(crate) fn or(self, other: Self) -> Self {
        let same = |a: Option<_>, b| a.filter(|_| a == b);
        Self {
            secret: self.secret || other.secret,
            stack: same(self.stack, other.stack),
            constant: self.constant.filter(|_| self.constant == other.constant),
            depth: self.depth.min(other.depth),
            low_public: (self.low_public || !self.secret)
                && (other.low_public || !other.secret)
                && (self.secret || other.secret),
        }
    }
}

/// A byte of the stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Byte {
    value: Value,
    /// Where the store began that wrote it.
    start: i64,
    /// It came from a general register as a whole: a pointer or a counter that was put aside.
    spilled: bool,
}

/// Registers, flags and stack.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct State {
    /// Those that are not listed are public.
    registers: BTreeMap<Register, Value>,
    /// Bits of RFLAGS, as iced numbers them.
    pub(crate) secret_flags: u32,
    stack: BTreeMap<i64, Byte>,
    /// From here upwards bytes that no store is known for are secret.
    smeared_from: Option<i64>,
}

impl State {
    pub(crate) fn get(&self, register: Register) -> Value {
        let whole = self.registers.get(&register.full_register()).copied().unwrap_or_default();
        if whole.low_public && is_low_byte(register) { Value::PUBLIC } else { whole }
    }

    pub(crate) fn set(&mut self, register: Register, value: Value) {
        let old = self.registers.get(&register.full_register()).copied().unwrap_or_default();
        let value = match () {
            () if is_low_byte(register) && !value.secret => Value { low_public: old.secret, ..Value::of(old.secret) },
            () if register.is_gpr8() || register.is_gpr16() => Value::of(value.secret || old.secret),
            () => value,
        };
        self.registers.insert(register.full_register(), value);
    }

    /// Adds what is known on another way here; whether that changed anything.
    pub(crate) fn join(&mut self, other: &Self) -> bool {
        let before = self.clone();
        for (register, value) in &other.registers {
            let old = self.registers.entry(*register).or_default();
            *old = old.or(*value);
        }
        for (register, value) in &mut self.registers {
            *value = value.or(other.registers.get(register).copied().unwrap_or_default());
        }
        self.secret_flags |= other.secret_flags;
        self.smeared_from = match (self.smeared_from, other.smeared_from) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        for (at, byte) in &other.stack {
            let joined = match self.stack.get(at) {
                Some(old) => {
                    Byte { value: old.value.or(byte.value), start: old.start, spilled: old.spilled && byte.spilled }
                }
                None => *byte,
            };
            self.stack.insert(*at, joined);
        }
        *self != before
    }

    /// Reads from a known place of the stack.
    pub(crate) fn load(&self, at: i64, length: usize) -> Value {
        let bytes: Vec<Option<&Byte>> = (at..at + length as i64).map(|at| self.stack.get(&at)).collect();
        if let Some(Some(first)) = bytes.first()
            && first.start == at
            && bytes.iter().all(|byte| byte.is_some_and(|byte| byte.start == at && byte.value == first.value))
        {
            return first.value;
        }
        // At zero and above stand the return address and the arguments that found no register: no array of this function reaches there.
        let unknown = at < 0 && self.smeared_from.is_some_and(|from| at + length as i64 > from);
        Value::of(bytes.into_iter().any(|byte| byte.map_or(unknown, |byte| byte.value.secret)))
    }

    /// Reads from an unknown place of the stack.
    pub(crate) fn load_somewhere(&self) -> Value {
        // What was put aside is not in any array.
        Value::of(self.smeared_from.is_some() || self.stack.values().any(|byte| byte.value.secret && !byte.spilled))
    }

    /// Writes to a known place of the stack.
    pub(crate) fn store(&mut self, at: i64, length: usize, value: Value, spilled: bool) {
        for byte in at..at + length as i64 {
            self.stack.insert(byte, Byte { value, start: at, spilled });
        }
    }

    /// Whether a pointer or a counter was put aside there.
    pub(crate) fn is_spilled(&self, at: i64, length: usize) -> bool {
        (at..at + length as i64).all(|at| self.stack.get(&at).is_some_and(|byte| byte.spilled))
    }

    /// Something secret was written at `from` or above: what was not put aside from a register counts as overwritten.
    pub(crate) fn smear(&mut self, from: i64) {
        for byte in self.stack.range_mut(from..).map(|(_, byte)| byte).filter(|byte| !byte.spilled) {
            byte.value = Value::SECRET;
        }
        self.smeared_from = Some(self.smeared_from.map_or(from, |before| before.min(from)));
    }
}

fn is_low_byte(register: Register) -> bool {
    register.is_gpr8() && !matches!(register, Register::AH | Register::BH | Register::CH | Register::DH)
}
