//! HMAC and HKDF with SHA-256 (RFC 2104, RFC 5869) in the form that handshakes use: inputs in pieces. The algorithms
//! are those of `candor_primitives`.

use candor_primitives::kdf::HkdfSha256;
use candor_primitives::mac::{HmacSha256, KeyInit, Mac};
use digest::FixedOutput;
use zeroize::Zeroizing;

/// Length of SHA-256's output in bytes.
const HASH: usize = 32;

/// Most bytes that HKDF-Expand gives (RFC 5869 §2.3).
pub(super) const MOST: usize = 255 * HASH;

/// HMAC-SHA256 of the concatenated parts. With `key` as the salt and the parts as the input keying material it is also
/// HKDF-Extract (RFC 5869 §2.2).
#[inline]
pub(super) fn hmac(key: &[u8], parts: &[&[u8]]) -> Zeroizing<[u8; HASH]> {
    let mut mac = HmacSha256::new_from_slice(key).expect("HMAC takes keys of every length");
    parts.iter().for_each(|part| Mac::update(&mut mac, part));
    let mut out = Zeroizing::new([0; HASH]);
    mac.finalize_into((&mut *out).into());
    out
}

/// HKDF-Expand(prk, info, out.len()), RFC 5869 §2.3, with the info in pieces. `out` is at most [`MOST`] bytes long.
pub(super) fn expand(prk: &[u8; HASH], info: &[&[u8]], out: &mut [u8]) {
    let hkdf = HkdfSha256::from_prk(prk).expect("a hash is long enough for a key");
    hkdf.expand_multi_info(info, out).expect("the callers check the length");
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5869 appendix A.1, in pieces.
    #[test]
    fn pieces_are_the_whole() {
        let salt: Vec<u8> = (0..=0x0c).collect();
        let info: Vec<u8> = (0xf0..=0xf9).collect();
        let prk = hmac(&salt, &[&[0x0b; 11], &[0x0b; 11]]);
        assert_eq!(prk[..4], [0x07, 0x77, 0x09, 0x36]);
        let mut okm = [0; 42];
        expand(&prk, &[&info[..3], &info[3..]], &mut okm);
        assert_eq!(okm[..8], [0x3c, 0xb2, 0x5f, 0x25, 0xfa, 0xac, 0xd5, 0x7a]);
        assert_eq!(okm[32..], [0x34, 0x00, 0x72, 0x08, 0xd5, 0xb8, 0x87, 0x18, 0x58, 0x65]);
        expand(&prk, &[], &mut [0; MOST]);
    }
}
