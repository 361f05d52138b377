//! The client: registers once, logs in often.

mod login;
mod registration;

pub use login::{ClientLogin, LoggedIn};
pub use registration::{ClientRegistration, Registered};

use crate::kdf::HASH;
use crate::ksf::Limits;
use crate::password::Password;
use crate::suite::{HybridPinned, NoKem, Slot, Suite, SuiteKem};
use crate::{Error, clearing};
use candor_primitives::hash::{Digest, Sha512};
use core::fmt;
use rand_core::CryptoRng;

/// A client of one suite; many logins can be made with it.
pub struct Client<S: Suite> {
    suite: S,
    limits: Limits,
    pinned: Pinned<S>,
}

/// The server's static KEM key, if the suite has one.
struct Pinned<S: Suite> {
    key: <S::Static as Slot>::Public,
    id: StaticId,
}

/// The hash of the server's static KEM key; nothing without one.
#[derive(Clone, Copy)]
pub(crate) struct StaticId([u8; HASH], usize);

impl StaticId {
    pub(crate) const NONE: Self = Self([0; HASH], 0);

    pub(crate) fn of(key: &[u8]) -> Self {
        if key.is_empty() { Self::NONE } else { Self(Sha512::digest(key).into(), HASH) }
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0[..self.1]
    }
}

impl<S: Suite<Static = NoKem>> Client<S> {
    /// A client with [`Limits::DEFAULT`].
    pub fn new(suite: S) -> Self {
        Self { suite, limits: Limits::DEFAULT, pinned: Pinned { key: (), id: StaticId::NONE } }
    }
}

impl<S: Suite<Static = NoKem> + Default> Default for Client<S> {
    fn default() -> Self {
        Self::new(S::default())
    }
}

impl<K: SuiteKem> Client<HybridPinned<K>> {
    /// **Experimental.** A client that holds the server's static KEM key ([`Server::static_kem_key`](crate::Server::static_kem_key)).
    ///
    /// # Errors
    /// [`Error::Kem`] if the key is not valid.
    // ct: public, because it is a public key
    pub fn pinned(suite: HybridPinned<K>, server_kem_key: &[u8]) -> Result<Self, Error> {
        let pinned = Pinned { key: suite.fixed().public(server_kem_key)?, id: StaticId::of(server_kem_key) };
        Ok(Self { suite, limits: Limits::DEFAULT, pinned })
    }
}

impl<S: Suite> Client<S> {
    /// The client with other limits on the key stretching parameters.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// Begins a registration (RFC 9807 §5): returns the state and the request to send. Takes 64 bytes from `rng`.
    ///
    /// Registration must run over a channel that is confidential and authentic, **against quantum computers too**: no suite hides
    /// anything in its messages from an attacker who breaks the curve later.
    ///
    /// # Errors
    /// [`Error::Password`].
    // ct: oprf/blind
    pub fn start_registration(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        password: &Password<'_>,
    ) -> Result<(ClientRegistration, [u8; 32]), Error> {
        clearing::<S, _>(|| ClientRegistration::start(self.limits, rng, password))
    }

    /// Begins a login (RFC 9807 §6): returns the state and KE1 to send. Takes 128 bytes from `rng`, and
    /// then the coins of the KEM where it takes any.
    ///
    /// # Errors
    /// [`Error::Password`]; [`Error::Kem`] if the back end fails.
    // ct: opaque/client-start
    pub fn start_login(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        password: &Password<'_>,
    ) -> Result<(ClientLogin<S>, alloc::vec::Vec<u8>), Error> {
        clearing::<S, _>(|| ClientLogin::start(self, rng, password))
    }

    /// The login that [`ClientLogin::to_bytes`] saved, with the password again, which is not saved.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::State`], [`Error::Scalar`], [`Error::Kem`] if `saved` is not a state of this suite.
    // ct: oprf/resume
    pub fn resume_login(&self, saved: &[u8], password: &Password<'_>) -> Result<ClientLogin<S>, Error> {
        clearing::<S, _>(|| ClientLogin::resume(self, saved, password))
    }

    /// The registration that [`ClientRegistration::to_bytes`] saved, with the password again, which is not saved.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::State`], [`Error::Scalar`] if `saved` is not a state of a registration.
    // ct: oprf/resume
    pub fn resume_registration(&self, saved: &[u8], password: &Password<'_>) -> Result<ClientRegistration, Error> {
        clearing::<S, _>(|| ClientRegistration::resume(self.limits, saved, password))
    }
}

impl<S: Suite> fmt::Debug for Client<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("suite", &S::NAME).field("limits", &self.limits).finish_non_exhaustive()
    }
}
