//! One direction of a link: how long a packet takes, and whether it arrives.
//!
//! The model knows no sockets and no clock. A back end tells it when a packet is ready to leave and how long it is; the model says when it
//! arrives at the other end, or why it does not. The order of packets is kept, as on a radio link with one transmitter.

use crate::DelayTrace;
use crate::random::Random;
use std::sync::Arc;
use std::time::Duration;

/// The properties of one direction of a link.
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    /// Time from the last bit sent to the last bit received.
    pub delay: Delay,
    /// Bits per second; `None` for a link that takes no time to send.
    pub rate: Option<u64>,
    /// Bytes that may wait for the transmitter, the packet in transmission included; `None` for any number.
    pub queue: Option<usize>,
    /// Which packets get lost on the way.
    pub loss: Loss,
}

/// One-way propagation delay.
#[derive(Clone, Debug, PartialEq)]
pub enum Delay {
    /// The same at all times.
    Constant(Duration),
    /// Varies in time; there may be times without a link.
    Trace(Arc<DelayTrace>),
}

impl Delay {
    /// The delay of a packet that leaves at `now`. `None` if there is no link then.
    pub fn at(&self, now: Duration) -> Option<Duration> {
        match self {
            Self::Constant(delay) => Some(*delay),
            Self::Trace(trace) => trace.at(now),
        }
    }
}

/// Random loss. Probabilities are between 0 and 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Loss {
    /// Nothing is lost.
    None,
    /// Each packet is lost with this probability, whatever happened to the others.
    Bernoulli(f64),
    /// Losses in bursts: a chain of two states, which may change after each packet (Gilbert, Bell System Technical Journal 39 (1960); Elliott,
    /// ibid. 42 (1963)). It starts in the good state.
    GilbertElliott {
        /// Probability of going from good to bad.
        to_bad: f64,
        /// Probability of going from bad to good.
        to_good: f64,
        /// Probability of loss in the good state.
        in_good: f64,
        /// Probability of loss in the bad state.
        in_bad: f64,
    },
}

impl Loss {
    /// Share of packets that are lost in the long run.
    pub fn mean(&self) -> f64 {
        match *self {
            Self::None => 0.0,
            Self::Bernoulli(loss) => loss,
            Self::GilbertElliott { to_bad, to_good, in_good, in_bad } if to_bad + to_good > 0.0 => {
                (to_good * in_good + to_bad * in_bad) / (to_bad + to_good)
            }
            Self::GilbertElliott { in_good, .. } => in_good,
        }
    }
}

/// What becomes of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fate {
    /// Arrives at this time.
    Arrives(Duration),
    /// Never arrives.
    Dropped(Drop),
}

/// Why a packet does not arrive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Drop {
    /// The queue is full.
    Queue,
    /// Lost on the way.
    Loss,
    /// There is no link at this time.
    NoLink,
}

/// One direction of a link in use.
#[derive(Clone, Debug)]
pub struct LinkModel {
    profile: Profile,
    random: Random,
    is_bad: bool,
    /// When the transmitter has sent everything that it has accepted.
    free_at: Duration,
    last_arrival: Duration,
}

impl LinkModel {
    /// A link with nothing on it. The same seed gives the same losses.
    pub fn new(profile: Profile, seed: u64) -> Self {
        Self {
            profile,
            random: Random::new(seed),
            is_bad: false,
            free_at: Duration::ZERO,
            last_arrival: Duration::ZERO,
        }
    }

    /// The link's properties.
    pub fn profile(&self) -> &Profile {
        &self.profile
    }

    /// Gives the link other properties from now on. What it has accepted arrives as it would have.
    pub fn change(&mut self, profile: Profile) {
        self.profile = profile;
    }

    /// Takes a packet of `bytes` that is ready to leave at `now`. `now` must not go back.
    pub fn enqueue(&mut self, now: Duration, bytes: usize) -> Fate {
        if self.profile.queue.is_some_and(|most| self.backlog(now) + bytes > most) {
            return Fate::Dropped(Drop::Queue);
        }
        let sent = self.free_at.max(now) + self.profile.rate.map_or(Duration::ZERO, |rate| serialisation(bytes, rate));
        self.free_at = sent;
        let is_lost = self.draws_loss();
        let Some(delay) = self.profile.delay.at(sent) else { return Fate::Dropped(Drop::NoLink) };
        if is_lost {
            return Fate::Dropped(Drop::Loss);
        }
        self.last_arrival = self.last_arrival.max(sent + delay);
        Fate::Arrives(self.last_arrival)
    }

    /// When the transmitter has sent everything that it has accepted.
    pub fn idle_at(&self) -> Duration {
        self.free_at
    }

    /// Bytes that wait for the transmitter.
    pub fn backlog(&self, now: Duration) -> usize {
        let Some(rate) = self.profile.rate else { return 0 };
        let waiting = self.free_at.saturating_sub(now);
        (waiting.as_nanos() * u128::from(rate)).div_ceil(8_000_000_000) as usize
    }

    fn draws_loss(&mut self) -> bool {
        match self.profile.loss {
            Loss::None => false,
            Loss::Bernoulli(loss) => self.random.unit() < loss,
            Loss::GilbertElliott { to_bad, to_good, in_good, in_bad } => {
                let is_lost = self.random.unit() < if self.is_bad { in_bad } else { in_good };
                let changes = self.random.unit() < if self.is_bad { to_good } else { to_bad };
                self.is_bad ^= changes;
                is_lost
            }
        }
    }
}

