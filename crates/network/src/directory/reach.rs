//! Who answers where it says it is, and whose turn it is to be asked.
//!
//! Whoever holds a key can sign that its relay is anywhere. So an authority makes a link with a relay at each of its addresses, which proves that its
//! identity answers there, and lists no descriptor before. It asks again from time to time. Until a relay has answered, it waits, and takes no other
//! relay's place:
//!
//! - those that wait are few, and counted by the network that their registrations came from ([`ReachLimits::waiting_per_network`]);
//! - those that wait, those that are listed, and those of the latter that have not answered lately have places of their own among the tries of a moment
//!   ([`ReachLimits::at_once`]), so that none of the three holds up another;
//! - networks that registrations came from take turns, and a network that strangers claim addresses in is tried at intervals
//!   ([`ReachLimits::pause`]), so that nobody makes the authority knock anywhere often. A relay that registers from its own network doesn't wait for
//!   strangers who claim to be there.

use crate::prefix::Prefix;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// How an authority finds out whether relays are there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReachLimits {
    /// From one try of a relay to the next while it answers.
    pub every: Duration,
    /// How long a relay is listed after it has answered for the last time. While no relay at all answers, it is the authority that is cut off, and
    /// that time does not pass.
    pub good_for: Duration,
    /// How long an answer may take.
    pub patience: Duration,
    /// The wait after a try without an answer; it doubles with each, up to [`Self::every`].
    pub retry: Duration,
    /// How long a relay may wait for its first answer before it is forgotten.
    pub waiting: Duration,
    /// Relays that wait and were registered from one /24 of IPv4 or /48 of IPv6. Test networks are exempt.
    pub waiting_per_network: usize,
    /// Relays that wait in all. When they are as many, the network with the most loses one to a network with fewer.
    pub waiting_in_all: usize,
    /// Relays that are tried at a time, for each of: those that wait, those that are listed, and those that have not answered lately.
    pub at_once: usize,
    /// In one /24 or /48, from one try of a relay that was registered from elsewhere to the next. Test networks are exempt.
    pub pause: Duration,
}

impl Default for ReachLimits {
    /// A try every twenty minutes, and 45 of silence, about as Tor has it; 16 relays of a network may wait, 1,024 in all, for ten minutes.
    fn default() -> Self {
        Self {
            every: Duration::from_secs(20 * 60),
            good_for: Duration::from_secs(45 * 60),
            patience: Duration::from_secs(10),
            retry: Duration::from_secs(10),
            waiting: Duration::from_secs(10 * 60),
            waiting_per_network: 16,
            waiting_in_all: 1024,
            at_once: 32,
            pause: Duration::from_secs(2),
        }
    }
}

/// What is known of a relay's answers.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    /// The network that its newest descriptor came from.
    pub(super) from: Prefix,
    /// Since when it waits, or has been known.
    since: Instant,
    /// Its addresses that have answered, and when last, by the registry's own time.
    answered: Vec<(SocketAddr, Instant)>,
    /// When it was tried last, and is to be tried.
    last: Option<Instant>,
    next: Instant,
    failures: u32,
    /// It is being tried.
    tried: bool,
}

impl Reach {
    /// Of a relay that has just been registered from there.
    pub(super) fn new(from: Prefix, now: Instant) -> Self {
        Self { from, since: now, answered: Vec::new(), last: None, next: now, failures: 0, tried: false }
    }

    /// Of a relay that had answered before the authority was started again. Its turn comes within `every`, by its identity, so that not all are
    /// tried at once.
    pub(super) fn restored(
        addresses: &[SocketAddr],
        identity: &[u8; 32],
        (now, moment): (Instant, Instant),
        every: Duration,
    ) -> Self {
        let turn = every * u32::from(identity[0]) / 256;
        let answered = addresses.iter().map(|address| (*address, moment)).collect();
        Self { answered, next: now + turn, ..Self::new(Prefix::around(addresses[0].ip()), now) }
    }

    /// Whether all these addresses have answered lately, at that moment of the registry's own time. What has answered the last time is good until it is
    /// tried again: whoever takes up all the tries has nobody else dropped.
    pub(super) fn is_proved(&self, addresses: &[SocketAddr], moment: Instant, good_for: Duration) -> bool {
        let answers = |address: &SocketAddr| {
            let at = self.answered.iter().find(|(answered, _)| answered == address).map(|(_, at)| *at);
            at.is_some_and(|at| self.failures == 0 || moment.saturating_duration_since(at) < good_for)
        };
        addresses.iter().all(answers)
    }

