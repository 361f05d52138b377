//! NTL's `GF2E` on the tuned gf2x, through the small shim that `cargo xtask peers gf2x` compiles.

#![allow(unsafe_code)] // A C++ library behind dlopen: every call crosses into it.

use super::built::Built;
use super::{Peer, PeerState, find};
use crate::tasks::gf2::Product;
use crate::tasks::gf2m::{self, Field, Modulus, Op, Operands};
use candor_lab::{Entry, Provenance, Refusal, Tuning};
use libloading::Library;
use std::ffi::{CStr, c_char, c_int, c_long, c_uchar, c_ulong, c_void};
use std::path::{Path, PathBuf};
use std::ptr::NonNull;
use std::sync::{Mutex, OnceLock, PoisonError};

const WHAT: &str = "Victor Shoup's library for number theory, on the tuned gf2x, loaded at run time";
const HOW: &str = "build it with `cargo xtask peers gf2x`";

/// The library is built without threads: its current field is a variable of the process.
static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

type Repeat = unsafe extern "C" fn(*mut c_void, c_ulong);
type Set = unsafe extern "C" fn(*mut c_void, usize, *const c_uchar, *const c_uchar, c_long, *const c_uchar, c_long);

struct Found {
    name: String,
    version: String,
    path: PathBuf,
    built: Built,
    new: unsafe extern "C" fn(*const c_long, usize, usize) -> *mut c_void,
    free: unsafe extern "C" fn(*mut c_void),
    set: Set,
    get: unsafe extern "C" fn(*mut c_void, usize, *mut c_uchar, c_long, c_int),
    mul: Repeat,
    mul_chain: Repeat,
    square: Repeat,
    reduce: Repeat,
    inverse: Repeat,
    sha256: OnceLock<Option<String>>,
    /// Keeps the code mapped for as long as the pointers above exist.
    _library: Library,
}

/// The first shim found, or why it is of no use; nothing if there is none.
fn found() -> Option<&'static Result<Found, String>> {
    static FOUND: OnceLock<Option<Result<Found, String>>> = OnceLock::new();
    FOUND.get_or_init(|| find::libraries("libcandor-ntl").first().map(|path| open(path))).as_ref()
}

fn open(path: &Path) -> Result<Found, String> {
    let built = Built::beside(path).ok_or("has no PROVENANCE beside it")?;
    // SAFETY: loading runs NTL's constructors, which fill tables of its own.
    let library = unsafe { Library::new(path) }.map_err(|error| format!("does not load: {error}"))?;
    /// Looks one function up.
    macro_rules! function {
        ($name:literal) => {
            // SAFETY: the types are those of the shim, which our own recipe compiles.
            *unsafe { library.get($name) }.map_err(|_| format!("has no {}", $name))?
        };
    }
    let version: unsafe extern "C" fn() -> *const c_char = function!("candor_ntl_version");
    // SAFETY: takes nothing and gives a constant string.
    let version = unsafe { CStr::from_ptr(version()) }.to_string_lossy().into_owned();
    let variant = built.field("variant").unwrap_or("unknown");
    Ok(Found {
        name: format!("ntl-{version}+{variant}"),
        version,
        path: path.to_owned(),
        new: function!("candor_ntl_new"),
        free: function!("candor_ntl_free"),
        set: function!("candor_ntl_set"),
        get: function!("candor_ntl_get"),
        mul: function!("candor_ntl_mul"),
        mul_chain: function!("candor_ntl_mul_chain"),
        square: function!("candor_ntl_square"),
        reduce: function!("candor_ntl_reduce"),
        inverse: function!("candor_ntl_inverse"),
        sha256: OnceLock::new(),
        built,
        _library: library,
    })
}

/// For `candor list peers`.
pub(super) fn peer() -> Peer {
    let (name, state) = match found() {
        Some(Ok(found)) => {
            (found.name.as_str(), PeerState::Found { version: found.version.clone(), path: found.path.clone() })
        }
        Some(Err(reason)) => ("ntl", PeerState::Refused { reason: reason.clone() }),
        None => ("ntl", PeerState::Missing { how: HOW.into() }),
    };
    Peer { name: name.into(), library: "ntl".into(), what: WHAT, state }
}

/// The entry for an operation in a field.
pub(super) fn entry(modulus: Modulus, op: Op) -> Entry {
    match found() {
        Some(Ok(found)) => gf2m::entry(&found.name, modulus, op, move || Ok(NtlField::new(found, modulus.1))),
        Some(Err(reason)) => Entry::refused("ntl", Refusal::new(reason.clone())),
        None => Entry::refused("ntl", Refusal::new(format!("is not on this machine: {HOW}"))),
    }
}

/// A field modulo the polynomial with these exponents, the degree first. For `differential`.
pub(super) fn field(exponents: &[usize]) -> Option<(String, Box<dyn Field>)> {
    let found = found()?.as_ref().ok()?;
    Some((found.name.clone(), Box::new(NtlField::new(found, exponents))))
}

/// Products of polynomials, for `differential`.
pub(super) fn product() -> Option<(String, Box<dyn Product>)> {
    let found = found()?.as_ref().ok()?;
    Some((found.name.clone(), Box::new(Unreduced(found))))
}

/// Products modulo a trinomial whose degree no product reaches.
struct Unreduced(&'static Found);

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
        self.0.built.provenance("ntl", &self.0.version, timed, Tuning::Stock)
    }
}

struct NtlField {
    found: &'static Found,
    /// Of the modulus, the degree first.
    exponents: Vec<usize>,
    field: Option<NonNull<c_void>>,
    ring: usize,
}

impl NtlField {
    fn new(found: &'static Found, exponents: &[usize]) -> Self {
        Self { found, exponents: exponents.to_vec(), field: None, ring: 0 }
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
            unsafe { (self.found.free)(field.as_ptr()) }
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
            old.into_iter().for_each(|old| (self.found.free)(old.as_ptr()));
            (self.found.new)(exponents.as_ptr(), exponents.len(), ring.len())
        };
        self.field = NonNull::new(field);
        self.ring = ring.len();
        for (i, operands) in ring.iter().enumerate() {
            let (a, b, wide) = (bytes(&operands.a), bytes(&operands.b), bytes(&operands.wide));
            // SAFETY: a live field with that many places; as many bytes as said.
            unsafe {
                (self.found.set)(
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
            Op::Mul | Op::MulMany => self.found.mul,
            Op::MulLatency => self.found.mul_chain,
            Op::Square => self.found.square,
            Op::Reduce => self.found.reduce,
            Op::Inverse => self.found.inverse,
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
                (self.found.get)(
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

    fn provenance(&self, _: Op, timed: &str) -> Provenance {
        let timed = format!("{timed}; GF2E in NTL's own form, one by one ({})", self.found.path.display());
        Provenance {
            object_sha256: self.found.sha256.get_or_init(|| find::sha256(&self.found.path)).clone(),
            ..self.found.built.provenance("ntl", &self.found.version, &timed, Tuning::Stock)
        }
    }
}
