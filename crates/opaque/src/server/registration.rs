//! The server's half of a registration (RFC 9807 §5).

use super::{Record, Server, Session};
use crate::credential::{CredentialHash, CredentialId};
use crate::error::{Element, Input, StateError, exactly};
use crate::group::decode;
use crate::ksf::KsfParams;
use crate::lengths::UPLOAD;
use crate::messages::Upload;
use crate::suite::{Rfc9807, Suite, SuiteId};
use crate::{Error, clearing};
use alloc::vec::Vec;
use core::fmt;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// The version of [`ServerRegistration::to_bytes`].
const VERSION: u8 = 2;
/// Bytes before the credential identifier.
const FIXED: usize = 3 + KsfParams::LENGTH + CredentialHash::LENGTH;

/// What the server answers to a registration request.
pub struct RegistrationAnswer {
    /// To be sent to the client: evaluated element and public key.
    pub response: [u8; 64],
    /// To be sent with it: the key stretching parameters that the deployment uses today.
    pub ksf: KsfParams,
    /// To be kept until the client's upload comes.
    pub state: ServerRegistration,
}

/// A server that has answered a registration request and waits for the upload.
///
/// Keep it on the server, or seal it: a client that can change it chooses which account it registers for.
pub struct ServerRegistration {
    id: CredentialId,
    ksf: KsfParams,
    suite: SuiteId,
    replaces: Option<CredentialHash>,
}

/// What a registration changes in the server's storage.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Change {
    /// A new account: store the record if the name is still free, and refuse otherwise.
    Insert(Record),
    /// An account that registered again from a session: store the record in place of the one that has this
    /// [hash](Record::credential_hash), and end the account's other sessions. If there is none, the account has registered again
    /// in the meantime: refuse, or an old session undoes a change of password.
    Replace {
        /// Names the record to replace.
        replaces: CredentialHash,
        /// The new record.
        record: Record,
    },
}

impl Change {
    /// Whether the change may be made to an account whose stored record is `current`, `None` for a free name. Look at it in the
    /// transaction that stores the record.
    // ct: public, because the server computed both hashes of stored records, and nobody else chooses one
    #[must_use]
    pub fn applies_to(&self, current: Option<&Record>) -> bool {
        match (self, current) {
            (Self::Insert(_), None) => true,
            (Self::Replace { replaces, .. }, Some(current)) => current.credential_hash() == *replaces,
            _ => false,
        }
    }

    /// The record to store.
    pub fn record(&self) -> &Record {
        match self {
            Self::Insert(record) | Self::Replace { record, .. } => record,
        }
    }

    /// The record to store.
    pub fn into_record(self) -> Record {
        match self {
            Self::Insert(record) | Self::Replace { record, .. } => record,
        }
    }
}

impl<S: Suite> Server<S> {
    /// Answers the registration request of a new account (RFC 9807 §5.2.2), under a fresh credential identifier. Takes 32 bytes from `rng`.
    ///
    /// The answer says nothing about accounts that exist, not even one of the same name: nothing in it depends on them.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Element`].
    // ct: oprf/evaluate
    pub fn register(&self, rng: &mut (impl CryptoRng + ?Sized), request: &[u8]) -> Result<RegistrationAnswer, Error> {
        self.answer_registration(CredentialId::mint(rng), request, S::ID, None)
    }

    /// Answers the registration request of an account that has just logged in: for a new password, new key stretching parameters, a stronger
    /// suite. The credential identifier is fresh, so the old record becomes worthless; its [minimum](Record::minimum) stays. Takes 32 bytes
    /// from `rng`.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Element`].
    // ct: oprf/evaluate
    pub fn register_again(
        &self,
        rng: &mut (impl CryptoRng + ?Sized),
        session: &Session,
        request: &[u8],
    ) -> Result<RegistrationAnswer, Error> {
        let suite = session.minimum().max(S::ID);
        self.answer_registration(CredentialId::mint(rng), request, suite, Some(*session.credential()))
    }

