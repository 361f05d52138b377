//! HMAC and HKDF with SHA-256 (RFC 2104, RFC 5869), in the form in which handshakes use them: inputs in pieces, outputs
//! wiped.

use candor_primitives::hash::Sha256;
use digest::{FixedOutput, KeyInit, Update};
use hmac::Hmac;
use zeroize::Zeroizing;

/// Bytes of SHA-256's output.
const HASH: usize = 32;

/// The most that HKDF-Expand gives (RFC 5869 §2.3).
pub(super) const MOST: usize = 255 * HASH;

/// HMAC-SHA256 of the concatenated parts. It is HKDF-Extract too, with `key` as the salt and the parts as the input
/// keying material (RFC 5869 §2.2).
#[inline]
pub(super) fn hmac(key: &[u8], parts: &[&[u8]]) -> Zeroizing<[u8; HASH]> {
    finish(parts.iter().fold(keyed(key), |mac, part| mac.chain(part)))
}

/// HKDF-Expand(prk, info, out.len()), RFC 5869 §2.3, the info in pieces. `out` has at most [`MOST`] bytes.
pub(super) fn expand(prk: &[u8; HASH], info: &[&[u8]], out: &mut [u8]) {
    debug_assert!(out.len() <= MOST, "the callers check");
    let keyed = keyed(prk);
    let mut previous: Option<Zeroizing<[u8; HASH]>> = None;
    for (index, chunk) in out.chunks_mut(HASH).enumerate() {
        let mut mac = keyed.clone();
        if let Some(previous) = &previous {
            mac.update(previous.as_slice());
        }
        info.iter().for_each(|part| mac.update(part));
        mac.update(&[index as u8 + 1]);
        let block = finish(mac);
        chunk.copy_from_slice(&block[..chunk.len()]);
        previous = Some(block);
    }
}

#[inline]
fn keyed(key: &[u8]) -> Hmac<Sha256> {
    Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes keys of every length")
}

#[inline]
fn finish(mac: Hmac<Sha256>) -> Zeroizing<[u8; HASH]> {
    let mut out = Zeroizing::new([0; HASH]);
    mac.finalize_into((&mut *out).into());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5869 appendix A.1.
    #[test]
    fn rfc_5869_first_test_case() {
        let salt: Vec<u8> = (0..=0x0c).collect();
        let info: Vec<u8> = (0xf0..=0xf9).collect();
        let prk = hmac(&salt, &[&[0x0b; 11], &[0x0b; 11]]);
        assert_eq!(prk[..4], [0x07, 0x77, 0x09, 0x36]);
        let mut okm = [0; 42];
        expand(&prk, &[&info[..3], &info[3..]], &mut okm);
        assert_eq!(okm[..8], [0x3c, 0xb2, 0x5f, 0x25, 0xfa, 0xac, 0xd5, 0x7a]);
        assert_eq!(okm[32..], [0x34, 0x00, 0x72, 0x08, 0xd5, 0xb8, 0x87, 0x18, 0x58, 0x65]);
    }

    #[test]
    fn shorter_output_is_a_prefix_of_longer() {
        let mut long = vec![0; MOST];
        expand(&[1; 32], &[b"info"], &mut long);
        for length in [0, 1, 31, 32, 33, 64, 96, MOST] {
            let mut short = vec![0; length];
            expand(&[1; 32], &[b"info"], &mut short);
            assert_eq!(short, long[..length], "{length}");
        }
    }
}
