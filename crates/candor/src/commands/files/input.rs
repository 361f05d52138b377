//! A file or standard input, read in pieces, with progress on a terminal.

use super::shown;
use crate::Failure;
use crate::output::Talk;
use indicatif::{ProgressBar, ProgressStyle};
use std::fs::File;
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};
use zeroize::Zeroizing;

/// Bytes that are read at once.
pub(super) const PIECE: usize = 256 << 10;

/// How long reading takes before progress is shown.
const PATIENCE: Duration = Duration::from_secs(2);

/// What is read.
pub(super) struct Input {
    name: String,
    file: File,
    size: Option<u64>,
    began: Instant,
    done: u64,
    bar: Option<ProgressBar>,
    quiet: bool,
}

impl Input {
    /// Opens a file; `-` is standard input.
    pub(super) fn open(path: &Path, talk: Talk) -> Result<Self, Failure> {
        let name = shown(path);
        let (file, size) = if path == Path::new("-") {
            // Not by the handle of the standard library, in whose buffer a short message would stay.
            let stdin = io::stdin().as_fd().try_clone_to_owned();
            (File::from(stdin.map_err(|error| Failure::Error(format!("no standard input: {error}")))?), None)
        } else {
            let file = File::open(path).map_err(|error| Failure::Error(format!("{name}: {error}")))?;
            let about = file.metadata().map_err(|error| Failure::Error(format!("{name}: {error}")))?;
            if about.is_dir() {
                return Err(Failure::Error(format!("{name}: is a directory")));
            }
            let size = about.is_file().then_some(about.len());
            (file, size)
        };
        Ok(Self { name, file, size, began: Instant::now(), done: 0, bar: None, quiet: talk.quiet })
    }

    /// Fills the buffer, unless the input ends before; gives how many bytes there are.
    pub(super) fn fill(&mut self, buffer: &mut [u8]) -> Result<usize, Failure> {
        let mut filled = 0;
        while filled < buffer.len() {
            match self.file.read(&mut buffer[filled..]) {
                Ok(0) => break,
                Ok(read) => filled += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Failure::Error(format!("{}: {error}", self.name))),
            }
        }
        self.progress(filled);
        Ok(filled)
    }

    /// Hands out the rest, piece by piece. The memory of the pieces is wiped.
    pub(super) fn each(mut self, mut work: impl FnMut(&[u8]) -> Result<(), Failure>) -> Result<(), Failure> {
        let mut buffer = Zeroizing::new(vec![0; PIECE]);
        loop {
            let read = self.fill(&mut buffer)?;
            if read == 0 {
                return Ok(());
            }
            work(&buffer[..read])?;
        }
    }

    fn progress(&mut self, read: usize) {
        self.done += read as u64;
        if self.bar.is_none() && !self.quiet && self.began.elapsed() >= PATIENCE {
            let template = match self.size {
                Some(_) => "{bar:20} {percent:>3} % {eta:>4} left  {wide_msg}",
                None => "{bytes} {bytes_per_sec}  {wide_msg}",
            };
            let bar = self.size.map_or_else(ProgressBar::no_length, ProgressBar::new);
            bar.set_style(ProgressStyle::with_template(template).expect("the templates are constants"));
            bar.set_message(self.name.clone());
            self.bar = Some(bar);
        }
        if let Some(bar) = &self.bar {
            bar.set_position(self.done);
        }
    }
}

impl Drop for Input {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
