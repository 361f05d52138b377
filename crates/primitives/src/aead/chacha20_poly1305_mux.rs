//! Which arm of ChaCha20-Poly1305 runs.

use super::chacha20_portable::{self as portable, Key};
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::chacha20_poly1305 as low;
use crate::poly1305::Poly1305;
use crate::stack;
use crate::wipe::wipe;
use candor_cpu::Cpu;
use candor_cpu::arms::Routine;
#[cfg(target_arch = "x86_64")]
use candor_cpu::{HaveAvx2, HaveAvx512Ifma};

/// One way to seal and open. An accelerated variant proves that the CPU has the instructions.
#[derive(Clone, Copy)]
pub(super) enum Arm {
    /// x86-64's AVX2: eight blocks at a time, the authenticator in general registers.
    #[cfg(target_arch = "x86_64")]
    Avx2(HaveAvx2),
    /// x86-64's AVX-512: sixteen blocks at a time, the authenticator in vectors as well.
    #[cfg(target_arch = "x86_64")]
    Avx512(HaveAvx2, HaveAvx512Ifma),
    /// Safe Rust.
    Portable,
}

impl Arm {
    #[inline]
    pub(super) fn choose(cpu: Cpu) -> Self {
        let cpu = cpu.for_routine(Routine::ChaCha20Poly1305);
        #[cfg(target_arch = "x86_64")]
        if let Some(avx2) = HaveAvx2::check(cpu) {
            return HaveAvx512Ifma::check(cpu).map_or(Self::Avx2(avx2), |avx512| Self::Avx512(avx2, avx512));
        }
        let _ = cpu;
        Self::Portable
    }

    #[inline]
    pub(super) fn name(self) -> &'static str {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(_) => "avx2",
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(..) => "avx512",
            Self::Portable => "portable",
        }
    }

    /// The arm for a message of so many bytes. AVX-512's vectors need as long for one block as for four; AVX2's are faster where there is
    /// only one.
    #[inline]
    pub(super) fn for_message(self, data: usize) -> Self {
        let _ = data;
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(avx2, _) if data <= 64 => Self::Avx2(avx2),
            arm => arm,
        }
    }

    /// Encrypts, or decrypts if `OPEN`, and writes the tag that belongs to the ciphertext.
    #[inline]
    pub(super) fn run<const OPEN: bool>(
        self,
        key: &Key,
        nonce: &[u8; 12],
        aad: &[u8],
        data: &mut [u8],
        tag: &mut [u8; 16],
    ) {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(avx2) => {
                let mut state = portable::state(key, 0, nonce);
                low::run_avx2::<OPEN>((avx2,), &mut state, aad, data, tag);
                wipe(&mut state);
            }
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(avx2, avx512) => {
                let mut state = portable::state(key, 0, nonce);
                low::run_avx512::<OPEN>((avx2, avx512), &mut state, aad, data, tag);
                wipe(&mut state);
            }
            Self::Portable => stack::clearing::<FRAMES, _>(|| run_portable::<OPEN>(key, nonce, aad, data, tag)),
        }
    }
}

/// Stack that the portable arm takes, in bytes.
const FRAMES: usize = 1024;

fn run_portable<const OPEN: bool>(key: &Key, nonce: &[u8; 12], aad: &[u8], data: &mut [u8], tag: &mut [u8; 16]) {
    let mut first = [0; 64];
    portable::block(key, 0, nonce, &mut first);
    let mut hash = Poly1305::new(first.first_chunk().expect("64 bytes have a first 32"));
    wipe(&mut first);
    hash.padded(aad);
    if OPEN {
        hash.padded(data);
    }
    portable::apply(key, 1, nonce, data);
    if !OPEN {
        hash.padded(data);
    }
    let lengths = (data.len() as u128) << 64 | aad.len() as u128;
    hash.blocks(&[lengths.to_le_bytes()]);
    hash.finish(tag);
}
