//! Classic McEliece: key encapsulation from binary Goppa codes, in the form of the submission to round 4 of NIST's competition (specification of
//! 2022-10-23) and, but for the two smallest sets, of ISO/IEC 18033-2:2006/Amd 2:2026 without plaintext confirmation.
//!
//! Public keys are large, a quarter of a megabyte to 1.3 MB, and take long to make; ciphertexts have 96 to 208 bytes. The sets with an
//! f make keys of the same distribution and security in less time, because they need fewer attempts. Keys of a set with an f and of that without
//! fit together, as far as the public key and the ciphertext go.
//!
//! Parsing a key fails if its length is wrong, if a public key has bits beyond its columns (sets 6960119 alone), or if the polynomial, the order of the
//! field and the rejection secret of a secret key are not those that its seed gives. Whether the seed's matrix has a systematic form, and c of the sets with an f, is not
//! checked, since that would take as long as making the key; who makes such a secret key has none but himself to harm. A ciphertext of the right length never fails: if `encapsulate` did not make it for this key, or if it has bits
//! beyond its length, the result is a pseudorandom secret (implicit rejection).
//!
//! ```
//! use candor_codes::mceliece::Mceliece348864f;
//! use candor_primitives::kem::Kem;
//!
//! let kem = Mceliece348864f::new();
//! let (secret, public) = kem.generate()?;
//! let mut ciphertext = vec![0; Mceliece348864f::CIPHERTEXT];
//! let ours = kem.encapsulate(&public, &mut ciphertext)?;
//! assert!(ours == kem.decapsulate(&secret, &ciphertext)?);
//! # Ok::<(), candor_primitives::kem::KemError>(())
//! ```

mod arm_mux;
mod benes;
mod columns;
mod control;
mod decode;
mod encode;
mod generate;
mod parameters;
mod permutation;
mod polynomial;
pub mod polynomial_products;
mod systematic;
mod transform;
mod weight;

pub use parameters::Parameters;

use crate::expect_length;
use crate::words::{self, Words};
use alloc::boxed::Box;
use alloc::vec::Vec;
use arm_mux::Arm;
use candor_cpu::{Cpu, secret};
use candor_primitives::hash::{ExtendableOutput, Shake256, Update, XofReader};
use candor_primitives::kem::{DerandomizedKem, Kem, KemError};
use candor_primitives::{SharedSecret, stack};
use core::fmt;
use core::marker::PhantomData;
use decode::DecodingKey;
use generate::{KeyPair, Layout};
use parameters::{MOST_ERRORS, SEED};
use rand_core::CryptoRng;
use subtle::{Choice, ConstantTimeEq};
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// Classic McEliece with one parameter set. It is small and `Copy`, and stores the arm that it runs on.
pub struct Mceliece<S> {
    cpu: Cpu,
    arm: Arm,
    set: PhantomData<S>,
}

/// A parameter set; implemented by [`Set348864`] and its like alone.
pub trait ParameterSet: sealed::Sealed + Send + Sync + 'static {
    #[doc(hidden)]
    const PARAMETERS: &'static Parameters;
    #[doc(hidden)]
    const NAME: &'static str;
}

mod sealed {
    pub trait Sealed {}
}

macro_rules! sets {
    ($($kem:ident, $set:ident, $name:literal, $parameters:ident, $what:literal;)+) => {
        $(
            #[doc = $what]
            pub type $kem = Mceliece<$set>;

            #[doc = concat!("The parameters of [`", stringify!($kem), "`].")]
            #[derive(Clone, Copy, Debug)]
            pub enum $set {}
            impl sealed::Sealed for $set {}
            impl ParameterSet for $set {
                const PARAMETERS: &'static Parameters = &parameters::$parameters;
                const NAME: &'static str = $name;
            }
        )+
    };
}

