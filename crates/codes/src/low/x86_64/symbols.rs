//! Single products in GF(2⁸) by the carry-less multiplication of 128-bit registers.

use crate::kernels::symbols::{Product, one_pass};
use candor_cpu::HaveClmul;
use core::arch::x86_64::*;

/// The instructions that the token proves.
#[derive(Clone, Copy)]
pub(crate) struct Clmul(pub(crate) HaveClmul);

impl Product for Clmul {
    #[inline]
    fn product(self, a: u8, b: u8) -> u8 {
        // SAFETY: the token proves carry-less multiplication.
        unsafe { product(a, b) }
    }
}

#[target_feature(enable = "pclmulqdq")]
#[inline(never)]
fn product(a: u8, b: u8) -> u8 {
    let [a, b] = [a, b].map(|element| _mm_cvtsi32_si128(i32::from(element)));
    one_pass(_mm_cvtsi128_si32(_mm_clmulepi64_si128::<0>(a, b)).cast_unsigned())
}
