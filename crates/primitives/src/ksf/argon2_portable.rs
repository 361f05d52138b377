//! Argon2's compression function in safe Rust (RFC 9106, sections 3.5 and 3.6).

/// `out = G(x, y)`, XORed onto what stood there if `onto`.
#[cfg_attr(target_family = "wasm", inline(never))] // as in `low/wasm32/argon2_simd128.rs`
pub(super) fn fill(x: &[u64; 128], y: &[u64; 128], out: &mut [u64; 128], onto: bool) {
    let mut r = [0u64; 128];
    for ((r, x), y) in r.iter_mut().zip(x).zip(y) {
        *r = x ^ y;
    }
    let mut z = r;
    for row in 0..8 {
        permute(&mut z, |at| 16 * row + at);
    }
    for column in 0..8 {
        permute(&mut z, |at| 16 * (at / 2) + 2 * column + at % 2);
    }
    for ((out, r), z) in out.iter_mut().zip(&r).zip(&z) {
        let sum = r ^ z;
        *out = if onto { *out ^ sum } else { sum };
    }
}

/// P: BLAKE2b's round over the sixteen words that `word` names, with a multiplication in it.
#[inline(always)]
fn permute(z: &mut [u64; 128], word: impl Fn(usize) -> usize) {
    const COLUMNS_THEN_DIAGONALS: [[usize; 4]; 8] = [
        [0, 4, 8, 12],
        [1, 5, 9, 13],
        [2, 6, 10, 14],
        [3, 7, 11, 15],
        [0, 5, 10, 15],
        [1, 6, 11, 12],
        [2, 7, 8, 13],
        [3, 4, 9, 14],
    ];
    let mut v: [u64; 16] = core::array::from_fn(|at| z[word(at)]);
    for [a, b, c, d] in COLUMNS_THEN_DIAGONALS {
        v[a] = add(v[a], v[b]);
        v[d] = (v[d] ^ v[a]).rotate_right(32);
        v[c] = add(v[c], v[d]);
        v[b] = (v[b] ^ v[c]).rotate_right(24);
        v[a] = add(v[a], v[b]);
        v[d] = (v[d] ^ v[a]).rotate_right(16);
        v[c] = add(v[c], v[d]);
        v[b] = (v[b] ^ v[c]).rotate_right(63);
    }
    for (at, v) in v.into_iter().enumerate() {
        z[word(at)] = v;
    }
}

/// x + y + 2·lo(x)·lo(y), the addition that a multiplier must do.
#[inline(always)]
fn add(x: u64, y: u64) -> u64 {
    let product = u64::from(x as u32) * u64::from(y as u32);
    x.wrapping_add(y).wrapping_add(product << 1)
}
