//! The judge of handshakes: it plays either side of each handshake from the seed and checks the subjects' witnesses. It is never timed.
//!
//! It shares no code with what it judges: the key schedules are `candor-key-schedules`, X25519 is dalek's, ML-KEM is RustCrypto's.
//!
//! A client's state can't move from one subject to another, so two subjects can't shake hands directly. Each shakes hands with the judge
//! instead, as client and as relay, and every subject can repeat the judge's side:
//!
//! | part of the witness | made by | checked by |
//! |---|---|---|
//! | `onionskin` | the subject's client, for the seed's relay | the judge's relay answers it … |
//! | `client's keys` | the subject's client, from the reply of the judge's relay | … and must have these keys |
//! | `reply` | the subject's relay, to the onionskin of the judge's client | the judge's client finishes with it … |
//! | `relay's keys` | the subject's relay | … and must have these keys |

use super::schedule::{Seen, hybrid_key_id, onionskin_mac, reply_and_keys};
use super::{Failed, Kind, Scheme};
use crate::contract::ml_kem::{KeyPair, Level, decapsulate_with, encapsulate_to};
use crate::contract::x25519::reference::{ecdh, public};
use crate::seed::Stream;
use candor_lab::{Mismatch, Witness};

/// Why the judge refuses a message.
type Wrong = &'static str;

/// The long-term secrets of the seed's relay, the same for everyone.
pub struct RelaySecrets {
    /// The relay's identity; `ntor` takes the first 20 bytes.
    pub identity: [u8; 32],
    /// Its X25519 onion key.
    pub onion_key: [u8; 32],
    /// Its static KEM key, where the handshake has one.
    pub static_kem: Option<KeyPair>,
}

impl RelaySecrets {
    /// The secrets that follow from `seed`.
    pub fn new(seed: u64, kind: Kind) -> Self {
        let mut stream = Stream::new(seed, "ntor relay");
        let level = kind.level().filter(|_| kind.has_static_kem());
        Self {
            identity: stream.array(),
            onion_key: stream.array(),
            static_kem: level.map(|level| KeyPair::new(level, seed)),
        }
    }
}

/// Stands in a witness of a handshake's parts in place of the handshake's name.
pub const PARTS: &str = "parts";

/// The judge of one handshake, with the relay's secrets and the seed of everything that would be fresh.
struct Judge {
    kind: Kind,
    relay: RelaySecrets,
    seed: u64,
}

/// An onionskin, cut where its parts end.
struct Onionskin<'a> {
    x: &'a [u8],
    fresh_key: &'a [u8],
    static_ciphertext: &'a [u8],
    /// All of it but the MAC.
    body: &'a [u8],
    mac: &'a [u8],
}

impl Judge {
    fn new(kind: Kind, seed: u64) -> Self {
        Self { kind, relay: RelaySecrets::new(seed, kind), seed }
    }

    /// The judge's ephemeral secrets in one role. They are the same every time, so that a side can be played again.
    fn fresh<const N: usize>(&self, what: &str) -> [u8; N] {
        Stream::new(self.seed, &format!("judge's {what}")).array()
    }

    fn identity(&self) -> &[u8] {
        match self.kind {
            Kind::Ntor | Kind::InsecureSeed(_) => &self.relay.identity[..20],
            _ => &self.relay.identity,
        }
    }

    /// How an onionskin for this relay begins.
    fn address(&self) -> Vec<u8> {
        let onion_key = public(&self.relay.onion_key);
        match self.kind {
            Kind::Ntor | Kind::NtorV3 => [self.identity(), &onion_key].concat(),
            Kind::Hybrid(_) | Kind::HybridAuth(_) => {
                let static_kem = self.relay.static_kem.as_ref().map_or(&[][..], |pair| &pair.public);
                hybrid_key_id(self.kind, self.identity(), &onion_key, static_kem)
            }
            Kind::InsecureSeed(_) => Vec::new(),
        }
    }

    fn has_x25519(&self) -> bool {
        !matches!(self.kind, Kind::InsecureSeed(_))
    }

