//! The server: keeps keys and records, answers registrations and logins.

mod login;
mod record;
mod unknown;

pub use login::{Answer, ServerLogin};
pub use record::Record;

use crate::Error;
use crate::client::StaticId;
use crate::error::{Input, StateError, exactly, expect_short};
use crate::group::{self, Base, encode_products};
use crate::kdf::Prk;
use crate::ksf::KsfParams;
use crate::oprf;
use crate::suite::{NoKem, Slot, Suite};
use alloc::vec::Vec;
use candor_cpu::secret;
use core::fmt;
use curve25519_dalek::scalar::Scalar;
use rand_core::CryptoRng;
use unknown::Unknown;
use zeroize::Zeroizing;

/// The version of [`Server::to_bytes`].
const VERSION: u8 = 1;
/// Bytes before the static KEM's keys.
const FIXED: usize = 2 + 64 + 32;

/// A server of one suite with its keys: one for a deployment, for all its users.
///
/// Whoever has these keys and a record can try passwords on it, at the price of the key stretching function each. Who has
/// the keys alone, or records alone, can't.
pub struct Server<S: Suite> {
    suite: S,
    oprf_seed: Zeroizing<[u8; 64]>,
    /// The same, taken up by HMAC.
    oprf_prk: Prk,
    secret: Zeroizing<Scalar>,
    public: [u8; 32],
    unknown: Unknown,
    static_kem: StaticKem<S>,
}

/// The server's static KEM keys; nothing in most suites.
struct StaticKem<S: Suite> {
    secret: <S::Static as Slot>::Secret,
    public: Vec<u8>,
    id: StaticId,
}

impl<S: Suite> Server<S> {
    /// A server with fresh keys. Takes 160 bytes from `rng`; a static KEM key comes from the operating system.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    pub fn generate(suite: S, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Self, Error> {
        let mut oprf_seed = Zeroizing::new([0; 64]);
        rng.fill_bytes(oprf_seed.as_mut_slice());
        let secret = group::random_scalar(rng);
        let (kem_secret, public) = suite.fixed().generate()?;
        let static_kem = StaticKem { secret: kem_secret, id: StaticId::of(&public), public };
        Ok(Self::assemble(suite, oprf_seed, secret, static_kem))
    }

    /// The keys, to be kept secret: version, suite, OPRF seed, secret key, and the static KEM's keys where there are any. 98 bytes in most suites.
    ///
    /// What [`Self::with_ksf_choices`] was told is not among them.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        let secret = Zeroizing::new(self.secret.to_bytes());
        let kem = self.suite.fixed().secret_to_bytes(&self.static_kem.secret)?;
        let parts: [&[u8]; 5] =
            [&[VERSION, S::ID], self.oprf_seed.as_slice(), secret.as_slice(), &kem, &self.static_kem.public];
        Ok(Zeroizing::new(parts.concat()))
    }

    /// Reads [`Self::to_bytes`].
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::State`], [`Error::Scalar`], [`Error::Kem`].
    pub fn from_bytes(suite: S, bytes: &[u8]) -> Result<Self, Error> {
        let expected = FIXED + S::Static::SECRET + S::Static::PUBLIC;
        if bytes.len() != expected {
            return Err(Error::Length { what: Input::ServerKeys, expected, got: bytes.len() });
        }
        let (head, kem) = bytes.split_at(FIXED);
        StateError::check(&head[..2], [VERSION, S::ID])?;
        let oprf_seed = Zeroizing::new(*exactly(Input::ServerKeys, &head[2..66])?);
        let secret = group::scalar(exactly(Input::ServerKeys, &head[66..])?)?;
        let (kem_secret, public) = kem.split_at(S::Static::SECRET);
        suite.fixed().public(public)?;
        let static_kem =
            StaticKem { secret: suite.fixed().secret(kem_secret)?, public: public.to_vec(), id: StaticId::of(public) };
        Ok(Self::assemble(suite, oprf_seed, secret, static_kem))
    }

    /// The same with the key stretching parameters that unknown users get: those that the deployment's records have, each with
    /// a weight, such as how many records have it.
    ///
    /// A record made years ago may have other parameters than one of today, and a client is told them before it has proved
    /// anything. So a stranger must not learn from them who has an account: an unknown user always gets the same choice,
    /// drawn by a keyed function of his credential identifier in proportion to the weights. Without this call every unknown user gets
    /// [`KsfParams::BROWSER`]. When the list changes, some unknown users' parameters change, as those of real users do when
    /// they log in and are moved to new parameters.
    ///
    /// # Errors
    /// [`Error::Ksf`] if all weights are zero.
    pub fn with_ksf_choices(mut self, choices: &[(KsfParams, u32)]) -> Result<Self, Error> {
        self.unknown.set_choices(choices)?;
        Ok(self)
    }

    /// The server's public key.
    pub fn public_key(&self) -> &[u8; 32] {
        &self.public
    }

    /// **Experimental.** The static KEM's public key, for [`Client::pinned`](crate::Client::pinned); empty in most suites.
    pub fn static_kem_key(&self) -> &[u8] {
        &self.static_kem.public
    }

    /// Answers a registration request (RFC 9807 §5.2.2): evaluated element and public key, 64 bytes.
    ///
    /// `credential_id` is the deployment's name for the account, the same at registration and login, and never another
    /// account's.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Element`].
    pub fn register(&self, request: &[u8], credential_id: &[u8]) -> Result<[u8; 64], Error> {
        let evaluated = self.oprf_key(credential_id)?.evaluate(exactly(Input::RegistrationRequest, request)?)?;
        let mut response = [0; 64];
        crate::write(&mut response, &[&evaluated, &self.public]);
        Ok(response)
    }

    /// The account's OPRF key, RFC 9807 §5.2.2.
    fn oprf_key(&self, credential_id: &[u8]) -> Result<oprf::Key, Error> {
        expect_short(Input::CredentialId, credential_id)?;
        oprf::Key::derive(&self.oprf_prk.expand(&[credential_id, b"OprfKey"]), b"OPAQUE-DeriveKeyPair")
    }

    fn assemble(suite: S, oprf_seed: Zeroizing<[u8; 64]>, secret: Zeroizing<Scalar>, static_kem: StaticKem<S>) -> Self {
        let [public] = *encode_products([(&*secret, Base::Generator)]);
        secret::declassify(&public, "public-key");
        let oprf_prk = Prk::new(&oprf_seed);
        let unknown = Unknown::new(&oprf_prk);
        Self { suite, oprf_seed, oprf_prk, secret, public, unknown, static_kem }
    }
}

impl<S: Suite<Static = NoKem>> Server<S> {
    /// A server with these keys: to take over another implementation's (RFC 9807's `oprf_seed` and `server_private_key`).
    ///
    /// # Errors
    /// [`Error::Scalar`] if the secret key is none.
    pub fn from_keys(suite: S, oprf_seed: &[u8; 64], secret_key: &[u8; 32]) -> Result<Self, Error> {
        let static_kem = StaticKem { secret: (), public: Vec::new(), id: StaticId::NONE };
        Ok(Self::assemble(suite, Zeroizing::new(*oprf_seed), group::scalar(secret_key)?, static_kem))
    }
}

impl<S: Suite> fmt::Debug for Server<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("suite", &S::NAME).finish_non_exhaustive()
    }
}
