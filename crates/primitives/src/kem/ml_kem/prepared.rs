//! ML-KEM with keys that are expanded once and used often.

use super::keys::{MlKem, Stored, all_exactly, clearing, encapsulations, exactly, pieces, randomness};
use super::scheme::{Expanded, PublicBytes, Scheme};
use crate::kem::{DerandomizedKem, Kem, KemError, SharedSecret, expect_as_many, expect_length};
use crate::lattice::Factor;
use crate::random;
use crate::wipe::wipe;
use alloc::boxed::Box;
use alloc::vec::Vec;
use candor_cpu::{Cpu, secret};
use core::fmt;
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// [`MlKem`] whose keys hold the expanded matrix: slower to read, faster to use. Keys as bytes and ciphertexts are the same.
#[derive(Clone, Copy, Default)]
pub struct PreparedMlKem<const K: usize>(MlKem<K>);

/// ML-KEM-512, category 1, with prepared keys.
pub type PreparedMlKem512 = PreparedMlKem<2>;
/// ML-KEM-768, category 3, with prepared keys.
pub type PreparedMlKem768 = PreparedMlKem<3>;
/// ML-KEM-1024, category 5, with prepared keys.
pub type PreparedMlKem1024 = PreparedMlKem<4>;

/// A decapsulation key of rank `K` with all that follows from it: 18 kB at rank 4. On the heap, and wiped on drop.
pub struct PreparedSecret<const K: usize>(Box<SecretParts<K>>);

struct SecretParts<const K: usize> {
    stored: Stored<K>,
    factors: [Factor; K],
    expanded: Expanded<K>,
}

/// An encapsulation key of rank `K` with its matrix and its hash: 12 kB at rank 4, on the heap.
pub struct PreparedPublic<const K: usize>(Box<PublicParts<K>>);

struct PublicParts<const K: usize> {
    bytes: PublicBytes<K>,
    hash: [u8; 32],
    expanded: Expanded<K>,
}

impl<const K: usize> PreparedMlKem<K> {
    /// On the best arm of [`Cpu::default`].
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// On the best arm that `cpu` allows.
    #[must_use]
    pub fn with_cpu(cpu: Cpu) -> Self {
        Self(MlKem::with_cpu(cpu))
    }

    /// The arm that it runs: `avx512` or `avx2` (x86-64), or `portable`.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.0.arm()
    }

    fn scheme(self) -> Scheme<K> {
        self.0.0
    }
}

impl<const K: usize> SecretParts<K> {
    const ZERO: Self = Self { stored: Stored::ZERO, factors: [Factor::ZERO; K], expanded: Expanded::ZERO };

    /// Becomes complete, and `public` the key that belongs to it, once the key and its expansion are there.
    fn publish(&mut self, scheme: Scheme<K>, public: &mut PublicParts<K>) {
        scheme.factors(&self.stored.keys, &mut self.factors);
        public.bytes.copy(&self.stored.keys.public);
        public.hash = self.stored.keys.hash;
        public.expanded.copy(&self.expanded);
    }
}

impl<const K: usize> PublicParts<K> {
    const ZERO: Self = Self { bytes: PublicBytes::ZERO, hash: [0; 32], expanded: Expanded::ZERO };
}

impl<const K: usize> fmt::Debug for PreparedMlKem<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}, keys prepared", self.0)
    }
}

impl<const K: usize> fmt::Debug for PreparedSecret<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(..)")
    }
}

impl<const K: usize> fmt::Debug for PreparedPublic<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Public(..)")
    }
}

impl<const K: usize> Drop for SecretParts<K> {
    /// What has been expanded is public, but tells which key it was.
    fn drop(&mut self) {
        self.expanded.wipe();
        for factor in &mut self.factors {
            wipe(&mut factor.even.0);
            wipe(&mut factor.odd.0);
        }
    }
}

impl<const K: usize> ZeroizeOnDrop for PreparedSecret<K> {}

impl<const K: usize> Kem for PreparedMlKem<K> {
    type Secret = PreparedSecret<K>;
    type Public = PreparedPublic<K>;

    const NAME: &'static str = Scheme::<K>::NAME;
    const PUBLIC: usize = MlKem::<K>::PUBLIC;
    const SECRET: usize = MlKem::<K>::SECRET;
    const CIPHERTEXT: usize = MlKem::<K>::CIPHERTEXT;

    fn generate(&self) -> Result<(Self::Secret, Self::Public), KemError> {
        self.generate_from(random::bytes::<64>()?.as_slice())
    }

    fn public_from_bytes(&self, bytes: &[u8]) -> Result<Self::Public, KemError> {
        let mut parts = Box::new(PublicParts::ZERO);
        parts.bytes = PublicBytes::parse(bytes)?;
        let PublicParts { bytes, hash, expanded } = &mut *parts;
        self.scheme().expand(bytes, expanded, hash);
        Ok(PreparedPublic(parts))
    }

    fn public_to_bytes(&self, public: &Self::Public, bytes: &mut [u8]) -> Result<(), KemError> {
        public.0.bytes.write(bytes)
    }

