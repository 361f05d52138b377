//! Many circuits of one plan, in numbers; and what a designer can save.

use crate::costs::Costs;
use crate::model::Loss;
use crate::record::Record;
use crate::simulator::{Outcome, Plan, SimulatorError, World};
use candor_onion::handshake::HandshakeType;
use std::time::Duration;

/// What is compared unless somebody asks for something else: the classical ones, the three levels, and one with post-quantum authentication.
pub const HANDSHAKES: [HandshakeType; 6] = [
    HandshakeType::Ntor,
    HandshakeType::NtorV3,
    HandshakeType::Hybrid512,
    HandshakeType::Hybrid768,
    HandshakeType::Hybrid1024,
    HandshakeType::Hybrid768Auth,
];

/// Times in ascending order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Times(Vec<Duration>);

impl Times {
    /// Sorts the times.
    pub fn new(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self(times)
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.0.len()
    }

    /// All of them.
    pub fn all(&self) -> &[Duration] {
        &self.0
    }

    /// The time that `percent` of all are at or below (nearest rank). `None` if fewer than ten times lie on its shorter side: it would be the luck of a
    /// few. The median needs one time only.
    pub fn percentile(&self, percent: u32) -> Option<Duration> {
        let shorter = self.0.len() * (percent.min(100 - percent.min(100)) as usize) / 100;
        if percent != 50 && shorter < 10 {
            return None;
        }
        let rank = (self.0.len() * percent as usize).div_ceil(100);
        self.0.get(rank.max(1) - 1).copied()
    }

    /// The median.
    pub fn median(&self) -> Option<Duration> {
        self.percentile(50)
    }
}

/// What became of the circuits of a plan. Times are those of circuits that were built.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// How many were begun.
    pub circuits: usize,
    /// Why those failed that were not built.
    pub failures: Vec<String>,
    /// Time to circuit.
    pub built: Times,
    /// Time of the client's link.
    pub link: Times,
    /// Time of each hop.
    pub hops: [Times; 3],
    /// Cells of a circuit: over the links to guard, middle and exit, each out and in.
    pub cells: [[u64; 2]; 3],
    /// Bytes likewise.
    pub bytes: [[u64; 2]; 3],
    /// Time to the first byte of the page.
    pub first_byte: Times,
    /// Median of the page's bits per second.
    pub goodput: Option<f64>,
    /// Segments that were sent again, and packets that found no link, a full queue, or were lost.
    pub resent: u64,
    /// Packets that found no link, a full queue, or were lost.
    pub dropped: [u64; 3],
}

/// Builds circuits, one after another, in one world. Where links follow satellites, circuits begin evenly over the time from the plan's beginning to
/// the end of the flight instead, each in a world of its own, and those that would begin without a link don't count.
///
/// # Errors
/// Those of [`World::new`].
pub fn survey(plan: &Plan, circuits: usize) -> Result<Summary, SimulatorError> {
    Ok(Summary::of(&outcomes(plan, circuits)?))
}

/// The circuits of a [`survey`], one by one.
///
/// # Errors
/// Those of [`World::new`].
pub fn outcomes(plan: &Plan, circuits: usize) -> Result<Vec<Outcome>, SimulatorError> {
    Ok(match plan.topology.flight() {
        None => {
            let mut world = World::new(plan)?;
            (0..circuits).map(|_| world.build()).collect()
        }
        Some(flight) => {
            let count = circuits.clamp(1, u32::MAX as usize) as u32;
            let interval = flight.ends().saturating_sub(plan.begin) / count;
            series(plan, interval, count)?.into_iter().filter_map(|(_, outcome)| outcome).collect()
        }
    })
}

/// A circuit every `interval`, each in a world of its own that begins then: how the time to circuit follows delays that vary. `None` where there is no
/// way for it at that time.
///
/// # Errors
/// Those of [`World::new`], but for a missing way.
pub fn series(plan: &Plan, interval: Duration, count: u32) -> Result<Vec<(Duration, Option<Outcome>)>, SimulatorError> {
    let mut outcomes = Vec::new();
    for index in 0..count {
        let begin = plan.begin + interval * index;
        let seed = plan.seed.wrapping_add(u64::from(index));
        let outcome = match World::new(&Plan { begin, seed, ..plan.clone() }) {
            Ok(mut world) => Some(world.build()),
            Err(SimulatorError::Topology(_)) => None,
            Err(error) => return Err(error),
        };
        outcomes.push((begin, outcome));
    }
    Ok(outcomes)
}

impl Summary {
    /// The numbers of these circuits.
    pub fn of(outcomes: &[Outcome]) -> Self {
        Self::of_records(&outcomes.iter().map(Record::from).collect::<Vec<_>>())
    }

