//! The server's half of a login (RFC 9807 §6).

use super::{Record, Server, Session};
use crate::clearing;
use crate::credential::CredentialHash;
use crate::envelope::{DERIVE_DH, mask};
use crate::error::{Element, Input, StateError, exactly, expect_short};
use crate::group::{Base, decode, derive_key, encode_products};
use crate::kdf::Key;
use crate::ksf::KsfParams;
use crate::lengths::{MASKED, RESPONSE};
use crate::messages::{Ke1, Upload};
use crate::parties::Parties;
use crate::schedule::{self, Keys, Public, Secrets};
use crate::suite::Rfc9807;
use crate::suite::{Slot, Suite};
use crate::{Error, SessionKey, agree};
use alloc::vec;
use alloc::vec::Vec;
use candor_cpu::secret;
use candor_primitives::SharedSecret;
use candor_primitives::hash::{Digest, Sha512};
use core::marker::PhantomData;
use core::{fmt, mem};
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// The version of [`ServerLogin::to_bytes`].
const VERSION: u8 = 3;

/// The server's answer to KE1.
pub struct Answer<S> {
    /// To be sent to the client.
    pub ke2: Vec<u8>,
    /// To be sent with it.
    pub ksf: KsfParams,
    /// To be kept until KE3 comes.
    pub state: ServerLogin<S>,
    /// For the operator's log only: the account's [minimum](Record::minimum) forbids this suite, so no password opens the answer.
    pub below_minimum: bool,
}

/// A server that has sent KE2 and waits for KE3. It belongs to one account, and should expire after a minute or so.
///
/// Its 162 bytes can be stored, or sealed in a cookie. **A cookie can be sent twice**: [`Self::from_bytes`] says what to do about it.
pub struct ServerLogin<S> {
    credential: CredentialHash,
    session_key: Key,
    expected: Key,
    suite: PhantomData<S>,
}

/// A login to be answered by [`Server::respond_many`].
#[derive(Clone, Copy)]
pub struct LoginStart<'a> {
    /// What the client has sent.
    pub ke1: &'a [u8],
    /// The name that it wants to log in under.
    pub name: &'a [u8],
    /// What is stored for the name, or `None` if there is no such account.
    pub record: Option<&'a Record>,
    /// Identities and context.
    pub parties: &'a Parties<'a>,
}

impl<S: Suite> Server<S> {
    /// Answers KE1. `record` is what is stored for `name`, or `None` if there is no such account: a stranger can tell neither from the answer
    /// nor from the time that it took. Takes 96 bytes from `rng`, and then the coins of the KEM where it takes any.
    ///
    /// **Each answer that is not followed by a good KE3 may be a guess: count them** by name and by address, whether there is an account or
    /// not.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Element`], [`Error::Kem`] for a bad KE1, the same for every name;
    /// [`Error::TooLong`]; [`Error::Record`] if the record is damaged.
    pub fn respond(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        ke1: &[u8],
        name: &[u8],
        record: Option<&Record>,
        parties: &Parties<'_>,
    ) -> Result<Answer<S>, Error> {
        clearing::<S, _>(|| {
            secret::ran("opaque/server", S::NAME);
            let begun = self.begin(rng, &LoginStart { ke1, name, record, parties })?;
            let mut ciphertext = vec![0; S::Ephemeral::CIPHERTEXT];
            let ephemeral = self.suite.ephemeral().encapsulate(rng, &begun.encapsulation_key, &mut ciphertext)?;
            self.complete(&begun, ephemeral.as_ref(), &ciphertext)
        })
    }