    /// It has published other addresses, or the same anew. Only what has not answered yet hastens its turn.
    pub(super) fn republished(&mut self, from: Prefix, is_proved: bool, now: Instant, limits: &ReachLimits) {
        self.from = from;
        if !is_proved && self.failures == 0 {
            // One that publishes again and again is tried no more often for that.
            self.next = self.last.map_or(now, |last| (last + limits.retry).max(now));
        }
    }

    /// It is being tried.
    pub(super) fn begin(&mut self) {
        self.tried = true;
    }

    /// What has come of a try of these addresses: which have answered. `kept`: the addresses of its descriptors.
    pub(super) fn tried(
        &mut self,
        answers: &[(SocketAddr, bool)],
        kept: &[SocketAddr],
        (now, moment): (Instant, Instant),
        limits: &ReachLimits,
    ) {
        self.tried = false;
        self.last = Some(now);
        for (address, _) in answers.iter().filter(|(_, is_there)| *is_there) {
            self.answered.retain(|(answered, _)| answered != address);
            self.answered.push((*address, moment));
        }
        self.answered.retain(|(address, _)| kept.contains(address));
        if answers.iter().all(|(_, is_there)| *is_there) {
            self.failures = 0;
            self.next = now + limits.every;
        } else {
            let wait = limits.retry.saturating_mul(1 << self.failures.min(16));
            self.failures = self.failures.saturating_add(1);
            self.next = now + wait.min(limits.every);
        }
    }

    /// Nothing was learnt from a try.
    pub(super) fn put_off(&mut self, now: Instant, limits: &ReachLimits) {
        (self.tried, self.next) = (false, now + limits.retry);
    }

    /// Whether one that has not been proved has been tried, and has waited for too long.
    pub(super) fn is_given_up(&self, now: Instant, limits: &ReachLimits) -> bool {
        !self.tried && self.failures > 0 && now.saturating_duration_since(self.since) >= limits.waiting
    }

    /// Whether the last try had no answer.
    pub(super) fn was_in_vain(&self) -> bool {
        self.failures > 0
    }

    pub(super) fn since(&self) -> Instant {
        self.since
    }

    pub(super) fn is_due(&self, now: Instant) -> bool {
        !self.tried && self.next <= now
    }

    /// Whose places a try of it takes.
    pub(super) fn lane(&self, is_proved: bool) -> Lane {
        match (is_proved, self.failures) {
            (false, _) => Lane::Waiting,
            (true, 0) => Lane::Listed,
            (true, _) => Lane::Silent,
        }
    }
}

/// Whose places a try takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Lane {
    /// What it has published last has not been proved.
    Waiting,
    /// It has answered the last time.
    Listed,
    /// It has not.
    Silent,
}

/// A relay to be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Due {
    pub(super) identity: [u8; 32],
    pub(super) addresses: Vec<SocketAddr>,
    pub(super) lane: Lane,
    /// The network that it was registered from.
    pub(super) from: Prefix,
    /// Networks that it claims to be in and was not registered from, other than test networks.
    pub(super) claimed: Vec<Prefix>,
    /// Since when it is its turn.
    pub(super) next: Instant,
}

impl Due {
    pub(super) fn new(
        identity: [u8; 32],
        addresses: &[SocketAddr],
        reach: &Reach,
        lane: Lane,
        exempt: &[Prefix],
    ) -> Self {
        let is_claimed = |address: &&SocketAddr| {
            lane == Lane::Waiting
                && !exempt.iter().any(|prefix| prefix.contains(address.ip()))
                && !reach.from.contains(address.ip())
        };
        let claimed = addresses.iter().filter(is_claimed).map(|address| Prefix::around(address.ip())).collect();
        let (from, next) = (reach.from, reach.next);
        Self { identity, addresses: addresses.to_vec(), lane, from, claimed, next }
    }
}

/// Whose turn it is.
#[derive(Default)]
pub(super) struct Turns {
    /// How many are being tried.
    running: HashMap<Lane, usize>,
    /// When networks that registrations came from had their last turn, by number.
    turns: HashMap<Prefix, u64>,
    turn: u64,
    /// When strangers' claims to networks were last tried.
    knocked: HashMap<Prefix, Instant>,
}

