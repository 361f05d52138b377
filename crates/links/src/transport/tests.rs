use super::*;
use crate::model::{Delay, Fate, LinkModel, Loss, Profile};
use proptest::prelude::*;
use std::collections::BTreeMap;

const MS: Duration = Duration::from_millis(1);

/// Two ends and a link each way.
struct Pair {
    ends: [Endpoint; 2],
    links: [LinkModel; 2],
    /// By time and number: the end that gets it, and what.
    flying: BTreeMap<(Duration, u64), (usize, Segment)>,
    now: Duration,
    count: u64,
    sent: [usize; 2],
    /// Numbers of packets, counted from 0, that are lost.
    lose: Vec<u64>,
}

impl Pair {
    fn new(delay: Duration, rate: Option<u64>, loss: Loss, seed: u64) -> Self {
        let profile = Profile { delay: Delay::Constant(delay), rate, queue: Some(200_000), loss };
        Self {
            ends: [Endpoint::new(), Endpoint::new()],
            links: [LinkModel::new(profile.clone(), seed), LinkModel::new(profile, seed ^ 1)],
            flying: BTreeMap::new(),
            now: Duration::ZERO,
            count: 0,
            sent: [0; 2],
            lose: Vec::new(),
        }
    }

    fn flush(&mut self) {
        for end in 0..2 {
            while let Some(segment) = self.ends[end].poll() {
                self.sent[end] += 1;
                let number = self.count;
                self.count += 1;
                if self.lose.contains(&number) {
                    continue;
                }
                if let Fate::Arrives(at) = self.links[end].enqueue(self.now, segment.bytes()) {
                    self.flying.insert((at, number), (1 - end, segment));
                }
            }
        }
    }

    /// Runs until `done`, at most an hour.
    fn until(&mut self, done: impl Fn(&Self) -> bool) {
        self.flush();
        while !done(self) {
            let timers = self.ends.iter().filter_map(Endpoint::deadline).min();
            let packet = self.flying.keys().next().map(|(at, _)| *at);
            let next = [timers, packet].into_iter().flatten().min().expect("something is to happen");
            self.now = self.now.max(next);
            assert!(self.now < Duration::from_secs(3600), "takes for ever");
            if packet == Some(next) {
                let (_, (end, segment)) = self.flying.pop_first().unwrap();
                self.ends[end].receive(&segment, self.now);
            } else {
                self.ends.iter_mut().for_each(|end| end.tick(next));
            }
            self.flush();
        }
    }

    fn transfer(&mut self, bytes: u64) -> Duration {
        self.ends[0].connect(self.now);
        self.ends[0].write(bytes, self.now);
        self.until(|pair| pair.ends[1].received() == bytes);
        self.now
    }
}

#[test]
fn the_first_byte_needs_three_traversals_and_the_window_doubles_each_round() {
    let mut pair = Pair::new(50 * MS, None, Loss::None, 1);
    assert_eq!(pair.transfer(1), 150 * MS);
    // 10, 20, 40 segments in three flights.
    let mut pair = Pair::new(50 * MS, None, Loss::None, 1);
    assert_eq!(pair.transfer(10 * SEGMENT), 150 * MS);
    let mut pair = Pair::new(50 * MS, None, Loss::None, 1);
    assert_eq!(pair.transfer(11 * SEGMENT), 250 * MS);
    let mut pair = Pair::new(50 * MS, None, Loss::None, 1);
    assert_eq!(pair.transfer(70 * SEGMENT), 350 * MS);
    assert_eq!(pair.ends[0].resent() + pair.ends[1].resent(), 0);
}

#[test]
fn a_long_transfer_fills_the_link() {
    let mut pair = Pair::new(10 * MS, Some(20_000_000), Loss::None, 1);
    let bytes = 20_000_000;
    let rate = bytes as f64 * 8.0 / pair.transfer(bytes).as_secs_f64();
    // The headers take 3.5 %.
    assert!(rate > 17_000_000.0 && rate < 19_400_000.0, "{rate}");
}