    /// Answers several KE1 at hand, each as [`Self::respond`] does; one that fails does not concern the others. Our ML-KEM encapsulates to
    /// several in less time than one by one; the curve's share, which is most of it, stays. `answered` gets each result with its place among
    /// the `logins`, once, in no particular order. Takes 96 bytes from `rng` for each login that is well formed, and then the coins of all.
    ///
    /// **Count the guesses** as for [`Self::respond`]. What must hold for one login to be let in, its limits and its place in a queue, must
    /// be asked before.
    pub fn respond_many(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        logins: &[LoginStart<'_>],
        mut answered: impl FnMut(usize, Result<Answer<S>, Error>),
    ) {
        clearing::<S, _>(|| {
            secret::ran("opaque/server-many", S::NAME);
            // With room from the start, so that no secret is moved and left behind.
            let mut begun = Vec::with_capacity(logins.len());
            for (at, login) in logins.iter().enumerate() {
                match self.begin(rng, login) {
                    Ok(login) => begun.push((at, login)),
                    Err(error) => answered(at, Err(error)),
                }
            }
            let mut ciphertexts = vec![0; S::Ephemeral::CIPHERTEXT * begun.len()];
            let mut parts = Vec::with_capacity(begun.len());
            let mut rest = &mut ciphertexts[..];
            for _ in &begun {
                let (ciphertext, others) = mem::take(&mut rest).split_at_mut(S::Ephemeral::CIPHERTEXT);
                parts.push(ciphertext);
                rest = others;
            }
            let keys: Vec<_> = begun.iter().map(|(_, login)| &login.encapsulation_key).collect();
            let secrets = self.suite.ephemeral().encapsulate_many(rng, &keys, &mut parts);
            for (place, ((at, login), ciphertext)) in begun.iter().zip(&parts).enumerate() {
                let answer = match &secrets {
                    Ok(secrets) => self.complete(login, secrets[place].as_ref(), ciphertext),
                    Err(error) => Err(*error),
                };
                answered(*at, answer);
            }
        });
    }

    /// All that comes before the ephemeral KEM.
    fn begin<'a>(&self, rng: &mut (impl CryptoRng + ?Sized), login: &LoginStart<'a>) -> Result<Begun<'a, S>, Error> {
        let LoginStart { ke1, name, record, parties } = *login;
        parties.check()?;
        expect_short(Input::Name, name)?;
        let ke1 = Ke1::parse::<S>(ke1)?;
        let blinded = decode(Element::Blinded, ke1.blinded)?;
        let client_share = decode(Element::ClientKeyShare, ke1.share)?;
        let encapsulation_key = self.suite.ephemeral().public(ke1.encapsulation_key)?;

        let below_minimum = record.is_some_and(|record| record.minimum() > S::ID);
        let record = self.unknown.or_real(record, below_minimum, name, &self.history);
        let client_public = Upload::parts(record.upload()).client_public;
        let client_key = decode(Element::ClientPublicKey, client_public).map_err(|_| Error::Record)?;

        let oprf_key = self.oprf_key(record.credential_id())?;
        let mut fresh = Zeroizing::new([[0; 32]; 3]);
        rng.fill_bytes(fresh.as_flattened_mut());
        let share_key = derive_key(&fresh[2], DERIVE_DH);
        let products = encode_products([
            (oprf_key.scalar(), Base::Point(&blinded)),
            (&*share_key, Base::Generator),
            (&*share_key, Base::Point(&client_share)),
            (&*self.secret, Base::Point(&client_share)),
            (&*share_key, Base::Point(&client_key)),
        ]);
        Ok(Begun { ke1, parties, encapsulation_key, record, below_minimum, fresh, products })
    }

    /// All that comes after it.
    fn complete(
        &self,
        begun: &Begun<'_, S>,
        ephemeral: Option<&SharedSecret>,
        ciphertext: &[u8],
    ) -> Result<Answer<S>, Error> {
        let Begun { ke1, parties, record, below_minimum, fresh, products, .. } = begun;
        let ([masking_nonce, nonce, _], [evaluated, share, dh1, dh2, dh3]) = (&**fresh, &**products);
        let (upload, ksf) = (Upload::parts(record.upload()), record.ksf());
        let fixed = self.suite.fixed().decapsulate(&self.static_kem.secret, ke1.static_ciphertext)?;

        let public = Public::<S> {
            parties,
            ksf: &ksf,
            static_id: self.static_kem.id.as_bytes(),
            ke1,
            server_nonce: nonce,
            server_share: share,
            ciphertext,
            suite: PhantomData,
        };
        let mut masked = [0; MASKED];
        crate::write(&mut masked, &[&self.public, upload.envelope]);
        mask(upload.masking_key, masking_nonce, &mut masked);
        let mut response = [0; RESPONSE];
        crate::write(&mut response, &[evaluated, masking_nonce, &masked]);
        let transcript = S::ENCRYPTED.then(|| public.before_response());
        if let Some(transcript) = &transcript {
            let pad = schedule::response_pad(transcript, ephemeral, fixed.as_ref());
            response.iter_mut().zip(pad.iter()).for_each(|(byte, pad)| *byte ^= pad);
        }

        let mut transcript = public.before_mac(transcript, &response, upload.client_public, &self.public);
        let hash = transcript.hash();
        let keys = Keys::new(&Secrets { dh: [dh1, dh2, dh3], ephemeral, fixed: fixed.as_ref() }, &hash);
        let mac = keys.server_mac(&hash);
        transcript.add(mac.as_slice());
        let ke2 = [&response[..], nonce, share, mac.as_slice(), ciphertext].concat();
        let expected = keys.client_mac(&transcript);
        let credential = record.credential_hash();
        let state = ServerLogin { credential, session_key: keys.session, expected, suite: PhantomData };
        Ok(Answer { ke2, ksf, state, below_minimum: *below_minimum })
    }
}

