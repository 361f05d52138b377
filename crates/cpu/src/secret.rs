//! Marks for the constant-time gate, `cargo xtask ct`.
//!
//! Under valgrind's memcheck a branch or an index that depends on *undefined* memory is an error. So the gate marks
//! secrets undefined, runs the release build, and reads the errors. What an algorithm makes public on purpose is
//! [`declassify`]d by name; SOUNDNESS.md lists these places.
//!
//! Without the feature `ct` all of this compiles to nothing.

/// Marks bytes as secret.
#[inline(always)]
pub fn poison(bytes: &[u8]) {
    #[cfg(feature = "ct")]
    request::memcheck(request::MAKE_MEM_UNDEFINED, bytes);
    let _ = bytes;
}

/// Marks bytes as public. `why` names the reviewed reason and must stand in SOUNDNESS.md. The gate records whether the bytes were secret
/// until then: if they never are, whatever was poisoned does not reach this place, and the check is empty.
#[inline(always)]
pub fn declassify(bytes: &[u8], why: &'static str) {
    #[cfg(feature = "ct")]
    {
        record::published(why, is_secret(bytes));
        request::memcheck(request::MAKE_MEM_DEFINED, bytes);
    }
    let _ = (bytes, why);
}

/// Marks a public function that takes secrets: it says at its beginning `takes("room/function", input)`. Each such name must
/// be recorded by a case of the gate, which it is only if a bit of `input` is marked secret. References inside `input` are not followed.
#[inline(always)]
pub fn takes<T: ?Sized>(function: &'static str, input: &T) {
    #[cfg(feature = "ct")]
    if is_secret(input) {
        record::took(function);
    }
    let _ = (function, input);
}

/// [`declassify`] for a value in a register: returns it as public. Whatever was derived from it before this call stays secret.
#[inline(always)]
#[must_use]
pub fn declassified(answer: u8, why: &'static str) -> u8 {
    #[cfg(feature = "ct")]
    let answer = {
        let bytes = core::hint::black_box([answer]);
        declassify(&bytes, why);
        // Read it back from memory: the compiler may assume that a call with a shared reference leaves the register's copy valid.
        core::hint::black_box(&bytes)[0]
    };
    let _ = why;
    answer
}

/// [`declassified`] for 64 bits.
#[inline(always)]
#[must_use]
pub fn declassified_u64(answer: u64, why: &'static str) -> u64 {
    #[cfg(feature = "ct")]
    let answer = {
        let bytes = core::hint::black_box(answer.to_le_bytes());
        declassify(&bytes, why);
        u64::from_le_bytes(*core::hint::black_box(&bytes))
    };
    let _ = why;
    answer
}

/// Records that `arm` of `routine` is about to run, so that the gate can prove which one did.
#[inline(always)]
pub fn ran(routine: &'static str, arm: &'static str) {
    #[cfg(feature = "ct")]
    record::ran(routine, arm);
    let _ = (routine, arm);
}

#[cfg(feature = "ct")]
pub use record::{arms, aside, publications, reset, taken};
#[cfg(feature = "ct")]
pub use request::{errors, is_secret, under_valgrind};

#[cfg(feature = "ct")]
mod record {
    use std::collections::{BTreeMap, BTreeSet};
    use std::sync::{Mutex, MutexGuard};

    type Names = BTreeSet<&'static str>;

    static ARMS: Mutex<BTreeSet<(&'static str, &'static str)>> = Mutex::new(BTreeSet::new());
    static TAKEN: Mutex<Names> = Mutex::new(BTreeSet::new());
    static PUBLISHED: Mutex<BTreeMap<&'static str, bool>> = Mutex::new(BTreeMap::new());

