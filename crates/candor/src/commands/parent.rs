//! A process that ends with the one that started it.
//!
//! `candor onion up`, `candor circuit --tun` and `candor sweep run` name themselves in the environment of their children. Each child asks the kernel to be killed when its parent ends, however that
//! comes about. `candor worker` does so without being told. The parent may already be gone by then, so the child looks afterwards who its parent is. The kernel watches the thread
//! that started the child, so the parent starts all children on a thread that lives as long as they shall, such as its main thread.

use crate::Failure;
use std::os::unix::process::parent_id;
use std::process::Command;

/// The process to end with, by its number.
const PARENT: &str = "CANDOR_PARENT";

/// Makes the process that `command` starts end with this one.
pub(crate) fn leads(command: &mut Command) {
    command.env(PARENT, std::process::id().to_string());
}

/// Ends with the process that the environment names, if it names one.
pub(crate) fn follow() -> Result<(), Failure> {
    let Ok(parent) = std::env::var(PARENT) else { return Ok(()) };
    watch()?;
    match parent.parse() == Ok(parent_id()) {
        true => Ok(()),
        false => Err(Failure::Error(format!("process {parent}, which this one was to end with, is not its parent"))),
    }
}

/// Ends with the process that started this one, whoever that is: a worker without its run would go on measuring for nobody. Other systems than Linux have no such request, and a thread
/// that looks would disturb the measurement; there a worker ends when it wants to reply.
pub(crate) fn follow_any() -> Result<(), Failure> {
    match cfg!(target_os = "linux") {
        true => watch(),
        false => Ok(()),
    }
}

#[cfg(target_os = "linux")]
fn watch() -> Result<(), Failure> {
    use rustix::process::{Signal, set_parent_process_death_signal};
    let asked = set_parent_process_death_signal(Some(Signal::KILL));
    asked.map_err(|error| Failure::Error(format!("can't ask the kernel to end this process with its parent: {error}")))
}

/// Other systems have no such request. A thread looks every second.
#[cfg(not(target_os = "linux"))]
fn watch() -> Result<(), Failure> {
    let parent = parent_id();
    std::thread::spawn(move || {
        while parent_id() == parent {
            std::thread::sleep(std::time::Duration::from_secs(1));
        }
        std::process::exit(2);
    });
    Ok(())
}
