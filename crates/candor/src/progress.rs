//! Progress of a run on stderr. Draws no bar if stderr is not a terminal.

use candor_lab::session::Progress;
use indicatif::{ProgressBar, ProgressStyle};
use std::time::{Duration, Instant};

/// How far an announced duration may be off before it is corrected.
const TOLERANCE: f64 = 1.3;

/// What has been announced of a run's duration. A process measures every task once, so that whole processes are alike.
struct Announced {
    began: Instant,
    blocks: usize,
    done: usize,
    /// The process that is being measured.
    process: usize,
    total: Duration,
}

impl Announced {
    /// A block of this process begins, `now` after the first: the duration of all if it differs much from what was said.
    fn begins(&mut self, process: usize, now: Duration) -> Option<Duration> {
        if process <= self.process || self.done == 0 {
            return None;
        }
        self.process = process;
        let total = now.div_f64(self.done as f64 / self.blocks as f64);
        let off = total.as_secs_f64() / self.total.as_secs_f64().max(1.0);
        if (1.0 / TOLERANCE..TOLERANCE).contains(&off) {
            return None;
        }
        self.total = total;
        Some(total)
    }
}

/// A duration as an estimate is told: in minutes, where seconds would promise too much.
fn spoken(duration: Duration) -> String {
    match duration.as_secs_f64() {
        seconds if seconds < 120.0 => format!("{:.0} s", seconds.ceil()),
        seconds => format!("{:.0} min", seconds / 60.0),
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
                    self.say(&format!("measuring for about {}", spoken(expected)));
                    let began = Instant::now();
                    self.announced = Some(Announced { began, blocks, done: 0, process: 0, total: expected });
                }
            }
            Progress::Measuring(task, process) => {
                self.bar.set_message(format!("{task}, process {}", process + 1));
                let corrected = self.announced.as_mut().and_then(|said| said.begins(process, said.began.elapsed()));
                if let Some(total) = corrected {
                    self.say(&format!("it will take about {} in all", spoken(total)));
                }
            }
            Progress::Measured => {
                self.bar.inc(1);
                if let Some(announced) = &mut self.announced {
                    announced.done += 1;
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
    fn an_estimate_is_told_in_seconds_or_in_minutes() {
        let of = |seconds| spoken(Duration::from_secs_f64(seconds));
        assert_eq!([0.2, 61.0, 119.0, 120.0, 809.0].map(of), ["1 s", "61 s", "119 s", "2 min", "13 min"]);
    }

    #[test]
    fn an_estimate_is_corrected_after_whole_processes_once_it_is_far_off() {
        // Three tasks of 30, 10 and 1 seconds, ten processes.
        let run = |announced: u64, slower: f64| {
            let total = Duration::from_secs(announced);
            let mut said = Announced { began: Instant::now(), blocks: 30, done: 0, process: 0, total };
            let (mut now, mut corrections) = (0.0, Vec::new());
            for process in 0..10 {
                for task in [30.0, 10.0, 1.0] {
                    corrections.extend(said.begins(process, Duration::from_secs_f64(now)));
                    now += task * slower;
                    said.done += 1;
                }
            }
            corrections.into_iter().map(|total| total.as_secs_f64().round()).collect::<Vec<_>>()
        };
        assert!(run(410, 1.0).is_empty(), "it was right");
        assert!(run(410, 1.2).is_empty(), "it is near enough");
        assert_eq!(run(410, 5.0), [2050.0], "once, and then it is right");
        assert_eq!(run(4100, 1.0), [410.0], "less is said, too");
    }
}
