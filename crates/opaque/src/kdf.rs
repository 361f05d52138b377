//! HMAC and HKDF with SHA-512 (RFC 2104, RFC 5869): inputs in pieces, outputs wiped.

use digest::{FixedOutput, KeyInit, Update};
use hmac::Hmac;
use sha2::Sha512;
use zeroize::Zeroizing;

/// Bytes of SHA-512's output: Nh and Nx of RFC 9807.
pub(crate) const HASH: usize = 64;

/// An output of HMAC or HKDF-Extract, or 64 bytes of HKDF-Expand.
pub(crate) type Key = Zeroizing<[u8; HASH]>;

/// A key that HMAC has taken up: it is used several times and hashed once.
#[derive(Clone)]
pub(crate) struct Prk(Hmac<Sha512>);

impl Prk {
    /// The key of an HMAC, or the pseudorandom key of HKDF-Expand.
    #[inline]
    pub(crate) fn new(key: &[u8]) -> Self {
        Self(Hmac::new_from_slice(key).expect("HMAC takes keys of every length"))
    }

    /// HMAC of the concatenated parts.
    #[inline]
    pub(crate) fn mac(&self, parts: &[&[u8]]) -> Key {
        let mut mac = self.0.clone();
        parts.iter().for_each(|part| mac.update(part));
        finish(mac)
    }

    /// HKDF-Expand, RFC 5869 §2.3, the info in pieces, into an array. `N` is at most 255 · 64, which holds wherever it is called.
    pub(crate) fn expand<const N: usize>(&self, info: &[&[u8]]) -> Zeroizing<[u8; N]> {
        const { assert!(N <= 255 * HASH) }
        let mut out = Zeroizing::new([0; N]);
        let mut previous: Option<Key> = None;
        for (index, chunk) in out.chunks_mut(HASH).enumerate() {
            let mut mac = self.0.clone();
            if let Some(previous) = &previous {
                mac.update(previous.as_slice());
            }
            info.iter().for_each(|part| mac.update(part));
            mac.update(&[index as u8 + 1]);
            let block = finish(mac);
            chunk.copy_from_slice(&block[..chunk.len()]);
            previous = Some(block);
        }
        out
    }
}

/// HKDF-Extract(salt, ikm), RFC 5869 §2.2, the ikm in pieces. No salt is a salt of zeros.
pub(crate) fn extract(salt: &[u8], ikm: &[&[u8]]) -> Prk {
    Prk::new(Prk::new(salt).mac(ikm).as_slice())
}

fn finish(mac: Hmac<Sha512>) -> Key {
    let mut out = Zeroizing::new([0; HASH]);
    mac.finalize_into((&mut *out).into());
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 4231 §4.2, test case 1, HMAC-SHA-512.
    #[test]
    fn rfc_4231_first_test_case() {
        let mac = Prk::new(&[0x0b; 20]).mac(&[b"Hi ", b"There"]);
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