    /// The same of circuits that were kept as lines.
    pub fn of_records(records: &[Record]) -> Self {
        let whole: Vec<&Record> = records.iter().filter(|record| record.built.is_some()).collect();
        let times = |of: &dyn Fn(&Record) -> Option<Duration>| {
            Times::new(whole.iter().filter_map(|record| of(record)).collect())
        };
        let mut goodputs: Vec<f64> = whole.iter().filter_map(|record| record.goodput()).collect();
        goodputs.sort_unstable_by(f64::total_cmp);
        let first = whole.first();
        // A record may come from a file, and its numbers from anywhere.
        let mut dropped = [0u64; 3];
        for record in records {
            dropped.iter_mut().zip(record.dropped).for_each(|(sum, one)| *sum = sum.saturating_add(one));
        }
        Self {
            circuits: records.len(),
            failures: records
                .iter()
                .filter(|record| record.built.is_none())
                .filter_map(|record| record.failure.clone())
                .collect(),
            built: times(&|record| record.built),
            link: times(&|record| Some(record.link)),
            hops: [0, 1, 2].map(|hop| times(&|record| record.hops.get(hop).copied())),
            cells: first.map(|record| record.cells).unwrap_or_default(),
            bytes: first.map(|record| record.bytes).unwrap_or_default(),
            first_byte: times(&|record| record.first_byte),
            goodput: goodputs.get(goodputs.len() / 2).copied(),
            resent: records.iter().fold(0, |sum: u64, record| sum.saturating_add(record.resent)),
            dropped,
        }
    }
}

/// What one thing more adds to the time to circuit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sensitivity {
    /// One more exchange of a cell between the client and the last hop.
    pub round_trip: Duration,
    /// One more cell of 514 bytes each way, in the message that creates one of the three hops, whichever it is: the difference between hybrid-1024 and
    /// hybrid-512, by the cells that hybrid-1024 sends more over the first link in all three creations together.
    pub cell: Duration,
    /// One more microsecond of each relay's answer.
    pub microsecond: Duration,
    /// Whether a round trip more has what hosts do besides, by the medians of its samples. Without samples it is left out.
    pub round_trip_has_hosts: bool,
    /// Whether a cell more has it: then it is known of both handshakes.
    pub cell_has_hosts: bool,
}

