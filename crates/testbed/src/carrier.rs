//! Packets on their way over a topology's links. No sockets, no clock: it is told what time it is.

use crate::addresses::{self, Place};
use candor_links::Agenda;
use candor_links::model::{Drop, Fate, LinkModel};
use candor_links::topology::{Role, Step, Topology, TopologyError};
use std::collections::{BTreeMap, VecDeque};
use std::net::Ipv4Addr;
use std::time::Duration;

/// Leads packets from node to node.
///
/// Ways are those of the simulator: between two parts of a circuit the one with the least delay. A packet is enqueued into each link of its way at the time
/// when it arrives there, however late anybody looks, so that lateness does not add up along a way.
pub struct Carrier {
    roles: [usize; Role::ALL.len()],
    links: Vec<[LinkModel; 2]>,
    /// Between the nodes of two different parts.
    ways: BTreeMap<[usize; 2], Vec<Step>>,
    flying: Agenda<Flying>,
    /// Arrived, and not yet fetched.
    arrived: VecDeque<Arrived>,
    counts: Counts,
}

/// A packet that has arrived.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Arrived {
    /// The node that it is for.
    pub node: usize,
    /// The packet.
    pub packet: Vec<u8>,
    /// When it arrived by the model.
    pub at: Duration,
}

/// What became of packets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Packets that arrived.
    pub arrived: u64,
    /// Packets that found no link, a full queue, or were lost.
    pub dropped: [u64; 3],
    /// Packets that are for nobody here.
    pub strangers: u64,
    /// How much later than the model says packets were handed over.
    pub late: Lateness,
    /// The longest that packets may have waited in their device before they were read, which is when their way begins. Nothing is known of it where the kernel does
    /// not count how long a thread waits for a processor.
    pub waited: Lateness,
}

struct Flying {
    way: [usize; 2],
    /// The step of its way that it takes next.
    step: usize,
    packet: Vec<u8>,
}

impl Carrier {
    /// Links with nothing on them, with the losses of the simulator under this seed. Ways are those that have the least delay at `begin`.
    ///
    /// # Errors
    /// [`TopologyError`] if no link has values under this name, or if there is no way between two parts of a circuit.
    pub fn new(topology: &Topology, set: Option<&str>, seed: u64, begin: Duration) -> Result<Self, TopologyError> {
        let known = topology.sets();
        // A link without values under this name has its own, so a name that is misspelt would go unnoticed.
        if let Some(set) = set.filter(|set| !known.contains(set)) {
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            let what = format!("no set `{set}`; it has: {known}");
            return Err(TopologyError { file: format!("{}.toml", topology.name), line: None, what });
        }
        let roles = Role::ALL.map(|role| topology.node_of(role));
        let mut ways = BTreeMap::new();
        for from in Role::ALL {
            for to in Role::ALL {
                let ends = [topology.node_of(from), topology.node_of(to)];
                if ends[0] != ends[1] && !ways.contains_key(&ends) {
                    ways.insert(ends, topology.way_at(from, to, set, begin)?);
                }
            }
        }
        let links = topology.models(set, seed);
        let (flying, arrived) = (Agenda::default(), VecDeque::new());
        Ok(Self { roles, links, ways, flying, arrived, counts: Counts::default() })
    }

    /// Takes a packet that a node sends at `now`.
    pub fn take(&mut self, node: usize, packet: &[u8], now: Duration) {
        // Links want their packets in the order of time.
        self.advance(now);
        let to = destination(packet).and_then(addresses::place).map(|place| match place {
            Place::Node(node) => node,
            Place::Role(role) => self.roles[role as usize],
        });
        let way = to.map(|to| [node, to]).filter(|way| self.ways.contains_key(way));
        let Some(way) = way else {
            self.counts.strangers += 1;
            return;
        };
        self.go(now, Flying { way, step: 0, packet: packet.to_vec() });
    }

    /// The next packet that has arrived by `now`.
    pub fn fetch(&mut self, now: Duration) -> Option<Arrived> {
        self.advance(now);
        self.arrived.pop_front()
    }

    /// When something happens next.
    pub fn next(&self) -> Option<Duration> {
        match self.arrived.front() {
            Some(arrived) => Some(arrived.at),
            None => self.flying.next(),
        }
    }

    /// A packet was handed over so much after its arrival.
    pub fn handed_over(&mut self, late: Duration) {
        self.counts.late.add(late);
    }

    /// A packet that was taken may have waited for so long before.
    pub fn waited(&mut self, longest: Duration) {
        self.counts.waited.add(longest);
    }

    /// What became of packets so far.
    pub fn counts(&self) -> &Counts {
        &self.counts
    }

    fn advance(&mut self, now: Duration) {
        while let Some((at, flying)) = self.flying.take_due(now) {
            self.go(at, flying);
        }
    }

