//! How many circuits and streams there were at once, over time: a load that was reached for a moment was not carried for an hour.

use super::memory::WARM_UP;
use std::time::Duration;

/// The part of what was asked for that must be there on average: a stream that has ended takes a while to have its successor.
const ENOUGH: f64 = 0.95;

/// Samples, with the time of each.
#[derive(Default)]
pub(super) struct Held {
    samples: Vec<(Duration, [usize; 2])>,
}

/// Of circuits, or of streams, after the first third.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Level {
    pub(super) mean: f64,
    pub(super) least: usize,
}

impl Held {
    pub(super) fn sample(&mut self, at: Duration, now: [usize; 2]) {
        self.samples.push((at, now));
    }

    /// Circuits and streams. `None` without samples after the first third.
    pub(super) fn levels(&self) -> Option<[Level; 2]> {
        let from = self.samples.last()?.0.mul_f64(WARM_UP);
        let warm: Vec<[usize; 2]> = self.samples.iter().filter(|(at, _)| *at >= from).map(|(_, now)| *now).collect();
        let level = |kind: usize| {
            let of = || warm.iter().map(|now| now[kind]);
            Some(Level { mean: of().sum::<usize>() as f64 / warm.len() as f64, least: of().min()? })
        };
        Some([level(0)?, level(1)?])
    }

    /// Whether there were about as many as were asked for.
    pub(super) fn is_held(&self, asked: [usize; 2]) -> bool {
        let enough = |(level, asked): (Level, usize)| level.mean >= ENOUGH * asked as f64;
        self.levels().is_some_and(|levels| levels.into_iter().zip(asked).all(enough))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn held(of: impl Fn(u64) -> [usize; 2]) -> Held {
        let mut held = Held::default();
        (0..900).for_each(|second| held.sample(Duration::from_secs(second), of(second)));
        held
    }

    #[test]
    fn a_load_that_was_reached_and_not_kept_is_not_held() {
        assert!(held(|_| [10, 100]).is_held([10, 100]));
        assert!(held(|second| [10, if second % 10 == 0 { 70 } else { 98 }]).is_held([10, 100]), "95.2 on average");
        assert!(held(|second| if second < 200 { [0, 0] } else { [12, 97] }).is_held([10, 100]), "warm by then");
        assert!(!held(|second| [10, if second == 400 { 100 } else { 50 }]).is_held([10, 100]));
        assert!(!held(|second| [if second < 500 { 10 } else { 5 }, 100]).is_held([10, 100]));
        assert!(!Held::default().is_held([1, 1]));
        let dips = held(|second| [10, if second == 700 { 3 } else { 100 }]);
        assert_eq!(dips.levels().unwrap().map(|level| level.least), [10, 3]);
    }
}
