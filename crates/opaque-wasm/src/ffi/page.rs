//! What the module takes from the page that loads it, and what it gives: all of its `unsafe`.
//!
//! The page calls [`prepare`] with the length of a request, writes the request where that says, and calls [`work`]. The answer, or the text of an error,
//! is at [`answer`]; [`clear`] wipes it. `web/src/worker.ts` does this.
#![allow(unsafe_code)]

use crate::place::{Page, Place};
use std::sync::{Mutex, MutexGuard, PoisonError};
use zeroize::Zeroizing;

#[link(wasm_import_module = "page")]
unsafe extern "C" {
    /// Fills so many bytes with random ones.
    fn random(bytes: *mut u8, length: usize);
    /// Writes the text in normalisation form C to `to`, where there is room for `capacity` bytes, and returns its length.
    fn nfc(text: *const u8, length: usize, to: *mut u8, capacity: usize) -> usize;
    /// This part of all key stretching is done, from 0 to 1.
    safe fn progress(fraction: f64);
}

struct Importing;

impl Page for Importing {
    fn random(&self, bytes: &mut [u8]) {
        // SAFETY: the page writes `length` bytes, which are ours alone.
        unsafe { random(bytes.as_mut_ptr(), bytes.len()) }
    }

    fn nfc(&self, text: &str) -> Zeroizing<String> {
        // Form C makes no text longer than three times (UAX #15, §9, table 1: 3 in UTF-8).
        let mut bytes = Zeroizing::new(vec![0; 3 * text.len()]);
        // SAFETY: the page reads `length` bytes of the text and writes at most `capacity` bytes, which are ours alone.
        let length = unsafe { nfc(text.as_ptr(), text.len(), bytes.as_mut_ptr(), bytes.len()) };
        bytes.truncate(length);
        // A page that writes anything else breaks its own login.
        Zeroizing::new(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn progress(&self, done: u64, all: u64) {
        progress(done as f64 / all as f64);
    }
}

/// All that the module keeps. (It has one thread; the lock is what Rust wants of a static.)
struct Module {
    place: Place,
    buffer: Option<Zeroizing<Vec<u8>>>,
}

static MODULE: Mutex<Module> = Mutex::new(Module { place: Place::new(), buffer: None });

fn module() -> MutexGuard<'static, Module> {
    MODULE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A buffer for a request of so many bytes.
// SAFETY: no other symbol of the module has this name.
#[unsafe(no_mangle)]
extern "C" fn prepare(length: usize) -> *mut u8 {
    let mut module = module();
    module.buffer.insert(Zeroizing::new(vec![0; length])).as_mut_ptr()
}

/// Does what the buffer says. 0: the answer is in the buffer. Otherwise a [`Code`](crate::Code), and the buffer has a text.
// SAFETY: no other symbol of the module has this name.
#[unsafe(no_mangle)]
extern "C" fn work() -> u32 {
    let mut module = module();
    let request = module.buffer.take().unwrap_or_default();
    let (code, answer) = match module.place.work(&request, &Importing) {
        Ok(answer) => (0, answer),
        Err(refusal) => (refusal.code as u32, Zeroizing::new(refusal.text.into_bytes())),
    };
    module.buffer = Some(answer);
    code
}

/// Where the answer is.
// SAFETY: no other symbol of the module has this name.
#[unsafe(no_mangle)]
extern "C" fn answer() -> *const u8 {
    module().buffer.as_ref().map_or(core::ptr::null(), |buffer| buffer.as_ptr())
}

/// Bytes of the answer.
// SAFETY: no other symbol of the module has this name.
#[unsafe(no_mangle)]
extern "C" fn answer_length() -> usize {
    module().buffer.as_ref().map_or(0, |buffer| buffer.len())
}

/// Wipes the buffer.
// SAFETY: no other symbol of the module has this name.
#[unsafe(no_mangle)]
extern "C" fn clear() {
    module().buffer = None;
}
