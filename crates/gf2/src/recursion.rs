//! Carries a plan out: the schemes over an arm's leaves and sums. Lengths are public; nothing here looks at a word.
//!
//! Every function needs an `out` of exactly the right length and at least the scratch that [`Plans`] computes; the callers in this crate
//! cut both to size.

use crate::low::kernel::Kernel;
use crate::plan::{Plans, Scheme, toom3_words};

/// The arm's functions and the table that says how to use them.
#[derive(Clone, Copy)]
pub(crate) struct Recursion<'p> {
    pub(crate) kernel: &'static Kernel,
    pub(crate) plans: &'p Plans,
}

impl Recursion<'_> {
    /// `out = a · b` for factors of the same length.
    pub(crate) fn balanced(self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        let n = a.len();
        debug_assert!(b.len() == n && out.len() == 2 * n);
        match self.plans.scheme(n) {
            Scheme::Leaf => {
                let done = self.kernel.leaf(out, a, b) || n == 0;
                debug_assert!(done, "a table never says `leaf` where the arm has none");
            }
            Scheme::Split { low } => self.split(low, out, a, b, scratch),
            Scheme::Karatsuba2 { low } => self.karatsuba2(low, out, a, b, scratch),
            Scheme::Karatsuba3 { part } => self.karatsuba3(part, out, a, b, scratch),
            Scheme::Toom3 { part } => self.toom3(part, out, a, b, scratch),
        }
    }

    /// `out = a · b` for factors of any lengths: the longer one in blocks as long as the shorter.
    pub(crate) fn unbalanced(self, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        let (long, short) = if a.len() >= b.len() { (a, b) } else { (b, a) };
        let n = short.len();
        if n == long.len() {
            return self.balanced(out, long, short, scratch);
        }
        if n <= 1 {
            out.fill(0);
            if let [word] = short {
                self.kernel.row(out, long, *word);
            }
            return;
        }
        let (product, scratch) = scratch.split_at_mut(2 * n);
        let mut blocks = long.chunks_exact(n);
        let first = blocks.next().expect("the longer factor has at least one block");
        self.balanced(&mut out[..2 * n], first, short, scratch);
        let mut at = n;
        for block in &mut blocks {
            self.balanced(product, block, short, scratch);
            self.append(&mut out[at..at + 2 * n], product, n);
            at += n;
        }
        let rest = blocks.remainder();
        if !rest.is_empty() {
            let product = &mut product[..n + rest.len()];
            self.unbalanced(product, short, rest, scratch);
            self.append(&mut out[at..], product, n);
        }
    }

    /// Adds a block's product where the product before it ends: the first `overlap` words are there already.
    fn append(self, out: &mut [u64], product: &[u64], overlap: usize) {
        let (met, new) = out.split_at_mut(overlap);
        self.kernel.add_into(met, &product[..overlap]);
        new.copy_from_slice(&product[overlap..]);
    }

    fn split(self, low: usize, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        let ((a0, a1), (b0, b1)) = (a.split_at(low), b.split_at(low));
        let r = a1.len();
        self.balanced(&mut out[..2 * low], a0, b0, scratch);
        self.balanced(&mut out[2 * low..], a1, b1, scratch);
        if let ([a1], [b1]) = (a1, b1) {
            self.kernel.row(&mut out[low..2 * low + 1], a0, *b1);
            self.kernel.row(&mut out[low..2 * low + 1], b0, *a1);
            return;
        }
        let (cross, scratch) = scratch.split_at_mut(low + r);
        for (long, short) in [(a0, b1), (b0, a1)] {
            self.unbalanced(cross, long, short, scratch);
            self.kernel.add_into(&mut out[low..2 * low + r], cross);
        }
    }

    fn karatsuba2(self, low: usize, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        let ((a0, a1), (b0, b1)) = (a.split_at(low), b.split_at(low));
        let (middle, scratch) = scratch.split_at_mut(2 * low);
        // The sums stand where the product of the lower parts will.
        let (sum_a, sum_b) = out[..2 * low].split_at_mut(low);
        self.sum(sum_a, a0, a1);
        self.sum(sum_b, b0, b1);
        self.balanced(middle, sum_a, sum_b, scratch);
        let (lo, hi) = out.split_at_mut(2 * low);
        self.balanced(lo, a0, b0, scratch);
        self.balanced(hi, a1, b1, scratch);
        self.kernel.karatsuba2_join(out, middle);
    }

    fn karatsuba3(self, part: usize, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        let (cross, scratch) = scratch.split_at_mut(6 * part);
        let pieces = |x| {
            let (x0, x): (&[u64], &[u64]) = <[u64]>::split_at(x, part);
            let (x1, x2) = x.split_at(part);
            [x0, x1, x2]
        };
        let (a, b) = (pieces(a), pieces(b));
        for (cross, [i, j]) in cross.chunks_exact_mut(2 * part).zip([[0, 1], [0, 2], [1, 2]]) {
            let (sum_a, sum_b) = out[..2 * part].split_at_mut(part);
            self.sum(sum_a, a[i], a[j]);
            self.sum(sum_b, b[i], b[j]);
            self.balanced(cross, sum_a, sum_b, scratch);
        }
        self.balanced(&mut out[..2 * part], a[0], b[0], scratch);
        self.balanced(&mut out[2 * part..4 * part], a[1], b[1], scratch);
        self.balanced(&mut out[4 * part..], a[2], b[2], scratch);
        self.kernel.karatsuba3_join(out, cross);
    }

    /// docs/schemes.md has the mathematics.
    fn toom3(self, part: usize, out: &mut [u64], a: &[u64], b: &[u64], scratch: &mut [u64]) {
        let n = a.len();
        let words = toom3_words(n, part);
        let (at_x, scratch) = scratch.split_at_mut(2 * words);
        let (at_x1, scratch) = scratch.split_at_mut(2 * words);
        let (at_1, scratch) = scratch.split_at_mut(2 * part);
        // The values stand where the product will: there is room for two of them, since words < n.
        let (value_a, value_b) = out[..2 * words].split_at_mut(words);
        self.kernel.toom3_at_x(value_a, a, part);
        self.kernel.toom3_at_x(value_b, b, part);
        self.balanced(at_x, value_a, value_b, scratch);
        let top = n - 2 * part;
        for (value, u) in [(&mut *value_a, a), (&mut *value_b, b)] {
            let (both, rest) = value[..part].split_at_mut(top);
            self.kernel.add2_into(both, &u[part..part + top], &u[2 * part..]);
            self.kernel.add_into(rest, &u[part + top..2 * part]);
        }
        self.balanced(at_x1, value_a, value_b, scratch);
        for (value, u) in [(&mut *value_a, a), (&mut *value_b, b)] {
            let (both, rest) = value[..part].split_at_mut(top);
            self.kernel.add3(both, &u[..top], &u[part..part + top], &u[2 * part..]);
            self.kernel.add(rest, &u[top..part], &u[part + top..2 * part]);
        }
        self.balanced(at_1, &value_a[..part], &value_b[..part], scratch);
        self.balanced(&mut out[..2 * part], &a[..part], &b[..part], scratch);
        self.balanced(&mut out[4 * part..], &a[2 * part..], &b[2 * part..], scratch);
        self.kernel.toom3_interpolate(out, at_1, at_x, at_x1);
        self.kernel.add_into(&mut out[part..3 * part], at_1);
        // c₃ is a product of parts of `part` and `top` words.
        self.kernel.add_into(&mut out[3 * part..4 * part + top], &at_x[..part + top]);
    }

    /// `sum = x + y` for y no longer than x.
    fn sum(self, sum: &mut [u64], x: &[u64], y: &[u64]) {
        let (sum_both, sum_rest) = sum.split_at_mut(y.len());
        self.kernel.add(sum_both, &x[..y.len()], y);
        sum_rest.copy_from_slice(&x[y.len()..]);
    }
}
