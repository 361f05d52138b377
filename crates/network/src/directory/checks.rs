//! Verifying a consensus on several threads: who starts with one waits for it, and each signature takes some 80 µs.

use crate::link::locked;
use candor_onion::Error;
use candor_onion::directory::{Authorities, Check, Consensus};
use std::sync::Mutex;
use std::thread;

/// Threads at most, with the caller's. To ask how many processors there are would take as long as a signature.
const THREADS: usize = 4;

/// [`Consensus::verify`], sooner.
pub(super) fn verify(bytes: &[u8], authorities: &Authorities) -> Result<Consensus, Error> {
    Consensus::verify_by(bytes, authorities, |checks| share(checks, Check::run))
}

/// Does the work with each of `items`, before it comes back.
fn share<T: Send>(items: &mut [T], work: fn(&mut T)) {
    let threads = items.len().min(THREADS);
    let left = Mutex::new(items.iter_mut());
    let take = || locked(&left).next();
    let share = || {
        while let Some(item) = take() {
            work(item);
        }
    };
    thread::scope(|scope| {
        for _ in 1..threads {
            // Without it the others do more.
            let _ = thread::Builder::new().spawn_scoped(scope, share);
        }
        share();
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_has_its_turn_once() {
        for count in [0, 1, 2, 5, 100] {
            let mut items = vec![0; count];
            share(&mut items, |item| *item += 1);
            assert_eq!(items, vec![1; count]);
        }
    }
}
