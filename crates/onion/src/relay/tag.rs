//! The tags that prove receipt.

use core::fmt;

/// The tag of a cell: the 20 bytes of SHA-1 for tor1, the 16-byte tag for CGO. Both ends of the layer know it; a SENDME
/// carries it to prove that the cell was received (prop 289).
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Tag {
    pub(crate) bytes: [u8; 20],
    pub(crate) length: u8,
}

impl Tag {
    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// A tag from the bytes of a SENDME, if their number is one of the two lengths.
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        let mut tag = Self { bytes: [0; 20], length: bytes.len() as u8 };
        matches!(bytes.len(), 16 | 20).then(|| tag.bytes[..bytes.len()].copy_from_slice(bytes))?;
        Some(tag)
    }
}

impl fmt::Debug for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Tag({:02x?})", self.as_bytes())
    }
}