/// A login whose ephemeral KEM is still to come.
struct Begun<'a, S: Suite> {
    ke1: Ke1<'a>,
    parties: &'a Parties<'a>,
    encapsulation_key: <S::Ephemeral as Slot>::Public,
    record: Record,
    below_minimum: bool,
    /// Masking nonce, nonce, and the seed of the key share.
    fresh: Zeroizing<[[u8; 32]; 3]>,
    /// The evaluated element, the key share, and the three Diffie-Hellman secrets.
    products: Zeroizing<[[u8; 32]; 5]>,
}

impl<S: Suite> ServerLogin<S> {
    /// Bytes of the encoding.
    pub const LENGTH: usize = 2 + CredentialHash::LENGTH + 64 + 64;

    /// Ends the login with KE3: a session of the account, if the client knows its password. `record` is the account that the caller is about
    /// to let the client into: what [`Server::respond`] was given.
    ///
    /// # Errors
    /// [`Error::Length`]; [`Error::Login`] if the client does not know the password, if there is no account, or if the login was begun for
    /// another one, or before it registered again.
    pub fn finish(self, ke3: &[u8], record: Option<&Record>) -> Result<Session, Error> {
        clearing::<Rfc9807, _>(|| {
            secret::takes("opaque/server-finish", &*self.expected);
            let ke3: &[u8; 64] = exactly(Input::Ke3, ke3)?;
            let right = agree(self.expected.as_slice(), ke3, "opaque-client-mac");
            match record {
                Some(record) if right && record.credential_hash() == self.credential => {
                    Ok(Session::new(SessionKey::new(self.session_key.clone()), self.credential, record.minimum()))
                }
                _ => Err(Error::Login),
            }
        })
    }

    /// A name for this login: not secret, and different for every login. For the table of used logins, see [`Self::from_bytes`].
    pub fn id(&self) -> [u8; 32] {
        clearing::<Rfc9807, _>(|| {
            let hash =
                Sha512::new().chain_update(b"candor-opaque-1: login").chain_update(self.expected.as_slice()).finalize();
            let id = hash.first_chunk().copied().unwrap_or_default();
            secret::declassify(&id, "opaque-login-id");
            id
        })
    }

    /// The state as bytes, to be kept secret: version, suite, credential hash, session key, expected MAC.
    pub fn to_bytes(&self) -> Zeroizing<[u8; 162]> {
        clearing::<Rfc9807, _>(|| {
            let mut bytes = Zeroizing::new([0; 162]);
            let parts: [&[u8]; 4] = [
                &[VERSION, S::ID as u8],
                self.credential.as_bytes(),
                self.session_key.as_slice(),
                self.expected.as_slice(),
            ];
            crate::write(bytes.as_mut_slice(), &parts);
            bytes
        })
    }

    /// Reads [`Self::to_bytes`].
    ///
    /// **The caller must use the bytes once.** A value finishes once, but its bytes can be read again, and then a recorded KE3 opens a second
    /// session. A server that stores the bytes deletes them when it reads them. A server that seals them in a cookie keeps a table of the
    /// [`id`](Self::id)s of all logins that it has tried to finish, for as long as the cookies are valid, and refuses the ids in it.
    ///
    /// # Errors
    /// [`Error::Length`]; [`Error::State`] if another version or suite wrote them.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        clearing::<Rfc9807, _>(|| {
            let bytes: &[u8; 162] = exactly(Input::ServerLogin, bytes)?;
            StateError::check(&bytes[..2], [VERSION, S::ID as u8])?;
            secret::takes("opaque/server-login", bytes);
            let credential = CredentialHash::from_bytes(exactly(Input::ServerLogin, &bytes[2..34])?);
            let key =
                |at: usize| exactly(Input::ServerLogin, &bytes[at..at + 64]).map(|key: &[u8; 64]| Zeroizing::new(*key));
            Ok(Self { credential, session_key: key(34)?, expected: key(98)?, suite: PhantomData })
        })
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
