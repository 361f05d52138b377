//! Whose turn it is to be tried.

use super::{Claim, Lane, Reach, ReachLimits};
use crate::line::Line;
use crate::prefix::Prefix;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::Instant;

/// A relay to be tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::directory) struct Due {
    pub(in crate::directory) identity: [u8; 32],
    pub(in crate::directory) claims: Vec<Claim>,
    pub(in crate::directory) lane: Lane,
    /// The network that it was registered from.
    pub(in crate::directory) from: Prefix,
    /// Networks that it claims to be in and was not registered from, other than test networks.
    pub(in crate::directory) claimed: Vec<Prefix>,
    /// Since when it is its turn.
    pub(in crate::directory) next: Instant,
}

impl Due {
    pub(in crate::directory) fn new(
        identity: [u8; 32],
        claims: &[Claim],
        reach: &Reach,
        lane: Lane,
        exempt: &[Prefix],
    ) -> Self {
        let addresses = claims.iter().map(|claim| claim.address.ip());
        let is_claimed = |address: &IpAddr| {
            lane == Lane::Waiting
                && !exempt.iter().any(|prefix| prefix.contains(*address))
                && !reach.from.contains(*address)
        };
        let claimed = addresses.filter(is_claimed).map(Prefix::around).collect();
        let (from, next) = (reach.from, reach.next);
        Self { identity, claims: claims.to_vec(), lane, from, claimed, next }
    }

    /// Who has a place in line for it.
    fn stands_for(&self) -> [(Lane, Prefix); 2] {
        [self.from.provider(), self.from].map(|who| (self.lane, who))
    }
}

/// Whose turn it is.
#[derive(Default)]
pub(in crate::directory) struct Turns {
    /// How many are being tried.
    running: HashMap<Lane, usize>,
    /// Where providers that registrations came from, and their networks, stand in line.
    line: Line<(Lane, Prefix)>,
    /// When strangers' claims to networks were last tried.
    knocked: HashMap<Prefix, Instant>,
}

