//! Progress of a run on stderr. Draws no bar if stderr is not a terminal.

use candor_lab::session::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};

/// How far an announced duration may be off before it is corrected.
const TOLERANCE: f64 = 1.3;

/// The share of blocks from which the duration of all is reckoned.
const ENOUGH: f64 = 0.05;

/// What has been announced of a run's duration.
struct Announced {
    began: Instant,
    blocks: usize,
    done: usize,
    total: Duration,
}

impl Announced {
    /// Counts a block that took until `now`; the duration of all blocks if it differs much from what was said.
    fn block_done(&mut self, now: Duration) -> Option<Duration> {
        self.done += 1;
        let share = self.done as f64 / self.blocks as f64;
        if share < ENOUGH || self.done == self.blocks {
            return None;
        }
        let total = now.div_f64(share);
        let off = total.as_secs_f64() / self.total.as_secs_f64().max(1.0);
        if (1.0 / TOLERANCE..TOLERANCE).contains(&off) {
            return None;
        }
        self.total = total;
        Some(total)
    }
}

/// Shows a run's progress.
pub(crate) struct Watch {
    bar: ProgressBar,
    announced: Option<Announced>,
    quiet: bool,
    verbose: bool,
}

impl Watch {
    pub(crate) fn new(quiet: bool, verbose: bool) -> Self {
        Self { bar: ProgressBar::hidden(), announced: None, quiet, verbose }
    }

    /// Shows an event.
    pub(crate) fn event(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Probing(task) => {
                if self.bar.is_hidden() && !self.quiet {
                    self.bar = ProgressBar::new_spinner();
                    self.bar.enable_steady_tick(Duration::from_millis(120));
                }
                self.bar.set_message(format!("checking answers: {task}"));
            }
            Progress::Refused(out) if self.verbose => {
                self.say(&format!("{}: {}: {}", out.task, out.subject, out.reason))
            }
            Progress::Planned { blocks, expected } => {
                self.bar.finish_and_clear();
                if !self.quiet {
                    let style = ProgressStyle::with_template("{bar:20} {percent:>3} % {eta:>4} left  {wide_msg}");
                    self.bar = ProgressBar::new(blocks as u64);
                    self.bar.set_style(style.expect("the template is a constant"));
                    self.say(&format!("measuring for about {:.0} s", expected.as_secs_f64()));
                    self.announced = Some(Announced { began: Instant::now(), blocks, done: 0, total: expected });
                }
            }
            Progress::Measuring(task, process) => self.bar.set_message(format!("{task}, process {}", process + 1)),
            Progress::Measured => {
                self.bar.inc(1);
                let corrected = self.announced.as_mut().and_then(|said| said.block_done(said.began.elapsed()));
                if let Some(total) = corrected {
                    self.say(&format!("it will take about {:.0} s in all", total.as_secs_f64()));
                }
            }
            Progress::Lost(lost) if !self.quiet => {
                self.say(&format!("! {}: process {} lost: {}", lost.task, lost.process, lost.reason))
            }
            Progress::Refused(_) | Progress::Lost(_) => {}
        }
    }

    /// Prints a remark above the bar.
    fn say(&self, text: &str) {
        self.bar.suspend(|| crate::output::tell(text));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_estimate_is_corrected_once_it_is_far_off() {
        let mut said = Announced { began: Instant::now(), blocks: 100, done: 0, total: Duration::from_secs(100) };
        let at = |said: &mut Announced, seconds: f64| said.block_done(Duration::from_secs_f64(seconds));
        for block in 1..=4 {
            assert_eq!(at(&mut said, f64::from(block) * 6.0), None, "too early to tell");
        }
        assert_eq!(at(&mut said, 30.0), Some(Duration::from_secs(600)));
        assert_eq!(at(&mut said, 36.0), None, "as announced by now");
        assert_eq!(at(&mut said, 7.0), Some(Duration::from_secs(100)), "less is said, too");
    }
}
