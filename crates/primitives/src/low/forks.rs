//! How often `fork` has copied this process since its first ancestor that asked.
#![allow(unsafe_code)]

use core::sync::atomic::{AtomicUsize, Ordering};

/// 0 before anybody asks, 1 while nothing is counted, then 2 and the forks that led here.
static STATE: AtomicUsize = AtomicUsize::new(0);

/// A number that a child of this process does not have in common with it, if the C library's `fork` makes the child. `None` if there is none: before
/// the library has been told, and if it refuses.
///
/// It is a load from memory; the process's number would be a system call. A signal's handler may ask, too.
#[inline]
pub(crate) fn lineage() -> Option<usize> {
    let state = STATE.load(Ordering::Relaxed);
    if state > 1 { Some(state) } else { begin() }
}

#[cold]
fn begin() -> Option<usize> {
    STATE.compare_exchange(0, 1, Ordering::Relaxed, Ordering::Relaxed).ok()?;
    // SAFETY: `count` may run in a child at any time: it changes one atomic number, and neither allocates nor takes a lock.
    let refused = unsafe { libc::pthread_atfork(None, None, Some(count)) };
    if refused != 0 {
        return None;
    }
    STATE.store(2, Ordering::Relaxed);
    Some(2)
}

extern "C" fn count() {
    STATE.fetch_add(1, Ordering::Relaxed);
}

/// The first three bytes of what `draw` gives in a child of this process, which has a copy of the calling thread.
#[cfg(test)]
pub(crate) fn in_child(draw: impl Fn() -> [u8; 32] + Send + Sync + 'static) -> [u8; 3] {
    use std::os::unix::process::CommandExt;

    /// Tells an answer from the numbers of errors.
    const ANSWER: i32 = 1 << 24;
    let answer = move || {
        let [a, b, c, ..] = draw();
        // A child that fails before it becomes the program tells its parent an error's number.
        Err(std::io::Error::from_raw_os_error(ANSWER | i32::from_be_bytes([0, a, b, c])))
    };
    let mut program = std::process::Command::new("true");
    // SAFETY: the child does what `draw` does, and ends. What it must not do is wait for a lock that another thread of the parent had: the test's
    // `draw` takes none.
    unsafe { program.pre_exec(answer) };
    let error = program.spawn().expect_err("the child ends before it becomes the program");
    let number = error.raw_os_error().unwrap_or_default();
    assert!(number & ANSWER != 0, "{error}");
    let [_, answer @ ..] = number.to_be_bytes();
    answer
}
