//! Which arm of the kernels runs.

use crate::kernels::{Set, portable};
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::avx2;
use candor_cpu::{Cpu, HaveAvx2, secret};

/// One way to compute. An accelerated variant proves that the CPU has the instructions.
#[derive(Clone, Copy)]
pub(super) enum Arm {
    /// x86-64's 256-bit vectors.
    Avx2(HaveAvx2),
    /// Safe Rust.
    Portable,
}

/// A method for each kernel, which calls that of the arm.
macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?, $routine:literal;)+) => {
        $(
            $(#[$doc])*
            #[inline]
            pub(super) fn $name(self, $($argument: $type),*) $(-> $result)? {
                secret::ran($routine, self.name());
                match self {
                    #[cfg(target_arch = "x86_64")]
                    Self::Avx2(token) => avx2::$name(token, $($argument),*),
                    _ => portable::$name($($argument),*),
                }
            }
        )+
    };
}

impl Arm {
    #[inline]
    pub(super) fn choose(cpu: Cpu) -> Self {
        HaveAvx2::check(cpu).map_or(Self::Portable, Self::Avx2)
    }

    #[inline]
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Avx2(_) => "avx2",
            Self::Portable => "portable",
        }
    }

    kernels! {
        /// The Reed–Solomon codeword of a message.
        reed_solomon_encode(set: Set, message: &[u8], codeword: &mut [u8]), "hqc-code";
        /// Corrects a Reed–Solomon word.
        reed_solomon_decode(set: Set, word: &mut [u8]), "hqc-code";
        /// The nearest symbols of repeated Reed–Muller words.
        reed_muller_decode(set: Set, words: &[u64], symbols: &mut [u8]), "hqc-code";
        /// Replaces positions that occur again later.
        distinct(positions: &mut [u32]), "hqc-support";
        /// Whether a position is among others: 1 or 0.
        contains(positions: &[u32], position: u32) -> u8, "hqc-support";
        /// The vector with these bits.
        scatter(positions: &[u32], words: &mut [u64]), "hqc-support";
        /// A product by rotations.
        sparse_product(n: usize, twice: &[u64], positions: &[u32], here: &mut [u64], there: &mut [u64], sum: &mut [u64]), "hqc-sparse";
    }
}
