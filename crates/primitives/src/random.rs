//! The operating system's randomness, for back ends that do not draw their own: straight from it, and for nonces that are hashes of a secret key as
//! well from a store of each thread.
#![cfg_attr(
    not(any(
        feature = "aead",
        feature = "libcrux",
        feature = "ml-kem",
        feature = "rustcrypto",
        feature = "dalek",
        feature = "ec",
        feature = "ed25519",
        feature = "x25519"
    )),
    expect(dead_code)
)]

/// The message of the errors `Randomness`.
pub(crate) const MISSING: &str = "no randomness from the operating system; enable the feature `getrandom` of candor-primitives, or call the method that takes a generator";

/// No randomness was to be had.
pub(crate) struct Unavailable;

/// `N` fresh random bytes.
#[inline]
pub(crate) fn bytes<const N: usize>() -> Result<zeroize::Zeroizing<[u8; N]>, Unavailable> {
    let mut bytes = zeroize::Zeroizing::new([0; N]);
    fill(bytes.as_mut_slice())?;
    Ok(bytes)
}

/// Fresh random bytes, as many as there is room for, in one call of the system.
#[cfg(feature = "getrandom")]
#[inline]
pub(crate) fn fill(bytes: &mut [u8]) -> Result<(), Unavailable> {
    getrandom::fill(bytes).map_err(|_| Unavailable)
}

/// Without the feature there is no operating system to ask.
#[cfg(not(feature = "getrandom"))]
pub(crate) fn fill(_: &mut [u8]) -> Result<(), Unavailable> {
    Err(Unavailable)
}

/// 32 fresh bytes for a nonce that is a hash of these, of a secret key and of what is signed. From a store, which a call of the system fills for
/// sixteen.
///
/// A copy of the store gives the same bytes again: in a process's child, in a restored snapshot of a machine. A hedged nonce repeats only together with its
/// signature, and gives nothing away. So these bytes are for such nonces alone, and never for keys.
#[cfg(all(feature = "ec", feature = "getrandom", feature = "std"))]
#[inline]
pub(crate) fn fill_hedged(bytes: &mut [u8]) -> Result<(), Unavailable> {
    std::thread_local! {
        static STORE: core::cell::RefCell<Store> = core::cell::RefCell::new(Store::new());
    }
    // A thread that ends has no store any more.
    STORE.try_with(|store| store.borrow_mut().take(bytes, fill)).unwrap_or_else(|_| fill(bytes))
}

/// Without threads there is no store.
#[cfg(all(feature = "ec", not(all(feature = "getrandom", feature = "std"))))]
pub(crate) use fill as fill_hedged;

/// Random bytes that have not been used.
#[cfg(any(all(feature = "ec", feature = "getrandom", feature = "std"), test))]
#[derive(Clone)]
struct Store {
    bytes: zeroize::Zeroizing<[u8; Self::SIZE]>,
    left: usize,
}

#[cfg(any(all(feature = "ec", feature = "getrandom", feature = "std"), test))]
impl Store {
    const SIZE: usize = 512;

    fn new() -> Self {
        Self { bytes: zeroize::Zeroizing::new([0; Self::SIZE]), left: 0 }
    }

