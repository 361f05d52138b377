//! The client's half of a login (RFC 9807 §6).

use super::{Client, StaticId};
use crate::clearing;
use crate::envelope::{DERIVE_DH, RandomizedPassword, mask};
use crate::error::{Element, Input, StateError, exactly};
use crate::group::{self, Base, decode, derive_key, encode_products};
use crate::ksf::{Ksf, KsfParams, Limits};
use crate::lengths::MAC;
use crate::messages::{Ke1, Ke2, Response};
use crate::oprf::{Blinded, Unsent};
use crate::parties::Parties;
use crate::password::Password;
use crate::schedule::{self, Keys, Public, Secrets};
use crate::suite::{Slot, Suite};
use crate::{Error, ExportKey, SessionKey, agree};
use alloc::vec;
use alloc::vec::Vec;
use candor_cpu::secret;
use candor_primitives::SharedSecret;
use core::fmt;
use core::marker::PhantomData;
use curve25519_dalek::scalar::Scalar;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// The version of [`ClientLogin::to_bytes`].
const VERSION: u8 = 1;

/// A client that has sent KE1 and waits for KE2.
pub struct ClientLogin<S: Suite> {
    suite: S,
    limits: Limits,
    static_id: StaticId,
    blinded: Blinded,
    share_key: Zeroizing<Scalar>,
    decapsulation_key: <S::Ephemeral as Slot>::Secret,
    static_secret: Option<SharedSecret>,
    ke1: Vec<u8>,
}

/// The end of a login for the client.
pub struct LoggedIn {
    /// To be sent to the server.
    pub ke3: [u8; MAC],
    /// Shared with the server.
    pub session_key: SessionKey,
    /// The same as at registration.
    pub export_key: ExportKey,
    /// The server's public key, the same as at registration.
    pub server_public_key: [u8; 32],
}

impl<S: Suite> ClientLogin<S> {
    pub(super) fn start(
        client: &Client<S>,
        rng: &mut (impl CryptoRng + ?Sized),
        password: &Password<'_>,
    ) -> Result<(Self, Vec<u8>), Error> {
        secret::ran("opaque/client-start", S::NAME);
        let (unsent, point) = Unsent::new(rng, password.as_bytes())?;
        let mut fresh = Zeroizing::new([[0; 32]; 2]);
        rng.fill_bytes(fresh.as_flattened_mut());
        let [nonce, seed] = &*fresh;
        let share_key = derive_key(seed, DERIVE_DH);
        let [blinded, share] = *encode_products([(&unsent.blind, Base::Point(&point)), (&share_key, Base::Generator)]);
        let (decapsulation_key, encapsulation_key) = client.suite.ephemeral().generate(rng)?;
        let mut static_ciphertext = vec![0; S::Static::CIPHERTEXT];
        let static_secret = client.suite.fixed().encapsulate(rng, &client.pinned.key, &mut static_ciphertext)?;

        let ke1 = [&blinded[..], nonce, &share, &encapsulation_key, &static_ciphertext].concat();
        let state = Self {
            suite: client.suite.clone(),
            limits: client.limits,
            static_id: client.pinned.id,
            blinded: unsent.sent(blinded),
            share_key,
            decapsulation_key,
            static_secret,
            ke1: ke1.clone(),
        };
        Ok((state, ke1))
    }

