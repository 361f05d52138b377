//! Sealed states: what an instance must remember between two requests, kept by the client.
//!
//! Between the first and the second request of a login or registration the server has to remember something. It seals that and gives it to the client, so any instance
//! with the same key ring can go on, and nobody can make the server remember too much.
//!
//! ```text
//! sealed = version 1 ∣ key 4 ∣ nonce 24 ∣ expires 8 ∣ AES-256-GCM( HMAC-SHA-256( key, label ∣ nonce ), 0, content )
//! ```
//!
//! `key` is the beginning of the ring key's identifier, `expires` are seconds since 1970, big endian. Each sealing has its own AES key, derived from the
//! ring key and a random nonce of 24 bytes, so the number of sealings under a ring key needs no bound. The associated data are everything before the
//! ciphertext, what the state is for, and to whom it belongs, each with its length.
//!
//! A sealed state can be sent twice. [`Opened::id`] is what the store remembers of those that may be used once only.

use crate::ids::{KeyId, NoRandomness, random};
use crate::time::UnixTime;
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use candor_primitives::mac::{HmacSha256, KeyInit, Mac};
use std::fmt;
use zeroize::Zeroizing;

const VERSION: u8 = 1;
const LABEL: &[u8] = b"candor-login-1: sealed state";
const HEAD: usize = 1 + KEY + NONCE + 8;
const KEY: usize = 4;
const NONCE: usize = 24;
const TAG: usize = 16;

/// What a sealed state is for. One kind can't be used as another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A login that waits for KE3: a `ServerLogin`.
    Login,
    /// A login that was told of an old hash and begins again with that. What is in it is of no use.
    OldHash,
    /// The registration of a new account that waits for the upload: a `ServerRegistration`.
    Registration,
    /// A registration of an existing account, from a login: a `ServerRegistration`.
    Change,
    /// A registration of an existing account, by a recovery code: a `ServerRegistration` and what it replaces.
    Recovery,
}

impl Kind {
    const fn label(self) -> &'static [u8] {
        match self {
            Self::Login => b"login",
            Self::OldHash => b"old hash",
            Self::Registration => b"registration",
            Self::Change => b"change",
            Self::Recovery => b"recovery",
        }
    }
}

/// A key that seals.
#[derive(Clone)]
pub struct SealingKey {
    id: KeyId,
    mac: HmacSha256,
}

impl SealingKey {
    /// An entry of the key ring.
    #[must_use]
    // ct: public, because the key is only absorbed by HMAC, which branches on lengths alone
    pub fn new(id: KeyId, key: &[u8; 32]) -> Self {
        let mac = <HmacSha256 as KeyInit>::new_from_slice(key).expect("HMAC takes keys of any length");
        Self { id, mac }
    }

    fn prefix(&self) -> [u8; KEY] {
        [self.id.0[0], self.id.0[1], self.id.0[2], self.id.0[3]]
    }

    fn aes(&self, nonce: &[u8]) -> Result<LessSafeKey, Unsealable> {
        let derived: [u8; 32] = self.mac.clone().chain_update(LABEL).chain_update(nonce).finalize().into_bytes().into();
        let derived = Zeroizing::new(derived);
        Ok(LessSafeKey::new(UnboundKey::new(&AES_256_GCM, derived.as_slice()).map_err(|_| Unsealable::Forged)?))
    }

    /// Seals `content` until `expires` for whoever `owner` names.
    ///
    /// # Errors
    /// If the operating system gives no random bytes.
    // ct: public, because only AES-GCM of AWS-LC touches the content
    pub fn seal(&self, kind: Kind, owner: &[u8], expires: UnixTime, content: &[u8]) -> Result<Vec<u8>, NoRandomness> {
        let nonce = random::<NONCE>()?;
        let mut sealed = Vec::with_capacity(HEAD + content.len() + TAG);
        sealed.push(VERSION);
        sealed.extend(self.prefix());
        sealed.extend(nonce);
        sealed.extend(expires.0.to_be_bytes());
        let aad = Aad::from(associated(&sealed, kind, owner));
        let mut encrypted = Zeroizing::new(Vec::with_capacity(content.len() + TAG));
        encrypted.extend_from_slice(content);
        let aes = self.aes(&nonce).expect("a derived key has 32 bytes");
        aes.seal_in_place_append_tag(zero_nonce(), aad, &mut *encrypted).expect("states are short");
        sealed.extend_from_slice(&encrypted);
        Ok(sealed)
    }
}

/// A state that was sealed by one of our keys, for this purpose and this owner, and has not expired.
pub struct Opened {
    /// What was sealed.
    pub content: Zeroizing<Vec<u8>>,
    /// Names this sealing; no two have the same.
    pub id: [u8; 32],
    /// When it expires.
    pub expires: UnixTime,
    /// The key of the ring that it was sealed under.
    pub key: KeyId,
}

/// Whether the key that a sealed state names is one of these. Anybody can write any name into it.
pub(crate) fn names_a_key(keys: &[SealingKey], sealed: &[u8]) -> bool {
    sealed.get(1..=KEY).is_some_and(|named| keys.iter().any(|key| key.prefix() == named))
}

