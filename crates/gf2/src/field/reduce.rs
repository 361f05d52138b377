//! Reducers for any sparse modulus, over words: folding, and rounds of (I + U)⁻¹.
//!
//! Both are exact for every modulus and every length, and their time does not depend on the bits. Folding takes less work over
//! many words, rounds take less within one (`docs/reduction.md`). [`SparseModulus::reduce`] chooses.

use super::modulus::SparseModulus;
use super::word::Word;
use candor_cpu::secret;

impl SparseModulus<'_> {
    /// Reduces the polynomial in `words`, least significant word first: the remainder ends up in the first
    /// [`words`](Self::words), and the others become zero. Any length will do.
    ///
    /// ```
    /// use candor_gf2::field::SparseModulus;
    /// let modulus = SparseModulus::new(70, &[1, 0]).unwrap(); // x^70 = x + 1
    /// let mut words = [0, 1 << 6, 0];
    /// modulus.reduce(&mut words);
    /// assert_eq!(words, [3, 0, 0]);
    /// ```
    pub fn reduce(&self, words: &mut [u64]) {
        secret::takes("gf2m-sparse/reduce", words);
        if !words.is_empty() {
            fold(self, words.len() * 64 - 1, words);
        }
        let kept = self.words().min(words.len());
        words[kept..].fill(0);
    }

    /// [`reduce`](Self::reduce) by rounds of feedback; `scratch` holds the part above m.
    ///
    /// # Panics
    /// If `scratch` is shorter than `words`.
    pub fn reduce_by_rounds(&self, words: &mut [u64], scratch: &mut [u64]) {
        secret::takes("gf2m-sparse/reduce-by-rounds", words);
        if words.len() * 64 <= self.degree() {
            return;
        }
        let rounds = self.rounds(words.len() * 64 - 1);
        reduce_in(self, rounds, words, &mut scratch[..words.len()]);
        let kept = self.words().min(words.len());
        words[kept..].fill(0);
    }
}

/// Word folding of a polynomial of degree at most `degree`: goes through the words above m from the top and adds each one,
/// shifted, at its taps (López and Dahab's method). Leaves rubbish above the first ⌈m/64⌉ words.
///
/// A word whose taps lead back into itself (Δ < 64) is folded until nothing is left: each pass brings it down by Δ.
#[inline(always)]
pub(crate) fn fold<W: Word>(modulus: &SparseModulus<'_>, degree: usize, words: &mut [W]) {
    let (m, taps, gap) = (modulus.degree(), modulus.taps(), modulus.gap());
    if degree < m {
        return;
    }
    let (last, rest, top) = (m / 64, m % 64, degree / 64);
    let whole = if rest == 0 { last } else { last + 1 };
    for i in (whole..top + 1).rev() {
        let bits = if i == top { degree % 64 + 1 } else { 64 };
        for _ in 0..bits.div_ceil(gap) {
            let word = words[i];
            if gap < 64 {
                words[i] = word.and(0); // bits that are folded back add to zero
            }
            for &tap in taps {
                add_shifted(words, 64 * i - m + tap, word, bits);
            }
        }
    }
    if rest != 0 {
        let bits = if last == top { degree + 1 - m } else { 64 - rest };
        for _ in 0..bits.div_ceil(gap) {
            let word = words[last].shr(rest);
            words[last] = words[last].and((1 << rest) - 1); // keep what is below m
            for &tap in taps {
                add_shifted(words, tap, word, bits);
            }
        }
    }
}

/// `words` += `word`·x^`shift`, where only the low `bits` of `word` can be set.
#[inline(always)]
fn add_shifted<W: Word>(words: &mut [W], shift: usize, word: W, bits: usize) {
    let (i, n) = (shift / 64, shift % 64);
    words[i] = words[i].xor(if n == 0 { word } else { word.shl(n) });
    if n + bits > 64 {
        words[i + 1] = words[i + 1].xor(word.shr(64 - n));
    }
}

