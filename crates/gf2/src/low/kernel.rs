//! The contract that every arm implements, and the safe way to call it.

use crate::low::memory;
use crate::plan::toom3_words;

/// The most words for which an arm may have a product of its own.
pub(crate) const LEAVES: usize = 32;

/// `out[..2n] = a[..n] · b[..n]` for the function's own n.
pub(crate) type Leaf = unsafe fn(out: *mut u64, a: *const u64, b: *const u64);

/// `count` products of the function's own n, one after another in memory.
pub(crate) type Batch = unsafe fn(out: *mut u64, a: *const u64, b: *const u64, count: usize);

/// What one arm offers. The functions are sound only on a CPU that has the arm's instructions, so a `Kernel` is handed out
/// against a proof token, and the methods below check every length.
pub(crate) struct Kernel {
    /// The arm's name.
    pub(crate) arm: &'static str,
    /// Products of equal lengths of 1, 2, … words, up to the longest that the arm has.
    leaves: &'static [Leaf],
    /// The same for batches.
    batches: &'static [Batch],
    /// `out[..=n] ^= a[..n] · b`.
    row: unsafe fn(out: *mut u64, a: *const u64, n: usize, b: u64),
    /// `out[..2n] = a[..n]²`.
    square: unsafe fn(out: *mut u64, a: *const u64, n: usize),
    /// The linear parts of the schemes, compiled for the arm's vectors.
    memory: memory::Table,
}

impl Kernel {
    /// # Safety
    /// `leaves[i]` and `batches[i]` read i+1 words of each factor and write 2(i+1) words; the other functions access what
    /// their fields' documentation says. The value must be handed out only where the functions' instructions exist.
    pub(super) const unsafe fn new(
        arm: &'static str,
        leaves: &'static [Leaf],
        batches: &'static [Batch],
        row: unsafe fn(*mut u64, *const u64, usize, u64),
        square: unsafe fn(*mut u64, *const u64, usize),
        memory: memory::Table,
    ) -> Self {
        assert!(leaves.len() == batches.len() && leaves.len() <= LEAVES && !leaves.is_empty());
        Self { arm, leaves, batches, row, square, memory }
    }

    /// The most words for which this arm has a leaf; every length from 1 up to it has one.
    #[inline(always)]
    pub(crate) fn leaf_words(&self) -> usize {
        self.leaves.len()
    }

    /// `out = a · b`, if there is a leaf for this length and the lengths match.
    #[inline(always)]
    pub(crate) fn leaf(&self, out: &mut [u64], a: &[u64], b: &[u64]) -> bool {
        let n = a.len();
        if b.len() != n || out.len() != 2 * n {
            return false;
        }
        let Some(leaf) = self.leaves.get(n.wrapping_sub(1)) else { return false };
        // SAFETY: leaf n reads n words of each factor and writes 2n; that many are there.
        unsafe { leaf(out.as_mut_ptr(), a.as_ptr(), b.as_ptr()) };
        true
    }

    /// `out[i] = a[i] · b[i]` for all i, if there is a leaf for N words.
    #[inline]
    pub(crate) fn batch<const N: usize>(&self, out: &mut [[[u64; N]; 2]], a: &[[u64; N]], b: &[[u64; N]]) -> bool {
        let Some(batch) = self.batches.get(N.wrapping_sub(1)) else { return false };
        let count = a.len();
        assert!(b.len() == count && out.len() == count, "as many products as pairs of factors");
        // SAFETY: arrays of arrays are contiguous: count·N words of each factor and count·2N of room.
        unsafe { batch(out.as_mut_ptr().cast(), a.as_ptr().cast(), b.as_ptr().cast(), count) };
        true
    }

    /// `out ^= a · b` for one word b; `out` is one word longer than `a`.
    #[inline]
    pub(crate) fn row(&self, out: &mut [u64], a: &[u64], b: u64) {
        assert!(out.len() == a.len() + 1);
        // SAFETY: the lengths are what `row` asks for.
        unsafe { (self.row)(out.as_mut_ptr(), a.as_ptr(), a.len(), b) }
    }

    /// `out = a²`; `out` is twice as long as `a`.
    #[inline]
    pub(crate) fn square(&self, out: &mut [u64], a: &[u64]) {
        assert!(out.len() == 2 * a.len());
        // SAFETY: the lengths are what `square` asks for.
        unsafe { (self.square)(out.as_mut_ptr(), a.as_ptr(), a.len()) }
    }

    /// `out = x ^ y`.
    #[inline]
    pub(crate) fn add(&self, out: &mut [u64], x: &[u64], y: &[u64]) {
        assert!(x.len() == out.len() && y.len() == out.len());
        // SAFETY: all three have `out.len()` words, and `out` is borrowed alone.
        unsafe { (self.memory.add)(out.as_mut_ptr(), x.as_ptr(), y.as_ptr(), out.len()) }
    }

    /// `out ^= x`.
    #[inline]
    pub(crate) fn add_into(&self, out: &mut [u64], x: &[u64]) {
        assert!(x.len() == out.len());
        // SAFETY: both have `out.len()` words, and `out` is borrowed alone.
        unsafe { (self.memory.add)(out.as_mut_ptr(), out.as_ptr(), x.as_ptr(), out.len()) }
    }