impl Turns {
    /// Those of `due` that are to be tried now.
    pub(super) fn choose(&mut self, mut due: Vec<Due>, now: Instant, limits: &ReachLimits) -> Vec<Due> {
        self.knocked.retain(|_, at| now.saturating_duration_since(*at) < limits.pause);
        self.turns.retain(|network, _| due.iter().any(|due| due.from == *network));
        let mut chosen = Vec::new();
        // The last is taken out first.
        due.sort_by_key(|due| Reverse(due.next));
        for lane in [Lane::Listed, Lane::Silent] {
            let mut of_lane: Vec<_> = due.extract_if(.., |due| due.lane == lane).collect();
            while self.has_room(lane, limits)
                && let Some(next) = of_lane.pop()
            {
                self.start(next, &mut chosen);
            }
        }
        while self.has_room(Lane::Waiting, limits) {
            let may = |due: &Due| !due.claimed.iter().any(|network| self.knocked.contains_key(network));
            let turn = |due: &Due| (self.turns.get(&due.from).copied().unwrap_or(0), due.next);
            let next = (0..due.len()).filter(|index| may(&due[*index])).min_by_key(|index| turn(&due[*index]));
            let Some(next) = next.map(|index| due.swap_remove(index)) else { break };
            self.turn += 1;
            self.turns.insert(next.from, self.turn);
            self.knocked.extend(next.claimed.iter().map(|network| (*network, now)));
            self.start(next, &mut chosen);
        }
        chosen
    }

    fn has_room(&self, lane: Lane, limits: &ReachLimits) -> bool {
        self.running.get(&lane).is_none_or(|running| *running < limits.at_once)
    }

    fn start(&mut self, due: Due, chosen: &mut Vec<Due>) {
        *self.running.entry(due.lane).or_default() += 1;
        chosen.push(due);
    }

