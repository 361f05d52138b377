//! What fills a relay cell behind its message: four zero bytes, and then random ones (tor-spec, "Relay cells").
//!
//! The tag of a cell depends on all of it. So whoever acknowledges a cell whose padding is random must have received it (prop 289), even
//! if the message was no secret. Full cells have no room for that; every cell that a SENDME acknowledges is therefore kept
//! [`UNPREDICTABLE`] bytes short.

use crate::cell::PAYLOAD;
use candor_primitives::aes::Aes128Ctr;
use candor_primitives::aes::cipher::StreamCipher;
use std::cell::RefCell;
use zeroize::Zeroizing;

/// Zero bytes in front of the random ones. A later protocol may use what follows a message, and an old receiver skips it.
const ZEROS: usize = 4;
/// Unused bytes that a cell needs so that nobody can guess its tag: sixteen of them are random.
pub(super) const UNPREDICTABLE: usize = ZEROS + 16;

/// Fills of one key. Whoever has a copy of the process, a fork or a restored snapshot, knows the padding of no more cells than that; and a leaked key tells no more.
const FILLS: u32 = 1 << 12;

/// Random bytes: AES-128 in counter mode with a key of the operating system's.
struct Source {
    stream: Aes128Ctr,
    left: u32,
    /// The process that drew the key: a child must not go on with it.
    process: u32,
}

thread_local! {
    /// That of all circuits that a thread serves, since a key for each would be the larger part of some. What a circuit has seen of it tells nobody what another
    /// one gets.
    static SOURCE: RefCell<Option<Source>> = const { RefCell::new(None) };
}

/// Fills the last `unused` bytes of a payload, which are zero. Without randomness from the operating system, which every handshake needs before this,
/// they stay zero.
pub(super) fn fill(payload: &mut [u8; PAYLOAD], unused: usize) {
    let Some(random @ 1..) = unused.checked_sub(ZEROS) else { return };
    let room = &mut payload[PAYLOAD - random..];
    // A thread that is ending has no source any more, and sends nothing.
    let _ = SOURCE.try_with(|source| {
        let mut source = source.borrow_mut();
        if source.as_ref().is_none_or(|source| source.left == 0 || source.process != std::process::id()) {
            *source = draw();
        }
        if let Some(source) = &mut *source {
            source.left -= 1;
            source.stream.apply_keystream(room);
        }
    });
}

fn draw() -> Option<Source> {
    let mut key = Zeroizing::new([0; 16]);
    getrandom::fill(key.as_mut_slice()).ok()?;
    Some(Source { stream: Aes128Ctr::new(&key, &[0; 16]), left: FILLS, process: std::process::id() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_zeros_and_then_random_bytes_fill_what_is_unused() {
        let fill = |unused| {
            let mut payload = [0; PAYLOAD];
            payload[..PAYLOAD - unused].fill(7);
            fill(&mut payload, unused);
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

    #[test]
    fn a_key_serves_for_some_cells_and_for_its_own_process() {
        let mut payload = [0; PAYLOAD];
        let state = || SOURCE.with_borrow(|source| source.as_ref().map(|source| (source.left, source.process)));
        fill(&mut payload, PAYLOAD);
        assert_eq!(state(), Some((FILLS - 1, std::process::id())));
        SOURCE.with_borrow_mut(|source| source.as_mut().unwrap().left = 0);
        fill(&mut payload, PAYLOAD);
        assert_eq!(state(), Some((FILLS - 1, std::process::id())), "a new key");
        SOURCE.with_borrow_mut(|source| source.as_mut().unwrap().process = 1);
        fill(&mut payload, PAYLOAD);
        assert_eq!(state(), Some((FILLS - 1, std::process::id())), "a child draws its own");
    }

    #[test]
    fn threads_fill_with_different_bytes() {
        let first = || {
            let mut payload = [0; PAYLOAD];
            fill(&mut payload, PAYLOAD);
            payload
        };
        let [one, other] = [(); 2].map(|()| std::thread::spawn(first).join().unwrap());
        assert_ne!(one, other);
    }
}
