//! HMAC and HKDF with SHA-512 (RFC 2104, RFC 5869) of `candor-primitives`: inputs in pieces, outputs wiped.

use candor_primitives::hash::digest::{FixedOutput, Update};
use candor_primitives::kdf::HkdfSha512;
use candor_primitives::mac::{HmacSha512, KeyInit};
use zeroize::Zeroizing;

/// Bytes of SHA-512's output: Nh and Nx of RFC 9807.
pub(crate) const HASH: usize = 64;

/// An output of HMAC or HKDF-Extract, or 64 bytes of HKDF-Expand.
pub(crate) type Key = Zeroizing<[u8; HASH]>;

/// An HMAC key, absorbed once and used several times.
#[derive(Clone)]
pub(crate) struct Mac(HmacSha512);

impl Mac {
    #[inline]
    pub(crate) fn new(key: &[u8]) -> Self {
        Self(HmacSha512::new_from_slice(key).expect("HMAC takes keys of every length"))
    }

    /// HMAC of the concatenated parts.
    #[inline]
    pub(crate) fn of(&self, parts: &[&[u8]]) -> Key {
        let mut mac = self.0.clone();
        parts.iter().for_each(|part| Update::update(&mut mac, part));
        let mut out = Zeroizing::new([0; HASH]);
        mac.finalize_into((&mut *out).into());
        out
    }
}

/// A pseudorandom key of HKDF, absorbed once and expanded several times.
pub(crate) struct Prk(HkdfSha512);

impl Prk {
    #[inline]
    pub(crate) fn new(key: &[u8; HASH]) -> Self {
        Self(HkdfSha512::from_prk(key).expect("64 bytes are enough for a key of HKDF-SHA-512"))
    }

    /// HKDF-Expand, RFC 5869 §2.3, the info in pieces, into an array.
    pub(crate) fn expand<const N: usize>(&self, info: &[&[u8]]) -> Zeroizing<[u8; N]> {
        const { assert!(N <= 255 * HASH) }
        let mut out = Zeroizing::new([0; N]);
        self.0.expand_multi_info(info, out.as_mut_slice()).expect("at most 255 blocks");
        out
    }
}

/// HKDF-Extract(salt, ikm), RFC 5869 §2.2, the ikm in pieces. An empty salt is a salt of zeros.
pub(crate) fn extract(salt: &[u8], ikm: &[&[u8]]) -> Prk {
    Prk::new(&Mac::new(salt).of(ikm))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231 §4.2, test case 1, HMAC-SHA-512.
    #[test]
    fn rfc_4231_first_test_case() {
        let mac = Mac::new(&[0x0b; 20]).of(&[b"Hi ", b"There"]);
        assert_eq!(mac[..8], [0x87, 0xaa, 0x7c, 0xde, 0xa5, 0xef, 0x61, 0x9d]);
    }

    #[test]
    fn shorter_output_is_a_prefix_of_longer() {
        let prk = extract(b"salt", &[b"input ", b"key"]);
        let long = prk.expand::<192>(&[b"in", b"fo"]);
        assert_eq!(prk.expand::<32>(&[b"info"])[..], long[..32]);
        assert_eq!(prk.expand::<65>(&[b"info"])[..], long[..65]);
        assert_ne!(prk.expand::<32>(&[b"other"])[..], long[..32]);
    }
}
