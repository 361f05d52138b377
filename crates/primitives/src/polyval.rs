//! POLYVAL (RFC 8452 §3), the universal hash of AES-GCM-SIV and of Tor's CGO.
//!
//! The powers of a key are computed in advance, so a message is one sum of products.
//!
//! ```
//! use candor_primitives::polyval::Polyval;
//! let hash = Polyval::<8>::new(&[7; 16]);
//! let (a, b) = ([[1; 16]; 3], [[2; 16]; 20]);
//! assert_eq!(hash.hash([&a, &b]), hash.hash([&[&a[..], &b].concat()]));
//! ```

#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::polyval as low;
use crate::stack;
#[cfg(target_arch = "x86_64")]
use crate::wipe::wipe;
use ::polyval::universal_hash::UniversalHash;
use alloc::boxed::Box;
use candor_cpu::arms::Routine;
use candor_cpu::{Cpu, secret};
#[cfg(target_arch = "x86_64")]
use candor_cpu::{HaveAvx512Crypto, HaveClmul, HaveVpclmul};
use core::fmt;

/// POLYVAL under one key, with `N` stored powers of it; `N` is a power of two. Every `N` blocks cost one reduction, so 1 is enough for
/// messages of one block. Wiped on drop.
///
/// At a multiple of 64 bytes, no vector of powers lies across two lines of the cache.
#[repr(C)] // the powers first
pub struct Polyval<const N: usize> {
    #[cfg(target_arch = "x86_64")]
    powers: Powers<N>,
    arm: Arm,
}

/// What computes. An accelerated variant proves that the CPU has the instructions.
enum Arm {
    /// x86-64: carry-less multiplication of a block.
    #[cfg(target_arch = "x86_64")]
    Clmul(HaveClmul),
    /// x86-64: of two blocks.
    #[cfg(target_arch = "x86_64")]
    Vpclmul(HaveVpclmul),
    /// x86-64: of four.
    #[cfg(target_arch = "x86_64")]
    Avx512(HaveAvx512Crypto),
    /// Crate `polyval`, which chooses its code itself. In a box, since it is larger than a few powers.
    Library(Box<::polyval::Polyval>),
}

/// H^N to H, wiped on drop. With crate `polyval` they are zero.
#[cfg(target_arch = "x86_64")]
#[repr(align(16))]
struct Powers<const N: usize>([[u8; 16]; N]);

impl<const N: usize> Polyval<N> {
    /// A key on the best arm of [`Cpu::default`].
    // ct: polyval/key
    pub fn new(key: &[u8; 16]) -> Self {
        Self::with_cpu(Cpu::default(), key)
    }

    /// A key on the best arm that `cpu` allows.
    pub fn with_cpu(cpu: Cpu, key: &[u8; 16]) -> Self {
        secret::takes("polyval/key", key);
        let cpu = cpu.for_routine(Routine::Polyval);
        // The compiler may make the value elsewhere and move it.
        stack::clearing::<FRAMES, _>(|| {
            #[cfg(target_arch = "x86_64")]
            {
                let powers = Powers([[0; 16]; N]);
                let arm = if let Some(token) = HaveAvx512Crypto::check(cpu) {
                    Arm::Avx512(token)
                } else if let Some(token) = HaveVpclmul::check(cpu) {
                    Arm::Vpclmul(token)
                } else if let Some(token) = HaveClmul::check(cpu) {
                    Arm::Clmul(token)
                } else {
                    return Self { powers, arm: Arm::Library(Box::new(library(key))) };
                };
                let mut this = Self { powers, arm };
                this.set_key(key);
                this
            }
            #[cfg(not(target_arch = "x86_64"))]
            {
                let _ = cpu;
                Self { arm: Arm::Library(Box::new(library(key))) }
            }
        })
    }

    /// Replaces the key, on the same arm and in the same place.
    // ct: polyval/key
    #[inline]
    pub fn set_key(&mut self, key: &[u8; 16]) {
        match &mut self.arm {
            #[cfg(target_arch = "x86_64")]
            Arm::Clmul(token) => low::powers_clmul(*token, key, &mut self.powers.0),
            #[cfg(target_arch = "x86_64")]
            Arm::Vpclmul(token) => low::powers_vpclmul(*token, key, &mut self.powers.0),
            #[cfg(target_arch = "x86_64")]
            Arm::Avx512(token) => low::powers_avx512(*token, key, &mut self.powers.0),
            Arm::Library(polyval) => **polyval = library(key),
        }
    }

    /// The hash of the concatenated parts. The hash of no blocks is zero. A hash that is returned may leave a copy on the stack;
    /// [`hash_into`](Self::hash_into) leaves none.
    // ct: polyval
    #[inline]
    pub fn hash<const P: usize>(&self, parts: [&[[u8; 16]]; P]) -> [u8; 16] {
        let mut out = [0; 16];
        self.hash_into(parts, &mut out);
        out
    }

    /// [`hash`](Self::hash), written to `out`: where the hash is secret, to a place that is wiped.
    #[inline]
    pub fn hash_into<const P: usize>(&self, parts: [&[[u8; 16]]; P], out: &mut [u8; 16]) {
        secret::ran("polyval", self.arm());
        match &self.arm {
            #[cfg(target_arch = "x86_64")]
            Arm::Clmul(token) => low::hash_clmul(*token, &self.powers.0, parts, out),
            #[cfg(target_arch = "x86_64")]
            Arm::Vpclmul(token) => low::hash_vpclmul(*token, &self.powers.0, parts, out),
            #[cfg(target_arch = "x86_64")]
            Arm::Avx512(token) => low::hash_avx512(*token, &self.powers.0, parts, out),
            Arm::Library(key) => {
                let mut hash = ::polyval::Polyval::clone(key);
                parts.iter().for_each(|part| hash.update(::polyval::Block::cast_slice_from_core(part)));
                *out = hash.finalize().into();
            }
        }
    }

    /// The arm that runs: `avx512`, `vpclmul`, `clmul` (x86-64), or `library`, which is crate `polyval`.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        match &self.arm {
            #[cfg(target_arch = "x86_64")]
            Arm::Clmul(..) => "clmul",
            #[cfg(target_arch = "x86_64")]
            Arm::Vpclmul(..) => "vpclmul",
            #[cfg(target_arch = "x86_64")]
            Arm::Avx512(..) => "avx512",
            Arm::Library(_) => "library",
        }
    }
}

/// Stack that making a key takes, in bytes.
const FRAMES: usize = 2048;

fn library(key: &[u8; 16]) -> ::polyval::Polyval {
    <::polyval::Polyval as ::polyval::universal_hash::KeyInit>::new(&(*key).into())
}

#[cfg(target_arch = "x86_64")]
impl<const N: usize> Drop for Powers<N> {
    fn drop(&mut self) {
        wipe(self.0.as_flattened_mut());
    }
}

impl<const N: usize> fmt::Debug for Polyval<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Polyval(..)")
    }
}
