//! Tor's `ntor` handshake (tor-spec, "The 'ntor' handshake"; Goldberg, Stebila, Ustaoglu 2013).
//!
//! ```text
//! onionskin   NODEID 20 | KEYID 32 = B | X 32
//! reply       Y 32 | AUTH 32
//! ```

use super::authenticator::{check, same};
use super::exchange::{Exchange, exchange, exchange_many};
use super::hkdf::hmac;
use super::{Client, Established, Handshake, Keys, Replies, Request};
use crate::Error;
use crate::parts::Parts;
use alloc::borrow::ToOwned;
use alloc::string::String;
use alloc::vec::Vec;
use candor_cpu::secret;
use candor_primitives::SharedSecret;
use candor_primitives::dh::DiffieHellman;
use candor_primitives::stack;
use core::fmt;
use zeroize::Zeroizing;

/// Stack that a step takes, in bytes; what is left there is overwritten.
const FRAMES: usize = 4 << 10;
/// The same for several onionskins.
const FRAMES_OF_MANY: usize = 16 << 10;

const PROTOID: &[u8] = b"ntor-curve25519-sha256-1";
const T_MAC: &[u8] = b"ntor-curve25519-sha256-1:mac";
const T_KEY: &[u8] = b"ntor-curve25519-sha256-1:key_extract";
const T_VERIFY: &[u8] = b"ntor-curve25519-sha256-1:verify";
const M_EXPAND: &[u8] = b"ntor-curve25519-sha256-1:key_expand";
const SERVER: &[u8] = b"Server";

const ONIONSKIN: usize = 20 + 32 + 32;
const REPLY: usize = 32 + 32;

/// `ntor` on a Diffie-Hellman back end. It carries no extension messages.
///
/// Nothing in its onionskin is authenticated: a relay answers one that was changed on the way, and the client then
/// refuses the reply.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ntor<D> {
    dh: D,
}

impl<D: DiffieHellman + Clone> Ntor<D> {
    /// The handshake on this back end.
    pub fn new(dh: D) -> Self {
        Self { dh }
    }

    /// A relay with this identity (the SHA-1 digest of its RSA key) and onion key.
    ///
    /// # Errors
    /// [`Error::Dh`] if the back end fails.
    // ct: X25519
    pub fn relay(&self, identity: [u8; 20], onion_key: D::Secret) -> Result<NtorRelay<D>, Error> {
        let public = NtorRelayPublic { identity, onion_key: self.dh.public_of(&onion_key)? };
        Ok(NtorRelay { onion_key, public })
    }
}

/// What a client knows about a relay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NtorRelayPublic {
    /// ID: the SHA-1 digest of the relay's RSA identity key.
    pub identity: [u8; 20],
    /// B: the relay's X25519 onion key.
    pub onion_key: [u8; 32],
}

/// A relay's identity and onion key pair (b, B).
pub struct NtorRelay<D: DiffieHellman> {
    onion_key: D::Secret,
    public: NtorRelayPublic,
}

/// A client that has sent its onionskin.
pub struct NtorClient<D: DiffieHellman> {
    dh: D,
    relay: NtorRelayPublic,
    x: D::Secret,
    x_public: [u8; 32],
}

/// An accepted onionskin: it was for this relay.
pub struct NtorRequest {
    relay: NtorRelayPublic,
    x_public: [u8; 32],
    exchange: Exchange,
}

impl<D: DiffieHellman + Clone> Handshake for Ntor<D> {
    type Identity = [u8; 20];
    type RelaySecret = NtorRelay<D>;
    type RelayPublic = NtorRelayPublic;
    type Client = NtorClient<D>;
    type Request = NtorRequest;

    const ONIONSKIN: usize = ONIONSKIN;
    const REPLY: usize = REPLY;
    const CARRIES_MESSAGES: bool = false;

    fn name(&self) -> String {
        "ntor".to_owned()
    }

    fn generate_relay(&self, identity: [u8; 20]) -> Result<NtorRelay<D>, Error> {
        stack::clearing::<FRAMES, _>(|| {
            let (onion_key, public) = self.dh.generate()?;
            Ok(NtorRelay { onion_key, public: NtorRelayPublic { identity, onion_key: public } })
        })
    }

