//! That paths keep the rules, and what others can make of the choice.

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

#[test]
fn who_spoils_cells_meets_two_tries_of_a_stream_with_friends_alone() {
    // A fifth are exits, which are in no other position. Two relays carry as much as counts, one in either.
    let bandwidth = |number| if [15, 95].contains(&number) { 4000 } else { 1000 };
    let relays: Vec<_> = (0..100).map(|number| made(number, bandwidth(number), (number < 20).then_some(443))).collect();
    let guard = [[50; 32]];
    let two_of = |is_his: &dyn Fn(usize) -> bool| {
        let (mut random, streams) = (seeded(17), 20_000);
        let met = |spoilt: &[[u8; 32]], random: &mut Xoshiro256PlusPlus| {
            let path = choose(&relays, &guard, &Wish { spoilt, ..wish(3) }, random).unwrap();
            let behind: Vec<_> = path[1..].iter().map(|place| relays[*place].identity).collect();
            path[1..].iter().any(|place| is_his(*place)).then_some(behind)
        };
        let both = |_: &i32| met(&[], &mut random).is_some_and(|spoilt| met(&spoilt, &mut random).is_some());
        (0..streams).filter(both).count() as f64 / f64::from(streams)
    };
    for alone in [15, 95] {
        assert_eq!(two_of(&|place| place == alone), 0.0, "{alone}");
    }
    let tenth = two_of(&|place| place % 10 == 0);
    assert!((0.02..0.04).contains(&tenth), "{tenth:.4} of streams");
}

#[test]
fn relays_of_a_spoilt_circuit_are_passed_over_behind_a_guard_and_lead_to_no_other() {
    let mut relays = [
        made(1, 1, None),
        made(2, 1, None),
        made(3, 1, None),
        made(4, 1, None),
        made(5, 1, Some(443)),
        made(6, 1, Some(443)),
    ];
    // Neither exit is between.
    (relays[4].family, relays[5].family) = (vec![[6; 32]], vec![[5; 32]]);
    let (guards, mut random) = ([[1; 32], [2; 32]], seeded(19));
    let mut path = |relays: &[Made], wish: &Wish<'_>| choose(relays, &guards, wish, &mut random).unwrap();
    let spoilt = [[3; 32], [5; 32]];
    for _ in 0..50 {
        let path = path(&relays, &Wish { spoilt: &spoilt, ..wish(3) });
        assert!(path[0] == 0 && path[1] != 2 && path[2] == 5, "{path:?}");
    }
    let between = [[2; 32], [3; 32], [4; 32], [5; 32]];
    for _ in 0..50 {
        assert_eq!(path(&relays, &Wish { spoilt: &between, ..wish(3) })[2], 5, "the exit is still another");
        let absent = Wish { spoilt: &[[3; 32]], absent: &[[2; 32], [4; 32]], ..wish(3) };
        assert_eq!(path(&relays, &absent)[1], 2, "who may have spoilt a cell is better than one who is not there");
    }
    // The only other exit is the first guard's family.
    (relays[0].family, relays[5].family) = (vec![[6; 32]], vec![[1; 32], [5; 32]]);
    for _ in 0..50 {
        let path = path(&relays, &Wish { spoilt: &spoilt, ..wish(3) });
        assert!(path[0] == 0 && path[1] != 2 && path[2] == 4, "{path:?}");
    }
    // Nor does an exit that refuses, which is not asked again.
    let refused = Wish { not_exits: &[[5; 32]], ..wish(3) };
    assert_eq!(choose(&relays, &guards, &refused, &mut random), None);
    // The twin: neither exit goes with the first guard.
    relays[0].family.push([5; 32]);
    relays[4].family.push([1; 32]);
    let path = choose(&relays, &guards, &refused, &mut random).unwrap();
    assert!(path[0] == 1 && path[2] == 5, "{path:?}");
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

/// Numbers of relays that are passed over.
fn some() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(0u8..12, 0..8)
}

proptest! {
    #[test]
    fn every_path_keeps_the_rules_and_is_the_same_for_the_same_numbers(
        relays in towns(), hops in 1usize..5, seed: u64, test_network: bool, spoilt in some(), absent in some(),
    ) {
        let wish = Wish { test_network, not_exits: &[[4; 32]], ..wish(hops) };
        let guards = all(&relays);
        let path = choose(&relays, &guards, &wish, &mut seeded(seed));
        prop_assert_eq!(&path, &choose(&relays, &guards, &wish, &mut seeded(seed)));
        // Exits that refuse choose no guard, but guards that are exits themselves may.
        let before = if hops == 1 { wish } else { Wish { not_exits: &[], ..wish } };
        let from = |guard: &usize, wish: &Wish<'_>| exists(&relays, wish, Some(*guard), &mut Vec::new());
        let first = (0..relays.len()).find(|guard| from(guard, &before));
        let possible = first.filter(|guard| from(guard, &wish));
        prop_assert!(hops > 3 || path.as_ref().map(|path| path[0]) == possible, "a path is found where there is one");
        let identities = |numbers: &[u8]| numbers.iter().map(|number| [*number; 32]).collect::<Vec<_>>();
        let (spoilt, absent) = (identities(&spoilt), identities(&absent));
        let other = choose(&relays, &guards, &Wish { spoilt: &spoilt, absent: &absent, ..wish }, &mut seeded(seed));
        let guard = |path: &Option<Vec<usize>>| path.as_ref().map(|path| path[0]);
        prop_assert!(hops > 3 || guard(&path) == guard(&other), "who is passed over leads to no other guard");
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

/// The same question by trying everything: the first relay, the last, and then those between.
fn exists(relays: &[Made], wish: &Wish<'_>, first: Option<usize>, chosen: &mut Vec<usize>) -> bool {
    if chosen.len() == wish.hops {
        return true;
    }
    (0..relays.len()).filter(|place| first.is_none_or(|first| first == *place)).any(|place| {
        let one = &relays[place];
        let ends = one.port == Some(443) && !wish.not_exits.contains(&one.identity);
        let is_last = chosen.len() == usize::from(wish.hops > 1);
        let fits = one.offers
            && (!is_last || ends)
            && chosen.iter().all(|other| {
                let other = &relays[*other];
                let family = one.family.contains(&other.identity) && other.family.contains(&one.identity);
                one.identity != other.identity && !family && (wish.test_network || !neighbours(one, other))
            });
        if !fits {
            return false;
        }
        chosen.push(place);
        let found = exists(relays, wish, None, chosen);
        chosen.pop();
        found
    })
}

#[test]
fn relays_are_drawn_in_proportion_to_their_bandwidth() {
    // Exits have 4/9 of the bandwidth of all, so in other positions they count with (4/9 - 1/3) / (4/9) = 1/4 of theirs.
    let relays =
        [made(1, 100, None), made(2, 300, None), made(3, 600, None), made(4, 600, Some(443)), made(5, 200, Some(443))];
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
    let relays = [made(1, 1, None), made(2, 9, None), made(3, 1, None), made(4, 9, Some(443)), made(5, 1, Some(443))];
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