/// Time that `bytes` take at `rate` bits per second, rounded up to a nanosecond.
pub fn serialisation(bytes: usize, rate: u64) -> Duration {
    let nanoseconds = (bytes as u128 * 8_000_000_000).div_ceil(u128::from(rate.max(1)));
    Duration::from_nanos(nanoseconds.min(u128::from(u64::MAX)) as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    const MILLISECOND: Duration = Duration::from_millis(1);

    fn link(rate: Option<u64>, queue: Option<usize>, loss: Loss) -> LinkModel {
        LinkModel::new(Profile { delay: Delay::Constant(10 * MILLISECOND), rate, queue, loss }, 7)
    }

    #[test]
    fn a_packet_takes_its_serialisation_and_the_delay() {
        let mut link = link(Some(8_000_000), None, Loss::None);
        assert_eq!(link.enqueue(MILLISECOND, 1000), Fate::Arrives(12 * MILLISECOND));
        assert_eq!(link.enqueue(MILLISECOND, 1000), Fate::Arrives(13 * MILLISECOND), "waits for the first");
        assert_eq!(link.enqueue(50 * MILLISECOND, 1000), Fate::Arrives(61 * MILLISECOND), "finds the link free");
    }

    #[test]
    fn an_unlimited_link_sends_at_once() {
        let mut link = link(None, None, Loss::None);
        for _ in 0..3 {
            assert_eq!(link.enqueue(MILLISECOND, 1_000_000), Fate::Arrives(11 * MILLISECOND));
        }
    }

    #[test]
    fn what_does_not_fit_the_queue_is_dropped() {
        let mut link = link(Some(8_000_000), Some(3000), Loss::None);
        for _ in 0..3 {
            assert!(matches!(link.enqueue(Duration::ZERO, 1000), Fate::Arrives(_)));
        }
        assert_eq!(link.enqueue(Duration::ZERO, 1), Fate::Dropped(Drop::Queue));
        assert!(matches!(link.enqueue(MILLISECOND, 1000), Fate::Arrives(_)), "one packet has left");
    }

    #[test]
    fn there_is_no_way_while_the_trace_has_none() {
        let samples = vec![
            (Duration::ZERO, Some(10 * MILLISECOND)),
            (100 * MILLISECOND, Some(20 * MILLISECOND)),
            (101 * MILLISECOND, None),
            (200 * MILLISECOND, Some(5 * MILLISECOND)),
            (300 * MILLISECOND, Some(5 * MILLISECOND)),
        ];
        let delay = Delay::Trace(Arc::new(DelayTrace { samples }));
        let mut link = LinkModel::new(Profile { delay, rate: None, queue: None, loss: Loss::None }, 1);
        assert_eq!(link.enqueue(50 * MILLISECOND, 100), Fate::Arrives(65 * MILLISECOND));
        assert_eq!(link.enqueue(150 * MILLISECOND, 100), Fate::Dropped(Drop::NoLink));
        assert_eq!(link.enqueue(200 * MILLISECOND, 100), Fate::Arrives(205 * MILLISECOND));
    }

    #[test]
    fn a_shorter_delay_does_not_let_packets_overtake() {
        let samples = vec![(Duration::ZERO, Some(20 * MILLISECOND)), (2 * MILLISECOND, Some(MILLISECOND))];
        let delay = Delay::Trace(Arc::new(DelayTrace { samples }));
        let mut link = LinkModel::new(Profile { delay, rate: None, queue: None, loss: Loss::None }, 1);
        assert_eq!(link.enqueue(Duration::ZERO, 100), Fate::Arrives(20 * MILLISECOND));
        assert_eq!(link.enqueue(2 * MILLISECOND, 100), Fate::Arrives(20 * MILLISECOND));
    }

    /// Lost packets of 200,000, and how often a loss follows a loss.
    fn losses(loss: Loss) -> (f64, f64) {
        let mut link = link(None, None, loss);
        let lost: Vec<bool> =
            (0..200_000).map(|_| link.enqueue(Duration::ZERO, 1) == Fate::Dropped(Drop::Loss)).collect();
        let count = lost.iter().filter(|lost| **lost).count() as f64;
        let pairs = lost.windows(2).filter(|pair| pair[0] && pair[1]).count() as f64;
        (count / lost.len() as f64, pairs / count.max(1.0))
    }

    #[test]
    fn losses_come_as_often_as_the_model_says() {
        assert_eq!(losses(Loss::None).0, 0.0);
        // Five standard deviations of 200,000 draws at 5 % are 0.24 %.
        let (share, after) = losses(Loss::Bernoulli(0.05));
        assert!((share - 0.05).abs() < 0.0025, "{share}");
        assert!((after - 0.05).abs() < 0.012, "independent: {after}");
        let bursts = Loss::GilbertElliott { to_bad: 0.01, to_good: 0.19, in_good: 0.0, in_bad: 1.0 };
        assert!((bursts.mean() - 0.05).abs() < 1e-12);
        let (share, after) = losses(bursts);
        assert!((share - 0.05).abs() < 0.008, "{share}");
        assert!((after - 0.81).abs() < 0.03, "in bursts: {after}");
    }
}
