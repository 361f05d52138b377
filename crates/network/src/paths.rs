//! Which relays a circuit goes through.
//!
//! # The rules
//!
//! 1. A path has `hops` relays, and no relay twice.
//! 2. No two of them are of one family, that is, name each other or have one number in the consensus; or have addresses in one /16 (IPv6: /32). Of a
//!    [`ListedRelay`] only the preferred address is known, so two that prefer IPv6 may have IPv4 addresses in one /16. In a declared test network,
//!    whose relays often share an address, the rule about addresses does not hold.
//! 3. The first is a [guard](Guards), which a client keeps for months. The last is an exit that permits the port, as far as its entry says.
//!    Where a client names the relays to begin at, only those are guards.
//! 4. The first guard in the client's order from which such a path is possible is taken; then an exit is drawn, then the relays between.
//! 5. Relays are drawn in proportion to their bandwidth, which counts as four times the median of all at most ([`bandwidth_cap`]). Exits are spared for their own position: if all exits together have the share e of
//!    all bandwidth, an exit counts in another position with `(e - 1/3) / e` of its bandwidth, or not at all where e is below a third. Where
//!    only relays that count nothing are left, each is as likely as the next.
//! 6. Relays that [could not be reached lately](Absent) are left out behind the guard, unless no path from it is left without them.
//!
//! [`choose`] is a function of its arguments alone: the same relays, guards and random numbers give the same path.

mod absent;
mod guards;

pub use absent::Absent;
pub use guards::{GuardRules, Guards, When};

use crate::Error;
use crate::keys::random;
use crate::prefix::Prefix;
use crate::relay_list::ListedRelay;
use candor_onion::directory::bandwidth_cap;
use candor_onion::handshake::HandshakeType;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::{Rng, SeedableRng};
use std::net::IpAddr;

/// A relay, as far as the choice of a path needs to know it.
pub trait Candidate {
    /// Its Ed25519 identity.
    fn identity(&self) -> &[u8; 32];
    /// Where it takes links.
    fn addresses(&self) -> Vec<IpAddr>;
    /// Whether the two are of one family, as both of them or the directory say.
    fn is_family_of(&self, other: &Self) -> bool;
    /// What it carries, in kB/s.
    fn bandwidth(&self) -> u32;
    /// Whether it offers the handshake.
    fn offers(&self, handshake: HandshakeType) -> bool;
    /// Whether, as far as is known, it is an exit to `port` of `host`; without a host, to that port of hosts in general.
    fn permits(&self, host: Option<&str>, port: u16) -> bool;
    /// Whether it is an exit to anywhere.
    fn is_exit(&self) -> bool;
}

impl Candidate for ListedRelay {
    fn identity(&self) -> &[u8; 32] {
        self.identity()
    }

    fn addresses(&self) -> Vec<IpAddr> {
        vec![self.address().ip()]
    }

    fn is_family_of(&self, other: &Self) -> bool {
        self.is_family_of(other)
    }

    fn bandwidth(&self) -> u32 {
        self.bandwidth()
    }

    fn offers(&self, handshake: HandshakeType) -> bool {
        self.handshakes().any(|offered| offered == handshake)
    }

    fn permits(&self, host: Option<&str>, port: u16) -> bool {
        // A name that no rule of a policy has.
        self.permits(host.unwrap_or("any.invalid"), port)
    }

    fn is_exit(&self) -> bool {
        self.is_exit()
    }
}

/// What a path is for.
#[derive(Clone, Copy, Debug)]
pub struct Wish<'a> {
    /// How many relays.
    pub hops: usize,
    /// What each must offer.
    pub handshake: HandshakeType,
    /// Where the exit must lead to; without a host, to the port in general.
    pub host: Option<&'a str>,
    /// The port.
    pub port: u16,
    /// Relays may share a /16 (IPv6: /32).
    pub test_network: bool,
    /// Identities of relays that must not be the exit: they have refused this before.
    pub not_exits: &'a [[u8; 32]],
    /// Identities of guards to begin at only where no other that was reached is up: a circuit that began there was spoilt, maybe by them.
    pub doubted: &'a [[u8; 32]],
    /// Identities of relays to pass over behind the guard, if there is another path.
    pub absent: &'a [[u8; 32]],
    /// Identities of the only relays that may be the guard; any relay may without.
    pub entries: Option<&'a [[u8; 32]]>,
}

