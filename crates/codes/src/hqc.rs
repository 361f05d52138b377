//! HQC: key encapsulation from quasi-cyclic codes, chosen by NIST in 2025 beside ML-KEM.
//!
//! [`Hqc1`], [`Hqc3`] and [`Hqc5`] follow the specification of 2025-08-22 as the reference implementation has it at commit 161cd4f (2026-02-10),
//! whose sampler of keys differs from release 5.0.0; [`Version::V5_0_0`] chooses that. NIST's standard (FIPS 207) is not out, and keys and
//! ciphertexts may not fit with it.
//!
//! Parsing a key fails if its length is wrong, if a public key has bits beyond its polynomial, or if the parts of a secret key are not
//! those that its seed gives. A ciphertext of the right length never fails: if `encapsulate` did not make it for this key, the
//! result is a pseudorandom secret (implicit rejection).
//!
//! ```
//! use candor_codes::hqc::Hqc1;
//! use candor_primitives::kem::Kem;
//!
//! let kem = Hqc1::new();
//! let (secret, public) = kem.generate()?;
//! let mut ciphertext = vec![0; Hqc1::CIPHERTEXT];
//! let ours = kem.encapsulate(&public, &mut ciphertext)?;
//! assert!(ours == kem.decapsulate(&secret, &ciphertext)?);
//! # Ok::<(), candor_primitives::kem::KemError>(())
//! ```

mod arm_mux;
mod code;
mod encryption;
mod expand;
mod parameters;
mod ring;
mod sample;
mod sparse;
mod symbols_mux;

pub use code::Code;
pub use expand::Version;
pub use parameters::Parameters;
pub use sparse::SparseProducts;
pub use symbols_mux::SymbolProduct;

use crate::{expect_length, words};
use alloc::vec::Vec;
use arm_mux::Arm;
use candor_cpu::{Cpu, secret};
use candor_gf2::Multiplier;
use candor_primitives::kem::{DerandomizedKem, Kem, KemError};
use candor_primitives::{SharedSecret, stack};
use core::fmt;
use core::marker::PhantomData;
use encryption::{Pair, PublicKey, Scheme};
use parameters::{HQC_1, HQC_3, HQC_5, SALT, SEED};
use subtle::{ConditionallySelectable, ConstantTimeEq};
use symbols_mux::Symbols;
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// HQC at one level. It is small and `Copy`, and stores the arms that it runs on.
pub struct Hqc<L> {
    scheme: Scheme,
    level: PhantomData<L>,
}

/// Category 1.
pub type Hqc1 = Hqc<Level1>;
/// Category 3.
pub type Hqc3 = Hqc<Level3>;
/// Category 5.
pub type Hqc5 = Hqc<Level5>;

