//! What goes to stdout, and what goes to stderr.

use crate::Failure;
use candor_lab::report::Form;
use std::io::Write;
use terminal_size::{Width, terminal_size_of};

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
            tell(text);
        }
    }
}

/// Writes a line to stderr. If nobody reads that any more, the line is lost and the work goes on.
pub(crate) fn tell(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}

/// How many characters fit into a line of stdout. `None` where it is no terminal: files and pipes get whole lines.
pub(crate) fn columns() -> Option<usize> {
    terminal_size_of(std::io::stdout()).map(|(Width(columns), _)| columns.into())
}

/// The form for stdout: text is wrapped to the terminal.
pub(crate) fn on_stdout(form: Form) -> Form {
    match (form, columns()) {
        (Form::Text, Some(columns)) => Form::Terminal { columns },
        _ => form,
    }
}

/// Writes data to stdout. A reader that stops early (`| head`) is no error.
pub(crate) fn print(text: &str) -> Result<(), Failure> {
    print_bytes(text.as_bytes())
}

/// The same for bytes that need not be text, such as names of files.
pub(crate) fn print_bytes(bytes: &[u8]) -> Result<(), Failure> {
    match std::io::stdout().lock().write_all(bytes) {
        Err(error) if error.kind() != std::io::ErrorKind::BrokenPipe => {
            Err(Failure::Error(format!("can't write to stdout: {error}")))
        }
        _ => Ok(()),
    }
}