    /// The next bytes, which leave zeros behind, or as many fresh ones from `fill` where the store has less.
    fn take<E>(&mut self, to: &mut [u8], fill: impl Fn(&mut [u8]) -> Result<(), E>) -> Result<(), E> {
        if to.len() > Self::SIZE {
            return fill(to);
        }
        if self.left < to.len() {
            fill(self.bytes.as_mut_slice())?;
            self.left = Self::SIZE;
        }
        let rest = self.left - to.len();
        let from = &mut self.bytes[rest..self.left];
        to.copy_from_slice(from);
        zeroize::Zeroize::zeroize(from);
        self.left = rest;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    /// A generator that counts its calls, and fails at one of them.
    fn counting(calls: &Cell<u8>, failing: u8) -> impl Fn(&mut [u8]) -> Result<(), u8> {
        move |bytes| {
            calls.set(calls.get() + 1);
            if calls.get() == failing {
                return Err(failing);
            }
            bytes.iter_mut().enumerate().for_each(|(at, byte)| *byte = (at % 251) as u8 ^ calls.get());
            Ok(())
        }
    }

    #[test]
    fn sixteen_nonces_take_one_call_and_no_byte_twice() {
        let calls = Cell::new(0);
        let (mut store, mut seen) = (Store::new(), Vec::new());
        for _ in 0..16 {
            let mut taken = [0; 32];
            assert_eq!(store.take(&mut taken, counting(&calls, 9)), Ok(()));
            seen.push(taken);
        }
        assert_eq!(calls.get(), 1);
        // What was taken is no longer there.
        assert_eq!(*store.bytes, [0; Store::SIZE]);
        // In the store's order from its end.
        let mut expected = [0; Store::SIZE];
        counting(&Cell::new(0), 9)(&mut expected).unwrap();
        seen.reverse();
        assert_eq!(seen.as_flattened(), expected);
        let mut next = [0; 32];
        assert_eq!(store.take(&mut next, counting(&calls, 9)), Ok(()));
        assert_eq!(calls.get(), 2);
        assert!(!seen.contains(&next));
    }

    #[test]
    fn a_call_that_fails_is_an_error_and_gives_nothing() {
        let calls = Cell::new(0);
        let mut store = Store::new();
        let mut taken = [7; 32];
        assert_eq!(store.take(&mut taken, counting(&calls, 1)), Err(1));
        assert_eq!((taken, store.left), ([7; 32], 0));
        assert_eq!(store.take(&mut taken, counting(&calls, 1)), Ok(()));
        assert_ne!(taken, [7; 32]);
    }

    #[test]
    fn more_than_the_store_holds_comes_from_the_system() {
        let calls = Cell::new(0);
        let (mut store, mut taken) = (Store::new(), [0; Store::SIZE + 1]);
        assert_eq!(store.take(&mut taken, counting(&calls, 9)), Ok(()));
        assert_eq!((calls.get(), store.left), (1, 0));
        assert_eq!(store.take(&mut taken[1..], counting(&calls, 9)), Ok(()));
        assert_eq!((calls.get(), store.left), (2, 0));
    }

    /// What a fork or a snapshot does.
    #[cfg(all(feature = "ec", feature = "getrandom"))]
    #[test]
    fn a_copy_of_the_store_repeats_no_nonce_for_another_message() {
        use crate::ec::{Ec, P256};
        let mut store = Store::new();
        assert!(store.take(&mut [0; 32], fill).is_ok());
        let mut copy = store.clone();
        let secret = Ec::<P256>::new().secret_from_bytes(&[5; 32]).unwrap();
        let r = |store: &mut Store, digest: u64| {
            let mut fresh = [0; 32];
            assert!(store.take(&mut fresh, fill).is_ok());
            let digest = [digest, 0, 0, 0];
            let signature = secret.sign_by(&digest, &secret.ecdsa_nonce(&digest, &fresh, 0)).unwrap();
            signature.to_bytes()[..32].to_vec()
        };
        assert_eq!(r(&mut store, 1), r(&mut copy, 1));
        assert_ne!(r(&mut store, 1), r(&mut copy, 2));
    }

    #[cfg(all(feature = "ec", feature = "getrandom", feature = "std"))]
    #[test]
    fn each_thread_has_a_store_of_its_own() {
        let draw = || {
            let mut bytes = [0; 32];
            assert!(fill_hedged(&mut bytes).is_ok());
            bytes
        };
        let other = std::thread::spawn(draw).join().unwrap();
        let ours = [draw(), draw()];
        assert!(ours[0] != ours[1] && !ours.contains(&other) && other != [0; 32]);
    }
}