    /// A try is over.
    pub(super) fn done(&mut self, lane: Lane) {
        if let Some(running) = self.running.get_mut(&lane) {
            *running = running.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIMITS: ReachLimits = ReachLimits {
        every: Duration::from_secs(1200),
        good_for: Duration::from_secs(2700),
        patience: Duration::from_secs(10),
        retry: Duration::from_secs(10),
        waiting: Duration::from_secs(600),
        waiting_per_network: 16,
        waiting_in_all: 1024,
        at_once: 4,
        pause: Duration::from_secs(2),
    };

    fn address(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn network(text: &str) -> Prefix {
        Prefix::around(address(text).ip())
    }

    /// A relay that was registered from the first address's network and claims to be at the second.
    fn due(number: u8, from: &str, at: &str, lane: Lane, next: Instant) -> Due {
        let reach = Reach { next, ..Reach::new(network(from), next) };
        Due::new([number; 32], &[address(at)], &reach, lane, &[])
    }

    fn numbers(chosen: &[Due]) -> Vec<u8> {
        chosen.iter().map(|due| due.identity[0]).collect()
    }

    #[test]
    fn an_address_is_proved_by_its_answer_and_for_its_time() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let both = [address("8.8.8.8:1"), address("[2600::1]:1")];
        let mut reach = Reach::new(network("8.8.8.8:1"), start);
        let proved = |reach: &Reach, seconds| reach.is_proved(&both, after(seconds), LIMITS.good_for);
        assert!(reach.is_due(start) && !proved(&reach, 0));
        reach.begin();
        assert!(!reach.is_due(after(9)), "it is being tried");
        reach.tried(&[(both[0], true), (both[1], false)], &both, (after(1), after(1)), &LIMITS);
        assert!(!proved(&reach, 1), "one of two addresses is not enough");
        assert!(!reach.is_due(after(10)) && reach.is_due(after(11)));
        reach.tried(&[(both[0], true), (both[1], false)], &both, (after(11), after(11)), &LIMITS);
        assert!(!reach.is_due(after(30)) && reach.is_due(after(31)), "twice as long");
        reach.tried(&both.map(|address| (address, true)), &both, (after(31), after(31)), &LIMITS);
        assert!(proved(&reach, 31) && !reach.is_due(after(1230)) && reach.is_due(after(1231)));
        // The second falls silent; the first goes on.
        reach.tried(&[(both[0], true), (both[1], false)], &both, (after(1231), after(1231)), &LIMITS);
        assert!(proved(&reach, 31 + 2699) && !proved(&reach, 31 + 2700));
        assert_eq!((reach.lane(true), reach.lane(false)), (Lane::Silent, Lane::Waiting));
        // It moves: what it said before is forgotten, and the new address has to answer.
        reach.tried(&[(both[0], true)], &both[..1], (after(1300), after(1300)), &LIMITS);
        assert_eq!(reach.answered.len(), 1);
        let mut waits = Reach::new(network("8.8.8.8:1"), start);
        assert!(!waits.is_given_up(after(600), &LIMITS), "nobody has tried it");
        waits.tried(&[(both[0], false)], &both, (start, start), &LIMITS);
        assert!(waits.is_given_up(after(600), &LIMITS) && !waits.is_given_up(after(599), &LIMITS));
    }

    #[test]
    fn who_publishes_again_and_again_is_tried_no_more_often() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let home = address("8.8.8.8:1");
        let mut reach = Reach::new(network("8.8.8.8:1"), start);
        reach.tried(&[(home, true)], &[home], (start, start), &LIMITS);
        reach.republished(network("8.8.8.8:1"), true, after(1), &LIMITS);
        assert!(!reach.is_due(after(1199)), "nothing is new");
        reach.republished(network("8.8.8.8:1"), false, after(1), &LIMITS);
        assert!(!reach.is_due(after(9)) && reach.is_due(after(10)), "a new address");
        reach.tried(&[(home, false)], &[home], (after(10), after(10)), &LIMITS);
        reach.republished(network("8.8.8.8:1"), false, after(11), &LIMITS);
        assert!(!reach.is_due(after(19)) && reach.is_due(after(20)));
    }

    #[test]
    fn newcomers_take_turns_by_the_network_that_they_came_from() {
        let now = Instant::now();
        let mut turns = Turns::default();
        let mut all: Vec<_> = (0..9).map(|number| due(number, "8.8.8.8:1", "8.8.8.9:1", Lane::Waiting, now)).collect();
        all.push(due(50, "9.9.9.9:1", "9.9.9.9:1", Lane::Waiting, now + Duration::from_secs(1)));
        all.push(due(51, "9.9.9.9:1", "9.9.9.9:1", Lane::Waiting, now + Duration::from_secs(1)));
        let chosen = turns.choose(all.clone(), now, &LIMITS);
        assert_eq!(numbers(&chosen).iter().filter(|number| **number >= 50).count(), 2, "{:?}", numbers(&chosen));
        assert_eq!(chosen.len(), 4);
        assert!(turns.choose(all.clone(), now, &LIMITS).is_empty(), "four are being tried");
        turns.done(Lane::Waiting);
        assert_eq!(turns.choose(all, now, &LIMITS).len(), 1);
    }

    #[test]
    fn newcomers_take_no_place_from_those_that_are_listed_nor_do_the_silent() {
        let now = Instant::now();
        let mut turns = Turns::default();
        let of =
            |lane, first: u8| (first..first + 9).map(move |number| due(number, "8.8.8.8:1", "8.8.8.9:1", lane, now));
        let all: Vec<_> = of(Lane::Waiting, 0).chain(of(Lane::Silent, 20)).chain(of(Lane::Listed, 40)).collect();
        let chosen = turns.choose(all, now, &LIMITS);
        for lane in [Lane::Waiting, Lane::Silent, Lane::Listed] {
            assert_eq!(chosen.iter().filter(|due| due.lane == lane).count(), 4, "{lane:?}");
        }
    }

    #[test]
    fn strangers_make_nobody_knock_often_and_do_not_hold_up_who_lives_there() {
        let now = Instant::now();
        let mut turns = Turns::default();
        let strangers = |seconds| {
            let at = now + Duration::from_secs(seconds);
            (0..3).map(move |number| due(number, &format!("8.8.{number}.8:1"), "9.9.9.9:1", Lane::Waiting, at))
        };
        let chosen = turns.choose(strangers(0).collect(), now, &LIMITS);
        assert_eq!(chosen.len(), 1, "one claim to a network");
        let resident = due(9, "9.9.9.8:1", "9.9.9.9:1", Lane::Waiting, now + Duration::from_secs(1));
        let chosen = turns.choose(strangers(1).chain([resident]).collect(), now + Duration::from_secs(1), &LIMITS);
        assert_eq!(numbers(&chosen), [9]);
        let chosen = turns.choose(strangers(2).collect(), now + Duration::from_secs(2), &LIMITS);
        assert_eq!(chosen.len(), 1);
        // In a test network, where all share an address, there is nothing to spare.
        let reach = Reach::new(network("8.8.8.8:1"), now);
        let exempt = Due::new([1; 32], &[address("127.0.0.1:1")], &reach, Lane::Waiting, &Prefix::LOOPBACK);
        assert!(exempt.claimed.is_empty());
    }
}
