//! Secrets that stay where they are when what holds them is moved.

use alloc::boxed::Box;
use core::ops::{Deref, DerefMut};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A secret on the heap: a move of its owner would otherwise leave a copy of it on the stack. Wiped on drop.
#[derive(Clone)]
pub(crate) struct Kept<T: Zeroize>(Box<T>);

impl<T: Zeroize> Kept<T> {
    /// With what is not secret yet, to be filled in place.
    pub(crate) fn new(empty: T) -> Self {
        Self(Box::new(empty))
    }
}

impl<T: Zeroize> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Zeroize> Drop for Kept<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: Zeroize> ZeroizeOnDrop for Kept<T> {}