    fn cut<'a>(&self, onionskin: &'a [u8]) -> Result<Onionskin<'a>, Wrong> {
        let has_mac = !matches!(self.kind, Kind::Ntor | Kind::InsecureSeed(_));
        let at = onionskin.len().checked_sub(if has_mac { 32 } else { 0 }).ok_or(LENGTH)?;
        let (body, mac) = onionskin.split_at(at);
        let mut rest = body;
        let mut take = |length: usize| {
            let (part, after) = rest.split_at_checked(length).ok_or(LENGTH)?;
            rest = after;
            Ok::<_, Wrong>(part)
        };
        if take(self.address().len())? != self.address() {
            return Err("the onionskin is for another relay");
        }
        let x = take(if self.has_x25519() { 32 } else { 0 })?;
        let fresh_key = take(self.kind.level().map_or(0, Level::public_key))?;
        let static_ciphertext = take(self.relay.static_kem.as_ref().map_or(0, |pair| pair.level().ciphertext()))?;
        let name = if self.has_x25519() { &[][..] } else { self.identity() };
        if take(name.len())? != name {
            return Err("the onionskin is for another relay");
        }
        if rest.is_empty() { Ok(Onionskin { x, fresh_key, static_ciphertext, body, mac }) } else { Err(LENGTH) }
    }

    fn onionskin(&self) -> Result<Vec<u8>, Wrong> {
        let onion_key = public(&self.relay.onion_key);
        let (mut body, mut first, mut x) = (self.address(), Vec::new(), Vec::new());
        if self.has_x25519() {
            x.extend(public(&self.fresh("client's x25519")));
            first.extend(ecdh(&self.fresh("client's x25519"), &onion_key)?);
        }
        body.extend(&x);
        if let Some(pair) = self.fresh_pair() {
            body.extend(pair.public);
        }
        if let Some(pair) = &self.relay.static_kem {
            let made = encapsulate_to(pair.level(), &pair.public, &self.fresh("client's coins"))?;
            body.extend(made.ciphertext);
            first.extend(made.shared);
        }
        if !self.has_x25519() {
            body.extend(self.identity());
        }
        let seen = Seen { onionskin: &body, x: &x, first: &first, ..self.seen(&onion_key) };
        let mac = onionskin_mac(self.kind, &seen);
        Ok([body, mac].concat())
    }

    /// The key pair of the judge's client.
    fn fresh_pair(&self) -> Option<KeyPair> {
        Some(KeyPair::from_coins(self.kind.level()?, self.fresh("client's key pair")))
    }

    /// The inputs that are known before anything is sent.
    fn seen<'a>(&'a self, onion_key: &'a [u8]) -> Seen<'a> {
        Seen { identity: self.identity(), onion_key, ..Seen::default() }
    }

    /// The judge's relay: its reply, and its keys.
    fn answer(&self, onionskin: &[u8]) -> Result<(Vec<u8>, Vec<u8>), Wrong> {
        let onion_key = public(&self.relay.onion_key);
        let Onionskin { x, fresh_key, static_ciphertext, body, mac } = self.cut(onionskin)?;
        let (mut first, mut second, mut fresh) = (Vec::new(), Vec::new(), Vec::new());
        if let Ok(x) = x.try_into() {
            first.extend(ecdh(&self.relay.onion_key, x)?);
            let y = self.fresh("relay's x25519");
            fresh.extend(public(&y));
            second.extend(ecdh(&y, x)?);
        }
        if let Some(pair) = &self.relay.static_kem {
            first.extend(decapsulate_with(pair.level(), &pair.secret, static_ciphertext)?);
        }
        let seen = Seen { x, onionskin: body, mac, first: &first, ..self.seen(&onion_key) };
        if onionskin_mac(self.kind, &seen) != mac {
            return Err("the onionskin's MAC is wrong");
        }
        if let Some(level) = self.kind.level() {
            let made = encapsulate_to(level, fresh_key, &self.fresh("relay's coins"))?;
            fresh.extend(made.ciphertext);
            second.extend(made.shared);
        }
        Ok(reply_and_keys(self.kind, &Seen { fresh: &fresh, second: &second, ..seen }))
    }

    /// The judge's client at its end: its keys.
    fn finish(&self, reply: &[u8]) -> Result<Vec<u8>, Wrong> {
        let onion_key = public(&self.relay.onion_key);
        let onionskin = self.onionskin()?;
        let Onionskin { x, body, mac, .. } = self.cut(&onionskin)?;
        let (fresh, _) = reply.split_at_checked(reply.len().saturating_sub(32)).ok_or(LENGTH)?;
        let (y, ciphertext) = fresh.split_at_checked(if self.has_x25519() { 32 } else { 0 }).ok_or(LENGTH)?;
        let (mut first, mut second) = (Vec::new(), Vec::new());
        if let Ok(y) = y.try_into() {
            let x: [u8; 32] = self.fresh("client's x25519");
            first.extend(ecdh(&x, &onion_key)?);
            second.extend(ecdh(&x, y)?);
        }
        if let Some(pair) = &self.relay.static_kem {
            first.extend(encapsulate_to(pair.level(), &pair.public, &self.fresh("client's coins"))?.shared);
        }
        match self.fresh_pair() {
            Some(pair) => second.extend(decapsulate_with(pair.level(), &pair.secret, ciphertext)?),
            None if ciphertext.is_empty() => {}
            None => return Err(LENGTH),
        }
        let seen = Seen { x, onionskin: body, mac, first: &first, fresh, second: &second, ..self.seen(&onion_key) };
        let (expected, keys) = reply_and_keys(self.kind, &seen);
        if expected == reply { Ok(keys) } else { Err("the reply's authenticator is wrong") }
    }
}

const LENGTH: Wrong = "the message has the wrong length";