impl Turns {
    /// Those of `due` that are to be tried now.
    pub(in crate::directory) fn choose(&mut self, mut due: Vec<Due>, now: Instant, limits: &ReachLimits) -> Vec<Due> {
        self.knocked.retain(|_, at| now.saturating_duration_since(*at) < limits.pause);
        let mut chosen = Vec::new();
        // The last is taken out first.
        due.sort_by_key(|due| Reverse(due.next));
        self.line.line_up(due.iter().rev().flat_map(Due::stands_for));
        let mut listed: Vec<_> = due.extract_if(.., |due| due.lane == Lane::Listed).collect();
        while self.has_room(Lane::Listed, limits)
            && let Some(next) = listed.pop()
        {
            self.start(next, &mut chosen);
        }
        // Those who answer nothing keep a place for long, so in these lanes providers take turns.
        for lane in [Lane::Silent, Lane::Waiting] {
            while self.has_room(lane, limits) {
                let knocked = |due: &Due| due.claimed.iter().any(|network| self.knocked.contains_key(network));
                let may = |due: &Due| due.lane == lane && !knocked(due);
                let place = |who: Prefix| self.line.place((lane, who));
                let turn = |due: &Due| (place(due.from.provider()), place(due.from), due.next);
                let next = (0..due.len()).filter(|index| may(&due[*index])).min_by_key(|index| turn(&due[*index]));
                let Some(next) = next.map(|index| due.swap_remove(index)) else { break };
                next.stands_for().into_iter().for_each(|who| self.line.go_last(who));
                self.knocked.extend(next.claimed.iter().map(|network| (*network, now)));
                self.start(next, &mut chosen);
            }
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
    pub(in crate::directory) fn done(&mut self, lane: Lane) {
        if let Some(running) = self.running.get_mut(&lane) {
            *running = running.saturating_sub(1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{LIMITS, claim, network};
    use super::*;
    use std::time::Duration;

    /// A relay that was registered from the first address's network and claims to be at the second.
    fn due(number: u8, from: &str, at: &str, lane: Lane, next: Instant) -> Due {
        let reach = Reach { next, ..Reach::new(network(from), next) };
        Due::new([number; 32], &[claim(at)], &reach, lane, &[])
    }

    fn numbers(chosen: &[Due]) -> Vec<u8> {
        chosen.iter().map(|due| due.identity[0]).collect()
    }

    #[test]
    fn who_has_waited_for_longest_comes_first() {
        let now = Instant::now();
        let of = |number: u8| {
            let at = now + Duration::from_secs((number % 5).into());
            due(number, &format!("{}.1.1.1:1", 20 + number), "9.9.9.9:1", Lane::Silent, at)
        };
        let chosen = Turns::default().choose((0..10).map(of).collect(), now + Duration::from_secs(9), &LIMITS);
        assert_eq!(chosen.iter().map(|due| due.identity[0] % 5).collect::<Vec<_>>(), [0, 0, 1, 1]);
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
    fn newcomers_and_silent_relays_of_one_provider_share_its_turns_however_many_networks_they_come_from() {
        [Lane::Waiting, Lane::Silent].into_iter().for_each(providers_take_turns);
        // Nor do newcomers of a provider take the turns of its silent relays.
        let (now, mut turns) = (Instant::now(), Turns::default());
        let late = now + Duration::from_secs(5);
        let of = |lane, network: &str, at| Due { claimed: Vec::new(), ..due(9, network, "8.8.8.8:1", lane, at) };
        turns.choose(vec![of(Lane::Waiting, "8.8.1.1:1", now)], now, &LIMITS);
        let others = (0..4).map(|third| of(Lane::Silent, &format!("9.{third}.1.1:1"), late));
        let all = others.chain([of(Lane::Silent, "8.8.1.1:1", now), of(Lane::Waiting, "8.8.1.1:1", now)]).collect();
        let chosen = turns.choose(all, late, &LIMITS);
        assert!(chosen.iter().any(|due| due.lane == Lane::Silent && due.from == network("8.8.1.1:1")), "{chosen:?}");
    }

    fn providers_take_turns(lane: Lane) {
        let now = Instant::now();
        let mut turns = Turns::default();
        // 200 networks of one provider, two of which have come twice, and two others who come last.
        let crowd = (0..200)
            .map(|number| due(number, &format!("[2600:0:{:x}::1]:1", number % 198), "[2600:0:ff::1]:1", lane, now));
        let late = now + Duration::from_secs(5);
        let others = [due(250, "8.8.8.8:1", "8.8.8.9:1", lane, late), due(251, "9.9.9.9:1", "9.9.9.9:1", lane, late)];
        let mut all: Vec<_> = crowd.chain(others).collect();
        all.iter_mut().for_each(|due| due.claimed.clear());
        let chosen = turns.choose(all, late, &LIMITS);
        assert!([250, 251].iter().all(|number| numbers(&chosen).contains(number)), "{:?}", numbers(&chosen));
        // Among themselves its networks take turns too.
        let mut turns = Turns::default();
        let of = |number, network: &str, at| Due { claimed: Vec::new(), ..due(number, network, "8.8.8.8:1", lane, at) };
        let all: Vec<_> = (0..8).map(|number| of(number, "8.8.1.1:1", now)).chain([of(9, "8.8.2.1:1", late)]).collect();
        assert!(numbers(&turns.choose(all, late, &LIMITS)).contains(&9));
    }

    #[test]
    fn whoever_leaves_the_line_for_a_moment_comes_back_at_its_end() {
        [Lane::Waiting, Lane::Silent].into_iter().for_each(nobody_waits_for_ever);
    }

    fn nobody_waits_for_ever(lane: Lane) {
        let (start, mut turns) = (Instant::now(), Turns::default());
        let of =
            |number: u8, network: &str, at| Due { claimed: Vec::new(), ..due(number, network, "8.8.8.8:1", lane, at) };
        // Three of one provider, of two networks; and nine of as many others, each of which is there again as soon as it has failed.
        let three = [(100, "8.8.1.1:1"), (101, "8.8.1.1:1"), (102, "8.8.2.1:1")];
        let mut all: Vec<_> = three.map(|(number, from)| of(number, from, start)).into();
        let mut tries = Vec::new();
        all.extend((0..9).map(|number| of(number, &format!("{}.1.1.1:1", 20 + number), start)));
        for second in 0..9 {
            let now = start + Duration::from_secs(second);
            let chosen = turns.choose(all.clone(), now, &LIMITS);
            assert_eq!(chosen.len(), LIMITS.at_once);
            all.retain(|due| !chosen.contains(due));
            // While they are tried, the others are looked through once more.
            assert!(turns.choose(all.clone(), now, &LIMITS).is_empty());
            for due in &chosen {
                turns.done(lane);
                tries.push(due.identity[0]);
                let again = Due { next: now + Duration::from_secs(1), ..due.clone() };
                all.extend((due.identity[0] < 9).then_some(again));
            }
        }
        // A turn of each of ten providers, three times, and the rest of the last second.
        for (number, _) in three {
            assert!(tries.contains(&number), "{lane:?}: {tries:?}");
        }
        // The twins have their turns meanwhile.
        let times = |number| tries.iter().filter(|tried| **tried == number).count();
        assert!((0..9).all(|number| times(number) >= 3), "{lane:?}: {tries:?}");
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
        let exempt = Due::new([1; 32], &[claim("127.0.0.1:1")], &reach, Lane::Waiting, &Prefix::LOOPBACK);
        assert!(exempt.claimed.is_empty());
    }
}
