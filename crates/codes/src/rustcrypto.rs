//! Both KEMs behind the traits of RustCrypto's crate `kem` (feature `kem`).
//!
//! A secret key is its seed of 32 bytes there, as that crate recommends: [`KeyInit`] makes the key of a seed, [`KeyExport`] gives the seed back. For Classic
//! McEliece that is a whole key generation, 4 to 19 ms with an `f` on a Zen 4 and a few times that without; [`crate::mceliece`] reads stored keys faster.
//! All work on the best arms of [`Cpu::default`](candor_cpu::Cpu).
//!
//! That crate hands keys, ciphertexts and shared keys over by value, and nothing wipes a shared key or a seed that was given as an array. A public key of Classic
//! McEliece that [`KeyExport::to_bytes`] gives is 261120 to 1357824 bytes on the caller's stack, more than once in a program that is not optimised.
//! [`EncapsulationKey::write_to`] writes it where the caller wants it, and [`TryKeyInit::new_from_slice`] reads it from there: neither puts a key on the stack.
//!
//! ```
//! use candor_codes::rustcrypto::Hqc1;
//! use kem::{Decapsulate, Encapsulate, FromSeed};
//!
//! let (secret, public) = Hqc1::from_seed(&[7; 32].into());
//! # struct Numbers;
//! # impl rand_core::TryRng for Numbers {
//! #     type Error = core::convert::Infallible;
//! #     fn try_next_u32(&mut self) -> Result<u32, Self::Error> { Ok(4) }
//! #     fn try_next_u64(&mut self) -> Result<u64, Self::Error> { Ok(4) }
//! #     fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> { bytes.fill(4); Ok(()) }
//! # }
//! # impl rand_core::TryCryptoRng for Numbers {}
//! # let mut rng = Numbers;
//! let (ciphertext, ours) = public.encapsulate_with_rng(&mut rng);
//! assert_eq!(ours, secret.decapsulate(&ciphertext));
//! ```

use candor_primitives::kem::{DerandomizedKem, Kem, KemError};
use core::fmt;
use hybrid_array::ArraySize;
use hybrid_array::sizes::*;
use hybrid_array::typenum::Unsigned;
use kem::{Ciphertext, Decapsulate, Decapsulator, Encapsulate, Generate, InvalidKey, Key, KeyExport, KeyInit};
use kem::{KeySizeUser, SharedKey, TryKeyInit};
use rand_core::{CryptoRng, TryCryptoRng};
use zeroize::{ZeroizeOnDrop, Zeroizing};

/// Bytes of a secret key here: those of a seed, which all KEMs of this crate have alike.
const SEED: usize = 32;

mod sealed {
    /// What only the types of this module are.
    pub trait Sealed {}
}

/// A KEM of this crate as `kem` wants it; implemented by the types of this module alone.
pub trait Algorithm: sealed::Sealed
    + kem::Kem<DecapsulationKey = DecapsulationKey<Self>, EncapsulationKey = EncapsulationKey<Self>, SharedKeySize = U32>
{
    #[doc(hidden)]
    type Inner: DerandomizedKem<Secret: ZeroizeOnDrop, Public: Clone + Send + Sync> + Copy + Default + Send + Sync;
    /// Bytes of a public key.
    type PublicSize: ArraySize;
}

macro_rules! algorithms {
    ($($name:ident: $module:ident, $public:ident, $ciphertext:ident;)+) => {
        $(
            #[doc = concat!("[`", stringify!($name), "`](crate::", stringify!($module), "::", stringify!($name), ").")]
            #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
            pub struct $name;

            impl kem::Kem for $name {
                type DecapsulationKey = DecapsulationKey<Self>;
                type EncapsulationKey = EncapsulationKey<Self>;
                type SharedKeySize = U32;
                type CiphertextSize = $ciphertext;
            }

            impl sealed::Sealed for $name {}

            impl Algorithm for $name {
                type Inner = crate::$module::$name;
                type PublicSize = $public;
            }

            const _: () = {
                assert!(<$public as Unsigned>::USIZE == <crate::$module::$name as Kem>::PUBLIC);
                assert!(<$ciphertext as Unsigned>::USIZE == <crate::$module::$name as Kem>::CIPHERTEXT);
                assert!(<crate::$module::$name as DerandomizedKem>::GENERATE_COINS == SEED);
            };
        )+
    };
}

algorithms! {
    Hqc1: hqc, U2241, U4433;
    Hqc3: hqc, U4514, U8978;
    Hqc5: hqc, U7237, U14421;
    Mceliece348864: mceliece, U261120, U96;
    Mceliece348864f: mceliece, U261120, U96;
    Mceliece460896: mceliece, U524160, U156;
    Mceliece460896f: mceliece, U524160, U156;
    Mceliece6688128: mceliece, U1044992, U208;
    Mceliece6688128f: mceliece, U1044992, U208;
    Mceliece6960119: mceliece, U1047319, U194;
    Mceliece6960119f: mceliece, U1047319, U194;
    Mceliece8192128: mceliece, U1357824, U208;
    Mceliece8192128f: mceliece, U1357824, U208;
}

/// A decapsulation key, with the encapsulation key that belongs to it. The secret is wiped on drop.
pub struct DecapsulationKey<A: Algorithm> {
    secret: <A::Inner as Kem>::Secret,
    public: EncapsulationKey<A>,
}