    /// Lets a packet that is there at this time take the next step of its way, or arrive.
    fn go(&mut self, at: Duration, flying: Flying) {
        let way = self.ways.get(&flying.way).map_or(&[][..], Vec::as_slice);
        let Some(step) = way.get(flying.step) else {
            self.counts.arrived += 1;
            self.arrived.push_back(Arrived { node: flying.way[1], packet: flying.packet, at });
            return;
        };
        match self.links[step.link][usize::from(step.back)].enqueue(at, flying.packet.len()) {
            Fate::Arrives(at) => self.flying.add(at, Flying { step: flying.step + 1, ..flying }),
            Fate::Dropped(why) => {
                self.counts.dropped[match why {
                    Drop::NoLink => 0,
                    Drop::Queue => 1,
                    Drop::Loss => 2,
                }] += 1;
            }
        }
    }
}

/// Where an IPv4 packet goes. `None` if it is something else.
fn destination(packet: &[u8]) -> Option<Ipv4Addr> {
    let is_version_4 = packet.first()? >> 4 == 4;
    let address: [u8; 4] = packet.get(16..20)?.try_into().ok()?;
    is_version_4.then(|| address.into())
}

/// How late packets were, in steps of ten microseconds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lateness {
    /// Packets by lateness; the last entry has all those beyond.
    steps: Vec<u64>,
}

impl Default for Lateness {
    fn default() -> Self {
        Self { steps: vec![0; Self::STEPS + 1] }
    }
}

impl Lateness {
    const STEP: Duration = Duration::from_micros(10);
    /// 20 ms.
    const STEPS: usize = 2000;

    fn add(&mut self, late: Duration) {
        let step = (late.as_nanos() / Self::STEP.as_nanos()) as usize;
        self.steps[step.min(Self::STEPS)] += 1;
    }

