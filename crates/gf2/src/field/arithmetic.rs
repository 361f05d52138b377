//! GF(2^m) for a modulus known at compile time.

use super::derived::{Derived, MOST_WORDS};
use super::element::Element;
use super::limbs::Columns;
use super::low;
use super::modulus::Modulus;
use crate::arm::Arm;
use candor_cpu::arms::Routine;
use candor_cpu::{Cpu, secret};
use core::fmt;
use core::marker::PhantomData;

/// The field of polynomials over GF(2) modulo `M`, on the best instructions that the CPU has.
///
/// The time of every operation depends only on `M`. `M` may be reducible, but then [`invert`](Self::invert),
/// [`trace`](Self::trace) and [`half_trace`](Self::half_trace) return meaningless values, and so does [`sqrt`](Self::sqrt) unless `M` is squarefree.
/// [`SparseModulus::is_irreducible`](super::SparseModulus::is_irreducible) tells, at compile time if asked to.
///
/// Every product folds its upper half once per tap of `M`, in each round: with hundreds of taps products are very slow.
///
/// ```
/// use candor_gf2::field::{Field, Nist233};
/// let field = Field::<Nist233>::new();
/// let a = field.element([5, 6, 7, 8]).unwrap();
/// let b = field.element([1, 2, 3, 4]).unwrap();
/// let product = field.mul(&a, &b);
/// assert_eq!(field.mul(&product, &field.invert(&b)), a);
/// assert_eq!(field.sqrt(&field.square(&a)), a);
/// ```
#[derive(Clone, Copy)]
pub struct Field<M> {
    arm: Arm,
    modulus: PhantomData<M>,
}

/// The words are not an element: the polynomial is not reduced, since a bit at m or above is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ElementError {
    /// m, the degree of the modulus.
    pub degree: usize,
}

impl fmt::Display for ElementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "polynomial is not reduced; expected a degree below {}", self.degree)
    }
}

impl core::error::Error for ElementError {}

