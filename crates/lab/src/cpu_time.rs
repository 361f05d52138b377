//! The CPU clocks of processes.

use std::time::Duration;

/// How long a process has computed so far, all its threads together, those that have ended included, in its own code and in the kernel's; by the process's number.
/// `None` if there is no such process, and on systems other than Linux.
///
/// The kernel counts nanoseconds, not ticks, and what a process does in the kernel counts for it: sending on the loopback network, much of receiving as well.
#[cfg(target_os = "linux")]
#[must_use]
pub fn cpu_time(process: u32) -> Option<Duration> {
    use nix::time::clock_getcpuclockid;
    use nix::unistd::Pid;
    let clock = clock_getcpuclockid(Pid::from_raw(i32::try_from(process).ok()?)).ok()?;
    clock.now().ok().map(Duration::from)
}

/// `None`: not known on this system.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn cpu_time(_: u32) -> Option<Duration> {
    None
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn it_counts_what_a_process_computes_and_nothing_while_it_sleeps() {
        let own = || cpu_time(std::process::id()).expect("this process is there");
        let before = own();
        let mut sum = 0_u64;
        while own() - before < Duration::from_millis(2) {
            sum = std::hint::black_box(sum.wrapping_add(1));
        }
        let mut sleeper = Command::new("sleep").arg("60").spawn().unwrap();
        let slept = cpu_time(sleeper.id()).expect("it is there");
        sleeper.kill().unwrap();
        sleeper.wait().unwrap();
        assert!(slept < Duration::from_secs(1), "{slept:?}");
        assert_eq!(cpu_time(sleeper.id()), None, "it is gone");
    }
}
