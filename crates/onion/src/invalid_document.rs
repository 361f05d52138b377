//! What can be wrong with a document of the directory.

/// Why a document of the directory was refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
#[allow(missing_docs)] // the fields are what the messages say
pub enum InvalidDocument {
    /// The first bytes are not this kind of document's.
    #[error("{what} does not begin with `{expected}`; it is another kind of document, or of a later version")]
    Magic { what: &'static str, expected: &'static str },
    /// A field has a value that no honest writer gives it.
    #[error("{what}: {why}")]
    Field { what: &'static str, why: &'static str },
    /// Entries that must ascend don't.
    #[error("{what} are not in ascending order, or one stands twice")]
    Order { what: &'static str },
    /// The Ed25519 half of a signature is wrong.
    #[error("{what} has a wrong Ed25519 signature")]
    Ed25519 { what: &'static str },
    /// The ML-DSA half of a signature is wrong.
    #[error("{what} has a wrong ML-DSA-65 signature")]
    MlDsa { what: &'static str },
    /// The descriptor doesn't prove that the relay holds its X25519 onion key.
    #[error("relay descriptor does not prove possession of its X25519 onion key")]
    Possession,
    /// A certificate is not valid at the time that counts.
    #[error("certificate of the authority's signing key holds from {from} to {until}; the document is of {at}")]
    CertificateTime { from: u64, until: u64, at: u64 },
    /// Too few of the trusted authorities have signed.
    #[error("{good} of {known} trusted authorities have signed the consensus validly; expected {threshold} or more")]
    UnderSigned { good: usize, known: usize, threshold: usize },
    /// A threshold by which two consensuses at a time could be valid, or none.
    #[error(
        "a threshold of {threshold} among {authorities} authorities; expected more than half of them, and not more than all"
    )]
    Threshold { threshold: usize, authorities: usize },
    /// The views' times differ from the round's.
    #[error("views of one round have different times")]
    Times,
    /// Two views of one authority.
    #[error("two views of the same authority")]
    ViewTwice,
    /// The library failed.
    #[error("AWS-LC failed to {what}")]
    Library { what: &'static str },
}

impl InvalidDocument {
    pub(crate) const fn field(what: &'static str, why: &'static str) -> Self {
        Self::Field { what, why }
    }
}
