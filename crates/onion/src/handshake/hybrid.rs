//! Hybrid handshakes of X25519 and a KEM, as specified in `docs/hybrid-handshake.md`.
//!
//! ```text
//! onionskin   KEYID 32 | X 32 | EK_e | [CT_s] | ENC(ENC_K1, CM) | MAC 32
//! reply       Y 32 | CT_e | AUTH 32 | ENC(ENC_K2, SM)
//! ```
//!
//! CT_s is present if the relay has a static KEM key beside its X25519 onion key ([`StaticKem`]); then an impostor must
//! break both. The keys are safe while either X25519 or the ephemeral KEM holds.

mod schedule;
mod static_key;

pub use static_key::{NoStaticKem, StaticKem, StaticKey};

use super::authenticator::{check, same};
use super::exchange::{Exchange, exchange, exchange_many};
use super::{CIRCUIT_EXTEND, Client, Established, Handshake, Keys, Replies, Request, stream};
use crate::Error;
use crate::parts::Parts;
use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use candor_cpu::secret;
use candor_primitives::SharedSecret;
use candor_primitives::dh::DiffieHellman;
use candor_primitives::kem::Kem;
use candor_primitives::stack;
use core::{fmt, mem};
use schedule::{Algorithms, PhaseOne, Transcript};

/// Stack that a step takes, in bytes, most of it by ML-KEM; what is left there is overwritten.
const FRAMES: usize = 48 << 10;

/// The hybrid handshake of a KEM and a Diffie-Hellman function. `S` says whether the relay has a static KEM key too.
#[derive(Clone, Debug)]
pub struct Hybrid<K, D, S> {
    kem: K,
    dh: D,
    static_key: S,
    verification: Cow<'static, [u8]>,
}

impl<K: Kem + Clone, D: DiffieHellman + Clone, S: StaticKey> Hybrid<K, D, S> {
    /// Bytes before the client's encrypted message: KEYID | X | EK_e | CT_s.
    const HEADER: usize = 32 + 32 + K::PUBLIC + S::CIPHERTEXT;
    /// Bytes before the relay's encrypted message: Y | CT_e | AUTH.
    const REPLY_HEADER: usize = 32 + K::CIPHERTEXT + 32;

    /// The handshake on these back ends.
    pub fn new(kem: K, dh: D, static_key: S) -> Self {
        Self { kem, dh, static_key, verification: Cow::Borrowed(CIRCUIT_EXTEND) }
    }

    /// The same handshake with another verification string, which both sides must agree on beforehand.
    // ct: public, because both sides publish it
    #[must_use]
    pub fn with_verification(self, verification: impl Into<Cow<'static, [u8]>>) -> Self {
        Self { verification: verification.into(), ..self }
    }

    /// A relay with this Ed25519 identity and these onion keys. `static_kem` is the static KEM's key pair, or `((),
    /// ())` without one.
    ///
    /// # Errors
    /// [`Error::Dh`], [`Error::Kem`] if a back end fails.
    // ct: X25519
    pub fn relay(
        &self,
        identity: [u8; 32],
        onion_key: D::Secret,
        static_kem: (S::Secret, S::Public),
    ) -> Result<HybridRelay<D, S>, Error> {
        let public = self.relay_public(identity, self.dh.public_of(&onion_key)?, static_kem.1)?;
        Ok(HybridRelay { onion_key, static_kem: static_kem.0, public })
    }

    /// What a client knows about a relay, from a directory.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    // ct: public, because all of it stands in a directory
    pub fn relay_public(
        &self,
        identity: [u8; 32],
        onion_key: [u8; 32],
        static_kem: S::Public,
    ) -> Result<HybridRelayPublic<S>, Error> {
        let encoded = self.static_key.public_to_bytes(&static_kem)?;
        let key_id = Self::algorithms().key_id(&identity, &onion_key, &encoded);
        Ok(HybridRelayPublic { identity, onion_key, static_kem, key_id })
    }

