//! NTL's `GF2E` on the tuned gf2x, through the small shim that `cargo xtask peers gf2x` compiles.
//!
//! Products that depend on each other take as long as independent ones: at m = 163 either is 830 instructions (counted by callgrind), 370 of them in
//! `PentReduce` and 120 in a copy of a vector, at some 2.8 a cycle; 87.4 and 86.9 ns on a quiet Zen 3. Where a run has them far apart (86 and 69 ns in
//! ae3fcc, on a busy Zen 5, where the fastest epochs took 60.0 and 62.7), the machine was busy.

#![allow(unsafe_code)] // A C++ library behind dlopen: every call crosses into it.

use crate::contract::gf2::Product;
use crate::contract::gf2m::{self, Field, Modulus, Op, Operands};
use crate::list::Peer;
use crate::shared_object::built::Built;
use crate::shared_object::{Found, SharedObject, Which, function};
use candor_lab::{Entry, Habit, Provenance, Tuning};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_long, c_uchar, c_ulong, c_void};
use std::ptr::NonNull;
use std::sync::{LazyLock, Mutex, PoisonError};

static LIBRARY: Which = Which {
    name: "ntl",
    file: "libcandor-ntl",
    what: "Victor Shoup's library for number theory, on the tuned gf2x, loaded at run time",
    how: "build it with `cargo xtask peers gf2x`",
    arm: "fixed when it was compiled",
    needs: &[],
};

/// The library is built without threads: its current field is a variable of the process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

type Repeat = unsafe extern "C" fn(*mut c_void, c_ulong);
type Set = unsafe extern "C" fn(*mut c_void, usize, *const c_uchar, *const c_uchar, c_long, *const c_uchar, c_long);

