//! What goes to stdout, and what goes to stderr.

use crate::Failure;
use std::io::Write;

/// How much to say on stderr.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Talk {
    pub(crate) quiet: bool,
    pub(crate) verbose: bool,
}

impl Talk {
    /// Prints a remark, unless the user asked for quiet.
    pub(crate) fn say(self, text: &str) {
        if !self.quiet {
            eprintln!("{text}");
        }
    }
}

/// Writes data to stdout. A reader that stops early (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    match std::io::stdout().lock().write_all(text.as_bytes()) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Error(format!("can't write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}
