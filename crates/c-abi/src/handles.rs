//! The table of objects.

use crate::Fault;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

/// A place in a [`Table`], disguised by the table's tag, and above it how many objects that place has had. Never 0.
pub type Handle = u64;

/// The objects of a library, by their handles.
pub struct Table<T> {
    tag: u32,
    places: RwLock<Places<T>>,
}

struct Places<T> {
    slots: Vec<Slot<T>>,
    free: Vec<u32>,
}

struct Slot<T> {
    generation: u32,
    object: Option<Arc<T>>,
}

impl<T> Table<T> {
    /// Without objects. Each library has a tag of its own, so that the handle of another library finds nothing here, as long as there are fewer objects than the tags lie
    /// apart.
    pub const fn new(tag: u32) -> Self {
        Self { tag, places: RwLock::new(Places { slots: Vec::new(), free: Vec::new() }) }
    }

    /// Stores an object.
    ///
    /// # Errors
    /// [`Fault::Internal`] if there are 2³² places, which is more than any machine has memory for.
    pub fn insert(&self, object: T) -> Result<Handle, Fault> {
        let object = Arc::new(object);
        Ok(self.tagged(self.places.write().unwrap_or_else(PoisonError::into_inner).insert(object)?))
    }

    /// The object of a handle.
    ///
    /// # Errors
    /// [`Fault::Handle`] if there is none.
    #[inline]
    pub fn get(&self, handle: Handle) -> Result<Arc<T>, Fault> {
        let places = self.places.read().unwrap_or_else(PoisonError::into_inner);
        places.get(self.tagged(handle)).and_then(|slot| slot.object.clone()).ok_or(Fault::Handle)
    }

    /// Frees an object, as `free` does: the handle 0 is ignored. The object is dropped, and so wiped, outside the lock: at once, or when the last
    /// call that uses it ends.
    ///
    /// # Errors
    /// [`Fault::Handle`] if there is none.
    pub fn free(&self, handle: Handle) -> Result<(), Fault> {
        if handle == 0 {
            return Ok(());
        }
        let object = self.places.write().unwrap_or_else(PoisonError::into_inner).remove(self.tagged(handle));
        object.map(drop).ok_or(Fault::Handle)
    }

    /// The place disguised, or the disguise taken off. It does not concern how often the place was used, which is never 0.
    fn tagged(&self, handle: Handle) -> Handle {
        handle ^ u64::from(self.tag)
    }
}

/// The state behind a lock. If a call panicked with it, it may stand between two of its steps, and so it is finished: it would give a wrong result.
pub fn lock<T>(state: &Mutex<Option<T>>) -> MutexGuard<'_, Option<T>> {
    state.lock().unwrap_or_else(|poisoned| {
        let mut state = poisoned.into_inner();
        *state = None;
        state
    })
}

impl<T> Places<T> {
    fn insert(&mut self, object: Arc<T>) -> Result<Handle, Fault> {
        let at = match self.free.pop() {
            Some(at) => at,
            None => {
                let at = u32::try_from(self.slots.len()).map_err(|_| Fault::Internal)?;
                self.slots.push(Slot { generation: 1, object: None });
                at
            }
        };
        let slot = self.slots.get_mut(at as usize).ok_or(Fault::Internal)?;
        slot.object = Some(object);
        Ok(u64::from(slot.generation) << 32 | u64::from(at))
    }

    fn get(&self, handle: Handle) -> Option<&Slot<T>> {
        let slot = self.slots.get(handle as u32 as usize)?;
        (slot.generation == (handle >> 32) as u32).then_some(slot)
    }

    fn remove(&mut self, handle: Handle) -> Option<Arc<T>> {
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

    #[test]
    fn a_handle_finds_its_object_until_it_is_freed_and_no_other_after() {
        let table = Table::new(0);
        let first = table.insert("first").unwrap();
        assert!(first != 0 && *table.get(first).unwrap() == "first");
        table.free(first).unwrap();
        assert_eq!(table.free(first), Err(Fault::Handle), "freed twice");
        let second = table.insert("second").unwrap();
        assert_eq!(first as u32, second as u32, "the same place");
        assert_eq!(table.get(first), Err(Fault::Handle), "and another handle");
        assert_eq!(*table.get(second).unwrap(), "second");
        for wrong in [1, second + 1, second + (1 << 32), u64::MAX] {
            assert_eq!((table.get(wrong), table.free(wrong)), (Err(Fault::Handle), Err(Fault::Handle)), "{wrong:x}");
        }
        assert_eq!((table.get(0), table.free(0)), (Err(Fault::Handle), Ok(())));
    }

    #[test]
    fn the_handle_of_another_library_finds_nothing() {
        let (one, other) = (Table::new(0x5355_4954), Table::new(0x4f50_4151));
        let (mine, theirs) = (one.insert("one").unwrap(), other.insert("other").unwrap());
        assert_eq!((*one.get(mine).unwrap(), *other.get(theirs).unwrap()), ("one", "other"));
        for (table, handle) in [(&one, theirs), (&other, mine)] {
            assert_eq!((table.get(handle), table.free(handle)), (Err(Fault::Handle), Err(Fault::Handle)));
        }
        // Place and tag are the same bits: the handle is not 0.
        let first = Table::new(0).insert(()).unwrap();
        assert!(Table::new(first as u32).insert(()).unwrap() != 0);
        assert_eq!((one.free(mine), other.free(theirs)), (Ok(()), Ok(())));
    }

    #[test]
    fn an_object_that_is_freed_while_it_is_used_lives_until_that_ends() {
        let table = Table::new(0);
        let handle = table.insert(String::from("in use")).unwrap();
        let used = table.get(handle).unwrap();
        table.free(handle).unwrap();
        assert_eq!(*used, "in use");
        assert_eq!(Arc::strong_count(&used), 1, "the table has let go of it");
    }

    #[test]
    fn what_a_call_panicked_with_is_finished_and_nothing_else_is() {
        let [hit, spared] = [(); 2].map(|()| Mutex::new(Some("state")));
        for state in [&hit, &spared] {
            assert!(lock(state).is_some());
        }
        let call = std::panic::AssertUnwindSafe(|| {
            let _held = lock(&hit);
            panic!("on purpose");
        });
        assert!(std::panic::catch_unwind(call).is_err());
        assert!(lock(&hit).is_none() && lock(&hit).is_none());
        assert!(lock(&spared).is_some());
    }

    #[test]
    fn a_place_whose_generations_are_used_up_is_left_alone() {
        let table = Table::new(0);
        let first = table.insert(()).unwrap();
        table.places.write().unwrap().slots[0].generation = u32::MAX;
        assert_eq!(table.free(first), Err(Fault::Handle));
        table.free(u64::from(u32::MAX) << 32).unwrap();
        assert_eq!(table.insert(()).unwrap() as u32, 1, "another place");
    }
}
