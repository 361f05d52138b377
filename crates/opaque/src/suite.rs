//! The suites: which messages there are and what is mixed into the keys.
//!
//! | suite | KE1 | KE2 | KE3 | what |
//! |---|---|---|---|---|
//! | [`Rfc9807`] | 96 | 320 | 64 | OPAQUE-3DH with ristretto255-SHA512, HKDF- and HMAC-SHA-512, to the byte |
//! | [`HybridCompat`] | 1280 | 1408 | 64 | the same and an ephemeral ML-KEM-768 secret: opaque-ke's `TripleDhKem` |
//! | [`Hybrid`] | 1280 | 1408 | 64 | the default: the credential response is encrypted under the KEM's secret as well |
//! | [`HybridPinned`] | 2368 | 1408 | 64 | experimental: besides, the server proves itself by a KEM key that the client holds |
//!
//! Registration is that of RFC 9807 in all of them, and records made under one serve the others.

mod slot;

pub use slot::{NoKem, Slot, WithKem};

use candor_primitives::kem::Kem;

/// A suite; a value of it holds the KEM's back end. There are no others than those of this module.
pub trait Suite: Clone + sealed::Sealed {
    /// The ephemeral KEM, if there is one.
    type Ephemeral: Slot;
    /// The server's static KEM, if there is one.
    type Static: Slot;

    /// The name, as tasks and tables have it.
    const NAME: &'static str;
    /// What a saved state begins with.
    const ID: u8;
    /// Whether the transcript is that of `docs/hybrid.md` and the credential response travels encrypted; otherwise both are RFC 9807's.
    const ENCRYPTED: bool;

    /// Bytes of KE1.
    const KE1: usize = crate::messages::KE1 + Self::Ephemeral::PUBLIC + Self::Static::CIPHERTEXT;
    /// Bytes of KE2.
    const KE2: usize = crate::messages::KE2 + Self::Ephemeral::CIPHERTEXT;
    /// Bytes of KE3.
    const KE3: usize = crate::messages::MAC;

    /// The ephemeral KEM.
    fn ephemeral(&self) -> &Self::Ephemeral;
    /// The server's static KEM.
    fn fixed(&self) -> &Self::Static;
}

/// RFC 9807 to the byte: OPAQUE-3DH, OPRF(ristretto255, SHA-512), HKDF-SHA-512, HMAC-SHA-512, ristretto255.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rfc9807;

/// Wire- and key-compatible with opaque-ke 4.1's `TripleDhKem<Ristretto255, Sha512, MlKem768>`.
///
/// Session keys are safe from who records today and breaks the curve later. The OPRF's messages are not: he can then try
/// passwords on what he recorded.
#[derive(Clone, Copy, Debug, Default)]
pub struct HybridCompat<K>(WithKem<K>);

/// The default: as [`HybridCompat`], and who only listened sees one uniformly random element and nothing to try passwords on.
/// Specified, with argument and limits, in `docs/hybrid.md`.
#[derive(Clone, Copy, Debug, Default)]
pub struct Hybrid<K>(WithKem<K>);

/// **Experimental.** As [`Hybrid`], and the client encapsulates to a KEM key of the server's that it already holds, so that
/// breaking the curve does not suffice to pass for the server. For devices that have met the server before.
#[derive(Clone, Copy, Debug, Default)]
pub struct HybridPinned<K>(WithKem<K>);

impl<K> HybridCompat<K> {
    /// Over this back end.
    pub fn new(kem: K) -> Self {
        Self(WithKem(kem))
    }
}

impl<K> Hybrid<K> {
    /// Over this back end.
    pub fn new(kem: K) -> Self {
        Self(WithKem(kem))
    }
}

impl<K> HybridPinned<K> {
    /// Over this back end.
    pub fn new(kem: K) -> Self {
        Self(WithKem(kem))
    }
}

impl Suite for Rfc9807 {
    type Ephemeral = NoKem;
    type Static = NoKem;
    const NAME: &'static str = "rfc9807";
    const ID: u8 = 1;
    const ENCRYPTED: bool = false;

    fn ephemeral(&self) -> &NoKem {
        &NoKem
    }
    fn fixed(&self) -> &NoKem {
        &NoKem
    }
}

impl<K: Kem + Clone> Suite for HybridCompat<K> {
    type Ephemeral = WithKem<K>;
    type Static = NoKem;
    const NAME: &'static str = "hybrid-compat";
    const ID: u8 = 2;
    const ENCRYPTED: bool = false;

    fn ephemeral(&self) -> &WithKem<K> {
        &self.0
    }
    fn fixed(&self) -> &NoKem {
        &NoKem
    }
}

impl<K: Kem + Clone> Suite for Hybrid<K> {
    type Ephemeral = WithKem<K>;
    type Static = NoKem;
    const NAME: &'static str = "hybrid";
    const ID: u8 = 3;
    const ENCRYPTED: bool = true;

    fn ephemeral(&self) -> &WithKem<K> {
        &self.0
    }
    fn fixed(&self) -> &NoKem {
        &NoKem
    }
}

impl<K: Kem + Clone> Suite for HybridPinned<K> {
    type Ephemeral = WithKem<K>;
    type Static = WithKem<K>;
    const NAME: &'static str = "hybrid-pinned";
    const ID: u8 = 4;
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
