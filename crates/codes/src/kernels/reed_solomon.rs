//! Shortened Reed–Solomon codes: N symbols, of which the last K are the message; they correct δ = (N − K)/2 errors.
//!
//! A word is a polynomial, symbol i the coefficient of xⁱ. Codewords are the multiples of g(x) = ∏ (x − αʲ) for j = 1 … 2δ. The decoder
//! computes syndromes, solves the key equation without an inversion (the reformulated inversionless algorithm of Berlekamp and Massey by
//! Sarwate and Shanbhag, 2001), and evaluates locator and evaluator at all N positions at once. `docs/hqc.md` has the formulas.
//!
//! The five parameters: N, K, and lanes for 2δ syndromes (S), for the 3δ + 1 coefficients of the key equation (E), and for N
//! symbols (P); how many there are depends on the [`Field`].

use super::lanes::{Field, all_if, mask_of, plus, power, powers, product};

/// The codeword of a message of K symbols.
#[inline(always)]
pub(crate) fn encode<const N: usize, const K: usize, const S: usize, const E: usize, const P: usize>(
    message: &[u8],
    codeword: &mut [u8],
) {
    assert!(message.len() == K && codeword.len() == N);
    let rows = const { Tables::<N, K, S, E, P>::GENERATOR };
    // The remainder of x^(2δ) · m(x) modulo g(x), by long division: lane i is the coefficient of xⁱ.
    let mut remainder = [0; S];
    for symbol in message.iter().rev() {
        let gate = symbol ^ remainder[N - K - 1];
        remainder.copy_within(..N - K - 1, 1);
        remainder[0] = 0;
        for (bit, row) in rows.iter().enumerate() {
            let chosen = mask_of(gate, bit as u32);
            for (remainder, row) in remainder.iter_mut().zip(row) {
                *remainder ^= row & chosen;
            }
        }
    }
    codeword[..N - K].copy_from_slice(&remainder[..N - K]);
    codeword[N - K..].copy_from_slice(message);
}

/// Corrects up to δ errors. With more, some word comes out.
#[inline(always)]
pub(crate) fn correct<const N: usize, const K: usize, const S: usize, const E: usize, const P: usize>(
    field: impl Field,
    word: &mut [u8],
) {
    assert!(word.len() == N);
    let syndromes = syndromes::<N, K, S, E, P>(field, word);
    let solved = solve::<N, K, S, E, P>(field, &syndromes);
    let errors = errors::<N, K, S, E, P>(field, &solved);
    for (symbol, error) in word.iter_mut().zip(errors) {
        *symbol ^= error;
    }
}

/// c(αʲ) for j = 1 … 2δ, by Horner's rule in all lanes at once; zero in the lanes beyond.
#[inline(always)]
fn syndromes<const N: usize, const K: usize, const S: usize, const E: usize, const P: usize>(
    field: impl Field,
    word: &[u8],
) -> [u8; S] {
    let points = const { Tables::<N, K, S, E, P>::SYNDROME_POINTS };
    let mut sums = [0; S];
    for symbol in word.iter().rev() {
        sums = plus(&field.times(&sums, &points), &[*symbol; S]);
    }
    sums[N - K..].fill(0);
    sums
}

/// Solves the key equation: lanes 0 … δ − 1 are the evaluator's coefficients, lanes δ … 2δ the locator's, both times the same constant.
#[inline(always)]
fn solve<const N: usize, const K: usize, const S: usize, const E: usize, const P: usize>(
    field: impl Field,
    syndromes: &[u8; S],
) -> [u8; E] {
    let delta = (N - K) / 2;
    let mut current = [0; E];
    current[..2 * delta].copy_from_slice(&syndromes[..2 * delta]);
    current[3 * delta] = 1;
    let mut other = current;
    let (mut gamma, mut k) = (1u8, 0i8);
    for _ in 0..2 * delta {
        let discrepancy = current[0];
        let mut shifted = [0; E];
        shifted[..E - 1].copy_from_slice(&current[1..]);
        current = field.combine(&shifted, gamma, &other, discrepancy);
        // The lengths change where the discrepancy is not zero and k is not negative.
        let swap = mask_of((discrepancy | discrepancy.wrapping_neg()) & !k.cast_unsigned(), 7);
        for (other, shifted) in other.iter_mut().zip(shifted) {
            *other ^= (*other ^ shifted) & swap;
        }
        gamma ^= (gamma ^ discrepancy) & swap;
        // −k − 1 is the complement of k.
        k = (k + 1) ^ (((k + 1) ^ !k) & swap.cast_signed());
    }
    current
}