    fn algorithms() -> Algorithms {
        Algorithms { dh: D::NAME, kem: K::NAME, static_kem: S::NAME }
    }
}

impl<K: Kem + Clone + Default, D: DiffieHellman + Clone + Default, S: StaticKey + Default> Default for Hybrid<K, D, S> {
    fn default() -> Self {
        Self::new(K::default(), D::default(), S::default())
    }
}

/// What a client knows about a relay. The static KEM key is parsed.
pub struct HybridRelayPublic<S: StaticKey> {
    identity: [u8; 32],
    onion_key: [u8; 32],
    static_kem: S::Public,
    key_id: [u8; 32],
}

impl<S: StaticKey> HybridRelayPublic<S> {
    /// ID: the relay's Ed25519 identity key.
    pub fn identity(&self) -> &[u8; 32] {
        &self.identity
    }

    /// B: the relay's X25519 onion key.
    pub fn onion_key(&self) -> &[u8; 32] {
        &self.onion_key
    }

    /// EK_s: the relay's static KEM key; `()` without one.
    pub fn static_kem(&self) -> &S::Public {
        &self.static_kem
    }

    /// KEYID: the hash of the algorithms' names, ID, B and EK_s. Onionskins name the relay and its keys by it.
    pub fn key_id(&self) -> &[u8; 32] {
        &self.key_id
    }
}

/// A relay's identity and onion keys.
pub struct HybridRelay<D: DiffieHellman, S: StaticKey> {
    onion_key: D::Secret,
    static_kem: S::Secret,
    public: HybridRelayPublic<S>,
}

/// A client that has sent its onionskin.
pub struct HybridClient<K: Kem, D: DiffieHellman> {
    kem: K,
    dh: D,
    x: D::Secret,
    dk: K::Secret,
    phase_one: PhaseOne,
    transcript: Transcript,
}

/// An accepted onionskin: it was for this relay, is intact, and its KEM key passed the check.
pub struct HybridRequest<K: Kem> {
    kem: K,
    ek: K::Public,
    message: Vec<u8>,
    phase_one: PhaseOne,
    transcript: Transcript,
    y_public: [u8; 32],
    /// EXP(X, y).
    xy: SharedSecret,
}

impl<K: Kem + Clone, D: DiffieHellman + Clone, S: StaticKey> Handshake for Hybrid<K, D, S> {
    type Identity = [u8; 32];
    type RelaySecret = HybridRelay<D, S>;
    type RelayPublic = HybridRelayPublic<S>;
    type Client = HybridClient<K, D>;
    type Request = HybridRequest<K>;

    const ONIONSKIN: usize = Self::HEADER + 32;
    const REPLY: usize = Self::REPLY_HEADER;
    const CARRIES_MESSAGES: bool = true;

    fn name(&self) -> String {
        Self::algorithms().name()
    }

    fn generate_relay(&self, identity: [u8; 32]) -> Result<HybridRelay<D, S>, Error> {
        stack::clearing::<FRAMES, _>(|| {
            let (onion_key, onion_public) = self.dh.generate()?;
            let (static_kem, static_public) = self.static_key.generate()?;
            Ok(HybridRelay { onion_key, static_kem, public: self.relay_public(identity, onion_public, static_public)? })
        })
    }

