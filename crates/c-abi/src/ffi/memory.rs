//! Pointers of the caller's.
//!
//! Buffers of the caller may overlap. So an input is a slice only until an output is written: results are computed into memory of ours first, or by [`Out::fill`]
//! in their place where that shares no byte with the input. What works in the output itself has its input moved there without it ever being a slice beside the
//! output ([`Out::on_moved`]). The place for the length of an output is written first, and so may overlap nothing.

#![allow(unsafe_code)] // Raw pointers of C.

use crate::Fault;
use crate::handles::{Handle, Table};
use std::mem::MaybeUninit;

/// The bytes that an argument stands for. Null is no bytes if the length is 0.
///
/// # Errors
/// [`Fault::Null`], or [`Fault::Length`] if no object is so long.
///
/// # Safety
/// Unless `at` is null, `length` bytes can be read there, and nobody writes to them before the slice's last use.
#[inline]
pub unsafe fn bytes<'a>(at: *const u8, length: usize) -> Result<&'a [u8], Fault> {
    if length == 0 {
        return Ok(&[]);
    }
    if at.is_null() {
        return Err(Fault::Null);
    }
    if length > isize::MAX as usize {
        return Err(Fault::Length);
    }
    // SAFETY: not null and not longer than any object; the rest is the caller's promise. Bytes have no alignment.
    Ok(unsafe { std::slice::from_raw_parts(at, length) })
}

/// The bytes that an argument stands for, or none if it is null and its length 0.
///
/// # Errors
/// As [`bytes`].
///
/// # Safety
/// As [`bytes`].
#[inline]
pub unsafe fn optional<'a>(at: *const u8, length: usize) -> Result<Option<&'a [u8]>, Fault> {
    // SAFETY: the caller's promise.
    let bytes = unsafe { bytes(at, length)? };
    Ok((!at.is_null()).then_some(bytes))
}

/// A copy of a struct that an argument points to, or nothing if it is null.
///
/// # Safety
/// Unless `at` is null, a `T` can be read there; it need not be aligned.
#[inline]
pub unsafe fn copied<T: Copy>(at: *const T) -> Option<T> {
    // SAFETY: not null, and the caller's promise.
    (!at.is_null()).then(|| unsafe { at.read_unaligned() })
}

/// So many zeros, of which there may be more than there is memory: the length of some outputs is the caller's to choose.
///
/// # Errors
/// [`Fault::Memory`].
pub fn zeros(length: usize) -> Result<Vec<u8>, Fault> {
    let mut zeros = Vec::new();
    zeros.try_reserve_exact(length).map_err(|_| Fault::Memory)?;
    zeros.resize(length, 0);
    Ok(zeros)
}

/// A copy of bytes, of which there may be more than there is memory.
///
/// # Errors
/// [`Fault::Memory`].
pub fn copy(bytes: &[u8]) -> Result<Vec<u8>, Fault> {
    let mut copy = Vec::new();
    copy.try_reserve_exact(bytes.len()).map_err(|_| Fault::Memory)?;
    copy.extend_from_slice(bytes);
    Ok(copy)
}

/// Takes a value out of its place, and overwrites the place: a value that is moved leaves a copy where it was.
///
/// Every byte of the place is overwritten, in a way that no compiler leaves out, and then it holds `None`, whose other bytes mean nothing: Rust does not promise what they
/// are. Nothing that rustc makes of it puts the value back; a test looks.
#[inline]
pub fn take_wiping<T>(place: &mut Option<T>) -> Option<T> {
    let value = place.take();
    // SAFETY: there is nothing to be dropped in the place, since it has just been emptied. It is memory that can be written, its bytes are overwritten whatever they
    // mean, and it gets its value again before anybody looks.
    unsafe {
        let at: *mut Option<T> = place;
        zeroize::zeroize_flat_type(at.cast::<MaybeUninit<Option<T>>>());
        at.write(None);
    }
    value
}

/// An input that may share memory with the output, and so is no slice while that is written.
#[derive(Clone, Copy)]
pub struct In {
    at: *const u8,
    length: usize,
}

impl In {
    /// # Safety
    /// Unless `at` is null, `length` bytes can be read there as long as the value is used, and meanwhile nobody writes to them but [`Out`].
    #[inline]
    pub unsafe fn new(at: *const u8, length: usize) -> Self {
        Self { at, length }
    }

    /// How many bytes.
    #[inline]
    pub fn length(&self) -> usize {
        self.length
    }

    /// The bytes, to be read before an output is written.
    ///
    /// # Errors
    /// As [`bytes`].
    ///
    /// # Safety
    /// No [`Out`] over the same memory is written before the slice's last use.
    #[inline]
    pub unsafe fn bytes(&self) -> Result<&[u8], Fault> {
        // SAFETY: the promise of `new`, and the caller's.
        unsafe { bytes(self.at, self.length) }
    }

