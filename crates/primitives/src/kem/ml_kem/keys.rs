//! ML-KEM with keys that are kept as bytes, and expanded within each operation.

use super::many::{Expansions, Making};
use super::scheme::{Expanded, PublicBytes, Scheme, SecretBytes};
use crate::kem::{DerandomizedKem, Kem, KemError, SharedSecret, expect_as_many, expect_length};
use crate::wipe::wipe;
use crate::{random, stack};
use alloc::boxed::Box;
use alloc::vec::Vec;
use candor_cpu::{Cpu, secret};
use core::fmt;
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// ML-KEM (FIPS 203) of rank `K`, our own implementation. It is small and `Copy`, and stores the arm that it runs on.
#[derive(Clone, Copy)]
pub struct MlKem<const K: usize>(pub(super) Scheme<K>);

/// ML-KEM-512, category 1.
pub type MlKem512 = MlKem<2>;
/// ML-KEM-768, category 3.
pub type MlKem768 = MlKem<3>;
/// ML-KEM-1024, category 5.
pub type MlKem1024 = MlKem<4>;

/// A decapsulation key of rank `K`, as bytes; on the heap, so that moving it leaves no copies behind, and wiped on drop.
pub struct Secret<const K: usize>(pub(super) Box<Stored<K>>);

/// An encapsulation key of rank `K`, as bytes.
pub struct Public<const K: usize>(pub(super) PublicBytes<K>);

/// A decapsulation key and the seed that it was made from, if it was.
pub(super) struct Stored<const K: usize> {
    pub(super) keys: SecretBytes<K>,
    seed: Option<[u8; 64]>,
}

/// Does `work`, then overwrites as much stack as an operation of rank `K` uses: its frames were measured at up to 15.8, 20.3 and 25.8 kB. They are
/// compiled with the program that uses them, and what is inlined there moves them by a kilobyte or more, hence the room.
#[inline(always)]
pub(super) fn clearing<const K: usize, R>(work: impl FnOnce() -> R) -> R {
    match K {
        2 => stack::clearing::<{ 18 << 10 }, R>(work),
        3 => stack::clearing::<{ 23 << 10 }, R>(work),
        _ => stack::clearing::<{ 29 << 10 }, R>(work),
    }
}

impl<const K: usize> MlKem<K> {
    /// On the best arm of [`Cpu::default`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_cpu(Cpu::default())
    }

    /// On the best arm that `cpu` allows.
    #[must_use]
    pub fn with_cpu(cpu: Cpu) -> Self {
        Self(Scheme::with_cpu(cpu))
    }

    /// The arm that it runs: `avx512` or `avx2` (x86-64), or `portable`.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.0.arm.name()
    }
}

impl<const K: usize> Default for MlKem<K> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const K: usize> fmt::Debug for MlKem<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", Scheme::<K>::NAME, self.arm())
    }
}

impl<const K: usize> fmt::Debug for Secret<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl<const K: usize> fmt::Debug for Public<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Public(..)")
    }
}

impl<const K: usize> Drop for Stored<K> {
    fn drop(&mut self) {
        wipe(self.keys.s.as_flattened_mut());
        wipe(&mut self.keys.z);
        if let Some(seed) = &mut self.seed {
            wipe(seed);
        }
    }
}

impl<const K: usize> ZeroizeOnDrop for Secret<K> {}

impl<const K: usize> Kem for MlKem<K> {
    type Secret = Secret<K>;
    type Public = Public<K>;

    const NAME: &'static str = Scheme::<K>::NAME;
    const PUBLIC: usize = Scheme::<K>::SET.public();
    const SECRET: usize = Scheme::<K>::SET.secret();
    const CIPHERTEXT: usize = Scheme::<K>::SET.ciphertext();

    fn generate(&self) -> Result<(Self::Secret, Self::Public), KemError> {
        self.generate_from(random::bytes::<64>()?.as_slice())
    }

    fn public_from_bytes(&self, bytes: &[u8]) -> Result<Self::Public, KemError> {
        Ok(Public(PublicBytes::parse(bytes)?))
    }

    fn public_to_bytes(&self, public: &Self::Public, bytes: &mut [u8]) -> Result<(), KemError> {
        public.0.write(bytes)
    }

    fn secret_from_bytes(&self, bytes: &[u8]) -> Result<Self::Secret, KemError> {
        let mut stored = Box::new(Stored::ZERO);
        stored.read(bytes, |public| self.0.hash_of(public))?;
        Ok(Secret(stored))
    }

    fn secret_to_bytes(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
        Ok(secret.0.to_bytes())
    }

    fn secret_from_seed(&self, seed: &[u8]) -> Result<Self::Secret, KemError> {
        self.generate_from(seed).map(|(secret, _)| secret)
    }

    fn secret_to_seed(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
        secret.0.seed()
    }

    fn encapsulate(&self, to: &Self::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        self.encapsulate_from(to, random::bytes::<32>()?.as_slice(), ciphertext)
    }

    fn decapsulate(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
        expect_length("ciphertext", Self::CIPHERTEXT, ciphertext.len())?;
        secret::ran(Self::NAME, self.arm());
        clearing::<K, _>(|| Ok(self.0.decapsulate(&with.0.keys, ciphertext)))
    }

