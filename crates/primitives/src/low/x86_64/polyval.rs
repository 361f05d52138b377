//! POLYVAL (RFC 8452 §3) with carry-less multiplication.
//!
//! Σ X_i · H^(n+1-i) is summed up unreduced over as many blocks as there are stored powers, and reduced once for all of them. A
//! product of two blocks is three carry-less ones of 128 bits, by Karatsuba: the low halves, the high halves, and the sums of both. A fourth
//! product would save two shuffles and cost more: on Zen 5 a product keeps its unit busy for two cycles at every width, and GCM waits for
//! it. The field's polynomial is x^128 + x^127 + x^126 + x^121 + 1, and POLYVAL's product is a · b · x^-128, which is Montgomery's: the
//! lowest 64 bits go away, twice, by adding such a multiple of the polynomial that they become zero.

use super::blocks::{Blocks, Products};
use super::registers::{Xmm, Ymm, Zmm};
use candor_cpu::{HaveAvx512Crypto, HaveClmul, HaveVpclmul};
use core::arch::x86_64::*;

/// Makes the entry points of an arm: safe functions that take its token, and within them the kernels with the token's features.
macro_rules! entry {
    ($powers:ident, $hash:ident, $token:ty, $features:literal, $vector:ident $(, $clear:stmt)?) => {
        /// The powers of H, the highest first.
        #[inline]
        pub(crate) fn $powers<const N: usize>(token: $token, h: &[u8; 16], powers: &mut [[u8; 16]; N]) {
            #[target_feature(enable = $features)]
            fn with_features<const N: usize>(token: $token, h: &[u8; 16], out: &mut [[u8; 16]; N]) {
                all_powers::<$vector<$token>, N>(token, h, out);
            }
            // SAFETY: the token proves the features.
            unsafe { with_features(token, h, powers) }
            $($clear)?
        }

        /// POLYVAL over the parts, one after another.
        #[inline]
        pub(crate) fn $hash<const N: usize, const P: usize>(
            token: $token,
            powers: &[[u8; 16]; N],
            parts: [&[[u8; 16]]; P],
            out: &mut [u8; 16],
        ) {
            #[target_feature(enable = $features)]
            fn with_features<const N: usize, const P: usize>(
                token: $token,
                powers: &[[u8; 16]; N],
                parts: [&[[u8; 16]]; P],
                out: &mut [u8; 16],
            ) {
                hash::<$vector<$token>, N, P>(token, powers, parts, out);
            }
            // SAFETY: the token proves the features.
            unsafe { with_features(token, powers, parts, out) }
        }
    };
}

// With these instructions the compiler puts a power aside.
entry!(powers_clmul, hash_clmul, HaveClmul, "ssse3,sse4.1,pclmulqdq", Xmm, crate::stack::overwrite::<256>());
entry!(powers_vpclmul, hash_vpclmul, HaveVpclmul, "avx2,pclmulqdq,vpclmulqdq", Ymm);
entry!(powers_avx512, hash_avx512, HaveAvx512Crypto, "avx2,avx512f,avx512vl,pclmulqdq,vpclmulqdq", Zmm);

/// A sum of products, not yet reduced.
#[derive(Clone, Copy)]
pub(super) struct Sum<V> {
    low: V,
    /// The products of the sums of halves: the middle, and low and high.
    middle: V,
    high: V,
}

impl<V: Products> Sum<V> {
    #[inline(always)]
    pub(super) fn zero(proof: V::Proof) -> Self {
        Self { low: V::zero(proof), middle: V::zero(proof), high: V::zero(proof) }
    }

    /// Adds the product of `a` and `b`.
    #[inline(always)]
    pub(super) fn add(self, a: V, b: V) -> Self {
        let folded = a.xor(a.swap()).multiply::<0x00>(b.xor(b.swap()));
        Self {
            low: self.low.xor(a.multiply::<0x00>(b)),
            middle: self.middle.xor(folded),
            high: self.high.xor(a.multiply::<0x11>(b)),
        }
    }

