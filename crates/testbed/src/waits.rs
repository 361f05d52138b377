//! How long packets may have waited in their device before the emulator read them.
//!
//! A device does not say when a packet came. What is known: a look finds every packet that is there when it begins, and a packet that comes while the emulator
//! sleeps in `epoll_wait` wakes it. So a packet waited at most
//!
//! - since the look before began, if the emulator has not slept since;
//! - as long as the emulator, once woken, waited for a processor, and from then until it read the packet; or
//! - since what that look's own packets are counted from, if the look before found it, and it was left because there were too many.
//!
//! The kernel counts how long each thread that could run has waited for a processor: the second number of `/proc/…/schedstat`, in nanoseconds. A kernel
//! without it leaves no bound after a sleep; then nothing is counted. What a hypervisor takes away while nobody waits is
//! in no count.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

/// A call of `epoll_wait` that took no longer than this, besides waiting for a processor, may not have slept.
const AWAKE: Duration = Duration::from_micros(50);

/// Looks at the devices one after another, and what was read after the last one.
pub(crate) struct Waits {
    /// Of the thread that made this.
    schedule: Option<File>,
    /// How long it has waited for a processor, as far as that is accounted for.
    queued: Duration,
    /// Whatever came earlier had been read when the last look began.
    before: Duration,
    look: Look,
    /// Nothing is known of `look` yet but when it began and ended.
    is_new: bool,
    /// What `look` found came no earlier.
    since: Duration,
    /// What came earlier, `look` found.
    seen: Duration,
    /// Not everything that `look` found was read.
    left: bool,
    /// When packets were read since.
    read: Vec<Duration>,
}

/// A call of `epoll_wait`: when it began and ended.
#[derive(Clone, Copy, Default)]
struct Look {
    from: Duration,
    until: Duration,
}

impl Waits {
    /// For the thread that calls, at this time.
    pub(crate) fn new(now: Duration) -> Self {
        let schedule = File::open("/proc/thread-self/schedstat").ok();
        let queued = schedule.as_ref().and_then(queued).unwrap_or_default();
        let look = Look { from: now, until: now };
        let (is_new, left, read) = (false, false, Vec::new());
        Self { schedule, queued, before: now, look, is_new, since: now, seen: now, left, read }
    }

    /// The devices have been looked at, by a call that began and ended then.
    pub(crate) fn looked(&mut self, from: Duration, until: Duration) {
        self.before = if std::mem::take(&mut self.left) { self.since } else { self.seen };
        self.look = Look { from, until };
        self.is_new = true;
    }

    /// A packet was read.
    pub(crate) fn read(&mut self, now: Duration) {
        self.read.push(now);
    }

    /// There may be more packets in a device, which the last look found.
    pub(crate) fn left(&mut self) {
        self.left = true;
    }

    #[cfg(test)]
    pub(crate) fn is_left(&self) -> bool {
        self.left
    }

    /// The longest that each packet can have waited which was read since this was asked last. It costs a system call, so it is for when nothing else is to be done.
    pub(crate) fn longest(&mut self) -> impl Iterator<Item = Duration> {
        let sum = self.schedule.as_ref().and_then(queued);
        let waited = sum.map(|sum| sum.saturating_sub(self.queued));
        self.queued = sum.unwrap_or(self.queued);
        self.told(waited)
    }

    /// The same, where the thread has waited for a processor for so long since this was asked last.
    fn told(&mut self, waited: Option<Duration>) -> impl Iterator<Item = Duration> {
        // A call that a signal ended was no look: then what is known of the last one stays.
        if let Some(queued) = waited
            && std::mem::take(&mut self.is_new)
        {
            let Look { from, until } = self.look;
            let slept = (until - from).saturating_sub(queued) > AWAKE;
            // All of the wait may have come after the packet that woke it.
            let woken = until.saturating_sub(queued);
            (self.since, self.seen) = if slept { (woken, woken) } else { (self.before, from) };
        }
        let since = self.since;
        self.read.drain(..).filter_map(move |read| waited.map(|_| read.saturating_sub(since)))
    }
}

