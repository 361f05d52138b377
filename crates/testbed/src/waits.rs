//! How long packets may have waited in their device before the emulator read them.
//!
//! A device does not say when a packet came. What is known: the emulator found nothing more when it looked last, and a packet that comes while it sleeps in
//! `epoll_wait` wakes it. So a packet waited at most
//!
//! - since that look, if the emulator has not slept since; or
//! - as long as the emulator, once woken, waited for a processor, and from then until it read the packet.
//!
//! The kernel counts how long each thread that could run has waited for a processor: the second number of `/proc/…/schedstat`, in nanoseconds. A kernel
//! without it leaves the first bound alone, which says nothing after a sleep; then nothing is counted. What a hypervisor takes away while nobody waits is
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
    /// When the devices were looked at before the last time.
    before: Duration,
    look: Look,
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
        Self { schedule, queued, before: now, look: Look { from: now, until: now }, read: Vec::new() }
    }

    /// The devices have been looked at, by a call that began and ended then.
    pub(crate) fn looked(&mut self, from: Duration, until: Duration) {
        self.before = self.look.until;
        self.look = Look { from, until };
    }

    /// A packet was read.
    pub(crate) fn read(&mut self, now: Duration) {
        self.read.push(now);
    }

    /// The longest that each packet can have waited which was read since this was asked last. It costs a system call, so it is for when nothing else is to be done.
    pub(crate) fn longest(&mut self) -> impl Iterator<Item = Duration> {
        let sum = self.schedule.as_ref().and_then(queued);
        let waited = sum.map(|sum| sum.saturating_sub(self.queued));
        self.queued = sum.unwrap_or(self.queued);
        let (before, look) = (self.before, self.look);
        self.read.drain(..).filter_map(move |read| Some(longest(before, look, read, waited?)))
    }
}

/// The longest that a packet can have waited which was read at `read`, after `look` and the look that ended at `before`, where the thread waited for a
/// processor for `queued` meanwhile.
fn longest(before: Duration, look: Look, read: Duration, queued: Duration) -> Duration {
    let slept = (look.until - look.from).saturating_sub(queued) > AWAKE;
    if slept { read - look.until + queued } else { read - before }
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

    const fn us(us: u64) -> Duration {
        Duration::from_micros(us)
    }

    #[test]
    fn a_packet_that_wakes_the_emulator_waits_for_the_processor_and_for_those_before_it() {
        let look = Look { from: us(1100), until: us(9000) };
        assert_eq!(longest(us(1000), look, us(9007), us(0)), us(7));
        assert_eq!(longest(us(1000), look, us(9007), us(3000)), us(3007), "the machine is busy");
    }

    #[test]
    fn a_packet_that_is_there_already_may_have_come_right_after_the_last_look() {
        assert_eq!(longest(us(1000), Look { from: us(1800), until: us(1805) }, us(1810), us(0)), us(810));
        // All that the call took, it waited for a processor.
        let look = Look { from: us(1800), until: us(6805) };
        assert_eq!(longest(us(1000), look, us(6810), us(5000)), us(5810));
        assert_eq!(longest(us(1000), look, us(6810), us(4900)), us(4905), "it slept as well");
    }

    #[test]
    fn each_packet_is_told_of_once() {
        let mut waits = Waits::new(us(0));
        waits.looked(us(10), us(5000));
        waits.read(us(5001));
        waits.read(us(5003));
        let both: Vec<_> = waits.longest().collect();
        if waits.schedule.as_ref().and_then(queued).is_none() {
            return eprintln!("skipped: this kernel does not count how long threads wait for a processor");
        }
        assert_eq!(both.len(), 2);
        assert!(both[0] >= us(1) && both[1] >= us(3), "{both:?}");
        assert_eq!(waits.longest().count(), 0);
        waits.looked(us(5010), us(5011));
        waits.read(us(5013));
        assert_eq!(waits.longest().collect::<Vec<_>>(), [us(13)], "since the last look");
    }
}