struct Functions {
    new: unsafe extern "C" fn(*const c_long, usize, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
    set: Set,
    get: unsafe extern "C" fn(*mut c_void, usize, *mut c_uchar, c_long, c_int),
    mul: Repeat,
    mul_chain: Repeat,
    square: Repeat,
    reduce: Repeat,
    inverse: Repeat,
    /// Keeps the code mapped for as long as the pointers above exist.
    _library: Library,
}

fn look_up(library: Library, built: &Built) -> Result<(String, Functions), String> {
    // Without it nobody knows which gf2x is below.
    built.field("variant").ok_or("has no file PROVENANCE beside it")?;
    // SAFETY: the types are those of the shim, which our own recipe compiles. The version is a constant.
    unsafe {
        let version = function::<unsafe extern "C" fn() -> *const c_char>(&library, "candor_ntl_version")?;
        let functions = Functions {
            new: function(&library, "candor_ntl_new")?,
            free: function(&library, "candor_ntl_free")?,
            set: function(&library, "candor_ntl_set")?,
            get: function(&library, "candor_ntl_get")?,
            mul: function(&library, "candor_ntl_mul")?,
            mul_chain: function(&library, "candor_ntl_mul_chain")?,
            square: function(&library, "candor_ntl_square")?,
            reduce: function(&library, "candor_ntl_reduce")?,
            inverse: function(&library, "candor_ntl_inverse")?,
            _library: library,
        };
        Ok((CStr::from_ptr(version()).to_string_lossy().into_owned(), functions))
    }
}

static FOUND: LazyLock<Found<Functions>> = LazyLock::new(|| Found::look_for(&LIBRARY, look_up));

pub(super) fn peers() -> Vec<Peer> {
    FOUND.peers()
}

/// The entries for an operation in a field.
pub(super) fn entries(modulus: Modulus, op: Op) -> Vec<Entry> {
    FOUND.each(|object| gf2m::entry(&object.name, modulus, op, move || Ok(NtlField::new(object, modulus.1))))
}

/// A field modulo the polynomial with these exponents, the degree first. For `differential`.
pub(super) fn field(exponents: &[usize]) -> Option<(String, Box<dyn Field>)> {
    let object = FOUND.usable().next()?;
    Some((object.name.clone(), Box::new(NtlField::new(object, exponents))))
}

/// Products of polynomials, for `differential`.
pub(super) fn product() -> Option<(String, Box<dyn Product>)> {
    let object = FOUND.usable().next()?;
    Some((object.name.clone(), Box::new(Unreduced(object))))
}

/// Products modulo a trinomial whose degree no product reaches.
struct Unreduced(&'static SharedObject<Functions>);

impl Product for Unreduced {
    fn mul(&mut self, out: &mut [u64], a: &[u64], b: &[u64]) {
        let longer = a.len().max(b.len());
        let padded = |factor: &[u64]| [factor, &vec![0; longer - factor.len()]].concat();
        let operands = Operands { a: padded(a), b: padded(b), wide: vec![0] };
        let mut field = NtlField::new(self.0, &[64 * out.len(), 1, 0]);
        field.set(&[operands]);
        field.run(Op::Mul, 1);
        out.copy_from_slice(&field.results(Op::Mul)[0]);
    }

    fn provenance(&self, _: usize, timed: &str) -> Provenance {
        self.0.provenance_of_tunable(timed, Tuning::Stock)
    }
}

struct NtlField {
    object: &'static SharedObject<Functions>,
    /// Of the modulus, the degree first.
    exponents: Vec<usize>,
    field: Option<NonNull<c_void>>,
    ring: usize,
}

impl NtlField {
    fn new(object: &'static SharedObject<Functions>, exponents: &[usize]) -> Self {
        Self { object, exponents: exponents.to_vec(), field: None, ring: 0 }
    }

    fn field(&self) -> *mut c_void {
        self.field.expect("set comes before all else").as_ptr()
    }
}

impl Drop for NtlField {
    fn drop(&mut self) {
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(field) = self.field {
            // SAFETY: made by candor_ntl_new, owned by this value, and not used after.
            unsafe { (self.object.functions.free)(field.as_ptr()) }
        }
    }
}

fn bytes(words: &[u64]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

impl Field for NtlField {
    fn set(&mut self, ring: &[Operands]) {
        let exponents: Vec<c_long> = self.exponents.iter().map(|&exponent| exponent as c_long).collect();
        let old = self.field.take();
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: as many exponents as said; a field that is freed is not used again.
        let field = unsafe {
            old.into_iter().for_each(|old| (self.object.functions.free)(old.as_ptr()));
            (self.object.functions.new)(exponents.as_ptr(), exponents.len(), ring.len())
        };
        self.field = NonNull::new(field);
        self.ring = ring.len();
        for (i, operands) in ring.iter().enumerate() {
            let (a, b, wide) = (bytes(&operands.a), bytes(&operands.b), bytes(&operands.wide));
            // SAFETY: a live field with that many places; as many bytes as said.
            unsafe {
                (self.object.functions.set)(
                    self.field(),
                    i,
                    a.as_ptr(),
                    b.as_ptr(),
                    a.len() as c_long,
                    wide.as_ptr(),
                    wide.len() as c_long,
                );
            }
        }
    }

    fn run(&mut self, op: Op, count: u64) {
        let repeat = match op {
            Op::Mul | Op::MulMany => self.object.functions.mul,
            Op::MulLatency => self.object.functions.mul_chain,
            Op::Square => self.object.functions.square,
            Op::Reduce => self.object.functions.reduce,
            Op::Inverse => self.object.functions.inverse,
        };
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: a live field, whose operands have been set; none of them is zero.
        unsafe { repeat(self.field(), count as c_ulong) }
    }

    fn results(&mut self, op: Op) -> Vec<Vec<u64>> {
        let places = if op == Op::MulLatency { 1 } else { self.ring };
        let mut bytes = vec![0; 8 * self.exponents[0].div_ceil(64)];
        let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let result = |i| {
            // SAFETY: a live field with that many places, and room for as many bytes as said.
            unsafe {
                (self.object.functions.get)(
                    self.field(),
                    i,
                    bytes.as_mut_ptr(),
                    bytes.len() as c_long,
                    c_int::from(op == Op::Reduce),
                );
            }
            bytes.as_chunks().0.iter().map(|word| u64::from_le_bytes(*word)).collect()
        };
        (0..places).map(result).collect()
    }

    fn provenance(&self, op: Op, timed: &str) -> Provenance {
        let bound = match op {
            Op::Mul | Op::MulMany | Op::MulLatency => {
                "; its instructions bound it, whether products depend on each other or not"
            }
            Op::Square | Op::Reduce | Op::Inverse => "",
        };
        let timed = format!("{timed}; GF2E in NTL's own form{bound}");
        let told = self.object.provenance_of_tunable(&timed, Tuning::Stock);
        if op != Op::MulMany {
            return told;
        }
        let different_operation = Some("one after another, not at once".to_owned());
        Provenance { different_operation, ..told.telling([(Habit::OneAfterAnother, "one after another")]) }
    }
}
