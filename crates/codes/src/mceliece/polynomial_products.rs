//! Products of polynomials over GF(2¹²) and GF(2¹³), each way that has been proposed for Classic McEliece's `GF_mul`, to be measured side by
//! side. The KEM computes with none of them: key generation multiplies an element with vectors, decoding 256 elements at once.
//!
//! ```
//! use candor_codes::mceliece::polynomial_products::{Method, PolynomialProducts};
//!
//! let mut products = PolynomialProducts::new(12);
//! let mut product = [0; 3];
//! // (z·y + 1)² = z²·y² + 1
//! products.multiply(Method::Kronecker, &[1, 2], &[1, 2], &mut product);
//! assert_eq!(product, [1, 0, 4]);
//! ```

use crate::kernels::mceliece::products::{self, Folded, Four, Lazy, OnePass, Two, Words};
#[cfg(target_arch = "x86_64")]
use crate::low::x86_64::mceliece_products as clmul;
use candor_cpu::{Cpu, HaveAvx2, HaveClmul};
use candor_gf2::Multiplier;
use zeroize::Zeroize;

/// How elements of the field are multiplied where polynomials are multiplied term by term.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ElementProduct {
    /// One by one in a call each, shifting and adding, and reduced by folding twice: the reference implementation.
    Folding,
    /// The same with a reduction in one pass, which feeds back first what the modulus' taps throw above.
    OnePass,
    /// Two by one carry-less multiplication, reduced together in lanes of 32 bits.
    Simd2,
    /// Four by two carry-less multiplications, reduced together.
    Simd4,
    /// Two by one carry-less multiplication, and the sum of all products of a coefficient reduced once.
    Lazy,
}

/// How polynomials are multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// Every term with every other.
    Schoolbook(ElementProduct),
    /// Karatsuba's scheme down to 16 coefficients, then every term with every other.
    Karatsuba16(ElementProduct),
    /// Kronecker substitution: the coefficients side by side, 32 bits each, are multiplied as one polynomial over GF(2) by [`Multiplier`],
    /// and the coefficients of the product reduced, a vector of them at a time. Products have no more than 25 bits, and nothing carries.
    Kronecker,
}

impl Method {
    /// All there are.
    pub const ALL: [Self; 11] = {
        use ElementProduct::{Folding, Lazy, OnePass, Simd2, Simd4};
        use Method::{Karatsuba16, Kronecker, Schoolbook};
        [
            Schoolbook(Folding),
            Schoolbook(OnePass),
            Schoolbook(Simd2),
            Schoolbook(Simd4),
            Schoolbook(Lazy),
            Karatsuba16(Folding),
            Karatsuba16(OnePass),
            Karatsuba16(Simd2),
            Karatsuba16(Simd4),
            Karatsuba16(Lazy),
            Kronecker,
        ]
    };
}

/// Most coefficients of a factor.
pub const MOST_COEFFICIENTS: usize = products::MOST;
/// Words that as many coefficients fill.
const WORDS: usize = MOST_COEFFICIENTS / 2;
/// Words of scratch that [`Multiplier`] may want for factors of [`WORDS`] words.
const SCRATCH: usize = 8 * WORDS;

/// Products over one field. It holds memory for Kronecker substitution, which is wiped on drop.
pub struct PolynomialProducts {
    m: usize,
    clmul: Option<HaveClmul>,
    avx2: Option<HaveAvx2>,
    multiplier: Multiplier,
    factors: [[u64; WORDS]; 2],
    product: [u64; 2 * WORDS],
    scratch: [u64; SCRATCH],
}

impl PolynomialProducts {
    /// Over GF(2^m), m = 12 or 13, on the best arms of [`Cpu::default`].
    ///
    /// # Panics
    /// If `m` is another.
    #[must_use]
    pub fn new(m: usize) -> Self {
        Self::with_cpu(Cpu::default(), m)
    }

    /// The same, on the best arms that `cpu` allows.
    ///
    /// # Panics
    /// If `m` is neither 12 nor 13.
    #[must_use]
    pub fn with_cpu(cpu: Cpu, m: usize) -> Self {
        assert!(m == 12 || m == 13, "the fields of Classic McEliece have 12 or 13 bits, not {m}");
        let multiplier = Multiplier::with_cpu(cpu);
        assert!(multiplier.scratch_words(WORDS, WORDS) <= SCRATCH, "the plan wants more scratch than there is");
        Self {
            m,
            clmul: HaveClmul::check(cpu),
            avx2: HaveAvx2::check(cpu),
            multiplier,
            factors: [[0; WORDS]; 2],
            product: [0; 2 * WORDS],
            scratch: [0; SCRATCH],
        }
    }

