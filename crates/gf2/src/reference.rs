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

/// Words that look random and are the same in every run (SplitMix64 of the seed).
pub(crate) fn words(seed: u64, n: usize) -> Vec<u64> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e3779b97f4a7c15);
        let mut z = state;
        z = (z ^ z >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
        z = (z ^ z >> 27).wrapping_mul(0x94d049bb133111eb);
        z ^ z >> 31
    };
    (0..n).map(|_| next()).collect()
}
