//! Links: a TLS connection to a neighbour, the link handshake on it, and the cells of many circuits.

mod drive;
mod outbox;
mod shake;
mod ways;
mod wide;

pub(crate) use drive::{Came, drive, with_input};
pub(crate) use outbox::{Budget, Full, Outbox, Room, SHORT};
pub(crate) use shake::{Shaken, Us, accept, connect};
pub(crate) use ways::{Confirmed, Ends, Ways};

use candor_onion::cell::{DestroyReason, Message};
use candor_onion::circuit::{Circuits, Side};
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A link, shared by everything that has cells for the neighbour. `T` is kept for each circuit, and `P` for the link.
pub(crate) struct Link<T, P = ()> {
    pub(crate) outbox: Outbox,
    /// `None` once the link is closed: then no circuit can be opened any more.
    circuits: Mutex<Option<Circuits<T>>>,
    /// The Ed25519 identity that the other side has proved.
    pub(crate) peer: Option<[u8; 32]>,
    /// Whether CREATE2V may be sent.
    pub(crate) wide: bool,
    /// The other end as TCP has it.
    remote: SocketAddr,
    /// Who says that the other side is reached there.
    pub(crate) confirmed: Confirmed,
    /// No new circuit is led over it; it ends with those that it has.
    retired: AtomicBool,
    /// Cells that have come over it, where somebody counts them.
    heard: AtomicU64,
    /// Those among them that were made behind the neighbour.
    carried: AtomicU64,
    pub(crate) place: P,
}

impl<T: Clone, P> Link<T, P> {
    pub(crate) fn new(
        shaken: &Shaken,
        confirmed: Confirmed,
        side: Side,
        most_circuits: usize,
        budget: Arc<Budget>,
        place: P,
    ) -> Self {
        Self {
            outbox: Outbox::new(budget, most_circuits),
            circuits: Mutex::new(Some(Circuits::new(side, shaken.first_number, most_circuits))),
            peer: shaken.link.peer,
            wide: shaken.link.is_wide(),
            remote: shaken.remote,
            confirmed,
            retired: AtomicBool::new(false),
            heard: AtomicU64::new(0),
            carried: AtomicU64::new(0),
            place,
        }
    }

    /// Whether it is an open link for whoever asks for this neighbour at that address.
    pub(crate) fn leads_to(&self, address: SocketAddr) -> bool {
        let fits = match self.confirmed {
            Confirmed::No => self.remote == address,
            Confirmed::Port => self.remote.port() == address.port(),
            Confirmed::Yes => true,
        };
        fits && !self.is_closed() && !self.is_retired()
    }

    /// Gives a circuit of ours its number.
    pub(crate) fn open(&self, circuit: T) -> Result<u32, DestroyReason> {
        match &mut *self.circuits() {
            Some(circuits) => circuits.open(circuit).map_err(|_| DestroyReason::RESOURCELIMIT),
            None => Err(DestroyReason::CHANNEL_CLOSED),
        }
    }

    /// Takes in a circuit of the other side's.
    pub(crate) fn accept(&self, number: u32, circuit: T) -> Result<(), DestroyReason> {
        let Some(circuits) = &mut *self.circuits() else { return Err(DestroyReason::CHANNEL_CLOSED) };
        match circuits.accept(number, circuit) {
            Ok(_) => Ok(()),
            Err(candor_onion::Error::TooManyCircuits) => Err(DestroyReason::RESOURCELIMIT),
            Err(_) => Err(DestroyReason::PROTOCOL),
        }
    }

    pub(crate) fn circuit(&self, number: u32) -> Option<T> {
        self.circuits().as_mut()?.get_mut(number).cloned()
    }

    /// The same for one of several cells that have come at once, which often are of one circuit.
    pub(crate) fn circuit_of<'a>(&self, number: u32, recent: &'a mut Recent<T>) -> Option<&'a T> {
        if recent.0.as_ref().is_none_or(|(of, _)| *of != number) {
            recent.0 = self.circuit(number).map(|circuit| (number, circuit));
        }
        recent.0.as_ref().map(|(_, circuit)| circuit)
    }

    pub(crate) fn forget(&self, number: u32) {
        if let Some(circuits) = &mut *self.circuits() {
            circuits.remove(number);
            if self.is_retired() && circuits.is_empty() {
                self.outbox.close();
            }
        }
    }

    /// Leads no new circuit over it. It closes with its last one, or now if that has gone already.
    pub(crate) fn retire(&self) {
        let circuits = self.circuits();
        self.retired.store(true, Ordering::Relaxed);
        if circuits.as_ref().is_some_and(Circuits::is_empty) {
            self.outbox.close();
        }
    }

    /// Counts a cell that has come.
    pub(crate) fn hear(&self) {
        self.heard.fetch_add(1, Ordering::Relaxed);
    }

    /// How many cells have come.
    pub(crate) fn heard(&self) -> u64 {
        self.heard.load(Ordering::Relaxed)
    }

    /// Counts cells that have come and that the neighbour can't have made.
    pub(crate) fn carry(&self, cells: u64) {
        self.carried.fetch_add(cells, Ordering::Relaxed);
    }

    /// How many of those have come.
    pub(crate) fn carried(&self) -> u64 {
        self.carried.load(Ordering::Relaxed)
    }

    /// Gives back the room for more circuits than there are, if that is much. To be called now and then: a link that once had thousands would keep some hundred kB for them.
    pub(crate) fn tidy(&self) {
        if let Some(circuits) = &mut *self.circuits() {
            circuits.tidy();
        }
        self.outbox.tidy();
    }

    pub(crate) fn is_retired(&self) -> bool {
        self.retired.load(Ordering::Relaxed)
    }

    pub(crate) fn is_closed(&self) -> bool {
        self.circuits().is_none()
    }

    pub(crate) fn count(&self) -> usize {
        self.circuits().as_ref().map_or(0, Circuits::len)
    }

    /// Copies of what is kept of every circuit.
    pub(crate) fn all(&self) -> Vec<T> {
        self.circuits().as_ref().map_or_else(Vec::new, |circuits| circuits.values().cloned().collect())
    }

    /// Closes the link; its circuits are for the caller to end.
    pub(crate) fn close(&self) -> Vec<T> {
        let circuits = self.circuits().take();
        self.outbox.close();
        circuits.map_or_else(Vec::new, |mut circuits| circuits.drain().map(|(_, circuit)| circuit).collect())
    }

    fn circuits(&self) -> MutexGuard<'_, Option<Circuits<T>>> {
        locked(&self.circuits)
    }
}

/// The circuit of the last cell. It is to be forgotten when a cell comes that may change whose its number is, and when no more cells are
/// there.
#[derive(Debug)]
pub(crate) struct Recent<T>(Option<(u32, T)>);

impl<T> Recent<T> {
    pub(crate) fn none() -> Self {
        Self(None)
    }

    pub(crate) fn forget(&mut self) {
        self.0 = None;
    }
}

/// Queues a DESTROY for a number that no circuit has.
pub(crate) fn refuse<T, P>(link: &Link<T, P>, number: u32, reason: DestroyReason) {
    let _ = link.outbox.push(number, Message::Destroy(reason));
}

/// Locks; a panic of another holder is passed on to nobody, since what is locked here is consistent after each statement.
pub(crate) fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
