//! What the server stores of an account.

use crate::Error;
use crate::error::{Element, Input, exactly};
use crate::group::decode;
use crate::ksf::KsfParams;
use crate::messages::{UPLOAD, Upload};
use core::fmt;
use zeroize::Zeroizing;

/// What the server stores of an account: the client's upload, and the key stretching parameters that it was made with.
#[derive(Clone)]
pub struct Record(Zeroizing<[u8; Record::LENGTH]>);

impl Record {
    /// Bytes of the encoding: 192 of RFC 9807's RegistrationRecord and 13 of [`KsfParams`].
    pub const LENGTH: usize = UPLOAD + KsfParams::LENGTH;

    /// The record of a client's upload of 192 bytes (RFC 9807 §5.2.3).
    ///
    /// # Errors
    /// [`Error::Length`]; [`Error::Element`] if the client's public key is none.
    pub fn from_upload(upload: &[u8], ksf: &KsfParams) -> Result<Self, Error> {
        let upload: &[u8; UPLOAD] = exactly(Input::RegistrationUpload, upload)?;
        decode(Element::ClientPublicKey, Upload::parts(upload).client_public)?;
        Ok(Self::assemble(upload, ksf))
    }

    /// Reads [`Self::to_bytes`], from the deployment's own storage: 205 bytes. The client's key in it is checked when it is used.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Ksf`].
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Error> {
        let bytes: &[u8; Self::LENGTH] = exactly(Input::Record, bytes)?;
        KsfParams::from_bytes(&bytes[UPLOAD..])?;
        Ok(Self(Zeroizing::new(*bytes)))
    }

    /// The record as bytes, to be stored where only the server reads.
    pub fn to_bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }

    /// The client's upload.
    pub fn upload(&self) -> &[u8; UPLOAD] {
        self.0.first_chunk().expect("a record is longer than an upload")
    }

    /// The key stretching parameters.
    pub fn ksf(&self) -> KsfParams {
        KsfParams::from_bytes(&self.0[UPLOAD..]).expect("they were looked at when the record was made")
    }

    pub(super) fn assemble(upload: &[u8; UPLOAD], ksf: &KsfParams) -> Self {
        let mut bytes = Zeroizing::new([0; Self::LENGTH]);
        crate::write(bytes.as_mut_slice(), &[upload, &ksf.to_bytes()]);
        Self(bytes)
    }

    /// The bytes, to choose from.
    pub(super) fn bytes_mut(&mut self) -> &mut [u8; Self::LENGTH] {
        &mut self.0
    }
}

impl fmt::Debug for Record {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Record").field("ksf", &self.ksf()).finish_non_exhaustive()
    }
}
