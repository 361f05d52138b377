//! What fills a relay cell behind its message: four zero bytes, and then random ones (tor-spec, "Relay cells").
//!
//! The tag of a cell depends on all of it. So whoever acknowledges a cell whose padding is random must have received it (prop 289), even
//! if the message was no secret. Full cells have no room for that; every cell that a SENDME acknowledges is therefore kept
//! [`UNPREDICTABLE`] bytes short.

use crate::Error;
use crate::cell::PAYLOAD;
use candor_primitives::aes::Aes128Ctr;
use candor_primitives::aes::cipher::StreamCipher;
use candor_primitives::forks;
use std::cell::RefCell;
use zeroize::Zeroizing;

/// Zero bytes in front of the random ones. A later protocol may use what follows a message, and an old receiver skips it.
const ZEROS: usize = 4;
/// Unused bytes that a cell needs so that nobody can guess its tag: sixteen of them are random.
pub(super) const UNPREDICTABLE: usize = ZEROS + 16;

/// Fills of one key, unless the system refuses another. Whoever has a copy of the process, or a restored snapshot, knows the padding of no more cells than
/// that; and a leaked key tells no more.
const FILLS: u32 = 1 << 12;

/// Random bytes: AES-128 in counter mode with a key of the operating system's.
struct Source {
    stream: Aes128Ctr,
    left: u32,
    /// That of the process that drew the key: a child must not go on with it.
    lineage: usize,
}

thread_local! {
    /// That of all circuits that a thread serves, since a key for each would be the larger part of some. What a circuit has seen of it tells nobody what another
    /// one gets.
    static SOURCE: RefCell<Option<Source>> = const { RefCell::new(None) };
}

/// Fills the last `unused` bytes of a payload, which are zero.
///
/// The circuit's own keys could not stand in for the operating system: the other end has them, and it is the one that must not know these bytes before
/// they have arrived. So where a thread has never been given a key, there is no padding and no cell.
///
/// # Errors
/// [`Error::Randomness`].
pub(super) fn fill(payload: &mut [u8; PAYLOAD], unused: usize) -> Result<(), Error> {
    let Some(random @ 1..) = unused.checked_sub(ZEROS) else { return Ok(()) };
    let room = &mut payload[PAYLOAD - random..];
    let filled = SOURCE.try_with(|source| {
        let mut source = source.borrow_mut();
        let Source { stream, left, .. } = Source::current(&mut source)?;
        *left = left.saturating_sub(1);
        stream.apply_keystream(room);
        Ok(())
    });
    // A thread that is ending has no source any more.
    filled.unwrap_or(Err(Error::Randomness))
}

impl Source {
    /// The thread's, with a new key if its own is a parent's or has served its time. If the system refuses one, there is nothing wrong with a key of
    /// this process but its age.
    fn current(source: &mut Option<Self>) -> Result<&mut Self, Error> {
        let lineage = forks::lineage();
        source.take_if(|source| source.lineage != lineage);
        if source.as_ref().is_none_or(|source| source.left == 0) {
            match Self::draw(lineage) {
                Ok(fresh) => *source = Some(fresh),
                Err(error) if source.is_none() => return Err(error),
                Err(_) => {}
            }
        }
        source.as_mut().ok_or(Error::Randomness)
    }

    fn draw(lineage: usize) -> Result<Self, Error> {
        let mut key = Zeroizing::new([0; 16]);
        system(key.as_mut_slice())?;
        Ok(Self { stream: Aes128Ctr::new(&key, &[0; 16]), left: FILLS, lineage })
    }
}

/// The operating system's randomness.
fn system(bytes: &mut [u8]) -> Result<(), Error> {
    #[cfg(test)]
    if tests::REFUSES.get() {
        return Err(Error::Randomness);
    }
    getrandom::fill(bytes).map_err(|_| Error::Randomness)
}

/// Runs `work` as on a system that gives this thread no randomness and has given it none.
#[cfg(test)]
pub(super) fn without_randomness<T>(work: impl FnOnce() -> T) -> T {
    SOURCE.set(None);
    tests::REFUSES.set(true);
    let done = work();
    tests::REFUSES.set(false);
    done
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    thread_local! {
        pub(super) static REFUSES: Cell<bool> = const { Cell::new(false) };
    }

    #[test]
    fn four_zeros_and_then_random_bytes_fill_what_is_unused() {
        let fill = |unused| {
            let mut payload = [0; PAYLOAD];
            payload[..PAYLOAD - unused].fill(7);
            fill(&mut payload, unused).unwrap();
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
        // Another test may be asking for the first time; until the C library has the handler, the number is the process's.
        let began = std::time::Instant::now();
        while forks::lineage() >> (usize::BITS - 1) == 1 && began.elapsed() < std::time::Duration::from_secs(10) {
            std::thread::yield_now();
        }
        let state = || SOURCE.with_borrow(|source| source.as_ref().map(|source| (source.left, source.lineage)));
        let fresh = Some((FILLS - 1, forks::lineage()));
        fill(&mut payload, PAYLOAD).unwrap();
        assert_eq!(state(), fresh);
        SOURCE.with_borrow_mut(|source| source.as_mut().unwrap().left = 0);
        fill(&mut payload, PAYLOAD).unwrap();
        assert_eq!(state(), fresh, "a new key");
        SOURCE.with_borrow_mut(|source| source.as_mut().unwrap().lineage ^= 1);
        fill(&mut payload, PAYLOAD).unwrap();
        assert_eq!(state(), fresh, "a child draws its own");
    }

    #[test]
    fn without_a_key_there_is_no_padding_and_an_old_one_goes_on() {
        let padded = || {
            let mut payload = [0; PAYLOAD];
            fill(&mut payload, PAYLOAD).map(|()| payload)
        };
        without_randomness(|| assert_eq!(padded(), Err(Error::Randomness)));
        let first = padded().unwrap();
        SOURCE.with_borrow_mut(|source| source.as_mut().unwrap().left = 0);
        REFUSES.set(true);
        let (second, third) = (padded().unwrap(), padded().unwrap());
        assert!(first != second && second != third, "the stream goes on");
        // Not in a child: its parent has that key.
        SOURCE.with_borrow_mut(|source| source.as_mut().unwrap().lineage ^= 1);
        assert_eq!(padded(), Err(Error::Randomness));
        // What needs no random bytes needs no key.
        assert_eq!(fill(&mut [0; PAYLOAD], ZEROS), Ok(()));
        REFUSES.set(false);
        assert!(padded().is_ok());
    }

    #[test]
    fn threads_fill_with_different_bytes() {
        let first = || {
            let mut payload = [0; PAYLOAD];
            fill(&mut payload, PAYLOAD).unwrap();
            payload
        };
        let [one, other] = [(); 2].map(|()| std::thread::spawn(first).join().unwrap());
        assert_ne!(one, other);
    }
}
