//! The stack below the stack pointer of the function that these are inlined into.
#![allow(unsafe_code)]

use core::arch::{asm, naked_asm};

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

/// Does `work` with nothing in the registers that a function hands on to what it calls: what the callers keep there (addresses of blocks that the
/// system's allocator gave, elsewhere in each run) would stand on the stack of the first step that saves them.
pub(crate) fn from_empty_registers(mut work: impl FnMut()) {
    /// # Safety
    /// `work` is a closure of type `W`.
    unsafe extern "C" fn call<W: FnMut()>(work: *mut ()) {
        // SAFETY: the caller's promise; nothing else refers to it meanwhile.
        unsafe { (*work.cast::<W>())() }
    }
    fn of<W: FnMut()>(_: &W) -> unsafe extern "C" fn(*mut ()) {
        call::<W>
    }
    let call = of(&work);
    // SAFETY: `call` is the one for this closure, which lives until it returns.
    unsafe { call_from_empty_registers((&raw mut work).cast(), call) }
}

/// Calls `call(work)` with zeros in the registers that it has to keep.
///
/// # Safety
/// As `call` demands.
#[unsafe(naked)]
unsafe extern "C" fn call_from_empty_registers(work: *mut (), call: unsafe extern "C" fn(*mut ())) {
    naked_asm!(
        "push rbx",
        "push rbp",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "sub rsp, 8",
        "xor ebx, ebx",
        "xor ebp, ebp",
        "xor r12d, r12d",
        "xor r13d, r13d",
        "xor r14d, r14d",
        "xor r15d, r15d",
        "call rsi",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbp",
        "pop rbx",
        "ret",
    )
}
