//! What strangers take, counted by network, in a bounded table.

use super::limits::{NetworkLimits, Rate};
use crate::clock;
use crate::link::locked;
use crate::prefix::Prefix;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// The table. A network is in it while it holds anything or has not been quiet for long enough to have its whole burst again.
pub(crate) struct Networks {
    limits: NetworkLimits,
    most: usize,
    exempt: Vec<Prefix>,
    rows: Mutex<HashMap<Prefix, Row>>,
}

struct Row {
    connections: usize,
    half_open: usize,
    circuits: usize,
    connects: Bucket,
    creations: Bucket,
}

/// What a network has too much of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TooMany {
    Connections,
    HalfOpen,
    Connects,
    Circuits,
    Creations,
}

impl TooMany {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::HalfOpen => "connections without a finished handshake",
            Self::Connects => "new connections a second",
            Self::Circuits => "circuits",
            Self::Creations => "new circuits a second",
        }
    }
}

impl Networks {
    pub(crate) fn new(limits: NetworkLimits, most: usize, exempt: Vec<Prefix>) -> Arc<Self> {
        Arc::new(Self { limits, most, exempt, rows: Mutex::default() })
    }

    /// Whether the address is in a network that is declared to be a test's.
    pub(crate) fn is_exempt(&self, address: IpAddr) -> bool {
        self.exempt.iter().any(|prefix| prefix.contains(address))
    }

    /// Takes a connection in. `listed`: a relay of our list has this address. Until the handshake proves that it is the relay, the
    /// connection is counted for the address alone, so that neither strangers of its network nor an exit on its host lock it out.
    pub(crate) fn admit(self: &Arc<Self>, address: IpAddr, listed: bool) -> Result<Place, TooMany> {
        self.admit_as(address, listed, false)
    }

    /// Takes a connection in from a directory's address. It is counted for the address alone, before the handshake and afterwards, so that nobody in its
    /// network can use up what it needs to try whether the relay is there.
    pub(super) fn admit_directory(self: &Arc<Self>, address: IpAddr) -> Result<Place, TooMany> {
        self.admit_as(address, true, true)
    }

    fn admit_as(self: &Arc<Self>, address: IpAddr, listed: bool, directory: bool) -> Result<Place, TooMany> {
        if self.is_exempt(address) {
            return Ok(Place::default());
        }
        let prefix = if listed { Prefix::only(address) } else { Prefix::around(address) };
        let now = clock::instant();
        self.with_row(prefix, now, |row, limits| {
            if row.connections >= limits.connections {
                return Err(TooMany::Connections);
            }
            if row.half_open >= if listed { limits.unproven } else { limits.half_open } {
                return Err(TooMany::HalfOpen);
            }
            if !row.connects.take(limits.connects, now) {
                return Err(TooMany::Connects);
            }
            row.connections += 1;
            row.half_open += 1;
            Ok(())
        })?;
        let networks = Arc::clone(self);
        Ok(Place::Stranger(Counted { networks, prefix, connection: true, half_open: true, directory }))
    }

    /// A link that we have made to a stranger: its circuits count, the link itself is ours.
    pub(super) fn dialled(self: &Arc<Self>, address: IpAddr) -> Place {
        if self.is_exempt(address) {
            return Place::default();
        }
        let prefix = Prefix::around(address);
        let networks = Arc::clone(self);
        Place::Stranger(Counted { networks, prefix, connection: false, half_open: false, directory: false })
    }

    /// A connection that has finished its handshake, from a listed relay's address, but not that relay's: from now on it is counted as a
    /// stranger's.
    fn admit_open(self: &Arc<Self>, address: IpAddr) -> Result<Place, TooMany> {
        let prefix = Prefix::around(address);
        self.with_row(prefix, clock::instant(), |row, limits| {
            if row.connections >= limits.connections {
                return Err(TooMany::Connections);
            }
            row.connections += 1;
            Ok(())
        })?;
        let networks = Arc::clone(self);
        Ok(Place::Stranger(Counted { networks, prefix, connection: true, half_open: false, directory: false }))
    }

