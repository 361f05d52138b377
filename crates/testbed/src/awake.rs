//! CPUs that do not go to sleep between packets.

use crate::tun::become_idle;
use std::hint::spin_loop;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::thread::{JoinHandle, available_parallelism, spawn};

/// Keeps the CPUs awake while it exists: a thread for each, in the class `SCHED_IDLE`, spins whenever nothing else wants to run.
///
/// In a testbed each packet finds every process asleep. A virtual CPU that sleeps is woken by its host in some 50 to 200 µs, which is a property of
/// that host and of no topology; there are a dozen such moments in a circuit of three hops.
///
/// The kernel lets them run when nothing else of their scheduling group wants to. To other groups, such as another session's where the kernel groups by session
/// (`sched_autogroup_enabled`), they are as good as other work and take their share; and where a group has a quota, they use it up. So measure on a machine with
/// nothing else to do.
#[derive(Debug)]
pub struct Awake {
    ends: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

impl Awake {
    /// Starts the threads.
    ///
    /// # Errors
    /// If the system refuses the class, which any process may choose: then none spins, since a thread of the usual class would take time from
    /// what is measured.
    pub fn start() -> io::Result<Self> {
        let mut awake = Self { ends: Arc::default(), threads: Vec::new() };
        let (tells, told) = std::sync::mpsc::channel();
        for _ in 0..available_parallelism().map_or(1, usize::from) {
            let (ends, tells) = (Arc::clone(&awake.ends), tells.clone());
            awake.threads.push(spawn(move || {
                let idle = become_idle();
                let spins = idle.is_ok();
                let _ = tells.send(idle);
                drop(tells);
                while spins && !ends.load(Relaxed) {
                    spin_loop();
                }
            }));
        }
        drop(tells);
        told.into_iter().collect::<io::Result<()>>()?;
        Ok(awake)
    }
}

impl Drop for Awake {
    fn drop(&mut self) {
        self.ends.store(true, Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Awake;
    use std::fs::read_to_string;
    use std::io::Write;

    /// The class of each thread of this process, from `/proc`: 5 is `SCHED_IDLE`.
    fn idle_threads() -> usize {
        let tasks = std::fs::read_dir("/proc/self/task").unwrap();
        let class = |task: std::io::Result<std::fs::DirEntry>| {
            // A thread may end meanwhile.
            let stat = read_to_string(task.ok()?.path().join("stat")).ok()?;
            // The name may have blanks; behind it the policy is the 39th field of the line's 41.
            stat.rsplit_once(')')?.1.split_whitespace().nth(38)?.parse::<u32>().ok()
        };
        tasks.filter_map(class).filter(|class| *class == 5).count()
    }

    #[test]
    fn a_thread_for_each_cpu_spins_at_idle_priority_and_none_is_left() {
        assert_eq!(idle_threads(), 0);
        let awake = match Awake::start() {
            // Past the test harness, which swallows what a passing test prints.
            Err(error) => {
                return writeln!(std::io::stderr(), "skipped: this system lets no thread become idle: {error}")
                    .unwrap();
            }
            Ok(awake) => awake,
        };
        assert_eq!(idle_threads(), std::thread::available_parallelism().unwrap().get());
        drop(awake);
        // A thread that was joined may still be on its way out of the kernel.
        while idle_threads() > 0 {
            std::thread::yield_now();
        }
    }
}
