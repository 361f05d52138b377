//! The pair that a key keeps: it serves once, and no process, thread or generator is served by another's.

use super::big;
use crate::hash::Sha256;
use crate::rsa::blinding::{Blinding, lineage};
use crate::rsa::{Pss, Rsa, RsaError, SecretKey, Signature, Size};
use crate::words::{Number, copied};
use core::cell::Cell;
use num_bigint::BigUint;
use signature::RandomizedSigner;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::{Duration, Instant};
use std::vec::Vec;

const PARENT: Option<usize> = Some(7);
const CHILD: Option<usize> = Some(8);

/// Pairs (1000·k, 0) and (1000·k, 1), for the k-th that is made.
struct Maker(Cell<u64>);

impl Maker {
    fn new() -> Self {
        Self(Cell::new(0))
    }

    fn pair(&self) -> [Number; 2] {
        self.0.set(self.0.get() + 1);
        [copied(&[1000 * self.0.get(), 0]), copied(&[1000 * self.0.get(), 1])]
    }

    /// v of the next pair in a process.
    fn next(&self, blinding: &Blinding, lineage: Option<usize>) -> u64 {
        let [v, u] = blinding.next(lineage, || Ok::<_, ()>(self.pair()), one_more).unwrap();
        assert!(v[0] == u[0] && (v[1], u[1]) == (0, 1), "the pair belongs together");
        v[0]
    }
}

/// What stands for a square here.
fn one_more(number: &Number) -> Number {
    let mut next = number.clone();
    next[0] += 1;
    next
}

/// The lineage of this process. Another test may be asking for the first time.
fn counted() -> Option<usize> {
    let began = Instant::now();
    while cfg!(target_os = "linux") && lineage().is_none() && began.elapsed() < Duration::from_secs(10) {
        std::thread::yield_now();
    }
    lineage()
}

fn any_key() -> SecretKey {
    Rsa::new().generate(Size::Bits2048).unwrap()
}

#[test]
fn a_pair_of_the_blinding_serves_once_and_is_drawn_anew_after_64_times() {
    let (blinding, maker) = (Blinding::new(2), Maker::new());
    let seen: Vec<u64> = (0..130).map(|_| maker.next(&blinding, PARENT)).collect();
    let expected: Vec<u64> = [1000, 2000, 3000].into_iter().flat_map(|first| first..first + 64).take(130).collect();
    assert_eq!(seen, expected);
}

/// Randomness of a kind.
fn threes(bytes: &mut [u8]) -> Result<(), RsaError> {
    bytes.fill(3);
    Ok(())
}

#[test]
fn a_fresh_pair_takes_away_what_it_brings() {
    let key = any_key();
    let n = &key.public.modulus;
    let [v, u] = key.fresh_pair(&mut threes).unwrap();
    let drawn = big(&[0x0303030303030303; 32]) % big(&n.words);
    assert_eq!(big(&n.leave(&v)), drawn);
    let product = big(&n.leave(&u)).modpow(&BigUint::from(65537_u32), &big(&n.words)) * drawn;
    assert_eq!(product % big(&n.words), BigUint::from(1_u8));
}

#[test]
fn a_blinding_that_fails_is_none_and_the_next_one_is_drawn_anew() {
    let (blinding, maker) = (Blinding::new(2), Maker::new());
    assert!(blinding.next(PARENT, || Err(()), one_more).is_err());
    assert_eq!([maker.next(&blinding, PARENT), maker.next(&blinding, PARENT)], [1000, 1001]);
}

#[test]
fn a_generator_that_panics_leaves_the_pair_to_the_next_operation() {
    let (blinding, maker) = (Blinding::new(2), Maker::new());
    let broken = || -> Result<[Number; 2], ()> { panic!("the generator is broken") };
    assert!(catch_unwind(AssertUnwindSafe(|| blinding.next(PARENT, broken, one_more))).is_err());
    assert_eq!([maker.next(&blinding, PARENT), maker.next(&blinding, PARENT)], [1000, 1001]);
}

#[test]
fn who_finds_the_pair_taken_makes_one_that_is_not_kept() {
    let (blinding, maker) = (Blinding::new(2), Maker::new());
    let inner = Cell::new(0);
    let make = || {
        inner.set(maker.next(&blinding, PARENT));
        Ok::<_, ()>(maker.pair())
    };
    let [v, _] = blinding.next(PARENT, make, one_more).unwrap();
    assert_eq!((inner.get(), v[0]), (1000, 2000));
    assert_eq!(maker.next(&blinding, PARENT), 2001);
}

#[test]
fn a_pair_that_was_forgotten_while_somebody_had_it_serves_no_more() {
    let (blinding, maker) = (Blinding::new(2), Maker::new());
    let make = || {
        // Another thread finds a wrong result meanwhile.
        blinding.forget();
        Ok::<_, ()>(maker.pair())
    };
    assert_eq!(blinding.next(PARENT, make, one_more).unwrap()[0][0], 1000);
    assert_eq!([maker.next(&blinding, PARENT), maker.next(&blinding, PARENT)], [2000, 2001]);
}

