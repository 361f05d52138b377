//! Why a document was refused.

/// Why a document of Tor's directory was refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The document is longer than we accept.
    #[error("{document} is {got} bytes long; expected at most {most}")]
    TooLong {
        /// Name of the document.
        document: &'static str,
        /// Its length.
        got: usize,
        /// The longest that is accepted.
        most: usize,
    },
    /// The document has more entries of a kind than we accept.
    #[error("{document} has more than {most} {what}")]
    TooMany {
        /// Name of the document.
        document: &'static str,
        /// Name of the entries.
        what: &'static str,
        /// The most that are accepted.
        most: usize,
    },
    /// A line is not what the specification allows there.
    #[error("{document}, line {line}: expected {expected}; found {found}")]
    Syntax {
        /// Name of the document.
        document: &'static str,
        /// The line, counted from 1.
        line: usize,
        /// What the specification has there.
        expected: &'static str,
        /// What stands there, in quotes and shortened.
        found: String,
    },
    /// A line that must be there is missing.
    #[error("{document} has no line `{keyword}`")]
    Missing {
        /// Name of the document.
        document: &'static str,
        /// The line's keyword.
        keyword: &'static str,
    },
    /// A line stands twice.
    #[error("{document}, line {line}: `{keyword}` stands there a second time; expected it once")]
    Twice {
        /// Name of the document.
        document: &'static str,
        /// The line, counted from 1.
        line: usize,
        /// The line's keyword.
        keyword: &'static str,
    },
    /// A signature of a certificate is not its key's.
    #[error("{document} of {identity} has a wrong signature `{keyword}`")]
    Signature {
        /// Name of the document.
        document: &'static str,
        /// Whose the document claims to be.
        identity: String,
        /// The line that has the signature.
        keyword: &'static str,
    },
    /// The consensus does not hold now.
    #[error(
        "consensus holds from {valid_after} to {valid_until}, in seconds since 1970; this machine's clock says {now}"
    )]
    Time {
        /// When it begins.
        valid_after: u64,
        /// When it ends.
        valid_until: u64,
        /// The time of day.
        now: u64,
    },
    /// Too few of the trusted authorities have signed.
    #[error(
        "{good} of {known} trusted authorities have signed the consensus validly; expected {threshold} or more{why}"
    )]
    UnderSigned {
        /// How many have signed validly.
        good: usize,
        /// How many are trusted.
        known: usize,
        /// How many must sign.
        threshold: usize,
        /// What was wrong with each of the others, or nothing.
        why: String,
    },
    /// No authority, one twice, or too many were named.
    #[error("authorities: {0}")]
    Authorities(String),
    /// A relay's descriptor can't be written.
    #[error("relay descriptor: {0}")]
    Descriptor(&'static str),
    /// An RSA key can't be made or read.
    #[error("RSA key: {0}")]
    Key(String),
}

impl Error {
    pub(crate) fn syntax(document: &'static str, line: usize, expected: &'static str, found: &str) -> Self {
        Self::Syntax { document, line, expected, found: shown(found) }
    }
}

/// A piece of a stranger's text, fit for one line of a message.
pub(crate) fn shown(text: &str) -> String {
    const MOST: usize = 60;
    if text.is_empty() {
        return "nothing".to_owned();
    }
    let short: String = text.chars().take(MOST).collect();
    let more = if text.chars().nth(MOST).is_some() { "…" } else { "" };
    format!("`{}{more}`", short.escape_debug())
}
