//! The thread that carries packets from device to device, by the clock.

use crate::Error;
use crate::carrier::{Carrier, Counts};
use crate::tun::Device;
use crate::waits::Waits;
use nix::sys::epoll::{Epoll, EpollCreateFlags, EpollEvent, EpollFlags, EpollTimeout};
use nix::sys::eventfd::{EfdFlags, EventFd};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{Builder, JoinHandle};
use std::time::{Duration, Instant};

/// Longest packet: what IPv4 allows.
const MOST: usize = 1 << 16;
/// Packets that are read from one device before what is due gets its turn.
const AT_ONCE: usize = 64;
/// The timer and the end, where devices have their numbers.
const TIMER: u64 = u64::MAX;
const END: u64 = u64::MAX - 1;

/// A running emulator. Dropping it ends its thread.
pub(crate) struct Emulator {
    end: Arc<EventFd>,
    counts: Arc<Mutex<Counts>>,
    began: Instant,
    /// What the clock showed at `began`.
    begin: Duration,
    thread: Option<JoinHandle<()>>,
    /// Why the thread ended before it was told to.
    failure: Arc<Mutex<Option<String>>>,
}

impl Emulator {
    /// Starts to carry packets between the devices, which belong to the nodes of these numbers. Its time begins at `begin`.
    pub(crate) fn start(devices: Vec<(usize, Device)>, carrier: Carrier, begin: Duration) -> Result<Self, Error> {
        let made = |error: nix::errno::Errno| Error::system("set up epoll and timerfd")(error.into());
        let end = Arc::new(EventFd::from_value_and_flags(0, EfdFlags::EFD_CLOEXEC).map_err(made)?);
        let mut engine = Engine::new(devices, carrier, begin, &end).map_err(made)?;
        let (counts, began) = (Arc::clone(&engine.counts), engine.began);
        let failure = Arc::<Mutex<Option<String>>>::default();
        let reason = Arc::clone(&failure);
        let work = move || {
            if let Err(error) = engine.run() {
                *reason.lock().unwrap_or_else(PoisonError::into_inner) = Some(error.to_string());
            }
        };
        let thread = Builder::new().name("emulator".into()).spawn(work).map_err(Error::system("start a thread"))?;
        Ok(Self { end, counts, began, begin, thread: Some(thread), failure })
    }

    /// What its clock shows.
    pub(crate) fn now(&self) -> Duration {
        self.begin + self.began.elapsed()
    }

    /// What became of packets so far; an error if nothing arrives any more.
    pub(crate) fn counts(&self) -> Result<Counts, Error> {
        if self.thread.as_ref().is_some_and(JoinHandle::is_finished) {
            let reason = self.failure.lock().unwrap_or_else(PoisonError::into_inner).take();
            return Err(Error::Stopped(reason.unwrap_or_else(|| "its thread panicked".to_owned())));
        }
        Ok(self.counts.lock().unwrap_or_else(PoisonError::into_inner).clone())
    }
}

