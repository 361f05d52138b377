//! The resident memory of processes over time.

use std::time::Duration;

/// Part of the time after which a process counts as warm.
pub(super) const WARM_UP: f64 = 1.0 / 3.0;
/// Parts of the time after that. A process's memory in a part is the median of its samples.
const PARTS: u32 = 8;
/// How much more a process may have in any part than in an earlier one.
pub(super) const FLAT: f64 = 0.05;
/// Below this nobody can say whether it does.
pub(super) const LONG_ENOUGH: Duration = Duration::from_secs(300);

/// A process's resident set in kB. `None` where the system doesn't tell, or the process is gone.
pub(super) fn resident(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().trim_end_matches(" kB").trim().parse().ok()
}

/// Samples of a process, with the time of each.
pub(super) struct Memory {
    pub(super) name: String,
    pub(super) process: u32,
    samples: Vec<(Duration, u64)>,
}

/// What became of a process's memory.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Course {
    pub(super) start: u64,
    pub(super) end: u64,
    /// After the first third.
    pub(super) most: u64,
    /// The most by which a part after the first third had more than an earlier one, as a fraction.
    pub(super) growth: f64,
}

impl Memory {
    pub(super) fn of(name: &str, process: u32) -> Self {
        Self { name: name.to_owned(), process, samples: Vec::new() }
    }

    pub(super) fn sample(&mut self, at: Duration) {
        self.samples.extend(resident(self.process).map(|kb| (at, kb)));
    }

    /// What it is now.
    pub(super) fn now(&self) -> Option<u64> {
        self.samples.last().map(|(_, kb)| *kb)
    }

    /// `None` without samples of two parts after the first third.
    pub(super) fn course(&self) -> Option<Course> {
        let [first, .., last] = self.samples.as_slice() else { return None };
        let whole = last.0.as_secs_f64();
        let of = |from: f64, to: f64| -> Vec<u64> {
            let inside = |at: f64| at >= from * whole && at <= to * whole;
            self.samples.iter().filter(|(at, _)| inside(at.as_secs_f64())).map(|(_, kb)| *kb).collect()
        };
        let border = |part: u32| WARM_UP + (1.0 - WARM_UP) * f64::from(part) / f64::from(PARTS);
        let parts = (0..PARTS).filter_map(|part| median(of(border(part), border(part + 1))));
        Some(Course {
            start: first.1,
            end: last.1,
            most: of(WARM_UP, 1.0).into_iter().max()?,
            growth: growth(&parts.collect::<Vec<_>>())?,
        })
    }
}

/// The most by which one of them exceeds an earlier one, as a fraction; below zero if each is less than all before. `None` of fewer than two.
///
/// Between two medians of long stretches a leak would show only half of what it adds.
fn growth(parts: &[u64]) -> Option<f64> {
    let (mut least, mut growth) = (*parts.first()?, None);
    for &part in &parts[1..] {
        let more = part as f64 / least.max(1) as f64 - 1.0;
        growth = Some(growth.map_or(more, |growth: f64| growth.max(more)));
        least = least.min(part);
    }
    growth
}

fn median(mut numbers: Vec<u64>) -> Option<u64> {
    numbers.sort_unstable();
    numbers.get(numbers.len() / 2).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(samples: impl IntoIterator<Item = u64>) -> Memory {
        let at = |(second, kb)| (Duration::from_secs(second), kb);
        Memory { name: "guard".into(), process: 0, samples: (0..).zip(samples).map(at).collect() }
    }

    #[test]
    fn growth_is_what_comes_after_the_first_third() {
        let flat = memory((0..90).map(|second| if second < 32 { 100 + second } else { 200 })).course().unwrap();
        assert_eq!(flat, Course { start: 100, end: 200, most: 200, growth: 0.0 });
        let grows = memory((0..90).map(|second| 1000 + 10 * second)).course().unwrap();
        assert!(grows.growth > FLAT, "{grows:?}");
        let peak = memory([9000, 1, 1, 1, 1, 1, 1, 1, 1, 1]).course().unwrap();
        assert_eq!((peak.start, peak.most, peak.growth), (9000, 1, 0.0), "what it needs to get warm is not counted");
        assert_eq!(memory([]).course(), None);
        assert_eq!(memory([7]).course(), None, "one sample has no course");
    }

    /// An hour in which a relay leaks 8 % between warm-up and end: the last third has 4 % more than the second.
    #[test]
    fn a_leak_shows_with_what_it_adds_from_warm_up_to_the_end() {
        let leaks = |kb_an_hour: u64| memory((0..3600).map(move |second| 100_000 + kb_an_hour * second / 3600));
        let growth = leaks(12_000).course().unwrap().growth;
        assert!(growth > FLAT && growth < 0.08, "{growth}");
        assert!(leaks(6000).course().unwrap().growth < FLAT);
        // One that is given back at last was there all the same.
        let hill = memory((0..900).map(|second| if (500..700).contains(&second) { 110 } else { 100 }));
        assert!(hill.course().unwrap().growth > FLAT);
        let falls = memory((0..900).map(|second| 2000 - second));
        assert!(falls.course().unwrap().growth < 0.0, "less and less is no growth");
        // A single sample is no part.
        let blink = memory((0..900).map(|second| if second == 600 { 500 } else { 100 }));
        assert_eq!(blink.course().unwrap().growth, 0.0);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_resident() {
        assert!(resident(std::process::id()).unwrap() > 1000);
        assert_eq!(resident(u32::MAX), None);
    }
}