/// The witness of `scheme`: its messages and keys in exchanges with the judge.
pub(super) fn witness<S: Scheme>(scheme: &S, relay: &S::Relay, kind: Kind, seed: u64) -> Result<Witness, Failed> {
    let judge = Judge::new(kind, seed);
    let (waiting, onionskin) = scheme.start(relay)?;
    let (answer, _) = judge.answer(&onionskin).map_err(Failed::by_judge)?;
    let client_keys = scheme.finish(waiting, &answer)?;
    let (reply, relay_keys) = scheme.answer(relay, &judge.onionskin().map_err(Failed::by_judge)?)?;
    Ok(Witness::default()
        .with("scheme", kind.name())
        .with("onionskin", onionskin)
        .with("client's keys", client_keys)
        .with("reply", reply)
        .with("relay's keys", relay_keys))
}

/// Checks the witness of any subject that stands in the tasks of `kind`: of a handshake, be it another one, or of its parts.
///
/// # Errors
/// Says what is wrong with the witness.
pub fn check(kind: Kind, seed: u64, witness: &Witness) -> Result<(), Mismatch> {
    let scheme = witness.part("scheme")?;
    if scheme == PARTS.as_bytes() {
        return check_parts(kind, seed, witness);
    }
    let theirs = Kind::all().find(|kind| kind.name().as_bytes() == scheme);
    let judge = Judge::new(theirs.ok_or_else(|| Mismatch::new("it is a witness of an unknown handshake"))?, seed);

    let (_, keys) = judge.answer(witness.part("onionskin")?).map_err(Mismatch::new)?;
    same_keys(&keys, witness.part("client's keys")?, "client")?;
    let keys = judge.finish(witness.part("reply")?).map_err(Mismatch::new)?;
    same_keys(&keys, witness.part("relay's keys")?, "relay")
}

fn same_keys(ours: &[u8], theirs: &[u8], who: &str) -> Result<(), Mismatch> {
    match ours == theirs {
        true => Ok(()),
        false => Err(Mismatch::new(format!("the {who} derives keys other than the judge's"))),
    }
}

/// Checks the witness of parts: the secrets agree with the relay's side.
fn check_parts(kind: Kind, seed: u64, witness: &Witness) -> Result<(), Mismatch> {
    let relay = RelaySecrets::new(seed, kind);
    let x = witness.part("x25519 public key")?;
    let x = x.try_into().map_err(|_| Mismatch::new("the X25519 public key is not 32 bytes long"))?;
    let secret = ecdh(&relay.onion_key, x).map_err(Mismatch::new)?;
    same(&secret, witness.part("x25519 secret")?, "X25519 secret")?;

    let Some(level) = kind.level() else { return Ok(()) };
    let shared = decapsulate_with(level, witness.part("secret key")?, witness.part("ciphertext")?);
    same(&shared.map_err(Mismatch::new)?, witness.part("shared secret")?, "KEM secret")?;
    let Some(pair) = &relay.static_kem else { return Ok(()) };
    let shared = decapsulate_with(level, &pair.secret, witness.part("static ciphertext")?);
    same(&shared.map_err(Mismatch::new)?, witness.part("static shared secret")?, "static KEM secret")
}

fn same(ours: &[u8], theirs: &[u8], what: &str) -> Result<(), Mismatch> {
    match ours == theirs {
        true => Ok(()),
        false => Err(Mismatch::new(format!("the {what} differs from the other side's"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The judge with itself. Vectors show that its schedules are right; candor's handshakes and every peer show that the judge is.
    #[test]
    fn both_sides_of_the_judge_end_with_the_same_keys() {
        for kind in Kind::all() {
            let judge = Judge::new(kind, 7);
            let (reply, keys) = judge.answer(&judge.onionskin().unwrap()).unwrap();
            assert_eq!(judge.finish(&reply).unwrap(), keys, "{}", kind.name());
        }
    }

    #[test]
    fn any_changed_byte_of_a_message_is_refused_or_changes_the_keys() {
        for kind in Kind::all() {
            let judge = Judge::new(kind, 7);
            let onionskin = judge.onionskin().unwrap();
            let (reply, keys) = judge.answer(&onionskin).unwrap();
            for at in (0..onionskin.len()).step_by(31).chain([onionskin.len() - 2]) {
                let mut changed = onionskin.clone();
                changed[at] ^= 1;
                assert!(judge.answer(&changed).map_or(true, |(_, other)| other != keys), "{} {at}", kind.name());
            }
            for at in (0..reply.len()).step_by(31).chain([reply.len() - 2]) {
                let mut changed = reply.clone();
                changed[at] ^= 1;
                assert!(judge.finish(&changed).is_err(), "{} {at}", kind.name());
            }
            assert!(judge.answer(&onionskin[1..]).is_err() && judge.finish(&reply[1..]).is_err(), "{}", kind.name());
        }
    }
}
