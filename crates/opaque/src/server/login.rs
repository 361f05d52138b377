//! The server's half of a login (RFC 9807 §6).

use super::{Record, Server};
use crate::envelope::{DERIVE_DH, mask};
use crate::error::{Element, Input, StateError, exactly};
use crate::group::{Base, decode, derive_key, encode_products};
use crate::kdf::Key;
use crate::ksf::KsfParams;
use crate::messages::{Ke1, MASKED, RESPONSE, Upload};
use crate::parties::Parties;
use crate::schedule::{self, Keys, Public, Secrets};
use crate::suite::{Slot, Suite};
use crate::{Error, SessionKey, agree};
use alloc::vec;
use alloc::vec::Vec;
use candor_cpu::secret;
use core::fmt;
use core::marker::PhantomData;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// The version of [`ServerLogin::to_bytes`].
const VERSION: u8 = 1;

/// What the server answers to KE1.
pub struct Answer<S> {
    /// To be sent to the client.
    pub ke2: Vec<u8>,
    /// To be sent with it.
    pub ksf: KsfParams,
    /// To be kept until KE3 comes.
    pub state: ServerLogin<S>,
}

/// A server that has sent KE2 and waits for KE3.
///
/// It takes 130 bytes and can be stored or sealed in a cookie; it must be used once, and be worthless after a minute or so.
pub struct ServerLogin<S> {
    session_key: Key,
    expected: Key,
    suite: PhantomData<S>,
}

impl<S: Suite> Server<S> {
    /// Answers KE1. `record` is what is stored under `credential_id`, or nothing if there is no such account: a stranger can't tell
    /// from the answer, nor from how long it took. Takes 96 bytes from `rng`.
    ///
    /// Each answer that is not followed by a good KE3 is a guess of somebody's: count them.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Element`], [`Error::Kem`] for a bad KE1, the same for every account;
    /// [`Error::TooLong`]; [`Error::Record`] if the record is damaged.
    pub fn respond(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        ke1: &[u8],
        record: Option<&Record>,
        credential_id: &[u8],
        parties: &Parties<'_>,
    ) -> Result<Answer<S>, Error> {
        secret::ran("opaque/server", S::NAME);
        parties.check()?;
        let ke1 = Ke1::parse::<S>(ke1)?;
        let blinded = decode(Element::Blinded, ke1.blinded)?;
        let client_share = decode(Element::ClientKeyShare, ke1.share)?;
        let encapsulation_key = self.suite.ephemeral().public(ke1.encapsulation_key)?;

        let record = self.unknown.or_real(record, credential_id);
        let (upload, ksf) = (Upload::parts(record.upload()), record.ksf());
        let client_key = decode(Element::ClientPublicKey, upload.client_public).map_err(|_| Error::Record)?;

        let oprf_key = self.oprf_key(credential_id)?;
        let mut fresh = Zeroizing::new([[0; 32]; 3]);
        rng.fill_bytes(fresh.as_flattened_mut());
        let [masking_nonce, nonce, seed] = &*fresh;
        let share_key = derive_key(seed, DERIVE_DH);
        let products = encode_products([
            (oprf_key.scalar(), Base::Point(&blinded)),
            (&*share_key, Base::Generator),
            (&*share_key, Base::Point(&client_share)),
            (&*self.secret, Base::Point(&client_share)),
            (&*share_key, Base::Point(&client_key)),
        ]);
        let [evaluated, share, dh1, dh2, dh3] = &*products;

        let mut ciphertext = vec![0; S::Ephemeral::CIPHERTEXT];
        let ephemeral = self.suite.ephemeral().encapsulate(&encapsulation_key, &mut ciphertext)?;
        let fixed = self.suite.fixed().decapsulate(&self.static_kem.secret, ke1.static_ciphertext)?;

        let public = Public::<S> {
            parties,
            ksf: &ksf,
            static_id: self.static_kem.id.as_bytes(),
            ke1: &ke1,
            server_nonce: nonce,
            server_share: share,
            ciphertext: &ciphertext,
            suite: PhantomData,
        };
        let mut masked = [0; MASKED];
        crate::write(&mut masked, &[&self.public, upload.envelope]);
        mask(upload.masking_key, masking_nonce, &mut masked);
        let mut response = [0; RESPONSE];
        crate::write(&mut response, &[evaluated, masking_nonce, &masked]);
        let begun = S::ENCRYPTED.then(|| public.before_response());
        if let Some(begun) = &begun {
            let pad = schedule::response_pad(begun, ephemeral.as_ref(), fixed.as_ref());
            response.iter_mut().zip(pad.iter()).for_each(|(byte, pad)| *byte ^= pad);
        }

        let mut transcript = public.before_mac(begun, &response, upload.client_public, &self.public);
        let hash = transcript.hash();
        let secrets = Secrets { dh: [dh1, dh2, dh3], ephemeral: ephemeral.as_ref(), fixed: fixed.as_ref() };
        let keys = Keys::new(&secrets, &hash);
        let mac = keys.server_mac(&hash);
        transcript.add(mac.as_slice());
        let ke2 = [&response[..], nonce, share, mac.as_slice(), &ciphertext].concat();
        let expected = keys.client_mac(&transcript);
        Ok(Answer { ke2, ksf, state: ServerLogin { session_key: keys.session, expected, suite: PhantomData } })
    }
}

impl<S: Suite> ServerLogin<S> {
    /// Bytes of the encoding.
    pub const LENGTH: usize = 2 + 64 + 64;

    /// Ends the login with KE3: the session key, if the client knows the password.
    ///
    /// # Errors
    /// [`Error::Length`]; [`Error::Login`] if not, or if there is no such account.
    pub fn finish(self, ke3: &[u8]) -> Result<SessionKey, Error> {
        let ke3: &[u8; 64] = exactly(Input::Ke3, ke3)?;
        if agree(self.expected.as_slice(), ke3, "opaque-client-mac") {
            Ok(SessionKey::new(self.session_key))
        } else {
            Err(Error::Login)
        }
    }

    /// The state as bytes, to be kept secret: version, suite, session key, expected MAC.
    pub fn to_bytes(&self) -> Zeroizing<[u8; 130]> {
        let mut bytes = Zeroizing::new([0; 130]);
        crate::write(bytes.as_mut_slice(), &[&[VERSION, S::ID], self.session_key.as_slice(), self.expected.as_slice()]);
        bytes
    }

    /// Reads [`Self::to_bytes`].
    ///
    /// # Errors
    /// [`Error::Length`]; [`Error::State`] if it is of another version or suite.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; 130] = exactly(Input::ServerLogin, bytes)?;
        StateError::check(&bytes[..2], [VERSION, S::ID])?;
        let key =
            |at: usize| exactly(Input::ServerLogin, &bytes[at..at + 64]).map(|key: &[u8; 64]| Zeroizing::new(*key));
        Ok(Self { session_key: key(2)?, expected: key(66)?, suite: PhantomData })
    }
}

impl<S> fmt::Debug for Answer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Answer").field("ksf", &self.ksf).finish_non_exhaustive()
    }
}

impl<S> fmt::Debug for ServerLogin<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ServerLogin(..)")
    }
}
