//! Interrupts this thread again and again while it works, and notes where it was.
//!
//! The timer counts wall time and belongs to this thread: others, and processes that it starts, get no signal. (Timers of CPU time are looked at once a tick by
//! the kernel, four milliseconds on most systems.) The handler stores a number in a static array and does nothing else, so it may come at any instruction.

#![allow(unsafe_code)]

use nix::libc::{self, c_int, c_void};
use nix::sys::signal::{SaFlags, SigAction, SigEvent, SigHandler, SigSet, SigevNotify, Signal, sigaction};
use nix::sys::time::{TimeSpec, TimeValLike};
use nix::sys::timer::{Expiration, Timer, TimerSetTimeFlags};
use nix::time::ClockId;
use nix::unistd::gettid;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Room for the places; those beyond are not noted.
pub(crate) const ROOM: usize = 1024;

const SIGNAL: Signal = Signal::SIGPROF;

static PLACES: [AtomicU64; ROOM] = [const { AtomicU64::new(0) }; ROOM];
static NOTED: AtomicUsize = AtomicUsize::new(0);

/// The array and the signal belong to the process: one call at a time.
static ALONE: Mutex<()> = Mutex::new(());

/// Does the work, and returns the addresses of the instructions before which it was interrupted.
///
/// # Errors
///
/// What stands in the way: the signal belongs to somebody else, or the kernel gives no timer.
pub(crate) fn during(every: Duration, work: impl FnOnce()) -> Result<Vec<u64>, String> {
    let _alone = alone();
    during_alone(every, work)
}

fn alone() -> MutexGuard<'static, ()> {
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// For a caller that is [`alone`].
fn during_alone(every: Duration, work: impl FnOnce()) -> Result<Vec<u64>, String> {
    NOTED.store(0, Ordering::Relaxed);
    let handler = Handler::install()?;
    let failed = |error| format!("the kernel gives no timer: {error}");
    let to_this_thread = SigevNotify::SigevThreadId { signal: SIGNAL, thread_id: gettid().as_raw(), si_value: 0 };
    let mut timer = Timer::new(ClockId::CLOCK_MONOTONIC, SigEvent::new(to_this_thread)).map_err(failed)?;
    let every = TimeSpec::nanoseconds(i64::try_from(every.as_nanos()).unwrap_or(i64::MAX).max(1));
    timer.set(Expiration::Interval(every), TimerSetTimeFlags::empty()).map_err(failed)?;
    // A timer is not deleted where it is dropped by a panic.
    let panic = catch_unwind(AssertUnwindSafe(work)).err();
    drop(timer);
    let removed = handler.remove();
    if let Some(panic) = panic {
        resume_unwind(panic);
    }
    removed?;
    let noted = NOTED.load(Ordering::Relaxed).min(ROOM);
    Ok(PLACES[..noted].iter().map(|place| place.load(Ordering::Relaxed)).collect())
}

/// Our handler, until it is dropped.
struct Handler {
    before: Option<SigAction>,
}

impl Handler {
    fn install() -> Result<Self, String> {
        // On the alternate stack where there is one: what a subject calls may have a small stack, as Go's routines have.
        let flags = SaFlags::SA_SIGINFO | SaFlags::SA_RESTART | SaFlags::SA_ONSTACK;
        let before = act(&SigAction::new(SigHandler::SigAction(note), flags, SigSet::empty()))?;
        match before.handler() {
            SigHandler::SigDfl | SigHandler::SigIgn => Ok(Self { before: Some(before) }),
            _ => {
                act(&before)?;
                Err("another handler waits for the signal SIGPROF".into())
            }
        }
    }

    fn remove(mut self) -> Result<(), String> {
        self.put_back()
    }

    /// Puts back what was there before, unless the work has put something else there.
    fn put_back(&mut self) -> Result<(), String> {
        let Some(before) = self.before.take() else { return Ok(()) };
        // A signal that still waits would end the process. Ignoring it discards it.
        let found = act(&SigAction::new(SigHandler::SigIgn, SaFlags::empty(), SigSet::empty()))?;
        let is_ours =
            matches!(found.handler(), SigHandler::SigAction(handler) if handler as usize == note as *const () as usize);
        act(if is_ours { &before } else { &found })?;
        match is_ours {
            true => Ok(()),
            false => Err("it sets a handler of its own for the signal SIGPROF".into()),
        }
    }
}