    fn public<'a>(&self, relay: &'a NtorRelay<D>) -> &'a NtorRelayPublic {
        &relay.public
    }

    fn start(&self, relay: &NtorRelayPublic, message: &[u8]) -> Result<(NtorClient<D>, Vec<u8>), Error> {
        stack::clearing::<FRAMES, _>(|| {
            if !message.is_empty() {
                return Err(Error::NoMessage);
            }
            let (x, x_public) = self.dh.generate()?;
            secret::takes("ntor/start", &x);
            let onionskin = [relay.identity.as_slice(), &relay.onion_key, &x_public].concat();
            Ok((NtorClient { dh: self.dh.clone(), relay: *relay, x, x_public }, onionskin))
        })
    }

    fn accept(&self, relays: &[NtorRelay<D>], onionskin: &[u8]) -> Result<NtorRequest, Error> {
        stack::clearing::<FRAMES, _>(|| {
            let (relay, x_public) = open(relays, onionskin)?;
            secret::takes("ntor/accept", &relay.onion_key);
            Ok(NtorRequest {
                relay: relay.public,
                x_public,
                exchange: exchange(&self.dh, &relay.onion_key, &x_public)?,
            })
        })
    }

    fn answer_many(&self, relays: &[NtorRelay<D>], onionskins: &[&[u8]], replies: &mut dyn Replies) {
        stack::clearing::<FRAMES_OF_MANY, _>(|| {
            let mut opened = Vec::with_capacity(onionskins.len());
            for (at, onionskin) in onionskins.iter().enumerate() {
                match open(relays, onionskin) {
                    Ok((relay, x_public)) => opened.push((at, relay, x_public)),
                    Err(error) => replies.answered(at, Err(error)),
                }
            }
            let asked: Vec<_> = opened.iter().map(|(_, relay, x_public)| (&relay.onion_key, x_public)).collect();
            asked.iter().for_each(|(onion_key, _)| secret::takes("ntor/answer-many", *onion_key));
            for ((at, relay, x_public), exchange) in opened.iter().zip(&exchange_many(&self.dh, &asked)) {
                let answer = exchange.clone().map_err(Error::from).and_then(|exchange| {
                    let request = NtorRequest { relay: relay.public, x_public: *x_public, exchange };
                    let message = replies.message(*at, request.message())?;
                    request.respond(&message)
                });
                replies.answered(*at, answer);
            }
        });
    }
}

/// The relay that an onionskin is for, and X.
fn open<'a, D: DiffieHellman>(
    relays: &'a [NtorRelay<D>],
    onionskin: &[u8],
) -> Result<(&'a NtorRelay<D>, [u8; 32]), Error> {
    let mut parts = Parts::of("ntor onionskin", onionskin, ONIONSKIN, false)?;
    let (identity, key_id, x_public) = (parts.array::<20>()?, parts.array::<32>()?, *parts.array::<32>()?);
    let is_meant =
        |relay: &&NtorRelay<D>| same(&relay.public.identity, identity) & same(&relay.public.onion_key, key_id);
    Ok((relays.iter().find(is_meant).ok_or(Error::UnknownKey)?, x_public))
}

impl Request for NtorRequest {
    fn message(&self) -> &[u8] {
        &[]
    }

    fn respond(self, message: &[u8]) -> Result<(Vec<u8>, Keys), Error> {
        stack::clearing::<FRAMES, _>(|| {
            if !message.is_empty() {
                return Err(Error::NoMessage);
            }
            let Exchange { y_public, xb, xy } = &self.exchange;
            secret::takes("ntor/respond", xb.as_bytes());
            let (auth, keys) = derive(xy, xb, &self.relay, &self.x_public, y_public);
            Ok(([*y_public, *auth].concat(), keys))
        })
    }
}

impl<D: DiffieHellman> Client for NtorClient<D> {
    fn finish(self, reply: &[u8]) -> Result<Established, Error> {
        stack::clearing::<FRAMES, _>(|| {
            let mut parts = Parts::of("ntor reply", reply, REPLY, false)?;
            let (y_public, auth) = (parts.array::<32>()?, parts.array::<32>()?);
            secret::takes("ntor/finish", &self.x);
            let [xy, xb] = self.dh.agree_pair([(&self.x, y_public), (&self.x, &self.relay.onion_key)]);
            let (expected, keys) = derive(&xy?, &xb?, &self.relay, &self.x_public, y_public);
            check(&expected, auth, Error::Authentication)?;
            Ok(Established { message: Vec::new(), keys })
        })
    }
}

/// AUTH and the key stream, from what both sides have at the end.
fn derive(
    xy: &SharedSecret,
    xb: &SharedSecret,
    relay: &NtorRelayPublic,
    x: &[u8; 32],
    y: &[u8; 32],
) -> (Zeroizing<[u8; 32]>, Keys) {
    let NtorRelayPublic { identity, onion_key } = relay;
    let secret_input: [&[u8]; 7] = [xy.as_bytes(), xb.as_bytes(), identity, onion_key, x, y, PROTOID];
    let key_seed = hmac(T_KEY, &secret_input);
    let verify = hmac(T_VERIFY, &secret_input);
    let auth = hmac(T_MAC, &[verify.as_slice(), identity, onion_key, y, x, PROTOID, SERVER]);
    (auth, Keys::hkdf(key_seed, M_EXPAND))
}

impl<D: DiffieHellman> fmt::Debug for NtorRelay<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NtorRelay").field("public", &self.public).finish_non_exhaustive()
    }
}

impl<D: DiffieHellman> fmt::Debug for NtorClient<D> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NtorClient").field("relay", &self.relay).finish_non_exhaustive()
    }
}

impl fmt::Debug for NtorRequest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NtorRequest").field("relay", &self.relay).finish_non_exhaustive()
    }
}
