//! Two checksums that do the same, for `benches/checksums.rs` to compare.

/// The sum of all bytes modulo 2^64, byte by byte.
pub fn bytewise(message: &[u8]) -> u64 {
    message.iter().fold(0u64, |sum, &byte| sum.wrapping_add(u64::from(byte)))
}

/// The same, eight lanes at a time.
pub fn in_lanes(message: &[u8]) -> u64 {
    let mut lanes = [0u64; 8];
    let chunks = message.chunks_exact(8);
    let rest = chunks.remainder();
    for chunk in chunks {
        lanes.iter_mut().zip(chunk).for_each(|(lane, &byte)| *lane += u64::from(byte));
    }
    lanes.iter().sum::<u64>().wrapping_add(bytewise(rest))
}