sets! {
    Mceliece348864, Set348864, "mceliece348864", MCELIECE_348864, "n = 3488, t = 64: category 1.";
    Mceliece348864f, Set348864f, "mceliece348864f", MCELIECE_348864F, "The same with faster key generation.";
    Mceliece460896, Set460896, "mceliece460896", MCELIECE_460896, "n = 4608, t = 96: category 3.";
    Mceliece460896f, Set460896f, "mceliece460896f", MCELIECE_460896F, "The same with faster key generation.";
    Mceliece6688128, Set6688128, "mceliece6688128", MCELIECE_6688128, "n = 6688, t = 128: category 5.";
    Mceliece6688128f, Set6688128f, "mceliece6688128f", MCELIECE_6688128F, "The same with faster key generation.";
    Mceliece6960119, Set6960119, "mceliece6960119", MCELIECE_6960119, "n = 6960, t = 119: category 5.";
    Mceliece6960119f, Set6960119f, "mceliece6960119f", MCELIECE_6960119F, "The same with faster key generation.";
    Mceliece8192128, Set8192128, "mceliece8192128", MCELIECE_8192128, "n = 8192, t = 128: category 5.";
    Mceliece8192128f, Set8192128f, "mceliece8192128f", MCELIECE_8192128F, "The same with faster key generation.";
}

/// A decapsulation key of one set: its bytes, and what decoding computes from them once. It is wiped on drop.
pub struct Secret<S> {
    bytes: Zeroizing<Box<[u8]>>,
    decoding: DecodingKey,
    set: PhantomData<S>,
}

impl<S> ZeroizeOnDrop for Secret<S> {}

/// An encapsulation key of one set, on the heap.
pub struct Public<S> {
    matrix: Box<[u8]>,
    set: PhantomData<S>,
}

/// Bytes of stack that an operation uses.
const FRAMES: usize = 24 << 10;
/// What an encapsulation uses, which takes a few microseconds: clearing more than that would show.
const ENCAPSULATION_FRAMES: usize = 8 << 10;
/// Attempts at an error vector, of which each works with a probability above a quarter. A generator that uses them all is broken.
const ATTEMPTS: usize = 1000;
/// What the hash begins with for a ciphertext that has an error vector.
const ACCEPTED: u8 = 1;

impl<S: ParameterSet> Mceliece<S> {
    const SET: &'static Parameters = S::PARAMETERS;
    const LAYOUT: Layout = Layout::of(S::PARAMETERS);
    /// Bytes of an error vector: n bits.
    pub const ERROR: usize = S::PARAMETERS.vector();

    /// On the best arm of [`Cpu::default`].
    #[must_use]
    pub fn new() -> Self {
        Self::with_cpu(Cpu::default())
    }

    /// On the best arm that `cpu` allows.
    #[must_use]
    pub fn with_cpu(cpu: Cpu) -> Self {
        Self { cpu, arm: Arm::choose(cpu), set: PhantomData }
    }

