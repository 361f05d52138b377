//! Which arm of Argon2's compression function runs.

use super::argon2_portable;
use super::memory::Block;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use crate::low::wasm32::argon2_simd128;
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::{argon2_avx2, argon2_avx512};
use candor_cpu::arms::Routine;
use candor_cpu::{Cpu, secret};
#[cfg(target_arch = "x86_64")]
use candor_cpu::{HaveAvx2, HaveAvx512Crypto};

/// One way to compute it. Holding one of the accelerated is proof that the CPU has them.
#[derive(Clone, Copy)]
pub(super) enum Arm {
    /// 512-bit vectors: the block stays in registers.
    #[cfg(target_arch = "x86_64")]
    Avx512(HaveAvx512Crypto),
    /// 256-bit vectors.
    #[cfg(target_arch = "x86_64")]
    Avx2(HaveAvx2),
    /// 128-bit vectors of a WebAssembly module that was compiled for them.
    #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
    Simd128,
    /// Safe Rust.
    #[cfg_attr(all(target_arch = "wasm32", target_feature = "simd128"), allow(dead_code))] // never chosen there
    Portable,
}

impl Arm {
    pub(super) fn choose(cpu: Cpu) -> Self {
        let cpu = cpu.for_routine(Routine::Argon2id);
        #[cfg(target_arch = "x86_64")]
        {
            if let Some(token) = HaveAvx512Crypto::check(cpu) {
                return Self::Avx512(token);
            }
            if let Some(token) = HaveAvx2::check(cpu) {
                return Self::Avx2(token);
            }
        }
        let _ = cpu;
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        return Self::Simd128;
        #[cfg(not(all(target_arch = "wasm32", target_feature = "simd128")))]
        Self::Portable
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(_) => "avx512",
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
            Self::Simd128 => "simd128",
            Self::Portable => "portable",
        }
    }
}

/// `blocks[current] = G(blocks[previous], blocks[reference])`, XORed onto what stood there if `onto`. `ahead` turns the new block's
/// first word into the index of the block that will be the next reference; the arms that can fetch it early do.
#[inline]
pub(super) fn fill(
    arm: Arm,
    blocks: &mut [Block],
    previous: usize,
    reference: usize,
    current: usize,
    onto: bool,
    ahead: impl FnOnce(u64) -> usize,
) {
    secret::ran("argon2", arm.name());
    #[cfg(target_arch = "x86_64")]
    let base = blocks.as_ptr();
    #[cfg(not(target_arch = "x86_64"))]
    let _ = ahead; // nothing fetches early here
    let [previous, reference, current] = blocks
        .get_disjoint_mut([previous, reference, current])
        .expect("Argon2 never refers to the block before or to the current one");
    match arm {
        #[cfg(target_arch = "x86_64")]
        Arm::Avx512(token) => {
            argon2_avx512::fill(token, &previous.0, &reference.0, &mut current.0, onto, |word| {
                base.wrapping_add(ahead(word)).cast()
            });
        }
        #[cfg(target_arch = "x86_64")]
        Arm::Avx2(token) => {
            argon2_avx2::fill(token, &previous.0, &reference.0, &mut current.0, onto, |word| {
                base.wrapping_add(ahead(word)).cast()
            });
        }
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        Arm::Simd128 => argon2_simd128::fill(&previous.0, &reference.0, &mut current.0, onto),
        Arm::Portable => argon2_portable::fill(&previous.0, &reference.0, &mut current.0, onto),
    }
}

/// G of two blocks.
pub(super) fn compress(arm: Arm, x: &Block, y: &Block) -> Block {
    let mut out = Block([0; 128]);
    match arm {
        #[cfg(target_arch = "x86_64")]
        Arm::Avx512(token) => argon2_avx512::fill(token, &x.0, &y.0, &mut out.0, false, |_| core::ptr::null()),
        #[cfg(target_arch = "x86_64")]
        Arm::Avx2(token) => argon2_avx2::fill(token, &x.0, &y.0, &mut out.0, false, |_| core::ptr::null()),
        #[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
        Arm::Simd128 => argon2_simd128::fill(&x.0, &y.0, &mut out.0, false),
        Arm::Portable => argon2_portable::fill(&x.0, &y.0, &mut out.0, false),
    }
    out
}
