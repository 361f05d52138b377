//! A thread's class of scheduling.

use nix::libc::{SCHED_IDLE, sched_param, sched_setscheduler};
use std::io;

/// Puts the calling thread into the class that runs when no other does.
pub(crate) fn become_idle() -> io::Result<()> {
    let parameters = sched_param { sched_priority: 0 };
    // SAFETY: the kernel reads one `sched_param`, which outlives the call; 0 is the calling thread, and no memory depends on its class.
    match unsafe { sched_setscheduler(0, SCHED_IDLE, &raw const parameters) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}
