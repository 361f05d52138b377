//! Generators that repeat themselves from run to run.

use candor_cpu::secret;
use rand_core::{TryCryptoRng, TryRng};
use std::convert::Infallible;

/// A generator that counts; the number sets it apart from others.
pub(super) struct Counting {
    next: u8,
    poisoned: bool,
}

pub(super) fn clean(number: u8) -> Counting {
    Counting { next: number, poisoned: false }
}

/// What it gives is poisoned.
pub(super) fn poisoned(number: u8) -> Counting {
    Counting { next: number, poisoned: true }
}

impl TryRng for Counting {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("the crate asks for bytes")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("the crate asks for bytes")
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for byte in &mut *out {
            self.next = self.next.wrapping_mul(5).wrapping_add(1);
            *byte = self.next;
        }
        if self.poisoned {
            secret::poison(out);
        }
        Ok(())
    }
}

impl TryCryptoRng for Counting {}
