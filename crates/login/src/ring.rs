//! The key ring of a running server: OPAQUE's keys, and the keys that seal states, one for each.

use crate::ids::KeyId;
use crate::master::MasterKey;
use crate::name::UserName;
use crate::state::SealingKey;
use crate::store::{Account, Actor, KeyState, RingKey, Store, StoreError};
use crate::time::UnixTime;
use candor_opaque::{DefaultSuite, KsfParams, Server};
use candor_primitives::mac::{HmacSha256, KeyInit, Mac};
use std::sync::{Arc, PoisonError, RwLock};
use zeroize::Zeroizing;

/// The keys that this server knows at the moment.
pub(crate) struct Ring {
    master: MasterKey,
    /// Decides which key a name without an account has.
    draw: HmacSha256,
    keys: RwLock<Arc<Keys>>,
}

/// The ring at one moment. A request works with one of these from beginning to end.
pub(crate) struct Keys {
    /// The oldest first; retired ones are left out.
    keys: Vec<Arc<Key>>,
    active: Arc<Key>,
    /// What opens sealed states.
    pub(crate) sealing: Vec<SealingKey>,
}

/// A key of the ring.
pub(crate) struct Key {
    pub(crate) id: KeyId,
    pub(crate) server: Server<DefaultSuite>,
    pub(crate) sealing: SealingKey,
    moved: u16,
    /// As it was stored, to know it again.
    bytes: Zeroizing<Vec<u8>>,
}

impl Ring {
    /// Reads the ring; makes the first key if there is none.
    pub(crate) async fn open(store: &Store, master: &MasterKey, now: UnixTime) -> Result<Self, StoreError> {
        if store.ring().await?.iter().all(|key| key.state != KeyState::Active) {
            let mut rng = getrandom::rand_core::UnwrapErr(getrandom::SysRng);
            let first = Server::generate(DefaultSuite::default(), KsfParams::BROWSER, &mut rng)
                .and_then(|server| server.to_bytes());
            let first = first.map_err(|error| StoreError::Other(format!("can't make a key: {error}")))?;
            store.add_key(first, true, Actor::Server, now).await?;
        }
        let keys = Keys::read(store.ring().await?, master, None)?;
        let draw = <HmacSha256 as KeyInit>::new_from_slice(&*master.derive("names without an account"))
            .expect("HMAC takes keys of any length");
        Ok(Self { master: master.clone(), draw, keys: RwLock::new(Arc::new(keys)) })
    }

    /// Reads the ring again.
    pub(crate) async fn reload(&self, store: &Store) -> Result<(), StoreError> {
        let known = self.keys();
        let keys = Keys::read(store.ring().await?, &self.master, Some(&known))?;
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(keys);
        Ok(())
    }

    /// The ring as it is now.
    pub(crate) fn keys(&self) -> Arc<Keys> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The key that a login under that name begins with: the account's, or that of a name without one. `None` if the account's is not in the ring.
    pub(crate) fn key_for(&self, keys: &Keys, name: &UserName, account: Option<&Account>) -> Option<Arc<Key>> {
        // Both are worked out for every name, so that the time is the same.
        let drawn = self.drawn(keys, name);
        match account {
            Some(account) => keys.keys.iter().find(|key| key.id == account.key).cloned(),
            None => Some(drawn),
        }
    }

    /// The key of a name without an account. Such names move on to a new key as accounts do when they register again: at each
    /// key, a draw that the name and the key decide.
    fn drawn(&self, keys: &Keys, name: &UserName) -> Arc<Key> {
        let mut drawn = None;
        for key in &keys.keys {
            let draw = self.draw.clone().chain_update(key.id.0).chain_update(name.key()).finalize().into_bytes();
            let draw = draw.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes));
            let point = ((u128::from(draw) * 1000) >> 64) as u16;
            if drawn.is_none() || point < key.moved {
                drawn = Some(key);
            }
        }
        Arc::clone(drawn.unwrap_or(&keys.active))
    }
}

impl Keys {
    fn read(ring: Vec<RingKey>, master: &MasterKey, known: Option<&Self>) -> Result<Self, StoreError> {
        let mut keys = Vec::with_capacity(ring.len());
        let mut active = None;
        for key in ring.into_iter().filter(|key| key.state != KeyState::Retired) {
            let same = |other: &&Arc<Key>| other.id == key.id && other.moved == key.moved && other.bytes == key.server;
            let read = match known.and_then(|known| known.keys.iter().find(same)) {
                Some(key) => Arc::clone(key),
                None => Arc::new(Key::read(&key, master)?),
            };
            if key.state == KeyState::Active {
                active = Some(Arc::clone(&read));
            }
            keys.push(read);
        }
        let active = active.ok_or_else(|| StoreError::Corrupt("the key ring has no active key".to_owned()))?;
        let sealing = keys.iter().map(|key| key.sealing.clone()).collect();
        Ok(Self { keys, active, sealing })
    }

    /// The key for new registrations, which also seals all states: what they are sealed with tells nothing about an account.
    pub(crate) fn active(&self) -> &Key {
        &self.active
    }
}

impl Key {
    fn read(key: &RingKey, master: &MasterKey) -> Result<Self, StoreError> {
        let server = Server::from_bytes(DefaultSuite::default(), &key.server)
            .map_err(|error| StoreError::Corrupt(format!("key {}: {error}", key.id)))?;
        let sealing = SealingKey::new(key.id, &master.derive(&format!("sealed states {}", key.id)));
        Ok(Self { id: key.id, server, sealing, moved: key.moved, bytes: key.server.clone() })
    }
}
