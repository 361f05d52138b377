//! Figures of other tools, read from what they print.
//!
//! An imported figure has that tool's own loops and clock. It is sealed as [`Evidence::Imported`](crate::Evidence::Imported), stands beside rows that do the same
//! work, and gets no ratio and no verdict.
//!
//! Readers are strict. A file that was cut short, is no output of the tool, or has a value that can't be (zero, negative, not a number) is refused with
//! the line and the reason. What the tool itself calls a failure is left out with its reason. What is possible but doubtful (a coarse clock, the same value again and again)
//! is found by the lints of a report.

mod bssl;
mod criterion;
mod csv;
mod google;
mod hyperfine;
mod liboqs;
mod openssl;
mod seal;
mod supercop;
mod tor;
mod value;

pub use criterion::Folder;
pub use seal::{Origin, save};

use crate::runfile::Flaw;
use crate::{LabError, Quantity};
use std::fmt;
use std::path::Path;
use value::Reading;

/// Larger files are not read: no tool prints that much.
pub const LARGEST: usize = 64 << 20;

/// More figures than this are not read.
pub const MOST_FIGURES: usize = 10_000;

/// Name of the quantity that says how coarse a figure is: a step of the tool's clock, or of the digits that it prints, as per cent of the figure.
pub const STEP: &str = "one step of its clock";

/// A tool whose output can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Format {
    /// `openssl speed -mr`.
    OpensslMr,
    /// The table of `openssl speed`.
    Openssl,
    /// `bssl speed`, of BoringSSL and AWS-LC, as text or JSON.
    Bssl,
    /// `speed_kem` and `speed_sig` of liboqs.
    Liboqs,
    /// Criterion: a folder of its results, or the messages of `cargo criterion --message-format json`.
    Criterion,
    /// `hyperfine --export-json`.
    Hyperfine,
    /// Google Benchmark, `--benchmark_format=json`.
    Google,
    /// C tor's `src/test/bench`.
    Tor,
    /// Lines of SUPERCOP's file `data`.
    Supercop,
    /// A table with the columns `name`, `value` and `unit`.
    Csv,
}

/// All formats, in the order in which they are tried.
pub const FORMATS: [Format; 10] = [
    Format::OpensslMr,
    Format::Openssl,
    Format::Bssl,
    Format::Liboqs,
    Format::Criterion,
    Format::Hyperfine,
    Format::Google,
    Format::Tor,
    Format::Supercop,
    Format::Csv,
];

impl Format {
    /// The name by which a user chooses it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::OpensslMr => "openssl-mr",
            Self::Openssl => "openssl",
            Self::Bssl => "bssl",
            Self::Liboqs => "liboqs",
            Self::Criterion => "criterion",
            Self::Hyperfine => "hyperfine",
            Self::Google => "google-benchmark",
            Self::Tor => "tor-bench",
            Self::Supercop => "supercop",
            Self::Csv => "csv",
        }
    }

    /// The tool, as names of tasks begin: `imported/openssl/sha256/1024`.
    #[must_use]
    pub fn tool(self) -> &'static str {
        match self {
            Self::OpensslMr | Self::Openssl => "openssl",
            Self::Tor => "tor",
            other => other.name(),
        }
    }

    /// What follows the name of the library that was measured, where the tool is a part of it.
    fn suffix(self) -> &'static str {
        match self {
            Self::OpensslMr | Self::Openssl | Self::Bssl | Self::Liboqs => "+speed",
            Self::Tor => "+bench",
            _ => "",
        }
    }

    /// How the tool comes to its figures, in a sentence without its full stop.
    #[must_use]
    pub fn method(self) -> &'static str {
        match self {
            Self::OpensslMr | Self::Openssl => {
                "one loop for some seconds, timed as a whole by a clock of hundredths of a second; processor time unless it was run with -elapsed"
            }
            Self::Bssl => "one loop for about a second, timed as a whole by a clock of microseconds",
            Self::Liboqs => "each call timed by itself with a clock of microseconds, and the times averaged",
            Self::Criterion => {
                "samples of growing loops, one benchmark after another; mean and median with bootstrap intervals"
            }
            Self::Hyperfine => "whole programs, started and waited for, one command after another",
            Self::Google => "one loop of a length that it chooses, timed as a whole, one benchmark after another",
            Self::Tor => "one loop of a fixed length, timed as a whole",
            Self::Supercop => "single calls timed in cycles of its counter; the median of each line",
            Self::Csv => "not known: a table that somebody wrote",
        }
    }

    /// Whether the text looks like this tool's output. What it says is checked by [`read`].
    fn is_of(self, text: &str) -> bool {
        let any_line = |is: &dyn Fn(&str) -> bool| text.lines().take(2000).any(is);
        match self {
            Self::OpensslMr => any_line(&|line| openssl::is_mr(line)),
            Self::Openssl => any_line(&|line| openssl::is_head(line)),
            Self::Bssl => any_line(&|line| line.starts_with("Did ")) || text.contains("\"numCalls\""),
            Self::Liboqs => any_line(&|line| liboqs::is_head(line)),
            Self::Criterion => any_line(&|line| line.contains("\"reason\":\"benchmark-complete\"")),
            Self::Hyperfine => {
                text.trim_start().starts_with('{') && text.contains("\"results\"") && text.contains("\"command\"")
            }
            Self::Google => text.trim_start().starts_with('{') && text.contains("\"benchmarks\""),
            Self::Tor => any_line(&|line| line.starts_with("===== ")),
            Self::Supercop => any_line(&|line| supercop::is_line(line)),
            Self::Csv => text.lines().next().is_some_and(csv::is_head),
        }
    }
}

impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What a tool printed, as it was read.
#[derive(Clone, Debug, PartialEq)]
pub struct Sheet {
    /// The tool.
    pub format: Format,
    /// The library that it measured, if it says so.
    pub library: String,
    /// The library's version. Empty if the tool does not say.
    pub version: String,
    /// Compiler and flags, as the tool says.
    pub build: Option<String>,
    /// The figures in the order of the file.
    pub figures: Vec<Figure>,
    /// Figures that the tool itself calls failures.
    pub left_out: Vec<LeftOut>,
}

impl Sheet {
    /// The name of the subject: `openssl-3.0.19+speed`.
    #[must_use]
    pub fn subject(&self) -> String {
        let version = if self.version.is_empty() { String::new() } else { format!("-{}", self.version) };
        format!("{}{version}{}", self.library, self.format.suffix())
    }
}

/// One benchmark of a tool.
#[derive(Clone, Debug, PartialEq)]
pub struct Figure {
    /// The line of the file, counted from 1. 1 in JSON, where a figure has many.
    pub line: usize,
    /// The tool's name for it, as a path: `sha256/1024`.
    pub name: String,
    /// Bytes that an operation works through.
    pub bytes: Option<u64>,
    /// Its numbers, the one that stands for it first. Times are nanoseconds.
    pub quantities: Vec<Quantity>,
}

/// A benchmark without a figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeftOut {
    /// The tool's name for it, as a path.
    pub name: String,
    /// The reason, with its line where the format has lines.
    pub reason: String,
}

/// Reads the output of a tool; of any that fits, if none is named. Never panics.
///
/// ```
/// use candor_lab::import::read;
///
/// let sheet = read("name,value,unit\nsha256/1k,612.5,ns\n".as_bytes(), None)?;
/// assert_eq!((sheet.figures[0].name.as_str(), sheet.figures[0].quantities[0].value), ("sha256/1k", 612.5));
/// let refused = read("name,value,unit\nsha256/1k,-1,ns\n".as_bytes(), None).unwrap_err();
/// assert_eq!((refused.line, refused.why.as_str()), (2, "value is -1; expected a number above 0"));
/// # Ok::<(), candor_lab::runfile::Flaw>(())
/// ```
///
/// # Errors
///
/// A [`Flaw`] names the line and says what is wrong with it.
pub fn read(bytes: &[u8], format: Option<Format>) -> Result<Sheet, Flaw> {
    if bytes.len() > LARGEST {
        return Err(Flaw { line: 1, why: format!("{} bytes long; no more than {LARGEST} are read", bytes.len()) });
    }
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = bytes[..error.valid_up_to()].iter().filter(|&&byte| byte == b'\n').count() + 1;
        Flaw { line, why: "expected text, found binary data".into() }
    })?;
    if text.trim().is_empty() {
        return Err(Flaw { line: 1, why: "the file is empty".into() });
    }
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let format = format.or_else(|| FORMATS.into_iter().find(|format| format.is_of(text)));
    let Some(format) = format else {
        let known = FORMATS.map(Format::name).join(", ");
        return Err(Flaw { line: 1, why: format!("not the output of a tool that candor reads ({known})") });
    };
    let mut reading = Reading::new(format);
    match format {
        Format::OpensslMr => openssl::machine(text, &mut reading)?,
        Format::Openssl => openssl::table(text, &mut reading)?,
        Format::Bssl => bssl::read(text, &mut reading)?,
        Format::Liboqs => liboqs::read(text, &mut reading)?,
        Format::Criterion => criterion::messages(text, &mut reading)?,
        Format::Hyperfine => hyperfine::read(text, &mut reading)?,
        Format::Google => google::read(text, &mut reading)?,
        Format::Tor => tor::read(text, &mut reading)?,
        Format::Supercop => supercop::read(text, &mut reading)?,
        Format::Csv => csv::read(text, &mut reading)?,
    }
    reading.finish(text.lines().count())
}

/// Characters of an error: it may quote a file of megabytes.
const LONGEST_WHY: usize = 1000;

/// What is wrong with the file at that path.
#[must_use]
pub fn flawed(path: &Path, Flaw { line, why }: Flaw) -> LabError {
    let why = match why.char_indices().nth(LONGEST_WHY) {
        Some((end, _)) => format!("{}…", &why[..end]),
        None => why,
    };
    LabError::Import { path: path.to_path_buf(), line, why }
}
