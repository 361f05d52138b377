//! The table of objects.

use crate::status::Status;
use candor_suite::aead::Cipher;
use candor_suite::hash::Hasher;
use candor_suite::key::{PublicKey, SecretKey};
use candor_suite::mac::Authenticator;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// A place in the table below, and above it how many objects that place has had. Never 0.
pub(crate) type Handle = u64;

/// What a handle stands for.
pub(crate) enum Object {
    /// None once it has been finished.
    Hash(Mutex<Option<Hasher>>),
    Mac(Mutex<Option<Authenticator>>),
    Aead(Cipher),
    Secret(SecretKey),
    Public(PublicKey),
}

struct Slot {
    generation: u32,
    object: Option<Arc<Object>>,
}

struct Table {
    slots: Vec<Slot>,
    free: Vec<u32>,
}

static TABLE: RwLock<Table> = RwLock::new(Table { slots: Vec::new(), free: Vec::new() });

/// Stores an object.
pub(crate) fn insert(object: Object) -> Result<Handle, Status> {
    let object = Some(Arc::new(object));
    let mut table = TABLE.write().unwrap_or_else(PoisonError::into_inner);
    table.insert(object)
}

/// The object of a handle.
pub(crate) fn get(handle: Handle) -> Result<Arc<Object>, Status> {
    let table = TABLE.read().unwrap_or_else(PoisonError::into_inner);
    table.get(handle).and_then(|slot| slot.object.clone()).ok_or(Status::Handle)
}

/// Takes an object out. It is dropped, and so wiped, outside the lock.
pub(crate) fn remove(handle: Handle) -> Result<(), Status> {
    let object = TABLE.write().unwrap_or_else(PoisonError::into_inner).remove(handle);
    object.map(drop).ok_or(Status::Handle)
}

/// The state behind a lock. A panic in another thread's call left it as it was between two of its steps, or finished.
pub(crate) fn lock<T>(state: &Mutex<T>) -> MutexGuard<'_, T> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Table {
    fn insert(&mut self, object: Option<Arc<Object>>) -> Result<Handle, Status> {
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                let at = u32::try_from(self.slots.len()).map_err(|_| Status::Internal)?;
                self.slots.push(Slot { generation: 1, object: None });
                at
            }
        };
        let slot = self.slots.get_mut(at as usize).ok_or(Status::Internal)?;
        slot.object = object;
        Ok(u64::from(slot.generation) << 32 | u64::from(at))
    }

    fn get(&self, handle: Handle) -> Option<&Slot> {
        let slot = self.slots.get(handle as u32 as usize)?;
        (slot.generation == (handle >> 32) as u32).then_some(slot)
    }

    fn remove(&mut self, handle: Handle) -> Option<Arc<Object>> {
        let at = handle as u32;
        let slot = self.slots.get_mut(at as usize).filter(|slot| slot.generation == (handle >> 32) as u32)?;
        let object = slot.object.take()?;
        // A place whose numbers are used up is not used again.
        if let Some(next) = slot.generation.checked_add(1) {
            slot.generation = next;
            self.free.push(at);
        }
        Some(object)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_suite::hash::HashAlgorithm;

    fn object() -> Option<Arc<Object>> {
        Some(Arc::new(Object::Hash(Mutex::new(Some(Hasher::new(HashAlgorithm::Sha256))))))
    }

    fn table() -> Table {
        Table { slots: Vec::new(), free: Vec::new() }
    }

    #[test]
    fn a_handle_finds_its_object_until_it_is_freed_and_no_other_after() {
        let mut table = table();
        let first = table.insert(object()).unwrap();
        assert!(first != 0 && table.get(first).is_some());
        assert!(table.remove(first).is_some());
        assert!(table.remove(first).is_none(), "freed twice");
        let second = table.insert(object()).unwrap();
        assert_eq!(first as u32, second as u32, "the same place");
        assert!(table.get(first).is_none() && table.get(second).is_some(), "and another handle");
        for wrong in [0, 1, second + 1, second + (1 << 32), u64::MAX] {
            assert!(table.get(wrong).is_none() && table.remove(wrong).is_none(), "{wrong:x}");
        }
    }

    #[test]
    fn a_place_whose_generations_are_used_up_is_left_alone() {
        let mut table = table();
        let first = table.insert(object()).unwrap();
        table.slots[0].generation = u32::MAX;
        assert!(table.remove(first).is_none());
        assert!(table.remove(u64::from(u32::MAX) << 32).is_some());
        assert_eq!(table.insert(object()).unwrap() as u32, 1, "another place");
    }
}
