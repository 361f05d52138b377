//! HMAC (RFC 2104) of hashes whose blocks `hmac::Hmac` does not see: SHA-3 and BLAKE2b.
//!
//! Crate `hmac` has `SimpleHmac` for them, which keeps the padded key in an array that nothing wipes. Here the key goes into two hashes at once, and those wipe
//! themselves.

use alloc::vec;
use digest::common::{Key, KeySizeUser};
use digest::{
    Digest, FixedOutput, InvalidLength, KeyInit, MacMarker, Output, OutputSizeUser, Update, block_api::BlockSizeUser,
};
use zeroize::Zeroizing;

const IPAD: u8 = 0x36;
const OPAD: u8 = 0x5c;

/// HMAC with the hash `D`, of which nothing but the two hashes is kept.
#[derive(Clone)]
pub struct WipedHmac<D> {
    inner: D,
    outer: D,
}

impl<D: Digest + BlockSizeUser> KeySizeUser for WipedHmac<D> {
    type KeySize = D::BlockSize;
}

impl<D: Digest + BlockSizeUser> KeyInit for WipedHmac<D> {
    fn new(key: &Key<Self>) -> Self {
        Self::keyed(key)
    }

    fn new_from_slice(key: &[u8]) -> Result<Self, InvalidLength> {
        Ok(Self::keyed(key))
    }
}

impl<D: Digest + BlockSizeUser> WipedHmac<D> {
    fn keyed(key: &[u8]) -> Self {
        let mut block = Zeroizing::new(vec![0; D::block_size()]);
        if key.len() <= block.len() {
            block[..key.len()].copy_from_slice(key);
        } else {
            // No hash here is longer than its blocks.
            block[..<D as Digest>::output_size()].copy_from_slice(&D::digest(key));
        }
        let mut of = |pad: u8| {
            block.iter_mut().for_each(|byte| *byte ^= pad);
            D::new_with_prefix(&*block)
        };
        Self { inner: of(IPAD), outer: of(IPAD ^ OPAD) }
    }
}

impl<D: Digest + BlockSizeUser> Update for WipedHmac<D> {
    fn update(&mut self, data: &[u8]) {
        self.inner.update(data);
    }
}

impl<D: Digest + BlockSizeUser> OutputSizeUser for WipedHmac<D> {
    type OutputSize = D::OutputSize;
}

impl<D: Digest + BlockSizeUser> FixedOutput for WipedHmac<D> {
    fn finalize_into(mut self, out: &mut Output<Self>) {
        self.outer.update(self.inner.finalize());
        Digest::finalize_into(self.outer, out);
    }
}

impl<D: Digest + BlockSizeUser> MacMarker for WipedHmac<D> {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hash::{Blake2b512, Sha3_256, Sha3_512};
    use hmac::{Mac, SimpleHmac};
    use std::vec::Vec;

    fn agrees<D: Digest + BlockSizeUser>() {
        for key in [0, 1, D::block_size() - 1, D::block_size(), D::block_size() + 1, 300] {
            let key: Vec<u8> = (0..key).map(|at| at as u8).collect();
            let ours = WipedHmac::<D>::new_from_slice(&key).unwrap().chain_update(b"a message").finalize();
            let theirs = SimpleHmac::<D>::new_from_slice(&key).unwrap().chain_update(b"a message").finalize();
            assert!(ours.into_bytes() == theirs.into_bytes(), "a key of {} bytes", key.len());
        }
    }

    #[test]
    fn codes_are_those_of_crate_hmac_for_keys_around_a_block() {
        agrees::<Sha3_256>();
        agrees::<Sha3_512>();
        agrees::<Blake2b512>();
    }
}