impl Wish<'_> {
    /// Whether that relay may be the guard.
    fn may_enter(&self, relay: &[u8; 32]) -> bool {
        self.entries.is_none_or(|entries| entries.contains(relay))
    }
}

/// Chooses a path, by the [rules](self). `guards` has the identities of the client's guards in its order. Gives the relays' places in
/// `relays`, the guard first; `None` if no guard allows a path.
pub fn choose<R: Candidate>(
    relays: &[R],
    guards: &[[u8; 32]],
    wish: &Wish<'_>,
    random: &mut impl Rng,
) -> Option<Vec<usize>> {
    let town = Town::new(relays, wish);
    let all = Wish { absent: &[], ..*wish };
    let all = Town { wish: &all, ..town };
    let place = |guard: &[u8; 32]| relays.iter().position(|relay| relay.identity() == guard && town.is_fit(relay));
    guards
        .iter()
        .filter(|guard| wish.may_enter(guard))
        .filter_map(place)
        .find_map(|guard| town.path_from(guard, random).or_else(|| all.path_from(guard, random)))
}

/// Draws a relay to be a guard: one from which a path is possible, and which is not among `known`.
pub fn draw_guard<R: Candidate>(
    relays: &[R],
    known: &[[u8; 32]],
    wish: &Wish<'_>,
    random: &mut impl Rng,
) -> Option<[u8; 32]> {
    let town = Town::new(relays, wish);
    let is_new =
        |relay: &R| town.is_fit(relay) && wish.may_enter(relay.identity()) && !known.contains(relay.identity());
    let mut left: Vec<usize> = (0..relays.len()).filter(|place| is_new(&relays[*place])).collect();
    while !left.is_empty() {
        let drawn = town.draw(&left, random)?;
        // The draw is only tried out here; a path is drawn anew whenever one is needed.
        if town.path_from(drawn, random).is_some() {
            return Some(*relays[drawn].identity());
        }
        left.retain(|place| *place != drawn);
    }
    None
}

/// Random numbers for a few draws, from the operating system's and new each time, so that none can be told from earlier ones.
///
/// # Errors
/// [`Error::Internal`] without randomness.
pub(crate) fn fresh() -> Result<impl Rng, Error> {
    Ok(Xoshiro256PlusPlus::from_seed(*random::<32>()?))
}

/// The relays with what a wish makes of them.
struct Town<'a, R> {
    relays: &'a [R],
    wish: &'a Wish<'a>,
    /// What a bandwidth counts as at most.
    cap: u32,
    /// Bandwidth of all, and of the exits.
    all: u128,
    exits: u128,
}

impl<'a, R: Candidate> Town<'a, R> {
    fn new(relays: &'a [R], wish: &'a Wish<'a>) -> Self {
        let cap = bandwidth_cap(relays.iter().map(R::bandwidth));
        let sum = |is: &dyn Fn(&R) -> bool| {
            relays.iter().filter(|relay| is(relay)).map(|relay| u128::from(relay.bandwidth().min(cap))).sum()
        };
        Self { relays, wish, cap, all: sum(&|_| true), exits: sum(&R::is_exit) }
    }

    fn is_fit(&self, relay: &R) -> bool {
        relay.offers(self.wish.handshake)
    }

    /// A path that begins there. Without one with the first exit that is drawn, the next is tried.
    fn path_from(&self, guard: usize, random: &mut impl Rng) -> Option<Vec<usize>> {
        let wish = self.wish;
        let leads = |relay: &R| relay.permits(wish.host, wish.port) && !wish.not_exits.contains(relay.identity());
        match wish.hops {
            0 => return None,
            1 => return leads(&self.relays[guard]).then(|| vec![guard]),
            _ => {}
        }
        let may_end = |place: &usize| leads(&self.relays[*place]) && self.goes_with(*place, &[guard]);
        let mut ends: Vec<usize> = (0..self.relays.len()).filter(may_end).collect();
        while !ends.is_empty() {
            let exit = self.draw_by(&ends, |relay| self.bandwidth(relay), random)?;
            if let Some(path) = self.join(guard, exit, random) {
                return Some(path);
            }
            ends.retain(|place| *place != exit);
        }
        None
    }

