//! Small fields, m ≤ 16, many products at a time. Elements take two bytes each, as HQC and Classic McEliece store them.
//!
//! Products are computed in slots of 32 bits. Of two words of two slots each, (a₀ + a₁·x³²)(b₀ + b₁·x³²), one carry-less multiplication
//! gives a₀b₀ in the lowest slot and a₁b₁ in the third; the sum in the second slot is ignored. The reduction runs within
//! the slots, by rounds of feedback; bits shifted past a slot's edge drop out.

#[cfg(target_arch = "x86_64")]
use super::low::x86_64_packed::{avx512, clmul, vpclmul};
use super::modulus::{Modulus, SparseModulus};
use super::word::Word;
use crate::arm::Arm;
use candor_cpu::arms::Routine;
use candor_cpu::{Cpu, secret};
use core::marker::PhantomData;

/// Products of many elements of a field with m ≤ 16.
///
/// ```
/// use candor_gf2::field::{McEliece12, Packed};
/// let field = Packed::<McEliece12>::new();
/// let mut products = [0; 3];
/// field.mul_many(&[1, 2, 1 << 11], &[7, 7, 2], &mut products);
/// assert_eq!(products, [7, 14, 0b1001]); // x^12 = x^3 + 1
/// ```
#[derive(Clone, Copy)]
pub struct Packed<M> {
    arm: Arm,
    modulus: PhantomData<M>,
}

impl<M: Modulus> Packed<M> {
    /// The field on the best arm of [`Cpu::default`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_cpu(Cpu::default())
    }

    /// The field on the best arm that `cpu` allows.
    #[must_use]
    pub fn with_cpu(cpu: Cpu) -> Self {
        const { assert!(M::MODULUS.degree() <= 16, "a packed element has 16 bits") };
        Self { arm: Arm::choose(cpu, Routine::Gf2Field), modulus: PhantomData }
    }

    /// The arm that multiplies: `avx512`, `vpclmul`, `clmul` or `portable`.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        match self.arm {
            #[cfg(target_arch = "x86_64")]
            Arm::Avx512(_) | Arm::Vpclmul(_) | Arm::Clmul(_) => self.arm.name(),
            _ => "portable",
        }
    }

    /// out\[i\] = a\[i\]·b\[i\]. The factors must be reduced, or the products are meaningless elements.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn mul_many(&self, a: &[u16], b: &[u16], out: &mut [u16]) {
        assert!(a.len() == b.len() && a.len() == out.len(), "factors and products must be equally many");
        secret::ran("gf2m-packed", self.arm());
        match self.arm {
            #[cfg(target_arch = "x86_64")]
            Arm::Avx512(token) => avx512::<M>(token, a, b, out),
            #[cfg(target_arch = "x86_64")]
            Arm::Vpclmul(token) => vpclmul::<M>(token, a, b, out),
            #[cfg(target_arch = "x86_64")]
            Arm::Clmul(token) => clmul::<M>(token, a, b, out),
            // By the compiler's vectors.
            _ => portable::<M>(a, b, out),
        }
    }
}

impl<M: Modulus> Default for Packed<M> {
    fn default() -> Self {
        Self::new()
    }
}

/// Reduces a slot (or a vector of slots) that holds a product of two reduced elements, m ≤ 16.
#[inline(always)]
pub(super) fn reduce_slot<W: Word>(modulus: &SparseModulus<'_>, product: W) -> W {
    let (m, taps) = (modulus.degree(), modulus.taps());
    let high = (m - 1).saturating_sub(1); // the degree of the part above m
    let mut h = product.shr(m);
    for round in 0..modulus.rounds(2 * m - 2) {
        let before = h;
        for &tap in taps {
            let shift = (m - tap) << round;
            if shift <= high {
                h = h.xor(before.shr(shift)); // every shift reads what was there before the round
            }
        }
    }
    let mut sum = product;
    for &tap in taps {
        sum = sum.xor(if tap == 0 { h } else { h.shl(tap) });
    }
    sum.and((1 << m) - 1) // keep what is below m
}

/// The same product bit by bit, which compilers can vectorise for any CPU.
#[inline(never)]
fn portable<M: Modulus>(a: &[u16], b: &[u16], out: &mut [u16]) {
    for ((a, b), out) in a.iter().zip(b).zip(out) {
        *out = one::<M>(*a, *b);
    }
}

/// One product, without special instructions.
#[inline(always)]
pub(super) fn one<M: Modulus>(a: u16, b: u16) -> u16 {
    let (a, b) = (u32::from(a), u32::from(b));
    let mut product = 0;
    for i in 0..M::MODULUS.degree() {
        product ^= (a << i) & 0u32.wrapping_sub(b >> i & 1);
    }
    reduce_slot(&M::MODULUS, Slot(product)).0 as u16
}

/// One slot.
#[derive(Clone, Copy)]
pub(super) struct Slot(pub(super) u32);

impl Word for Slot {
    #[inline(always)]
    fn xor(self, other: Self) -> Self {
        Self(self.0 ^ other.0)
    }

    #[inline(always)]
    fn and(self, mask: u64) -> Self {
        Self(self.0 & mask as u32)
    }

    #[inline(always)]
    fn shl(self, n: usize) -> Self {
        Self(self.0 << n)
    }

    #[inline(always)]
    fn shr(self, n: usize) -> Self {
        Self(self.0 >> n)
    }
}