    fn public<'a>(&self, relay: &'a HybridRelay<D, S>) -> &'a HybridRelayPublic<S> {
        &relay.public
    }

    fn start(&self, relay: &HybridRelayPublic<S>, message: &[u8]) -> Result<(HybridClient<K, D>, Vec<u8>), Error> {
        stack::clearing::<FRAMES, _>(|| {
            let (x, x_public) = self.dh.generate()?;
            secret::takes("hybrid/start", &x);
            let bx = self.dh.agree(&x, &relay.onion_key)?;
            let (dk, ek) = self.kem.generate()?;

            let mut onionskin = Vec::with_capacity(Self::ONIONSKIN + message.len());
            onionskin.extend_from_slice(&relay.key_id);
            onionskin.extend_from_slice(&x_public);
            onionskin.resize(Self::HEADER, 0);
            let (ek_bytes, ct_s) = onionskin[64..].split_at_mut(K::PUBLIC);
            self.kem.public_to_bytes(&ek, ek_bytes)?;
            let ss_s = self.static_key.encapsulate(&relay.static_kem, ct_s)?;

            let mut transcript = Transcript::begin(&Self::algorithms(), &self.verification);
            transcript.fixed(&onionskin);
            let phase_one = PhaseOne::new(bx, ss_s, &transcript);

            onionskin.extend_from_slice(message);
            stream::apply(&phase_one.enc_key, &mut onionskin[Self::HEADER..]);
            let mac = phase_one.mac(&onionskin[Self::HEADER..]);
            transcript.encapsulated(&onionskin[Self::HEADER..]);
            transcript.fixed(mac.as_slice());
            onionskin.extend_from_slice(mac.as_slice());
            let client = HybridClient { kem: self.kem.clone(), dh: self.dh.clone(), x, dk, phase_one, transcript };
            Ok((client, onionskin))
        })
    }

    fn accept(&self, relays: &[HybridRelay<D, S>], onionskin: &[u8]) -> Result<HybridRequest<K>, Error> {
        stack::clearing::<FRAMES, _>(|| {
            let opened = Self::open(relays, onionskin)?;
            secret::takes("hybrid/accept", &opened.relay.onion_key);
            let exchange = exchange(&self.dh, &opened.relay.onion_key, opened.x_public)?;
            let ss_s = self.static_key.decapsulate(&opened.relay.static_kem, opened.ct_s)?;
            self.checked(&opened, exchange, ss_s)
        })
    }

    fn answer_many(&self, relays: &[HybridRelay<D, S>], onionskins: &[&[u8]], replies: &mut dyn Replies) {
        stack::clearing::<FRAMES, _>(|| {
            let mut opened = Vec::with_capacity(onionskins.len());
            for (at, onionskin) in onionskins.iter().enumerate() {
                match Self::open(relays, onionskin) {
                    Ok(onionskin) => opened.push((at, onionskin)),
                    Err(error) => replies.answered(at, Err(error)),
                }
            }
            let requests = self.checked_many(&opened, replies);
            self.respond_many(requests, replies);
        });
    }
}

/// An onionskin that names a key of the relay's, in its parts.
struct Opened<'a, D: DiffieHellman, S: StaticKey> {
    relay: &'a HybridRelay<D, S>,
    /// KEYID | X | EK_e | CT_s.
    header: &'a [u8],
    x_public: &'a [u8; 32],
    ek: &'a [u8],
    ct_s: &'a [u8],
    encrypted: &'a [u8],
    mac: &'a [u8; 32],
}

/// Where an onionskin stands in a batch, its request, and what will be the reply.
type Replying<K> = (usize, HybridRequest<K>, Vec<u8>);

impl<K: Kem + Clone, D: DiffieHellman + Clone, S: StaticKey> Hybrid<K, D, S> {
    fn open<'a>(relays: &'a [HybridRelay<D, S>], onionskin: &'a [u8]) -> Result<Opened<'a, D, S>, Error> {
        let mut parts = Parts::of("hybrid onionskin", onionskin, Self::ONIONSKIN, true)?;
        let (key_id, x_public) = (parts.array::<32>()?, parts.array::<32>()?);
        let (ek, ct_s) = (parts.slice(K::PUBLIC)?, parts.slice(S::CIPHERTEXT)?);
        let (encrypted, mac) = parts.rest_and_last::<32>()?;
        let relay = relays.iter().find(|relay| same(&relay.public.key_id, key_id)).ok_or(Error::UnknownKey)?;
        Ok(Opened { relay, header: &onionskin[..Self::HEADER], x_public, ek, ct_s, encrypted, mac })
    }

