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

/// Marks bytes as public. `why` names the reviewed reason and must stand in SOUNDNESS.md.
#[inline(always)]
pub fn declassify(bytes: &[u8], why: &'static str) {
    #[cfg(feature = "ct")]
    request::memcheck(request::MAKE_MEM_DEFINED, bytes);
    let _ = (bytes, why);
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
    record::ARMS.lock().expect("no holder of this lock panics").insert((routine, arm));
    let _ = (routine, arm);
}

#[cfg(feature = "ct")]
pub use record::arms;
#[cfg(feature = "ct")]
pub use request::{errors, under_valgrind};

#[cfg(feature = "ct")]
mod record {
    use std::collections::BTreeSet;
    use std::sync::Mutex;

    pub(super) static ARMS: Mutex<BTreeSet<(&'static str, &'static str)>> = Mutex::new(BTreeSet::new());

    /// The arms that have run since the last call, as `(routine, arm)`.
    pub fn arms() -> Vec<(&'static str, &'static str)> {
        core::mem::take(&mut *ARMS.lock().expect("no holder of this lock panics")).into_iter().collect()
    }
}

#[cfg(feature = "ct")]
#[allow(unsafe_code)] // valgrind's client requests are a magic instruction sequence
mod request {
    const RUNNING_ON_VALGRIND: u64 = 0x1001;
    const COUNT_ERRORS: u64 = 0x1201;
    pub(super) const MAKE_MEM_UNDEFINED: u64 = ((b'M' as u64) << 24 | (b'C' as u64) << 16) + 1;
    pub(super) const MAKE_MEM_DEFINED: u64 = MAKE_MEM_UNDEFINED + 1;

    pub(super) fn memcheck(code: u64, bytes: &[u8]) {
        client_request(0, [code, bytes.as_ptr() as u64, bytes.len() as u64, 0, 0, 0]);
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
        assert_eq!(bytes, [1, 2, 3]);
    }
}
