//! The suites: what the messages contain and what goes into the keys.
//!
//! | suite | KE1 | KE2 | KE3 | what |
//! |---|---|---|---|---|
//! | [`Rfc9807`] | 96 | 320 | 64 | OPAQUE-3DH with ristretto255-SHA512, HKDF- and HMAC-SHA-512, to the byte |
//! | [`HybridCompat`] | 1280 | 1408 | 64 | the same and an ephemeral ML-KEM-768 secret: opaque-ke's `TripleDhKem` |
//! | [`Hybrid`] | 1280 | 1408 | 64 | the default: the credential response is encrypted under the KEM's secret as well |
//! | [`HybridPinned`] | 2368 | 1408 | 64 | experimental: the server also proves that it has a KEM key that the client knows |
//!
//! Registration is RFC 9807's in all of them. A record serves the suite that it was made under and all stronger ones.

mod kem;
mod slot;

pub use kem::{SuiteKem, SystemRandomness};
pub use slot::{NoKem, Slot, WithKem};

use core::fmt;

/// A suite; a value of it holds the KEM's back end. This module has all there are.
pub trait Suite: Clone + sealed::Sealed {
    /// The ephemeral KEM, if there is one.
    type Ephemeral: Slot;
    /// The server's static KEM, if there is one.
    type Static: Slot;

    /// The name, as tasks and tables have it.
    const NAME: &'static str;
    /// The name as a value, as records and saved states have it.
    const ID: SuiteId;
    /// Whether the transcript is that of `docs/hybrid.md` and the credential response travels encrypted; otherwise both are RFC 9807's.
    const ENCRYPTED: bool;

    /// Bytes of KE1.
    const KE1: usize = crate::lengths::KE1 + Self::Ephemeral::PUBLIC + Self::Static::CIPHERTEXT;
    /// Bytes of KE2.
    const KE2: usize = crate::lengths::KE2 + Self::Ephemeral::CIPHERTEXT;
    /// Bytes of KE3.
    const KE3: usize = crate::lengths::MAC;

    /// The ephemeral KEM.
    fn ephemeral(&self) -> &Self::Ephemeral;
    /// The server's static KEM.
    fn fixed(&self) -> &Self::Static;
}

/// A suite by its name; the weaker comes before the stronger.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
#[non_exhaustive]
pub enum SuiteId {
    /// [`Rfc9807`].
    Rfc9807 = 1,
    /// [`HybridCompat`].
    HybridCompat = 2,
    /// [`Hybrid`].
    Hybrid = 3,
    /// [`HybridPinned`].
    HybridPinned = 4,
}

impl SuiteId {
    const ALL: [Self; 4] = [Self::Rfc9807, Self::HybridCompat, Self::Hybrid, Self::HybridPinned];

    pub(crate) fn from_byte(byte: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|suite| *suite as u8 == byte)
    }
}

impl fmt::Display for SuiteId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Rfc9807 => "rfc9807",
            Self::HybridCompat => "hybrid-compat",
            Self::Hybrid => "hybrid",
            Self::HybridPinned => "hybrid-pinned",
        })
    }
}

/// RFC 9807 to the byte: OPAQUE-3DH, OPRF(ristretto255, SHA-512), HKDF-SHA-512, HMAC-SHA-512, ristretto255.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rfc9807;

/// Wire- and key-compatible with opaque-ke 4.1's `TripleDhKem<Ristretto255, Sha512, MlKem768>`.
///
/// An attacker who records a login today and breaks the curve later does not get its session key. He can try passwords on what he
/// recorded, though.
#[derive(Clone, Copy, Debug, Default)]
pub struct HybridCompat<K>(WithKem<K>);

/// The default. As [`HybridCompat`], but a listener sees one uniformly random element and has nothing to try passwords on, even if he breaks
/// the curve later. `docs/hybrid.md` specifies it, with the argument and its limits.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hybrid<K>(WithKem<K>);

/// **Experimental.** As [`Hybrid`], and the client encapsulates to a KEM key of the server that it already holds, so that breaking the curve
/// does not suffice to impersonate the server. For devices that have met the server before.
#[derive(Clone, Copy, Debug, Default)]
pub struct HybridPinned<K>(WithKem<K>);

impl<K> HybridCompat<K> {
    /// The suite on this back end.
    pub fn new(kem: K) -> Self {
        Self(WithKem(kem))
    }
}

impl<K> Hybrid<K> {
    /// The suite on this back end.
    pub fn new(kem: K) -> Self {
        Self(WithKem(kem))
    }
}

impl<K> HybridPinned<K> {
    /// The suite on this back end.
    pub fn new(kem: K) -> Self {
        Self(WithKem(kem))
    }
}

impl Suite for Rfc9807 {
    type Ephemeral = NoKem;
    type Static = NoKem;
    const NAME: &'static str = "rfc9807";
    const ID: SuiteId = SuiteId::Rfc9807;
    const ENCRYPTED: bool = false;

    fn ephemeral(&self) -> &NoKem {
        &NoKem
    }
    fn fixed(&self) -> &NoKem {
        &NoKem
    }
}

impl<K: SuiteKem> Suite for HybridCompat<K> {
    type Ephemeral = WithKem<K>;
    type Static = NoKem;
    const NAME: &'static str = "hybrid-compat";
    const ID: SuiteId = SuiteId::HybridCompat;
    const ENCRYPTED: bool = false;

    fn ephemeral(&self) -> &WithKem<K> {
        &self.0
    }
    fn fixed(&self) -> &NoKem {
        &NoKem
    }
}

impl<K: SuiteKem> Suite for Hybrid<K> {
    type Ephemeral = WithKem<K>;
    type Static = NoKem;
    const NAME: &'static str = "hybrid";
    const ID: SuiteId = SuiteId::Hybrid;
    const ENCRYPTED: bool = true;

    fn ephemeral(&self) -> &WithKem<K> {
        &self.0
    }
    fn fixed(&self) -> &NoKem {
        &NoKem
    }
}

impl<K: SuiteKem> Suite for HybridPinned<K> {
    type Ephemeral = WithKem<K>;
    type Static = WithKem<K>;
    const NAME: &'static str = "hybrid-pinned";
    const ID: SuiteId = SuiteId::HybridPinned;
    const ENCRYPTED: bool = true;

    fn ephemeral(&self) -> &WithKem<K> {
        &self.0
    }
    fn fixed(&self) -> &WithKem<K> {
        &self.0
    }
}

mod sealed {
    pub trait Sealed {}
    impl Sealed for super::Rfc9807 {}
    impl<K> Sealed for super::HybridCompat<K> {}
    impl<K> Sealed for super::Hybrid<K> {}
    impl<K> Sealed for super::HybridPinned<K> {}
}
