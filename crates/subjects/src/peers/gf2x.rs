//! gf2x, loaded at run time: the library of binary polynomials that NTL and others stand on.
//!
//! `cargo xtask peers gf2x` builds what is measured: `+tuned` and its inlined routines, and beside them Debian's binary, which
//! is configured without hardware code and therefore called `+portable`. A system's own gf2x is loaded too; it does not tell how
//! it was configured, and carries no such word.

#![allow(unsafe_code)] // C libraries behind dlopen: every call crosses into them.

use super::built::Built;
use super::{Peer, PeerState, find};
use crate::tasks::gf2::{self, Loop, Product, Work};
use candor_lab::{Entry, Provenance, Refusal, Tuning};
use libloading::Library;
use std::ffi::{c_int, c_ulong};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

const WHAT: &str = "multiplication of binary polynomials by Brent, Gaudry, Thomé and Zimmermann, loaded at run time";
const HOW: &str = "build it with `cargo xtask peers gf2x`, or name a directory with a libgf2x.so.* in CANDOR_PEERS";

type Mul = unsafe extern "C" fn(*mut c_ulong, *const c_ulong, c_ulong, *const c_ulong, c_ulong) -> c_int;
type MulPooled =
    unsafe extern "C" fn(*mut c_ulong, *const c_ulong, c_ulong, *const c_ulong, c_ulong, *mut Pool) -> c_int;
type MulLoop = unsafe extern "C" fn(*mut c_ulong, *const c_ulong, *const c_ulong, c_ulong, c_ulong);

/// `struct gf2x_mul_pool_s` of gf2x.h: scratch that is kept between calls.
#[repr(C)]
struct Pool {
    stack: *mut c_ulong,
    size: usize,
}

/// One gf2x of this machine.
struct Found {
    /// `gf2x-1.3.0+tuned`; without a plus where nothing tells how it was built.
    name: String,
    version: String,
    path: PathBuf,
    built: Option<Built>,
    mul: Mul,
    mul_pooled: MulPooled,
    pool_init: unsafe extern "C" fn(*mut Pool),
    pool_clear: unsafe extern "C" fn(*mut Pool),
    sha256: OnceLock<Option<String>>,
    /// Keeps the code mapped for as long as the pointers above exist.
    _library: Library,
}

/// All that can be used, once for each name; and what could not be.
fn found() -> &'static [Result<Found, (PathBuf, String)>] {
    static FOUND: OnceLock<Vec<Result<Found, (PathBuf, String)>>> = OnceLock::new();
    FOUND.get_or_init(|| {
        let mut all: Vec<Result<Found, _>> = Vec::new();
        for path in find::libraries("libgf2x") {
            let opened = open(&path).map_err(|reason| (path, reason));
            let known = |new: &Found| all.iter().flatten().any(|found| found.name == new.name);
            if !opened.as_ref().is_ok_and(known) {
                all.push(opened);
            }
        }
        all
    })
}

fn open(path: &Path) -> Result<Found, String> {
    // SAFETY: loading runs the library's constructors, of which gf2x has none.
    let library = unsafe { Library::new(path) }.map_err(|error| format!("does not load: {error}"))?;
    // SAFETY: the types are those of gf2x.h, the same since 1.1; the code is an int.
    let (code, mul, mul_pooled, pool_init, pool_clear) = unsafe {
        (
            *function::<*const c_int>(&library, "gf2x_lib_version_code")?,
            function(&library, "gf2x_mul")?,
            function(&library, "gf2x_mul_r")?,
            function(&library, "gf2x_mul_pool_init")?,
            function(&library, "gf2x_mul_pool_clear")?,
        )
    };
    let version = format!("{}.{}.{}", code / 10_000, code / 100 % 100, code % 100);
    let built = Built::beside(path);
    let variant = built.as_ref().and_then(|built| built.field("variant")).map(|variant| format!("+{variant}"));
    Ok(Found {
        name: format!("gf2x-{version}{}", variant.unwrap_or_default()),
        version,
        path: path.to_owned(),
        built,
        mul,
        mul_pooled,
        pool_init,
        pool_clear,
        sha256: OnceLock::new(),
        _library: library,
    })
}