#[test]
fn a_lost_syn_costs_a_second() {
    let mut pair = Pair::new(50 * MS, None, Loss::None, 1);
    pair.lose = vec![0];
    assert_eq!(pair.transfer(1), Duration::from_millis(1150));
}

#[test]
fn a_syn_is_sent_again_five_times_after_a_second_before_the_time_doubles() {
    let time = |lose: &[u64]| {
        let mut pair = Pair::new(50 * MS, None, Loss::None, 1);
        pair.lose = lose.to_vec();
        pair.transfer(1)
    };
    assert_eq!(time(&[0, 1, 2]), Duration::from_millis(3150));
    assert_eq!(time(&[0, 1, 2, 3, 4, 5]), Duration::from_millis(7150), "five seconds, and two more");
}

/// At which seconds an end to which nobody answers sends, and when it gives up.
fn in_silence(mut end: Endpoint) -> (Vec<u64>, u64) {
    let (mut sent, mut now) = (Vec::new(), Duration::ZERO);
    loop {
        while end.poll().is_some() {
            sent.push(now.as_secs());
        }
        match end.deadline() {
            Some(at) => now = at,
            None => return (sent, now.as_secs()),
        }
        end.tick(now);
    }
}

/// What Linux 6.5 and later do with `tcp_syn_retries` 6, `tcp_syn_linear_timeouts` 4 and `tcp_synack_retries` 5.
#[test]
fn an_end_that_hears_nothing_gives_up_after_eleven_syns_or_six_answers_to_one() {
    let mut end = Endpoint::new();
    end.connect(Duration::ZERO);
    let syn = Segment { syn: true, acknowledges: false, start: 0, length: 0, ack: 0, ranges: Vec::new() };
    assert_eq!(in_silence(end), (vec![0, 1, 2, 3, 4, 5, 7, 11, 19, 35, 67], 131));
    let mut end = Endpoint::new();
    end.receive(&syn, Duration::ZERO);
    assert_eq!(in_silence(end), (vec![0, 1, 3, 7, 15, 31], 63));
    // One that is answered at last is not given up.
    let mut pair = Pair::new(50 * MS, None, Loss::None, 1);
    pair.lose = (0..10).collect();
    assert_eq!(pair.transfer(1), Duration::from_millis(67_150));
    assert!(pair.ends.iter().all(|end| !end.has_given_up()));
}

#[test]
fn a_second_syn_is_answered_again_and_is_no_timeout_of_the_answer() {
    let mut end = Endpoint::new();
    let syn = Segment { syn: true, acknowledges: false, start: 0, length: 0, ack: 0, ranges: Vec::new() };
    for _ in 0..20 {
        end.receive(&syn, Duration::ZERO);
    }
    let (sent, gave_up) = in_silence(end);
    assert_eq!((sent.iter().filter(|at| **at == 0).count(), gave_up), (20, 63));
}

#[test]
fn a_loss_halves_the_window() {
    let mut pair = Pair::new(50 * MS, None, Loss::None, 1);
    pair.transfer(70 * SEGMENT);
    pair.until(|pair| pair.flying.is_empty());
    let before = pair.ends[0].sending.window;
    pair.lose = vec![pair.count];
    let now = pair.now;
    pair.ends[0].write(5 * SEGMENT, now);
    pair.until(|pair| pair.ends[1].received() == 75 * SEGMENT);
    assert_eq!(pair.ends[0].sending.window, before / 2.0);
}

#[test]
fn a_segment_lost_in_the_middle_of_a_flight_costs_a_round_trip() {
    let mut pair = Pair::new(50 * MS, None, Loss::None, 1);
    // SYN, SYN-ACK, then the acknowledgement's ride: the second data segment is number 3.
    pair.lose = vec![3];
    let time = pair.transfer(10 * SEGMENT);
    assert_eq!(time, 250 * MS, "sent again once three later ones have arrived");
    assert_eq!(pair.ends[0].resent(), 1);
}

