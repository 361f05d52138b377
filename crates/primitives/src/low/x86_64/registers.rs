//! Vector registers that carry the tokens they were made with, so that whoever holds one may use the instructions which those prove.
//!
//! `P` stands for the tokens of an arm, a value without size. The traits below say what tokens prove, and vectors have instructions by them
//! only: a register made with the wrong tokens, or with `()`, has no methods that compute.

use candor_cpu::{HaveAvx2, HaveAvx512Crypto, HaveAvx512Ifma, HaveClmul, HaveGfni, HaveVpclmul};
use core::arch::x86_64::*;

macro_rules! register {
    ($(#[$doc:meta])* $name:ident, $vector:ty) => {
        $(#[$doc])*
        #[derive(Clone, Copy)]
        pub(super) struct $name<P>(pub(super) $vector, P);

        impl<P: Copy> $name<P> {
            #[inline(always)]
            pub(super) fn new(proof: P, vector: $vector) -> Self {
                Self(vector, proof)
            }

            /// Other contents, with the proof of this one.
            #[inline(always)]
            pub(super) fn with(self, vector: $vector) -> Self {
                Self(vector, self.1)
            }

            #[inline(always)]
            pub(super) fn proof(self) -> P {
                self.1
            }
        }
    };
}

register! {
    /// 128 bits.
    Xmm, __m128i
}
register! {
    /// 256 bits.
    Ymm, __m256i
}
register! {
    /// 512 bits.
    Zmm, __m512i
}

impl<P: ProvesAvx2> Ymm<P> {
    /// Two halves, the lower first.
    #[inline(always)]
    pub(super) fn join([low, high]: [Xmm<P>; 2]) -> Self {
        // SAFETY: the tokens prove AVX2.
        Self::new(low.proof(), unsafe { _mm256_inserti128_si256::<1>(_mm256_castsi128_si256(low.0), high.0) })
    }

    /// The reverse.
    #[inline(always)]
    pub(super) fn halves(self) -> [Xmm<P>; 2] {
        // SAFETY: the tokens prove AVX2.
        let [low, high] = unsafe { [_mm256_castsi256_si128(self.0), _mm256_extracti128_si256::<1>(self.0)] };
        [Xmm::new(self.1, low), Xmm::new(self.1, high)]
    }
}

/// Makes the traits: what each one's tokens prove, and which these are.
macro_rules! proofs {
    ($($(#[$doc:meta])* $trait:ident $(: $of:ident $(+ $more:ident)*)?, [$($feature:literal),+] by $($tokens:ty),+;)+) => {
        $(
            $(#[$doc])*
            ///
            /// # Safety
            /// Values of the type exist only on CPUs that have these features.
            pub(super) unsafe trait $trait: Copy $(+ $of $(+ $more)*)? {}

            $(
                // SAFETY: the tokens prove these features, or wider ones that imply them; a test compares their lists.
                unsafe impl $trait for $tokens {}
            )+
        )+

        /// Each type with the features that a trait promises of it, and those that its tokens prove.
        #[cfg(test)]
        fn promises() -> alloc::vec::Vec<(&'static [&'static str], alloc::vec::Vec<&'static str>)> {
            let mut promises = alloc::vec::Vec::new();
            $({
                let promised: &[&str] = &[$($feature),+];
                $(promises.push((promised, <$tokens as tests::Tokens>::features()));)+
            })+
            promises
        }
    };
}

proofs! {
    /// Carry-less multiplication and AES on 128 bits.
    ProvesClmul, ["ssse3", "sse4.1", "pclmulqdq", "aes"]
        by HaveClmul, HaveVpclmul, HaveAvx512Crypto,
           (HaveClmul,), (HaveClmul, HaveAvx2), (HaveVpclmul,), (HaveVpclmul, HaveGfni), (HaveAvx512Crypto, HaveGfni);
    /// Integers on 256 bits.
    ProvesAvx2, ["avx2"]
        by HaveVpclmul, HaveAvx512Crypto,
           (HaveAvx2,), (HaveClmul, HaveAvx2), (HaveVpclmul,), (HaveVpclmul, HaveGfni), (HaveAvx512Crypto, HaveGfni),
           (HaveAvx2, HaveAvx512Ifma);
    /// Carry-less multiplication and AES on 256 bits, and on 512 where [`ProvesAvx512`].
    ProvesVpclmul: ProvesClmul + ProvesAvx2, ["vpclmulqdq", "vaes"]
        by HaveVpclmul, HaveAvx512Crypto, (HaveVpclmul,), (HaveVpclmul, HaveGfni), (HaveAvx512Crypto, HaveGfni);
    /// Integers on 512 bits.
    ProvesAvx512: ProvesAvx2, ["avx512f", "avx512bw", "avx512dq", "avx512vl"]
        by HaveAvx512Crypto, (HaveAvx512Crypto, HaveGfni), (HaveAvx2, HaveAvx512Ifma);
    /// Affine maps and inverses in AES's field on 256 bits, and on 512 where [`ProvesAvx512`].
    ProvesGfni: ProvesAvx2, ["gfni"]
        by (HaveVpclmul, HaveGfni), (HaveAvx512Crypto, HaveGfni);
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    /// Tokens, one or several.
    pub(super) trait Tokens {
        fn features() -> Vec<&'static str>;
    }

    macro_rules! tokens {
        ($($token:ident),+) => {
            $(
                impl Tokens for $token {
                    fn features() -> Vec<&'static str> {
                        Self::FEATURES.to_vec()
                    }
                }
            )+
        };
    }

    tokens!(HaveAvx2, HaveAvx512Crypto, HaveAvx512Ifma, HaveClmul, HaveGfni, HaveVpclmul);

    impl<A: Tokens> Tokens for (A,) {
        fn features() -> Vec<&'static str> {
            A::features()
        }
    }

    impl<A: Tokens, B: Tokens> Tokens for (A, B) {
        fn features() -> Vec<&'static str> {
            [A::features(), B::features()].concat()
        }
    }

    /// As the instruction sets are defined, and as rustc has it.
    fn implied(feature: &str) -> &'static [&'static str] {
        match feature {
            "avx512f" => &["avx2", "sse4.1", "ssse3"],
            "avx2" => &["sse4.1", "ssse3"],
            _ => &[],
        }
    }

    #[test]
    fn tokens_prove_what_the_traits_promise() {
        for (promised, proved) in promises() {
            let has = |feature: &&str| proved.iter().any(|proof| proof == feature || implied(proof).contains(feature));
            assert!(promised.iter().all(has), "{promised:?} from {proved:?}");
        }
        assert!(promises().len() > 20);
    }
}
