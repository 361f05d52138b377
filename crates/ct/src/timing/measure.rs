//! One case, many times: on two fixed secrets and on random ones, in random order.

use crate::low::ticks;
use rand_xoshiro::SplitMix64;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::hash::{BuildHasher, RandomState};
use std::time::{Duration, Instant};

/// One operation on these secret bytes.
pub(crate) type Work = Box<dyn FnMut(&[u8])>;

/// What is timed, and what comes before it.
pub(crate) struct Timed {
    /// Makes of the bytes what the work needs, outside the clock.
    prepare: Option<Work>,
    work: Work,
}

impl Timed {
    /// Work for which something must be made of the bytes first.
    pub(crate) fn prepared(prepare: Work, work: Work) -> Self {
        Self { prepare: Some(prepare), work }
    }

    /// Prepares, then works; the ticks that the work took.
    pub(crate) fn once(&mut self, secret: &[u8]) -> u32 {
        if let Some(prepare) = &mut self.prepare {
            prepare(secret);
        }
        once(&mut self.work, secret)
    }
}

impl From<Work> for Timed {
    fn from(work: Work) -> Self {
        Self { prepare: None, work }
    }
}

/// The secrets of the three classes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Classes {
    /// All zero; the same bytes each time, drawn once; other bytes each time.
    FixedAndRandom,
    /// Other bytes each time in all three: no difference can be found, or the test itself is wrong.
    AllRandom,
}

/// Times in ticks: of the secret that is zero, of the other fixed one, and of random ones.
pub(crate) type Times = [Vec<u32>; 3];

/// Secrets that are prepared together, so that what prepares them stays away from what is timed.
const BATCH: usize = 256;
/// Measurements at the beginning that are thrown away.
const WARM_UP: usize = 4 * BATCH;
/// At least and at most so many are made.
const MEASUREMENTS: std::ops::RangeInclusive<usize> = 50_000..=10_000_000;

/// Times the work on `length` secret bytes for about `duration`. How many measurements that takes is fixed before the first that counts.
pub(crate) fn measure(work: &mut Timed, length: usize, classes: Classes, duration: Duration) -> Times {
    let mut bits = SplitMix64::seed_from_u64(RandomState::new().hash_one(0));
    let start = Instant::now();
    drop(round(work, length, classes, WARM_UP, &mut bits));
    let each = start.elapsed().as_secs_f64() / WARM_UP as f64;
    let count = (duration.as_secs_f64() / each) as usize;
    round(work, length, classes, count.clamp(*MEASUREMENTS.start(), *MEASUREMENTS.end()), &mut bits)
}

fn round(work: &mut Timed, length: usize, classes: Classes, count: usize, bits: &mut SplitMix64) -> Times {
    let mut times: Times = std::array::from_fn(|_| Vec::with_capacity(count / 3 + count / 12));
    let (mut secrets, mut secret, mut fixed) = (vec![0; BATCH * length], vec![0; length], vec![0; length]);
    bits.fill_bytes(&mut fixed);
    let (mut class, mut took) = ([0; BATCH], [0; BATCH]);
    for _ in 0..count.div_ceil(BATCH) {
        for (secret, class) in secrets.chunks_exact_mut(length).zip(&mut class) {
            *class = ((u128::from(bits.next_u64()) * 3) >> 64) as usize;
            bits.fill_bytes(secret);
            // By the same instructions for each class, or the caches would know it.
            let [random, same] = match (classes, *class) {
                (Classes::AllRandom, _) | (_, 2) => [0xff, 0],
                (_, 1) => [0, 0xff],
                _ => [0, 0],
            };
            secret.iter_mut().zip(&fixed).for_each(|(byte, fixed)| *byte = *byte & random | fixed & same);
        }
        // From here on all go the same way: the work finds its secret at the same place, and nobody knows the class.
        for (prepared, took) in secrets.chunks_exact(length).zip(&mut took) {
            secret.copy_from_slice(prepared);
            *took = work.once(&secret);
        }
        class.iter().zip(took).for_each(|(class, took)| times[*class].push(took));
    }
    times
}

/// The only place where work is timed.
#[inline(never)]
fn once(work: &mut Work, secret: &[u8]) -> u32 {
    let start = ticks::begin();
    work(secret);
    u32::try_from(ticks::end().wrapping_sub(start)).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    /// The secrets that the work has seen.
    fn seen(classes: Classes) -> (Vec<Vec<u8>>, Times) {
        let seen = Rc::new(RefCell::new(Vec::new()));
        let log = Rc::clone(&seen);
        let work: Work = Box::new(move |secret| log.borrow_mut().push(secret.to_vec()));
        let mut work = Timed::from(work);
        let times = round(&mut work, 11, classes, 3_072, &mut SplitMix64::seed_from_u64(1));
        drop(work);
        (Rc::into_inner(seen).expect("the work is gone").into_inner(), times)
    }

    /// How often each secret came, the most frequent first.
    fn frequencies(mut secrets: Vec<Vec<u8>>) -> Vec<(usize, Vec<u8>)> {
        secrets.sort();
        let mut groups: Vec<_> = secrets.chunk_by(Vec::eq).map(|group| (group.len(), group[0].clone())).collect();
        groups.sort_by(|a, b| b.cmp(a));
        groups
    }

    #[test]
    fn a_third_is_zero_a_third_another_fixed_secret_and_no_other_comes_twice() {
        let (secrets, times) = seen(Classes::FixedAndRandom);
        let found = frequencies(secrets);
        let zero = found.iter().position(|(_, secret)| *secret == [0; 11]).expect("zero is a secret");
        assert!(zero < 2 && found[1].0 > 900 && found[2].0 == 1, "{:?}", &found[..3]);
        assert_eq!([found[zero].0, found[1 - zero].0, found.len() - 2], times.map(|times| times.len()));
    }

    #[test]
    fn what_is_prepared_is_there_before_the_work_and_not_in_its_time() {
        let prepared = Rc::new(RefCell::new(Vec::new()));
        let (to, from) = (Rc::clone(&prepared), Rc::clone(&prepared));
        let prepare: Work = Box::new(move |secret| *to.borrow_mut() = secret.to_vec());
        let work: Work = Box::new(move |secret| assert_eq!(from.borrow_mut().drain(..).as_slice(), secret));
        let mut timed = Timed::prepared(prepare, work);
        timed.once(&[1, 2]);
        timed.once(&[3]);
        assert!(prepared.borrow().is_empty(), "the work came last");
    }

    #[test]
    fn the_control_has_no_fixed_secret_and_still_three_classes() {
        let (secrets, times) = seen(Classes::AllRandom);
        assert_eq!(frequencies(secrets)[0].0, 1);
        assert!(times.iter().all(|times| times.len() > 900));
    }
}
