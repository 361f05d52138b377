//! The resident memory of processes over time.

use std::time::Duration;

/// Part of the time after which a process counts as warm.
const WARM_UP: f64 = 1.0 / 3.0;
/// How much a process may grow from the second third to the last.
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
    /// From the median of the second third to that of the last, as a fraction.
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

    /// `None` without samples of each third.
    pub(super) fn course(&self) -> Option<Course> {
        let (first, last) = (self.samples.first()?, self.samples.last()?);
        let whole = last.0.as_secs_f64();
        let of = |from: f64, to: f64| -> Vec<u64> {
            let inside = |at: f64| at >= from * whole && at <= to * whole;
            self.samples.iter().filter(|(at, _)| inside(at.as_secs_f64())).map(|(_, kb)| *kb).collect()
        };
        let (second, third) = (median(of(WARM_UP, 1.0 - WARM_UP))?, median(of(1.0 - WARM_UP, 1.0))?);
        Some(Course {
            start: first.1,
            end: last.1,
            most: of(WARM_UP, 1.0).into_iter().max()?,
            growth: third as f64 / second.max(1) as f64 - 1.0,
        })
    }
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
    fn growth_is_that_of_the_last_third_over_the_second() {
        let flat = memory((0..90).map(|second| if second < 32 { 100 + second } else { 200 })).course().unwrap();
        assert_eq!(flat, Course { start: 100, end: 200, most: 200, growth: 0.0 });
        let grows = memory((0..90).map(|second| 1000 + 10 * second)).course().unwrap();
        assert!(grows.growth > FLAT, "{grows:?}");
        let peak = memory([9000, 1, 1, 1, 1, 1, 1, 1, 1, 1]).course().unwrap();
        assert_eq!((peak.start, peak.most), (9000, 1), "what it needs to get warm is not counted");
        assert_eq!(memory([]).course(), None);
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn this_process_is_resident() {
        assert!(resident(std::process::id()).unwrap() > 1000);
        assert_eq!(resident(u32::MAX), None);
    }
}
