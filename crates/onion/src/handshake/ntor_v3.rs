//! Tor's `ntor-v3` handshake (tor-spec, "The 'ntor-v3' handshake"; proposal 332).
//!
//! ```text
//! onionskin   NODEID 32 = ID | KEYID 32 = B | X 32 | ENC(ENC_K1, CM) | MAC 32
//! reply       Y 32 | AUTH 32 | ENC(ENC_KEY, SM)
//! ```
//!
//! Names in this file are the proposal's.

use super::authenticator::{check, same};
use super::exchange::{Exchange, exchange, exchange_many};
use super::{CIRCUIT_EXTEND, Client, Established, Handshake, Keys, Replies, Request, sha3, stream};
use crate::Error;
use crate::parts::Parts;
use alloc::borrow::Cow;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use candor_cpu::secret;
use candor_primitives::SharedSecret;
use candor_primitives::dh::DiffieHellman;
use candor_primitives::hash::{Shake256Reader, XofReader};
use candor_primitives::stack;
use core::fmt;
use zeroize::Zeroizing;

/// Stack that a step takes, in bytes; what is left there is overwritten.
const FRAMES: usize = 16 << 10;

const PROTOID: &[u8] = b"ntor3-curve25519-sha3_256-1";
const T_MSGKDF: &[u8] = b"ntor3-curve25519-sha3_256-1:kdf_phase1";
const T_MSGMAC: &[u8] = b"ntor3-curve25519-sha3_256-1:msg_mac";
const T_KEY_SEED: &[u8] = b"ntor3-curve25519-sha3_256-1:key_seed";
const T_VERIFY: &[u8] = b"ntor3-curve25519-sha3_256-1:verify";
const T_FINAL: &[u8] = b"ntor3-curve25519-sha3_256-1:kdf_final";
const T_AUTH: &[u8] = b"ntor3-curve25519-sha3_256-1:auth_final";
const SERVER: &[u8] = b"Server";

/// Length of NODEID | KEYID | X, which precede the encrypted message.
const HEADER: usize = 32 + 32 + 32;
const ONIONSKIN: usize = HEADER + sha3::DIGEST;
const REPLY: usize = 32 + sha3::DIGEST;

/// `ntor-v3` on a Diffie-Hellman back end, for circuit extension unless another verification string is given.
#[derive(Clone, Debug)]
pub struct NtorV3<D> {
    dh: D,
    verification: Cow<'static, [u8]>,
}

impl<D: DiffieHellman + Clone> NtorV3<D> {
    /// The handshake on this back end.
    pub fn new(dh: D) -> Self {
        Self { dh, verification: Cow::Borrowed(CIRCUIT_EXTEND) }
    }

    /// The same handshake with another verification string VER, which both sides must agree on beforehand (prop 332,
    /// "Overview").
    // ct: public, because both sides publish it
    #[must_use]
    pub fn with_verification(self, verification: impl Into<Cow<'static, [u8]>>) -> Self {
        Self { verification: verification.into(), ..self }
    }

    /// A relay with this Ed25519 identity and onion key.
    ///
    /// # Errors
    /// [`Error::Dh`] if the back end fails.
    // ct: X25519
    pub fn relay(&self, identity: [u8; 32], onion_key: D::Secret) -> Result<NtorV3Relay<D>, Error> {
        let public = NtorV3RelayPublic { identity, onion_key: self.dh.public_of(&onion_key)? };
        Ok(NtorV3Relay { onion_key, public })
    }

    fn phase_one(&self, xb: SharedSecret, relay: &NtorV3RelayPublic, x_public: [u8; 32]) -> PhaseOne {
        PhaseOne { relay: *relay, x_public, xb, mac: [0; 32], verification: self.verification.clone() }
    }
}

impl<D: DiffieHellman + Clone + Default> Default for NtorV3<D> {
    fn default() -> Self {
        Self::new(D::default())
    }
}