    /// Ends the login with the server's KE2 and the key stretching parameters that came with it.
    ///
    /// The parameters are checked against the client's limits before anything is stretched.
    ///
    /// # Errors
    /// [`Error::Login`] if the password, the user, the context, an identity or the server is not the right one, or KE2 was changed;
    /// [`Error::Length`], [`Error::Element`] if KE2 is malformed; [`Error::Limits`], [`Error::Ksf`];
    /// [`Error::TooLong`]. After any error the client must send nothing to the server.
    pub fn finish(
        self,
        ke2: &[u8],
        params: &KsfParams,
        ksf: &mut (impl Ksf + ?Sized),
        parties: &Parties<'_>,
    ) -> Result<LoggedIn, Error> {
        clearing::<S, _>(|| {
            secret::ran("opaque/client-finish", S::NAME);
            self.limits.check(params)?;
            parties.check()?;
            let ke2 = Ke2::parse::<S>(ke2)?;
            let ke1 = Ke1::parse::<S>(&self.ke1)?;
            let server_share = decode(Element::ServerKeyShare, ke2.share)?;
            let ephemeral = self.suite.ephemeral().decapsulate(&self.decapsulation_key, ke2.ciphertext)?;
            let public = Public::<S> {
                parties,
                ksf: params,
                static_id: self.static_id.as_bytes(),
                ke1: &ke1,
                server_nonce: ke2.nonce,
                server_share: ke2.share,
                ciphertext: ke2.ciphertext,
                suite: PhantomData,
            };

            let begun = S::ENCRYPTED.then(|| public.before_response());
            let mut response = Zeroizing::new(*ke2.response);
            if let Some(begun) = &begun {
                let pad = schedule::response_pad(begun, ephemeral.as_ref(), self.static_secret.as_ref());
                response.iter_mut().zip(pad.iter()).for_each(|(byte, pad)| *byte ^= pad);
            }
            let response = Response::parts(&response);
            // An encrypted suite does not tell errors in what the KEM has decrypted apart.
            let evaluated =
                self.evaluated(response.evaluated).map_err(|error| if S::ENCRYPTED { Error::Login } else { error })?;

            let password = RandomizedPassword::new(&*self.blinded.unblind(&evaluated)?, params, ksf)?;
            let mut unmasked = Zeroizing::new(*response.masked);
            mask(&password.masking_key(), response.masking_nonce, &mut unmasked);
            let (server_public, envelope) = unmasked.split_first_chunk::<32>().ok_or(Error::Login)?;
            let (nonce, tag) = envelope.split_first_chunk::<32>().ok_or(Error::Login)?;
            let server_key = decode(Element::ServerPublicKey, server_public).map_err(|_| Error::Login)?;
            let client_key = password.client_key(nonce);

            let shared = encode_products([
                (&*client_key, Base::Generator),
                (&*self.share_key, Base::Point(&server_share)),
                (&*self.share_key, Base::Point(&server_key)),
                (&*client_key, Base::Point(&server_share)),
            ]);
            let [client_public, dh1, dh2, dh3] = &*shared;
            if !agree(password.tag(nonce, server_public, parties, client_public).as_slice(), tag, "opaque-envelope") {
                return Err(Error::Login);
            }

            let mut transcript = public.before_mac(begun, ke2.response, client_public, server_public);
            let hash = transcript.hash();
            let secrets =
                Secrets { dh: [dh1, dh2, dh3], ephemeral: ephemeral.as_ref(), fixed: self.static_secret.as_ref() };
            let keys = Keys::new(&secrets, &hash);
            if !agree(keys.server_mac(&hash).as_slice(), ke2.mac, "opaque-server-mac") {
                return Err(Error::Login);
            }
            transcript.add(ke2.mac);
            Ok(LoggedIn {
                ke3: *keys.client_mac(&transcript),
                session_key: SessionKey::new(keys.session),
                export_key: password.export_key(nonce),
                server_public_key: *server_public,
            })
        })
    }

    /// Bytes of the encoding.
    pub const LENGTH: usize = 2 + 32 + 32 + S::Static::SHARED + S::KE1 + S::Ephemeral::SECRET;

    /// The state as bytes, for a client that can't keep it in memory until KE2 comes: version, suite, blind, ephemeral key, the static
    /// KEM's shared secret, KE1, decapsulation key.
    ///
    /// **They are as secret as the password**: with them passwords can be tried without key stretching. Delete them when the login is
    /// over, and resume each of them once.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    pub fn to_bytes(&self) -> Result<Zeroizing<Vec<u8>>, Error> {
        clearing::<S, _>(|| {
            let decapsulation_key = self.suite.ephemeral().secret_to_bytes(&self.decapsulation_key)?;
            let (blind, share_key) =
                (Zeroizing::new(self.blinded.blind().to_bytes()), Zeroizing::new(self.share_key.to_bytes()));
            let static_secret = self.static_secret.as_ref().map_or(&[][..], |secret| secret.as_bytes());
            let mut bytes = Zeroizing::new(vec![0; Self::LENGTH]);
            crate::write(
                &mut bytes,
                &[
                    &[VERSION, S::ID as u8],
                    blind.as_slice(),
                    share_key.as_slice(),
                    static_secret,
                    &self.ke1,
                    &decapsulation_key,
                ],
            );
            Ok(bytes)
        })
    }

    pub(super) fn resume(client: &Client<S>, saved: &[u8], password: &Password<'_>) -> Result<Self, Error> {
        if saved.len() != Self::LENGTH {
            return Err(Error::Length { what: Input::ClientLogin, expected: Self::LENGTH, got: saved.len() });
        }
        let (head, rest) = saved.split_at(2);
        StateError::check(head, [VERSION, S::ID as u8])?;
        let (blind, rest) = rest.split_at(32);
        let (share_key, rest) = rest.split_at(32);
        let (static_secret, rest) = rest.split_at(S::Static::SHARED);
        let (ke1, decapsulation_key) = rest.split_at(S::KE1);
        let sent = Ke1::parse::<S>(ke1)?.blinded;
        Ok(Self {
            suite: client.suite.clone(),
            limits: client.limits,
            static_id: client.pinned.id,
            blinded: Blinded::resume(exactly(Input::ClientLogin, blind)?, sent, password.as_bytes())?,
            share_key: group::scalar(exactly(Input::ClientLogin, share_key)?)?,
            decapsulation_key: client.suite.ephemeral().secret(decapsulation_key)?,
            static_secret: <[u8; 32]>::try_from(static_secret).ok().map(SharedSecret::from),
            ke1: ke1.to_vec(),
        })
    }

    /// The evaluated element, if it is valid and not our own.
    fn evaluated(&self, bytes: &[u8; 32]) -> Result<curve25519_dalek::RistrettoPoint, Error> {
        if agree(bytes, self.blinded.sent(), "opaque-reflected") {
            return Err(Error::Element(Element::Evaluated));
        }
        decode(Element::Evaluated, bytes)
    }
}

impl<S: Suite> fmt::Debug for ClientLogin<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientLogin(..)")
    }
}

impl fmt::Debug for LoggedIn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("LoggedIn(..)")
    }
}