    /// The first bytes of it, at most all.
    #[inline]
    #[must_use]
    pub fn first(&self, length: usize) -> Self {
        Self { at: self.at, length: self.length.min(length) }
    }
}

/// Where an output goes: a buffer, and a place for the length of what is or would be written, which may be null. It is written once, and can't be copied: what
/// works in the buffer has no second way to it.
pub struct Out {
    at: *mut u8,
    room: usize,
    length: *mut usize,
}

impl Out {
    /// # Safety
    /// Unless they are null, `room` bytes can be written at `at`, and a number at `length`, as long as the value is used; the number shares no byte with the buffer
    /// or an input. Nobody else reads or writes this memory while [`Self::fill`] or [`Self::on_moved`] run, also not what they call.
    #[inline]
    pub unsafe fn new(at: *mut u8, room: usize, length: *mut usize) -> Self {
        Self { at, room, length }
    }

    /// How many bytes there is room for.
    #[inline]
    pub fn room(&self) -> usize {
        self.room
    }

    /// Says how long the output is, and whether there is room.
    ///
    /// # Errors
    /// [`Fault::Buffer`], or [`Fault::Null`] if the buffer is null and something is to be written.
    #[inline]
    pub fn check(&self, needed: usize) -> Result<(), Fault> {
        if !self.length.is_null() {
            // SAFETY: the promise of `new`; it need not be aligned.
            unsafe { self.length.write_unaligned(needed) };
        }
        match needed {
            0 => Ok(()),
            _ if needed > self.room => Err(Fault::Buffer),
            _ if self.at.is_null() => Err(Fault::Null),
            _ => Ok(()),
        }
    }

    /// Writes the output, whole or not at all.
    ///
    /// # Errors
    /// As [`Self::check`].
    #[inline]
    pub fn write(self, output: &[u8]) -> Result<(), Fault> {
        self.check(output.len())?;
        if !output.is_empty() {
            // SAFETY: there is room, by `check`, and `new` promises that it can be written. `output` is memory of ours.
            unsafe { self.at.copy_from(output.as_ptr(), output.len()) };
        }
        Ok(())
    }

    /// Has an output of this size made from an input: in its place, or, if it lies over the input, in memory of ours first. If `make` fails, the
    /// output is as it was, or zeros.
    ///
    /// # Errors
    /// As [`Self::check`], those of the input, and those of `make`.
    #[inline]
    pub fn fill<S: From<Fault>>(
        self,
        size: usize,
        input: In,
        make: impl FnOnce(&[u8], &mut [u8]) -> Result<(), S>,
    ) -> Result<(), S> {
        self.check(size)?;
        // SAFETY: `make` is the last that reads the slice, and it writes to memory of ours, or to a buffer that has no byte of it.
        let from = unsafe { input.bytes()? };
        let in_place = 0 < size && size <= isize::MAX as usize;
        if !in_place || overlap((self.at.addr(), size), (from.as_ptr().addr(), from.len())) {
            let mut output = zeros(size)?;
            make(from, &mut output)?;
            return Ok(self.write(&output)?);
        }
        // SAFETY: there is room, by `check`, and `new` promises that it can be written; it holds zeros when it becomes a slice. No part of it is the input, and
        // nobody else has it during the call.
        let output = unsafe {
            self.at.write_bytes(0, size);
            std::slice::from_raw_parts_mut(self.at, size)
        };
        let made = make(from, output);
        if made.is_err() {
            output.fill(0);
        }
        made
    }

    /// Moves an input to the output, works on it there, and writes what that returns, if anything, behind it. `behind` is how long that is.
    ///
    /// # Errors
    /// As [`Self::check`]; [`Fault::Null`] if the input is null; [`Fault::Length`] if no object is so long; [`Fault::Internal`] if what the work
    /// returns has another length.
    #[inline]
    pub fn on_moved<T: AsRef<[u8]>, S: From<Fault>>(
        self,
        from: In,
        behind: usize,
        work: impl FnOnce(&mut [u8]) -> Result<T, S>,
    ) -> Result<(), S> {
        let length = from.length.checked_add(behind).filter(|length| *length <= isize::MAX as usize);
        self.check(length.ok_or(Fault::Length)?)?;
        let tail = if from.length == 0 {
            work(&mut [])?
        } else if from.at.is_null() {
            return Err(Fault::Null.into());
        } else {
            // SAFETY: there is room, by `check`, and by the promise of `In::new`; the two may overlap. No slice over either lives at this point, and nobody
            // else has this memory during the call.
            let data = unsafe {
                self.at.copy_from(from.at, from.length);
                std::slice::from_raw_parts_mut(self.at, from.length)
            };
            work(data)?
        };
        let tail = tail.as_ref();
        if tail.len() != behind {
            return Err(Fault::Internal.into());
        }
        if behind > 0 {
            // SAFETY: there is room for both, by `check`. `tail` is memory of ours.
            unsafe { self.at.add(from.length).copy_from(tail.as_ptr(), behind) };
        }
        Ok(())
    }
}