    fn generate_many(&self, count: usize) -> Result<Vec<(Self::Secret, Self::Public)>, KemError> {
        self.generate_many_from(&pieces::<64>(&randomness::<64>(count)?))
    }

    fn encapsulate_many(
        &self,
        to: &[&Self::Public],
        ciphertexts: &mut [&mut [u8]],
    ) -> Result<Vec<SharedSecret>, KemError> {
        self.encapsulate_many_from(to, &pieces::<32>(&randomness::<32>(to.len())?), ciphertexts)
    }

    fn decapsulate_many(&self, with: &[&Self::Secret], ciphertexts: &[&[u8]]) -> Result<Vec<SharedSecret>, KemError> {
        expect_as_many("ciphertexts", with.len(), ciphertexts.len())?;
        for ciphertext in ciphertexts {
            expect_length("ciphertext", Self::CIPHERTEXT, ciphertext.len())?;
        }
        secret::ran(Self::NAME, self.arm());
        let width = self.0.lanes.width();
        let mut expanded = Expansions::room(with.len().min(width));
        let mut shared = Vec::with_capacity(with.len());
        for (with, ciphertexts) in with.chunks(width).zip(ciphertexts.chunks(width)) {
            if let ([with], [ciphertext]) = (with, ciphertexts) {
                clearing::<K, _>(|| shared.push(self.0.decapsulate(&with.0.keys, ciphertext)));
                continue;
            }
            let keys: Vec<_> = with.iter().map(|with| &with.0.keys).collect();
            clearing::<K, _>(|| {
                self.0.together(keys.len()).decapsulate_many(&keys, ciphertexts, &mut expanded.0, &mut shared)
            });
        }
        Ok(shared)
    }
}

impl<const K: usize> DerandomizedKem for MlKem<K> {
    const GENERATE_COINS: usize = 64;
    const ENCAPSULATE_COINS: usize = 32;

    fn generate_from(&self, coins: &[u8]) -> Result<(Self::Secret, Self::Public), KemError> {
        let coins = exactly("seed of the key pair", coins)?;
        secret::ran(Self::NAME, self.arm());
        let mut stored = Box::new(Stored::ZERO);
        clearing::<K, _>(|| stored.generate(self.0, coins, &mut { Expanded::ZERO }));
        let public = Public(stored.keys.public.clone());
        Ok((Secret(stored), public))
    }

    fn encapsulate_from(
        &self,
        to: &Self::Public,
        coins: &[u8],
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, KemError> {
        expect_length("ciphertext", Self::CIPHERTEXT, ciphertext.len())?;
        let m = exactly("randomness of the encapsulation", coins)?;
        secret::ran(Self::NAME, self.arm());
        clearing::<K, _>(|| Ok(self.0.encapsulate(&to.0, m, ciphertext)))
    }

    fn generate_many_from(&self, coins: &[&[u8]]) -> Result<Vec<(Self::Secret, Self::Public)>, KemError> {
        let width = self.0.lanes.width();
        let mut expanded = Expansions::room(coins.len().min(width));
        let mut pairs = Vec::with_capacity(coins.len());
        for group in coins.chunks(width) {
            if let [coins] = group {
                pairs.push(self.generate_from(coins)?);
                continue;
            }
            secret::ran(Self::NAME, self.arm());
            let group = all_exactly("seed of the key pair", group)?;
            let mut stored = Vec::with_capacity(group.len());
            stored.resize_with(group.len(), || Box::new(Stored::ZERO));
            let making = stored.iter_mut().zip(group).zip(&mut expanded.0);
            let making = making.filter_map(|((stored, coins), expanded)| stored.making(coins, expanded));
            let mut making: Vec<_> = making.collect();
            clearing::<K, _>(|| self.0.together(making.len()).generate_many(&mut making));
            pairs.extend(stored.into_iter().map(|stored| {
                let public = Public(stored.keys.public.clone());
                (Secret(stored), public)
            }));
        }
        Ok(pairs)
    }

    fn encapsulate_many_from(
        &self,
        to: &[&Self::Public],
        coins: &[&[u8]],
        ciphertexts: &mut [&mut [u8]],
    ) -> Result<Vec<SharedSecret>, KemError> {
        let coins = encapsulations::<K>(to.len(), coins, ciphertexts)?;
        secret::ran(Self::NAME, self.arm());
        let width = self.0.lanes.width();
        let mut expanded = Expansions::room(to.len().min(width));
        let mut shared = Vec::with_capacity(to.len());
        for ((to, coins), ciphertexts) in to.chunks(width).zip(coins.chunks(width)).zip(ciphertexts.chunks_mut(width)) {
            if let ([to], [coins], [ciphertext]) = (to, coins, &mut *ciphertexts) {
                clearing::<K, _>(|| shared.push(self.0.encapsulate(&to.0, coins, ciphertext)));
                continue;
            }
            let keys: Vec<_> = to.iter().map(|to| &to.0).collect();
            clearing::<K, _>(|| {
                self.0.together(keys.len()).encapsulate_many(&keys, coins, ciphertexts, &mut expanded.0, &mut shared)
            });
        }
        Ok(shared)
    }
}

impl<const K: usize> PublicBytes<K> {
    /// The key in these bytes, checked (FIPS 203 §7.2).
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, KemError> {
        Scheme::<K>::SET.check_public(bytes)?;
        Ok(Self::copied(bytes))
    }