/// Opens a state that was sealed under any of the keys. `longest` is the longest that such a state is valid: one that expires later was sealed when
/// the clock was wrong.
///
/// # Errors
/// [`Unsealable`].
// ct: public, because a sealed state is what a stranger sends; what is inside comes out of AES-GCM of AWS-LC
pub fn open(
    keys: &[SealingKey],
    kind: Kind,
    owner: &[u8],
    now: UnixTime,
    longest: i64,
    sealed: &[u8],
) -> Result<Opened, Unsealable> {
    let (head, ciphertext) = sealed.split_first_chunk::<HEAD>().ok_or(Unsealable::Forged)?;
    let (version, rest) = head.split_at(1);
    let (prefix, rest) = rest.split_at(KEY);
    let (nonce, expires) = rest.split_at(NONCE);
    let expires = UnixTime(expires.try_into().map(i64::from_be_bytes).map_err(|_| Unsealable::Forged)?);
    if version != [VERSION] || ciphertext.len() < TAG {
        return Err(Unsealable::Forged);
    }
    for key in keys.iter().filter(|key| key.prefix() == prefix) {
        let mut content = Zeroizing::new(ciphertext.to_vec());
        let aad = Aad::from(associated(head, kind, owner));
        let Ok(opened) = key.aes(nonce)?.open_in_place(zero_nonce(), aad, &mut content).map(|text| text.len()) else {
            continue;
        };
        // Only now it is known that the time is what we wrote.
        if now >= expires || expires > now.plus(longest) {
            return Err(Unsealable::Expired);
        }
        content.truncate(opened);
        let mut id = [0; 32];
        id[..NONCE].copy_from_slice(nonce);
        id[NONCE..NONCE + KEY].copy_from_slice(prefix);
        return Ok(Opened { content, id, expires, key: key.id });
    }
    Err(Unsealable::Forged)
}

/// Each AES key is used once, so its nonce can be the same.
fn zero_nonce() -> Nonce {
    Nonce::assume_unique_for_key([0; 12])
}

fn associated(head: &[u8], kind: Kind, owner: &[u8]) -> Vec<u8> {
    let length = |part: &[u8]| (part.len() as u64).to_be_bytes();
    let kind = kind.label();
    [head, &length(kind), kind, &length(owner), owner].concat()
}

/// Why a sealed state is not accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Unsealable {
    /// It was not sealed by this deployment, or for something else, or for somebody else, or its key has been retired.
    #[error("state was not sealed by this service for this use, or its key has been retired")]
    Forged,
    /// It is too old.
    #[error("state has expired")]
    Expired,
}

impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SealingKey({})", self.id)
    }
}

impl fmt::Debug for Opened {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Opened(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: UnixTime = UnixTime(1_800_000_000);

    fn key(number: u8) -> SealingKey {
        SealingKey::new(KeyId([number; 16]), &[number; 32])
    }

    fn sealed() -> Vec<u8> {
        key(1).seal(Kind::Login, b"alice", NOW.plus(60), &[7; 162]).unwrap()
    }

    fn opened(
        keys: &[SealingKey],
        kind: Kind,
        owner: &[u8],
        now: UnixTime,
        sealed: &[u8],
    ) -> Result<Vec<u8>, Unsealable> {
        open(keys, kind, owner, now, 60, sealed).map(|opened| opened.content.to_vec())
    }

    #[test]
    fn what_was_sealed_comes_out_under_the_same_key_for_the_same_owner_and_use() {
        let sealed = sealed();
        let keys = [key(2), key(1)];
        assert_eq!(opened(&keys, Kind::Login, b"alice", NOW, &sealed), Ok(vec![7; 162]));
        for other in ["bob", "carol", "alice ", ""] {
            assert_eq!(opened(&keys, Kind::Login, other.as_bytes(), NOW, &sealed), Err(Unsealable::Forged), "{other}");
        }
        assert_eq!(opened(&keys, Kind::Change, b"alice", NOW, &sealed), Err(Unsealable::Forged));
        assert_eq!(opened(&keys[..1], Kind::Login, b"alice", NOW, &sealed), Err(Unsealable::Forged));
        // Another key of the same name.
        let other = [SealingKey::new(KeyId([1; 16]), &[9; 32]), key(1)];
        assert_eq!(opened(&other[..1], Kind::Login, b"alice", NOW, &sealed), Err(Unsealable::Forged));
        assert_eq!(opened(&other, Kind::Login, b"alice", NOW, &sealed), Ok(vec![7; 162]));
    }

    #[test]
    fn a_login_fits_into_220_bytes() {
        assert_eq!(sealed().len(), 215);
    }

    #[test]
    fn it_expires_and_none_comes_from_the_future() {
        let (sealed, keys) = (sealed(), [key(1)]);
        assert!(opened(&keys, Kind::Login, b"alice", NOW.plus(59), &sealed).is_ok());
        for wrong in [NOW.plus(60), NOW.plus(1 << 40), NOW.plus(-1), UnixTime(i64::MIN), UnixTime(i64::MAX)] {
            assert_eq!(opened(&keys, Kind::Login, b"alice", wrong, &sealed), Err(Unsealable::Expired), "{wrong:?}");
        }
    }

    #[test]
    fn no_byte_can_be_changed_or_left_out() {
        let (sealed, keys) = (sealed(), [key(1)]);
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert_eq!(opened(&keys, Kind::Login, b"alice", NOW, &changed), Err(Unsealable::Forged), "byte {at}");
            assert_eq!(opened(&keys, Kind::Login, b"alice", NOW, &sealed[..at]), Err(Unsealable::Forged), "{at} bytes");
        }
        let longer = [&sealed[..], &[0]].concat();
        assert_eq!(opened(&keys, Kind::Login, b"alice", NOW, &longer), Err(Unsealable::Forged));
    }

    #[test]
    fn no_two_sealings_are_alike() {
        let (one, two, keys) = (sealed(), sealed(), [key(1)]);
        let id = |sealed: &[u8]| open(&keys, Kind::Login, b"alice", NOW, 60, sealed).unwrap().id;
        assert_ne!(id(&one), id(&two));
        assert_eq!(id(&one), id(&one));
        assert_ne!(one[HEAD..], two[HEAD..]);
    }
}