/// An encapsulation key.
pub struct EncapsulationKey<A: Algorithm> {
    kem: A::Inner,
    public: <A::Inner as Kem>::Public,
}

impl<A: Algorithm> DecapsulationKey<A> {
    fn of_seed(seed: &[u8]) -> Self {
        let kem = A::Inner::default();
        let (secret, public) = kem.generate_from(seed).expect("a seed of 32 bytes has a key");
        Self { secret, public: EncapsulationKey { kem, public } }
    }
}

impl<A: Algorithm> EncapsulationKey<A> {
    /// Bytes of an encoded key.
    pub const LENGTH: usize = A::Inner::PUBLIC;

    /// Writes the key into `bytes`, [`LENGTH`](Self::LENGTH) of them: what [`KeyExport::to_bytes`] gives, without a copy on the stack.
    ///
    /// # Errors
    /// [`KemError::Length`].
    // ct: public, because encapsulation keys are
    pub fn write_to(&self, bytes: &mut [u8]) -> Result<(), KemError> {
        self.kem.public_to_bytes(&self.public, bytes)
    }
}

/// Its secret wipes itself.
impl<A: Algorithm> ZeroizeOnDrop for DecapsulationKey<A> {}

impl<A: Algorithm> KeySizeUser for DecapsulationKey<A> {
    type KeySize = U32;
}

impl<A: Algorithm> KeyInit for DecapsulationKey<A> {
    fn new(seed: &Key<Self>) -> Self {
        Self::of_seed(seed)
    }
}

impl<A: Algorithm> KeyExport for DecapsulationKey<A> {
    fn to_bytes(&self) -> Key<Self> {
        let seed = self.public.kem.secret_to_seed(&self.secret).expect("all keys of this crate have a seed");
        Key::<Self>::try_from(&seed[..]).expect("it has 32 bytes")
    }
}

impl<A: Algorithm> Generate for DecapsulationKey<A> {
    fn try_generate_from_rng<R: TryCryptoRng + ?Sized>(rng: &mut R) -> Result<Self, R::Error> {
        let mut seed = Zeroizing::new([0; SEED]);
        rng.try_fill_bytes(&mut *seed)?;
        Ok(Self::of_seed(&*seed))
    }
}

impl<A: Algorithm> Decapsulator for DecapsulationKey<A> {
    type Kem = A;

    fn encapsulation_key(&self) -> &EncapsulationKey<A> {
        &self.public
    }
}

impl<A: Algorithm> Decapsulate for DecapsulationKey<A> {
    fn decapsulate(&self, ciphertext: &Ciphertext<A>) -> SharedKey<A> {
        let shared = self.public.kem.decapsulate(&self.secret, ciphertext).expect("a ciphertext of the right length");
        SharedKey::<A>::from(*shared.as_bytes())
    }
}

impl<A: Algorithm> KeySizeUser for EncapsulationKey<A> {
    type KeySize = A::PublicSize;
}

impl<A: Algorithm> TryKeyInit for EncapsulationKey<A> {
    fn new(key: &Key<Self>) -> Result<Self, InvalidKey> {
        let kem = A::Inner::default();
        let public = kem.public_from_bytes(key).map_err(|_| InvalidKey)?;
        Ok(Self { kem, public })
    }
}

impl<A: Algorithm> KeyExport for EncapsulationKey<A> {
    fn to_bytes(&self) -> Key<Self> {
        let mut bytes = Key::<Self>::default();
        self.write_to(&mut bytes).expect("room for a key");
        bytes
    }
}

impl<A: Algorithm> Encapsulate for EncapsulationKey<A> {
    type Kem = A;

    /// # Panics
    /// If `rng` gives Classic McEliece no error vector in a thousand attempts, of which each works with a probability above a quarter.
    fn encapsulate_with_rng<R: CryptoRng + ?Sized>(&self, rng: &mut R) -> (Ciphertext<A>, SharedKey<A>) {
        let mut ciphertext = Ciphertext::<A>::default();
        let shared = self.kem.encapsulate_with(rng, &self.public, &mut ciphertext);
        let shared = shared.expect("a generator whose numbers are random");
        (ciphertext, SharedKey::<A>::from(*shared.as_bytes()))
    }
}

impl<A: Algorithm> Clone for EncapsulationKey<A> {
    fn clone(&self) -> Self {
        Self { kem: self.kem, public: self.public.clone() }
    }
}

impl<A: Algorithm> PartialEq for EncapsulationKey<A> {
    // ct: public, because encapsulation keys are
    fn eq(&self, other: &Self) -> bool {
        let [ours, theirs] = [self, other].map(|key| {
            let mut bytes = alloc::vec![0; A::Inner::PUBLIC];
            key.write_to(&mut bytes).expect("room for a key");
            bytes
        });
        ours == theirs
    }
}

impl<A: Algorithm> Eq for EncapsulationKey<A> {}

impl<A: Algorithm> fmt::Debug for EncapsulationKey<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EncapsulationKey({}, ..)", A::Inner::NAME)
    }
}

impl<A: Algorithm> fmt::Debug for DecapsulationKey<A> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DecapsulationKey({}, ..)", A::Inner::NAME)
    }
}