/// Adds one thing at a time to a plan, without losses, without what handshakes compute, and with the medians of what hosts do besides, so that differences
/// are exact. `None` where even then no circuit is built in time.
///
/// # Errors
/// Those of [`World::new`].
pub fn sensitivity(plan: &Plan) -> Result<Option<Sensitivity>, SimulatorError> {
    let hosts = plan.costs.hosts();
    let plan = Plan { topology: plan.topology.clone().lossless(), costs: hosts.clone(), fetch: None, ..plan.clone() };
    debug_assert!(plan.topology.links.iter().all(|link| link.ways[0].loss == Loss::None));
    let build = |plan: &Plan| World::new(plan).map(|mut world| world.build());
    let time = |plan: &Plan| build(plan).map(|outcome| outcome.built);
    let base = time(&plan)?;
    let exchange = time(&Plan { more_round_trips: plan.more_round_trips + 1, ..plan.clone() })?;
    let slow = time(&Plan { costs: hosts.clone().and_more(Duration::from_millis(1)), ..plan.clone() })?;
    // Of one of them alone they would be no difference of cells.
    let cell_has_hosts =
        [HandshakeType::Hybrid512, HandshakeType::Hybrid1024].into_iter().all(|handshake| hosts.knows_hosts(handshake));
    let round_trip_has_hosts =
        [HandshakeType::Ntor, plan.handshake].into_iter().any(|handshake| hosts.knows_hosts(handshake));
    let plan = Plan { costs: if cell_has_hosts { hosts } else { Costs::none() }, ..plan };
    let small = build(&Plan { handshake: HandshakeType::Hybrid512, ..plan.clone() })?;
    let large = build(&Plan { handshake: HandshakeType::Hybrid1024, ..plan })?;
    let bytes = large.bytes[0][0].saturating_sub(small.bytes[0][0]).max(1);
    let whole = (base, exchange, slow, small.built, large.built);
    let (Some(base), Some(exchange), Some(slow), Some(small), Some(large)) = whole else { return Ok(None) };
    Ok(Some(Sensitivity {
        round_trip: exchange.saturating_sub(base),
        cell: large.saturating_sub(small).mul_f64(514.0 / bytes as f64),
        microsecond: slow.saturating_sub(base) / 1000,
        round_trip_has_hosts,
        cell_has_hosts,
    }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Topology;

    fn plan(name: &str) -> Plan {
        let topology = Topology::built_in(name).unwrap().unwrap();
        Plan::new(topology, HandshakeType::Hybrid768)
    }

    #[test]
    fn percentiles_need_ten_times_beyond_them() {
        let times = |count: u64| Times::new((1..=count).rev().map(Duration::from_millis).collect());
        assert_eq!(times(0).median(), None);
        assert_eq!(times(1).median(), Some(Duration::from_millis(1)));
        assert_eq!(times(4).median(), Some(Duration::from_millis(2)));
        assert_eq!(times(199).percentile(95), None);
        assert_eq!(times(200).percentile(95), Some(Duration::from_millis(190)));
        assert_eq!(times(999).percentile(99), None);
        assert_eq!(times(1000).percentile(99), Some(Duration::from_millis(990)));
        assert_eq!((times(99).percentile(10), times(100).percentile(10)), (None, Some(Duration::from_millis(10))));
        assert_eq!(times(1000).count(), 1000);
    }

    #[test]
    fn a_survey_counts_what_was_built_and_what_was_not() {
        let mut plan = plan("sagin-01");
        plan.fetch = Some(20_000);
        let summary = survey(&plan, 50).unwrap();
        assert_eq!((summary.circuits, summary.built.count() + summary.failures.len()), (50, 50));
        assert!(summary.dropped[2] > 0 && summary.resent > 0);
        assert!(summary.goodput.is_some() && summary.first_byte.median().is_some());
        // Nobody gets through a link that loses nine packets of ten in time.
        for way in plan.topology.links.iter_mut().flat_map(|link| &mut link.ways) {
            way.loss = Loss::Bernoulli(0.9);
        }
        let summary = survey(&plan, 5).unwrap();
        assert_eq!((summary.built.median(), summary.failures.len()), (None, 5));
    }

    #[test]
    fn a_round_trip_more_is_what_the_delays_say_and_a_microsecond_is_three() {
        let mut plan = plan("leo-bent-pipe");
        plan.topology = plan.topology.ideal();
        let found = sensitivity(&plan).unwrap().unwrap();
        // Client to exit: 2.71 + 2.71 + 5 + 10 + 10 ms.
        assert_eq!(found.round_trip, Duration::from_micros(60_840));
        assert_eq!(found.cell, Duration::ZERO, "where nothing takes time to send");
        assert_eq!(found.microsecond, Duration::from_micros(3));
        let found = sensitivity(&self::plan("sagin-12")).unwrap().unwrap();
        assert!(found.cell > Duration::from_micros(100), "{found:?}");
    }

    #[test]
    fn a_round_trip_more_has_six_crossings_and_what_is_left_out_is_said() {
        let mut plan = plan("leo-bent-pipe");
        plan.topology = plan.topology.ideal();
        let micros = |micros: &[u64]| micros.iter().copied().map(Duration::from_micros).collect::<Vec<_>>();
        let bare = sensitivity(&plan).unwrap().unwrap();
        assert!(!bare.round_trip_has_hosts && !bare.cell_has_hosts);
        // The median is taken, of this handshake's samples where there are none of ntor.
        plan.costs = Costs::none().with_crossings(HandshakeType::Hybrid768, micros(&[1, 10, 1000]));
        let found = sensitivity(&plan).unwrap().unwrap();
        assert_eq!(found.round_trip, bare.round_trip + Duration::from_micros(60));
        assert!(found.round_trip_has_hosts && !found.cell_has_hosts);
        assert_eq!((found.cell, found.microsecond), (bare.cell, bare.microsecond));
        // A probe is one cell, as a message of ntor is.
        plan.costs = plan.costs.with_crossings(HandshakeType::Ntor, micros(&[4]));
        assert_eq!(sensitivity(&plan).unwrap().unwrap().round_trip, bare.round_trip + Duration::from_micros(24));
        // Half of what a cell costs is no cost of a cell.
        plan.costs = plan.costs.with_crossings(HandshakeType::Hybrid1024, micros(&[30]));
        assert_eq!(sensitivity(&plan).unwrap().unwrap().cell, bare.cell);
        plan.costs = plan.costs.with_crossings(HandshakeType::Hybrid512, micros(&[20]));
        let found = sensitivity(&plan).unwrap().unwrap();
        assert!(found.cell_has_hosts && found.cell > bare.cell, "{found:?}");
    }

    #[test]
    fn a_cell_more_is_one_in_one_creation() {
        let text = r#"
            title = "row"
            source = "test"
            node = [{ name = "a", kind = "ground" }, { name = "b", kind = "server" }, { name = "c", kind = "server" }, { name = "d", kind = "server" }]
            link = [
                { between = ["a", "b"], delay_ms = 10, rate_mbit = 1 }, { between = ["b", "c"], delay_ms = 10, rate_mbit = 1000 },
                { between = ["c", "d"], delay_ms = 10, rate_mbit = 1000 },
            ]
            roles = { client = "a", guard = "b", middle = "c", exit = "d", target = "d" }
        "#;
        let plan = Plan::new(Topology::parse("row", text).unwrap(), HandshakeType::Hybrid768);
        let cell = sensitivity(&plan).unwrap().unwrap().cell.as_secs_f64();
        // One cell there and one back over the slow link, whichever hop is created: not three. Headers and the other links are a few percent.
        let least = 2.0 * 514.0 * 8.0 / 1e6;
        assert!((least * 0.9..least * 1.2).contains(&cell), "{cell} for {least}");
    }

    #[test]
    fn where_no_circuit_comes_about_in_time_nothing_is_said_to_cost_nothing() {
        let mut plan = plan("leo-bent-pipe");
        for way in plan.topology.links.iter_mut().flat_map(|link| &mut link.ways) {
            way.delay = crate::model::Delay::Constant(Duration::from_secs(10));
        }
        assert_eq!(sensitivity(&plan).unwrap(), None);
    }
}