    /// How many networks are remembered.
    pub(crate) fn count(&self) -> usize {
        locked(&self.rows).len()
    }

    /// Connections that have not finished their handshake, of all networks.
    pub(super) fn half_open(&self) -> usize {
        locked(&self.rows).values().map(|row| row.half_open).sum()
    }

    /// Forgets networks that hold nothing and have been quiet for long enough.
    pub(crate) fn forget_quiet(&self) {
        let now = clock::instant();
        locked(&self.rows).retain(|_, row| row.is_held() || !row.is_rested(self.limits, now));
    }

    fn with_row<T>(&self, prefix: Prefix, now: Instant, work: impl FnOnce(&mut Row, NetworkLimits) -> T) -> T {
        let mut rows = locked(&self.rows);
        if rows.len() >= self.most && !rows.contains_key(&prefix) {
            // Rows that hold something stay: there are no more of them than connections and circuits. An attacker who has more
            // networks than the table has rows gains nothing by emptying it.
            rows.retain(|_, row| row.is_held());
        }
        let limits = self.limits;
        work(rows.entry(prefix).or_insert_with(|| Row::new(limits, now)), limits)
    }
}

impl Row {
    fn new(limits: NetworkLimits, now: Instant) -> Self {
        Self {
            connections: 0,
            half_open: 0,
            circuits: 0,
            connects: Bucket::full(limits.connects, now),
            creations: Bucket::full(limits.creations, now),
        }
    }

    fn is_held(&self) -> bool {
        self.connections + self.half_open + self.circuits > 0
    }

    fn is_rested(&self, limits: NetworkLimits, now: Instant) -> bool {
        self.connects.is_full(limits.connects, now) && self.creations.is_full(limits.creations, now)
    }
}

/// A link's place in the table. Dropping it gives the place back.
#[derive(Default)]
pub(crate) enum Place {
    /// A link of a test network, which is not counted.
    #[default]
    Exempt,
    /// A listed relay's link, which is not counted since it carries many clients.
    Listed,
    /// A stranger's link.
    Stranger(Counted),
}

pub(crate) struct Counted {
    networks: Arc<Networks>,
    prefix: Prefix,
    connection: bool,
    half_open: bool,
    /// It comes from a directory's address.
    directory: bool,
}

impl Place {
    /// The place of a connection from `address` that has finished the link handshake. `proved`: it has proved to be a listed relay at its
    /// listed address.
    pub(super) fn handshake_done(mut self, address: IpAddr, proved: bool) -> Result<Self, TooMany> {
        if proved {
            return Ok(Self::Listed);
        }
        let Self::Stranger(counted) = &mut self else { return Ok(self) };
        if counted.prefix != Prefix::around(address) && !counted.directory {
            return counted.networks.admit_open(address);
        }
        counted.half_open = false;
        counted.change(|row| row.half_open -= 1);
        Ok(self)
    }

    /// Whether it is a listed relay's.
    pub(super) fn is_listed(&self) -> bool {
        matches!(self, Self::Listed)
    }

    /// Whether it comes from a directory's address.
    pub(super) fn is_directorys(&self) -> bool {
        matches!(self, Self::Stranger(counted) if counted.directory)
    }

    /// The network that it counts for, if any.
    pub(super) fn network(&self) -> Option<Prefix> {
        match self {
            Self::Exempt | Self::Listed => None,
            Self::Stranger(counted) => Some(counted.prefix),
        }
    }

    /// Room for one more circuit.
    pub(crate) fn circuit(&self) -> Result<CircuitPlace, TooMany> {
        let Self::Stranger(counted) = self else { return Ok(CircuitPlace(None)) };
        let now = clock::instant();
        counted.networks.with_row(counted.prefix, now, |row, limits| {
            if row.circuits >= limits.circuits {
                return Err(TooMany::Circuits);
            }
            if !row.creations.take(limits.creations, now) {
                return Err(TooMany::Creations);
            }
            row.circuits += 1;
            Ok(())
        })?;
        Ok(CircuitPlace(Some((Arc::clone(&counted.networks), counted.prefix))))
    }
}