#[test]
fn the_tail_of_a_flight_is_probed_for_after_two_round_trips() {
    let mut pair = Pair::new(50 * MS, None, Loss::None, 1);
    pair.lose = vec![4];
    // The last of three segments is lost; the others' acknowledgements arrive at 200 ms and start the timer again. The one that is left is
    // alone, so that the probe's 2 · 100 + 200 ms are above the timeout of 100 + 200 ms, which counts.
    assert_eq!(pair.transfer(3 * SEGMENT), 550 * MS);
    assert_eq!(pair.ends[0].resent(), 1);
}

#[test]
fn who_has_answered_lets_acknowledgements_wait_so_that_a_lost_tail_is_soon_probed_for() {
    let lost_tail = |has_answered: bool| {
        let mut pair = Pair::new(10 * MS, None, Loss::None, 1);
        pair.transfer(100);
        if has_answered {
            let now = pair.now;
            pair.ends[1].write(100, now);
            pair.until(|pair| pair.ends[0].received() == 100);
        }
        pair.until(|pair| pair.flying.is_empty());
        pair.lose = vec![pair.count + 1];
        let start = pair.now;
        pair.ends[0].write(SEGMENT + 100, start);
        pair.until(|pair| pair.ends[1].received() == SEGMENT + 200);
        pair.now - start
    };
    // Both segments are still in flight for the sender: two round trips and 8 ms, then 10 ms there.
    assert_eq!(lost_tail(true), 58 * MS);
    // The first was acknowledged at once, after 20 ms; the second is then alone, and waits for the timeout of 20 + 200 ms.
    assert_eq!(lost_tail(false), 250 * MS);
}

#[test]
fn everything_arrives_whatever_is_lost() {
    for seed in 0..30 {
        let mut pair = Pair::new(5 * MS, Some(10_000_000), Loss::Bernoulli(0.1), seed);
        pair.transfer(200_000);
        assert!(pair.ends[0].resent() > 0);
        let bursts = Loss::GilbertElliott { to_bad: 0.05, to_good: 0.3, in_good: 0.0, in_bad: 0.8 };
        Pair::new(5 * MS, Some(10_000_000), bursts, seed).transfer(200_000);
    }
}

#[test]
fn losses_make_a_transfer_slower() {
    let time = |loss| Pair::new(10 * MS, Some(20_000_000), loss, 3).transfer(5_000_000);
    let (none, some, many) = (time(Loss::None), time(Loss::Bernoulli(0.005)), time(Loss::Bernoulli(0.05)));
    assert!(none < some && some < many, "{none:?} {some:?} {many:?}");
}

#[test]
fn after_the_first_sixteen_every_second_segment_is_acknowledged_or_the_last_after_40_ms() {
    let mut pair = Pair::new(10 * MS, None, Loss::None, 1);
    pair.transfer(200 * SEGMENT);
    let acknowledgements = pair.sent[1];
    assert!((90..=130).contains(&acknowledgements), "{acknowledgements}");
    // A lone small segment later: 10 ms there, 40 ms of waiting, 10 ms back.
    pair.until(|pair| pair.flying.is_empty());
    let (start, before) = (pair.now, pair.sent[1]);
    pair.ends[0].write(100, start);
    pair.until(|pair| pair.sent[1] > before);
    assert_eq!(pair.now - start, 50 * MS);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]
    #[test]
    fn whatever_is_written_both_ways_arrives_and_no_more(
        delay in 0..300u64, rate in prop::option::of(500_000..100_000_000u64), loss in 0.0..0.15f64, seed: u64,
        writes in prop::collection::vec((0..2usize, 1..40_000u64), 1..12)
    ) {
        let mut pair = Pair::new(Duration::from_millis(delay), rate, Loss::Bernoulli(loss), seed);
        pair.ends[0].connect(pair.now);
        let mut written = [0, 0];
        for (end, bytes) in writes {
            written[end] += bytes;
            let now = pair.now;
            pair.ends[end].write(bytes, now);
            // The next is written while this is on its way.
            let half = written[end] - bytes / 2;
            pair.until(|pair| pair.ends[1 - end].received() >= half);
            prop_assert!((0..2).all(|end| pair.ends[1 - end].received() <= written[end]));
        }
        pair.until(|pair| (0..2).all(|end| pair.ends[1 - end].received() == written[end]));
    }
}
