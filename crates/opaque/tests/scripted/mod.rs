//! Randomness that is written down beforehand.
#![allow(dead_code)] // not every test file uses all of it

use candor_opaque::suite::Suite;
use candor_primitives::SharedSecret;
use candor_primitives::kem::{DerandomizedKem, Kem, KemError};
use rand_core::{TryCryptoRng, TryRng};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;
use zeroize::Zeroizing;

/// Gives out these bytes, in order; panics if asked for more.
pub(crate) struct Script(VecDeque<u8>);

impl Script {
    pub(crate) fn of<const N: usize>(parts: [&[u8]; N]) -> Self {
        Self(parts.concat().into())
    }

    /// Whether all has been asked for.
    pub(crate) fn used_up(&self) -> bool {
        self.0.is_empty()
    }
}

impl TryRng for Script {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        let mut bytes = [0; 4];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        let mut bytes = [0; 8];
        self.try_fill_bytes(&mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        out.iter_mut().for_each(|byte| *byte = self.0.pop_front().expect("the script is long enough"));
        Ok(())
    }
}

impl TryCryptoRng for Script {}

/// A KEM whose coins are written down: those of key generations and those of encapsulations, each in order.
#[derive(Clone)]
pub(crate) struct ScriptedKem<K> {
    inner: K,
    generations: Coins,
    encapsulations: Coins,
}

/// Coins in order, shared by the copies of a KEM.
type Coins = Rc<RefCell<VecDeque<Vec<u8>>>>;

impl<K> ScriptedKem<K> {
    pub(crate) fn new(inner: K, generations: &[Vec<u8>], encapsulations: &[Vec<u8>]) -> Self {
        let coins = |list: &[Vec<u8>]| Rc::new(RefCell::new(list.iter().cloned().collect()));
        Self { inner, generations: coins(generations), encapsulations: coins(encapsulations) }
    }
}

impl<K: DerandomizedKem> Kem for ScriptedKem<K> {
    type Secret = K::Secret;
    type Public = K::Public;

    const NAME: &'static str = K::NAME;
    const PUBLIC: usize = K::PUBLIC;
    const SECRET: usize = K::SECRET;
    const CIPHERTEXT: usize = K::CIPHERTEXT;

    fn generate(&self) -> Result<(Self::Secret, Self::Public), KemError> {
        self.inner.generate_from(&self.generations.borrow_mut().pop_front().expect("coins for a key"))
    }

    fn public_from_bytes(&self, bytes: &[u8]) -> Result<Self::Public, KemError> {
        self.inner.public_from_bytes(bytes)
    }

    fn public_to_bytes(&self, public: &Self::Public, bytes: &mut [u8]) -> Result<(), KemError> {
        self.inner.public_to_bytes(public, bytes)
    }

    fn secret_from_bytes(&self, bytes: &[u8]) -> Result<Self::Secret, KemError> {
        self.inner.secret_from_bytes(bytes)
    }

    fn secret_to_bytes(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
        self.inner.secret_to_bytes(secret)
    }

    fn encapsulate(&self, to: &Self::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        let coins = self.encapsulations.borrow_mut().pop_front().expect("coins for an encapsulation");
        self.inner.encapsulate_from(to, &coins, ciphertext)
    }

    fn decapsulate(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
        self.inner.decapsulate(with, ciphertext)
    }
}

/// The operating system's generator.
pub(crate) fn system() -> rand_core::UnwrapErr<getrandom::SysRng> {
    rand_core::UnwrapErr(getrandom::SysRng)
}

/// The name of a suite, for messages of failed tests.
pub(crate) fn name<S: Suite>(_: &S) -> &'static str {
    S::NAME
}
