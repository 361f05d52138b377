//! What the server stores of an account.

use crate::credential::{CredentialHash, CredentialId};
use crate::error::{Element, Input, StateError, exactly};
use crate::group::decode;
use crate::ksf::KsfParams;
use crate::lengths::UPLOAD;
use crate::messages::Upload;
use crate::suite::{Rfc9807, SuiteId};
use crate::{Error, clearing};
use alloc::vec::Vec;
use candor_cpu::secret;
use candor_primitives::hash::{Digest, Sha512};
use core::fmt;
use zeroize::Zeroizing;

/// The version of [`Record::to_bytes`].
const VERSION: u8 = 1;
/// Bytes before the credential identifier.
pub(super) const FIXED: usize = 2 + KsfParams::LENGTH + UPLOAD;

/// What the server stores of an account: the client's upload, the key stretching parameters that it was made with, the weakest suite
/// that may use it, and its credential identifier.
#[derive(Clone)]
pub struct Record {
    /// Version, suite, parameters, upload.
    fixed: Zeroizing<[u8; FIXED]>,
    id: CredentialId,
}

impl Record {
    /// Bytes of the encoding, with a minted credential identifier. An imported identifier may have another length.
    pub const LENGTH: usize = FIXED + CredentialId::LENGTH;

    /// The record of an account that another implementation registered: its upload of 192 bytes (RFC 9807's RegistrationRecord), the
    /// parameters that its client stretches with, and its credential identifier. Accounts of one's own come from
    /// [`ServerRegistration::finish`](super::ServerRegistration::finish).
    ///
    /// # Errors
    /// [`Error::Length`]; [`Error::Element`] if the client's public key is not valid.
    pub fn from_upload(upload: &[u8], ksf: &KsfParams, id: CredentialId, minimum: SuiteId) -> Result<Self, Error> {
        clearing::<Rfc9807, _>(|| {
            secret::takes("opaque/record", upload);
            let upload: &[u8; UPLOAD] = exactly(Input::RegistrationUpload, upload)?;
            decode(Element::ClientPublicKey, Upload::parts(upload).client_public)?;
            Ok(Self::assemble(upload, ksf, id, minimum))
        })
    }

    /// Reads [`Self::to_bytes`], from the deployment's own storage. The client's key in it is checked when it is used.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::State`], [`Error::Ksf`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        clearing::<Rfc9807, _>(|| {
            secret::takes("opaque/record", bytes);
            let wrong = Error::Length { what: Input::Record, expected: Self::LENGTH, got: bytes.len() };
            let (fixed, id) = bytes.split_first_chunk::<FIXED>().ok_or(wrong)?;
            let [VERSION, minimum, ..] = *fixed else { return Err(Error::State(StateError::Version)) };
            SuiteId::from_byte(minimum).ok_or(Error::State(StateError::Suite))?;
            KsfParams::from_bytes(&fixed[2..2 + KsfParams::LENGTH])?;
            Ok(Self { fixed: Zeroizing::new(*fixed), id: CredentialId::imported(id)? })
        })
    }

    /// The record as bytes, to be stored where only the server reads: version, suite, key stretching parameters, upload, credential
    /// identifier.
    pub fn to_bytes(&self) -> Zeroizing<Vec<u8>> {
        Zeroizing::new([self.fixed.as_slice(), self.id.as_bytes()].concat())
    }

    /// The client's upload.
    pub fn upload(&self) -> &[u8; UPLOAD] {
        self.fixed.last_chunk().expect("a record is longer than an upload")
    }

    /// The key stretching parameters.
    pub fn ksf(&self) -> KsfParams {
        KsfParams::from_bytes(&self.fixed[2..2 + KsfParams::LENGTH]).expect("checked when the record was made")
    }

    /// The credential identifier.
    pub fn credential_id(&self) -> &CredentialId {
        &self.id
    }

    /// What binds a login, and the change that a session makes, to this registration of this account.
    pub fn credential_hash(&self) -> CredentialHash {
        let hash = Sha512::new()
            .chain_update(b"candor-opaque-1: credential")
            .chain_update(Upload::parts(self.upload()).client_public)
            .chain_update(self.id.as_bytes())
            .finalize();
        CredentialHash::from_bytes(hash.first_chunk().expect("the hash has 64 bytes"))
    }

    /// The weakest suite in which the account can log in: that of its registration, unless it was raised.
    ///
    /// A login that is recorded in a weaker suite would give away later what the stronger one hides. A server of a weaker suite
    /// therefore puts nothing into its answer that passwords could be tried on, and no password opens it. Nobody can tell it from an answer
    /// for a name without an account, not even by asking in both suites.
    pub fn minimum(&self) -> SuiteId {
        SuiteId::from_byte(self.fixed[1]).expect("checked when the record was made")
    }

    /// From now on the account logs in with `suite` or a stronger one: once all its clients can. There is no way back but
    /// [a registration without a session](super::Server::register).
    pub fn raise_minimum(&mut self, suite: SuiteId) {
        self.fixed[1] = self.minimum().max(suite) as u8;
    }

    pub(super) fn assemble(upload: &[u8; UPLOAD], ksf: &KsfParams, id: CredentialId, minimum: SuiteId) -> Self {
        let mut fixed = Zeroizing::new([0; FIXED]);
        crate::write(fixed.as_mut_slice(), &[&[VERSION, minimum as u8], &ksf.to_bytes(), upload]);
        Self { fixed, id }
    }

    /// The bytes before the credential identifier, to choose from.
    pub(super) fn fixed(&self) -> &[u8; FIXED] {
        &self.fixed
    }

    pub(super) fn with_fixed(fixed: Zeroizing<[u8; FIXED]>, id: CredentialId) -> Self {
        Self { fixed, id }
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("ksf", &self.ksf()).field("minimum", &self.minimum()).finish_non_exhaustive()
    }
}
