//! The schoolbook product, bit by bit: what every test compares with. As plain as can be, and independent of the kernels.

/// a · b, one bit of b at a time.
pub(crate) fn product(a: &[u64], b: &[u64]) -> Vec<u64> {
    let mut out = vec![0; a.len() + b.len()];
    for bit in 0..64 * b.len() {
        if b[bit / 64] >> (bit % 64) & 1 == 1 {
            let (word, shift) = (bit / 64, bit % 64);
            for (i, a) in a.iter().enumerate() {
                out[word + i] ^= a << shift;
                if shift > 0 {
                    out[word + i + 1] ^= a >> (64 - shift);
                }
            }
        }
    }
    out
}

/// Words that look random and are the same in every run.
pub(crate) fn words(seed: u64, n: usize) -> Vec<u64> {
    let mut random = candor_test_support::Random::new(seed);
    (0..n).map(|_| random.word()).collect()
}