/// What a client knows about a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NtorV3RelayPublic {
    /// ID: the relay's Ed25519 identity key.
    pub identity: [u8; 32],
    /// B: the relay's X25519 onion key.
    pub onion_key: [u8; 32],
}

/// A relay's identity and onion key pair (b, B).
pub struct NtorV3Relay<D: DiffieHellman> {
    onion_key: D::Secret,
    public: NtorV3RelayPublic,
}

/// A client that has sent its onionskin.
pub struct NtorV3Client<D: DiffieHellman> {
    dh: D,
    x: D::Secret,
    phase_one: PhaseOne,
}

/// An accepted onionskin: it was for this relay and is intact.
pub struct NtorV3Request {
    message: Vec<u8>,
    phase_one: PhaseOne,
    y_public: [u8; 32],
    /// EXP(X, y).
    xy: SharedSecret,
}

/// The parts of the onionskin that both sides remember: X, B, ID, Bx, the MAC.
struct PhaseOne {
    relay: NtorV3RelayPublic,
    x_public: [u8; 32],
    xb: SharedSecret,
    mac: [u8; 32],
    verification: Cow<'static, [u8]>,
}

impl<D: DiffieHellman + Clone> Handshake for NtorV3<D> {
    type Identity = [u8; 32];
    type RelaySecret = NtorV3Relay<D>;
    type RelayPublic = NtorV3RelayPublic;
    type Client = NtorV3Client<D>;
    type Request = NtorV3Request;

    const ONIONSKIN: usize = ONIONSKIN;
    const REPLY: usize = REPLY;
    const CARRIES_MESSAGES: bool = true;

    fn name(&self) -> String {
        "ntor-v3".to_owned()
    }

    fn generate_relay(&self, identity: [u8; 32]) -> Result<NtorV3Relay<D>, Error> {
        stack::clearing::<FRAMES, _>(|| {
            let (onion_key, public) = self.dh.generate()?;
            Ok(NtorV3Relay { onion_key, public: NtorV3RelayPublic { identity, onion_key: public } })
        })
    }

    fn public<'a>(&self, relay: &'a NtorV3Relay<D>) -> &'a NtorV3RelayPublic {
        &relay.public
    }

    fn start(&self, relay: &NtorV3RelayPublic, message: &[u8]) -> Result<(NtorV3Client<D>, Vec<u8>), Error> {
        stack::clearing::<FRAMES, _>(|| {
            let (x, x_public) = self.dh.generate()?;
            secret::takes("ntor-v3/start", &x);
            let bx = self.dh.agree(&x, &relay.onion_key)?;
            let mut phase_one = self.phase_one(bx, relay, x_public);
            let (enc_k1, mac_k1) = phase_one.keys();

            let mut onionskin = Vec::with_capacity(ONIONSKIN + message.len());
            onionskin.extend_from_slice(&relay.identity);
            onionskin.extend_from_slice(&relay.onion_key);
            onionskin.extend_from_slice(&x_public);
            onionskin.extend_from_slice(message);
            stream::apply(&enc_k1, &mut onionskin[HEADER..]);
            phase_one.mac = *sha3::mac(T_MSGMAC, &mac_k1, &[&onionskin]);
            onionskin.extend_from_slice(&phase_one.mac);
            Ok((NtorV3Client { dh: self.dh.clone(), x, phase_one }, onionskin))
        })
    }

    fn accept(&self, relays: &[NtorV3Relay<D>], onionskin: &[u8]) -> Result<NtorV3Request, Error> {
        stack::clearing::<FRAMES, _>(|| {
            let opened = Opened::new(relays, onionskin)?;
            secret::takes("ntor-v3/accept", &opened.relay.onion_key);
            self.checked(&opened, exchange(&self.dh, &opened.relay.onion_key, &opened.x_public)?)
        })
    }

    fn answer_many(&self, relays: &[NtorV3Relay<D>], onionskins: &[&[u8]], replies: &mut dyn Replies) {
        stack::clearing::<FRAMES, _>(|| {
            let mut opened = Vec::with_capacity(onionskins.len());
            for (at, onionskin) in onionskins.iter().enumerate() {
                match Opened::new(relays, onionskin) {
                    Ok(onionskin) => opened.push((at, onionskin)),
                    Err(error) => replies.answered(at, Err(error)),
                }
            }
            let asked: Vec<_> = opened.iter().map(|(_, opened)| (&opened.relay.onion_key, &opened.x_public)).collect();
            asked.iter().for_each(|(onion_key, _)| secret::takes("ntor-v3/answer-many", *onion_key));
            for ((at, opened), exchange) in opened.iter().zip(&exchange_many(&self.dh, &asked)) {
                let answer = exchange.clone().map_err(Error::from).and_then(|exchange| {
                    let request = self.checked(opened, exchange)?;
                    let message = replies.message(*at, request.message())?;
                    request.respond(&message)
                });
                replies.answered(*at, answer);
            }
        });
    }
}

