//! The contract's functions over a word product, for the arms without vectors.

/// Defines `LEAVES`, `BATCHES`, `row` and `square` over the [`WordProduct`](crate::word::WordProduct) given.
macro_rules! scalar_kernel {
    ($product:expr) => {
        $crate::low::scalar::scalar_kernel!(@leaf $product, mul1, leaf1, batch1, 1);
        $crate::low::scalar::scalar_kernel!(@leaf $product, mul2, leaf2, batch2, 2);
        $crate::low::scalar::scalar_kernel!(@leaf $product, mul3, leaf3, batch3, 3);
        $crate::low::scalar::scalar_kernel!(@leaf $product, mul4, leaf4, batch4, 4);

        const LEAVES: [$crate::low::kernel::Leaf; 4] = [leaf1, leaf2, leaf3, leaf4];
        const BATCHES: [$crate::low::kernel::Batch; 4] = [batch1, batch2, batch3, batch4];

        /// # Safety
        /// `a` points to n words, `out` to n + 1, and they do not overlap.
        unsafe fn row(out: *mut u64, a: *const u64, n: usize, b: u64) {
            // SAFETY: the caller's promise.
            let (out, a) = unsafe { (core::slice::from_raw_parts_mut(out, n + 1), core::slice::from_raw_parts(a, n)) };
            $crate::word::row($product, out, a, b);
        }

        /// # Safety
        /// `a` points to n words, `out` to 2n, and they do not overlap.
        unsafe fn square(out: *mut u64, a: *const u64, n: usize) {
            // SAFETY: the caller's promise.
            let (out, a) = unsafe { (core::slice::from_raw_parts_mut(out, 2 * n), core::slice::from_raw_parts(a, n)) };
            for (out, a) in out.chunks_exact_mut(2).zip(a) {
                out.copy_from_slice(&$crate::word::halves($crate::word::WordProduct::square($product, *a)));
            }
        }
    };
    (@leaf $product:expr, $mul:ident, $leaf:ident, $batch:ident, $n:literal) => {
        /// # Safety
        /// `a` and `b` point to n words each, `out` to 2n that overlap neither, for the n in the name.
        #[inline]
        unsafe fn $leaf(out: *mut u64, a: *const u64, b: *const u64) {
            // SAFETY: the caller's promise; arrays of u64 have the alignment of u64.
            unsafe { *out.cast::<[u64; 2 * $n]>() = $crate::word::$mul($product, &*a.cast(), &*b.cast()) }
        }

        /// # Safety
        /// As the leaf, `count` times in a row.
        unsafe fn $batch(out: *mut u64, a: *const u64, b: *const u64, count: usize) {
            for i in 0..count {
                // SAFETY: the caller's promise for the i-th of count.
                unsafe { $leaf(out.add(2 * $n * i), a.add($n * i), b.add($n * i)) }
            }
        }
    };
}
pub(super) use scalar_kernel;