/// Whether two stretches of memory, each of an address and a length, have a byte in common.
fn overlap((a, a_length): (usize, usize), (b, b_length): (usize, usize)) -> bool {
    a < b.saturating_add(b_length) && b < a.saturating_add(a_length)
}

/// Where the handle of a new object goes.
pub struct OutHandle(*mut Handle);

impl OutHandle {
    /// # Safety
    /// Unless it is null, a handle can be written there, as long as the value is used.
    #[inline]
    pub unsafe fn new(at: *mut Handle) -> Self {
        Self(at)
    }

    /// Makes an object, stores it in the table, and writes its handle, or 0 if there is none, also because `make` panics. Nothing is written before `make` ends: the
    /// place may lie over one of its inputs.
    ///
    /// # Errors
    /// [`Fault::Null`], and those of `make`.
    #[inline]
    pub fn write<T, S: From<Fault>>(self, table: &Table<T>, make: impl FnOnce() -> Result<T, S>) -> Result<(), S> {
        if self.0.is_null() {
            return Err(Fault::Null.into());
        }
        let mut written = Written { at: self.0, handle: 0 };
        written.handle = table.insert(make()?)?;
        Ok(())
    }
}

/// Writes a handle when it is dropped, whatever ends the work before.
struct Written {
    /// Not null, and as [`OutHandle::new`] was promised.
    at: *mut Handle,
    handle: Handle,
}