impl<M: Modulus> Field<M> {
    /// The field on the best arm of [`Cpu::default`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_cpu(Cpu::default())
    }

    /// The field on the best arm that `cpu` allows.
    #[must_use]
    pub fn with_cpu(cpu: Cpu) -> Self {
        const {
            assert!(
                M::MODULUS.words() == M::Words::COUNT,
                "Words must be [u64; n] with n = the degree / 64, rounded up"
            )
        };
        Self { arm: Arm::choose(cpu, Routine::Gf2Field), modulus: PhantomData }
    }

    /// The arm that multiplies: `avx512`, `vpclmul`, `clmul`, `pmull`, `zbc` or `portable`.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.arm.name()
    }

    /// 0.
    #[must_use]
    pub fn zero(&self) -> Element<M> {
        Element::default()
    }

    /// 1.
    #[must_use]
    pub fn one(&self) -> Element<M> {
        let mut one = Element::<M>::default();
        one.0.as_mut()[0] = 1;
        one
    }

    /// The element with these coefficients, x^0 in the lowest bit of the first word. The answer, and only that, is public.
    ///
    /// # Errors
    /// [`ElementError`] if a bit at m or above is set.
    pub fn element(&self, words: M::Words) -> Result<Element<M>, ElementError> {
        secret::takes("gf2m/element", &words);
        let rest = M::MODULUS.degree() % 64;
        let top = words.as_ref()[M::Words::COUNT - 1];
        if rest != 0 && secret::declassified(u8::from(top >> rest != 0), "gf2m-reduced") == 1 {
            return Err(ElementError { degree: M::MODULUS.degree() });
        }
        Ok(Element(words))
    }

    /// low + high·x^64n modulo `M`, with n the number of words of an element: the reduction alone. All bits may be set.
    #[inline]
    #[must_use]
    pub fn reduce(&self, low: &M::Words, high: &M::Words) -> Element<M> {
        secret::takes("gf2m/reduce", low);
        let mut out = Element::default();
        self.arm.reduce::<M>(low, high, &mut out.0);
        out
    }

    /// a·b.
    #[inline]
    #[must_use]
    pub fn mul(&self, a: &Element<M>, b: &Element<M>) -> Element<M> {
        secret::takes("gf2m/mul", &a.0);
        let mut out = Element::default();
        self.arm.mul::<M>(&a.0, &b.0, &mut out.0);
        out
    }

    /// out\[i\] = a\[i\]·b\[i\]. On 256- and 512-bit registers two and four products go side by side.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn mul_many(&self, a: &[Element<M>], b: &[Element<M>], out: &mut [Element<M>]) {
        secret::takes("gf2m/mul-many", a);
        assert!(a.len() == b.len() && a.len() == out.len(), "factors and products must be equally many");
        self.arm.mul_many::<M>(low::words(a), low::words(b), low::words_mut(out));
    }

    /// a².
    // ct: gf2m/square-times
    #[inline]
    #[must_use]
    pub fn square(&self, a: &Element<M>) -> Element<M> {
        self.square_times(a, 1)
    }

    /// a^(2^times): a squared `times` times. `times` is public.
    #[inline]
    #[must_use]
    pub fn square_times(&self, a: &Element<M>, times: usize) -> Element<M> {
        secret::takes("gf2m/square-times", &a.0);
        let mut out = Element::default();
        self.arm.square::<M>(&a.0, times, &mut out.0);
        out
    }

    /// The b with b² = a.
    ///
    /// Write a = E(x)² + x·O(x)², with E and O made of the even and the odd coefficients. Then b = E + √x·O, and √x is a constant.
    #[must_use]
    pub fn sqrt(&self, a: &Element<M>) -> Element<M> {
        secret::takes("gf2m/sqrt", &a.0);
        let (mut even, mut odd) = (Element::<M>::default(), Element::<M>::default());
        for (i, &word) in a.0.as_ref().iter().enumerate() {
            even.0.as_mut()[i / 2] |= u64::from(gathered(word)) << (32 * (i % 2));
            odd.0.as_mut()[i / 2] |= u64::from(gathered(word >> 1)) << (32 * (i % 2));
        }
        let mut root = Element::<M>::default();
        root.0.as_mut().copy_from_slice(&Derived::<M>::ROOT_OF_X[..M::Words::COUNT]);
        even + self.mul(&odd, &root)
    }

    /// 1/a; 0 for 0.
    ///
    /// Itoh and Tsujii: a^(2^m − 2), by doubling the run of ones in the exponent along the bits of m − 1.
    #[must_use]
    pub fn invert(&self, a: &Element<M>) -> Element<M> {
        secret::takes("gf2m/invert", &a.0);
        let chain = M::MODULUS.degree() - 1;
        if chain == 0 {
            return *a;
        }
        let (mut run, mut ones) = (*a, 1); // run = a^(2^ones − 1)
        for bit in (0..chain.ilog2()).rev() {
            run = self.mul(&self.square_times(&run, ones), &run);
            ones *= 2;
            if chain >> bit & 1 == 1 {
                run = self.mul(&self.square(&run), a);
                ones += 1;
            }
        }
        self.square(&run)
    }

    /// a + a² + a⁴ + … + a^(2^(m−1)), which is 0 or 1.
    #[must_use]
    pub fn trace(&self, a: &Element<M>) -> u8 {
        secret::takes("gf2m/trace", &a.0);
        let trace: &[u64; MOST_WORDS] = &Derived::<M>::TRACE;
        let mut sum = a.0.as_ref().iter().zip(trace).fold(0, |sum, (word, mask)| sum ^ word & mask);
        for n in [32, 16, 8, 4, 2, 1] {
            sum ^= sum >> n;
        }
        sum as u8 & 1
    }

    /// a + a⁴ + a¹⁶ + … + a^(2^(m−1)), for odd m: a z with z² + z = a + trace(a). `None` for even m, where the sum has no such
    /// meaning.
    #[must_use]
    pub fn half_trace(&self, a: &Element<M>) -> Option<Element<M>> {
        secret::takes("gf2m/half-trace", &a.0);
        if M::MODULUS.degree() % 2 == 0 {
            return None;
        }
        let mut sum = *a;
        for _ in 0..(M::MODULUS.degree() - 1) / 2 {
            sum = self.square_times(&sum, 2) + *a;
        }
        Some(sum)
    }
}

impl<M: Modulus> Default for Field<M> {
    fn default() -> Self {
        Self::new()
    }
}

impl<M: Modulus> fmt::Debug for Field<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Field(modulo {}, {})", M::MODULUS, self.arm())
    }
}

/// The even bits of `word`, packed side by side: the inverse of `spread`.
#[inline(always)]
const fn gathered(word: u64) -> u32 {
    let mut x = word & 0x5555_5555_5555_5555;
    x = (x | x >> 1) & 0x3333_3333_3333_3333;
    x = (x | x >> 2) & 0x0f0f_0f0f_0f0f_0f0f;
    x = (x | x >> 4) & 0x00ff_00ff_00ff_00ff;
    x = (x | x >> 8) & 0x0000_ffff_0000_ffff;
    (x | x >> 16) as u32
}
