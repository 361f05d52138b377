//! The key ring of a running server: as it was read last, with the keys that seal states, one for each of OPAQUE's.

use crate::ids::KeyId;
use crate::keys::KeyRing;
use crate::master::MasterKey;
use crate::state::SealingKey;
use crate::store::{Store, StoreError};
use crate::time::UnixTime;
use candor_opaque::{DefaultSuite, KsfParams, Server};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, Instant};
use tokio::sync::Mutex;

/// How often the ring is read again at most because somebody named a key that is not in it.
const PAUSE: Duration = Duration::from_secs(1);

/// The ring that requests use.
pub(crate) struct Ring {
    master: MasterKey,
    keys: RwLock<Arc<Keys>>,
    /// Held by whoever reads the ring because it has changed.
    reading: Mutex<()>,
    /// When somebody named a key that was not in it.
    looked: Mutex<Option<Instant>>,
}

/// The ring at one moment. A request works with one of these from beginning to end.
pub(crate) struct Keys {
    pub(crate) opaque: KeyRing,
    /// What opens sealed states.
    pub(crate) sealing: Vec<SealingKey>,
    /// What seals them: the active key's, whatever the account's key is, since anybody can see which key has sealed.
    seals: SealingKey,
}

impl Ring {
    /// Reads the ring. An empty one gets its first key, for clients that stretch with `ksf`.
    pub(crate) async fn open(
        store: &Store,
        master: &MasterKey,
        ksf: KsfParams,
        now: UnixTime,
    ) -> Result<Self, StoreError> {
        let keys = Keys::new(KeyRing::open(store, ksf, now).await?, master);
        Ok(Self {
            master: master.clone(),
            keys: RwLock::new(Arc::new(keys)),
            reading: Mutex::new(()),
            looked: Mutex::new(None),
        })
    }

    /// Reads the ring again.
    pub(crate) async fn reload(&self, store: &Store) -> Result<Arc<Keys>, StoreError> {
        let Some(ring) = KeyRing::load(store).await? else {
            return Err(StoreError::Corrupt("the key ring is empty".to_owned()));
        };
        let keys = Arc::new(Keys::new(ring, &self.master));
        *self.keys.write().unwrap_or_else(PoisonError::into_inner) = Arc::clone(&keys);
        Ok(keys)
    }

    /// The ring of this generation or a later one, read again if need be. Of many who want it at once one reads.
    pub(crate) async fn at(&self, generation: u64, store: &Store) -> Result<Arc<Keys>, StoreError> {
        let is_fresh = |keys: &Keys| keys.opaque.generation() >= generation;
        let keys = self.keys();
        if is_fresh(&keys) {
            return Ok(keys);
        }
        let _turn = self.reading.lock().await;
        let keys = self.keys();
        if is_fresh(&keys) { Ok(keys) } else { self.reload(store).await }
    }

    /// Reads the ring again because somebody named a key that is not in it. Anybody can make up a name, so this reads once a second at most.
    pub(crate) async fn look_again(&self, store: &Store) -> Result<Arc<Keys>, StoreError> {
        // Held while reading, so that whoever comes meanwhile gets what is being read.
        let mut looked = self.looked.lock().await;
        if looked.is_some_and(|last| last.elapsed() < PAUSE) {
            return Ok(self.keys());
        }
        let keys = self.reload(store).await?;
        *looked = Some(Instant::now());
        Ok(keys)
    }

    /// The ring as it is now.
    pub(crate) fn keys(&self) -> Arc<Keys> {
        Arc::clone(&self.keys.read().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Keys {
    fn new(opaque: KeyRing, master: &MasterKey) -> Self {
        let key = |id: KeyId| SealingKey::new(id, &master.derive(&format!("sealed states {id}")));
        Self { sealing: opaque.ids().map(key).collect(), seals: key(opaque.active().0), opaque }
    }

    /// OPAQUE's server for new registrations.
    pub(crate) fn server(&self) -> &Server<DefaultSuite> {
        self.opaque.active().1
    }

    /// What seals states.
    pub(crate) fn seals(&self) -> &SealingKey {
        &self.seals
    }
}