impl Counted {
    fn change(&self, work: impl FnOnce(&mut Row)) {
        if let Some(row) = locked(&self.networks.rows).get_mut(&self.prefix) {
            work(row);
        }
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let (connection, half_open) = (self.connection, self.half_open);
        self.change(|row| {
            row.connections -= usize::from(connection);
            row.half_open -= usize::from(half_open);
        });
    }
}

/// A circuit's place in the table. Dropping it gives the place back.
pub(crate) struct CircuitPlace(Option<(Arc<Networks>, Prefix)>);

impl Drop for CircuitPlace {
    fn drop(&mut self) {
        if let Some((networks, prefix)) = &self.0
            && let Some(row) = locked(&networks.rows).get_mut(prefix)
        {
            row.circuits -= 1;
        }
    }
}

/// A token bucket.
struct Bucket {
    tokens: f64,
    at: Instant,
}

impl Bucket {
    fn full(rate: Rate, now: Instant) -> Self {
        Self { tokens: rate.burst.into(), at: now }
    }

    fn take(&mut self, rate: Rate, now: Instant) -> bool {
        self.tokens = self.tokens_at(rate, now);
        self.at = now;
        let some = self.tokens >= 1.0;
        self.tokens -= if some { 1.0 } else { 0.0 };
        some
    }

    fn is_full(&self, rate: Rate, now: Instant) -> bool {
        self.tokens_at(rate, now) >= f64::from(rate.burst)
    }

