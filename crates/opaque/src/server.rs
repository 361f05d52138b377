//! The server: keeps keys and records, answers registrations and logins.

mod history;
mod login;
mod record;
mod registration;
mod session;
mod unknown;

pub use login::{Answer, LoginStart, ServerLogin};
pub use record::Record;
pub use registration::{Change, RegistrationAnswer, ServerRegistration};
pub use session::Session;

use crate::Error;
use crate::clearing;
use crate::client::StaticId;
use crate::credential::CredentialId;
use crate::error::{Input, StateError, exactly};
use crate::group::{self, Base, encode_products};
use crate::kdf::Prk;
use crate::ksf::KsfParams;
use crate::oprf;
use crate::suite::{HybridPinned, NoKem, Slot, Suite, SuiteKem};
use alloc::vec;
use alloc::vec::Vec;
use candor_cpu::secret;
use core::convert::Infallible;
use core::fmt;
use curve25519_dalek::scalar::Scalar;
use history::KsfHistory;
use rand_core::{CryptoRng, TryCryptoRng, TryRng};
use unknown::Unknown;
use zeroize::Zeroizing;

/// The version of [`Server::to_bytes`].
const VERSION: u8 = 2;
/// Bytes before the history of key stretching parameters.
const FIXED: usize = 2 + 64 + 32;

/// A server of one suite with its keys: one for a deployment, for all its users.
///
/// With these keys and an account's record an attacker can try passwords on it, at the price of the key stretching function per guess. Records
/// alone don't suffice.
///
/// **For an account with an [imported](CredentialId::imported) identifier, such as a user name, the keys alone suffice**: anybody may begin a
/// login, and the answer to it contains the record's envelope. A minted identifier stands in the record only, and without it the OPRF key
/// can't be derived.
pub struct Server<S: Suite> {
    suite: S,
    oprf_seed: Zeroizing<[u8; 64]>,
    /// The seed, absorbed by HKDF.
    oprf_prk: Prk,
    secret: Zeroizing<Scalar>,
    public: [u8; 32],
    unknown: Unknown,
    history: KsfHistory,
    static_kem: StaticKem<S>,
}

/// The server's static KEM keys; empty in most suites.
struct StaticKem<S: Suite> {
    secret: <S::Static as Slot>::Secret,
    public: Vec<u8>,
    id: StaticId,
}

impl<S: Suite> StaticKem<S> {
    fn generate(suite: &S, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Self, Error> {
        clearing::<S, _>(|| {
            let (secret, public) = suite.fixed().generate(rng)?;
            Ok(Self { secret, id: StaticId::of(&public), public })
        })
    }

    fn from_bytes(suite: &S, secret: &[u8], public: &[u8]) -> Result<Self, Error> {
        clearing::<S, _>(|| {
            let kem = suite.fixed();
            let (parsed, secret) = (kem.public(public)?, kem.secret(secret)?);
            // What is encapsulated to one must come out of the other. It is thrown away, so its coins need not be random.
            let mut ciphertext = vec![0; S::Static::CIPHERTEXT];
            let sent = kem.encapsulate(&mut NotRandom, &parsed, &mut ciphertext)?;
            if kem.decapsulate(&secret, &ciphertext)? != sent {
                return Err(Error::KeyPair);
            }
            Ok(Self { secret, public: public.to_vec(), id: StaticId::of(public) })
        })
    }
}

/// A generator of zeros.
struct NotRandom;

impl TryRng for NotRandom {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(0)
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(0)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Infallible> {
        bytes.fill(0);
        Ok(())
    }
}

impl TryCryptoRng for NotRandom {}

impl<S: Suite> Server<S> {
    /// A server with fresh keys, whose users register with the key stretching parameters `ksf`. Takes 128 bytes from `rng`, and then the
    /// coins of a static KEM key where there is one.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    // ct: opaque/server-keys
    pub fn generate(suite: S, ksf: KsfParams, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Self, Error> {
        clearing::<S, _>(|| {
            let mut oprf_seed = Zeroizing::new([0; 64]);
            rng.fill_bytes(oprf_seed.as_mut_slice());
            let secret = group::random_scalar(rng);
            let static_kem = StaticKem::generate(&suite, rng)?;
            Ok(Self::assemble(suite, oprf_seed, secret, KsfHistory::new(ksf), static_kem))
        })
    }

    /// The server's state, to be kept secret: version, suite, OPRF seed, secret key, past and present key stretching parameters, and the
    /// static KEM's keys where there are any. Save it again after [`Self::adopt_ksf`].
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        clearing::<S, _>(|| {
            let secret = Zeroizing::new(self.secret.to_bytes());
            let kem = self.suite.fixed().secret_to_bytes(&self.static_kem.secret)?;
            let parts: [&[u8]; 6] = [
                &[VERSION, S::ID as u8],
                self.oprf_seed.as_slice(),
                secret.as_slice(),
                &self.history.to_bytes(),
                &kem,
                &self.static_kem.public,
            ];
            Ok(Zeroizing::new(parts.concat()))
        })
    }