/// How long the thread of this file has waited for a processor. `None` if the kernel does not count that.
fn queued(schedule: &File) -> Option<Duration> {
    let mut bytes = [0; 64];
    let length = schedule.read_at(&mut bytes, 0).ok()?;
    let text = std::str::from_utf8(&bytes[..length]).ok()?;
    let mut numbers = text.split_ascii_whitespace();
    let (ran, waited): (u64, u64) = (numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?);
    // A thread that reads this has run.
    (ran > 0).then_some(Duration::from_nanos(waited))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    /// Of a thread that first looked when its time was `before`.
    fn waits(before: u64) -> Waits {
        Waits::new(us(before))
    }

    /// The bounds, in microseconds, of packets that were read at these times after a look; the thread waited for a processor for `queued`.
    fn bounds(waits: &mut Waits, look: [u64; 2], read: &[u64], queued: u64) -> Vec<u128> {
        waits.looked(us(look[0]), us(look[1]));
        read.iter().for_each(|read| waits.read(us(*read)));
        waits.told(Some(us(queued))).map(|longest| longest.as_micros()).collect()
    }

    #[test]
    fn a_packet_that_wakes_the_emulator_waits_for_the_processor_and_for_those_before_it() {
        assert_eq!(bounds(&mut waits(1000), [1100, 9000], &[9003, 9007], 0), [3, 7]);
        assert_eq!(bounds(&mut waits(1000), [1100, 9000], &[9007], 3000), [3007], "the machine is busy");
    }

    #[test]
    fn a_packet_that_is_there_already_may_have_come_right_after_the_last_look() {
        assert_eq!(bounds(&mut waits(1000), [1800, 1805], &[1810], 0), [810]);
        // All that the call took, it waited for a processor.
        assert_eq!(bounds(&mut waits(1000), [1800, 6805], &[6810], 5000), [5810]);
        assert_eq!(bounds(&mut waits(1000), [1800, 6805], &[6810], 4900), [4905], "it slept as well");
    }

    #[test]
    fn the_last_look_is_when_it_looked_and_not_when_it_got_to_say_so() {
        // It did not sleep; after the look it waited for a processor, and a packet came meanwhile.
        let mut waits = waits(900);
        assert_eq!(bounds(&mut waits, [1000, 4000], &[], 2990), []);
        assert_eq!(bounds(&mut waits, [4010, 4011], &[4012], 0), [3012]);
        // It slept, and so it did between waking and reading.
        assert_eq!(bounds(&mut waits, [5000, 9000], &[], 2000), []);
        assert_eq!(bounds(&mut waits, [9010, 9011], &[9012], 0), [2012]);
    }

    #[test]
    fn what_a_first_go_leaves_was_there_as_early_as_what_it_read() {
        let mut waits = waits(800);
        assert_eq!(bounds(&mut waits, [990, 1000], &[1001], 0), [201]);
        waits.left();
        assert_eq!(bounds(&mut waits, [1100, 1101], &[1102], 0), [302], "there since before the look that left it");
        waits.left();
        assert_eq!(bounds(&mut waits, [1200, 1201], &[1202], 0), [402], "left again");
        assert_eq!(bounds(&mut waits, [1300, 1301], &[1302], 0), [102], "nothing was left");
        // After a sleep nothing is older than what ended it.
        assert_eq!(bounds(&mut waits, [1400, 9000], &[9001], 30), [31]);
        waits.left();
        assert_eq!(bounds(&mut waits, [9100, 9101], &[9102], 0), [132]);
    }

    #[test]
    fn a_call_that_a_signal_ends_is_no_look() {
        let mut waits = waits(800);
        assert_eq!(bounds(&mut waits, [1000, 9000], &[9001], 0), [1]);
        waits.left();
        // It waited for a processor once more, and that says nothing of the look before.
        assert_eq!(waits.told(Some(us(5000))).count(), 0);
        assert_eq!(bounds(&mut waits, [15_000, 15_001], &[15_002], 0), [6002]);
    }

    #[test]
    fn each_packet_is_told_of_once_and_none_where_the_kernel_counts_nothing() {
        let mut waits = waits(0);
        assert_eq!(bounds(&mut waits, [10, 5000], &[5001, 5003], 0), [1, 3]);
        assert_eq!(waits.told(Some(us(0))).count(), 0);
        waits.read(us(5005));
        assert_eq!(waits.told(None).count(), 0);
        assert_eq!(waits.told(Some(us(0))).count(), 0);
    }

    #[test]
    fn the_kernel_counts_how_long_this_thread_waits() {
        // Before a thread has slept for the first time, the kernel may not have counted that it ran.
        std::thread::sleep(Duration::from_millis(1));
        let mut waits = waits(0);
        waits.looked(us(10), us(5000));
        waits.read(us(5001));
        let bounds: Vec<_> = waits.longest().collect();
        if waits.schedule.as_ref().and_then(queued).is_none() {
            // Past the test harness, which swallows what a passing test prints.
            let why = "skipped: this kernel does not count how long threads wait for a processor";
            return writeln!(std::io::stderr(), "{why}").unwrap();
        }
        assert!(bounds.len() == 1 && bounds[0] >= us(1), "{bounds:?}");
    }
}