/// The error at each of the N positions (Forney), zero where the locator is not.
#[inline(always)]
fn errors<const N: usize, const K: usize, const S: usize, const E: usize, const P: usize>(
    field: impl Field,
    solved: &[u8; E],
) -> [u8; P] {
    let delta = (N - K) / 2;
    let (points, squares, scale) = const {
        let tables = Tables::<N, K, S, E, P>::POSITIONS;
        (tables[0], tables[1], tables[2])
    };
    let (evaluator, locator) = (&solved[..delta], &solved[delta..2 * delta + 1]);
    let mut value = [0; P];
    for coefficient in evaluator.iter().rev() {
        value = plus(&field.times(&value, &points), &[*coefficient; P]);
    }
    // Even and odd coefficients apart: the odd part, times x, is x times the locator's derivative.
    let (mut even, mut odd) = ([0; P], [0; P]);
    for i in (0..=delta / 2).rev() {
        even = plus(&field.times(&even, &squares), &[locator[2 * i]; P]);
        // The last odd coefficient may lie beyond the degree.
        let coefficient = if 2 * i < delta { locator[2 * i + 1] } else { 0 };
        odd = plus(&field.times(&odd, &squares), &[coefficient; P]);
    }
    let odd = field.times(&odd, &points);
    let found = plus(&even, &odd);
    let mut errors = field.times(&field.times(&value, &scale), &field.inverse(&odd));
    for (error, found) in errors.iter_mut().zip(found) {
        *error &= !all_if(found | found.wrapping_neg(), 7);
    }
    errors
}

/// What is known before there is a word.
struct Tables<const N: usize, const K: usize, const S: usize, const E: usize, const P: usize>;

impl<const N: usize, const K: usize, const S: usize, const E: usize, const P: usize> Tables<N, K, S, E, P> {
    /// αʲ for j = 1 … 2δ.
    const SYNDROME_POINTS: [u8; S] = powers(1, 1, N - K);
    /// For each position i: x = α⁻ⁱ, x², and x^(2δ + 1).
    const POSITIONS: [[u8; P]; 3] = [powers(-1, 0, N), powers(-2, 0, N), powers(-((N - K) as i32 + 1), 0, N)];
    /// The generator's coefficients below x^(2δ), times x^b for each bit b.
    const GENERATOR: [[u8; S]; 8] = {
        assert!((N - K).is_multiple_of(2) && N - K <= S && 3 * (N - K) / 2 < E && N <= P);
        let mut generator = [0; S];
        generator[0] = 1;
        // Lane 2δ would be the leading 1, which S = 2δ leaves no room for.
        let mut root = 1;
        let mut degree = 0;
        while root <= N - K {
            // (x − αʲ) · generator, from the highest coefficient down.
            let mut i = if degree + 1 < S { degree + 1 } else { S - 1 };
            while i > 0 {
                generator[i] = generator[i - 1] ^ product(generator[i], power(root as i32));
                i -= 1;
            }
            generator[0] = product(generator[0], power(root as i32));
            degree += 1;
            root += 1;
        }
        let mut rows = [[0; S]; 8];
        let mut bit = 0;
        while bit < 8 {
            let mut i = 0;
            while i < N - K {
                rows[bit][i] = product(generator[i], 1 << bit);
                i += 1;
            }
            bit += 1;
        }
        rows
    };
}