impl Drop for Written {
    fn drop(&mut self) {
        // SAFETY: not null, and the promise of `OutHandle::new`; it need not be aligned.
        unsafe { self.at.write_unaligned(self.handle) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::ptr::{null, null_mut};

    #[test]
    fn an_input_is_refused_if_it_is_null_or_longer_than_any_object_and_not_if_it_is_empty() {
        let three = [1, 2, 3];
        // SAFETY: `three` has three bytes, and the others are refused before they are read.
        unsafe {
            assert_eq!(bytes(three.as_ptr(), 3), Ok(&three[..]));
            assert_eq!(bytes(null(), 0), Ok(&[][..]));
            assert_eq!((bytes(null(), 1), bytes(three.as_ptr(), usize::MAX)), (Err(Fault::Null), Err(Fault::Length)));
            assert_eq!((optional(null(), 0), optional(null(), 1)), (Ok(None), Err(Fault::Null)));
            assert_eq!(optional(three.as_ptr(), 0), Ok(Some(&[][..])));
            assert_eq!((copied(&raw const three), copied::<u64>(null())), (Some(three), None));
        }
    }

    #[test]
    fn an_output_is_written_whole_or_not_at_all_and_its_length_is_said_either_way() {
        let (mut buffer, mut length) = ([9; 4], 0);
        // SAFETY: the buffer has the room that is said.
        let [fits, short, missing, nothing] = unsafe {
            let length = &raw mut length;
            [(buffer.as_mut_ptr(), 3), (buffer.as_mut_ptr(), 2), (null_mut(), 3), (null_mut(), 3)]
                .map(|(at, room)| Out::new(at, room, length))
        };
        assert_eq!((short.write(b"abc"), length, buffer), (Err(Fault::Buffer), 3, [9; 4]));
        assert_eq!(missing.write(b"abc"), Err(Fault::Null));
        assert_eq!((nothing.write(b""), length), (Ok(()), 0));
        assert_eq!((fits.write(b"abc"), length, buffer), (Ok(()), 3, *b"abc\x09"));
    }

    #[test]
    fn an_input_is_worked_on_where_the_output_lies_also_if_the_two_overlap() {
        let mut buffer = *b"abc......";
        let mut length = 0;
        // SAFETY: both lie within the buffer.
        let (from, [to, again, third, fourth, short]) = unsafe {
            let at = buffer.as_mut_ptr();
            (In::new(at, 3), [(); 5].map(|()| Out::new(at.add(1), 8, &raw mut length)))
        };
        let louder = |data: &mut [u8]| {
            data.make_ascii_uppercase();
            Ok::<_, Fault>(*b"!?")
        };
        assert_eq!((to.on_moved(from, 2, louder), length), (Ok(()), 5));
        assert_eq!(&buffer, b"aABC!?...");
        assert_eq!(again.on_moved(from, 3, louder), Err(Fault::Internal), "two bytes are no three");
        // SAFETY: null is refused.
        assert_eq!(third.on_moved(unsafe { In::new(null(), 1) }, 2, louder), Err(Fault::Null));
        // SAFETY: so is a length beyond any object.
        assert_eq!(fourth.on_moved(unsafe { In::new(buffer.as_ptr(), usize::MAX) }, 2, louder), Err(Fault::Length));
        assert_eq!(short.on_moved(from, 6, louder), Err(Fault::Buffer));
    }

    #[test]
    fn what_is_taken_out_leaves_nothing_behind() {
        let mut place = Some([0x77_u8; 64]);
        let at = &raw mut place;
        // SAFETY: the bytes of `place`, which has no padding: a byte that says whether there is a value, and the value. Those of none mean nothing, so they are read
        // as what lies in memory, which no compiler may guess.
        let byte = |index: usize| unsafe { at.cast::<u8>().add(index).read_volatile() };
        let left = || (0..65).filter(|index| byte(*index) == 0x77).count();
        assert_eq!(left(), 64);
        // SAFETY: nobody else looks at `place` meanwhile.
        let take = || take_wiping(unsafe { &mut *at });
        assert_eq!(take(), Some([0x77; 64]));
        assert_eq!(left(), 0);
        assert_eq!((take(), place), (None, None));
    }

    #[test]
    fn where_no_object_is_made_the_handle_is_zero() {
        let (table, mut handle) = (Table::new(0), 7);
        let at = &raw mut handle;
        // SAFETY: a variable, which is read through the same pointer.
        let (out, found) = (|| unsafe { OutHandle::new(at) }, || unsafe { at.read() });
        assert_eq!((out().write(&table, || Err(Fault::Kind)), found()), (Err(Fault::Kind), 0));
        assert_eq!((out().write(&table, || Ok::<_, Fault>("made")), table.get(found()).is_ok()), (Ok(()), true));
        let make = || -> Result<&str, Fault> { panic!("on purpose, where {} is still written", found()) };
        let call = std::panic::AssertUnwindSafe(|| out().write(&table, make));
        assert_eq!((std::panic::catch_unwind(call).is_err(), found()), (true, 0), "after a panic");
        // SAFETY: null is refused.
        let missing = unsafe { OutHandle::new(null_mut()) };
        assert_eq!(missing.write(&table, || Ok::<_, Fault>("lost")), Err(Fault::Null));
    }

    /// An output is made from its input alone, wherever in a buffer the two lie.
    #[test]
    fn an_output_over_its_input_is_made_from_the_whole_of_it() {
        let original: Vec<u8> = (0..100).collect();
        for (from, to) in (0..=60).flat_map(|from| (0..=60).map(move |to| (from, to))) {
            let mut buffer = original.clone();
            let at = buffer.as_mut_ptr();
            // SAFETY: both lie in the buffer, and nothing else uses it before the call is over.
            let (input, out) = unsafe { (In::new(at.add(from), 40), Out::new(at.add(to), 40, null_mut())) };
            let reversed = |input: &[u8], output: &mut [u8]| {
                // Wrong, if what is written here is what is read next.
                output.fill(0);
                output.iter_mut().zip(input.iter().rev()).for_each(|(output, input)| *output = *input);
                Ok::<_, Fault>(())
            };
            out.fill(40, input, reversed).unwrap();
            let mut expected = original.clone();
            expected[to..to + 40].copy_from_slice(&original[from..from + 40]);
            expected[to..to + 40].reverse();
            assert_eq!(buffer, expected, "{from} {to}");
        }
    }

    #[test]
    fn an_output_that_could_not_be_made_is_zeros() {
        let (message, mut digest) = ([1; 8], [2; 8]);
        // SAFETY: both arrays are as long as is said.
        let (input, out) = unsafe { (In::new(message.as_ptr(), 8), Out::new(digest.as_mut_ptr(), 8, null_mut())) };
        let half = |_: &[u8], output: &mut [u8]| {
            output[..4].fill(3);
            Err(Fault::Internal)
        };
        assert_eq!(out.fill(8, input, half), Err(Fault::Internal));
        assert_eq!(digest, [0; 8]);
    }

    #[test]
    fn stretches_that_share_a_byte_overlap_and_neighbours_do_not() {
        for (a, b, shared) in [
            ((100, 32), (132, 64), false),
            ((100, 32), (131, 64), true),
            ((100, 32), (36, 64), false),
            ((100, 32), (37, 64), true),
            ((100, 32), (110, 1), true),
            ((110, 1), (100, 32), true),
            ((100, 32), (100, 32), true),
            ((100, 32), (110, 0), true),
            ((100, 32), (1, 0), false),
            ((usize::MAX - 8, 8), (usize::MAX - 4, 4), true),
        ] {
            assert_eq!((overlap(a, b), overlap(b, a)), (shared, shared), "{a:?} {b:?}");
        }
    }
}
