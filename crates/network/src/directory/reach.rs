//! Who answers where it says it is, and whose turn it is to be asked.
//!
//! Whoever holds a key can sign that its relay is anywhere, and has whatever keys. So an authority makes a link with a relay at each of its addresses, which
//! proves that its identity answers there, and circuits at the first, which proves that it has its onion keys. It lists no descriptor before that, also
//! none with other keys or at another address than those that were proved ([`Claim`]). It asks again from time to time. Until a relay has answered, it
//! waits, and takes no other relay's place:
//!
//! - those that wait are few, and counted by the network that their registrations came from ([`ReachLimits::waiting_per_network`]);
//! - those that wait, those that are listed, and those of the latter that have not answered lately have places of their own among the tries of a moment
//!   ([`ReachLimits::at_once`]), so that none of the three holds up another;
//! - among those that wait, and those that have not answered lately, providers that registrations came from take turns, and so do the networks of each; and a network that strangers claim addresses in is tried at
//!   intervals ([`ReachLimits::pause`]), so that nobody makes the authority knock anywhere often. A relay that registers from its own network doesn't wait
//!   for strangers who claim to be there.

mod turns;

pub(super) use turns::{Due, Turns};

use crate::prefix::Prefix;
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

/// What a relay says of itself and is tried for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Claim {
    /// That it is there.
    pub(super) address: SocketAddr,
    /// That it has these onion keys, and makes circuits with them: their digest. `None` at a second address, where no circuit is made.
    pub(super) keys: Option<[u8; 32]>,
}

/// What has come of trying a claim.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// It is true.
    Holds,
    /// The relay has proved its identity there, and refused circuits for want of room: others can bring that about. What it has proved before holds as
    /// long as it answers so; nothing new does.
    Busy(String),
    /// Nobody was asked, for want of a way there.
    Unasked,
    /// It is not true, or nobody has answered.
    Fails(String),
}

/// A claim that was tried.
#[derive(Clone, Copy, Debug)]
struct Answered {
    claim: Claim,
    /// When it held last, by the registry's own time.
    at: Instant,
    /// Whether anybody was ever asked.
    asked: bool,
}

