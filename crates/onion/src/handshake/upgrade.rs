//! The in-circuit upgrade, as specified in `docs/upgrade.md`: a KEM exchange inside a circuit, from which the last layer gets new keys.
//!
//! ```text
//! UPGRADE    SUITE 1 | EK          the client's
//! UPGRADED   CT | AUTH_R 32        the relay's answer
//! UPGRADED   AUTH_C 32             the client's confirmation
//! ```
//!
//! The new keys depend on the circuit's handshake through a [`Chain`], and on the KEM's secret: they are safe while either holds. It authenticates nobody
//! anew.

use super::Keys;
use super::authenticator::check;
use super::hkdf::{expand, hmac};
use crate::parts::Parts;
use crate::{Error, PeerMisbehaved};
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use candor_cpu::secret;
use candor_primitives::SharedSecret;
use candor_primitives::hash::{Digest, Sha256};
use candor_primitives::kem::Kem;
use candor_primitives::stack;
use core::fmt;
use zeroize::Zeroizing;

/// Stack that a step takes, in bytes, most of it by ML-KEM; what is left there is overwritten.
const FRAMES: usize = 48 << 10;

const PROTOID: &[u8] = b"candor-upgrade-1/";
const PURPOSE: &[u8] = b"circuit upgrade";
const CONFIRM: &[u8] = b"candor-upgrade-1:confirm";
const KEYS: &[u8] = b"candor-upgrade-1:keys";

/// Bytes that Tor takes from the key stream behind the layer's keys (KH; tor-spec, "Setting circuit keys").
const KH: usize = 20;
/// Length of the chain's secret, and of AUTH_R and AUTH_C.
const LENGTH: usize = 32;

/// SUITE of each KEM.
const SUITES: [(u8, &str); 1] = [(0x68, "ML-KEM-768")];

/// SUITE numbers that this implementation knows, in its order of preference.
pub const UPGRADE_SUITES: [u8; SUITES.len()] = {
    let [(number, _)] = SUITES;
    [number]
};

/// The upgrade with a KEM.
#[derive(Clone, Debug)]
pub struct Upgrade<K> {
    kem: K,
    suite: u8,
}

/// What ties an upgrade to the handshake before it: 32 bytes of that handshake's key stream that nothing else uses, and the layer's name. Wiped on drop.
pub struct Chain {
    layer: &'static str,
    // In a box: a secret that is moved leaves a copy behind.
    secret: Box<Zeroizing<[u8; LENGTH]>>,
}

/// A client that has sent UPGRADE.
pub struct UpgradeClient<K: Kem> {
    upgrade: Upgrade<K>,
    dk: K::Secret,
    request: Vec<u8>,
}

/// A relay's encapsulation to the key in an UPGRADE.
pub struct UpgradeAnswer {
    kem: &'static str,
    request: Vec<u8>,
    ct: Vec<u8>,
    // In a box, like the chain's secret: it goes from thread to thread.
    ss: Box<SharedSecret>,
}

/// What both sides have in the end.
#[derive(Debug)]
#[non_exhaustive]
pub struct Upgraded {
    /// The layer's new keys.
    pub keys: Keys,
    /// What the client proves by that it has them.
    pub confirmation: Confirmation,
}

/// AUTH_C. The client sends it, the relay compares. Wiped on drop.
pub struct Confirmation(Box<Zeroizing<[u8; LENGTH]>>);

impl<K: Kem + Clone> Upgrade<K> {
    /// Length of UPGRADE.
    pub const REQUEST: usize = 1 + K::PUBLIC;
    /// Length of the relay's UPGRADED.
    pub const REPLY: usize = K::CIPHERTEXT + LENGTH;

    /// The upgrade with this KEM.
    ///
    /// # Errors
    /// [`Error::NoNumber`] if the KEM has no SUITE number.
    pub fn new(kem: K) -> Result<Self, Error> {
        let known = SUITES.iter().find(|(_, name)| *name == K::NAME);
        known.map(|(suite, _)| Self { kem, suite: *suite }).ok_or(Error::NoNumber)
    }

    /// The client's first step: the state that waits for the relay's UPGRADED, and UPGRADE.
    ///
    /// # Errors
    /// [`Error::Kem`] if the back end fails.
    pub fn start(&self) -> Result<(UpgradeClient<K>, Vec<u8>), Error> {
        stack::clearing::<FRAMES, _>(|| {
            let (dk, ek) = self.kem.generate()?;
            let mut request = vec![0; Self::REQUEST];
            request[0] = self.suite;
            self.kem.public_to_bytes(&ek, &mut request[1..])?;
            Ok((UpgradeClient { upgrade: self.clone(), dk, request: request.clone() }, request))
        })
    }

    /// The relay's first step, which takes the time: encapsulates to the client's key.
    ///
    /// # Errors
    /// [`Error::Length`]; [`Error::PeerMisbehaved`] for another suite; [`Error::Kem`] if the key fails its check (FIPS 203 §7.2) or the back end fails.
    /// After any of them the circuit must be destroyed.
    // ct: public, because the client's key is
    pub fn answer(&self, request: &[u8]) -> Result<UpgradeAnswer, Error> {
        stack::clearing::<FRAMES, _>(|| {
            let mut parts = Parts::of("UPGRADE", request, Self::REQUEST, false)?;
            let [suite] = *parts.array()?;
            if suite != self.suite {
                return Err(PeerMisbehaved::UpgradeSuite { expected: self.suite, got: suite }.into());
            }
            let ek = self.kem.public_from_bytes(parts.rest())?;
            let mut ct = vec![0; K::CIPHERTEXT];
            let ss = Box::new(self.kem.encapsulate(&ek, &mut ct)?);
            Ok(UpgradeAnswer { kem: K::NAME, request: request.to_vec(), ct, ss })
        })
    }
}

