//! Numbers in DER, as signatures and SM2's ciphertexts have them.

use alloc::vec::Vec;
use pkcs8::der::asn1::UintRef;
use pkcs8::der::{Decode, Encode, Reader, Result, SliceReader, Tag};

/// A sequence of two integers, into bytes with the highest first.
pub(crate) fn read_numbers(der: &[u8], into: [&mut [u8]; 2]) -> Result<()> {
    let mut reader = SliceReader::new(der)?;
    reader
        .sequence(|both| into.into_iter().try_for_each(|into| write_number(UintRef::decode(both)?.as_bytes(), into)))?;
    reader.finish()
}

/// Writes a number that DER has without its leading zeros.
pub(crate) fn write_number(number: &[u8], into: &mut [u8]) -> Result<()> {
    let at = into.len().checked_sub(number.len()).ok_or_else(|| Tag::Integer.length_error())?;
    into[..at].fill(0);
    into[at..].copy_from_slice(number);
    Ok(())
}

/// The reverse of [`read_numbers`].
pub(crate) fn write_numbers(numbers: [&[u8]; 2]) -> Vec<u8> {
    let numbers = numbers.map(|number| UintRef::new(number).expect("so few bytes are an integer"));
    numbers.to_der().expect("two short integers are a sequence")
}