impl Drop for Handler {
    fn drop(&mut self) {
        let _ = self.put_back();
    }
}

fn act(action: &SigAction) -> Result<SigAction, String> {
    // SAFETY: the action is the default, to ignore, what was there before, or `note`, which does only what a handler may do at any time.
    unsafe { sigaction(SIGNAL, action) }.map_err(|error| format!("the signal SIGPROF can't be handled: {error}"))
}

/// Notes where the thread was. Signals from anybody but a timer are not for it.
extern "C" fn note(_: c_int, info: *mut libc::siginfo_t, context: *mut c_void) {
    // SAFETY: SA_SIGINFO is set, so the kernel passes both, and they are valid until the handler returns.
    let (code, place) = unsafe {
        let registers = &(*context.cast::<libc::ucontext_t>()).uc_mcontext.gregs;
        ((*info).si_code, registers[libc::REG_RIP as usize])
    };
    if code == libc::SI_TIMER {
        let at = NOTED.fetch_add(1, Ordering::Relaxed);
        if let Some(room) = PLACES.get(at) {
            room.store(place as u64, Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::hint::black_box;
    use std::process::Command;

    const EVERY: Duration = Duration::from_micros(100);

    /// Works until it was interrupted so often, however long that takes.
    fn work_until(noted: usize) -> impl FnOnce() {
        move || {
            while NOTED.load(Ordering::Relaxed) < noted {
                black_box((0..black_box(1000_u64)).fold(1, |x: u64, i| x.rotate_left(5) ^ i));
            }
        }
    }

    #[test]
    fn a_thread_that_works_is_interrupted_where_it_works() {
        let places = during(EVERY, work_until(20)).unwrap();
        assert!(places.len() >= 20 && places.iter().all(|&place| place > 0x1000), "{places:x?}");
    }

    #[test]
    fn more_than_there_is_room_for_is_not_noted() {
        assert_eq!(during(Duration::from_micros(20), work_until(ROOM + 10)).unwrap().len(), ROOM);
    }

    /// Forked and started processes, other threads: the signal's default would end them.
    #[test]
    fn whom_the_work_starts_gets_no_signal() {
        let work = || {
            let other = std::thread::spawn(|| (0..2_000_000_u64).fold(0, |x, i| black_box(x ^ i)));
            let program = Command::new("sh").args(["-c", "i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done"]).status();
            assert!(program.unwrap().success());
            other.join().unwrap();
            work_until(5)();
        };
        assert!(during(EVERY, work).unwrap().len() >= 5);
    }

    #[test]
    fn work_with_a_handler_of_its_own_keeps_it_and_is_not_watched() {
        extern "C" fn own(_: c_int) {}
        let default = SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty());
        let mine = SigAction::new(SigHandler::Handler(own), SaFlags::SA_RESTART, SigSet::empty());
        // To the end, so that no other test meets this handler.
        let _alone = alone();
        let sets = during_alone(EVERY, || _ = act(&mine).unwrap());
        assert!(sets.unwrap_err().contains("sets a handler of its own"));
        let refused = during_alone(EVERY, || panic!("nobody is watched with a handler that another needs"));
        let found = act(&default).unwrap();
        assert!(matches!(found.handler(), SigHandler::Handler(_)), "it is still there");
        assert!(refused.unwrap_err().contains("another handler waits"));
        assert!(during_alone(EVERY, work_until(1)).is_ok(), "without it, it is watched");
    }

    #[test]
    fn work_that_panics_leaves_no_timer_behind() {
        let panics = catch_unwind(|| during(EVERY, || panic!("no")));
        assert!(panics.is_err());
        let _alone = alone();
        let found = act(&SigAction::new(SigHandler::SigDfl, SaFlags::empty(), SigSet::empty())).unwrap();
        assert!(matches!(found.handler(), SigHandler::SigDfl));
    }
}