/// Looks a function or a variable up.
///
/// # Safety
/// `F` is the type of the function of that name, or of a pointer to the variable; it is not used once the library is gone.
unsafe fn function<F: Copy>(library: &Library, name: &str) -> Result<F, String> {
    // SAFETY: the caller's promise.
    unsafe { library.get::<F>(name) }.map(|function| *function).map_err(|_| format!("has no {name}"))
}

/// For `candor list peers`.
pub(super) fn peers() -> Vec<Peer> {
    let peer = |name: &str, state| Peer { name: name.into(), library: "gf2x".into(), what: WHAT, state };
    let known = |found: &Result<Found, (PathBuf, String)>| match found {
        Ok(found) => peer(&found.name, PeerState::Found { version: found.version.clone(), path: found.path.clone() }),
        Err((path, reason)) => peer("gf2x", PeerState::Refused { reason: format!("{}: {reason}", path.display()) }),
    };
    match found() {
        [] => vec![peer("gf2x", PeerState::Missing { how: HOW.into() })],
        all => all.iter().map(known).collect(),
    }
}

/// The entries for products of `words` words.
pub(super) fn products(words: usize, work: Work) -> Vec<Entry> {
    if work == Work::Inlined {
        return vec![inlined_entry(words)];
    }
    let usable: Vec<_> = found().iter().flatten().collect();
    if usable.is_empty() {
        return vec![Entry::refused("gf2x", Refusal::new(format!("is not on this machine: {HOW}")))];
    }
    let mut entries = Vec::new();
    for found in usable {
        entries.push(gf2::entry(&found.name, words, work, move || Ok(Plain(found))));
        // gf2x_mul allocates its scratch in each call from its Karatsuba threshold on; with a pool it does so once.
        if found.name.ends_with("+tuned") && words >= 10 && work == Work::Throughput {
            entries.push(gf2::entry(format!("{}-pool", found.name), words, work, move || Ok(Pooled::new(found))));
        }
    }
    entries
}

/// Every gf2x, by `gf2x_mul` and by `gf2x_mul_r` with a pool. For `differential`.
pub(super) fn multipliers() -> Vec<(String, Box<dyn Product>)> {
    let both = |found: &'static Found| -> [(String, Box<dyn Product>); 2] {
        [(found.name.clone(), Box::new(Plain(found))), (format!("{}-pool", found.name), Box::new(Pooled::new(found)))]
    };
    found().iter().flatten().flat_map(both).collect()
}

impl Found {
    fn provenance(&self, timed: &str) -> Provenance {
        // Whoever has a tuned one beside it knows; otherwise the lint `peer-untuned` tells.
        let tuned = found().iter().flatten().any(|found| found.name.ends_with("+tuned"));
        let untuned = if tuned { Tuning::NotApplicable } else { Tuning::Stock };
        let told = self.built.clone().unwrap_or_default();
        Provenance {
            object_sha256: self.sha256.get_or_init(|| find::sha256(&self.path)).clone(),
            ..told.provenance("gf2x", &self.version, &format!("{timed} ({})", self.path.display()), untuned)
        }
    }
}

