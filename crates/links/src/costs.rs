//! How long the computations take that virtual time has to account for.
//!
//! The simulator runs with back ends that compute almost nothing, so the time of a handshake comes from here: samples of a measurement, one of
//! which is drawn for each operation. What hosts do besides, system calls, records of TLS, cells and the waking of processes, is a crossing: samples of what
//! a cell takes from one host to the next where there is no distance.

use crate::random::Random;
use candor_onion::handshake::HandshakeType;
use std::collections::BTreeMap;
use std::time::Duration;

/// Samples of the steps of one handshake.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Steps {
    /// The client makes an onionskin.
    pub start: Vec<Duration>,
    /// The relay accepts and answers it.
    pub answer: Vec<Duration>,
    /// The client checks the reply.
    pub finish: Vec<Duration>,
}

/// A step of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step {
    Start,
    Answer,
    Finish,
}

/// What each handshake costs. One that is missing costs nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    handshakes: BTreeMap<HandshakeType, Steps>,
    /// What the cells of a handshake's message take from one host to the next beside the link's time; one that is missing takes nothing.
    crossings: BTreeMap<HandshakeType, Vec<Duration>>,
    /// Added to each step `answer`; the sensitivity of a circuit to computation is measured with it.
    more: Duration,
}

impl Costs {
    /// Computation takes no time.
    pub fn none() -> Self {
        Self::default()
    }

    /// Adds the samples of a handshake.
    #[must_use]
    pub fn with(mut self, handshake: HandshakeType, steps: Steps) -> Self {
        self.handshakes.insert(handshake, steps);
        self
    }

    /// Adds samples of what the cells of a handshake's message take from one host to the next, in either direction, beside the link's time. The exchange
    /// with the hop number n has 2n of them.
    #[must_use]
    pub fn with_crossings(mut self, handshake: HandshakeType, crossings: Vec<Duration>) -> Self {
        self.crossings.insert(handshake, crossings);
        self
    }

    /// The same, but relays need this much longer for each answer.
    #[must_use]
    pub fn and_more(mut self, more: Duration) -> Self {
        self.more += more;
        self
    }

    /// What one hop computes: the sum of its steps' medians. `None` if there are no samples of this handshake.
    pub fn hop(&self, handshake: HandshakeType) -> Option<Duration> {
        let Steps { start, answer, finish } = self.handshakes.get(&handshake)?;
        [start, answer, finish].into_iter().map(|samples| median(samples)).sum()
    }

    /// What hosts do besides computing, by the median of its samples: without luck, so that differences are exact. Computation takes no time.
    #[must_use]
    pub fn hosts(&self) -> Self {
        let medians = self.crossings.iter().map(|(handshake, samples)| (*handshake, Vec::from_iter(median(samples))));
        Self { crossings: medians.collect(), ..Self::none() }
    }

    /// Whether there are samples of what hosts do besides for this handshake.
    pub fn knows_hosts(&self, handshake: HandshakeType) -> bool {
        self.crossings.get(&handshake).is_some_and(|samples| !samples.is_empty())
    }

    /// What the hosts on the way to a hop and back add to an exchange: a sample for each crossing.
    pub(crate) fn exchange(&self, handshake: HandshakeType, hop: usize, random: &mut Random) -> Duration {
        match self.crossings.get(&handshake) {
            Some(samples) if !samples.is_empty() => (0..2 * hop).map(|_| samples[random.below(samples.len())]).sum(),
            _ => Duration::ZERO,
        }
    }

    /// The same for one cell there and one back: by samples of ntor, whose messages are that, where there are any.
    pub(crate) fn exchange_of_a_cell(&self, handshake: HandshakeType, hop: usize, random: &mut Random) -> Duration {
        let ntor = HandshakeType::Ntor;
        self.exchange(if self.knows_hosts(ntor) { ntor } else { handshake }, hop, random)
    }

    /// A sample of a step.
    pub(crate) fn draw(&self, handshake: HandshakeType, step: Step, random: &mut Random) -> Duration {
        let more = if step == Step::Answer { self.more } else { Duration::ZERO };
        let samples = self.handshakes.get(&handshake).map(|steps| match step {
            Step::Start => &steps.start,
            Step::Answer => &steps.answer,
            Step::Finish => &steps.finish,
        });
        match samples {
            Some(samples) if !samples.is_empty() => samples[random.below(samples.len())] + more,
            _ => more,
        }
    }
}

/// The middle one of the samples.
fn median(samples: &[Duration]) -> Option<Duration> {
    let mut samples = samples.to_vec();
    samples.sort_unstable();
    samples.get(samples.len() / 2).copied()
}