    /// The arm of all kernels, `avx512`, `avx2` or `portable`. Seeds are expanded and shared secrets hashed on the arm of
    /// [`Shake256`].
    #[must_use]
    pub fn arm(&self) -> &'static str {
        self.arm.name()
    }

    /// Decoding alone, for measurements: writes the error vector of weight t that a ciphertext carries into `error`, [`Self::ERROR`] bytes, and says
    /// whether there is one. If not, `error` is zeros.
    ///
    /// # Errors
    /// [`KemError::Length`].
    pub fn decode(&self, with: &Secret<S>, ciphertext: &[u8], error: &mut [u8]) -> Result<Choice, KemError> {
        expect_length("ciphertext", Self::CIPHERTEXT, ciphertext.len())?;
        expect_length("error vector", Self::ERROR, error.len())?;
        secret::takes("mceliece/decode", &with.bytes[..]);
        stack::clearing::<FRAMES, _>(|| {
            let mut found = Words::zero(Self::SET.n.div_ceil(64));
            let good = self.decoded(with, ciphertext, &mut found, &mut || ());
            found.iter_mut().for_each(|word| *word &= good);
            words::to_bytes(&found, error);
            Ok(Choice::from((good & 1) as u8))
        })
    }

    /// A secret key that [`secret_to_bytes`](Kem::secret_to_bytes) wrote and that came back from storage which nobody else can write to: nothing but the length
    /// is checked, and no part of the key is made again from its seed, which is what takes [`secret_from_bytes`](Kem::secret_from_bytes) milliseconds.
    /// Bytes that were changed give a key that decapsulates what others encapsulate to a wrong secret, or to the right one.
    ///
    /// # Errors
    /// [`KemError::Length`].
    pub fn secret_from_trusted_bytes(&self, bytes: &[u8]) -> Result<Secret<S>, KemError> {
        expect_length("secret key", Self::SECRET, bytes.len())?;
        secret::takes("mceliece/secret_from_trusted_bytes", bytes);
        stack::clearing::<FRAMES, _>(|| Ok(self.secret(Zeroizing::new(bytes.into()))))
    }

    /// What [`decapsulate_in_steps`](Self::decapsulate_in_steps) does, step by step.
    pub const STEPS: [&str; 6] = ["network-back", "syndromes", "locator", "roots", "reencoding", "hashing"];

    /// [`decapsulate`](Kem::decapsulate), for measurements: `step` is called at the end of each of the [`STEPS`](Self::STEPS).
    ///
    /// # Errors
    /// [`KemError::Length`].
    // ct: public, because it is all that `decapsulate` is, and the gate has that
    pub fn decapsulate_in_steps(
        &self,
        with: &Secret<S>,
        ciphertext: &[u8],
        mut step: impl FnMut(),
    ) -> Result<SharedSecret, KemError> {
        expect_length("ciphertext", Self::CIPHERTEXT, ciphertext.len())?;
        stack::clearing::<FRAMES, _>(|| {
            let mut error = Words::zero(Self::SET.n.div_ceil(64));
            let good = self.decoded(with, ciphertext, &mut error, &mut step);
            let rejection = Words::from_bytes(&with.bytes[Self::LAYOUT.rejection], error.len());
            error.iter_mut().zip(rejection.iter()).for_each(|(error, s)| *error = s ^ ((*error ^ s) & good));
            let shared = self.shared(ACCEPTED & good as u8, &error, ciphertext);
            step();
            Ok(shared)
        })
    }

    /// Decodes into `error`. All ones if there is an error vector, and the ciphertext has no bit beyond its length.
    fn decoded(&self, with: &Secret<S>, ciphertext: &[u8], error: &mut [u64], step: &mut impl FnMut()) -> u64 {
        let decoded = with.decoding.decode(self.arm, ciphertext, error, step);
        let last = ciphertext[ciphertext.len() - 1] & !last_byte(Self::SET.rows());
        decoded & 0u64.wrapping_sub(u64::from(last.ct_eq(&0).unwrap_u8()))
    }

    /// Encapsulates with an error vector that is made of what `fill` gives.
    fn encapsulate_by(
        &self,
        to: &Public<S>,
        ciphertext: &mut [u8],
        mut fill: impl FnMut(&mut [u8]) -> Result<(), KemError>,
    ) -> Result<SharedSecret, KemError> {
        expect_length("ciphertext", Self::CIPHERTEXT, ciphertext.len())?;
        stack::clearing::<ENCAPSULATION_FRAMES, _>(|| {
            let mut room = Zeroizing::new([0; 4 * MOST_ERRORS]);
            let random = &mut room[..2 * Self::SET.candidates()];
            let mut error = Words::zero(Self::SET.n.div_ceil(64));
            for _ in 0..ATTEMPTS {
                fill(random)?;
                if weight::attempt(self.arm, Self::SET, random, &mut error) {
                    encode::encode(self.arm, Self::SET, &to.matrix, &error, ciphertext);
                    return Ok(self.shared(ACCEPTED, &error, ciphertext));
                }
            }
            Err(KemError::Randomness)
        })
    }

    /// The session key: SHAKE256 of a byte, n bits and the ciphertext.
    fn shared(&self, first: u8, bits: &[u64], ciphertext: &[u8]) -> SharedSecret {
        let mut bytes = Zeroizing::new(alloc::vec![0; Self::ERROR]);
        words::to_bytes(bits, &mut bytes);
        let mut shake = Shake256::with_cpu(self.cpu);
        [&[first], &bytes[..], ciphertext].into_iter().for_each(|part| shake.update(part));
        let mut shared = Zeroizing::new([0; SharedSecret::LENGTH]);
        shake.finalize_xof().read(&mut *shared);
        SharedSecret::from(*shared)
    }

    /// From the bytes of a key that is right.
    fn secret(&self, bytes: Zeroizing<Box<[u8]>>) -> Secret<S> {
        let mut polynomial = Zeroizing::new([0; MOST_ERRORS]);
        let coefficients = bytes[Self::LAYOUT.polynomial].as_chunks::<2>().0;
        polynomial.iter_mut().zip(coefficients).for_each(|(to, bytes)| *to = u16::from_le_bytes(*bytes));
        let decoding = DecodingKey::new(self.arm, Self::SET, &polynomial[..Self::SET.t], &bytes[Self::LAYOUT.control]);
        Secret { bytes, decoding, set: PhantomData }
    }

    fn pair(&self, seed: &[u8]) -> Result<(Secret<S>, Public<S>), KemError> {
        expect_length("seed of the key pair", SEED, seed.len())?;
        stack::clearing::<FRAMES, _>(|| {
            let KeyPair { secret, public } = generate::key_pair(self.cpu, self.arm, Self::SET, seed);
            Ok((self.secret(secret), Public { matrix: public, set: PhantomData }))
        })
    }
}

