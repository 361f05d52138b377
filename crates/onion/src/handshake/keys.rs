//! The keys that a handshake results in.

use super::hkdf;
use crate::Error;
use alloc::boxed::Box;
use alloc::vec;
use alloc::vec::Vec;
use candor_primitives::hash::{Shake256Reader, XofReader};
use candor_primitives::stack;
use core::fmt;
use zeroize::Zeroizing;

/// The key stream that both sides share after a handshake. The relay cryptography cuts its keys from it.
///
/// It is wiped on drop and never printed.
pub struct Keys(Stream);

enum Stream {
    /// HKDF-Expand with SHA-256. In a box, like the other: what is moved leaves a copy behind.
    Hkdf { prk: Box<Zeroizing<[u8; 32]>>, info: Info },
    /// SHAKE-256, positioned at the first byte of the stream. It wipes itself.
    Shake(Box<Shake256Reader>),
}

/// HKDF's `info`.
enum Info {
    Label(&'static [u8]),
    LabelAndHash(&'static [u8], [u8; 32]),
}

impl Keys {
    /// The first `length` bytes of the stream. Every call starts at the front.
    ///
    /// # Errors
    /// [`Error::KeyLength`] above 8160 bytes, for the handshakes that derive keys by HKDF-SHA256 (all but `ntor-v3`).
    pub fn expand(&self, length: usize) -> Result<Zeroizing<Vec<u8>>, Error> {
        if length > hkdf::MOST && !matches!(self.0, Stream::Shake(_)) {
            return Err(Error::KeyLength { asked: length, most: hkdf::MOST });
        }
        let mut keys = Zeroizing::new(vec![0; length]);
        self.expand_into(&mut keys)?;
        Ok(keys)
    }

    /// [`Self::expand`] into the caller's memory; fills `out`.
    ///
    /// # Errors
    /// Those of [`Self::expand`]; `out` is then unchanged.
    // ct: public, because `out` is only written; what is expanded is the handshakes' affair
    pub fn expand_into(&self, out: &mut [u8]) -> Result<(), Error> {
        match &self.0 {
            Stream::Hkdf { .. } if out.len() > hkdf::MOST => {
                return Err(Error::KeyLength { asked: out.len(), most: hkdf::MOST });
            }
            Stream::Hkdf { prk, info } => stack::clearing::<{ 4 << 10 }, _>(|| match info {
                Info::Label(label) => hkdf::expand(prk, &[label], out),
                Info::LabelAndHash(label, hash) => hkdf::expand(prk, &[label, hash], out),
            }),
            Stream::Shake(reader) => stack::clearing::<1024, _>(|| reader.as_ref().clone().read(out)),
        }
        Ok(())
    }

    pub(super) fn hkdf(prk: Zeroizing<[u8; 32]>, label: &'static [u8]) -> Self {
        Self(Stream::Hkdf { prk: Box::new(prk), info: Info::Label(label) })
    }

    pub(super) fn hkdf_bound(prk: Zeroizing<[u8; 32]>, label: &'static [u8], hash: [u8; 32]) -> Self {
        Self(Stream::Hkdf { prk: Box::new(prk), info: Info::LabelAndHash(label, hash) })
    }

    pub(super) fn shake(reader: Shake256Reader) -> Self {
        Self(Stream::Shake(Box::new(reader)))
    }
}

impl fmt::Debug for Keys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Keys(..)")
    }
}