/// What is known of a relay's answers.
#[derive(Clone, Debug)]
pub(super) struct Reach {
    /// The network that its newest descriptor came from.
    pub(super) from: Prefix,
    /// Since when it waits, or has been known.
    since: Instant,
    /// What holds of it.
    answered: Vec<Answered>,
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
        claims: &[Claim],
        identity: &[u8; 32],
        (now, moment): (Instant, Instant),
        every: Duration,
    ) -> Self {
        let turn = every * u32::from(identity[0]) / 256;
        let answered = claims.iter().map(|claim| Answered { claim: *claim, at: moment, asked: true }).collect();
        Self { answered, next: now + turn, ..Self::new(Prefix::around(claims[0].address.ip()), now) }
    }

    /// Whether all these claims have held lately, at that moment of the registry's own time. What has held the last time is good until it is
    /// tried again: whoever takes up all the tries has nobody else dropped.
    pub(super) fn is_proved(&self, claims: &[Claim], moment: Instant, good_for: Duration) -> bool {
        let holds = |claim: &Claim| {
            let at = self.answer(claim).map(|answered| answered.at);
            at.is_some_and(|at| self.failures == 0 || moment.saturating_duration_since(at) < good_for)
        };
        claims.iter().all(holds)
    }

    /// Whether that claim was tried, and not only passed over for want of a way there.
    pub(super) fn was_asked(&self, claim: &Claim) -> bool {
        self.answer(claim).is_some_and(|answered| answered.asked)
    }

    fn answer(&self, claim: &Claim) -> Option<&Answered> {
        self.answered.iter().find(|answered| answered.claim == *claim)
    }

    /// It has published other claims, or the same anew. That hastens its turn if they have not been proved yet, or it has not answered lately: it may be back.
    pub(super) fn republished(&mut self, from: Prefix, is_proved: bool, now: Instant, limits: &ReachLimits) {
        self.from = from;
        if !is_proved || self.failures > 0 {
            // One that publishes again and again is tried no more often than one that fails for the first time.
            let soon = self.last.map_or(now, |last| (last + limits.retry).max(now));
            self.next = self.next.min(soon);
        }
    }

    /// It is being tried.
    pub(super) fn begin(&mut self) {
        self.tried = true;
    }

    /// What has come of a try of these claims. `kept`: the claims of its descriptors.
    pub(super) fn tried(
        &mut self,
        answers: &[(Claim, Answer)],
        kept: &[Claim],
        (now, moment): (Instant, Instant),
        limits: &ReachLimits,
    ) {
        self.tried = false;
        self.last = Some(now);
        let mut all_hold = true;
        for (claim, answer) in answers {
            match answer {
                Answer::Holds | Answer::Unasked => {
                    let asked = *answer == Answer::Holds || self.was_asked(claim);
                    self.answered.retain(|known| known.claim != *claim);
                    self.answered.push(Answered { claim: *claim, at: moment, asked });
                }
                Answer::Busy(_) => {
                    let there = self.answered.iter_mut().filter(|known| known.claim.address == claim.address);
                    there.for_each(|known| known.at = moment);
                    all_hold &= self.answer(claim).is_some();
                }
                Answer::Fails(_) => all_hold = false,
            }
        }
        self.answered.retain(|known| kept.contains(&known.claim));
        if all_hold {
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

#[cfg(test)]
mod tests {
    use super::*;

    pub(super) const LIMITS: ReachLimits = ReachLimits {
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

    pub(super) fn network(text: &str) -> Prefix {
        Prefix::around(address(text).ip())
    }

    pub(super) fn claim(text: &str) -> Claim {
        Claim { address: address(text), keys: None }
    }

    fn fails() -> Answer {
        Answer::Fails("silent".to_owned())
    }

    fn busy() -> Answer {
        Answer::Busy("out of resources".to_owned())
    }

    #[test]
    fn an_address_is_proved_by_its_answer_and_for_its_time() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let both = [claim("8.8.8.8:1"), claim("[2600::1]:1")];
        let mut reach = Reach::new(network("8.8.8.8:1"), start);
        let proved = |reach: &Reach, seconds| reach.is_proved(&both, after(seconds), LIMITS.good_for);
        assert!(reach.is_due(start) && !proved(&reach, 0));
        reach.begin();
        assert!(!reach.is_due(after(9)), "it is being tried");
        reach.tried(&[(both[0], Answer::Holds), (both[1], fails())], &both, (after(1), after(1)), &LIMITS);
        assert!(!proved(&reach, 1), "one of two addresses is not enough");
        assert!(!reach.is_due(after(10)) && reach.is_due(after(11)));
        reach.tried(&[(both[0], Answer::Holds), (both[1], fails())], &both, (after(11), after(11)), &LIMITS);
        assert!(!reach.is_due(after(30)) && reach.is_due(after(31)), "twice as long");
        reach.tried(&both.map(|claim| (claim, Answer::Holds)), &both, (after(31), after(31)), &LIMITS);
        assert!(proved(&reach, 31) && !reach.is_due(after(1230)) && reach.is_due(after(1231)));
        // The second falls silent; the first goes on.
        reach.tried(&[(both[0], Answer::Holds), (both[1], fails())], &both, (after(1231), after(1231)), &LIMITS);
        assert!(proved(&reach, 31 + 2699) && !proved(&reach, 31 + 2700));
        assert_eq!((reach.lane(true), reach.lane(false)), (Lane::Silent, Lane::Waiting));
        // It moves: what it said before is forgotten, and the new address has to answer.
        reach.tried(&[(both[0], Answer::Holds)], &both[..1], (after(1300), after(1300)), &LIMITS);
        assert_eq!(reach.answered.len(), 1);
        let mut waits = Reach::new(network("8.8.8.8:1"), start);
        assert!(!waits.is_given_up(after(600), &LIMITS), "nobody has tried it");
        waits.tried(&[(both[0], fails())], &both, (start, start), &LIMITS);
        assert!(waits.is_given_up(after(600), &LIMITS) && !waits.is_given_up(after(599), &LIMITS));
    }

    #[test]
    fn who_publishes_again_and_again_is_tried_no_more_often() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let home = claim("8.8.8.8:1");
        let mut reach = Reach::new(network("8.8.8.8:1"), start);
        reach.tried(&[(home, Answer::Holds)], &[home], (start, start), &LIMITS);
        reach.republished(network("8.8.8.8:1"), true, after(1), &LIMITS);
        assert!(!reach.is_due(after(1199)), "nothing is new");
        reach.republished(network("8.8.8.8:1"), false, after(1), &LIMITS);
        assert!(!reach.is_due(after(9)) && reach.is_due(after(10)), "a new address");
        reach.tried(&[(home, fails())], &[home], (after(10), after(10)), &LIMITS);
        reach.republished(network("8.8.8.8:1"), false, after(11), &LIMITS);
        assert!(!reach.is_due(after(19)) && reach.is_due(after(20)));
    }

    #[test]
    fn a_relay_that_comes_back_or_moves_after_failures_is_tried_at_once() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let [home, away] = [claim("8.8.8.8:1"), claim("9.9.9.9:1")];
        // Away for 22 minutes; it comes back before it is dropped, at the same address or another.
        for (said, is_proved) in [(home, true), (away, false)] {
            let mut reach = Reach::new(network("8.8.8.8:1"), start);
            reach.tried(&[(home, Answer::Holds)], &[home], (start, start), &LIMITS);
            let mut at = 1200;
            while at < 2520 {
                reach.tried(&[(home, fails())], &[home], (after(at), after(at)), &LIMITS);
                at = (at..).find(|second| reach.is_due(after(*second))).unwrap();
            }
            // The twin: one that says nothing waits for its turn.
            assert!(!reach.is_due(after(2699)), "it would be dropped");
            reach.republished(network("8.8.8.8:1"), is_proved, after(2520), &LIMITS);
            assert!(reach.is_due(after(2520)));
            // Its failures are not forgotten for that.
            reach.tried(&[(said, fails())], &[said], (after(2520), after(2520)), &LIMITS);
            assert!(!reach.is_due(after(2520 + 1199)));
        }
    }

    #[test]
    fn who_refuses_circuits_for_want_of_room_keeps_what_it_has_proved_and_proves_nothing_new() {
        let start = Instant::now();
        let home = |keys: u8| Claim { keys: Some([keys; 32]), ..claim("8.8.8.8:1") };
        let all = [home(1), home(2)];
        let mut reach = Reach::new(network("8.8.8.8:1"), start);
        let mut at = start;
        let mut attempt = |reach: &mut Reach, keys: u8, answer: Answer, hours: u64| {
            for _ in 0..3 * hours {
                at += LIMITS.every;
                reach.tried(&[(home(keys), answer.clone())], &all, (at, at), &LIMITS);
            }
            [1, 2].map(|keys| reach.is_proved(&[home(keys)], at, LIMITS.good_for))
        };
        assert_eq!(attempt(&mut reach, 1, busy(), 5), [false, false], "a newcomer has proved nothing");
        assert!(reach.is_given_up(start + 20 * LIMITS.every, &LIMITS), "and doesn't wait for ever");
        assert_eq!(attempt(&mut reach, 1, Answer::Holds, 1), [true, false]);
        assert_eq!(attempt(&mut reach, 1, busy(), 48), [true, false], "nobody has it dropped by keeping it busy");
        assert_eq!(attempt(&mut reach, 2, busy(), 48), [true, false], "its new keys are not listed for that");
        assert_eq!(attempt(&mut reach, 2, Answer::Holds, 1), [true, true]);
        // The twin: one that doesn't answer is dropped.
        assert_eq!(attempt(&mut reach, 2, fails(), 1), [false, false]);
    }

    #[test]
    fn an_address_that_there_was_no_way_to_is_asked_when_there_is_one() {
        let start = Instant::now();
        let after = |tries| start + tries * LIMITS.every;
        let both = [claim("8.8.8.8:1"), claim("[2600::1]:1")];
        let mut reach = Reach::new(network("8.8.8.8:1"), start);
        let mut attempt = |second: Answer, tries: u32| {
            reach.tried(&[(both[0], Answer::Holds), (both[1], second)], &both, (after(tries), after(tries)), &LIMITS);
            (reach.is_proved(&both, after(tries), LIMITS.good_for), reach.was_asked(&both[1]))
        };
        assert_eq!(attempt(Answer::Unasked, 0), (true, false));
        // There is a way now, and nobody is there. It has its time, like any that falls silent.
        assert_eq!([1, 2, 3].map(|tries| attempt(fails(), tries).0), [true, true, false]);
        assert_eq!(attempt(Answer::Holds, 4), (true, true));
        assert_eq!(attempt(Answer::Unasked, 5), (true, true), "it keeps its place in its network");
    }
}