    #[inline(always)]
    pub(super) fn join(self, other: Self) -> Self {
        Self { low: self.low.xor(other.low), middle: self.middle.xor(other.middle), high: self.high.xor(other.high) }
    }

    /// The sum over all lanes.
    #[inline(always)]
    pub(super) fn narrow(self) -> Sum<Xmm<V::Proof>> {
        Sum { low: self.low.sum(), middle: self.middle.sum(), high: self.high.sum() }
    }

    #[inline(always)]
    pub(super) fn reduce(self) -> V {
        // The polynomial from x^64 upwards, without x^128 and so without the lower half that `swap` stands for.
        // SAFETY: SSE2 is part of x86-64.
        let polynomial = V::splat(Xmm::new(self.low.proof(), unsafe { _mm_set_epi64x(0, 0xc2 << 56) }));
        let middle =
            self.middle.xor(self.low.xor(self.high)).xor(self.low.swap()).xor(self.low.multiply::<0x00>(polynomial));
        self.high.xor(middle.swap()).xor(middle.multiply::<0x00>(polynomial))
    }
}

/// Doubles the number of powers until there are `N`, a power of two.
#[inline(always)]
fn all_powers<V: Products, const N: usize>(proof: V::Proof, h: &[u8; 16], powers: &mut [[u8; 16]; N]) {
    const { assert!(N.is_power_of_two()) }
    powers[N - 1] = *h;
    let mut known = 1;
    while known < N {
        let (free, highest) = powers.split_at_mut(N - known);
        let next = &mut free[N - 2 * known..];
        let by = Xmm::load(proof, highest);
        if known < V::LANES {
            for (power, lower) in next.iter_mut().zip(highest) {
                Sum::zero(proof).add(Xmm::load(proof, &[*lower]), by).reduce().store(core::slice::from_mut(power));
            }
        } else {
            for (powers, lower) in next.chunks_exact_mut(V::LANES).zip(highest.chunks_exact(V::LANES)) {
                Sum::zero(proof).add(V::load(proof, lower), V::splat(by)).reduce().store(powers);
            }
        }
        known *= 2;
    }
}

#[inline(always)]
fn hash<V: Products, const N: usize, const P: usize>(
    proof: V::Proof,
    powers: &[[u8; 16]; N],
    parts: [&[[u8; 16]]; P],
    out: &mut [u8; 16],
) {
    *out = [0; 16];
    let mut left: usize = parts.iter().map(|part| part.len()).sum();
    // The last block is multiplied by H, the last but one by H^2: it is the first batch that may be short.
    let mut at = left.wrapping_neg() % N;
    let (mut wide, mut narrow) = (Sum::<V>::zero(proof), Sum::<Xmm<V::Proof>>::zero(proof));
    for &part in &parts {
        let mut part = part;
        while !part.is_empty() {
            let (now, later) = part.split_at(part.len().min(N - at));
            let with = &powers[at..at + now.len()];
            let (blocks, keys) = (now.chunks_exact(V::LANES), with.chunks_exact(V::LANES));
            for (block, key) in blocks.remainder().iter().zip(keys.remainder()) {
                narrow = narrow.add(Xmm::load(proof, &[*block]), Xmm::load(proof, &[*key]));
            }
            for (blocks, keys) in blocks.zip(keys) {
                wide = wide.add(V::load(proof, blocks), V::load(proof, keys));
            }
            (part, at, left) = (later, at + now.len(), left - now.len());
            if at == N {
                let so_far = wide.narrow().join(narrow).reduce();
                so_far.store(core::slice::from_mut(out));
                if left > 0 {
                    // It is to be added to the next block, so it is multiplied by that block's power.
                    narrow = Sum::zero(proof).add(so_far, Xmm::load(proof, powers));
                    (wide, at) = (Sum::zero(proof), 0);
                }
            }
        }
    }
}