/// `rounds` rounds of feedback on the part above m, then one assembly: C = L + x^m·H becomes L + V((I+U)⁻¹H). The answer is right
/// only with at least as many rounds as [`SparseModulus::rounds`] says. Leaves rubbish above the first ⌈m/64⌉ words.
#[inline(always)]
pub(crate) fn reduce_in<W: Word>(modulus: &SparseModulus<'_>, rounds: u32, words: &mut [W], high: &mut [W]) {
    let (m, taps) = (modulus.degree(), modulus.taps());
    let (last, rest) = (m / 64, m % 64);
    let count = words.len() - last;
    let high = &mut high[..count];
    for (i, high) in high.iter_mut().enumerate() {
        *high = shifted_down(&words[last..], i, rest); // H = C div x^m
    }
    for round in 0..rounds {
        // Every shift reads what was there before the round: going up, word i reads itself and those above it.
        for i in 0..count {
            let mut sum = high[i];
            for &tap in taps {
                let shift = (m - tap) << round;
                if i + shift / 64 < count {
                    sum = sum.xor(shifted_down(&high[i..], shift / 64, shift % 64));
                }
            }
            high[i] = sum;
        }
    }
    let kept = modulus.words();
    for (i, high) in high.iter().enumerate() {
        for &tap in taps {
            let (j, n) = (i + tap / 64, tap % 64);
            if j < kept {
                words[j] = words[j].xor(if n == 0 { *high } else { high.shl(n) });
            }
            if n != 0 && j + 1 < kept {
                words[j + 1] = words[j + 1].xor(high.shr(64 - n));
            }
        }
    }
    if rest != 0 {
        words[last] = words[last].and((1 << rest) - 1); // x^t·H modulo x^m
    }
}

/// Word `i` of `words` divided by x^`n`, n < 64.
#[inline(always)]
fn shifted_down<W: Word>(words: &[W], i: usize, n: usize) -> W {
    match words.get(i + 1) {
        _ if n == 0 => words[i],
        None => words[i].shr(n),
        Some(above) => words[i].shr(n).xor(above.shl(64 - n)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether `rounds` rounds of feedback reduce x^`degree` correctly.
    fn rounds_suffice(modulus: &SparseModulus<'_>, rounds: u32, degree: usize) -> bool {
        let mut folded = [1_u64 << degree];
        modulus.reduce(&mut folded);
        let mut fed_back = [1_u64 << degree];
        reduce_in(modulus, rounds, &mut fed_back, &mut [0]);
        folded == fed_back
    }

    #[test]
    fn the_number_of_rounds_is_enough_and_one_fewer_is_not() {
        let mut moduli = 0;
        for m in 2..=10 {
            for set in (1..1_u32 << m).step_by(2) {
                let taps: Vec<usize> = (0..m).rev().filter(|t| set >> t & 1 == 1).collect(); // with a constant term
                let modulus = SparseModulus::constant(m, &taps);
                for degree in m..=2 * m - 2 {
                    let rounds = modulus.rounds(degree);
                    assert!(rounds_suffice(&modulus, rounds, degree), "x^{degree} modulo {modulus} in {rounds}");
                    if let Some(fewer) = rounds.checked_sub(1) {
                        assert!(!rounds_suffice(&modulus, fewer, degree), "x^{degree} modulo {modulus} in {fewer}");
                        moduli += 1;
                    }
                }
            }
        }
        assert!(moduli > 1000);
    }

    #[test]
    fn one_round_is_enough_where_the_gap_is_more_than_half_the_part_above() {
        for (m, tap, one) in [(8, 4, true), (8, 5, false), (9, 5, true), (9, 6, false)] {
            let taps = [tap, 0];
            let modulus = SparseModulus::constant(m, &taps);
            assert_eq!(2 * modulus.gap() > m - 2, one);
            assert_eq!(rounds_suffice(&modulus, 1, 2 * m - 2), one, "{modulus}");
        }
    }
}