    fn join(&self, guard: usize, exit: usize, random: &mut impl Rng) -> Option<Vec<usize>> {
        let mut path = vec![guard, exit];
        while path.len() < self.wish.hops {
            let between: Vec<usize> = (0..self.relays.len()).filter(|place| self.goes_with(*place, &path)).collect();
            let middle = self.draw(&between, random)?;
            path.insert(path.len() - 1, middle);
        }
        Some(path)
    }

    /// Whether that relay may be on a path with those.
    fn goes_with(&self, place: usize, path: &[usize]) -> bool {
        let relay = &self.relays[place];
        let is_there = !self.wish.absent.contains(relay.identity());
        is_there
            && self.is_fit(relay)
            && path.iter().all(|other| *other != place && !self.are_close(relay, &self.relays[*other]))
    }

    fn are_close(&self, one: &R, other: &R) -> bool {
        if one.identity() == other.identity() || one.is_family_of(other) {
            return true;
        }
        let around = |relay: &R| relay.addresses().into_iter().map(|address| Prefix::around(address).provider());
        !self.wish.test_network && around(one).any(|near| around(other).any(|there| near == there))
    }

    /// What it counts as.
    fn bandwidth(&self, relay: &R) -> u128 {
        relay.bandwidth().min(self.cap).into()
    }

    /// Draws one of these for a position that is not the exit's.
    fn draw(&self, places: &[usize], random: &mut impl Rng) -> Option<usize> {
        let (all, exits) = (self.all, self.exits);
        // Times three times the exits' bandwidth, so that all are whole numbers.
        let weight = |relay: &R| match relay.is_exit() {
            true => self.bandwidth(relay) * (3 * exits).saturating_sub(all),
            false => self.bandwidth(relay) * (3 * exits).max(1),
        };
        self.draw_by(places, weight, random)
    }

    fn draw_by(&self, places: &[usize], weight: impl Fn(&R) -> u128, random: &mut impl Rng) -> Option<usize> {
        let weights: Vec<u128> = places.iter().map(|place| weight(&self.relays[*place])).collect();
        let total: u128 = weights.iter().sum();
        if total == 0 {
            let index = below(places.len() as u128, random)?;
            return places.get(index as usize).copied();
        }
        let mut left = below(total, random)?;
        for (place, weight) in places.iter().zip(weights) {
            if left < weight {
                return Some(*place);
            }
            left -= weight;
        }
        None
    }
}

/// A number below `end`, each as likely as the next; `None` if there is none.
fn below(end: u128, random: &mut impl Rng) -> Option<u128> {
    // The numbers behind the last whole multiple of `end` would make small ones more likely.
    let unfair = u128::MAX.checked_rem(end)?.wrapping_add(1) % end;
    loop {
        let drawn = u128::from(random.next_u64()) << 64 | u128::from(random.next_u64());
        if drawn <= u128::MAX - unfair {
            return Some(drawn % end);
        }
    }
}

