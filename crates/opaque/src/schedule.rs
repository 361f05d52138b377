//! How both sides hash the transcript and derive keys from it: RFC 9807 §6.4.2, opaque-ke's extension with a KEM, and `docs/hybrid.md` §4.

use crate::kdf::{self, HASH, Key, Mac, Prk};
use crate::ksf::KsfParams;
use crate::lengths::{NONCE, RESPONSE};
use crate::messages::Ke1;
use crate::parties::{Parties, vector};
use crate::suite::{Slot, Suite};
use candor_primitives::SharedSecret;
use candor_primitives::hash::Sha512;
use candor_primitives::hash::digest::{FixedOutput, Update};
use core::marker::PhantomData;
use zeroize::Zeroizing;

/// Prefix of an encrypted suite's name in its transcript.
const PROTOCOL: &[u8] = b"candor-opaque-1/";
/// The info of the credential response's pad.
const PAD: &[u8] = b"candor-opaque-1: credential response";

/// The public input of the transcript: the messages except for the credential response, and what both sides knew beforehand.
pub(crate) struct Public<'a, S> {
    pub(crate) parties: &'a Parties<'a>,
    pub(crate) ksf: &'a KsfParams,
    /// The hash of the server's static KEM key; empty without one.
    pub(crate) static_id: &'a [u8],
    pub(crate) ke1: &'a Ke1<'a>,
    pub(crate) server_nonce: &'a [u8; NONCE],
    pub(crate) server_share: &'a [u8; 32],
    pub(crate) ciphertext: &'a [u8],
    pub(crate) suite: PhantomData<S>,
}

/// The running hash of the transcript.
pub(crate) struct Transcript(Sha512);

impl<S: Suite> Public<'_, S> {
    /// The transcript of an encrypted suite up to the credential response.
    pub(crate) fn before_response(&self) -> Transcript {
        let mut transcript = Transcript(Sha512::new());
        let name = PROTOCOL.len() + S::NAME.len() + 1 + S::Ephemeral::NAME.len();
        transcript.add(&(name as u16).to_be_bytes());
        [PROTOCOL, S::NAME.as_bytes(), b"/", S::Ephemeral::NAME.as_bytes()]
            .iter()
            .for_each(|part| transcript.add(part));
        transcript.add(&self.ksf.to_bytes());
        transcript.vector(self.parties.context);
        transcript.vector(self.static_id);
        for part in [self.ke1.all, self.server_nonce, self.server_share, self.ciphertext] {
            transcript.add(part);
        }
        transcript
    }

    /// The transcript up to the server's MAC. `begun` is [`Self::before_response`] for an encrypted suite, and `response` is the
    /// credential response as it travels.
    pub(crate) fn before_mac(
        &self,
        begun: Option<Transcript>,
        response: &[u8; RESPONSE],
        client_public: &[u8; 32],
        server_public: &[u8; 32],
    ) -> Transcript {
        let client = self.parties.client.unwrap_or(client_public);
        let server = self.parties.server.unwrap_or(server_public);
        if let Some(mut transcript) = begun {
            transcript.add(response);
            transcript.vector(client);
            transcript.vector(server);
            return transcript;
        }
        let mut transcript = Transcript(Sha512::new());
        transcript.add(b"OPAQUEv1-");
        transcript.vector(self.parties.context);
        transcript.vector(client);
        transcript.add(self.ke1.rfc);
        transcript.vector(server);
        for part in [response, &self.server_nonce[..], self.server_share, self.ke1.encapsulation_key, self.ciphertext] {
            transcript.add(part);
        }
        transcript
    }
}

impl Transcript {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        Update::update(&mut self.0, bytes);
    }

    fn vector(&mut self, bytes: &[u8]) {
        let (length, bytes) = vector(bytes);
        self.add(&length);
        self.add(bytes);
    }

    /// The hash of everything so far; more may follow.
    pub(crate) fn hash(&self) -> [u8; HASH] {
        self.0.clone().finalize_fixed().into()
    }
}

/// The pad that encrypts and decrypts the credential response (`P` in `docs/hybrid.md` §4.2).
pub(crate) fn response_pad(
    before_response: &Transcript,
    ephemeral: Option<&SharedSecret>,
    fixed: Option<&SharedSecret>,
) -> Zeroizing<[u8; RESPONSE]> {
    kdf::extract(&before_response.hash(), &[bytes(ephemeral), bytes(fixed)]).expand(&[PAD])
}

/// The three Diffie-Hellman secrets and those of the KEMs.
pub(crate) struct Secrets<'a> {
    pub(crate) dh: [&'a [u8; 32]; 3],
    pub(crate) ephemeral: Option<&'a SharedSecret>,
    pub(crate) fixed: Option<&'a SharedSecret>,
}

/// Km2, Km3 and the session key.
pub(crate) struct Keys {
    server_mac: Mac,
    client_mac: Mac,
    pub(crate) session: Key,
}

impl Keys {
    /// DeriveKeys, RFC 9807 §6.4.2, with the KEMs' secrets after the Diffie-Hellman ones.
    pub(crate) fn new(secrets: &Secrets<'_>, transcript: &[u8; HASH]) -> Self {
        let [dh1, dh2, dh3] = secrets.dh;
        let prk = kdf::extract(&[], &[dh1, dh2, dh3, bytes(secrets.ephemeral), bytes(secrets.fixed)]);
        let handshake = Prk::new(&expand_label(&prk, b"OPAQUE-HandshakeSecret", transcript));
        Self {
            server_mac: Mac::new(expand_label(&handshake, b"OPAQUE-ServerMAC", &[]).as_slice()),
            client_mac: Mac::new(expand_label(&handshake, b"OPAQUE-ClientMAC", &[]).as_slice()),
            session: expand_label(&prk, b"OPAQUE-SessionKey", transcript),
        }
    }

    /// The MAC in KE2.
    pub(crate) fn server_mac(&self, transcript: &[u8; HASH]) -> Key {
        self.server_mac.of(&[transcript])
    }

    /// KE3, once the server's MAC is in the transcript.
    pub(crate) fn client_mac(&self, with_server_mac: &Transcript) -> Key {
        self.client_mac.of(&[&with_server_mac.hash()])
    }
}

/// Expand-Label, RFC 9807 §6.4.2, for 64 bytes.
fn expand_label(prk: &Prk, label: &[u8], context: &[u8]) -> Key {
    prk.expand(&[&[0, HASH as u8, label.len() as u8], label, &[context.len() as u8], context])
}

fn bytes(secret: Option<&SharedSecret>) -> &[u8] {
    secret.map_or(&[], |secret| secret.as_bytes())
}