/// An onionskin that names a key of the relay's, in its parts.
struct Opened<'a, D: DiffieHellman> {
    relay: &'a NtorV3Relay<D>,
    x_public: [u8; 32],
    /// NODEID | KEYID | X | the encrypted message, which the MAC covers.
    covered: &'a [u8],
    mac: &'a [u8; 32],
}

impl<'a, D: DiffieHellman> Opened<'a, D> {
    fn new(relays: &'a [NtorV3Relay<D>], onionskin: &'a [u8]) -> Result<Self, Error> {
        let mut parts = Parts::of("ntor-v3 onionskin", onionskin, ONIONSKIN, true)?;
        let (identity, key_id, x_public) = (parts.array::<32>()?, parts.array::<32>()?, *parts.array::<32>()?);
        let (encrypted, mac) = parts.rest_and_last::<32>()?;
        let is_meant =
            |relay: &&NtorV3Relay<D>| same(&relay.public.identity, identity) & same(&relay.public.onion_key, key_id);
        let relay = relays.iter().find(is_meant).ok_or(Error::UnknownKey)?;
        Ok(Self { relay, x_public, covered: &onionskin[..HEADER + encrypted.len()], mac })
    }
}

impl<D: DiffieHellman + Clone> NtorV3<D> {
    /// The request in an onionskin, if it is intact.
    fn checked(&self, onionskin: &Opened<'_, D>, exchange: Exchange) -> Result<NtorV3Request, Error> {
        let Exchange { y_public, xb, xy } = exchange;
        let mut phase_one = self.phase_one(xb, &onionskin.relay.public, onionskin.x_public);
        let (enc_k1, mac_k1) = phase_one.keys();
        check(&sha3::mac(T_MSGMAC, &mac_k1, &[onionskin.covered]), onionskin.mac, Error::Onionskin)?;
        phase_one.mac = *onionskin.mac;
        let mut message = onionskin.covered[HEADER..].to_vec();
        stream::apply(&enc_k1, &mut message);
        Ok(NtorV3Request { message, phase_one, y_public, xy })
    }
}

impl Request for NtorV3Request {
    fn message(&self) -> &[u8] {
        &self.message
    }

    fn respond(self, message: &[u8]) -> Result<(Vec<u8>, Keys), Error> {
        stack::clearing::<FRAMES, _>(|| {
            secret::takes("ntor-v3/respond", self.xy.as_bytes());
            let phase_two = self.phase_one.phase_two(&self.xy, &self.y_public);

            let mut reply = Vec::with_capacity(REPLY + message.len());
            reply.extend_from_slice(&self.y_public);
            reply.extend_from_slice(&[0; 32]);
            reply.extend_from_slice(message);
            stream::apply(&phase_two.enc_key, &mut reply[REPLY..]);
            let auth = self.phase_one.auth(&phase_two.verify, &self.y_public, &reply[REPLY..]);
            reply[32..REPLY].copy_from_slice(auth.as_slice());
            Ok((reply, Keys::shake(phase_two.stream)))
        })
    }
}

