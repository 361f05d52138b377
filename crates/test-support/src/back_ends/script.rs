//! A generator whose output is fixed in advance.

use rand_core::{TryCryptoRng, TryRng};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::convert::Infallible;
use std::rc::Rc;

/// Gives out these bytes in order; clones share what is left.
///
/// Asked for more than there is, it panics: then the code draws more than the specification says, or in another order.
#[derive(Clone, Default)]
pub struct Script(Rc<RefCell<VecDeque<u8>>>);

impl Script {
    /// The bytes of `parts`, one after the other.
    pub fn of<const N: usize>(parts: [&[u8]; N]) -> Self {
        Self(Rc::new(RefCell::new(parts.concat().into())))
    }

    /// Whether all has been asked for.
    pub fn used_up(&self) -> bool {
        self.0.borrow().is_empty()
    }

    fn next<const N: usize>(&mut self) -> [u8; N] {
        let mut bytes = [0; N];
        let Ok(()) = self.try_fill_bytes(&mut bytes);
        bytes
    }
}

impl TryRng for Script {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        Ok(u32::from_le_bytes(self.next()))
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        Ok(u64::from_le_bytes(self.next()))
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        let mut left = self.0.borrow_mut();
        assert!(out.len() <= left.len(), "{} bytes drawn; the script has {} left", out.len(), left.len());
        let length = out.len();
        out.iter_mut().zip(left.drain(..length)).for_each(|(out, byte)| *out = byte);
        Ok(())
    }
}

impl TryCryptoRng for Script {}

#[cfg(test)]
mod tests {
    use super::*;
    use rand_core::Rng;

    #[test]
    fn clones_share_what_is_left() {
        let mut script = Script::of([&[1, 0, 0, 0], &[2, 0], &[0, 0]]);
        let mut other = script.clone();
        assert_eq!([script.next_u32(), other.next_u32()], [1, 2]);
        assert!(script.used_up());
    }

    #[test]
    #[should_panic(expected = "8 bytes drawn; the script has 7 left")]
    fn a_script_that_is_too_short_is_a_mistake() {
        Script::of([&[0; 7]]).next_u64();
    }
}