impl<S: ParameterSet> Kem for Mceliece<S> {
    type Secret = Secret<S>;
    type Public = Public<S>;

    const NAME: &'static str = S::NAME;
    const PUBLIC: usize = S::PARAMETERS.public();
    const SECRET: usize = S::PARAMETERS.secret();
    const CIPHERTEXT: usize = S::PARAMETERS.ciphertext();

    fn generate(&self) -> Result<(Secret<S>, Public<S>), KemError> {
        let mut seed = Zeroizing::new([0; SEED]);
        crate::random(&mut *seed)?;
        self.pair(&*seed)
    }

    fn public_from_bytes(&self, bytes: &[u8]) -> Result<Public<S>, KemError> {
        expect_length("public key", Self::PUBLIC, bytes.len())?;
        let unused = !last_byte(Self::SET.columns());
        if bytes.chunks_exact(Self::SET.row_bytes()).any(|row| row[row.len() - 1] & unused != 0) {
            return Err(KemError::PublicKey);
        }
        Ok(Public { matrix: bytes.into(), set: PhantomData })
    }

    fn public_to_bytes(&self, public: &Public<S>, bytes: &mut [u8]) -> Result<(), KemError> {
        expect_length("public key", Self::PUBLIC, bytes.len())?;
        bytes.copy_from_slice(&public.matrix);
        Ok(())
    }

    /// Parses a secret key: makes it again from the seed in it and compares. c and the matrix are not made, as the module's documentation says.
    fn secret_from_bytes(&self, bytes: &[u8]) -> Result<Secret<S>, KemError> {
        expect_length("secret key", Self::SECRET, bytes.len())?;
        stack::clearing::<FRAMES, _>(|| {
            let same = generate::is_consistent(self.cpu, self.arm, Self::SET, bytes);
            if secret::declassified(same, "mceliece-secret-key") == 1 {
                Ok(self.secret(Zeroizing::new(bytes.into())))
            } else {
                Err(KemError::SecretKey)
            }
        })
    }

    fn secret_to_bytes(&self, secret: &Secret<S>) -> Result<Zeroizing<Vec<u8>>, KemError> {
        Ok(Zeroizing::new(secret.bytes.to_vec()))
    }

    /// The secret key of a seed of 32 bytes. The key that it gives may begin with another seed, if this one takes more than one attempt.
    fn secret_from_seed(&self, seed: &[u8]) -> Result<Secret<S>, KemError> {
        self.pair(seed).map(|(secret, _)| secret)
    }