    /// The instructions that products of elements two and four at a time take: `clmul` or `portable`.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        if self.clmul.is_some() { "clmul" } else { "portable" }
    }

    /// The arm of Kronecker substitution's product ([`Multiplier::arm`]).
    #[must_use]
    pub fn product_arm(&self) -> &'static str {
        self.multiplier.arm()
    }

    /// Writes a · b into `product`. Coefficients stand from the lowest, elements in the lowest m bits.
    ///
    /// # Panics
    /// If `a` and `b` do not have the same number of coefficients from 1 to [`MOST_COEFFICIENTS`], or `product` not twice as many less one.
    // ct: public, because it is there to be measured: the KEM's secrets do not come here
    pub fn multiply(&mut self, method: Method, a: &[u16], b: &[u16], product: &mut [u16]) {
        assert!(a.len() == b.len() && (1..=MOST_COEFFICIENTS).contains(&a.len()), "factors of the same length");
        assert!(product.len() == 2 * a.len() - 1, "a product has {} coefficients", 2 * a.len() - 1);
        match self.m {
            12 => self.multiply_in_field::<12>(method, a, b, product),
            _ => self.multiply_in_field::<13>(method, a, b, product),
        }
    }

    fn multiply_in_field<const M: usize>(&mut self, method: Method, a: &[u16], b: &[u16], product: &mut [u16]) {
        match method {
            Method::Schoolbook(elements) => self.schoolbook::<M>(elements, a, b, product),
            Method::Karatsuba16(elements) => {
                products::karatsuba(a, b, product, &|a, b, product| self.schoolbook::<M>(elements, a, b, product));
            }
            Method::Kronecker => self.kronecker::<M>(a, b, product),
        }
    }

    fn schoolbook<const M: usize>(&self, elements: ElementProduct, a: &[u16], b: &[u16], product: &mut [u16]) {
        match (elements, self.clmul) {
            (ElementProduct::Folding, _) => products::schoolbook::<_, M>(Folded, a, b, product),
            (ElementProduct::OnePass, _) => products::schoolbook::<_, M>(OnePass, a, b, product),
            #[cfg(target_arch = "x86_64")]
            (ElementProduct::Simd2, Some(token)) => clmul::schoolbook_two::<M>(token, a, b, product),
            #[cfg(target_arch = "x86_64")]
            (ElementProduct::Simd4, Some(token)) => clmul::schoolbook_four::<M>(token, a, b, product),
            #[cfg(target_arch = "x86_64")]
            (ElementProduct::Lazy, Some(token)) => clmul::schoolbook_lazy::<M>(token, a, b, product),
            (ElementProduct::Simd2, _) => products::schoolbook::<_, M>(Two(Words), a, b, product),
            (ElementProduct::Simd4, _) => products::schoolbook::<_, M>(Four(Words), a, b, product),
            (ElementProduct::Lazy, _) => products::schoolbook::<_, M>(Lazy(Words), a, b, product),
        }
    }

    fn kronecker<const M: usize>(&mut self, a: &[u16], b: &[u16], product: &mut [u16]) {
        let words = a.len().div_ceil(2);
        let [first, second] = &mut self.factors;
        products::pack(a, &mut first[..words]);
        products::pack(b, &mut second[..words]);
        let packed = &mut self.product[..2 * words];
        self.multiplier.mul_with_scratch(packed, &first[..words], &second[..words], &mut self.scratch);
        match self.avx2 {
            #[cfg(target_arch = "x86_64")]
            Some(token) => clmul::unpack::<M>(token, packed, product),
            _ => products::unpack::<M>(packed, product),
        }
    }
}

impl Drop for PolynomialProducts {
    fn drop(&mut self) {
        self.factors.as_flattened_mut().zeroize();
        self.product.zeroize();
        self.scratch.zeroize();
    }
}

impl core::fmt::Debug for PolynomialProducts {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "PolynomialProducts(GF(2^{}), {}, {})", self.m, self.arm(), self.product_arm())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::mceliece::field::{mask, times};
    use candor_test_support::Random;
    use std::vec;
    use std::vec::Vec;

    fn check<const M: usize>() {
        let mut random = Random::new(M as u64);
        for cpu in [Cpu::default(), Cpu::portable()] {
            let mut products = PolynomialProducts::with_cpu(cpu, M);
            for n in [1, 2, 3, 4, 5, 15, 16, 17, 31, 33, 64, 96, 119, 127, 128] {
                let mut draw = |full: bool| -> Vec<u16> {
                    (0..n).map(|_| if full { mask::<M>() } else { random.word() as u16 & mask::<M>() }).collect()
                };
                for (a, b) in [(draw(false), draw(false)), (draw(true), draw(true)), (draw(false), draw(true))] {
                    let mut expected = vec![0; 2 * n - 1];
                    for (i, a) in a.iter().enumerate() {
                        b.iter().enumerate().for_each(|(j, b)| expected[i + j] ^= times::<M>(*a, *b));
                    }
                    for method in Method::ALL {
                        let mut found = vec![0xffff; 2 * n - 1];
                        products.multiply(method, &a, &b, &mut found);
                        assert_eq!(found, expected, "{n} coefficients, {method:?}, {products:?}");
                    }
                }
            }
        }
    }

    #[test]
    fn all_methods_give_the_product_of_the_definition() {
        check::<12>();
        check::<13>();
    }

    /// Every product of elements, by the methods that have a multiplication of elements of their own.
    fn every_product<const M: usize>() {
        let mut products = PolynomialProducts::new(M);
        let all: Vec<u16> = (0..1 << M).collect();
        for a in [1, 2, 0x5a5 & mask::<M>(), mask::<M>()] {
            for b in all.chunks_exact(128) {
                let mut constant = [0; 128];
                constant[0] = a;
                for method in Method::ALL {
                    let mut found = vec![0; 255];
                    products.multiply(method, &constant, b, &mut found);
                    let expected: Vec<u16> = b.iter().map(|b| times::<M>(a, *b)).collect();
                    assert_eq!(found[..128], expected, "{a} times {}…, {method:?}", b[0]);
                }
            }
        }
    }

    #[test]
    fn multiples_of_all_elements_are_right() {
        every_product::<12>();
        every_product::<13>();
    }
}
