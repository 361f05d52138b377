//! Progress of a run on stderr. Draws no bar if stderr is not a terminal.

use candor_lab::session::Progress;
use indicatif::{ProgressBar, ProgressStyle};

/// Shows a run's progress.
pub(crate) struct Watch {
    bar: ProgressBar,
    quiet: bool,
    verbose: bool,
}

impl Watch {
    pub(crate) fn new(quiet: bool, verbose: bool) -> Self {
        Self { bar: ProgressBar::hidden(), quiet, verbose }
    }

    /// Shows an event.
    pub(crate) fn event(&mut self, progress: Progress<'_>) {
        match progress {
            Progress::Probing(task) => {
                if self.bar.is_hidden() && !self.quiet {
                    self.bar = ProgressBar::new_spinner();
                    self.bar.enable_steady_tick(std::time::Duration::from_millis(120));
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
                }
            }
            Progress::Measuring(task, process) => self.bar.set_message(format!("{task}, process {}", process + 1)),
            Progress::Measured => self.bar.inc(1),
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
