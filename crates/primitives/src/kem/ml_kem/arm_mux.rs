//! Which arm of ML-KEM's kernels runs.

use crate::hash::lanes::Given;
use crate::lattice::{Factor, Poly, arithmetic, encoding, sampling};
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::lattice as avx2;
use candor_cpu::{Cpu, HaveAvx2, HaveAvx512Crypto};

/// One way to compute. An accelerated variant proves that the CPU has the instructions.
#[derive(Clone, Copy)]
pub(super) enum Arm {
    /// AVX-512 for rejection sampling, and AVX2.
    Avx512(HaveAvx512Crypto, HaveAvx2),
    /// x86-64's 256-bit vectors.
    Avx2(HaveAvx2),
    /// Safe Rust.
    Portable,
}

/// A method for each kernel, which calls that of the arm.
macro_rules! kernels {
    ($($(#[$doc:meta])* $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)?, $portable:path;)+) => {
        $(
            $(#[$doc])*
            #[inline]
            pub(super) fn $name(self, $($argument: $type),*) $(-> $result)? {
                match self {
                    #[cfg(target_arch = "x86_64")]
                    Self::Avx2(token) | Self::Avx512(_, token) => avx2::$name(token, $($argument),*),
                    _ => $portable($($argument),*),
                }
            }
        )+
    };
}

impl Arm {
    pub(super) fn choose(cpu: Cpu) -> Self {
        match (HaveAvx512Crypto::check(cpu), HaveAvx2::check(cpu)) {
            (Some(wide), Some(token)) => Self::Avx512(wide, token),
            (None, Some(token)) => Self::Avx2(token),
            (_, None) => Self::Portable,
        }
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Avx512(..) => "avx512",
            Self::Avx2(_) => "avx2",
            Self::Portable => "portable",
        }
    }

    kernels! {
        /// The transform of coefficients of at most twelve bits.
        transform(poly: &mut Poly), arithmetic::transform_poly;
        /// The inverse of the transform.
        inverse(poly: &mut Poly), arithmetic::inverse_poly;
        /// A transformed polynomial as a factor.
        factor(poly: &Poly, into: &mut Factor), arithmetic::factor_poly;
        /// The sum of products of equally many transformed polynomials and factors.
        inner_product(a: &[&Poly], b: &[Factor], into: &mut Poly), arithmetic::inner_product_poly;
        /// a + b, into a.
        add(a: &mut Poly, b: &Poly), arithmetic::add;
        /// b − a, into a.
        subtract_from(a: &mut Poly, b: &Poly), arithmetic::subtract_from;
        /// Twelve bits a coefficient.
        encode(poly: &Poly, bytes: &mut [u8; 384]), encoding::encode;
        /// The inverse of [`Self::encode`]; coefficients above q stay as they are.
        decode(bytes: &[u8; 384], poly: &mut Poly), encoding::decode;
        /// Compresses to one bit a coefficient, 32 bytes.
        compress_1(poly: &Poly, bytes: &mut [u8]), encoding::compress::<1>;
        /// To four bits, 128 bytes.
        compress_4(poly: &Poly, bytes: &mut [u8]), encoding::compress::<4>;
        /// To five bits, 160 bytes.
        compress_5(poly: &Poly, bytes: &mut [u8]), encoding::compress::<5>;
        /// To ten bits, 320 bytes.
        compress_10(poly: &Poly, bytes: &mut [u8]), encoding::compress::<10>;
        /// To eleven bits, 352 bytes.
        compress_11(poly: &Poly, bytes: &mut [u8]), encoding::compress::<11>;
        /// Decompresses from one bit a coefficient.
        decompress_1(bytes: &[u8], poly: &mut Poly), encoding::decompress::<1>;
        /// From four bits.
        decompress_4(bytes: &[u8], poly: &mut Poly), encoding::decompress::<4>;
        /// From five bits.
        decompress_5(bytes: &[u8], poly: &mut Poly), encoding::decompress::<5>;
        /// From ten bits.
        decompress_10(bytes: &[u8], poly: &mut Poly), encoding::decompress::<10>;
        /// From eleven bits.
        decompress_11(bytes: &[u8], poly: &mut Poly), encoding::decompress::<11>;
        /// Noise for η = 2.
        binomial_2(bytes: &[u8; 128], poly: &mut Poly), sampling::binomial_2;
        /// Noise for η = 3.
        binomial_3(bytes: &[u8; 192], poly: &mut Poly), sampling::binomial_3;
    }

    /// Goes on with rejection sampling; see [`sampling::uniform`].
    #[inline]
    pub(super) fn uniform(self, block: &Given, poly: &mut Poly, filled: usize) -> usize {
        match self {
            #[cfg(target_arch = "x86_64")]
            Self::Avx512(token, _) => avx2::uniform_avx512(token, block, poly, filled),
            #[cfg(target_arch = "x86_64")]
            Self::Avx2(token) => avx2::uniform(token, block, poly, filled),
            _ => sampling::uniform(block, poly, filled),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::vec;
    use std::vec::Vec;

    /// Polynomials with coefficients up to a bound: extremes, then numbers that look random.
    fn polys(bound: i16) -> impl Iterator<Item = Poly> {
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = move || {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as i64
        };
        let extremes = [Poly([bound; 256]), Poly([-bound; 256]), Poly(core::array::from_fn(|i| i as i16 - 128))];
        let width = 2 * i64::from(bound) + 1;
        let others = (0..40).map(move |_| Poly(core::array::from_fn(|_| (random() % width - i64::from(bound)) as i16)));
        extremes.into_iter().chain(others)
    }

    /// Bytes that look random, and bytes of zeros and ones.
    fn byte_strings<const N: usize>() -> impl Iterator<Item = [u8; N]> {
        let random = polys(i16::MAX).map(|poly| core::array::from_fn(|i| (poly.0[i % 256] >> (i / 256)) as u8));
        [[0; N], [0xff; N]].into_iter().chain(random)
    }

    /// The arms in vectors that this CPU has.
    fn arms() -> Vec<Arm> {
        let arms = ["avx2", "avx512"].into_iter().filter_map(|tier| {
            let cpu = Cpu::named(tier).ok();
            if cpu.is_none() {
                std::eprintln!("skipped: this CPU has no {tier}");
            }
            cpu.map(Arm::choose)
        });
        arms.collect()
    }

    /// What a kernel makes of each input is the same on all arms.
    fn agree<I, O: PartialEq>(what: &str, inputs: impl Iterator<Item = I>, kernel: impl Fn(Arm, &I) -> O) {
        let arms = arms();
        for (number, input) in inputs.enumerate() {
            let expected = kernel(Arm::Portable, &input);
            for arm in &arms {
                assert!(kernel(*arm, &input) == expected, "{what} on {}, input {number}", arm.name());
            }
        }
    }

    #[test]
    fn the_kernels_give_the_same_representatives() {
        let changed = |kernel: fn(Arm, &mut Poly)| {
            move |arm: Arm, poly: &Poly| {
                let mut poly = *poly;
                kernel(arm, &mut poly);
                poly.0
            }
        };
        agree("transform", polys(4095), changed(Arm::transform));
        agree("inverse", polys(2579), changed(Arm::inverse));
        agree("factor", polys(4095), |arm, poly| {
            let mut factor = Factor::ZERO;
            arm.factor(poly, &mut factor);
            (factor.even.0, factor.odd.0)
        });
        agree("sums and differences", polys(6000).zip(polys(4095)), |arm, (a, b)| {
            let (mut sum, mut difference) = (*a, *a);
            arm.add(&mut sum, b);
            arm.subtract_from(&mut difference, b);
            (sum.0, difference.0)
        });
        for terms in 1..=4 {
            agree("inner product", polys(4095).zip(polys(1871)), |arm, (a, b)| {
                let mut product = Poly::ZERO;
                arm.inner_product(&vec![a; terms], &vec![Factor { even: *b, odd: *a }; terms], &mut product);
                product.0
            });
        }
    }

    #[test]
    fn the_kernels_give_the_same_bytes() {
        type Compress = fn(Arm, &Poly, &mut [u8]);
        type Decompress = fn(Arm, &[u8], &mut Poly);
        let kernels: [(usize, Compress, Decompress); 5] = [
            (1, Arm::compress_1, Arm::decompress_1),
            (4, Arm::compress_4, Arm::decompress_4),
            (5, Arm::compress_5, Arm::decompress_5),
            (10, Arm::compress_10, Arm::decompress_10),
            (11, Arm::compress_11, Arm::decompress_11),
        ];
        // Every representative that comes up, once.
        let all = (-6000..=6000).step_by(256).map(|first| Poly(core::array::from_fn(|i| first + i as i16)));
        let inputs: Vec<Poly> = all.chain(polys(6000)).collect();
        for (bits, compress, decompress) in kernels {
            agree("compression", inputs.iter(), |arm, poly| {
                let mut bytes = vec![0; 32 * bits];
                compress(arm, poly, &mut bytes);
                bytes
            });
            agree("decompression", byte_strings::<352>(), |arm, bytes| {
                let mut poly = Poly::ZERO;
                decompress(arm, &bytes[..32 * bits], &mut poly);
                poly.0
            });
        }
        agree("encoding", inputs.iter(), |arm, poly| {
            let mut bytes = [0; 384];
            arm.encode(poly, &mut bytes);
            bytes
        });
        agree("decoding", byte_strings::<384>(), |arm, bytes| {
            let mut poly = Poly::ZERO;
            arm.decode(bytes, &mut poly);
            poly.0
        });
    }

    #[test]
    fn the_kernels_give_the_same_samples() {
        agree("η = 2", byte_strings::<128>(), |arm, bytes| {
            let mut poly = Poly::ZERO;
            arm.binomial_2(bytes, &mut poly);
            poly.0
        });
        agree("η = 3", byte_strings::<192>(), |arm, bytes| {
            let mut poly = Poly::ZERO;
            arm.binomial_3(bytes, &mut poly);
            poly.0
        });
        // From every number of coefficients that may be there already.
        for filled in 0..256 {
            agree("rejection", byte_strings::<200>(), |arm, bytes| {
                let block = core::array::from_fn(|i| u64::from_le_bytes(core::array::from_fn(|j| bytes[8 * i + j])));
                let mut poly = Poly::ZERO;
                let found = arm.uniform(&block, &mut poly, filled);
                poly.0[found..].fill(0);
                (found, poly.0)
            });
        }
    }
}
