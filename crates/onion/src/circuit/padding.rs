//! What fills a relay cell behind its message: four zero bytes, and then random ones (tor-spec, "Relay cells").
//!
//! The tag of a cell depends on all of it. So whoever acknowledges a cell whose padding is random must have received it (prop 289), even
//! if the message was no secret. Full cells have no room for that; every cell that a SENDME acknowledges is therefore kept
//! [`UNPREDICTABLE`] bytes short.

use crate::cell::PAYLOAD;
use aes::Aes128;
use ctr::Ctr128BE;
use ctr::cipher::{KeyIvInit, StreamCipher};
use std::fmt;

/// Zero bytes in front of the random ones. A later protocol may use what follows a message, and an old receiver skips it.
const ZEROS: usize = 4;
/// Unused bytes that a cell needs so that nobody can guess its tag: sixteen of them are random.
pub(super) const UNPREDICTABLE: usize = ZEROS + 16;

/// A source of random bytes: AES-128 in counter mode with a key of the operating system's. Wiped on drop.
pub(super) struct Padding(Option<Ctr128BE<Aes128>>);

impl Padding {
    /// Without randomness from the operating system, which every handshake needs before this, the bytes stay zero.
    pub(super) fn new() -> Self {
        let mut key = zeroize::Zeroizing::new([0; 16]);
        let drawn = getrandom::fill(key.as_mut_slice());
        Self(drawn.is_ok().then(|| Ctr128BE::new((&*key).into(), &[0; 16].into())))
    }

    /// Fills the last `unused` bytes of a payload, which are zero.
    pub(super) fn fill(&mut self, payload: &mut [u8; PAYLOAD], unused: usize) {
        if let (Some(source), Some(random)) = (&mut self.0, unused.checked_sub(ZEROS)) {
            source.apply_keystream(&mut payload[PAYLOAD - random..]);
        }
    }
}

impl fmt::Debug for Padding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Padding(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_zeros_and_then_random_bytes_fill_what_is_unused() {
        let mut padding = Padding::new();
        let mut fill = |unused| {
            let mut payload = [0; PAYLOAD];
            payload[..PAYLOAD - unused].fill(7);
            padding.fill(&mut payload, unused);
            payload
        };
        for unused in [UNPREDICTABLE, 100, PAYLOAD - 11] {
            let (one, other) = (fill(unused), fill(unused));
            let (message, rest) = one.split_at(PAYLOAD - unused);
            assert!(message.iter().all(|byte| *byte == 7));
            assert_eq!(rest[..ZEROS], [0; ZEROS]);
            assert_ne!(rest[ZEROS..], other[PAYLOAD - unused + ZEROS..]);
            assert!(rest[ZEROS..].windows(8).all(|window| window != [0; 8]));
        }
        for unused in 0..=ZEROS {
            assert!(fill(unused)[PAYLOAD - unused..].iter().all(|byte| *byte == 0));
        }
    }
}
