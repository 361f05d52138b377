//! What functions return, and the wall that no panic crosses.

use candor_primitives::stack;
use std::ffi::{CStr, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// What every library may answer. [`statuses!`](crate::statuses) gives them the same numbers in each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A pointer is null where bytes are expected.
    Null,
    /// A handle is not in use.
    Handle,
    /// A handle is that of another kind of object.
    Kind,
    /// A length is more than any object has.
    Length,
    /// A buffer is too short.
    Buffer,
    /// An object has been used up.
    Finished,
    /// The operating system gave no randomness.
    Randomness,
    /// A mistake of ours.
    Internal,
    /// Not enough memory.
    Memory,
}

/// Makes a library's type `Status`: those of every library, and its own, each with its number, the end of its name in the header, and its message. And [`guard`] and
/// [`guard_secret`] for functions that return it; `clearing` says how much stack the second clears.
///
/// ```
/// candor_c_abi::statuses! {
///     "EXAMPLE_", clearing 8192;
///     Tired = 40, "TIRED", c"the example is tired";
/// }
/// assert_eq!(Status::message(40), c"the example is tired");
/// assert!(Status::ALL.contains(&(Status::from(candor_c_abi::Fault::Null), "EXAMPLE_NULL")));
/// assert_eq!((guard(|| Ok(())), guard_secret(|| Err(Status::Tired))), (0, 40));
/// ```
#[macro_export]
macro_rules! statuses {
    ($prefix:literal, clearing $frames:expr; $($variant:ident = $number:literal, $name:literal, $message:literal;)*) => {
        $crate::statuses! {
            @all $prefix;
            Null = 1, "NULL", c"a pointer is null where bytes are expected";
            Handle = 2, "HANDLE", c"handle is not in use: it was freed, or was never made";
            Kind = 3, "KIND", c"handle is that of another kind of object";
            Length = 5, "LENGTH", c"an input has a length that is not possible";
            Buffer = 6, "BUFFER", c"buffer is too short for the output, whose length has been written";
            Finished = 10, "FINISHED", c"object has been used up; make another";
            Randomness = 11, "RANDOMNESS", c"the operating system gave no randomness";
            Internal = 12, "INTERNAL", c"mistake in candor: please report it with what was called";
            Memory = 13, "MEMORY", c"not enough memory";
            $($variant = $number, $name, $message;)*
        }

        impl From<$crate::Fault> for Status {
            fn from(fault: $crate::Fault) -> Self {
                match fault {
                    $crate::Fault::Null => Self::Null,
                    $crate::Fault::Handle => Self::Handle,
                    $crate::Fault::Kind => Self::Kind,
                    $crate::Fault::Length => Self::Length,
                    $crate::Fault::Buffer => Self::Buffer,
                    $crate::Fault::Finished => Self::Finished,
                    $crate::Fault::Randomness => Self::Randomness,
                    $crate::Fault::Internal => Self::Internal,
                    $crate::Fault::Memory => Self::Memory,
                }
            }
        }

        impl From<Status> for std::ffi::c_int {
            fn from(status: Status) -> Self {
                status as Self
            }
        }

        /// Runs the body of a function of the header.
        pub(crate) fn guard(body: impl FnOnce() -> Result<(), Status>) -> std::ffi::c_int {
            $crate::status::guard(body)
        }

        /// Runs the body of a function of the header that moves secrets, and clears the stack behind it.
        pub(crate) fn guard_secret(body: impl FnOnce() -> Result<(), Status>) -> std::ffi::c_int {
            $crate::status::guard_secret::<{ $frames }, _>(body)
        }
    };
    (@all $prefix:literal; $($variant:ident = $number:literal, $name:literal, $message:literal;)*) => {
        /// Why a call failed.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(i32)]
        pub enum Status {
            $(#[doc = $name] $variant = $number,)*
        }

        impl Status {
            /// All of them, with the name in the header.
            pub const ALL: &'static [(Self, &'static str)] = &[$((Self::$variant, concat!($prefix, $name)),)*];

            /// The message for a number.
            #[must_use]
            pub fn message(status: std::ffi::c_int) -> &'static std::ffi::CStr {
                match status {
                    0 => c"success",
                    $($number => $message,)*
                    _ => $crate::status::UNKNOWN,
                }
            }
        }
    };
}

/// The message for a number that is no status.
pub const UNKNOWN: &CStr = c"no status of candor has this number";

/// Runs the body of a function of the header. A panic is a mistake of ours, and ends here.
#[inline]
pub fn guard<S: From<Fault> + Into<c_int>>(body: impl FnOnce() -> Result<(), S>) -> c_int {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(Ok(())) => 0,
        Ok(Err(status)) => status.into(),
        Err(_) => S::from(Fault::Internal).into(),
    }
}

/// [`guard`] for work that moves secrets, which clears `FRAMES` bytes of stack behind it: more than moving the largest object takes. Objects are made
/// on the stack before they move to the table. What goes deeper is cleared where it is done.
#[inline(always)]
pub fn guard_secret<const FRAMES: usize, S>(body: impl FnOnce() -> Result<(), S>) -> c_int
where
    S: From<Fault> + Into<c_int>,
{
    stack::clearing::<FRAMES, _>(|| guard(body))
}

#[cfg(test)]
mod tests {
    use super::UNKNOWN;
    use std::ffi::c_int;

    crate::statuses! {
        "TEST_", clearing 64;
        Own = 32, "OWN", c"one of its own";
    }

    #[test]
    fn a_panic_becomes_a_status() {
        assert_eq!(guard(|| panic!("on purpose")), Status::Internal as c_int);
        assert_eq!((guard(|| Ok(())), guard(|| Err(Status::Own))), (0, 32));
        assert_eq!(guard_secret(|| panic!("on purpose")), Status::Internal as c_int);
    }

    #[test]
    fn every_status_has_its_own_number_name_and_message() {
        let mut messages: Vec<_> = Status::ALL.iter().map(|(status, _)| Status::message(*status as c_int)).collect();
        messages.extend([Status::message(0), Status::message(-1)]);
        let count = messages.len();
        messages.sort();
        messages.dedup();
        assert_eq!((messages.len(), Status::ALL.len()), (count, 10));
        assert!(Status::message(77) == UNKNOWN && Status::ALL.iter().all(|(_, name)| name.starts_with("TEST_")));
    }
}
