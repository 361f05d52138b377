//! Clearing the stack behind an operation on secrets.
//!
//! A value that is wiped on drop is wiped where it lies at that moment. Moves leave copies elsewhere, so do registers that the compiler puts
//! aside, and some libraries wipe nothing. All of it lies below the stack pointer when the operation returns, and that is what
//! [`clearing`] overwrites.

/// Runs `work`, then overwrites `BYTES` bytes of stack below the caller's frame.
///
/// What `work` has put deeper stays, and the thread must have the room: take a number about as large as what `work` needs. The result is the
/// caller's, and so is what `work` captures: let it wipe itself on drop.
///
/// ```
/// use candor_primitives::stack;
/// let sum = stack::clearing::<4096, _>(|| [1_u64; 100].iter().sum::<u64>());
/// assert_eq!(sum, 100);
/// ```
// ct: public, because it takes no bytes, only what to do
#[inline(always)]
pub fn clearing<const BYTES: usize, R>(work: impl FnOnce() -> R) -> R {
    // On drop, so that the result goes straight to where the caller wants it: a variable for it would be one copy more.
    let _clear = Clear::<BYTES>;
    apart(work)
}

struct Clear<const BYTES: usize>;

impl<const BYTES: usize> Drop for Clear<BYTES> {
    #[inline(always)]
    fn drop(&mut self) {
        overwrite::<BYTES>();
    }
}

/// Overwrites `BYTES` bytes of stack below the frame of the function that this is inlined in.
#[inline(always)]
pub(crate) fn overwrite<const BYTES: usize>() {
    zeroize::zeroize_stack::<BYTES>();
    // A function's last call may become a jump, behind which its frame is gone: what lies deepest would stay. So it is not the last.
    zeroize::optimization_barrier(&());
}

/// A call of its own, so that what `work` keeps on the stack lies below the caller's frame.
#[inline(never)]
fn apart<R>(work: impl FnOnce() -> R) -> R {
    work()
}

/// Implements `Clone` for a type around one field of secrets. A derived clone is made piece by piece, and the compiler puts the pieces on the
/// stack.
#[cfg(any(feature = "aes", feature = "sm4"))]
macro_rules! clone_clearing {
    ($type:ty, $frames:expr) => {
        impl Clone for $type {
            fn clone(&self) -> Self {
                $crate::stack::clearing::<{ $frames }, _>(|| Self(self.0.clone()))
            }
        }
    };
}

#[cfg(any(feature = "aes", feature = "sm4"))]
pub(crate) use clone_clearing;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_result_and_what_was_borrowed_come_through() {
        let mut seen = [0_u8; 3];
        let long = clearing::<10000, _>(|| {
            seen = [1, 2, 3];
            [7_u64; 200]
        });
        assert_eq!((long, seen), ([7; 200], [1, 2, 3]));
    }
}
