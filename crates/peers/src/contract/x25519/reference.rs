//! X25519 by dalek, the neutral party of the witnesses: it shares no code with candor's own.

use super::Failed;
use x25519_dalek::X25519_BASEPOINT_BYTES;

/// The public key of a private key.
pub(in crate::contract) fn public(secret: &[u8; 32]) -> [u8; 32] {
    x25519_dalek::x25519(*secret, X25519_BASEPOINT_BYTES)
}

/// The shared secret. One of zeros is refused (RFC 7748 §6.1).
pub(in crate::contract) fn ecdh(secret: &[u8; 32], public: &[u8; 32]) -> Result<[u8; 32], Failed> {
    let shared = x25519_dalek::x25519(*secret, *public);
    if shared == [0; 32] { Err("the public key is a point of small order") } else { Ok(shared) }
}