    /// Reads [`Self::to_bytes`].
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::State`], [`Error::Scalar`], [`Error::Ksf`], [`Error::Kem`], [`Error::KeyPair`].
    // ct: opaque/server-keys
    pub fn from_bytes(suite: S, bytes: &[u8]) -> Result<Self, Error> {
        clearing::<S, _>(|| {
            let kem = S::Static::SECRET + S::Static::PUBLIC;
            let wrong = |expected| Error::Length { what: Input::ServerKeys, expected, got: bytes.len() };
            let (head, rest) = bytes.split_at_checked(FIXED).ok_or(wrong(FIXED + kem))?;
            StateError::check(&head[..2], [VERSION, S::ID as u8])?;
            let (history, rest) = KsfHistory::take(rest)?;
            if rest.len() != kem {
                return Err(wrong(bytes.len() - rest.len() + kem));
            }
            let oprf_seed = Zeroizing::new(*exactly(Input::ServerKeys, &head[2..66])?);
            let secret = group::scalar(exactly(Input::ServerKeys, &head[66..])?)?;
            let (kem_secret, kem_public) = rest.split_at(S::Static::SECRET);
            let static_kem = StaticKem::from_bytes(&suite, kem_secret, kem_public)?;
            Ok(Self::assemble(suite, oprf_seed, secret, history, static_kem))
        })
    }

    /// A server of another suite with the same keys and key stretching parameters, for a deployment whose clients speak both. It serves the
    /// records of this one as far as their [minimum](Record::minimum) permits. The static KEM key is kept if both suites have the same KEM for
    /// it; otherwise a fresh one is drawn from `rng`.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    // ct: opaque/server-keys
    pub fn to_suite<T: Suite>(&self, suite: T, rng: &mut (impl CryptoRng + ?Sized)) -> Result<Server<T>, Error> {
        clearing::<S, _>(|| {
            let static_kem = if S::Static::NAME == T::Static::NAME {
                let secret = self.suite.fixed().secret_to_bytes(&self.static_kem.secret)?;
                StaticKem::from_bytes(&suite, &secret, &self.static_kem.public)?
            } else {
                StaticKem::generate(&suite, rng)?
            };
            Ok(Server::assemble(suite, self.oprf_seed.clone(), self.secret.clone(), self.history.clone(), static_kem))
        })
    }

    /// The key stretching parameters of new registrations.
    pub fn ksf(&self) -> KsfParams {
        self.history.current()
    }

    /// From now on users register with `ksf`. `moved_per_mille` says how many of the accounts have done so already; a later call with the
    /// same parameters raises it. [Save](Self::to_bytes) the server afterwards.
    ///
    /// **A deployment does best with one set of parameters for good.** An account keeps the parameters of its registration, and the server
    /// tells them to anybody who begins a login, so they must not reveal which accounts exist. The server therefore tells a name without an
    /// account parameters from the same list: always the same for the same name, except that a name moves on to new parameters as the share
    /// grows, as accounts do when they register again. Let the share follow the records.
    ///
    /// # Errors
    /// [`Error::Ksf`] if the share exceeds 1000 or shrinks, or if these would be the 256th parameters.
    pub fn adopt_ksf(&mut self, ksf: KsfParams, moved_per_mille: u16) -> Result<(), Error> {
        self.history.adopt(ksf, moved_per_mille)
    }

    /// The server's public key.
    pub fn public_key(&self) -> &[u8; 32] {
        &self.public
    }

    /// **Experimental.** The static KEM's public key, for [`Client::pinned`](crate::Client::pinned); empty in most suites.
    pub fn static_kem_key(&self) -> &[u8] {
        &self.static_kem.public
    }

    /// The account's OPRF key, RFC 9807 §5.2.2.
    fn oprf_key(&self, id: &CredentialId) -> Result<oprf::Key, Error> {
        oprf::Key::derive(&self.oprf_prk.expand(&[id.as_bytes(), b"OprfKey"]), b"OPAQUE-DeriveKeyPair")
    }

    fn assemble(
        suite: S,
        oprf_seed: Zeroizing<[u8; 64]>,
        secret: Zeroizing<Scalar>,
        history: KsfHistory,
        static_kem: StaticKem<S>,
    ) -> Self {
        secret::takes("opaque/server-keys", &*oprf_seed);
        let [public] = *encode_products([(&*secret, Base::Generator)]);
        secret::declassify(&public, "public-key");
        let oprf_prk = Prk::new(&oprf_seed);
        let unknown = Unknown::new(&oprf_prk);
        Self { suite, oprf_seed, oprf_prk, secret, public, unknown, history, static_kem }
    }
}

impl<S: Suite<Static = NoKem>> Server<S> {
    /// A server with these keys (RFC 9807's `oprf_seed` and `server_private_key`), such as another implementation's, whose users register with
    /// the key stretching parameters `ksf`.
    ///
    /// # Errors
    /// [`Error::Scalar`] if the secret key is not valid.
    // ct: opaque/server-keys
    pub fn from_keys(suite: S, ksf: KsfParams, oprf_seed: &[u8; 64], secret_key: &[u8; 32]) -> Result<Self, Error> {
        clearing::<S, _>(|| {
            let static_kem = StaticKem { secret: (), public: Vec::new(), id: StaticId::NONE };
            let secret = group::scalar(secret_key)?;
            Ok(Self::assemble(suite, Zeroizing::new(*oprf_seed), secret, KsfHistory::new(ksf), static_kem))
        })
    }
}

impl<K: SuiteKem> Server<HybridPinned<K>> {
    /// **Experimental.** As `from_keys` in the other suites, with the static KEM's encoded key pair.
    ///
    /// # Errors
    /// [`Error::Scalar`] if the secret key is not valid; [`Error::Kem`] if a KEM key is not; [`Error::KeyPair`] if the two KEM keys don't belong
    /// together.
    // ct: opaque/server-keys
    pub fn from_keys_pinned(
        suite: HybridPinned<K>,
        ksf: KsfParams,
        oprf_seed: &[u8; 64],
        secret_key: &[u8; 32],
        [kem_secret, kem_public]: [&[u8]; 2],
    ) -> Result<Self, Error> {
        clearing::<HybridPinned<K>, _>(|| {
            let static_kem = StaticKem::from_bytes(&suite, kem_secret, kem_public)?;
            let secret = group::scalar(secret_key)?;
            Ok(Self::assemble(suite, Zeroizing::new(*oprf_seed), secret, KsfHistory::new(ksf), static_kem))
        })
    }
}

impl<S: Suite> fmt::Debug for Server<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Server").field("suite", &S::NAME).finish_non_exhaustive()
    }
}
