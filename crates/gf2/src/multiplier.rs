//! The products as users call them.

use crate::arm::Arm;
use crate::plan::Plans;
use crate::recursion::Recursion;
use alloc::vec;
use candor_cpu::arms::Routine;
use candor_cpu::{Cpu, secret};
use zeroize::Zeroize;

/// Multiplies binary polynomials with one arm and one table of plans. Two words large, `Copy`.
///
/// A polynomial is a slice of words, lowest first: bit i of word j is the coefficient of x^(64j + i). Factors may have any lengths,
/// equal or not, and leading zeros. The time depends on the lengths only, not on the words.
///
/// ```
/// use candor_gf2::Multiplier;
///
/// let (a, b) = ([0b11, 0, 1], [0b101]); // x^128 + x + 1 and x^2 + 1
/// let mut product = [0; 4];
/// Multiplier::new().mul(&mut product, &a, &b);
/// assert_eq!(product, [0b1111, 0, 0b101, 0]); // x^130 + x^128 + x^3 + x^2 + x + 1
/// ```
#[derive(Clone, Copy)]
pub struct Multiplier {
    recursion: Recursion<'static>,
}

/// The product of two polynomials of N words: its lower and its upper half.
pub type Product<const N: usize> = [[u64; N]; 2];

impl Multiplier {
    /// The best arm of [`Cpu::default`], with its table.
    #[inline]
    pub fn new() -> Self {
        Self::with_cpu(Cpu::default())
    }

    /// The best arm that `cpu` allows, with that arm's table: the user's if one was installed, or else the shipped one.
    #[inline]
    pub fn with_cpu(cpu: Cpu) -> Self {
        let arm = Arm::choose(cpu, Routine::Gf2Mul);
        Self { recursion: Recursion { kernel: arm.kernel(), plans: arm.plans() } }
    }

    /// The best arm that `cpu` allows, with this table; `None` if the table was made for another arm.
    pub fn with_plans(cpu: Cpu, plans: &'static Plans) -> Option<Self> {
        let kernel = Arm::choose(cpu, Routine::Gf2Mul).kernel();
        // The leaf bound is the arm's; a table of another arm of the same name can't exist, but a wrong product must not either.
        let fits = plans.arm() == kernel.arm && plans.leaf_words() == kernel.leaf_words();
        fits.then_some(Self { recursion: Recursion { kernel, plans } })
    }

    /// The arm's name: `portable`, `clmul`, `vpclmul`, `avx512`, `pmull` or `zbc`.
    pub fn arm(&self) -> &'static str {
        self.recursion.kernel.arm
    }

    /// The table in use.
    pub fn plans(&self) -> &'static Plans {
        self.recursion.plans
    }

    /// `out = a · b`.
    ///
    /// Temporaries are on the stack (up to 32 KiB), or on the heap for factors beyond about 1,300 words. Those on the heap are wiped,
    /// those on the stack are not.
    ///
    /// # Panics
    /// If `out.len() != a.len() + b.len()`.
    #[inline]
    pub fn mul(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        secret::ran("gf2-mul", self.recursion.kernel.arm);
        if !self.recursion.kernel.leaf(out, a, b) {
            self.mul_beyond_leaves(out, a, b);
        }
    }

    /// The same with scratch memory from the caller, at least [`scratch_words`](Self::scratch_words) words of it: no large temporaries on
    /// the stack, and no allocation. The scratch may contain anything before; afterwards it contains data derived from the factors.
    ///
    /// # Panics
    /// If `out.len() != a.len() + b.len()`, or the scratch is too short.
    #[inline]
    pub fn mul_with_scratch(&self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        secret::takes("gf2-mul/with-scratch", a);
        secret::ran("gf2-mul", self.recursion.kernel.arm);
        if !self.recursion.kernel.leaf(out, a, b) {
            assert!(out.len() == a.len() + b.len(), "the product is as long as both factors together");
            self.recursion.unbalanced(out, a, b, scratch);
        }
    }

    /// Words of scratch that [`mul_with_scratch`](Self::mul_with_scratch) needs for factors of `a` and `b` words.
    pub fn scratch_words(&self, a: usize, b: usize) -> usize {
        self.recursion.plans.scratch_words_of(a, b)
    }

    /// `out[i] = a[i] · b[i]`: many products of one length, with the arm chosen once for all of them. Up to the arm's longest leaf
    /// each product is inlined into the loop.
    ///
    /// # Panics
    /// If the three slices are not equally long.
    pub fn mul_many<const N: usize>(&self, out: &mut [Product<N>], a: &[[u64; N]], b: &[[u64; N]]) {
        secret::takes("gf2-mul/many", a);
        secret::ran("gf2-mul", self.recursion.kernel.arm);
        if !self.recursion.kernel.batch(out, a, b) {
            assert!(a.len() == b.len() && a.len() == out.len(), "as many products as pairs of factors");
            for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
                self.mul(out.as_flattened_mut(), a, b);
            }
        }
    }

    /// `out = a²`: the bits of `a` with zeros between them.
    ///
    /// # Panics
    /// If `out.len() != 2 * a.len()`.
    #[inline]
    pub fn square(&self, out: &mut [u64], a: &[u64]) {
        secret::ran("gf2-square", self.recursion.kernel.arm);
        self.recursion.kernel.square(out, a);
    }

    /// Finds room for the temporaries.
    fn mul_beyond_leaves(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        assert!(out.len() == a.len() + b.len(), "the product is as long as both factors together");
        let words = self.scratch_words(a.len(), b.len());
        match words {
            0 => self.recursion.unbalanced(out, a, b, &mut []),
            // Fine steps: the scratch is zeroed, and what is not needed would only push the factors out of the cache.
            1..129 => self.mul_on_stack::<128>(out, a, b),
            129..257 => self.mul_on_stack::<256>(out, a, b),
            257..513 => self.mul_on_stack::<512>(out, a, b),
            513..1025 => self.mul_on_stack::<1024>(out, a, b),
            1025..2049 => self.mul_on_stack::<2048>(out, a, b),
            2049..4097 => self.mul_on_stack::<4096>(out, a, b),
            _ => {
                let mut scratch = vec![0; words];
                self.recursion.unbalanced(out, a, b, &mut scratch);
                scratch.zeroize();
            }
        }
    }

    #[inline(never)] // so that only the sizes that need it move the stack pointer so far
    fn mul_on_stack<const WORDS: usize>(&self, out: &mut [u64], a: &[u64], b: &[u64]) {
        self.recursion.unbalanced(out, a, b, &mut [0; WORDS]);
    }
}

impl Default for Multiplier {
    fn default() -> Self {
        Self::new()
    }
}

impl core::fmt::Debug for Multiplier {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        write!(f, "Multiplier({})", self.arm())
    }
}

/// `out = a · b` on the best arm of this CPU: [`Multiplier::mul`] of [`Multiplier::new`].
///
/// # Panics
/// If `out.len() != a.len() + b.len()`.
// ct: gf2-mul
#[inline]
pub fn mul(out: &mut [u64], a: &[u64], b: &[u64]) {
    Multiplier::new().mul(out, a, b);
}
