//! What the client gets out of its password: the randomized password, and the keys that the envelope's nonce leads to
//! (RFC 9807 §4.1).

use crate::group::{ELEMENT, derive_key};
use crate::kdf::{self, Key, Mac, Prk};
use crate::ksf::{Ksf, KsfParams};
use crate::lengths::{MASKED, NONCE};
use crate::parties::{Parties, vector};
use crate::{Error, ExportKey};
use candor_cpu::secret;
use curve25519_dalek::scalar::Scalar;
use zeroize::Zeroizing;

/// The info of DeriveDiffieHellmanKeyPair, RFC 9807 §6.4.1.
pub(crate) const DERIVE_DH: &[u8] = b"OPAQUE-DeriveDiffieHellmanKeyPair";

/// randomized_password, RFC 9807 §5.2.3 and §6.3.2.3; it never leaves HMAC's state.
pub(crate) struct RandomizedPassword(Prk);

impl RandomizedPassword {
    /// From the OPRF's output, stretched.
    pub(crate) fn new(output: &[u8; 64], params: &KsfParams, ksf: &mut (impl Ksf + ?Sized)) -> Result<Self, Error> {
        secret::ran("opaque/ksf", "called");
        let mut stretched = Zeroizing::new([0; 64]);
        ksf.stretch(params, output, &mut stretched)?;
        Ok(Self(kdf::extract(&[], &[output, stretched.as_slice()])))
    }

    /// masking_key.
    pub(crate) fn masking_key(&self) -> Key {
        self.0.expand(&[b"MaskingKey"])
    }

    /// The client's static secret key.
    pub(crate) fn client_key(&self, nonce: &[u8; NONCE]) -> Zeroizing<Scalar> {
        derive_key(&self.0.expand(&[nonce, b"PrivateKey"]), DERIVE_DH)
    }

    /// auth_tag of the envelope, over the cleartext credentials.
    pub(crate) fn tag(
        &self,
        nonce: &[u8; NONCE],
        server_public: &[u8; ELEMENT],
        parties: &Parties<'_>,
        client_public: &[u8; ELEMENT],
    ) -> Key {
        let (server_length, server) = vector(parties.server.unwrap_or(server_public));
        let (client_length, client) = vector(parties.client.unwrap_or(client_public));
        let key = self.0.expand::<64>(&[nonce, b"AuthKey"]);
        Mac::new(key.as_slice()).of(&[nonce, server_public, &server_length, server, &client_length, client])
    }

    /// export_key.
    pub(crate) fn export_key(&self, nonce: &[u8; NONCE]) -> ExportKey {
        ExportKey::new(self.0.expand(&[nonce, b"ExportKey"]))
    }
}

/// XORs the pad of the masked response into it; masks and unmasks (RFC 9807 §6.3.2.2).
pub(crate) fn mask(masking_key: &[u8; 64], masking_nonce: &[u8; NONCE], response: &mut [u8; MASKED]) {
    let pad = Prk::new(masking_key).expand::<MASKED>(&[masking_nonce, b"CredentialResponsePad"]);
    response.iter_mut().zip(pad.iter()).for_each(|(byte, pad)| *byte ^= pad);
}
