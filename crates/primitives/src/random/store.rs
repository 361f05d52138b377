//! Random bytes that one call of the system draws for several uses, each of which takes bytes of its own.

use core::cell::RefCell;
use zeroize::{Zeroize, Zeroizing};

/// Random bytes that have not been used.
#[derive(Clone)]
pub(super) struct Store {
    bytes: Zeroizing<[u8; Self::SIZE]>,
    left: usize,
    /// That of the process that has drawn them.
    lineage: usize,
}

/// The next bytes of the store. Straight from `fill` if it is in use, since a signal's handler may sign, and so may a generator that stands in for the
/// operating system's; and if the process has no `lineage`, a number that its children don't have in common with it.
#[inline]
pub(super) fn take<E>(
    store: &RefCell<Store>,
    lineage: Option<usize>,
    to: &mut [u8],
    fill: impl Fn(&mut [u8]) -> Result<(), E>,
) -> Result<(), E> {
    match (store.try_borrow_mut(), lineage) {
        (Ok(mut store), Some(lineage)) => store.take(to, lineage, fill),
        _ => fill(to),
    }
}

impl Store {
    const SIZE: usize = 512;

    pub(super) fn new() -> Self {
        Self { bytes: Zeroizing::new([0; Self::SIZE]), left: 0, lineage: 0 }
    }

    /// The next bytes, which leave zeros behind, or as many fresh ones from `fill` where the store has less, or a process before a fork has drawn them.
    fn take<E>(&mut self, to: &mut [u8], lineage: usize, fill: impl Fn(&mut [u8]) -> Result<(), E>) -> Result<(), E> {
        if to.len() > Self::SIZE {
            return fill(to);
        }
        if self.lineage != lineage {
            (self.left, self.lineage) = (0, lineage);
        }
        if self.left < to.len() {
            fill(self.bytes.as_mut_slice())?;
            self.left = Self::SIZE;
        }
        let rest = self.left - to.len();
        let from = &mut self.bytes[rest..self.left];
        to.copy_from_slice(from);
        from.zeroize();
        self.left = rest;
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random;
    use core::cell::Cell;

    const PARENT: usize = 7;

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
            assert_eq!(store.take(&mut taken, PARENT, counting(&calls, 9)), Ok(()));
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
        assert_eq!(store.take(&mut next, PARENT, counting(&calls, 9)), Ok(()));
        assert_eq!(calls.get(), 2);
        assert!(!seen.contains(&next));
    }

    #[test]
    fn a_call_that_fails_is_an_error_and_gives_nothing() {
        let calls = Cell::new(0);
        let mut store = Store::new();
        let mut taken = [7; 32];
        assert_eq!(store.take(&mut taken, PARENT, counting(&calls, 1)), Err(1));
        assert_eq!((taken, store.left), ([7; 32], 0));
        assert_eq!(store.take(&mut taken, PARENT, counting(&calls, 1)), Ok(()));
        assert_ne!(taken, [7; 32]);
    }

    #[test]
    fn more_than_the_store_holds_comes_from_the_system() {
        let calls = Cell::new(0);
        let (mut store, mut taken) = (Store::new(), [0; Store::SIZE + 1]);
        assert_eq!(store.take(&mut taken, PARENT, counting(&calls, 9)), Ok(()));
        assert_eq!((calls.get(), store.left), (1, 0));
        assert_eq!(store.take(&mut taken[1..], PARENT, counting(&calls, 9)), Ok(()));
        assert_eq!((calls.get(), store.left), (2, 0));
    }