impl Drop for Emulator {
    fn drop(&mut self) {
        let _ = self.end.write(1);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

struct Engine {
    devices: Vec<(usize, Device)>,
    carrier: Carrier,
    began: Instant,
    /// What the carrier's clock shows at `began`.
    begin: Duration,
    timer: TimerFd,
    epoll: Epoll,
    counts: Arc<Mutex<Counts>>,
}

impl Engine {
    /// An engine whose time begins now, and which `end` ends.
    fn new(
        devices: Vec<(usize, Device)>,
        carrier: Carrier,
        begin: Duration,
        end: &EventFd,
    ) -> Result<Self, nix::errno::Errno> {
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK | TimerFlags::TFD_CLOEXEC)?;
        let epoll = Epoll::new(EpollCreateFlags::EPOLL_CLOEXEC)?;
        let readable = |data| EpollEvent::new(EpollFlags::EPOLLIN, data);
        epoll.add(&timer, readable(TIMER))?;
        epoll.add(end, readable(END))?;
        for (number, (_, device)) in devices.iter().enumerate() {
            epoll.add(device, readable(number as u64))?;
        }
        Ok(Self { devices, carrier, began: Instant::now(), begin, timer, epoll, counts: Arc::default() })
    }

    fn now(&self) -> Duration {
        self.begin + self.began.elapsed()
    }

    fn run(&mut self) -> io::Result<()> {
        let mut buffer = vec![0; MOST];
        let mut events = [EpollEvent::empty(); 16];
        let mut waits = Waits::new(self.now());
        loop {
            self.hand_over();
            self.arm()?;
            waits.longest().for_each(|longest| self.carrier.waited(longest));
            let from = self.now();
            let ready = match self.epoll.wait(&mut events, EpollTimeout::NONE) {
                Ok(ready) => ready,
                Err(nix::errno::Errno::EINTR) => continue,
                Err(error) => return Err(error.into()),
            };
            waits.looked(from, self.now());
            for event in &events[..ready] {
                match event.data() {
                    END => return Ok(()),
                    TIMER => {
                        // It may have been set anew meanwhile: then there is nothing to read.
                        let _ = self.timer.wait();
                    }
                    number => self.read(number as usize, &mut buffer, &mut waits)?,
                }
            }
        }
    }

    /// Writes what has arrived into its devices.
    fn hand_over(&mut self) {
        while let Some(arrived) = self.carrier.fetch(self.now()) {
            let device = self.devices.iter().find(|(node, _)| *node == arrived.node);
            // A device that does not take a packet loses it, as a network card does.
            let _ = device.map(|(_, device)| device.write(&arrived.packet));
            let late = self.now().saturating_sub(arrived.at);
            self.carrier.handed_over(late);
        }
        let mut counts = self.counts.lock().unwrap_or_else(PoisonError::into_inner);
        counts.clone_from(self.carrier.counts());
    }

    /// Sets the timer to when something happens next.
    fn arm(&self) -> io::Result<()> {
        let set = match self.carrier.next() {
            None => self.timer.unset(),
            Some(next) => {
                // Zero would stop it.
                let wait = next.saturating_sub(self.now()).max(Duration::from_nanos(1));
                self.timer.set(Expiration::OneShot(TimeSpec::from_duration(wait)), TimerSetTimeFlags::empty())
            }
        };
        Ok(set?)
    }

    fn read(&mut self, number: usize, buffer: &mut [u8], waits: &mut Waits) -> io::Result<()> {
        for _ in 0..AT_ONCE {
            let (node, device) = &self.devices[number];
            let Some(packet) = device.read(buffer)? else { return Ok(()) };
            let now = self.begin + self.began.elapsed();
            self.carrier.take(*node, packet, now);
            waits.read(now);
        }
        waits.left();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::addresses::address;
    use candor_links::topology::{Role, Topology};
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;

    /// An engine with a device for the client's node and one for the guard's, and their other ends.
    fn engine() -> (Engine, [UnixDatagram; 2]) {
        let topology = Topology::built_in("sagin-01").unwrap().unwrap().lossless();
        let carrier = Carrier::new(&topology, None, 1, Duration::ZERO).unwrap();
        let end = EventFd::new().unwrap();
        let pairs = [Role::Client, Role::Guard].map(|role| {
            let (ours, theirs) = UnixDatagram::pair().unwrap();
            [&ours, &theirs].iter().for_each(|end| end.set_nonblocking(true).unwrap());
            (ours, (topology.node_of(role), Device::of(OwnedFd::from(theirs).into())))
        });
        let [(one, client), (other, guard)] = pairs;
        (Engine::new(vec![client, guard], carrier, Duration::ZERO, &end).unwrap(), [one, other])
    }

    #[test]
    fn a_device_with_more_than_a_go_of_packets_is_left_and_an_empty_one_is_not() {
        let (mut engine, [client, _]) = engine();
        (0..=AT_ONCE).for_each(|_| assert_eq!(client.send(&[0]).unwrap(), 1));
        let (mut waits, mut buffer) = (Waits::new(engine.now()), vec![0; MOST]);
        engine.read(0, &mut buffer, &mut waits).unwrap();
        assert_eq!((engine.carrier.counts().strangers, waits.is_left()), (AT_ONCE as u64, true));
        let now = engine.now();
        waits.looked(now, now);
        engine.read(0, &mut buffer, &mut waits).unwrap();
        assert_eq!((engine.carrier.counts().strangers, waits.is_left()), (AT_ONCE as u64 + 1, false));
    }

    #[test]
    fn a_packet_that_is_handed_over_late_is_counted_so() {
        let (mut engine, [client, guard]) = engine();
        let (mut waits, mut buffer) = (Waits::new(engine.now()), vec![0; MOST]);
        let mut packet = [0; 100];
        packet[0] = 0x45;
        packet[16..20].copy_from_slice(&address(Role::Guard, 0).octets());
        assert_eq!(client.send(&packet).unwrap(), packet.len());
        engine.read(0, &mut buffer, &mut waits).unwrap();
        // Ten seconds later, and no link is so long.
        engine.begin += Duration::from_secs(10);
        engine.hand_over();
        assert_eq!((guard.recv(&mut buffer).unwrap(), &buffer[..packet.len()]), (packet.len(), &packet[..]));
        let counts = engine.counts.lock().unwrap();
        assert_eq!((counts.arrived, counts.dropped), (1, [0; 3]));
        assert_eq!(counts.late.percentile(50), Some(Duration::from_micros(20_010)), "20 ms and beyond");
    }
}