#[cfg(test)]
impl Wish<'static> {
    /// Two hops with `ntor-v3` to port 443, and nothing that must be passed over.
    const PLAIN: Self = Wish {
        hops: 2,
        handshake: HandshakeType::NtorV3,
        host: None,
        port: 443,
        test_network: false,
        not_exits: &[],
        doubted: &[],
        absent: &[],
        entries: None,
    };
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::HashMap;

    #[derive(Clone, Debug)]
    struct Made {
        identity: [u8; 32],
        addresses: Vec<IpAddr>,
        family: Vec<[u8; 32]>,
        bandwidth: u32,
        offers: bool,
        port: Option<u16>,
    }

    impl Candidate for Made {
        fn identity(&self) -> &[u8; 32] {
            &self.identity
        }

        fn addresses(&self) -> Vec<IpAddr> {
            self.addresses.clone()
        }

        fn is_family_of(&self, other: &Self) -> bool {
            self.family.contains(&other.identity) && other.family.contains(&self.identity)
        }

        fn bandwidth(&self) -> u32 {
            self.bandwidth
        }

        fn offers(&self, _: HandshakeType) -> bool {
            self.offers
        }

        fn permits(&self, _: Option<&str>, port: u16) -> bool {
            self.port == Some(port)
        }

        fn is_exit(&self) -> bool {
            self.port.is_some()
        }
    }

    #[test]
    fn who_fails_circuits_to_others_exits_has_not_many_more_end_at_his_own() {
        use std::time::{Duration, Instant};
        const RELAYS: u8 = 100;
        let is_exit = |number: u8| number < 20;
        // A tenth of the exits and of the middle relays are his.
        let is_his = |number: u8| !(2..92).contains(&number);
        let relays: Vec<_> = (0..RELAYS).map(|number| made(number, 1000, is_exit(number).then_some(443))).collect();
        let guard = [[50; 32]];
        let share = |fails: bool| {
            let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
            let (mut absent, start) = (Absent::default(), Instant::now());
            let (mut his, mut all) = (0, 0);
            for second in 0..20_000 {
                let now = start + Duration::from_secs(10 * second);
                let passed = absent.now(relays.len(), now);
                let wish = Wish { absent: &passed, ..wish(3) };
                let path = choose(&relays, &guard, &wish, &mut random).unwrap();
                let identities: Vec<_> = path.iter().map(|place| relays[*place].identity).collect();
                let [_, middle, exit] = path[..] else { panic!() };
                if fails && is_his(middle as u8) && !is_his(exit as u8) {
                    absent.failed(&identities, 3, now);
                } else {
                    absent.reached(&identities);
                    all += 1;
                    his += usize::from(is_his(exit as u8));
                }
            }
            his as f64 / all as f64
        };
        let (honest, attacked) = (share(false), share(true));
        assert!((0.09..0.11).contains(&honest) && attacked < 0.12, "{honest:.3} of circuits, then {attacked:.3}");
    }

    /// A relay in a network of its own.
    fn made(number: u8, bandwidth: u32, port: Option<u16>) -> Made {
        let addresses = vec![[number, 1, 1, 1].into()];
        Made { identity: [number; 32], addresses, family: Vec::new(), bandwidth, offers: true, port }
    }

    fn wish(hops: usize) -> Wish<'static> {
        Wish { hops, handshake: HandshakeType::Hybrid768, ..Wish::PLAIN }
    }

    fn seeded(seed: u64) -> Xoshiro256PlusPlus {
        Xoshiro256PlusPlus::seed_from_u64(seed)
    }

    fn all(relays: &[Made]) -> Vec<[u8; 32]> {
        relays.iter().map(|relay| relay.identity).collect()
    }

    prop_compose! {
        /// Relays that often share a network or name each other.
        fn towns()(drawn in prop::collection::vec((0u8..6, 0u32..100, any::<bool>(), 0u8..8, prop::collection::vec(0u8..12, 0..4)), 0..12))
            -> Vec<Made> {
            drawn.into_iter().enumerate().map(|(number, (network, bandwidth, offers, port, family))| {
                let number = number as u8;
                let second = [0x2001, u16::from(network), number.into(), 0, 0, 0, 0, 1];
                Made {
                    identity: [number; 32],
                    addresses: vec![[10, network, number, 1].into(), second.into()],
                    family: family.into_iter().map(|number| [number; 32]).collect(),
                    bandwidth,
                    offers: offers || port > 1,
                    port: [None, Some(80), Some(443), None, Some(443), None, Some(443), None][usize::from(port)],
                }
            }).collect()
        }
    }

    proptest! {
        #[test]
        fn every_path_keeps_the_rules_and_is_the_same_for_the_same_numbers(
            relays in towns(), hops in 1usize..5, seed: u64, test_network: bool,
        ) {
            let wish = Wish { test_network, not_exits: &[[4; 32]], ..wish(hops) };
            let guards = all(&relays);
            let path = choose(&relays, &guards, &wish, &mut seeded(seed));
            prop_assert_eq!(&path, &choose(&relays, &guards, &wish, &mut seeded(seed)));
            let possible = exists(&relays, &wish, &mut Vec::new());
            prop_assert_eq!(path.is_some() || hops > 3, possible || hops > 3, "a path is found where there is one");
            let Some(path) = path else { return Ok(()) };
            prop_assert_eq!(path.len(), hops);
            let exit = &relays[path[hops - 1]];
            prop_assert!(exit.port == Some(443) && exit.identity != [4; 32]);
            for (index, one) in path.iter().map(|place| &relays[*place]).enumerate() {
                prop_assert!(one.offers);
                for other in path[..index].iter().map(|place| &relays[*place]) {
                    prop_assert!(one.identity != other.identity);
                    prop_assert!(!(one.family.contains(&other.identity) && other.family.contains(&one.identity)));
                    prop_assert!(test_network || !neighbours(one, other), "{one:?} {other:?}");
                }
            }
        }
    }

    /// Whether the first 16 bits of the IPv4 addresses are the same, or the first 32 of the IPv6 addresses.
    fn neighbours(one: &Made, other: &Made) -> bool {
        let heads = |relay: &Made| -> Vec<u32> {
            let head = |address: &IpAddr| match address {
                IpAddr::V4(v4) => v4.to_bits() >> 16,
                IpAddr::V6(v6) => (v6.to_bits() >> 96) as u32,
            };
            relay.addresses.iter().map(head).collect()
        };
        heads(one).iter().any(|head| heads(other).contains(head))
    }

    /// The same question by trying everything, the last relay first.
    fn exists(relays: &[Made], wish: &Wish<'_>, chosen: &mut Vec<usize>) -> bool {
        if chosen.len() == wish.hops {
            return true;
        }
        (0..relays.len()).any(|place| {
            let one = &relays[place];
            let ends = one.port == Some(443) && !wish.not_exits.contains(&one.identity);
            let fits = one.offers
                && (!chosen.is_empty() || ends)
                && chosen.iter().all(|other| {
                    let other = &relays[*other];
                    let family = one.family.contains(&other.identity) && other.family.contains(&one.identity);
                    one.identity != other.identity && !family && (wish.test_network || !neighbours(one, other))
                });
            if !fits {
                return false;
            }
            chosen.push(place);
            let found = exists(relays, wish, chosen);
            chosen.pop();
            found
        })
    }

    #[test]
    fn relays_are_drawn_in_proportion_to_their_bandwidth() {
        // Exits have 4/9 of the bandwidth of all, so in other positions they count with (4/9 - 1/3) / (4/9) = 1/4 of theirs.
        let relays = [
            made(1, 100, None),
            made(2, 300, None),
            made(3, 600, None),
            made(4, 600, Some(443)),
            made(5, 200, Some(443)),
        ];
        let weights = [400.0, 1200.0, 2400.0, 600.0, 200.0];
        let draws = 20_000;
        let mut random = seeded(7);
        let (mut guards, mut exits) = (HashMap::new(), HashMap::new());
        for _ in 0..draws {
            let guard = draw_guard(&relays, &[], &wish(2), &mut random).unwrap();
            *guards.entry(guard[0]).or_insert(0.0) += 1.0;
            let path = choose(&relays, &[[1; 32]], &wish(2), &mut random).unwrap();
            *exits.entry(path[1]).or_insert(0.0) += 1.0;
        }
        let chi = |counts: Vec<f64>, weights: &[f64]| -> f64 {
            let total: f64 = weights.iter().sum();
            let term = |(count, weight): (&f64, &f64)| {
                let expected = f64::from(draws) * weight / total;
                (count - expected).powi(2) / expected
            };
            counts.iter().zip(weights).map(term).sum()
        };
        // Chi squared at 99.9 %: 18.5 with four degrees of freedom, 10.8 with one. The seed is fixed.
        let guards = (1..=5).map(|number| guards[&number]).collect();
        assert!(chi(guards, &weights) < 18.5);
        assert!(chi(vec![exits[&3], exits[&4]], &[600.0, 200.0]) < 10.8);
    }

    #[test]
    fn liars_draw_no_more_paths_than_four_honest_relays_each() {
        let honest = (1..=9).map(|number| made(number, 1000, Some(443)));
        let liars = (10..=12).map(|number| made(number, u32::MAX, Some(443)));
        let (alone, relays): (Vec<_>, Vec<_>) = (honest.clone().collect(), honest.chain(liars).collect());
        let mut random = seeded(11);
        let draws = 4_000;
        let mut lied = [0; 3];
        for _ in 0..draws {
            let guard = draw_guard(&relays, &[], &wish(3), &mut random).unwrap();
            let path = choose(&relays, &[[1; 32]], &wish(3), &mut random).unwrap();
            for (place, count) in [usize::from(guard[0]) - 1, path[1], path[2]].into_iter().zip(&mut lied) {
                *count += i32::from(place >= 9);
            }
        }
        // Three liars have 12 shares of 21, or of 20 where the guard is not drawn; without the cap they had all. Five standard deviations are 4 %.
        for count in lied {
            assert!((draws * 50 / 100..draws * 65 / 100).contains(&count), "{lied:?} of {draws}");
        }
        assert!(choose(&alone, &[[1; 32]], &wish(3), &mut random).is_some());
    }

    #[test]
    fn relays_that_are_not_there_are_passed_over_while_there_are_others() {
        let relays =
            [made(1, 1, None), made(2, 9, None), made(3, 1, None), made(4, 9, Some(443)), made(5, 1, Some(443))];
        let mut random = seeded(13);
        let absent = [[2; 32], [4; 32], [1; 32]];
        let passing = Wish { absent: &absent, ..wish(3) };
        for _ in 0..100 {
            let path = choose(&relays, &[[1; 32]], &passing, &mut random).unwrap();
            assert_eq!(path, [0, 2, 4], "the guard has rules of its own");
        }
        let absent = [[4; 32], [5; 32]];
        let none = Wish { absent: &absent, ..wish(3) };
        assert!(choose(&relays, &[[1; 32], [3; 32]], &none, &mut random).is_some_and(|path| path[0] == 0));
    }

    #[test]
    fn exits_that_are_scarce_are_left_to_their_own_position() {
        let relays = [made(1, 100, None), made(2, 100, None), made(3, 50, Some(443)), made(4, 1, Some(443))];
        let mut random = seeded(1);
        for _ in 0..500 {
            let path = choose(&relays, &[[1; 32]], &wish(3), &mut random).unwrap();
            assert_eq!(path[..2], [0, 1]);
        }
        // With no other left, an exit goes between.
        let path = choose(&relays[1..], &[[2; 32]], &wish(3), &mut random).unwrap();
        assert_eq!(path[0], 0);
        assert!(choose(&relays[2..], &[[3; 32]], &wish(3), &mut random).is_none(), "never a relay twice");
    }

    #[test]
    fn the_first_guard_that_allows_a_path_is_taken() {
        let mut relays = vec![made(1, 1, None), made(2, 1, None), made(3, 1, None), made(4, 1, Some(443))];
        let mut random = seeded(3);
        let guards = [[9; 32], [2; 32], [1; 32]];
        for _ in 0..50 {
            assert_eq!(choose(&relays, &guards, &wish(3), &mut random).unwrap()[0], 1);
        }
        // The only exit is the second's family, if both say so.
        relays[3].family = vec![[2; 32]];
        assert_eq!(choose(&relays, &guards, &wish(3), &mut random).unwrap()[0], 1);
        relays[1].family = vec![[4; 32]];
        assert_eq!(choose(&relays, &guards, &wish(3), &mut random).unwrap()[0], 0);
        assert!(draw_guard(&relays, &[[1; 32], [3; 32]], &wish(3), &mut random).is_none(), "no other allows one");
    }

    #[test]
    fn numbers_below_an_end_reach_all_and_no_more() {
        let mut random = seeded(5);
        let mut seen = [false; 5];
        (0..200).for_each(|_| seen[below(5, &mut random).unwrap() as usize] = true);
        assert_eq!(seen, [true; 5]);
        assert_eq!((below(1, &mut random), below(0, &mut random)), (Some(0), None));
    }
}