    /// `out = x ^ y ^ z`.
    #[inline]
    pub(crate) fn add3(&self, out: &mut [u64], x: &[u64], y: &[u64], z: &[u64]) {
        assert!(x.len() == out.len() && y.len() == out.len() && z.len() == out.len());
        // SAFETY: all four have `out.len()` words, and `out` is borrowed alone.
        unsafe { (self.memory.add3)(out.as_mut_ptr(), x.as_ptr(), y.as_ptr(), z.as_ptr(), out.len()) }
    }

    /// `out ^= x ^ y`.
    #[inline]
    pub(crate) fn add2_into(&self, out: &mut [u64], x: &[u64], y: &[u64]) {
        assert!(x.len() == out.len() && y.len() == out.len());
        // SAFETY: all three have `out.len()` words, and `out` is borrowed alone.
        unsafe { (self.memory.add3)(out.as_mut_ptr(), out.as_ptr(), x.as_ptr(), y.as_ptr(), out.len()) }
    }

    /// The last step of Karatsuba with two parts of h and r ≤ h words: `out` holds the products of the lower (2h) and the upper
    /// parts (2r), `middle` that of the sums (2h); afterwards `out` holds the whole.
    #[inline]
    pub(crate) fn karatsuba2_join(&self, out: &mut [u64], middle: &[u64]) {
        let h = middle.len() / 2;
        let r = (out.len() / 2).wrapping_sub(h);
        assert!(middle.len() == 2 * h && out.len() == 2 * (h + r) && r <= h);
        // SAFETY: h and r describe the buffers as the function wants them, and `out` is borrowed alone.
        unsafe { (self.memory.karatsuba2_join)(out.as_mut_ptr(), middle.as_ptr(), h, r) }
    }

    /// The last step of Karatsuba with parts of k, k and r ≤ k words: `out` holds the products of the parts (2k, 2k, 2r), `cross`
    /// those of the sums of parts 0 and 1, 0 and 2, 1 and 2 (2k each); afterwards `out` holds the whole.
    #[inline]
    pub(crate) fn karatsuba3_join(&self, out: &mut [u64], cross: &[u64]) {
        let k = cross.len() / 6;
        let r = (out.len() / 2).wrapping_sub(2 * k);
        assert!(cross.len() == 6 * k && out.len() == 2 * (2 * k + r) && r <= k);
        // SAFETY: k and r describe the buffers as the function wants them, and `out` is borrowed alone.
        unsafe { (self.memory.karatsuba3_join)(out.as_mut_ptr(), cross.as_ptr(), k, r) }
    }

    /// Toom-Cook's value at X of a factor cut into parts of `k` words, the last possibly shorter. `out` is as long as `plan::toom3_words` says.
    #[inline]
    pub(crate) fn toom3_at_x(&self, out: &mut [u64], u: &[u64], k: usize) {
        let n = u.len();
        assert!(2 * k < n && n <= 3 * k && out.len() == toom3_words(n, k));
        // SAFETY: the lengths are what the function asks for, and `out` is borrowed alone.
        unsafe { (self.memory.toom3_at_x)(out.as_mut_ptr(), u.as_ptr(), n, k) }
    }

    /// Toom-Cook's interpolation with parts of k, k and r ≤ k words: `out` holds c₀ (2k) and, from word 4k, c₄ (2r), the others the values
    /// at 1 (2k words), X and X + 1. Afterwards `at_1` holds c₁, `at_x` c₃ (2k words each), and c₂ stands in `out` from word 2k.
    #[inline]
    pub(crate) fn toom3_interpolate(&self, out: &mut [u64], at_1: &mut [u64], at_x: &mut [u64], at_x1: &mut [u64]) {
        let k = at_1.len() / 2;
        let r = (out.len() / 2).wrapping_sub(2 * k);
        assert!(at_1.len() == 2 * k && out.len() == 2 * (2 * k + r) && 1 <= r && r <= k);
        assert!(at_x.len() >= 2 * k + 2 && at_x1.len() >= 2 * k + 2);
        let values = [at_1.as_mut_ptr(), at_x.as_mut_ptr(), at_x1.as_mut_ptr()];
        // SAFETY: k and r describe the buffers as the function wants them, and all four are borrowed alone.
        unsafe { (self.memory.toom3_interpolate)(out.as_mut_ptr(), values, k, r) }
    }
}

