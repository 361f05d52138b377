//! A reader of byte strings that can't run past the end.

use crate::Error;

/// A message, read from the front. If the length of the whole is known, [`Parts::of`] checks it first. Running short is
/// an error, never a panic.
pub(crate) struct Parts<'a> {
    what: &'static str,
    whole: usize,
    rest: &'a [u8],
}

impl<'a> Parts<'a> {
    /// Reads a message of exactly `expected` bytes, or of at least that many.
    pub(crate) fn of(what: &'static str, message: &'a [u8], expected: usize, at_least: bool) -> Result<Self, Error> {
        let got = message.len();
        if got < expected || (!at_least && got > expected) {
            return Err(Error::Length { what, expected, at_least, got });
        }
        Ok(Self { what, whole: got, rest: message })
    }

    /// Takes the next `N` bytes.
    pub(crate) fn array<const N: usize>(&mut self) -> Result<&'a [u8; N], Error> {
        let (array, rest) = self.rest.split_first_chunk().ok_or_else(|| self.short(N))?;
        self.rest = rest;
        Ok(array)
    }

    /// Takes the next two bytes as a big-endian number.
    pub(crate) fn u16(&mut self) -> Result<u16, Error> {
        self.array().map(|bytes| u16::from_be_bytes(*bytes))
    }

    /// Takes the next `length` bytes.
    pub(crate) fn slice(&mut self, length: usize) -> Result<&'a [u8], Error> {
        let (slice, rest) = self.rest.split_at_checked(length).ok_or_else(|| self.short(length))?;
        self.rest = rest;
        Ok(slice)
    }

    /// Splits the remaining bytes into the last `N` and those before them: a MAC and its message.
    pub(crate) fn rest_and_last<const N: usize>(self) -> Result<(&'a [u8], &'a [u8; N]), Error> {
        self.rest.split_last_chunk().ok_or_else(|| self.short(N))
    }

    /// The bytes that are left.
    pub(crate) fn rest(self) -> &'a [u8] {
        self.rest
    }

    fn short(&self, wanted: usize) -> Error {
        let expected = self.whole - self.rest.len() + wanted;
        Error::Length { what: self.what, expected, at_least: true, got: self.whole }
    }
}

/// What only the documents of the directory need.
#[cfg(feature = "aws-lc")]
impl Parts<'_> {
    /// Takes the next four bytes as a big-endian number.
    pub(crate) fn u32(&mut self) -> Result<u32, Error> {
        self.array().map(|bytes| u32::from_be_bytes(*bytes))
    }

    /// Takes the next eight bytes as a big-endian number.
    pub(crate) fn u64(&mut self) -> Result<u64, Error> {
        self.array().map(|bytes| u64::from_be_bytes(*bytes))
    }

    /// How many bytes have been taken.
    pub(crate) fn taken(&self) -> usize {
        self.whole - self.rest.len()
    }

    /// How many bytes are left.
    pub(crate) fn left(&self) -> usize {
        self.rest.len()
    }

    /// Ends the message.
    ///
    /// # Errors
    /// [`Error::Length`] if bytes are left.
    pub(crate) fn end(self) -> Result<(), Error> {
        match self.rest.is_empty() {
            true => Ok(()),
            false => Err(Error::Length { what: self.what, expected: self.taken(), at_least: false, got: self.whole }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_in_order_and_never_too_many() {
        let message: Vec<u8> = (0..10).collect();
        let mut parts = Parts::of("test", &message, 5, true).unwrap();
        assert_eq!(parts.array::<3>().unwrap(), &[0, 1, 2]);
        assert_eq!(parts.slice(2).unwrap(), &[3, 4]);
        let short = Error::Length { what: "test", expected: 11, at_least: true, got: 10 };
        assert_eq!(parts.slice(6), Err(short));
        assert_eq!(parts.array::<6>(), Err(short));
        assert_eq!(parts.rest_and_last::<2>().unwrap(), (&[5, 6, 7][..], &[8, 9]));
    }

    #[test]
    fn the_length_is_checked_first() {
        let refused = |length, at_least| Parts::of("test", &vec![0; length], 5, at_least).is_err();
        assert_eq!([4, 5, 6].map(|length| refused(length, true)), [true, false, false]);
        assert_eq!([4, 5, 6].map(|length| refused(length, false)), [true, false, true]);
    }
}