/// `gf2x_mul`, the call that its users make.
struct Plain(&'static Found);

impl Product for Plain {
    fn mul(&mut self, out: &mut [u64], a: &[u64], b: &[u64]) {
        assert!(out.len() == a.len() + b.len());
        // SAFETY: as many words as said, and room for the product, which does not overlap the factors. unsigned long has 64
        // bits on all targets that have this library.
        let failed = unsafe {
            (self.0.mul)(out.as_mut_ptr().cast(), a.as_ptr().cast(), a.len() as _, b.as_ptr().cast(), b.len() as _)
        };
        assert!(failed == 0, "gf2x_mul fails only without memory");
    }

    fn provenance(&self, _: usize, timed: &str) -> Provenance {
        self.0.provenance(&format!("{timed}; gf2x_mul"))
    }
}

/// `gf2x_mul_r` with scratch that is kept.
struct Pooled {
    found: &'static Found,
    pool: Pool,
}

impl Pooled {
    fn new(found: &'static Found) -> Self {
        let mut pool = Pool { stack: std::ptr::null_mut(), size: 0 };
        // SAFETY: makes an empty pool of the memory given.
        unsafe { (found.pool_init)(&mut pool) };
        Self { found, pool }
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        // SAFETY: a pool made by pool_init, not used after.
        unsafe { (self.found.pool_clear)(&mut self.pool) }
    }
}

impl Product for Pooled {
    fn mul(&mut self, out: &mut [u64], a: &[u64], b: &[u64]) {
        assert!(out.len() == a.len() + b.len());
        let (an, bn) = (a.len() as c_ulong, b.len() as c_ulong);
        let (out, a, b) = (out.as_mut_ptr().cast(), a.as_ptr().cast(), b.as_ptr().cast());
        // SAFETY: as in `Plain`, and a pool made by pool_init.
        let failed = unsafe { (self.found.mul_pooled)(out, a, an, b, bn, &mut self.pool) };
        assert!(failed == 0, "gf2x_mul_r fails only without memory");
    }

    fn provenance(&self, _: usize, timed: &str) -> Provenance {
        self.found.provenance(&format!("{timed}; gf2x_mul_r with a pool, so that scratch is allocated once"))
    }
}

/// The shim over the inlined routines.
struct Inlined {
    path: PathBuf,
    built: Built,
    around: MulLoop,
    _library: Library,
}

/// The shim, and what is known of it.
fn shim() -> Option<(PathBuf, Built)> {
    find::libraries("libgf2x-inlined").into_iter().find_map(|path| Built::beside(&path).map(|built| (path, built)))
}

/// The inlined routine for `words` words. For `differential`.
pub(super) fn inlined(words: usize) -> Option<(String, Box<dyn Loop>)> {
    let (path, built) = shim()?;
    let name = format!("gf2x-{}+inlined", built.field("version").unwrap_or("unknown"));
    Some((name, Box::new(open_inlined(&path, &built, words).ok()?)))
}

fn inlined_entry(words: usize) -> Entry {
    let Some((path, built)) = shim() else {
        let how = "is not on this machine: build it with `cargo xtask peers gf2x`";
        return Entry::refused("gf2x+inlined", Refusal::new(how));
    };
    let name = format!("gf2x-{}+inlined", built.field("version").unwrap_or("unknown"));
    gf2::inlined(name, words, move || open_inlined(&path, &built, words))
}

fn open_inlined(path: &Path, built: &Built, words: usize) -> Result<Inlined, Refusal> {
    // SAFETY: loading runs the library's constructors, of which it has none.
    let library = unsafe { Library::new(path) };
    let library = library.map_err(|error| Refusal::new(format!("does not load: {error}")))?;
    // SAFETY: the type is that of the shim, which our own recipe compiles.
    let around = unsafe { function::<MulLoop>(&library, &format!("candor_gf2x_inlined_{words}")) };
    let around = around.map_err(Refusal::new)?;
    Ok(Inlined { path: path.to_owned(), built: built.clone(), around, _library: library })
}

impl Loop for Inlined {
    fn mul(&mut self, out: &mut [u64], a: &[u64], b: &[u64], words: usize, count: u64) {
        let ring = a.len() / words;
        assert!(ring > 0 && b.len() >= ring * words && out.len() >= 2 * ring * words);
        // SAFETY: `ring` pairs of `words` words, the length that the function was looked up for, and room for their products.
        unsafe {
            (self.around)(
                out.as_mut_ptr().cast(),
                a.as_ptr().cast(),
                b.as_ptr().cast(),
                ring as c_ulong,
                count as c_ulong,
            );
        }
    }

    fn provenance(&self, _: usize, timed: &str) -> Provenance {
        let version = self.built.field("version").unwrap_or("unknown");
        Provenance {
            object_sha256: find::sha256(&self.path),
            ..self.built.provenance("gf2x", version, timed, Tuning::Stock)
        }
    }
}
