//! Secrets that stay where they are when what holds them is moved.

use alloc::boxed::Box;
use core::ops::{Deref, DerefMut};
use zeroize::{Zeroize, ZeroizeOnDrop};

/// A secret on the heap: a move of its owner would otherwise leave a copy of it on the stack. Wiped on drop.
pub(super) struct Kept<T: Zeroize + Default>(Box<T>);

impl<T: Zeroize + Default> Kept<T> {
    /// Zeros, to be filled in place.
    pub(super) fn new() -> Self {
        Self(Box::default())
    }
}

impl<T: Zeroize + Default + Copy> Clone for Kept<T> {
    fn clone(&self) -> Self {
        let mut copy = Self::new();
        *copy = **self;
        copy
    }
}

impl<T: Zeroize + Default> Deref for Kept<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Zeroize + Default> DerefMut for Kept<T> {
    fn deref_mut(&mut self) -> &mut T {
        &mut self.0
    }
}

impl<T: Zeroize + Default> Drop for Kept<T> {
    fn drop(&mut self) {
        self.0.zeroize();
    }
}

impl<T: Zeroize + Default> ZeroizeOnDrop for Kept<T> {}