    fn tokens_at(&self, rate: Rate, now: Instant) -> f64 {
        let since = now.saturating_duration_since(self.at).as_secs_f64();
        (self.tokens + since * f64::from(rate.per_second)).min(rate.burst.into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tokio::time::advance;

    const LIMITS: NetworkLimits = NetworkLimits {
        connections: 3,
        half_open: 2,
        connects: Rate { burst: 5, per_second: 1 },
        circuits: 2,
        creations: Rate { burst: 3, per_second: 1 },
        unproven: 1,
        dialled: 1,
        asked: 1,
    };

    fn networks(most: usize) -> Arc<Networks> {
        Networks::new(LIMITS, most, vec!["10.0.0.0/8".parse().unwrap()])
    }

    fn address(third: u8, last: u8) -> IpAddr {
        [192, 0, third, last].into()
    }

    #[tokio::test(start_paused = true)]
    async fn a_network_has_its_bounds_and_gets_back_what_it_gives_back() {
        let networks = networks(10);
        let first = networks.admit(address(2, 1), false).unwrap();
        let second = networks.admit(address(2, 2), false).unwrap();
        assert_eq!(networks.admit(address(2, 3), false).err(), Some(TooMany::HalfOpen));
        assert!(networks.admit(address(3, 3), false).is_ok(), "another network");
        assert!(networks.admit(address(2, 3), true).is_ok(), "a listed relay in the same one");
        let first = first.handshake_done(address(2, 1), false).unwrap();
        let third = networks.admit(address(2, 3), false).unwrap();
        assert_eq!(networks.admit(address(2, 4), false).err(), Some(TooMany::Connections));
        assert_eq!(networks.half_open(), 2);
        drop((first, second, third));
        assert_eq!(networks.half_open(), 0);
        for _ in 0..2 {
            networks.admit(address(2, 4), false).unwrap();
        }
        assert_eq!(networks.admit(address(2, 4), false).err(), Some(TooMany::Connects), "five were made");
        advance(Duration::from_secs(1)).await;
        assert!(networks.admit(address(2, 4), false).is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn a_listed_relays_address_proves_nothing_until_the_handshake_does() {
        let networks = networks(10);
        let relay = address(2, 1);
        let unproven = networks.admit(relay, true).unwrap();
        assert_eq!(networks.admit(relay, true).err(), Some(TooMany::HalfOpen), "one may be without proof");
        let stranger = unproven.handshake_done(relay, false).unwrap();
        assert_eq!(stranger.network(), Some(Prefix::around(relay)), "it counts for its network now");
        let second = networks.admit(relay, true).unwrap().handshake_done(relay, false).unwrap();
        let third = networks.admit(relay, true).unwrap().handshake_done(relay, false).unwrap();
        let fourth = networks.admit(relay, true).unwrap();
        assert_eq!(fourth.handshake_done(relay, false).err(), Some(TooMany::Connections), "three are a network's");
        let proved = networks.admit(relay, true).unwrap().handshake_done(relay, true).unwrap();
        assert!(proved.is_listed() && proved.network().is_none());
        drop((stranger, second, third));
        advance(Duration::from_secs(5)).await;
        networks.forget_quiet();
        assert_eq!(networks.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn circuits_are_counted_by_network_whatever_link_they_come_over() {
        let networks = networks(10);
        let links = [1, 2].map(|last| networks.admit(address(2, last), false).unwrap());
        let circuits = [links[0].circuit().unwrap(), links[1].circuit().unwrap()];
        assert_eq!(links[0].circuit().err(), Some(TooMany::Circuits));
        drop(circuits);
        assert!(links[0].circuit().is_ok());
        assert_eq!(links[1].circuit().err(), Some(TooMany::Creations), "three were made");
        advance(Duration::from_secs(1)).await;
        assert!(links[1].circuit().is_ok());
    }

    #[tokio::test(start_paused = true)]
    async fn neighbours_of_a_directory_use_up_nothing_of_what_it_may_take() {
        let networks = networks(10);
        let directory = address(2, 1);
        // Its neighbours have all connections and all creations of its network.
        let open =
            |last| networks.admit(address(2, last), false).unwrap().handshake_done(address(2, last), false).unwrap();
        let crowd = [open(2), open(3), open(4)];
        let circuits = crowd[..2].iter().map(|link| link.circuit().unwrap()).collect::<Vec<_>>();
        assert_eq!(crowd[0].circuit().err(), Some(TooMany::Circuits));
        drop(circuits);
        drop(crowd[0].circuit().unwrap());
        assert_eq!(crowd[0].circuit().err(), Some(TooMany::Creations));
        assert_eq!(
            networks.admit(directory, false).err(),
            Some(TooMany::Connections),
            "as a stranger it would be refused"
        );
        let place = networks.admit_directory(directory).unwrap().handshake_done(directory, false).unwrap();
        assert!(place.is_directorys() && place.network() == Some(Prefix::only(directory)));
        let (first, second) = (place.circuit().unwrap(), place.circuit().unwrap());
        assert_eq!(place.circuit().err(), Some(TooMany::Circuits), "it has the bounds of one network");
        drop((crowd, place, first, second));
        advance(Duration::from_secs(5)).await;
        networks.forget_quiet();
        assert_eq!(networks.count(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn test_networks_have_no_bounds() {
        let networks = networks(10);
        let places: Vec<_> = (0..100).map(|_| networks.admit([10, 1, 2, 3].into(), false).unwrap()).collect();
        let circuits: Vec<_> = places.iter().map(|place| place.circuit().unwrap()).collect();
        assert_eq!((networks.count(), circuits.len()), (0, 100));
    }

    #[tokio::test(start_paused = true)]
    async fn the_table_is_bounded_and_forgets_those_that_are_quiet() {
        let networks = networks(10);
        let held = networks.admit(address(0, 1), false).unwrap();
        for third in 1..=200 {
            networks.admit(address(third, 1), false).unwrap();
        }
        assert!(networks.count() <= 10, "{}", networks.count());
        advance(Duration::from_secs(5)).await;
        networks.forget_quiet();
        assert_eq!(networks.count(), 1, "one still holds a connection");
        drop(held);
        networks.forget_quiet();
        assert_eq!(networks.count(), 0);
    }

    impl std::fmt::Debug for Place {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "Place({:?})", self.network())
        }
    }

    impl std::fmt::Debug for CircuitPlace {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            write!(f, "CircuitPlace({})", self.0.is_some())
        }
    }
}