/// A leaf and its batch on vectors of one lane, compiled with the given features. `mul` takes and returns lanes; `load` and `store` move
/// lane i of n words.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! lane_leaf {
    ($features:literal, $leaf:ident, $batch:ident, $n:literal, $mul:expr, $load:path, $store:path) => {
        /// # Safety
        /// The features exist; `a` and `b` point to n words each, `out` to 2n, for the n in the name.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn $leaf(out: *mut u64, a: *const u64, b: *const u64) {
            const LANES: usize = usize::div_ceil($n, 2);
            // SAFETY: the caller's promise; lane i < LANES begins below word n, and only the lanes that have words are stored.
            unsafe {
                let mut lanes = [[$load(a, $n, 0); LANES], [$load(b, $n, 0); LANES]];
                let mut i = 1;
                while i < LANES {
                    lanes[0][i] = $load(a, $n, i);
                    lanes[1][i] = $load(b, $n, i);
                    i += 1;
                }
                let product: [_; 2 * LANES] = $mul(lanes[0], lanes[1]);
                for (i, lane) in product.into_iter().take($n).enumerate() {
                    $store(out, 2 * $n, i, lane);
                }
            }
        }
        $crate::low::kernel::batch!($features, $batch, $leaf, $n);
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use lane_leaf;

/// The batch of a leaf, with the leaf inlined into the loop.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! batch {
    ($features:literal, $batch:ident, $leaf:ident, $n:literal) => {
        /// # Safety
        /// As the leaf, `count` times in a row.
        #[target_feature(enable = $features)]
        unsafe fn $batch(out: *mut u64, a: *const u64, b: *const u64, count: usize) {
            for i in 0..count {
                // SAFETY: the caller's promise for the i-th of count.
                unsafe { $leaf(out.add(2 * $n * i), a.add($n * i), b.add($n * i)) }
            }
        }
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use batch;

/// The leaves for 17 to 32 words from the arm's `mul24` and `mul32`, which take the number of words. The full lengths load and
/// store whole vectors; the others share one function for each of the two sizes. Then the tables of all 32.
#[cfg(target_arch = "x86_64")]
macro_rules! long_leaves {
    ($features:literal) => {
        /// # Safety
        /// As `mul24`.
        #[target_feature(enable = $features)]
        unsafe fn cut24(out: *mut u64, a: *const u64, b: *const u64, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { mul24(out, a, b, n) }
        }
        /// # Safety
        /// As `mul32`.
        #[target_feature(enable = $features)]
        unsafe fn cut32(out: *mut u64, a: *const u64, b: *const u64, n: usize) {
            // SAFETY: the caller's promise.
            unsafe { mul32(out, a, b, n) }
        }
        $crate::low::kernel::long_leaves! { $features,
            cut24: leaf17 batch17 17, leaf18 batch18 18, leaf19 batch19 19, leaf20 batch20 20, leaf21 batch21 21, leaf22 batch22 22,
                leaf23 batch23 23;
            mul24: leaf24 batch24 24;
            cut32: leaf25 batch25 25, leaf26 batch26 26, leaf27 batch27 27, leaf28 batch28 28, leaf29 batch29 29, leaf30 batch30 30,
                leaf31 batch31 31;
            mul32: leaf32 batch32 32;
        }
        const LEAVES: [$crate::low::kernel::Leaf; 32] = [
            leaf1, leaf2, leaf3, leaf4, leaf5, leaf6, leaf7, leaf8, leaf9, leaf10, leaf11, leaf12, leaf13, leaf14, leaf15, leaf16,
            leaf17, leaf18, leaf19, leaf20, leaf21, leaf22, leaf23, leaf24, leaf25, leaf26, leaf27, leaf28, leaf29, leaf30, leaf31,
            leaf32,
        ];
        const BATCHES: [$crate::low::kernel::Batch; 32] = [
            batch1, batch2, batch3, batch4, batch5, batch6, batch7, batch8, batch9, batch10, batch11, batch12, batch13, batch14,
            batch15, batch16, batch17, batch18, batch19, batch20, batch21, batch22, batch23, batch24, batch25, batch26, batch27,
            batch28, batch29, batch30, batch31, batch32,
        ];
    };
    ($features:literal, $($of:ident: $($leaf:ident $batch:ident $n:literal),*;)*) => {$($(
        /// # Safety
        /// The features exist; `a` and `b` point to n words each, `out` to 2n, for the n in the name.
        #[inline]
        #[target_feature(enable = $features)]
        unsafe fn $leaf(out: *mut u64, a: *const u64, b: *const u64) {
            // SAFETY: the caller's promise.
            unsafe { $of(out, a, b, $n) }
        }
        $crate::low::kernel::batch!($features, $batch, $leaf, $n);
    )*)*};
}
#[cfg(target_arch = "x86_64")]
pub(super) use long_leaves;

/// The tables of a kernel whose leaves for 1 to 16 words are in scope under their names.
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
macro_rules! tables_of_16 {
    () => {
        const LEAVES: [$crate::low::kernel::Leaf; 16] = [
            leaf1, leaf2, leaf3, leaf4, leaf5, leaf6, leaf7, leaf8, leaf9, leaf10, leaf11, leaf12, leaf13, leaf14,
            leaf15, leaf16,
        ];
        const BATCHES: [$crate::low::kernel::Batch; 16] = [
            batch1, batch2, batch3, batch4, batch5, batch6, batch7, batch8, batch9, batch10, batch11, batch12, batch13,
            batch14, batch15, batch16,
        ];
    };
}
#[cfg(any(target_arch = "x86_64", target_arch = "aarch64"))]
pub(super) use tables_of_16;
