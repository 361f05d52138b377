//! The first-order Reed–Muller code RM(1, 7): 8 bits as 128, each codeword repeated.
//!
//! Decoding adds up the copies bit by bit and takes the Hadamard transform of the 128 sums: 2ᵛ affine functions are compared with what came
//! at once. The largest coefficient in absolute value names the nearest codeword; among equals it is the first, as in the reference.

/// The codeword of a symbol: bit 7 complements everything, the others are the coefficients of a linear function of the position.
#[inline(always)]
pub(crate) fn encode(symbol: u8) -> [u64; 2] {
    const LINEAR: [u64; 6] = [
        0xaaaaaaaaaaaaaaaa,
        0xcccccccccccccccc,
        0xf0f0f0f0f0f0f0f0,
        0xff00ff00ff00ff00,
        0xffff0000ffff0000,
        0xffffffff00000000,
    ];
    let all_if = |bit: u32| 0u64.wrapping_sub(u64::from(symbol >> bit & 1));
    let mut low = all_if(7);
    for (bit, linear) in LINEAR.iter().enumerate() {
        low ^= linear & all_if(bit as u32);
    }
    [low, low ^ all_if(6)]
}

/// Decodes words of `W` = 2 · copies words each.
#[inline(always)]
pub(crate) fn decode<const W: usize>(words: &[u64], symbols: &mut [u8]) {
    let (blocks, rest) = words.as_chunks::<W>();
    assert!(blocks.len() == symbols.len() && rest.is_empty());
    for (symbol, block) in symbols.iter_mut().zip(blocks) {
        *symbol = nearest(block);
    }
}

/// How many of the copies have each bit set, as three binary digits of 128 bits.
#[inline(always)]
pub(crate) fn sums<const W: usize>(block: &[u64; W]) -> [[u64; 2]; 3] {
    let mut digits = [[0; 2]; 3];
    for copy in block.as_chunks::<2>().0 {
        for half in 0..2 {
            let mut carry = copy[half];
            for digit in &mut digits {
                let sum = digit[half] ^ carry;
                carry &= digit[half];
                digit[half] = sum;
            }
        }
    }
    digits
}

#[inline(always)]
fn nearest<const W: usize>(block: &[u64; W]) -> u8 {
    let digits = sums(block);
    let mut values = [0i16; 128];
    for (i, value) in values.iter_mut().enumerate() {
        let bit = |digit: &[u64; 2]| (digit[i / 64] >> (i % 64) & 1) as i16;
        *value = bit(&digits[0]) + 2 * bit(&digits[1]) + 4 * bit(&digits[2]);
    }
    for pass in 0..7 {
        let distance = 1 << pass;
        for at in (0..128).step_by(2 * distance) {
            for i in at..at + distance {
                let (a, b) = (values[i], values[i + distance]);
                (values[i], values[i + distance]) = (a + b, a - b);
            }
        }
    }
    // Bits as ±1 would have been half of this sum higher; all other coefficients are the same either way.
    values[0] -= 64 * (W as i16 / 2);
    peak(&values)
}

/// The symbol of the largest coefficient in absolute value, of the first among equals.
///
/// All coefficients are even or all are odd, so that half of one, rounded down, orders as it does; it fits above an index and a sign in 16 bits.
#[inline(always)]
fn peak(values: &[i16; 128]) -> u8 {
    let mut best = 0u16;
    for (i, value) in values.iter().enumerate() {
        let negative = *value >> 15;
        let size = ((value ^ negative) - negative).cast_unsigned() >> 1;
        let key = size << 8 | (127 - i as u16) << 1 | (!negative).cast_unsigned() & 1;
        best = best.max(key);
    }
    // A coefficient that is not negative belongs to the complemented codeword.
    (127 - (best >> 1 & 127) as u8) | (best as u8 & 1) << 7
}
