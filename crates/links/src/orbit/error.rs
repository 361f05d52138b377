//! What can be wrong with orbits, and with the files that describe them.

use jiff::Timestamp;

/// An error of [`super`].
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A file of element sets is malformed.
    #[error("line {line}: {problem}")]
    File {
        /// Counted from 1.
        line: usize,
        /// What is wrong there.
        problem: Problem,
    },
    /// Elements that were made by a program are impossible.
    #[error("elements of {satellite}: {problem}")]
    Elements {
        /// Name of the satellite.
        satellite: String,
        /// What is wrong with them.
        problem: Problem,
    },
    /// SGP4 takes the satellite below the Earth's surface.
    #[error("{satellite} has decayed by {time}: SGP4 puts it {depth:.0} km below the equatorial radius")]
    Decayed {
        /// Name of the satellite.
        satellite: String,
        /// The time that was asked for.
        time: Timestamp,
        /// How far below 6378.135 km, in kilometres.
        depth: f64,
    },
    /// SGP4 finds no orbit at that time.
    #[error("{satellite} has no orbit at {time}: {reason}")]
    Diverged {
        /// Name of the satellite.
        satellite: String,
        /// The time that was asked for.
        time: Timestamp,
        /// SGP4's reason.
        reason: String,
    },
    /// The time is too far from the epoch of the elements.
    #[error("elements of {satellite} are of {epoch}, more than {limit} days from {time}; get newer ones")]
    TooFar {
        /// Name of the satellite.
        satellite: String,
        /// Epoch of its elements.
        epoch: Timestamp,
        /// The time that was asked for.
        time: Timestamp,
        /// How many days they are used for.
        limit: i64,
    },
    /// A value that a caller gave is outside its range.
    #[error("{what} is {value}; expected {allowed}")]
    OutOfRange {
        /// Name of the value.
        what: &'static str,
        /// The value.
        value: f64,
        /// Its range.
        allowed: &'static str,
    },
}

/// What is wrong with an element set.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Problem {
    /// A TLE has a byte that is not printable ASCII.
    #[error("column {column} holds byte 0x{byte:02x}, which is not printable ASCII")]
    NotAscii {
        /// Counted from 1.
        column: usize,
        /// The byte.
        byte: u8,
    },
    /// A line of a TLE is not 69 columns long.
    #[error("line of elements is {found} columns long; expected 69")]
    Length {
        /// Its length without trailing spaces.
        found: usize,
    },
    /// The first line of a TLE is missing before the second.
    #[error("second line of an element set without its first")]
    NoFirstLine,
    /// The second line of a TLE is missing after the first.
    #[error("first line of an element set without its second")]
    NoSecondLine,
    /// A name is not followed by elements.
    #[error("expected a line of elements that begins with `1 ` after the name, but found none")]
    NoElements,
    /// The last column of a line is not the sum of the others.
    #[error("checksum in column 69 is `{found}`; the other columns sum to {computed}")]
    Checksum {
        /// What stands there.
        found: char,
        /// The sum of the digits modulo 10, where each minus sign counts as 1.
        computed: u8,
    },
    /// A column between two fields is not blank.
    #[error("column {column} holds `{found}`; expected a space")]
    NotBlank {
        /// Counted from 1.
        column: usize,
        /// What stands there.
        found: char,
    },
    /// Both lines of a TLE name different satellites.
    #[error("second line is of satellite {second}, first line of {first}")]
    OtherSatellite {
        /// Catalogue number on the first line.
        first: u64,
        /// Catalogue number on the second line.
        second: u64,
    },
    /// The text of a field can't be read.
    #[error("{field} is `{text}`; expected {expected}")]
    Unreadable {
        /// Name of the field, with its columns in a TLE.
        field: &'static str,
        /// What stands there.
        text: String,
        /// What should.
        expected: &'static str,
    },
    /// A value is outside its range.
    #[error("{field} is {value}; expected {allowed}")]
    OutOfRange {
        /// Name of the field.
        field: &'static str,
        /// Its value.
        value: f64,
        /// Its range.
        allowed: &'static str,
    },
    /// The orbit's lowest point is inside the Earth.
    #[error("orbit has decayed: its perigee is {depth:.0} km below the equatorial radius at epoch")]
    Decayed {
        /// In kilometres.
        depth: f64,
    },
    /// An OMM lacks a field.
    #[error("OMM lacks {field}")]
    Missing {
        /// Its keyword.
        field: &'static str,
    },
    /// An OMM has a field twice.
    #[error("{field} stands twice in one OMM")]
    Twice {
        /// Its keyword.
        field: String,
    },
    /// An OMM that SGP4 can't carry.
    #[error("{field} is `{text}`; only {supported} is supported")]
    Unsupported {
        /// Its keyword.
        field: &'static str,
        /// What stands there.
        text: String,
        /// What may stand there.
        supported: &'static str,
    },
    /// JSON or XML is not well-formed, or not of the shape of an OMM.
    #[error("{0}")]
    Syntax(String),
    /// There is no element set in the file.
    #[error("file holds no element set; expected a TLE, or an OMM as JSON, KVN or XML")]
    Nothing,
}

impl Problem {
    /// The problem at a line of a file, counted from 1.
    pub(super) fn at(self, line: usize) -> Error {
        Error::File { line, problem: self }
    }
}
