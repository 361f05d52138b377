//! At which bandwidth the larger messages of a handshake cost a circuit more than its larger computation.
//!
//! Both are differences to another handshake: of the circuit's time where every link has one rate, nothing is lost and computation is free; and of the
//! computation of three hops. The first falls with the rate, the second does not, so they cross at most once.

use crate::costs::Costs;
use crate::simulator::{Plan, SimulatorError, World};
use candor_onion::handshake::HandshakeType;
use std::time::Duration;

/// How a handshake compares with another, by bandwidth.
#[derive(Clone, Debug, PartialEq)]
pub struct Crossover {
    /// How much longer its three hops compute, by the medians of their steps; negative if they compute less.
    pub computation: f64,
    /// Rates of every link in bits per second, ascending, and how much longer its messages make the circuit there, in seconds. Rates at which one of the two builds
    /// no circuit in time are left out.
    pub messages: Vec<(u64, f64)>,
}

/// Where the messages of a handshake cost more than its computation, among the rates that were looked at.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Crossing {
    /// Below this rate, in bits per second.
    Below(f64),
    /// At all of them.
    AtAnyRate,
    /// At none of them.
    AtNoRate,
    /// Nobody knows: there is no rate at which both handshakes build a circuit in time.
    Unknown,
}

impl Crossing {
    /// The rate that divides the two, if one does.
    pub fn rate(self) -> Option<f64> {
        if let Self::Below(rate) = self { Some(rate) } else { None }
    }
}

impl Crossover {
    /// Where the messages cost more than the computation.
    pub fn crossing(&self) -> Crossing {
        let more = self.messages.iter().filter(|(_, more)| *more > self.computation).count();
        match more {
            _ if self.messages.is_empty() => Crossing::Unknown,
            0 => Crossing::AtNoRate,
            _ if more == self.messages.len() => Crossing::AtAnyRate,
            _ => self.below().map_or(Crossing::Unknown, Crossing::Below),
        }
    }

    fn below(&self) -> Option<f64> {
        let cross = |pair: &[(u64, f64)]| {
            let ((slow, above), (fast, below)) = (pair[0], pair[1]);
            let (slow, fast) = ((slow as f64).ln(), (fast as f64).ln());
            let crosses = above > self.computation && below <= self.computation;
            crosses.then(|| (slow + (above - self.computation) / (above - below) * (fast - slow)).exp())
        };
        self.messages.windows(2).find_map(cross)
    }
}

/// Ten rates for each factor of ten, from 100 kbit/s to 10 Gbit/s.
pub fn rates() -> Vec<u64> {
    (0..=50).map(|step| (1e5 * 10f64.powf(f64::from(step) / 10.0)).round() as u64).collect()
}

/// Compares the plan's handshake with another one at these rates.
///
/// # Errors
/// Those of [`World::new`].
pub fn crossover(plan: &Plan, other: HandshakeType, rates: &[u64]) -> Result<Crossover, SimulatorError> {
    let time = |handshake, rate| {
        let topology = plan.topology.clone().at_rate(rate);
        let plan = Plan { topology, handshake, costs: Costs::none(), fetch: None, ..plan.clone() };
        World::new(&plan).map(|mut world| world.build().built.map(|built| built.as_secs_f64()))
    };
    let mut messages = Vec::with_capacity(rates.len());
    for &rate in rates {
        if let (Some(one), Some(other)) = (time(plan.handshake, rate)?, time(other, rate)?) {
            messages.push((rate, one - other));
        }
    }
    let hops = |handshake| 3.0 * plan.costs.hop(handshake).unwrap_or(Duration::ZERO).as_secs_f64();
    Ok(Crossover { computation: hops(plan.handshake) - hops(other), messages })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::costs::Steps;
    use crate::topology::Topology;

    fn plan(micros: u64) -> Plan {
        let topology = Topology::built_in("leo-bent-pipe").unwrap().unwrap();
        let step = |micros| vec![Duration::from_micros(micros)];
        let steps = |micros| Steps { start: step(micros), answer: step(micros), finish: step(micros) };
        let costs = Costs::none().with(HandshakeType::Hybrid768, steps(micros)).with(HandshakeType::NtorV3, steps(10));
        Plan { costs, ..Plan::new(topology, HandshakeType::Hybrid768) }
    }

    #[test]
    fn messages_weigh_less_the_faster_the_links_and_cross_the_computation_once() {
        let found = crossover(&plan(100), HandshakeType::NtorV3, &rates()).unwrap();
        assert!((found.computation - 3.0 * 3.0 * 90e-6).abs() < 1e-12);
        assert!(found.messages.windows(2).all(|pair| pair[1].1 <= pair[0].1), "{found:?}");
        let rate = found.crossing().rate().unwrap();
        let at = |rate| crossover(&plan(100), HandshakeType::NtorV3, &[rate]).unwrap().messages[0].1;
        assert!(at((rate * 0.9) as u64) > found.computation && at((rate * 1.1) as u64) < found.computation, "{rate}");
    }

    #[test]
    fn where_nothing_crosses_one_side_always_costs_more() {
        // A handshake that computes less than the other loses nothing by its messages on fast links only.
        let found = crossover(&plan(0), HandshakeType::NtorV3, &rates()).unwrap();
        assert!(found.computation < 0.0);
        assert_eq!(found.crossing(), Crossing::AtAnyRate);
        assert_eq!(Crossover { computation: 1e9, ..found }.crossing(), Crossing::AtNoRate);
        let none = Crossover { computation: 1.0, messages: Vec::new() };
        assert_eq!((none.crossing(), none.crossing().rate()), (Crossing::Unknown, None));
        assert_eq!(rates().len(), 51);
        assert_eq!((rates()[0], rates()[50]), (100_000, 10_000_000_000));
    }
}
