//! Vectors of 32-bit slots on x86-64, for the small fields: 8, 16 and 32 products at a time.

use crate::field::modulus::Modulus;
use crate::field::packed::{one, reduce_slot};
use crate::field::word::Word;
use candor_cpu::{HaveAvx512Crypto, HaveClmul, HaveVpclmul};
use core::arch::x86_64::*;

/// The slots type of a tier, and the products over it. A value of the slots' type is made only inside the function that enables the
/// features, so it proves that they exist.
macro_rules! tier {
    (
        $name:ident, $token:ident, $features:literal, $slots:ident($register:ty), $count:literal, $doc:literal,
        $load:ident, $store:ident, $zero:ident, $unpack_low:ident, $unpack_high:ident, $clmul:ident, $pack:ident,
        $xor:ident, $and:ident, $splat:ident, $shl:ident, $shr:ident, |$p:ident, $q:ident| $gather:expr
    ) => {
        #[derive(Clone, Copy)]
        struct $slots($register);

        impl Word for $slots {
            #[inline(always)]
            fn xor(self, other: Self) -> Self {
                // SAFETY: a value of this type is proof of its instructions.
                Self(unsafe { $xor(self.0, other.0) })
            }

            #[inline(always)]
            fn and(self, mask: u64) -> Self {
                // SAFETY: as above.
                Self(unsafe { $and(self.0, $splat(mask as i32)) })
            }

            #[inline(always)]
            fn shl(self, n: usize) -> Self {
                // SAFETY: as above. The count is a constant after inlining.
                Self(unsafe { $shl(self.0, _mm_cvtsi64_si128(n as i64)) })
            }

            #[inline(always)]
            fn shr(self, n: usize) -> Self {
                // SAFETY: as above.
                Self(unsafe { $shr(self.0, _mm_cvtsi64_si128(n as i64)) })
            }
        }

        #[doc = $doc]
        #[inline]
        pub(in crate::field) fn $name<M: Modulus>(_: $token, a: &[u16], b: &[u16], out: &mut [u16]) {
            #[target_feature(enable = $features)]
            fn compiled<M: Modulus>(a: &[u16], b: &[u16], out: &mut [u16]) {
                let (a, rest_a) = a.as_chunks::<$count>();
                let (b, rest_b) = b.as_chunks::<$count>();
                let (out, rest) = out.as_chunks_mut::<$count>();
                for ((a, b), out) in a.iter().zip(b).zip(out) {
                    // SAFETY: an array has as many bytes as the register; the loads ask for no alignment.
                    let (x, y) = unsafe { ($load(a.as_ptr().cast()), $load(b.as_ptr().cast())) };
                    let zero = $zero();
                    let low = slots::<M>($unpack_low(x, zero), $unpack_low(y, zero));
                    let high = slots::<M>($unpack_high(x, zero), $unpack_high(y, zero));
                    // SAFETY: as above, for the store.
                    unsafe { $store(out.as_mut_ptr().cast(), $pack(low, high)) };
                }
                for ((a, b), out) in rest_a.iter().zip(rest_b).zip(rest) {
                    *out = one::<M>(*a, *b);
                }
            }

            /// Products of the slots at the same place, reduced.
            #[target_feature(enable = $features)]
            #[inline]
            fn slots<M: Modulus>(a: $register, b: $register) -> $register {
                let ($p, $q) = ($clmul::<0x00>(a, b), $clmul::<0x11>(a, b));
                reduce_slot(&M::MODULUS, $slots($gather)).0 // slots 0 and 2 of each
            }

            // SAFETY: the token proves the features.
            unsafe { compiled::<M>(a, b, out) }
        }
    };
}

tier!(
    clmul,
    HaveClmul,
    "ssse3,sse4.1,pclmulqdq",
    Slots4(__m128i),
    8,
    "8 products at a time.",
    _mm_loadu_si128,
    _mm_storeu_si128,
    _mm_setzero_si128,
    _mm_unpacklo_epi16,
    _mm_unpackhi_epi16,
    _mm_clmulepi64_si128,
    _mm_packus_epi32,
    _mm_xor_si128,
    _mm_and_si128,
    _mm_set1_epi32,
    _mm_sll_epi32,
    _mm_srl_epi32,
    |p, q| _mm_castps_si128(_mm_shuffle_ps::<0x88>(_mm_castsi128_ps(p), _mm_castsi128_ps(q)))
);
tier!(
    vpclmul,
    HaveVpclmul,
    "avx2,pclmulqdq,vpclmulqdq",
    Slots8(__m256i),
    16,
    "16 products at a time.",
    _mm256_loadu_si256,
    _mm256_storeu_si256,
    _mm256_setzero_si256,
    _mm256_unpacklo_epi16,
    _mm256_unpackhi_epi16,
    _mm256_clmulepi64_epi128,
    _mm256_packus_epi32,
    _mm256_xor_si256,
    _mm256_and_si256,
    _mm256_set1_epi32,
    _mm256_sll_epi32,
    _mm256_srl_epi32,
    |p, q| _mm256_castps_si256(_mm256_shuffle_ps::<0x88>(_mm256_castsi256_ps(p), _mm256_castsi256_ps(q)))
);
tier!(
    avx512,
    HaveAvx512Crypto,
    "avx512f,avx512bw,avx512dq,avx512vl,pclmulqdq,vpclmulqdq",
    Slots16(__m512i),
    32,
    "32 products at a time.",
    _mm512_loadu_si512,
    _mm512_storeu_si512,
    _mm512_setzero_si512,
    _mm512_unpacklo_epi16,
    _mm512_unpackhi_epi16,
    _mm512_clmulepi64_epi128,
    _mm512_packus_epi32,
    _mm512_xor_si512,
    _mm512_and_si512,
    _mm512_set1_epi32,
    _mm512_sll_epi32,
    _mm512_srl_epi32,
    |p, q| _mm512_castps_si512(_mm512_shuffle_ps::<0x88>(_mm512_castsi512_ps(p), _mm512_castsi512_ps(q)))
);