    fn lock<T>(record: &Mutex<T>) -> MutexGuard<'_, T> {
        record.lock().expect("no holder of this lock panics")
    }

    pub(super) fn ran(routine: &'static str, arm: &'static str) {
        lock(&ARMS).insert((routine, arm));
    }

    pub(super) fn took(function: &'static str) {
        lock(&TAKEN).insert(function);
    }

    pub(super) fn published(why: &'static str, was_secret: bool) {
        *lock(&PUBLISHED).entry(why).or_default() |= was_secret;
    }

    /// The arms that have run since the last call, as `(routine, arm)`.
    pub fn arms() -> Vec<(&'static str, &'static str)> {
        core::mem::take(&mut *lock(&ARMS)).into_iter().collect()
    }

    /// The functions that have taken secrets since the last call.
    pub fn taken() -> Vec<&'static str> {
        core::mem::take(&mut *lock(&TAKEN)).into_iter().collect()
    }

    /// The reasons given to `declassify` since the last call, and whether any of the bytes were secret until then.
    pub fn publications() -> Vec<(&'static str, bool)> {
        core::mem::take(&mut *lock(&PUBLISHED)).into_iter().collect()
    }

    /// Forgets what was recorded while a case prepared its inputs.
    pub fn reset() {
        drop((arms(), taken(), publications()));
    }

    /// Does `work` without recording it: what a case computes in order to compare.
    pub fn aside<R>(work: impl FnOnce() -> R) -> R {
        let before = (arms(), taken(), publications());
        let result = work();
        reset();
        lock(&ARMS).extend(before.0);
        lock(&TAKEN).extend(before.1);
        lock(&PUBLISHED).extend(before.2);
        result
    }
}

#[cfg(feature = "ct")]
#[allow(unsafe_code)] // valgrind's client requests are a magic instruction sequence
mod request {
    const RUNNING_ON_VALGRIND: u64 = 0x1001;
    const COUNT_ERRORS: u64 = 0x1201;
    pub(super) const MAKE_MEM_UNDEFINED: u64 = ((b'M' as u64) << 24 | (b'C' as u64) << 16) + 1;
    pub(super) const MAKE_MEM_DEFINED: u64 = MAKE_MEM_UNDEFINED + 1;
    const GET_VBITS: u64 = MAKE_MEM_UNDEFINED + 7;

    pub(super) fn memcheck(code: u64, bytes: &[u8]) {
        client_request(0, [code, bytes.as_ptr() as u64, bytes.len() as u64, 0, 0, 0]);
    }

    /// Whether memcheck holds any bit of the value for undefined. Never so without valgrind.
    pub fn is_secret<T: ?Sized>(value: &T) -> bool {
        let (start, length) = (core::ptr::from_ref(value).cast::<u8>() as u64, size_of_val(value) as u64);
        let mut bits = [0u8; 64];
        (0..length).step_by(bits.len()).any(|at| {
            let count = (length - at).min(bits.len() as u64);
            let room = bits.as_mut_ptr() as u64;
            client_request(0, [GET_VBITS, start + at, room, count, 0, 0]) == 1
                && core::hint::black_box(&bits)[..count as usize] != [0; 64][..count as usize]
        })
    }

    /// Whether valgrind is watching.
    pub fn under_valgrind() -> bool {
        client_request(0, [RUNNING_ON_VALGRIND, 0, 0, 0, 0, 0]) != 0
    }

    /// How many errors valgrind has seen in this process so far.
    pub fn errors() -> u64 {
        client_request(0, [COUNT_ERRORS, 0, 0, 0, 0, 0])
    }

    #[cfg(all(target_arch = "x86_64", target_os = "linux"))]
    fn client_request(default: u64, request: [u64; 6]) -> u64 {
        let mut result = default;
        // SAFETY: the sequence is valgrind's marker (valgrind.h, amd64): rotations that add up to 128 bits and an exchange
        // of a register with itself. On a bare CPU it changes nothing; under valgrind it reads the six words at rax.
        // The empty clobber list is right: only rdx and the flags may change. Memory is assumed touched.
        unsafe {
            core::arch::asm!(
                "rol rdi, 3", "rol rdi, 13", "rol rdi, 61", "rol rdi, 51", "xchg rbx, rbx",
                in("rax") request.as_ptr(), inout("rdx") result, options(nostack),
            );
        }
        result
    }

    #[cfg(not(all(target_arch = "x86_64", target_os = "linux")))]
    fn client_request(default: u64, _request: [u64; 6]) -> u64 {
        default
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_leave_the_bytes_as_they_are() {
        let bytes = [1u8, 2, 3];
        poison(&bytes);
        declassify(&bytes, "test");
        assert_eq!(declassified(7, "test"), 7);
        assert_eq!(declassified_u64(u64::MAX - 7, "test"), u64::MAX - 7);
        ran("test", "portable");
        takes("test", &bytes);
        assert_eq!(bytes, [1, 2, 3]);
    }
}