    /// Answers a registration request under an identifier of the caller's: RFC 9807's CreateRegistrationResponse. For a deployment whose
    /// accounts are shared with another implementation, which knows no minted identifiers.
    ///
    /// **If there is an account under `id`, every call is a guess at its password**, as a login is. Answer only those who may
    /// register for that account, and count the calls as logins.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Element`].
    // ct: oprf/evaluate
    pub fn register_with_id(&self, id: CredentialId, request: &[u8]) -> Result<RegistrationAnswer, Error> {
        self.answer_registration(id, request, S::ID, None)
    }

    fn answer_registration(
        &self,
        id: CredentialId,
        request: &[u8],
        suite: SuiteId,
        replaces: Option<CredentialHash>,
    ) -> Result<RegistrationAnswer, Error> {
        clearing::<S, _>(|| {
            let evaluated = self.oprf_key(&id)?.evaluate(exactly(Input::RegistrationRequest, request)?)?;
            let mut response = [0; 64];
            crate::write(&mut response, &[&evaluated, &self.public]);
            let ksf = self.ksf();
            Ok(RegistrationAnswer { response, ksf, state: ServerRegistration { id, ksf, suite, replaces } })
        })
    }
}

impl ServerRegistration {
    /// Ends the registration with the client's upload of 192 bytes (RFC 9807's RegistrationRecord).
    ///
    /// # Errors
    /// [`Error::Length`]; [`Error::Element`] if the client's public key is not valid.
    // ct: opaque/record
    pub fn finish(self, upload: &[u8]) -> Result<Change, Error> {
        clearing::<Rfc9807, _>(|| {
            let upload: &[u8; UPLOAD] = exactly(Input::RegistrationUpload, upload)?;
            decode(Element::ClientPublicKey, Upload::parts(upload).client_public)?;
            let record = Record::assemble(upload, &self.ksf, self.id, self.suite);
            Ok(match self.replaces {
                None => Change::Insert(record),
                Some(replaces) => Change::Replace { replaces, record },
            })
        })
    }

    /// The state as bytes, to be kept secret: version, suite, whether it replaces a record and which, key stretching parameters, credential identifier.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        let head = [VERSION, self.suite as u8, u8::from(self.replaces.is_some())];
        let replaces = self.replaces.map_or([0; CredentialHash::LENGTH], |hash| *hash.as_bytes());
        Zeroizing::new([&head[..], &replaces, &self.ksf.to_bytes(), self.id.as_bytes()].concat())
    }

    /// Reads [`Self::to_bytes`].
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::State`], [`Error::Ksf`].
    // ct: public, because its bytes are copied and not looked at, except for the numbers
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let expected = FIXED + CredentialId::LENGTH;
        let wrong = Error::Length { what: Input::ServerRegistration, expected, got: bytes.len() };
        let (fixed, id) = bytes.split_first_chunk::<FIXED>().ok_or(wrong)?;
        let ([version, suite, replaces, ..], hash) = (*fixed, &fixed[3..3 + CredentialHash::LENGTH]);
        let hash = CredentialHash::from_bytes(exactly(Input::ServerRegistration, hash)?);
        if version != VERSION || replaces > 1 {
            return Err(Error::State(StateError::Version));
        }
        Ok(Self {
            id: CredentialId::imported(id)?,
            ksf: KsfParams::from_bytes(&fixed[3 + CredentialHash::LENGTH..])?,
            suite: SuiteId::from_byte(suite).ok_or(Error::State(StateError::Suite))?,
            replaces: (replaces == 1).then_some(hash),
        })
    }
}

impl fmt::Debug for RegistrationAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RegistrationAnswer").field("ksf", &self.ksf).finish_non_exhaustive()
    }
}

impl fmt::Debug for ServerRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ServerRegistration").field("ksf", &self.ksf).finish_non_exhaustive()
    }
}