/// A level; implemented by [`Level1`], [`Level3`] and [`Level5`] alone.
pub trait Level: sealed::Sealed + Send + Sync + 'static {
    #[doc(hidden)]
    const PARAMETERS: &'static Parameters;
    #[doc(hidden)]
    const NAME: &'static str;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! levels {
    ($($(#[$doc:meta])* $level:ident, $name:literal, $parameters:ident;)+) => {
        $(
            $(#[$doc])*
            #[derive(Clone, Copy, Debug)]
            pub enum $level {}
            impl sealed::Sealed for $level {}
            impl Level for $level {
                const PARAMETERS: &'static Parameters = &$parameters;
                const NAME: &'static str = $name;
            }
        )+
    };
}

levels! {
    /// The parameters of HQC-1.
    Level1, "HQC-1", HQC_1;
    /// The parameters of HQC-3.
    Level3, "HQC-3", HQC_3;
    /// The parameters of HQC-5.
    Level5, "HQC-5", HQC_5;
}

/// A decapsulation key of one level. It holds its public key as well, and is wiped on drop.
pub struct Secret<L> {
    pair: Pair,
    level: PhantomData<L>,
}

impl<L> ZeroizeOnDrop for Secret<L> {}

/// An encapsulation key of one level.
pub struct Public<L> {
    key: PublicKey,
    level: PhantomData<L>,
}

/// Bytes of stack that an operation uses.
const FRAMES: usize = 12 << 10;

impl<L: Level> Hqc<L> {
    /// On the best arms of [`Cpu::default`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_cpu(Cpu::default())
    }

    /// On the best arms that `cpu` allows.
    #[must_use]
    pub fn with_cpu(cpu: Cpu) -> Self {
        Self::with_version(cpu, Version::Current)
    }

    /// The same, following a chosen version of the reference implementation.
    // ct: public, because it takes no bytes
    #[must_use]
    pub fn with_version(cpu: Cpu, version: Version) -> Self {
        let scheme = Scheme {
            parameters: L::PARAMETERS,
            version,
            cpu,
            multiplier: Multiplier::with_cpu(cpu),
            arm: Arm::choose(cpu),
            symbols: Symbols::Lanes,
        };
        Self { scheme, level: PhantomData }
    }

    /// The arm of the codes and the samplers, `avx2` or `portable`.
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.scheme.arm.name()
    }

    /// The arm of the products of polynomials ([`Multiplier::arm`]).
    #[must_use]
    pub fn product_arm(&self) -> &'static str {
        self.scheme.multiplier.arm()
    }

    /// The same with another way to multiply symbols, to be measured beside the others; `None` if the CPU lacks its instruction. For secrets that
    /// matter use [`SymbolProduct::Lanes`], which the constant-time gate has.
    // ct: public, because it takes no bytes
    #[must_use]
    pub fn with_symbol_product(self, product: SymbolProduct) -> Option<Self> {
        let symbols = Symbols::choose(self.scheme.cpu, product)?;
        Some(Self { scheme: Scheme { symbols, ..self.scheme }, level: PhantomData })
    }

    /// The error-correcting code of this level.
    #[must_use]
    pub fn code(&self) -> Code {
        self.scheme.code()
    }

    /// Two ways to multiply by a sparse polynomial, to be measured.
    // ct: public, because it takes no bytes
    #[must_use]
    pub fn sparse_products(&self) -> SparseProducts {
        SparseProducts::new(self.scheme.parameters, self.scheme.arm, self.scheme.multiplier)
    }

    /// What [`decapsulate_in_steps`](Self::decapsulate_in_steps) does, step by step.
    pub const STEPS: [&str; 7] =
        ["product", "reed-muller", "reed-solomon", "hashing", "sampling", "encryption", "comparison"];

    /// [`decapsulate`](Kem::decapsulate), for measurements: `step` is called at the end of each of the [`STEPS`](Self::STEPS).
    ///
    /// # Errors
    /// [`KemError::Length`].
    // ct: public, because it is all that `decapsulate` is, and the gate has that
    pub fn decapsulate_in_steps(
        &self,
        with: &Secret<L>,
        ciphertext: &[u8],
        mut step: impl FnMut(),
    ) -> Result<SharedSecret, KemError> {
        expect_length("ciphertext", Self::CIPHERTEXT, ciphertext.len())?;
        stack::clearing::<FRAMES, _>(|| {
            let Scheme { cpu, parameters, .. } = self.scheme;
            let public = &with.pair.public;
            let (uv, salt) = ciphertext.split_at(Self::CIPHERTEXT - SALT);
            let message = self.scheme.decrypt(&with.pair.y, uv, &mut step);
            let message = &message[..parameters.message];
            let both = expand::g(cpu, &public.hash, message, salt);
            let (shared, theta) = both.split_at(SharedSecret::LENGTH);
            let rejected = expand::j(cpu, &public.hash, Self::sigma(with), ciphertext);
            step();
            let mut again = Zeroizing::new(alloc::vec![0; uv.len()]);
            self.scheme.encrypt(public, message, theta, &mut again, &mut step);
            let same = words::equal(&again, uv);
            let chosen = core::array::from_fn(|i| u8::conditional_select(&rejected[i], &shared[i], same));
            step();
            Ok(SharedSecret::from(chosen))
        })
    }

    /// σ, which takes the message's place in the shared secret of a bad ciphertext.
    fn sigma(secret: &Secret<L>) -> &[u8] {
        &secret.pair.seeds[SEED..SEED + L::PARAMETERS.message]
    }
}

impl<L: Level> Kem for Hqc<L> {
    type Secret = Secret<L>;
    type Public = Public<L>;

    const NAME: &'static str = L::NAME;
    const PUBLIC: usize = L::PARAMETERS.public();
    const SECRET: usize = L::PARAMETERS.secret();
    const CIPHERTEXT: usize = L::PARAMETERS.ciphertext();

    fn generate(&self) -> Result<(Secret<L>, Public<L>), KemError> {
        let mut seed = Zeroizing::new([0; SEED]);
        crate::random(&mut *seed)?;
        self.generate_from(&*seed)
    }

    fn public_from_bytes(&self, bytes: &[u8]) -> Result<Public<L>, KemError> {
        expect_length("public key", Self::PUBLIC, bytes.len())?;
        let key = self.scheme.public_key(bytes).ok_or(KemError::PublicKey)?;
        Ok(Public { key, level: PhantomData })
    }