    #[test]
    fn a_child_takes_nothing_from_its_copy_of_the_store() {
        let calls = Cell::new(0);
        let mut store = Store::new();
        assert_eq!(store.take(&mut [0; 32], PARENT, counting(&calls, 9)), Ok(()));
        let [mut own, mut copied, mut of_child] = [[0; 32]; 3];
        let [mut copy, mut child] = [store.clone(), store.clone()];
        assert_eq!(store.take(&mut own, PARENT, counting(&calls, 9)), Ok(()));
        assert_eq!(copy.take(&mut copied, PARENT, counting(&calls, 9)), Ok(()));
        assert_eq!((calls.get(), copied), (1, own));
        // The child's call fails: what it has copied is of no use to it later, either.
        assert_eq!(child.take(&mut of_child, PARENT + 1, counting(&calls, 2)), Err(2));
        assert_eq!(child.take(&mut of_child, PARENT + 1, counting(&calls, 9)), Ok(()));
        assert_eq!(calls.get(), 3);
        assert!(of_child != own && of_child != [0; 32]);
    }

    #[test]
    fn a_child_of_this_process_draws_other_bytes_than_its_parent() {
        let draw = || {
            let mut bytes = [0; 32];
            assert!(random::fill_hedged(&mut bytes).is_ok());
            bytes
        };
        // The store is full, and the child has it.
        let first = draw();
        let of_child = crate::low::forks::in_child(draw);
        let next = draw();
        assert!(first != next && of_child[..] != first[..of_child.len()] && of_child[..] != next[..of_child.len()]);
    }

    #[test]
    fn a_process_without_a_lineage_has_no_store() {
        let (store, calls) = (RefCell::new(Store::new()), Cell::new(0));
        for _ in 0..2 {
            assert_eq!(take(&store, None, &mut [0; 32], counting(&calls, 9)), Ok(()));
        }
        assert_eq!(calls.get(), 2);
        for _ in 0..2 {
            assert_eq!(take(&store, Some(PARENT), &mut [0; 32], counting(&calls, 9)), Ok(()));
        }
        assert_eq!(calls.get(), 3);
    }

    /// What a signal's handler does, and a generator that signs.
    #[test]
    fn bytes_that_are_asked_for_while_the_store_is_in_use_come_straight_from_the_system() {
        let store = RefCell::new(Store::new());
        let (calls, inner) = (Cell::new(0), Cell::new([0; 32]));
        let mut taken = [0; 32];
        let again = |bytes: &mut [u8]| {
            let mut within = [0; 32];
            take(&store, Some(PARENT), &mut within, counting(&calls, 9))?;
            inner.set(within);
            counting(&calls, 9)(bytes)
        };
        assert_eq!(take(&store, Some(PARENT), &mut taken, again), Ok(()));
        assert_eq!(calls.get(), 2);
        assert!(inner.get() != taken && inner.get() != [0; 32]);
        // Afterwards the store is there again.
        let mut next = [0; 32];
        assert_eq!(take(&store, Some(PARENT), &mut next, counting(&calls, 9)), Ok(()));
        assert_eq!(calls.get(), 2);
        assert!(next != taken && next != inner.get());
    }

    /// What a snapshot does.
    #[test]
    fn a_copy_of_the_store_repeats_no_nonce_for_another_message() {
        use crate::ec::{Ec, P256};
        let mut store = Store::new();
        assert!(store.take(&mut [0; 32], PARENT, random::fill).is_ok());
        let mut copy = store.clone();
        let secret = Ec::<P256>::new().secret_from_bytes(&[5; 32]).unwrap();
        let r = |store: &mut Store, digest: u64| {
            let mut fresh = [0; 32];
            assert!(store.take(&mut fresh, PARENT, random::fill).is_ok());
            let digest = [digest, 0, 0, 0];
            let signature = secret.sign_by(&digest, &secret.ecdsa_nonce(&digest, &fresh, 0)).unwrap();
            signature.to_bytes()[..32].to_vec()
        };
        assert_eq!(r(&mut store, 1), r(&mut copy, 1));
        assert_ne!(r(&mut store, 1), r(&mut copy, 2));
    }

    #[test]
    fn each_thread_has_a_store_of_its_own() {
        let draw = || {
            let mut bytes = [0; 32];
            assert!(random::fill_hedged(&mut bytes).is_ok());
            bytes
        };
        let other = std::thread::spawn(draw).join().unwrap();
        let ours = [draw(), draw()];
        assert!(ours[0] != ours[1] && !ours.contains(&other) && other != [0; 32]);
    }
}