#[test]
fn a_child_does_not_use_its_parents_pair_even_if_a_thread_of_the_parent_had_it() {
    let (blinding, maker) = (Blinding::new(2), Maker::new());
    assert_eq!(maker.next(&blinding, PARENT), 1000);
    assert_eq!([maker.next(&blinding, CHILD), maker.next(&blinding, CHILD)], [2000, 2001]);

    let (blinding, inner) = (Blinding::new(2), Cell::new([0; 2]));
    let make = || {
        inner.set([maker.next(&blinding, CHILD), maker.next(&blinding, CHILD)]);
        Err::<[Number; 2], ()>(())
    };
    assert!(blinding.next(PARENT, make, one_more).is_err());
    assert_eq!(inner.get(), [3000, 3001]);
}

#[test]
fn a_process_without_a_lineage_keeps_no_pair() {
    let (blinding, maker) = (Blinding::new(2), Maker::new());
    assert_eq!([maker.next(&blinding, None), maker.next(&blinding, None)], [1000, 2000]);
    assert_eq!([maker.next(&blinding, PARENT), maker.next(&blinding, PARENT)], [3000, 3001]);
}

#[cfg(target_os = "linux")]
#[test]
fn a_child_of_this_process_draws_a_pair_of_its_own() {
    counted();
    let blinding = Arc::new(Blinding::new(2));
    let next = |blinding: &Blinding, first: u64| {
        let make = || Ok::<_, ()>([copied(&[first, 0]), copied(&[first, 1])]);
        blinding.next(lineage(), make, one_more).unwrap()[0][0]
    };
    assert_eq!([next(&blinding, 10), next(&blinding, 10)], [10, 11]);
    let copy = Arc::clone(&blinding);
    let of_child = crate::low::forks::in_child(move || {
        let mut answer = [0; 32];
        answer[..2].copy_from_slice(&[next(&copy, 20) as u8, next(&copy, 20) as u8]);
        answer
    });
    assert_eq!(of_child[..2], [20, 21]);
    assert_eq!(next(&blinding, 10), 12, "while the parent's stays");
}

#[test]
fn a_callers_generator_gives_a_pair_to_its_own_operation_alone() {
    let (key, lineage) = (any_key(), counted());
    let signature = key.sign_with::<Pss<Sha256>>(b"message", &mut Sevens).unwrap();
    assert_eq!(key.public_key().verify(b"message", &signature), Ok(()));
    let sealed = key.public_key().encrypt_oaep::<Sha256>(b"text", b"").unwrap();
    assert_eq!(*key.decrypt_oaep_with::<Sha256>(&sealed, b"", &mut Sevens).unwrap(), b"text");
    let signature = RandomizedSigner::<Signature<Pss<Sha256>>>::try_sign_with_rng(&key, &mut Sevens, b"message");
    assert_eq!(key.public_key().verify(b"message", &signature.unwrap()), Ok(()));
    let is_kept = || key.secret.blinding.next(lineage, || Err(()), Number::clone).is_ok();
    assert!(!is_kept());
    assert!(key.sign::<Pss<Sha256>>(b"message").is_ok());
    assert_eq!(is_kept(), lineage.is_some(), "the system's is kept, where forks are counted");
}

/// A bit of a half's exponent flips in memory once the pair has been made: nothing but the last check can notice, and what it withholds has a common divisor
/// with the modulus.
#[test]
fn a_fault_in_one_half_gives_no_signature_and_no_message() {
    let mut key = any_key();
    let sealed = key.public_key().encrypt_oaep::<Sha256>(b"text", b"").unwrap();
    for half in [0, 1] {
        counted();
        assert!(key.sign::<Pss<Sha256>>(b"message").is_ok(), "the key is whole, and has a pair now");
        key.secret.exponents[half][0] ^= 4;
        assert_eq!(key.sign::<Pss<Sha256>>(b"message").err(), Some(RsaError::Fault));
        assert_eq!(key.fresh_pair(&mut threes).err(), Some(RsaError::Fault), "nor a pair");
        key.secret.exponents[half][0] ^= 4;
        assert!(key.fresh_pair(&mut threes).is_ok());
        assert_eq!(*key.decrypt_oaep::<Sha256>(&sealed, b"").unwrap(), b"text");
        key.secret.exponents[half][0] ^= 4;
        assert_eq!(key.decrypt_oaep::<Sha256>(&sealed, b"").err(), Some(RsaError::Fault));
        key.secret.exponents[half][0] ^= 4;
    }
}

/// A generator that nobody should use.
struct Sevens;

impl rand_core::TryRng for Sevens {
    type Error = core::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        unreachable!("the crate asks for bytes")
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        unreachable!("the crate asks for bytes")
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Self::Error> {
        out.fill(7);
        Ok(())
    }
}

impl rand_core::TryCryptoRng for Sevens {}

#[test]
fn a_blinding_of_zero_is_refused() {
    let mut zeros = |bytes: &mut [u8]| {
        bytes.fill(0);
        Ok(())
    };
    assert_eq!(any_key().fresh_pair(&mut zeros).err(), Some(RsaError::Fault));
}

#[test]
fn after_a_wrong_result_the_pair_of_the_blinding_is_drawn_anew() {
    let (key, lineage) = (any_key(), counted());
    let sign = || key.sign::<Pss<Sha256>>(b"message").map(|_| ());
    assert_eq!(sign(), Ok(()));
    key.secret.blinding.damage();
    assert_eq!(sign().is_err(), lineage.is_some(), "the damaged pair was kept, where forks are counted");
    assert_eq!(sign(), Ok(()));
}