    /// The first 32 bytes of the key, δ: the seed of the attempt that made it.
    fn secret_to_seed(&self, secret: &Secret<S>) -> Result<Zeroizing<Vec<u8>>, KemError> {
        Ok(Zeroizing::new(secret.bytes[Self::LAYOUT.seed].to_vec()))
    }

    fn encapsulate(&self, to: &Public<S>, ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        self.encapsulate_by(to, ciphertext, crate::random)
    }

    fn decapsulate(&self, with: &Secret<S>, ciphertext: &[u8]) -> Result<SharedSecret, KemError> {
        self.decapsulate_in_steps(with, ciphertext, || ())
    }
}

impl<S: ParameterSet> DerandomizedKem for Mceliece<S> {
    const GENERATE_COINS: usize = SEED;
    /// A seed: the specification draws error vectors from a generator, which is SHAKE256 of the coins here.
    const ENCAPSULATE_COINS: usize = SEED;

    fn generate_from(&self, coins: &[u8]) -> Result<(Secret<S>, Public<S>), KemError> {
        self.pair(coins)
    }

    fn encapsulate_from(&self, to: &Public<S>, coins: &[u8], ciphertext: &mut [u8]) -> Result<SharedSecret, KemError> {
        expect_length("randomness of the encapsulation", SEED, coins.len())?;
        // The generator moves, and leaves the coins where it was.
        stack::clearing::<ENCAPSULATION_FRAMES, _>(|| {
            let mut shake = Shake256::with_cpu(self.cpu);
            shake.update(coins);
            let mut reader = shake.finalize_xof();
            self.encapsulate_by(to, ciphertext, |bytes| {
                reader.read(bytes);
                Ok(())
            })
        })
    }

    /// Draws each attempt at an error vector from `rng`, as the specification does: with NIST's generator the result is NIST's known answer.
    ///
    /// # Errors
    /// [`KemError::Length`]; [`KemError::Randomness`] if `rng` gives no error vector in a thousand attempts.
    fn encapsulate_with(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        to: &Public<S>,
        ciphertext: &mut [u8],
    ) -> Result<SharedSecret, KemError> {
        self.encapsulate_by(to, ciphertext, |bytes| {
            rng.fill_bytes(bytes);
            Ok(())
        })
    }
}

impl<S> Clone for Mceliece<S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<S> Copy for Mceliece<S> {}

impl<S: ParameterSet> Default for Mceliece<S> {
    fn default() -> Self {
        Self::new()
    }
}

impl<S: ParameterSet> fmt::Debug for Mceliece<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}({})", S::NAME, self.arm())
    }
}

impl<S: ParameterSet> fmt::Debug for Secret<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secret({}, ..)", S::NAME)
    }
}

impl<S: ParameterSet> fmt::Debug for Public<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Public({}, ..)", S::NAME)
    }
}

impl<S> Clone for Public<S> {
    fn clone(&self) -> Self {
        Self { matrix: self.matrix.clone(), set: PhantomData }
    }
}

/// The bits of the last byte that belong to a vector of so many.
const fn last_byte(bits: usize) -> u8 {
    0xff >> (bits.next_multiple_of(8) - bits)
}

#[cfg(test)]
mod tests {
    use super::arm_mux::Arm;
    use candor_cpu::Cpu;
    use std::vec::Vec;

    /// The arms of this CPU, the best first.
    pub(crate) fn arms() -> Vec<Arm> {
        let mut arms: Vec<Arm> =
            Cpu::tiers().filter_map(|tier| Some(Arm::choose(Cpu::named(tier.name).ok()?))).collect();
        arms.reverse();
        arms.dedup_by_key(|arm| arm.name());
        arms
    }

    /// SplitMix64 from a seed.
    pub(crate) fn random(seed: u64) -> impl FnMut() -> u64 {
        let mut state = seed;
        move || {
            state = state.wrapping_add(0x9e3779b97f4a7c15);
            let mut word = state;
            word = (word ^ word >> 30).wrapping_mul(0xbf58476d1ce4e5b9);
            word = (word ^ word >> 27).wrapping_mul(0x94d049bb133111eb);
            word ^ word >> 31
        }
    }
}