    /// The request in an onionskin, if it is intact and its KEM key passes the check.
    fn checked(
        &self,
        onionskin: &Opened<'_, D, S>,
        exchange: Exchange,
        ss_s: Option<SharedSecret>,
    ) -> Result<HybridRequest<K>, Error> {
        let Exchange { y_public, xb, xy } = exchange;
        let mut transcript = Transcript::begin(&Self::algorithms(), &self.verification);
        transcript.fixed(onionskin.header);
        let phase_one = PhaseOne::new(xb, ss_s, &transcript);
        check(&phase_one.mac(onionskin.encrypted), onionskin.mac, Error::Onionskin)?;
        transcript.encapsulated(onionskin.encrypted);
        transcript.fixed(onionskin.mac);

        let ek = self.kem.public_from_bytes(onionskin.ek)?;
        let mut message = onionskin.encrypted.to_vec();
        stream::apply(&phase_one.enc_key, &mut message);
        Ok(HybridRequest { kem: self.kem.clone(), ek, message, phase_one, transcript, y_public, xy })
    }

    /// [`Self::checked`] of each, with all agreements in one pass and then all decapsulations, or these one by one if that fails; those that fail are answered.
    fn checked_many(&self, opened: &[(usize, Opened<'_, D, S>)], replies: &mut dyn Replies) -> Vec<Replying<K>> {
        let asked: Vec<_> = opened.iter().map(|(_, opened)| (&opened.relay.onion_key, opened.x_public)).collect();
        asked.iter().for_each(|(onion_key, _)| secret::takes("hybrid/answer-many", *onion_key));
        let exchanges = exchange_many(&self.dh, &asked);
        let keys: Vec<_> = opened.iter().map(|(_, opened)| &opened.relay.static_kem).collect();
        let ciphertexts: Vec<_> = opened.iter().map(|(_, opened)| opened.ct_s).collect();
        let static_secrets = self.static_key.decapsulate_many(&keys, &ciphertexts);
        // With room from the start, so that no secret is moved and left behind.
        let mut requests = Vec::with_capacity(opened.len());
        for (place, ((at, opened), exchange)) in opened.iter().zip(&exchanges).enumerate() {
            let mut accepted = || {
                let ss_s = match &static_secrets {
                    Ok(secrets) => secrets[place].clone(),
                    // One of them has failed, and the others go on.
                    Err(_) => self.static_key.decapsulate(&opened.relay.static_kem, opened.ct_s)?,
                };
                let request = self.checked(opened, exchange.clone()?, ss_s)?;
                let reply = request.reply(&replies.message(*at, &request.message)?);
                Ok((*at, request, reply))
            };
            match accepted() {
                Ok(request) => requests.push(request),
                Err(error) => replies.answered(*at, Err(error)),
            }
        }
        requests
    }

    /// Responds to each, with all encapsulations in one pass; one by one if that fails.
    fn respond_many(&self, mut requests: Vec<Replying<K>>, replies: &mut dyn Replies) {
        let (mut keys, mut ciphertexts) = (Vec::new(), Vec::new());
        for (_, request, reply) in &mut requests {
            keys.push(&request.ek);
            ciphertexts.push(&mut reply[32..32 + K::CIPHERTEXT]);
        }
        let secrets = self.kem.encapsulate_many(&keys, &mut ciphertexts);
        for (place, (at, request, reply)) in requests.iter_mut().enumerate() {
            let ss_e = match &secrets {
                Ok(secrets) => Ok(secrets[place].clone()),
                // As above.
                Err(_) => self.kem.encapsulate(&request.ek, &mut reply[32..32 + K::CIPHERTEXT]),
            };
            let answer = ss_e.map(|ss_e| {
                let keys = request.finish(reply, &ss_e);
                (mem::take(reply), keys)
            });
            replies.answered(*at, answer.map_err(Error::from));
        }
    }
}

impl<K: Kem> HybridRequest<K> {
    /// Bytes before the encrypted message: Y | CT_e | AUTH.
    const MESSAGE_AT: usize = 32 + K::CIPHERTEXT + 32;

    /// Y, room for the ciphertext and the authenticator, and the message, which is not encrypted yet.
    fn reply(&self, message: &[u8]) -> Vec<u8> {
        let mut reply = Vec::with_capacity(Self::MESSAGE_AT + message.len());
        reply.extend_from_slice(&self.y_public);
        reply.resize(Self::MESSAGE_AT, 0);
        reply.extend_from_slice(message);
        reply
    }

    /// Completes a reply in which the ciphertext stands, and gives the keys.
    fn finish(&mut self, reply: &mut [u8], ss_e: &SharedSecret) -> Keys {
        let auth_at = Self::MESSAGE_AT - 32;
        self.transcript.fixed(&reply[..auth_at]);
        let phase_two = self.phase_one.phase_two(&self.xy, ss_e, &self.transcript);
        stream::apply(&phase_two.enc_key, &mut reply[Self::MESSAGE_AT..]);
        self.transcript.encapsulated(&reply[Self::MESSAGE_AT..]);
        let (auth, keys) = phase_two.finish(&self.transcript);
        reply[auth_at..Self::MESSAGE_AT].copy_from_slice(auth.as_slice());
        keys
    }
}

impl<K: Kem> Request for HybridRequest<K> {
    fn message(&self) -> &[u8] {
        &self.message
    }

    fn respond(mut self, message: &[u8]) -> Result<(Vec<u8>, Keys), Error> {
        stack::clearing::<FRAMES, _>(|| {
            secret::takes("hybrid/respond", self.xy.as_bytes());
            let mut reply = self.reply(message);
            let ss_e = self.kem.encapsulate(&self.ek, &mut reply[32..32 + K::CIPHERTEXT])?;
            let keys = self.finish(&mut reply, &ss_e);
            Ok((reply, keys))
        })
    }
}

impl<K: Kem, D: DiffieHellman> Client for HybridClient<K, D> {
    fn finish(mut self, reply: &[u8]) -> Result<Established, Error> {
        stack::clearing::<FRAMES, _>(|| {
            let mut parts = Parts::of("hybrid reply", reply, 32 + K::CIPHERTEXT + 32, true)?;
            let (y_public, ct_e, auth) = (parts.array::<32>()?, parts.slice(K::CIPHERTEXT)?, parts.array::<32>()?);
            let encrypted = parts.rest();

            secret::takes("hybrid/finish", &self.x);
            let xy = self.dh.agree(&self.x, y_public)?;
            let ss_e = self.kem.decapsulate(&self.dk, ct_e)?;
            self.transcript.fixed(&reply[..32 + K::CIPHERTEXT]);
            let phase_two = self.phase_one.phase_two(&xy, &ss_e, &self.transcript);
            self.transcript.encapsulated(encrypted);
            let mut message = encrypted.to_vec();
            let enc_key = phase_two.enc_key.clone();
            let (expected, keys) = phase_two.finish(&self.transcript);
            check(&expected, auth, Error::Authentication)?;
            stream::apply(&enc_key, &mut message);
            Ok(Established { message, keys })
        })
    }
}

impl<S: StaticKey> fmt::Debug for HybridRelayPublic<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HybridRelayPublic").field("key_id", &self.key_id).finish_non_exhaustive()
    }
}

impl<D: DiffieHellman, S: StaticKey> fmt::Debug for HybridRelay<D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HybridRelay").field("public", &self.public).finish_non_exhaustive()
    }
}

impl<K: Kem, D: DiffieHellman> fmt::Debug for HybridClient<K, D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HybridClient").finish_non_exhaustive()
    }
}

impl<K: Kem> fmt::Debug for HybridRequest<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("HybridRequest").finish_non_exhaustive()
    }
}
