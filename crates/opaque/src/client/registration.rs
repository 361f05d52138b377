//! The client's half of a registration (RFC 9807 §5).

use crate::envelope::RandomizedPassword;
use crate::error::exactly;
use crate::group::{Base, decode, encode_products};
use crate::ksf::{Ksf, KsfParams, Limits};
use crate::messages::{NONCE, UPLOAD};
use crate::oprf::Blinded;
use crate::parties::Parties;
use crate::password::Password;
use crate::{Error, ExportKey};
use core::fmt;
use rand_core::CryptoRng;

/// A client that has sent its registration request.
pub struct ClientRegistration {
    limits: Limits,
    blinded: Blinded,
}

/// What a registration ends in.
pub struct Registered {
    /// To be sent to the server: 192 bytes, RFC 9807's RegistrationRecord. It holds what passwords can be tried on, if one
    /// has the server's keys as well.
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
    /// `params` are those that the deployment uses today; the server stores them beside the upload. `parties` gives the
    /// identities; its context is of no concern here.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Element`] for a bad response; [`Error::KsfLimits`], [`Error::Ksf`]; [`Error::TooLong`].
    pub fn finish(
        self,
        rng: &mut (impl CryptoRng + ?Sized),
        response: &[u8],
        params: &KsfParams,
        ksf: &mut (impl Ksf + ?Sized),
        parties: &Parties<'_>,
    ) -> Result<Registered, Error> {
        self.limits.check(params)?;
        parties.check()?;
        let [evaluated, server_public_key] = *exactly::<64>("registration response", response)?.as_chunks().0 else {
            unreachable!("64 bytes are two chunks of 32")
        };
        decode("server's public key", &server_public_key)?;

        let password = RandomizedPassword::new(&*self.blinded.finalize(&evaluated)?, params, ksf)?;
        let mut nonce = [0; NONCE];
        rng.fill_bytes(&mut nonce);
        let [client_public] = encode_products([(&password.client_key(&nonce), Base::Generator)]);
        let (masking_key, tag) =
            (password.masking_key(), password.tag(&nonce, &server_public_key, parties, &client_public));

        let mut upload = [0; UPLOAD];
        crate::write(&mut upload, &[&client_public, masking_key.as_slice(), &nonce, tag.as_slice()]);
        Ok(Registered { upload, export_key: password.export_key(&nonce), server_public_key })
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
