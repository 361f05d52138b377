//! The stack below the stack pointer of the function that these are inlined into.
#![allow(unsafe_code)]

use core::arch::asm;

/// How much of it is looked at, in bytes. An operation that goes deeper is reported.
pub(crate) const WINDOW: usize = 1 << 20;

/// What the stack holds before an operation.
pub(crate) const PAINT: u8 = 0xa5;

/// Paints the window.
#[inline(always)]
pub(crate) fn paint() {
    // SAFETY: without the option `nostack` the block may use the stack as if it pushed. The thread's stack is larger than the window, and
    // what lies below the stack pointer belongs to nobody.
    unsafe {
        asm!("lea rdi, [rsp - {window}]", "rep stosb", window = const WINDOW, inout("rcx") WINDOW => _, out("rdi") _, in("al") PAINT);
    }
}

/// Copies the window out, before anything else is called. The last byte is the one just below the stack pointer.
#[inline(always)]
pub(crate) fn copy_out(window: &mut [u8; WINDOW]) {
    // SAFETY: as above for what is read; what is written is the array.
    unsafe {
        asm!("lea rsi, [rsp - {window}]", "rep movsb", window = const WINDOW, inout("rcx") WINDOW => _, inout("rdi") window.as_mut_ptr() => _, out("rsi") _);
    }
}
