//! How long the messages and their parts are, in bytes (RFC 9807 §4 to §6).

use crate::group::ELEMENT;
use crate::kdf::HASH;

/// Nn.
pub(crate) const NONCE: usize = 32;
/// Nm.
pub(crate) const MAC: usize = HASH;
/// Bytes of an envelope: nonce and tag.
pub(crate) const ENVELOPE: usize = NONCE + MAC;
/// Bytes of the masked response: the server's public key and the envelope.
pub(crate) const MASKED: usize = ELEMENT + ENVELOPE;
/// Bytes of the credential response: evaluated element, masking nonce, masked response.
pub(crate) const RESPONSE: usize = ELEMENT + NONCE + MASKED;
/// Bytes of RFC 9807's KE1.
pub(crate) const KE1: usize = ELEMENT + NONCE + ELEMENT;
/// Bytes of RFC 9807's KE2.
pub(crate) const KE2: usize = RESPONSE + NONCE + ELEMENT + MAC;
/// Bytes of a registration upload.
pub(crate) const UPLOAD: usize = ELEMENT + HASH + ENVELOPE;