    fn public_to_bytes(&self, public: &Public<L>, bytes: &mut [u8]) -> Result<(), KemError> {
        expect_length("public key", Self::PUBLIC, bytes.len())?;
        bytes.copy_from_slice(&public.key.bytes);
        Ok(())
    }

    /// Parses a secret key: makes the key pair of the seed in it again and compares, which takes as long as making it.
    fn secret_from_bytes(&self, bytes: &[u8]) -> Result<Secret<L>, KemError> {
        expect_length("secret key", Self::SECRET, bytes.len())?;
        let secret = self.secret_from_seed(&bytes[Self::SECRET - SEED..])?;
        let same = self.secret_to_bytes(&secret)?.ct_eq(bytes);
        if secret::declassified(same.unwrap_u8(), "hqc-secret-key") == 1 {
            Ok(secret)
        } else {
            Err(KemError::SecretKey)
        }
    }

    fn secret_to_bytes(&self, secret: &Secret<L>) -> Result<Zeroizing<Vec<u8>>, KemError> {
        let mut bytes = Zeroizing::new(Vec::with_capacity(Self::SECRET));
        bytes.extend_from_slice(&secret.pair.public.bytes);
        bytes.extend_from_slice(&secret.pair.seeds);
        Ok(bytes)
    }

    /// The secret key of a seed of 32 bytes, which stands at the end of the key's other form.
    fn secret_from_seed(&self, seed: &[u8]) -> Result<Secret<L>, KemError> {
        expect_length("seed of the key pair", SEED, seed.len())?;
        stack::clearing::<FRAMES, _>(|| Ok(Secret { pair: self.scheme.key_pair(seed), level: PhantomData }))
    }

    fn secret_to_seed(&self, secret: &Secret<L>) -> Result<Zeroizing<Vec<u8>>, KemError> {
        Ok(Zeroizing::new(secret.pair.seeds[SEED + L::PARAMETERS.message..].to_vec()))
    }

    fn encapsulate(&self, to: &Public<L>, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        let mut room = Zeroizing::new([0; parameters::MOST_MESSAGE + SALT]);
        let coins = &mut room[..Self::ENCAPSULATE_COINS];
        crate::random(coins)?;
        self.encapsulate_from(to, coins, ciphertext)
    }

    fn decapsulate(&self, with: &Secret<L>, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
        self.decapsulate_in_steps(with, ciphertext, || ())
    }
}

impl<L: Level> DerandomizedKem for Hqc<L> {
    const GENERATE_COINS: usize = SEED;
    /// The message and the salt.
    const ENCAPSULATE_COINS: usize = L::PARAMETERS.message + SALT;

    fn generate_from(&self, coins: &[u8]) -> Result<(Secret<L>, Public<L>), KemError> {
        let secret = self.secret_from_seed(coins)?;
        let key = secret.pair.public.clone();
        Ok((secret, Public { key, level: PhantomData }))
    }

    fn encapsulate_from(&self, to: &Public<L>, coins: &[u8], ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        expect_length("randomness of the encapsulation", Self::ENCAPSULATE_COINS, coins.len())?;
        expect_length("ciphertext", Self::CIPHERTEXT, ciphertext.len())?;
        stack::clearing::<FRAMES, _>(|| {
            let (message, salt) = coins.split_at(L::PARAMETERS.message);
            let both = expand::g(self.scheme.cpu, &to.key.hash, message, salt);
            let (shared, theta) = both.split_at(SharedSecret::LENGTH);
            let (uv, last) = ciphertext.split_at_mut(Self::CIPHERTEXT - SALT);
            self.scheme.encrypt(&to.key, message, theta, uv, &mut || ());
            last.copy_from_slice(salt);
            Ok(SharedSecret::from(core::array::from_fn(|i| shared[i])))
        })
    }
}

impl<L> Clone for Hqc<L> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<L> Copy for Hqc<L> {}

impl<L: Level> Default for Hqc<L> {
    fn default() -> Self {
        Self::new()
    }
}

impl<L: Level> fmt::Debug for Hqc<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({}, {})", L::NAME, self.arm(), self.product_arm())
    }
}

impl<L: Level> fmt::Debug for Secret<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({}, ..)", L::NAME)
    }
}

impl<L: Level> fmt::Debug for Public<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Public({}, ..)", L::NAME)
    }
}

impl<L> Clone for Public<L> {
    fn clone(&self) -> Self {
        Self { key: self.key.clone(), level: PhantomData }
    }
}
