//! gf2x, loaded at run time: the library of binary polynomials that NTL and others stand on.
//!
//! `cargo xtask peers gf2x` builds what is measured: `+tuned` and its inlined routines, and beside them Debian's binary, which
//! is configured without hardware code and therefore called `+portable`. A system's own gf2x is loaded too; it does not tell how
//! it was configured, and carries no such word. RELIC has no rows: METHOD.md says why.

#![cfg(feature = "peer-gf2x")]
#![allow(unsafe_code)] // C libraries behind dlopen: every call crosses into them.

mod ntl;

use crate::contract;
use crate::contract::gf2::{self, Loop, Product, Work};
use crate::list::{Offers, Peer};
use crate::shared_object::built::Built;
use crate::shared_object::{Found, SharedObject, Which, function};
use candor_lab::{Entry, Provenance, Refusal, Tuning};
use libloading::Library;
use std::ffi::{c_int, c_ulong};
use std::sync::LazyLock;

static LIBRARY: Which = Which {
    name: "gf2x",
    file: "libgf2x",
    what: "multiplication of binary polynomials by Brent, Gaudry, Thomé and Zimmermann, loaded at run time",
    how: "build it with `cargo xtask peers gf2x`, or name a directory with a libgf2x.so.* in CANDOR_PEERS",
    arm: "fixed when it was configured; the library does not tell how",
    needs: &[],
};

/// The shim over the inlined routines.
static INLINED: Which = Which {
    name: "gf2x",
    file: "libgf2x-inlined",
    what: "the routines of gf2x that its header inlines",
    how: "build it with `cargo xtask peers gf2x`",
    arm: "fixed when it was compiled",
    needs: &[],
};

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

struct Functions {
    mul: Mul,
    mul_pooled: MulPooled,
    pool_init: unsafe extern "C" fn(*mut Pool),
    pool_clear: unsafe extern "C" fn(*mut Pool),
    /// Keeps the code mapped for as long as the pointers above exist.
    _library: Library,
}

fn look_up(library: Library, _: &Built) -> Result<(String, Functions), String> {
    // SAFETY: the types are those of gf2x.h, the same since 1.1; the code is an int.
    unsafe {
        let code = *function::<*const c_int>(&library, "gf2x_lib_version_code")?;
        let functions = Functions {
            mul: function(&library, "gf2x_mul")?,
            mul_pooled: function(&library, "gf2x_mul_r")?,
            pool_init: function(&library, "gf2x_mul_pool_init")?,
            pool_clear: function(&library, "gf2x_mul_pool_clear")?,
            _library: library,
        };
        Ok((format!("{}.{}.{}", code / 10_000, code / 100 % 100, code % 100), functions))
    }
}

static FOUND: LazyLock<Found<Functions>> = LazyLock::new(|| Found::look_for(&LIBRARY, look_up));

/// What gf2x offers.
pub(crate) struct Offer;

impl Offers for Offer {
    fn peers(&self) -> Vec<Peer> {
        FOUND.peers().into_iter().chain(ntl::peers()).collect()
    }

    fn gf2(&self, words: usize, work: Work) -> Vec<Entry> {
        products(words, work)
    }

    fn gf2m(&self, modulus: contract::gf2m::Modulus, op: contract::gf2m::Op) -> Vec<Entry> {
        ntl::entries(modulus, op)
    }

    fn gf2_products(&self) -> Vec<(String, Box<dyn Product>)> {
        multipliers().into_iter().chain(ntl::product()).collect()
    }

    fn gf2_inlined(&self, words: usize) -> Option<(String, Box<dyn Loop>)> {
        inlined(words)
    }

    fn gf2_field(&self, exponents: &[usize]) -> Option<(String, Box<dyn contract::gf2m::Field>)> {
        ntl::field(exponents)
    }
}

fn is_tuned(object: &SharedObject<Functions>) -> bool {
    object.name.ends_with("+tuned")
}

/// The entries for products of `words` words.
fn products(words: usize, work: Work) -> Vec<Entry> {
    if work == Work::Inlined {
        return ROUTINES.each(|object| gf2::inlined(&object.name, words, move || Inlined::new(object, words)));
    }
    let mut entries = FOUND.each(|object| gf2::entry(&object.name, words, work, move || Ok(Plain(object))));
    // gf2x_mul allocates its scratch in each call from its Karatsuba threshold on; with a pool it does so once.
    if words >= 10 && work == Work::Throughput {
        let tuned = FOUND.usable().filter(|object| is_tuned(object));
        entries.extend(
            tuned.map(|object| {
                gf2::entry(format!("{}-pool", object.name), words, work, move || Ok(Pooled::new(object)))
            }),
        );
    }
    entries
}

