//! The fused code of `field/fused.rs`, compiled for each tier of x86-64.
//!
//! A tier's functions take its token, so they are safe to call. The vector types' methods are inlined into them.

/// `mul`, `square` and `mul_many` over `$many` elements at a time, and over single ones in xmm registers.
macro_rules! tier {
    ($name:ident, $token:ident, $features:literal, $many:ident, $doc:literal) => {
        #[doc = $doc]
        pub(in crate::field) mod $name {
            use crate::field::fused;
            use crate::field::low::x86_64::*;
            use crate::field::modulus::Modulus;
            use crate::field::wide::Wide;
            use candor_cpu::$token;
            use core::slice::{from_mut, from_ref};

            /// a·b.
            #[inline]
            pub(in crate::field) fn mul<M: Modulus>(token: $token, a: &M::Words, b: &M::Words, out: &mut M::Words) {
                #[target_feature(enable = $features)]
                fn compiled<M: Modulus>(token: $token, a: &M::Words, b: &M::Words, out: &mut M::Words) {
                    fused::mul::<Xmm, M>(token.into(), from_ref(a), from_ref(b), from_mut(out));
                }
                // SAFETY: the token proves the features.
                unsafe { compiled::<M>(token, a, b, out) }
            }

            /// a^(2^times).
            #[inline]
            pub(in crate::field) fn square<M: Modulus>(token: $token, a: &M::Words, times: usize, out: &mut M::Words) {
                #[target_feature(enable = $features)]
                fn compiled<M: Modulus>(token: $token, a: &M::Words, times: usize, out: &mut M::Words) {
                    fused::square::<Xmm, M>(token.into(), from_ref(a), times, from_mut(out));
                }
                // SAFETY: the token proves the features.
                unsafe { compiled::<M>(token, a, times, out) }
            }

            /// low + high·x^64n.
            #[inline]
            pub(in crate::field) fn reduce<M: Modulus>(
                token: $token,
                low: &M::Words,
                high: &M::Words,
                out: &mut M::Words,
            ) {
                #[target_feature(enable = $features)]
                fn compiled<M: Modulus>(token: $token, low: &M::Words, high: &M::Words, out: &mut M::Words) {
                    fused::reduce::<Xmm, M>(token.into(), from_ref(low), from_ref(high), from_mut(out));
                }
                // SAFETY: the token proves the features.
                unsafe { compiled::<M>(token, low, high, out) }
            }

            /// The products of elements at the same place; the three slices have the same length.
            #[inline]
            pub(in crate::field) fn mul_many<M: Modulus>(
                token: $token,
                a: &[M::Words],
                b: &[M::Words],
                out: &mut [M::Words],
            ) {
                #[target_feature(enable = $features)]
                fn compiled<M: Modulus>(token: $token, a: &[M::Words], b: &[M::Words], out: &mut [M::Words]) {
                    let n = $many::N;
                    let (mut a, mut b) = (a.chunks_exact(n), b.chunks_exact(n));
                    let mut out = out.chunks_exact_mut(n);
                    for ((a, b), out) in (&mut a).zip(&mut b).zip(&mut out) {
                        fused::mul::<$many, M>(token.into(), a, b, out);
                    }
                    for ((a, b), out) in a.remainder().iter().zip(b.remainder()).zip(out.into_remainder()) {
                        fused::mul::<Xmm, M>(token.into(), from_ref(a), from_ref(b), from_mut(out));
                    }
                }
                // SAFETY: the token proves the features.
                unsafe { compiled::<M>(token, a, b, out) }
            }
        }
    };
}

tier!(clmul, HaveClmul, "ssse3,sse4.1,pclmulqdq", Xmm, "PCLMULQDQ on xmm registers.");
tier!(vpclmul, HaveVpclmul, "avx2,pclmulqdq,vpclmulqdq", Ymm, "VPCLMULQDQ on ymm registers, two elements at a time.");
tier!(
    avx512,
    HaveAvx512Crypto,
    "avx512f,avx512bw,avx512dq,avx512vl,pclmulqdq,vpclmulqdq",
    Zmm,
    "VPCLMULQDQ on zmm registers, four elements at a time."
);
