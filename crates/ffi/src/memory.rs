//! Pointers of the caller's: the only `unsafe` blocks of the crate.
//!
//! Buffers of the caller may overlap. So an input is a slice only until an output is written: results are computed into memory of ours first. An AEAD works
//! in the output itself; what else it needs is copied before, and its message is moved there without ever being a slice beside it.

use crate::status::Status;
use candor_suite::aead::{Cipher, TAG};

/// The bytes that an argument stands for. Null is no bytes if the length is 0.
///
/// # Safety
/// Unless `at` is null, `length` bytes can be read there, and nobody writes to them before the slice's last use.
pub(crate) unsafe fn bytes<'a>(at: *const u8, length: usize) -> Result<&'a [u8], Status> {
    if length == 0 {
        return Ok(&[]);
    }
    if at.is_null() {
        return Err(Status::Null);
    }
    if length > isize::MAX as usize {
        return Err(Status::Length);
    }
    // SAFETY: not null and not longer than any object; the rest is the caller's promise. Bytes have no alignment.
    Ok(unsafe { std::slice::from_raw_parts(at, length) })
}

/// So many zeros, of which there may be more than there is memory: that of an output of any length is the caller's to choose.
pub(crate) fn zeros(length: usize) -> Result<Vec<u8>, Status> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(length).map_err(|_| Status::Memory)?;
    zeros.resize(length, 0);
    Ok(zeros)
}

/// An input that may share memory with the output, and so is no slice while that is written.
#[derive(Clone, Copy)]
pub(crate) struct In {
    at: *const u8,
    length: usize,
}

impl In {
    /// # Safety
    /// As [`bytes`], as long as the value is used.
    pub(crate) unsafe fn new(at: *const u8, length: usize) -> Self {
        Self { at, length }
    }

    fn bytes(&self) -> Result<&[u8], Status> {
        // SAFETY: the promise of `new`.
        unsafe { bytes(self.at, self.length) }
    }
}

/// Where an output goes: a buffer, and a place for the length of what is or would be written, which may be null.
#[derive(Clone, Copy)]
pub(crate) struct Out {
    at: *mut u8,
    room: usize,
    length: *mut usize,
}

impl Out {
    /// # Safety
    /// Unless they are null, `room` bytes can be written at `at`, and a number at `length`, as long as the value is used.
    pub(crate) unsafe fn new(at: *mut u8, room: usize, length: *mut usize) -> Self {
        Self { at, room, length }
    }

    /// How many bytes there is room for.
    pub(crate) fn room(&self) -> usize {
        self.room
    }

    /// Says how long the output is, and whether there is room.
    pub(crate) fn check(&self, needed: usize) -> Result<(), Status> {
        if !self.length.is_null() {
            // SAFETY: the promise of `new`; it need not be aligned.
            unsafe { self.length.write_unaligned(needed) };
        }
        match needed {
            0 => Ok(()),
            _ if needed > self.room => Err(Status::Buffer),
            _ if self.at.is_null() => Err(Status::Null),
            _ => Ok(()),
        }
    }

    /// Writes the output, whole or not at all.
    pub(crate) fn write(&self, output: &[u8]) -> Result<(), Status> {
        self.check(output.len())?;
        if !output.is_empty() {
            // SAFETY: there is room, by `check`, and `new` promises that it can be written. `output` is memory of ours.
            unsafe { self.at.copy_from(output.as_ptr(), output.len()) };
        }
        Ok(())
    }

    /// Encrypts a message, wherever it lies, into the output, with its tag behind it.
    pub(crate) fn seal(&self, cipher: &Cipher, nonce: In, aad: In, message: In) -> Result<(), Status> {
        let length = message.length.checked_add(TAG).filter(|length| *length <= isize::MAX as usize);
        let (nonce, aad) = (nonce_for(cipher, nonce)?, aad.bytes()?.to_vec());
        self.check(length.ok_or(Status::Length)?)?;
        let tag = self.on_moved(message, |data| {
            let tag = cipher.seal(&nonce, &aad, data);
            if tag.is_err() {
                data.fill(0);
            }
            tag
        })??;
        // SAFETY: there is room for message and tag, by `check`.
        unsafe { self.at.add(message.length).copy_from(tag.as_ptr(), TAG) };
        Ok(())
    }

    /// Decrypts what was sealed, wherever it lies, into the output. If it is not authentic, the output is zeros.
    pub(crate) fn open(&self, cipher: &Cipher, nonce: In, aad: In, sealed: In) -> Result<(), Status> {
        let length = sealed.length.checked_sub(TAG).ok_or(Status::Length)?;
        let (nonce, aad) = (nonce_for(cipher, nonce)?, aad.bytes()?.to_vec());
        let tag = *sealed.bytes()?.last_chunk::<TAG>().ok_or(Status::Length)?;
        self.check(length)?;
        let text = In { at: sealed.at, length };
        self.on_moved(text, |data| {
            let opened = cipher.open(&nonce, &aad, data, &tag);
            if opened.is_err() {
                // Also where nothing was decrypted, as with a message that is too long.
                data.fill(0);
            }
            opened
        })??;
        Ok(())
    }

    /// Moves bytes to the output, for which `check` has found room, and works on them there.
    fn on_moved<T>(&self, from: In, work: impl FnOnce(&mut [u8]) -> T) -> Result<T, Status> {
        if from.length == 0 {
            return Ok(work(&mut []));
        }
        if from.at.is_null() {
            return Err(Status::Null);
        }
        // SAFETY: as in `write`, and by the promise of `In::new`; the two may overlap. No slice over either lives at this point, and nobody else has this
        // memory during the call.
        let data = unsafe {
            self.at.copy_from(from.at, from.length);
            std::slice::from_raw_parts_mut(self.at, from.length)
        };
        Ok(work(data))
    }
}

/// A copy of the nonce, if it has the right length. Before anything is moved: a mistake of the caller's must not cost the message.
fn nonce_for(cipher: &Cipher, nonce: In) -> Result<Vec<u8>, Status> {
    let nonce = nonce.bytes()?;
    if nonce.len() == cipher.algorithm().nonce_size() { Ok(nonce.to_vec()) } else { Err(Status::Length) }
}

/// Where the handle of a new object goes.
#[derive(Clone, Copy)]
pub(crate) struct OutHandle(*mut u64);

impl OutHandle {
    /// # Safety
    /// Unless it is null, a handle can be written there, as long as the value is used.
    pub(crate) unsafe fn new(at: *mut u64) -> Self {
        Self(at)
    }

    /// Makes an object and writes its handle, or 0 if there is none.
    pub(crate) fn write(&self, make: impl FnOnce() -> Result<crate::handles::Object, Status>) -> Result<(), Status> {
        if self.0.is_null() {
            return Err(Status::Null);
        }
        let handle = make().and_then(crate::handles::insert);
        // SAFETY: not null, and the promise of `new`; it need not be aligned.
        unsafe { self.0.write_unaligned(*handle.as_ref().unwrap_or(&0)) };
        handle.map(drop)
    }
}
