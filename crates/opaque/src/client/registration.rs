//! The client's half of a registration (RFC 9807 §5).

use crate::clearing;
use crate::envelope::RandomizedPassword;
use crate::error::{Element, Input, StateError, exactly};
use crate::group::{Base, decode, encode_products};
use crate::ksf::{Ksf, KsfParams, Limits};
use crate::lengths::{NONCE, UPLOAD};
use crate::oprf::Blinded;
use crate::parties::Parties;
use crate::password::Password;
use crate::suite::Rfc9807;
use crate::{Error, ExportKey};
use candor_cpu::secret;
use core::fmt;
use rand_core::CryptoRng;
use zeroize::Zeroizing;

/// The version of [`ClientRegistration::to_bytes`].
const VERSION: u8 = 1;

/// A client that has sent its registration request and waits for the response.
pub struct ClientRegistration {
    limits: Limits,
    blinded: Blinded,
}

/// The end of a registration for the client.
pub struct Registered {
    /// To be sent to the server: 192 bytes, RFC 9807's RegistrationRecord. Anyone who has it and the server's keys can try passwords
    /// on it.
    pub upload: [u8; UPLOAD],
    /// For the application.
    pub export_key: ExportKey,
    /// The server's public key; each login will give the same.
    pub server_public_key: [u8; 32],
}

impl ClientRegistration {
    pub(super) fn start(
        limits: Limits,
        rng: &mut (impl CryptoRng + ?Sized),
        password: &Password<'_>,
    ) -> Result<(Self, [u8; 32]), Error> {
        let (blinded, request) = Blinded::new(rng, password.as_bytes())?;
        Ok((Self { limits, blinded }, request))
    }

    /// Ends the registration with the server's response of 64 bytes. Takes 32 bytes from `rng`.
    ///
    /// `params` came with the response; they are checked against the client's limits before anything is stretched. Of `parties` only the
    /// identities count here.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Element`] for a bad response; [`Error::Limits`], [`Error::Ksf`]; [`Error::TooLong`].
    pub fn finish(
        self,
        rng: &mut (impl CryptoRng + ?Sized),
        response: &[u8],
        params: &KsfParams,
        ksf: &mut (impl Ksf + ?Sized),
        parties: &Parties<'_>,
    ) -> Result<Registered, Error> {
        clearing::<Rfc9807, _>(|| {
            secret::takes("opaque/register-finish", self.blinded.blind());
            self.limits.check(params)?;
            parties.check()?;
            let [evaluated, server_public_key] = *exactly::<64>(Input::RegistrationResponse, response)?.as_chunks().0
            else {
                unreachable!("64 bytes are two chunks of 32")
            };
            decode(Element::ServerPublicKey, &server_public_key)?;

            let password = RandomizedPassword::new(&*self.blinded.output(&evaluated)?, params, ksf)?;
            let mut nonce = [0; NONCE];
            rng.fill_bytes(&mut nonce);
            let [client_public] = *encode_products([(&password.client_key(&nonce), Base::Generator)]);
            let (masking_key, tag) =
                (password.masking_key(), password.tag(&nonce, &server_public_key, parties, &client_public));

            let mut upload = [0; UPLOAD];
            crate::write(&mut upload, &[&client_public, masking_key.as_slice(), &nonce, tag.as_slice()]);
            Ok(Registered { upload, export_key: password.export_key(&nonce), server_public_key })
        })
    }
}

impl ClientRegistration {
    /// Bytes of the encoding.
    pub const LENGTH: usize = 1 + 32 + 32;

    /// The state as bytes, for a client that can't keep it in memory until the response comes: version, blind, request.
    ///
    /// **They are as secret as the password**: with them passwords can be tried without key stretching. Delete them when the
    /// registration is over, and resume each of them once.
    pub fn to_bytes(&self) -> Zeroizing<[u8; Self::LENGTH]> {
        clearing::<Rfc9807, _>(|| {
            let blind = Zeroizing::new(self.blinded.blind().to_bytes());
            let mut bytes = Zeroizing::new([0; Self::LENGTH]);
            crate::write(bytes.as_mut_slice(), &[&[VERSION], blind.as_slice(), self.blinded.sent()]);
            bytes
        })
    }

    pub(super) fn resume(limits: Limits, saved: &[u8], password: &Password<'_>) -> Result<Self, Error> {
        let [version, parts @ ..] = exactly::<{ Self::LENGTH }>(Input::ClientRegistration, saved)?;
        let &[blind, request] = parts.as_chunks().0 else { unreachable!("64 bytes are two chunks of 32") };
        if *version != VERSION {
            return Err(Error::State(StateError::Version));
        }
        Ok(Self { limits, blinded: Blinded::resume(&blind, &request, password.as_bytes())? })
    }
}

impl fmt::Debug for ClientRegistration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientRegistration(..)")
    }
}

impl fmt::Debug for Registered {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Registered(..)")
    }
}
