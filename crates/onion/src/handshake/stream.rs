//! AES-256 in counter mode, starting at zero (prop 332 A.1's ENC). Each key encrypts one message.

use aes::Aes256;
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit, StreamCipher};

/// Encrypts or decrypts `message` in place. An empty message skips even the key schedule.
#[inline]
pub(super) fn apply(key: &[u8; 32], message: &mut [u8]) {
    if !message.is_empty() {
        Ctr128BE::<Aes256>::new(key.into(), &[0; 16].into()).apply_keystream(message);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Known answers are in ntor-v3's published vector, which has an encrypted message in each direction.
    #[test]
    fn twice_is_nothing_and_blocks_differ() {
        let mut message = [0; 64];
        apply(&[9; 32], &mut message);
        assert_ne!(message[..16], message[16..32]);
        apply(&[9; 32], &mut message);
        assert_eq!(message, [0; 64]);
    }
}
