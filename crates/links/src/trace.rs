//! A delay that varies in time.

use std::time::Duration;

/// One-way delay over time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DelayTrace {
    /// Time since the start and one-way delay; `None` means no link. Linear interpolation between samples.
    pub samples: Vec<(Duration, Option<Duration>)>,
}

impl DelayTrace {
    /// The delay at a time. `None` without a link: before the first sample, after the last, from a sample with `None` to the next, and on the way to one.
    pub fn at(&self, time: Duration) -> Option<Duration> {
        let next = self.samples.partition_point(|(at, _)| *at <= time);
        let (from, delay) = *self.samples.get(next.checked_sub(1)?)?;
        let delay = delay?;
        if from == time {
            return Some(delay);
        }
        let (to, then) = *self.samples.get(next)?;
        let then = then?;
        let share = (time - from).as_secs_f64() / (to - from).as_secs_f64();
        Some(Duration::from_secs_f64(delay.as_secs_f64() + (then.as_secs_f64() - delay.as_secs_f64()) * share))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_delay_lies_between_its_samples() {
        let second = Duration::from_secs;
        let ms = |ms| Some(Duration::from_millis(ms));
        let samples = vec![(second(1), ms(10)), (second(3), ms(20)), (second(4), None), (second(6), ms(7))];
        let trace = DelayTrace { samples };
        assert_eq!(trace.at(second(0)), None);
        assert_eq!(trace.at(second(1)), ms(10));
        assert_eq!(trace.at(second(2)), ms(15));
        assert_eq!(trace.at(second(3)), ms(20));
        assert_eq!(trace.at(Duration::from_millis(3500)), None, "the link ends somewhere before the next sample");
        assert_eq!(trace.at(second(5)), None);
        assert_eq!(trace.at(second(6)), ms(7));
        assert_eq!(trace.at(second(7)), None);
        assert_eq!(DelayTrace::default().at(second(0)), None);
    }
}