    fn secret_from_bytes(&self, bytes: &[u8]) -> Result<Self::Secret, KemError> {
        let mut parts = Box::new(SecretParts::ZERO);
        let SecretParts { stored, factors, expanded } = &mut *parts;
        stored.read(bytes, |public| {
            let mut hash = [0; 32];
            self.scheme().expand(public, expanded, &mut hash);
            hash
        })?;
        clearing::<K, _>(|| self.scheme().factors(&stored.keys, factors));
        Ok(PreparedSecret(parts))
    }

    fn secret_to_bytes(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
        Ok(secret.0.stored.to_bytes())
    }

    fn secret_from_seed(&self, seed: &[u8]) -> Result<Self::Secret, KemError> {
        self.generate_from(seed).map(|(secret, _)| secret)
    }

    fn secret_to_seed(&self, secret: &Self::Secret) -> Result<Zeroizing<Vec<u8>>, KemError> {
        secret.0.stored.seed()
    }

    fn encapsulate(&self, to: &Self::Public, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        self.encapsulate_from(to, random::bytes::<32>()?.as_slice(), ciphertext)
    }

    fn decapsulate(&self, with: &Self::Secret, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
        expect_length("ciphertext", Self::CIPHERTEXT, ciphertext.len())?;
        secret::ran(Self::NAME, self.arm());
        let SecretParts { stored, factors, expanded } = &*with.0;
        clearing::<K, _>(|| Ok(self.scheme().decapsulate_prepared(&stored.keys, factors, expanded, ciphertext)))
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
        let width = self.scheme().lanes.width();
        let mut shared = Vec::with_capacity(with.len());
        for (with, ciphertexts) in with.chunks(width).zip(ciphertexts.chunks(width)) {
            if let ([with], [ciphertext]) = (with, ciphertexts) {
                let SecretParts { stored, factors, expanded } = &*with.0;
                clearing::<K, _>(|| {
                    shared.push(self.scheme().decapsulate_prepared(&stored.keys, factors, expanded, ciphertext));
                });
                continue;
            }
            let keys = with.iter().map(|with| (&with.0.stored.keys, &with.0.factors, &with.0.expanded));
            let keys: Vec<_> = keys.collect();
            clearing::<K, _>(|| {
                self.scheme().together(keys.len()).decapsulate_many_prepared(&keys, ciphertexts, &mut shared)
            });
        }
        Ok(shared)
    }
}

impl<const K: usize> DerandomizedKem for PreparedMlKem<K> {
    const GENERATE_COINS: usize = 64;
    const ENCAPSULATE_COINS: usize = 32;

    fn generate_from(&self, coins: &[u8]) -> Result<(Self::Secret, Self::Public), KemError> {
        let coins = exactly("seed of the key pair", coins)?;
        secret::ran(Self::NAME, self.arm());
        let (mut secret, mut public) = (Box::new(SecretParts::ZERO), Box::new(PublicParts::ZERO));
        clearing::<K, _>(|| {
            let SecretParts { stored, expanded, .. } = &mut *secret;
            stored.generate(self.scheme(), coins, expanded);
            secret.publish(self.scheme(), &mut public);
        });
        Ok((PreparedSecret(secret), PreparedPublic(public)))
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
        let PublicParts { hash, expanded, .. } = &*to.0;
        clearing::<K, _>(|| Ok(self.scheme().encapsulate_prepared(expanded, hash, m, ciphertext)))
    }

    fn generate_many_from(&self, coins: &[&[u8]]) -> Result<Vec<(Self::Secret, Self::Public)>, KemError> {
        let width = self.scheme().lanes.width();
        let mut pairs = Vec::with_capacity(coins.len());
        for group in coins.chunks(width) {
            if let [coins] = group {
                pairs.push(self.generate_from(coins)?);
                continue;
            }
            secret::ran(Self::NAME, self.arm());
            let group = all_exactly("seed of the key pair", group)?;
            let mut parts = Vec::with_capacity(group.len());
            parts.resize_with(group.len(), || (Box::new(SecretParts::ZERO), Box::new(PublicParts::ZERO)));
            clearing::<K, _>(|| {
                let making = parts.iter_mut().zip(group);
                let making = making.filter_map(|((secret, _), coins)| {
                    let SecretParts { stored, expanded, .. } = &mut **secret;
                    stored.making(coins, expanded)
                });
                self.scheme().generate_many(&mut making.collect::<Vec<_>>());
                for (secret, public) in &mut parts {
                    secret.publish(self.scheme(), public);
                }
            });
            pairs.extend(parts.into_iter().map(|(secret, public)| (PreparedSecret(secret), PreparedPublic(public))));
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
        let width = self.scheme().lanes.width();
        let mut shared = Vec::with_capacity(to.len());
        for ((to, coins), ciphertexts) in to.chunks(width).zip(coins.chunks(width)).zip(ciphertexts.chunks_mut(width)) {
            if let ([to], [coins], [ciphertext]) = (to, coins, &mut *ciphertexts) {
                let PublicParts { hash, expanded, .. } = &*to.0;
                clearing::<K, _>(|| {
                    shared.push(self.scheme().encapsulate_prepared(expanded, hash, coins, ciphertext));
                });
                continue;
            }
            let keys: Vec<_> = to.iter().map(|to| (&to.0.expanded, &to.0.hash)).collect();
            clearing::<K, _>(|| {
                self.scheme().together(to.len()).encapsulate_many_prepared(&keys, coins, ciphertexts, &mut shared)
            });
        }
        Ok(shared)
    }
}