impl<D: DiffieHellman> Client for NtorV3Client<D> {
    fn finish(self, reply: &[u8]) -> Result<Established, Error> {
        stack::clearing::<FRAMES, _>(|| {
            let mut parts = Parts::of("ntor-v3 reply", reply, REPLY, true)?;
            let (y_public, auth) = (parts.array::<32>()?, parts.array::<32>()?);
            let encrypted = parts.rest();
            secret::takes("ntor-v3/finish", &self.x);
            let xy = self.dh.agree(&self.x, y_public)?;
            let phase_two = self.phase_one.phase_two(&xy, y_public);
            let expected = self.phase_one.auth(&phase_two.verify, y_public, encrypted);
            check(&expected, auth, Error::Authentication)?;
            let mut message = encrypted.to_vec();
            stream::apply(&phase_two.enc_key, &mut message);
            Ok(Established { message, keys: Keys::shake(phase_two.stream) })
        })
    }
}

impl PhaseOne {
    /// ENC_K1 and MAC_K1.
    fn keys(&self) -> (Zeroizing<[u8; 32]>, Zeroizing<[u8; 32]>) {
        let NtorV3RelayPublic { identity, onion_key } = &self.relay;
        let prefix = sha3::length_prefix(&self.verification);
        let mut stream = sha3::kdf(
            T_MSGKDF,
            &[self.xb.as_bytes(), identity, &self.x_public, onion_key, PROTOID, &prefix, &self.verification],
        );
        (take(&mut stream), take(&mut stream))
    }

    /// Derives the final keys from the two secrets and all public keys.
    fn phase_two(&self, xy: &SharedSecret, y: &[u8; 32]) -> PhaseTwo {
        let NtorV3RelayPublic { identity, onion_key } = &self.relay;
        let prefix = sha3::length_prefix(&self.verification);
        let secret_input: [&[u8]; 9] = [
            xy.as_bytes(),
            self.xb.as_bytes(),
            identity,
            onion_key,
            &self.x_public,
            y,
            PROTOID,
            &prefix,
            &self.verification,
        ];
        let key_seed = sha3::hash(T_KEY_SEED, &secret_input);
        let verify = sha3::hash(T_VERIFY, &secret_input);
        let mut stream = sha3::kdf(T_FINAL, &[key_seed.as_slice()]);
        PhaseTwo { verify, enc_key: take(&mut stream), stream }
    }

    fn auth(&self, verify: &[u8; 32], y: &[u8; 32], encrypted: &[u8]) -> Zeroizing<[u8; 32]> {
        let NtorV3RelayPublic { identity, onion_key } = &self.relay;
        let prefix = sha3::length_prefix(encrypted);
        sha3::hash(
            T_AUTH,
            &[verify, identity, onion_key, y, &self.x_public, &self.mac, &prefix, encrypted, PROTOID, SERVER],
        )
    }
}

/// The verification value, and RAW_KEYSTREAM in its two parts.
struct PhaseTwo {
    verify: Zeroizing<[u8; 32]>,
    enc_key: Zeroizing<[u8; 32]>,
    /// KEYSTREAM.
    stream: Shake256Reader,
}

fn take(stream: &mut Shake256Reader) -> Zeroizing<[u8; 32]> {
    let mut key = Zeroizing::new([0; 32]);
    stream.read(key.as_mut_slice());
    key
}

impl<D: DiffieHellman> fmt::Debug for NtorV3Relay<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NtorV3Relay").field("public", &self.public).finish_non_exhaustive()
    }
}

impl<D: DiffieHellman> fmt::Debug for NtorV3Client<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NtorV3Client").field("relay", &self.phase_one.relay).finish_non_exhaustive()
    }
}

impl fmt::Debug for NtorV3Request {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NtorV3Request").field("relay", &self.phase_one.relay).finish_non_exhaustive()
    }
}