impl<K: Kem + Clone> UpgradeClient<K> {
    /// Checks that the relay's UPGRADED comes from who has the chain and the KEM's secret, and derives the keys.
    ///
    /// # Errors
    /// [`Error::Length`]; [`Error::Confirmation`] for everything else that can be wrong; [`Error::Kem`] if the back end fails. After any of them the
    /// circuit must be destroyed; the state is used up.
    pub fn finish(self, chain: Chain, reply: &[u8]) -> Result<Upgraded, Error> {
        stack::clearing::<FRAMES, _>(|| {
            secret::takes("upgrade/finish", chain.secret.as_slice());
            let mut parts = Parts::of("UPGRADED", reply, Upgrade::<K>::REPLY, false)?;
            let (ct, auth) = (parts.slice(K::CIPHERTEXT)?, parts.array::<LENGTH>()?);
            let ss = self.upgrade.kem.decapsulate(&self.dk, ct)?;
            let (expected, upgraded) = schedule(K::NAME, &chain, &self.request, ct, &ss);
            check(&expected, auth, Error::Confirmation)?;
            Ok(upgraded)
        })
    }
}

impl UpgradeAnswer {
    /// The relay's second step: its UPGRADED, and what both sides have then.
    pub fn finish(self, chain: Chain) -> (Vec<u8>, Upgraded) {
        stack::clearing::<{ 4 << 10 }, _>(|| {
            secret::takes("upgrade/answer", chain.secret.as_slice());
            let (auth, upgraded) = schedule(self.kem, &chain, &self.request, &self.ct, &self.ss);
            let mut reply = self.ct;
            reply.extend_from_slice(auth.as_slice());
            (reply, upgraded)
        })
    }
}

/// AUTH_R, and what both sides have (spec §5).
fn schedule(
    kem: &'static str,
    chain: &Chain,
    request: &[u8],
    ct: &[u8],
    ss: &SharedSecret,
) -> (Zeroizing<[u8; LENGTH]>, Upgraded) {
    let mut transcript = Sha256::new();
    let mut put = |pieces: &[&[u8]]| {
        let length: usize = pieces.iter().map(|piece| piece.len()).sum();
        transcript.update((length as u64).to_be_bytes());
        pieces.iter().for_each(|piece| transcript.update(piece));
    };
    put(&[PROTOID, kem.as_bytes()]);
    put(&[PURPOSE]);
    put(&[chain.layer.as_bytes()]);
    put(&[request]);
    put(&[ct]);
    let hash: [u8; 32] = transcript.finalize().into();

    let prk = hmac(&hash, &[chain.secret.as_slice(), ss.as_bytes()]);
    let mut bytes = Zeroizing::new([[0; LENGTH]; 3]);
    expand(&prk, &[CONFIRM], bytes.as_flattened_mut());
    let [auth_r, auth_c, seed] = &*bytes;
    let confirmation = Confirmation::new(auth_c);
    let keys = Keys::hkdf_bound(Zeroizing::new(*seed), KEYS, hash);
    (Zeroizing::new(*auth_r), Upgraded { keys, confirmation })
}

impl Chain {
    /// From the key stream of the handshake that made the layer, of which the layer's keys take the first `used` bytes.
    ///
    /// # Errors
    /// [`Error::KeyLength`], which no handshake of this crate returns for the lengths of its layers.
    // ct: upgrade/finish, upgrade/answer
    pub fn new(keys: &Keys, layer: &'static str, used: usize) -> Result<Self, Error> {
        let stream = keys.expand(used + KH + LENGTH)?;
        let mut secret = Box::new(Zeroizing::new([0; LENGTH]));
        secret.copy_from_slice(&stream[used + KH..]);
        Ok(Self { layer, secret })
    }
}

impl Confirmation {
    fn new(auth_c: &[u8; LENGTH]) -> Self {
        let mut secret = Box::new(Zeroizing::new([0; LENGTH]));
        secret.copy_from_slice(auth_c);
        Self(secret)
    }

    /// The client's UPGRADED.
    // ct: public, because it is sent
    pub fn as_bytes(&self) -> &[u8; LENGTH] {
        &self.0
    }

    /// Whether the client's UPGRADED is this one.
    ///
    /// # Errors
    /// [`Error::Length`], [`Error::Confirmation`]. Destroy the circuit.
    pub fn check(&self, theirs: &[u8]) -> Result<(), Error> {
        secret::takes("upgrade/confirm", self.0.as_slice());
        let mut parts = Parts::of("client's UPGRADED", theirs, LENGTH, false)?;
        check(&self.0, parts.array()?, Error::Confirmation)
    }
}

impl fmt::Debug for Chain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Chain(..)")
    }
}

impl<K: Kem> fmt::Debug for UpgradeClient<K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UpgradeClient(..)")
    }
}

impl fmt::Debug for UpgradeAnswer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("UpgradeAnswer(..)")
    }
}

impl fmt::Debug for Confirmation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Confirmation(..)")
    }
}