/// Every gf2x, by `gf2x_mul` and by `gf2x_mul_r` with a pool. For `differential`.
fn multipliers() -> Vec<(String, Box<dyn Product>)> {
    let both = |object: &'static SharedObject<Functions>| -> [(String, Box<dyn Product>); 2] {
        [
            (object.name.clone(), Box::new(Plain(object))),
            (format!("{}-pool", object.name), Box::new(Pooled::new(object))),
        ]
    };
    FOUND.usable().flat_map(both).collect()
}

fn provenance(object: &SharedObject<Functions>, timed: &str) -> Provenance {
    // Whoever has a tuned one beside it knows; otherwise the lint `peer-untuned` tells.
    let tuned = FOUND.usable().any(is_tuned);
    object.provenance_of_tunable(timed, if tuned { Tuning::NotApplicable } else { Tuning::Stock })
}

/// `gf2x_mul`, the call that its users make.
struct Plain(&'static SharedObject<Functions>);

impl Product for Plain {
    fn mul(&mut self, out: &mut [u64], a: &[u64], b: &[u64]) {
        assert!(out.len() == a.len() + b.len());
        // SAFETY: as many words as said, and room for the product, which does not overlap the factors. unsigned long has 64
        // bits on all targets that have this library.
        let failed = unsafe {
            (self.0.functions.mul)(
                out.as_mut_ptr().cast(),
                a.as_ptr().cast(),
                a.len() as _,
                b.as_ptr().cast(),
                b.len() as _,
            )
        };
        assert!(failed == 0, "gf2x_mul fails only without memory");
    }

    fn provenance(&self, _: usize, timed: &str) -> Provenance {
        provenance(self.0, &format!("{timed}; gf2x_mul"))
    }
}

/// `gf2x_mul_r` with scratch that is kept.
struct Pooled {
    object: &'static SharedObject<Functions>,
    pool: Pool,
}

impl Pooled {
    fn new(object: &'static SharedObject<Functions>) -> Self {
        let mut pool = Pool { stack: std::ptr::null_mut(), size: 0 };
        // SAFETY: makes an empty pool of the memory given.
        unsafe { (object.functions.pool_init)(&mut pool) };
        Self { object, pool }
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        // SAFETY: a pool made by pool_init, not used after.
        unsafe { (self.object.functions.pool_clear)(&mut self.pool) }
    }
}

impl Product for Pooled {
    fn mul(&mut self, out: &mut [u64], a: &[u64], b: &[u64]) {
        assert!(out.len() == a.len() + b.len());
        let (an, bn) = (a.len() as c_ulong, b.len() as c_ulong);
        let (out, a, b) = (out.as_mut_ptr().cast(), a.as_ptr().cast(), b.as_ptr().cast());
        // SAFETY: as in `Plain`, and a pool made by pool_init.
        let failed = unsafe { (self.object.functions.mul_pooled)(out, a, an, b, bn, &mut self.pool) };
        assert!(failed == 0, "gf2x_mul_r fails only without memory");
    }

    fn provenance(&self, _: usize, timed: &str) -> Provenance {
        provenance(self.object, &format!("{timed}; gf2x_mul_r with a pool, so that scratch is allocated once"))
    }
}

/// A loop of the shim around one inlined routine.
struct Inlined {
    object: &'static SharedObject<Library>,
    around: MulLoop,
}

static ROUTINES: LazyLock<Found<Library>> = LazyLock::new(|| {
    let look_up = |library, built: &Built| Ok((built.field("version").unwrap_or("unknown").to_owned(), library));
    Found::look_for(&INLINED, look_up)
});

/// The inlined routine for `words` words. For `differential`.
fn inlined(words: usize) -> Option<(String, Box<dyn Loop>)> {
    let object = ROUTINES.usable().next()?;
    Some((object.name.clone(), Box::new(Inlined::new(object, words).ok()?)))
}

impl Inlined {
    fn new(object: &'static SharedObject<Library>, words: usize) -> Result<Self, Refusal> {
        // An early shim has a barrier behind each product, where ours has one a ring, and other names for its loops.
        let name = format!("candor_gf2x_inlined_rings_{words}");
        // SAFETY: the type is that of the shim, which our own recipe compiles.
        let around = unsafe { function::<MulLoop>(&object.functions, &name) };
        let again = |why: String| {
            Refusal::never(format!("{why}: it was built by an early recipe; `cargo xtask peers gf2x` builds it again"))
        };
        Ok(Self { object, around: around.map_err(again)? })
    }
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
        self.object.provenance_of_tunable(timed, Tuning::Stock)
    }
}
