//! Whether this process is a copy of another one.
//!
//! A child that `fork` makes has all that its parent had drawn from the operating system's generator. Whoever keeps such bytes keeps this number beside them, and
//! drops them when it has changed.

/// A number that a child of this process, if `fork` makes it, does not have in common with it.
///
/// On Linux that is a load from memory: a handler that the C library calls in the child has counted. Where it refuses the handler, and on other systems, it is made of
/// the process's number. A child by the bare system call `clone` is not counted.
///
/// ```
/// assert_eq!(candor_primitives::forks::lineage(), candor_primitives::forks::lineage());
/// ```
#[must_use]
pub fn lineage() -> usize {
    #[cfg(target_os = "linux")]
    if let Some(lineage) = crate::low::forks::lineage() {
        return lineage;
    }
    // Never one of those above.
    std::process::id() as usize | 1 << (usize::BITS - 1)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_child_has_another_number() {
        // Another test may be asking for the first time; until the C library has the handler, the number is the process's.
        let began = std::time::Instant::now();
        while lineage() >> (usize::BITS - 1) == 1 && began.elapsed() < std::time::Duration::from_secs(10) {
            std::thread::yield_now();
        }
        let own = lineage();
        let low = |number: usize| [number as u8, (number >> 8) as u8, (number >> 16) as u8];
        let of_child = crate::low::forks::in_child(move || {
            let [a, b, c] = low(lineage());
            let mut answer = [0; 32];
            answer[..3].copy_from_slice(&[a, b, c]);
            answer
        });
        assert_ne!(of_child, low(own));
        assert_eq!(lineage(), own, "while the parent's stays");
    }
}