    /// The key in bytes that have been checked.
    fn copied(bytes: &[u8]) -> Self {
        let mut key = Self::ZERO;
        let (t, rho) = bytes.split_at(384 * K);
        key.t.as_flattened_mut().copy_from_slice(t);
        key.rho.copy_from_slice(rho);
        key
    }

    pub(super) fn write(&self, bytes: &mut [u8]) -> Result<(), KemError> {
        expect_length("public key", Scheme::<K>::SET.public(), bytes.len())?;
        let (t, rho) = bytes.split_at_mut(384 * K);
        t.copy_from_slice(self.t.as_flattened());
        rho.copy_from_slice(&self.rho);
        Ok(())
    }
}

impl<const K: usize> Stored<K> {
    pub(super) const ZERO: Self = Self { keys: SecretBytes::ZERO, seed: None };

    /// Becomes the key pair of d ‖ z, and `expanded` its expansion.
    pub(super) fn generate(&mut self, scheme: Scheme<K>, coins: &[u8; 64], expanded: &mut Expanded<K>) {
        self.seed = Some(*coins);
        if let ([d, z], []) = coins.as_chunks() {
            scheme.generate(d, z, &mut self.keys, expanded);
        }
    }

    /// The same together with others.
    pub(super) fn making<'a>(
        &'a mut self,
        coins: &'a [u8; 64],
        expanded: &'a mut Expanded<K>,
    ) -> Option<Making<'a, K>> {
        self.seed = Some(*coins);
        let ([d, z], []) = coins.as_chunks() else { return None };
        Some(Making { d, z, keys: &mut self.keys, expanded })
    }

    /// Becomes the key in these bytes, checked (FIPS 203 §7.3) by its hash as `hash_of` computes it.
    pub(super) fn read(
        &mut self,
        bytes: &[u8],
        hash_of: impl FnOnce(&PublicBytes<K>) -> [u8; 32],
    ) -> Result<(), KemError> {
        let set = Scheme::<K>::SET;
        set.check_secret(bytes, |ek| hash_of(&PublicBytes::copied(ek)))?;
        self.keys.s.as_flattened_mut().copy_from_slice(&bytes[set.dk_pke()]);
        self.keys.public = PublicBytes::copied(&bytes[set.ek()]);
        self.keys.hash.copy_from_slice(&bytes[set.hash_of_ek()]);
        self.keys.z.copy_from_slice(&bytes[set.z()]);
        Ok(())
    }

    pub(super) fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let SecretBytes { s, public, hash, z } = &self.keys;
        let mut bytes = Zeroizing::new(Vec::with_capacity(Scheme::<K>::SET.secret()));
        for part in [s.as_flattened(), public.t.as_flattened(), &public.rho, hash, z] {
            bytes.extend_from_slice(part);
        }
        bytes
    }

    pub(super) fn seed(&self) -> Result<Zeroizing<Vec<u8>>, KemError> {
        self.seed.as_ref().map(|seed| Zeroizing::new(seed.to_vec())).ok_or(KemError::NoSeed)
    }
}

pub(super) fn exactly<'a, const N: usize>(what: &'static str, bytes: &'a [u8]) -> Result<&'a [u8; N], KemError> {
    bytes.try_into().map_err(|_| KemError::Length { what, expected: N, got: bytes.len() })
}

/// Each of a list.
pub(super) fn all_exactly<'a, const N: usize>(
    what: &'static str,
    list: &[&'a [u8]],
) -> Result<Vec<&'a [u8; N]>, KemError> {
    list.iter().map(|bytes| exactly(what, bytes)).collect()
}

/// The coins of as many encapsulations, if all lengths are right.
pub(super) fn encapsulations<'a, const K: usize>(
    keys: usize,
    coins: &[&'a [u8]],
    ciphertexts: &[&mut [u8]],
) -> Result<Vec<&'a [u8; 32]>, KemError> {
    expect_as_many("ciphertexts", keys, ciphertexts.len())?;
    expect_as_many("coins", keys, coins.len())?;
    for ciphertext in ciphertexts {
        expect_length("ciphertext", Scheme::<K>::SET.ciphertext(), ciphertext.len())?;
    }
    all_exactly("randomness of the encapsulation", coins)
}

/// Fresh random bytes for a batch: `N` for each operation.
pub(super) fn randomness<const N: usize>(count: usize) -> Result<Zeroizing<Vec<u8>>, KemError> {
    // More than there is memory for panics, and is not taken for less.
    let mut bytes = Zeroizing::new(alloc::vec![0; N.saturating_mul(count)]);
    random::fill(&mut bytes)?;
    Ok(bytes)
}

/// They in pieces of equal length.
pub(super) fn pieces<const N: usize>(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.chunks_exact(N).collect()
}