    /// What `percent` of the packets were late at most, to the next ten microseconds, and at 20 ms no more is known. `None` without packets.
    pub fn percentile(&self, percent: u32) -> Option<Duration> {
        let all: u64 = self.steps.iter().sum();
        let rank = (all * u64::from(percent.min(100))).div_ceil(100).max(1);
        let mut seen = 0;
        let step = self.steps.iter().position(|count| {
            seen += count;
            seen >= rank
        })?;
        Some(Self::STEP * (step as u32 + 1))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_links::model::Loss;

    const MS: Duration = Duration::from_millis(1);

    /// A row of three nodes: the client, the guard, and all the others.
    fn row() -> Topology {
        let text = r#"
            title = "row"
            source = "test"
            node = [{ name = "a", kind = "ground" }, { name = "b", kind = "server" }, { name = "c", kind = "server" }]
            link = [
                { between = ["a", "b"], delay_ms = 10, rate_mbit = 8 },
                { between = ["b", "c"], delay_ms = 5, rate_mbit = 80, loss_percent = 20 },
            ]
            roles = { client = "a", guard = "b", middle = "c", exit = "c", target = "c" }
        "#;
        Topology::parse("row", text).unwrap()
    }

    fn packet(to: Ipv4Addr, length: usize) -> Vec<u8> {
        let mut packet = vec![0; length];
        packet[0] = 0x45;
        packet[16..20].copy_from_slice(&to.octets());
        packet
    }

    fn carrier(topology: &Topology, seed: u64) -> Carrier {
        Carrier::new(topology, None, seed, Duration::ZERO).unwrap()
    }

    #[test]
    fn a_packet_takes_each_link_of_its_way_however_late_anybody_looks() {
        let mut carrier = carrier(&row().lossless(), 1);
        let packet = packet(addresses::address(Role::Exit, 7), 1000);
        carrier.take(0, &packet, MS);
        // 1 ms to send, 10 ms on the way, then 0.1 ms and 5 ms.
        assert_eq!((carrier.next(), carrier.fetch(11 * MS)), (Some(12 * MS), None));
        let at = 17 * MS + MS / 10;
        assert_eq!(carrier.fetch(at - Duration::from_nanos(1)), None);
        assert_eq!(carrier.fetch(30 * MS), Some(Arrived { node: 2, packet, at }));
        assert_eq!((carrier.next(), carrier.fetch(60 * MS)), (None, None));
        assert_eq!(carrier.counts().arrived, 1);
    }

    #[test]
    fn nodes_are_reached_as_well_as_parts_and_strangers_are_not() {
        let mut carrier = carrier(&row().lossless(), 1);
        carrier.take(2, &packet(addresses::of_node(0), 100), Duration::ZERO);
        assert_eq!(carrier.fetch(100 * MS).map(|arrived| arrived.node), Some(0));
        let mut version_6 = packet(addresses::of_node(0), 100);
        version_6[0] = 0x60;
        let strangers = [
            packet([192, 0, 2, 1].into(), 100),
            packet(addresses::of_node(77), 100),
            // The node's own: that never comes out of its device.
            packet(addresses::of_node(2), 100),
            version_6,
            packet(addresses::of_node(0), 100)[..19].to_vec(),
            Vec::new(),
        ];
        for stranger in strangers {
            carrier.take(2, &stranger, 200 * MS);
        }
        assert_eq!((carrier.next(), carrier.counts().strangers), (None, 6));
    }

    #[test]
    fn losses_are_those_of_the_links_and_the_same_for_the_same_seed() {
        let lost = |topology: &Topology, seed| {
            let mut carrier = carrier(topology, seed);
            for number in 0..1000 {
                carrier.take(1, &packet(addresses::address(Role::Middle, number), 100), MS * number);
            }
            let mut arrived = Vec::new();
            while let Some(Arrived { packet, .. }) = carrier.fetch(2000 * MS) {
                arrived.push(destination(&packet));
            }
            let counts = carrier.counts();
            assert_eq!(counts.arrived as usize, arrived.len());
            assert_eq!(counts.arrived + counts.dropped[2], 1000);
            arrived
        };
        let one = lost(&row(), 1);
        assert!((700..900).contains(&one.len()), "{}", one.len());
        assert!(one == lost(&row(), 1), "the same seed");
        assert!(one != lost(&row(), 2), "another seed");
        assert_eq!(lost(&row().lossless(), 1).len(), 1000);
    }

    #[test]
    fn a_packet_takes_as_long_as_a_delay_that_varies_says_when_it_sets_out() {
        let mut topology = row().lossless();
        let at = Duration::from_secs;
        let (near, far) = (Some(2 * MS), Some(102 * MS));
        let samples = vec![(at(0), None), (at(100), near), (at(200), far), (at(300), None)];
        topology.vary(["b", "c"], &std::sync::Arc::new(candor_links::DelayTrace { samples })).unwrap();
        let error = Carrier::new(&topology, None, 1, at(50)).err().expect("there is no link yet");
        assert!(error.to_string().contains("row.toml"), "{error}");
        let mut carrier = Carrier::new(&topology, None, 1, at(100)).unwrap();
        let packet = packet(addresses::address(Role::Middle, 0), 1000);
        for (now, delay) in [(at(100), 2 * MS), (at(150), 52 * MS), (at(199), 101 * MS)] {
            carrier.take(1, &packet, now);
            // It takes a tenth of a millisecond to send, and meanwhile the delay grows by a tenth of a microsecond.
            let arrives = now + delay + MS / 10;
            assert_eq!(carrier.fetch(arrives - Duration::from_micros(1)), None);
            let arrived = carrier.fetch(arrives + Duration::from_micros(1)).expect("it has arrived");
            assert!(arrived.at.abs_diff(arrives) <= Duration::from_micros(1), "{:?}", arrived.at);
        }
        carrier.take(1, &packet, at(300));
        assert_eq!((carrier.next(), carrier.counts().dropped), (None, [1, 0, 0]));
    }

    #[test]
    fn a_set_that_no_link_has_is_an_error_and_one_of_the_topology_is_taken() {
        let topology = Topology::built_in("sagin-01").unwrap().unwrap();
        let known = topology.sets();
        assert!(!known.is_empty());
        for set in &known {
            assert!(Carrier::new(&topology, Some(set), 1, Duration::ZERO).is_ok(), "{set}");
        }
        let said = |topology: &Topology| {
            Carrier::new(topology, Some("no-such"), 1, Duration::ZERO).err().expect("there is none").to_string()
        };
        assert_eq!(said(&topology), format!("sagin-01.toml: no set `no-such`; it has: {}", known.join(", ")));
        assert_eq!(said(&row()), "row.toml: no set `no-such`; it has: none");
    }

    #[test]
    fn a_full_queue_and_a_missing_link_are_told_apart() {
        let mut topology = row();
        topology.links[0].ways[0].queue = Some(1500);
        topology.links[1].ways[0].loss = Loss::None;
        let gone = candor_links::DelayTrace { samples: vec![(Duration::ZERO, Some(5 * MS)), (MS, None)] };
        let mut carrier = {
            let whole = Carrier::new(&topology, None, 1, Duration::ZERO).unwrap();
            topology.vary(["b", "c"], &std::sync::Arc::new(gone)).unwrap();
            Carrier { links: topology.models(None, 1), ..whole }
        };
        for _ in 0..2 {
            carrier.take(0, &packet(addresses::address(Role::Guard, 0), 1000), Duration::ZERO);
        }
        carrier.take(1, &packet(addresses::address(Role::Middle, 0), 1000), 2 * MS);
        assert_eq!(carrier.counts().dropped, [1, 1, 0]);
    }

    #[test]
    fn lateness_has_percentiles() {
        let mut late = Lateness::default();
        assert_eq!(late.percentile(50), None);
        for number in 0..100 {
            late.add(Duration::from_micros(10 * number + 5));
        }
        assert_eq!(late.percentile(50), Some(Duration::from_micros(500)));
        assert_eq!(late.percentile(99), Some(Duration::from_micros(990)));
        late.add(Duration::from_secs(1));
        assert_eq!(late.percentile(100), Some(Duration::from_micros(20_010)));
    }
}
