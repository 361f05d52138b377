use super::*;
use crate::{ListedRelay, Policy, RelayKeys};
use candor_onion::handshake::HandshakeType;
use rand_xoshiro::Xoshiro256PlusPlus;
use rand_xoshiro::rand_core::SeedableRng;

fn relays(count: u8) -> Vec<ListedRelay> {
    let relay = |number: u8| {
        let keys = RelayKeys::generate().unwrap();
        let address = ([number, 0, 0, 1], 9001).into();
        let listed = keys.listed(None, address, &[HandshakeType::NtorV3]).unwrap();
        listed.with_exit(&Policy::parse("*:443").unwrap())
    };
    (1..=count).map(relay).collect()
}

const WISH: Wish<'_> = Wish::PLAIN;
const DAY: u64 = 86_400;
/// One that nothing is said of.
const EXIT: [u8; 32] = [0; 32];

fn sure(day: u64, instant: Instant) -> When {
    When { day, is_sure: true, instant }
}

/// The guard of a path at that time.
fn guard(guards: &mut Guards, relays: &[ListedRelay], now: u64, at: Instant) -> Option<[u8; 32]> {
    let mut random = Xoshiro256PlusPlus::seed_from_u64(now);
    let path = guards.path(relays, &WISH, sure(now, at), &mut random).ok()?.0;
    Some(*relays[path[0]].identity())
}

#[test]
fn a_guard_stays_for_its_time_and_is_the_same_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let (file, relays, at) = (folder.path().join("guards"), relays(8), Instant::now());
    let mut guards = Guards::load(&file, GuardRules::default()).unwrap();
    let first = guard(&mut guards, &relays, 0, at).unwrap();
    guards.reached(&first);
    guards.save().unwrap();
    for day in 1..120 {
        let mut again = Guards::load(&file, GuardRules::default()).unwrap();
        assert_eq!(guard(&mut again, &relays, day * DAY, at), Some(first), "day {day}");
        again.save().unwrap();
    }
    let mut again = Guards::load(&file, GuardRules::default()).unwrap();
    let drawn = |guards: &Guards| guards.kept.iter().map(|guard| guard.drawn).collect::<Vec<_>>();
    assert_eq!(drawn(&again), [0]);
    assert!(guard(&mut again, &relays, 120 * DAY, at).is_some());
    assert_eq!(drawn(&again), [120 * DAY], "another was drawn");
    assert_eq!(guards.identities().count(), 1);
}

#[test]
fn a_guard_that_nobody_lists_is_forgotten_after_its_time_and_no_sooner() {
    let (relays, at) = (relays(8), Instant::now());
    let mut guards = Guards::forgetful(GuardRules::default());
    let first = guard(&mut guards, &relays, 0, at).unwrap();
    guards.reached(&first);
    let others: Vec<_> = relays.into_iter().filter(|relay| relay.identity() != &first).collect();
    let second = guard(&mut guards, &others, DAY, at).unwrap();
    guards.reached(&second);
    assert_eq!(guards.identities().collect::<Vec<_>>(), [&first, &second]);
    guard(&mut guards, &others, 19 * DAY, at).unwrap();
    assert_eq!(guards.identities().count(), 2);
    guard(&mut guards, &others, 20 * DAY, at).unwrap();
    assert_eq!(guards.identities().collect::<Vec<_>>(), [&second]);
}

#[test]
fn a_clock_that_nobody_vouches_for_ends_no_guard() {
    let (mut relays, at) = (relays(8), Instant::now());
    let mut guards = Guards::forgetful(GuardRules::default());
    let first = guard(&mut guards, &relays, 100 * DAY, at).unwrap();
    guards.reached(&first);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
    for day in [0, 1000 * DAY, 99 * DAY] {
        let when = When { is_sure: false, ..sure(day, at) };
        let path = guards.path(&relays, &WISH, when, &mut random).unwrap().0;
        assert_eq!(*relays[path[0]].identity(), first, "day {}", day / DAY);
    }
    // Nobody lists it for a moment, and the clock says that it is for years.
    let place = relays.iter().position(|relay| *relay.identity() == first).unwrap();
    let gone = relays.remove(place);
    guards.path(&relays, &WISH, When { is_sure: false, ..sure(1000 * DAY, at) }, &mut random).unwrap();
    relays.push(gone);
    assert_eq!(guard(&mut guards, &relays, 101 * DAY, at), Some(first));
    // The twin: when it is sure, its time is over.
    guard(&mut guards, &relays, 221 * DAY, at).unwrap();
    assert!(guards.kept.iter().all(|guard| guard.drawn > 200 * DAY));
}

#[test]
fn guards_that_fail_are_passed_over_for_a_while_and_no_more_are_drawn_than_there_is_room_for() {
    let (relays, at) = (relays(8), Instant::now());
    let mut guards = Guards::forgetful(GuardRules::default());
    let first = guard(&mut guards, &relays, 0, at).unwrap();
    assert!(guards.reached(&first) && !guards.reached(&first));
    guards.failed(&first, at);
    // Circuits that fail together count once.
    guards.failed(&first, at);
    let second = guard(&mut guards, &relays, 1, at).unwrap();
    assert_ne!(first, second);
    guards.reached(&second);
    guards.failed(&second, at);
    let third = guard(&mut guards, &relays, 2, at).unwrap();
    guards.reached(&third);
    guards.failed(&third, at);
    let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
    let error = guards.path(&relays, &WISH, sure(3, at), &mut random).unwrap_err().to_string();
    assert!(error.contains("3 of 3 guards could not be reached"), "{error}");
    // In its old place, after ten seconds; after another failure, twice as long.
    let later = |seconds| at + Duration::from_secs(seconds);
    assert_eq!(guard(&mut guards, &relays, 4, later(9)), None);
    assert_eq!(guard(&mut guards, &relays, 5, later(10)), Some(first));
    guards.failed(&first, later(10));
    assert_eq!(guard(&mut guards, &relays, 6, later(29)), Some(second));
    assert_eq!(guard(&mut guards, &relays, 7, later(30)), Some(first));
    guards.reached(&first);
    guards.failed(&first, later(30));
    assert_eq!(guard(&mut guards, &relays, 8, later(40)), Some(first), "it counts from the start again");
}

#[test]
fn guards_that_were_away_for_hours_are_tried_again_soon() {
    let (relays, at) = (relays(8), Instant::now());
    for count in [1, 3] {
        let rules = GuardRules { most: count, ..GuardRules::default() };
        let mut guards = Guards::forgetful(rules);
        for _ in 0..count {
            let drawn = guard(&mut guards, &relays, 0, at).unwrap();
            guards.reached(&drawn);
            guards.failed(&drawn, at);
        }
        // The line is cut for six hours, and somebody asks for a path all the time.
        let mut tries = 0;
        for second in 1..6 * 3600 {
            let now = at + Duration::from_secs(second);
            if let Some(tried) = guard(&mut guards, &relays, 0, now) {
                guards.failed(&tried, now);
                tries += 1;
            }
        }
        let back = at + Duration::from_secs(6 * 3600);
        let path = |second| guard(&mut guards, &relays, 0, back + Duration::from_secs(second));
        let waited = (0..3600).map(path).take_while(Option::is_none).count();
        assert!(waited <= 10, "{count} guards: no path for {waited} s after the line is back");
        assert!(tries <= 6 * 400, "{tries} tries in six hours"); // about one in ten seconds
        assert_eq!(guards.kept.len(), count, "nobody else is drawn");
    }
}

#[test]
fn a_guard_that_leads_nowhere_is_passed_over_while_there_is_another() {
    let (relays, at) = (relays(8), Instant::now());
    let after = |seconds| at + Duration::from_secs(seconds);
    let mut guards = Guards::forgetful(GuardRules::default());
    let first = guard(&mut guards, &relays, 0, at).unwrap();
    guards.reached(&first);
    // Circuits that fail together count once, and one that is built clears it.
    for second in 0..3 {
        (0..5).for_each(|_| guards.went_no_further(&first, after(second), after(second + 1)));
    }
    assert_eq!(guard(&mut guards, &relays, 0, after(3)), Some(first));
    guards.reached(&first);
    (3..6).for_each(|second| guards.went_no_further(&first, after(second), after(second)));
    assert_eq!(guard(&mut guards, &relays, 0, after(6)), Some(first));
    guards.went_no_further(&first, after(6), after(6));
    let second = guard(&mut guards, &relays, 0, after(6)).unwrap();
    assert_ne!(second, first);
    // Without another it is still better than none.
    guards.failed(&second, after(6));
    guards.rules.most_tried = 2;
    assert_eq!(guard(&mut guards, &relays, 0, after(6)), Some(first));
    assert_eq!(guard(&mut guards, &relays, 0, after(16)), Some(first), "its time is over");
}

#[test]
fn a_guard_whose_link_goes_dead_is_tried_over_a_new_one_before_it_is_given_up() {
    let (relays, at) = (relays(8), Instant::now());
    let after = |seconds| at + Duration::from_secs(seconds);
    let mut guards = Guards::forgetful(GuardRules::default());
    let first = guard(&mut guards, &relays, 0, at).unwrap();
    guards.reached(&first);
    // A line that is cut once an hour: all circuits of a link fail together, and the next link carries streams.
    for hour in (3600..36_000).step_by(3600) {
        for circuit in 0..8 {
            assert!(!guards.lost_link(&first, after(hour - circuit), after(hour + circuit)), "{hour}");
        }
        assert_eq!(guard(&mut guards, &relays, 0, after(hour + 10)), Some(first));
        guards.reached(&first);
        guards.carried(&first, &EXIT, after(hour + 10));
    }
    // One that makes circuits and carries nothing: its second link counts, however many circuits come about on it.
    assert!(!guards.lost_link(&first, after(40_000), after(40_010)));
    guards.reached(&first);
    // A stream that it goes on with from before proves nothing of the new link.
    guards.carried(&first, &EXIT, after(39_990));
    assert!(guards.lost_link(&first, after(40_011), after(40_020)));
    assert!(!guards.lost_link(&first, after(40_011), after(40_021)), "circuits that fail together count once");
    let second = guard(&mut guards, &relays, 0, after(40_021)).unwrap();
    assert_ne!(second, first);
    // It is tried again in its time, and the next link counts at once.
    assert_eq!(guard(&mut guards, &relays, 0, after(40_030)), Some(first));
    assert!(guards.lost_link(&first, after(40_030), after(40_040)));
    assert!(!guards.lost_link(&[0; 32], at, at) && guards.lost.len() == 1, "who is no guard is not remembered");
}

#[test]
fn a_guard_whose_circuits_carry_nothing_comes_behind_the_others() {
    let (relays, at) = (relays(8), Instant::now());
    let after = |seconds| at + Duration::from_secs(seconds);
    let mut guards = Guards::forgetful(GuardRules::default());
    let all = [(); 3].map(|()| {
        let drawn = guard(&mut guards, &relays, 0, at).unwrap();
        guards.reached(&drawn);
        guards.failed(&drawn, at);
        drawn
    });
    all.iter().for_each(|drawn| assert!(!guards.reached(drawn), "it was before"));
    // The first builds every circuit, and carries nothing. Somebody asks for a path each second.
    let mut tries = Vec::new();
    for second in 0..3600 {
        let chosen = guard(&mut guards, &relays, 0, after(second)).unwrap();
        guards.reached(&chosen);
        if chosen == all[0] {
            // Circuits that fail together count once.
            let failed = after(second) + Duration::from_millis(1);
            let behind = (0..5).filter(|_| guards.carried_nothing(&chosen, None, after(second), failed)).count();
            assert_eq!(behind, usize::from(second >= 3), "{second}");
            assert_eq!(guards.is_behind_since(&chosen, after(second), failed), second >= 3);
            assert!(!guards.is_behind_since(&chosen, failed + Duration::from_millis(1), failed), "it was begun later");
            tries.push(second);
        } else {
            assert_eq!(chosen, all[1], "in their order");
            guards.carried(&chosen, &EXIT, after(second));
        }
    }
    assert_eq!(tries[..6], [0, 1, 2, 3, 64, 185], "after a minute, and then two");
    assert!(tries.len() <= 10, "{tries:?}");
    // It carries again; the count begins anew.
    guards.carried(&all[0], &EXIT, after(4000));
    for second in 4000..4100 {
        assert_eq!(guard(&mut guards, &relays, 0, after(second)), Some(all[0]), "one that carries one in four");
        match second % 4 {
            0 => guards.carried(&all[0], &EXIT, after(second)),
            _ => {
                guards.carried_nothing(&all[0], None, after(second), after(second));
            }
        }
    }
    // The twin: without another that was reached it is used, and nobody is drawn.
    let mut guards = Guards::forgetful(GuardRules::default());
    let sole = guard(&mut guards, &relays, 0, at).unwrap();
    guards.reached(&sole);
    for second in 0..60 {
        assert_eq!(guard(&mut guards, &relays, 0, after(second)), Some(sole));
        guards.carried_nothing(&sole, None, after(second), after(second));
    }
    assert_eq!(guards.kept.len(), 1);
    guards.carried_nothing(&[0; 32], None, at, at);
    assert!(guards.barren.len() == 1, "who is no guard is not remembered");
}

#[test]
fn neither_a_spoilt_cell_nor_an_exit_that_refuses_has_a_guard_drawn() {
    let (relays, at) = (relays(4), Instant::now());
    let mut guards = Guards::forgetful(GuardRules::default());
    let first = guard(&mut guards, &relays, 0, at).unwrap();
    guards.reached(&first);
    // All but one exit are of the guard's family.
    let (own, exits): (Vec<_>, Vec<_>) = relays.into_iter().partition(|relay| *relay.identity() == first);
    let [spoils, near @ ..] = &exits[..] else { panic!() };
    let near: Vec<_> = near.iter().map(|relay| *relay.identity()).collect();
    let spoilt = [*spoils.identity()];
    let mut all: Vec<_> = own.into_iter().map(|relay| relay.with_family(near.clone())).collect();
    all.extend(exits.into_iter().map(|relay| relay.with_family(vec![first])));
    let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
    let mut path = |wish: &Wish<'_>| {
        let path = guards.path(&all, wish, sure(0, at), &mut random);
        let identities = |path: Vec<usize>| path.iter().map(|place| *all[*place].identity()).collect::<Vec<_>>();
        (path.map(|(path, _)| identities(path)).map_err(|error| error.to_string()), guards.kept.len())
    };
    for _ in 0..20 {
        assert_eq!(path(&Wish { spoilt: &spoilt, ..WISH }), (Ok(vec![first, spoilt[0]]), 1));
    }
    // Nor does an exit that refuses, but it is not asked again.
    let (refused, kept) = path(&Wish { not_exits: &spoilt, ..WISH });
    assert!(refused.is_err_and(|why| why.contains("go with the guard have refused")) && kept == 1);
    // The twins: where there is no path from the guard in the first place, or guards are exits themselves, another is drawn.
    let (other, kept) = path(&Wish { not_exits: &[first], hops: 1, ..WISH });
    assert!(other.unwrap() != [first] && kept == 2);
    let (other, kept) = path(&Wish { hops: 3, ..WISH });
    assert!(other.unwrap()[0] != first && kept >= 2);
}

#[test]
fn what_may_be_an_exits_doing_counts_against_a_guard_once_for_each_exit() {
    let (relays, at) = (relays(8), Instant::now());
    let after = |seconds| at + Duration::from_secs(seconds);
    let mut guards = Guards::forgetful(GuardRules::default());
    let all = [(); 2].map(|()| {
        let drawn = guard(&mut guards, &relays, 0, at).unwrap();
        guards.reached(&drawn);
        guards.failed(&drawn, at);
        drawn
    });
    guards.reached(&all[0]);
    let mut fails = |exits: &[u8], start| {
        for (second, exit) in (start..).zip(exits) {
            guards.carried_nothing(&all[0], Some(&[*exit; 32]), after(second), after(second));
        }
        let used = guard(&mut guards, &relays, 0, after(start + 30));
        guards.carried(&all[0], &EXIT, after(start + 30));
        used == Some(all[0])
    };
    assert!(fails(&[1; 20], 0), "one exit ends every circuit, and the guard stays");
    assert!(fails(&[1, 2, 1, 3, 2, 1, 3], 100), "or three");
    assert!(!fails(&[1, 2, 1, 3, 4], 200), "four don't");
    // One that carries a stream from another guard was not to blame: it counts once more.
    guards.reached(&all[1]);
    for (second, behind) in [(250, false), (251, false), (252, false), (253, true)] {
        assert_eq!(guards.carried_nothing(&all[0], Some(&[9; 32]), after(second), after(second)), behind);
        assert!(
            !guards.carried_nothing(&all[0], Some(&[9; 32]), after(second), after(second)),
            "until then it doesn't"
        );
        guards.carried(&all[1], &[9; 32], after(second));
    }
    guards.carried(&all[0], &EXIT, after(254));
    // Together with the guard's own failures they count too.
    for (second, exit) in [(300, Some(&[1; 32])), (301, None), (302, None), (303, Some(&[1; 32]))] {
        assert!(!guards.carried_nothing(&all[0], exit, after(second), after(second)));
    }
    assert!(guards.carried_nothing(&all[0], None, after(304), after(304)));
    // And once its time is over, four exits are enough to tell a second time.
    let later = after(304) + GuardRules::default().most_retry;
    assert_eq!(guard(&mut guards, &relays, 0, later), Some(all[0]), "it is tried again");
    let fails_again = guards.carried_nothing(&all[0], Some(&[1; 32]), later, later);
    assert!(fails_again, "by an exit that has counted before");
    let after = |seconds| later + Duration::from_secs(seconds);
    (5..50).for_each(|exit| {
        guards.carried_nothing(&all[0], Some(&[exit; 32]), after(400), after(400));
    });
    assert!(guards.barren[&all[0]].exits.len() <= 4, "no more are remembered than count");
}

/// Draws guards, none of which can be reached, until no more are drawn.
fn in_vain(guards: &mut Guards, relays: &[ListedRelay], at: Instant) -> Vec<[u8; 32]> {
    let drawn = std::iter::from_fn(|| {
        let drawn = guard(guards, relays, 0, at)?;
        guards.failed(&drawn, at);
        Some(drawn)
    });
    // One more than there are relays: a guard that is drawn twice fails a test, and doesn't keep it going for ever.
    drawn.take(relays.len() + 1).collect()
}

#[test]
fn relays_that_are_not_there_take_no_guards_places_and_only_so_many_are_tried() {
    let (mut relays, at) = (relays(20), Instant::now());
    let later = at + Duration::from_secs(10);
    let mut guards = Guards::forgetful(GuardRules::default());
    let dead = in_vain(&mut guards, &relays, at);
    assert_eq!(dead.len(), 12, "one who blocks them all sees so many drawn, and no more");
    // Three are reached after all. From then on no other is used, whatever happens to them.
    for number in [5, 1, 7] {
        guards.reached(&dead[number]);
    }
    assert_eq!(guard(&mut guards, &relays, 1, later), Some(dead[1]), "those that were reached come first");
    [1, 5, 7].iter().for_each(|number| guards.failed(&dead[*number], later));
    assert_eq!(guard(&mut guards, &relays, 2, later), None);
    // The twin: three dead ones are drawn, and the fourth is there.
    let mut guards = Guards::forgetful(GuardRules { most_tried: 3, ..GuardRules::default() });
    let dead = in_vain(&mut guards, &relays[..3], at);
    assert_eq!(dead.len(), 3);
    assert_eq!(guard(&mut guards, &relays, 1, at), None);
    let listed = relays.split_off(1);
    let fourth = guard(&mut guards, &listed, 1, at).expect("the one that nobody lists any more has gone");
    assert!(!dead.contains(&fourth));
}

#[test]
fn what_was_never_reached_is_so_after_a_restart() {
    let (relays, at) = (relays(20), Instant::now());
    let mut guards = Guards::forgetful(GuardRules::default());
    let dead = in_vain(&mut guards, &relays, at);
    guards.reached(&dead[3]);
    let mut again = Guards::parse(&guards.text(), GuardRules::default()).unwrap();
    assert_eq!(guard(&mut again, &relays, 0, at), Some(dead[3]));
    again.failed(&dead[3], at);
    assert_eq!(in_vain(&mut again, &relays, at).len(), 11, "nobody is drawn anew");
    let old = guards.text().replace(",\n      \"reached\": false", "").replace(",\n      \"reached\": true", "");
    let old = Guards::parse(&old, GuardRules::default()).unwrap();
    assert!(old.kept.iter().all(|kept| kept.reached), "files of before have guards only");
}

#[test]
fn a_file_that_is_no_list_of_guards_is_refused_and_stays() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("guards");
    let mut guards = Guards::load(&file, GuardRules::default()).unwrap();
    guard(&mut guards, &relays(3), 0, Instant::now()).unwrap();
    guards.save().unwrap();
    let whole = std::fs::read_to_string(&file).unwrap();
    assert!(Guards::load(&file, GuardRules::default()).is_ok());
    for wrong in [&whole[..whole.len() / 2], "", "{}", &whole.replace("identity", "id"), &whole.replace('"', "'")] {
        std::fs::write(&file, wrong).unwrap();
        let error = Guards::load(&file, GuardRules::default()).unwrap_err().to_string();
        assert!(error.contains("not a list of guards") && error.contains("remove it"), "{error}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), wrong);
    }
}

#[test]
fn circuits_begin_where_the_user_says_and_nowhere_else() {
    let (relays, at) = (relays(5), Instant::now());
    let mut guards = Guards::forgetful(GuardRules::default());
    let first = guard(&mut guards, &relays, 0, at).unwrap();
    let wanted = relays.iter().map(|relay| *relay.identity()).find(|identity| *identity != first).unwrap();
    let entries = [wanted];
    let wish = Wish { entries: Some(&entries), ..WISH };
    let mut random = Xoshiro256PlusPlus::seed_from_u64(1);
    for turn in 0..20 {
        let (path, _) = guards.path(&relays, &wish, sure(turn, at), &mut random).unwrap();
        assert_eq!(*relays[path[0]].identity(), wanted);
    }
    assert_eq!(guard(&mut guards, &relays, 21, at), Some(first), "without that, the first guard is the first");
    let none = Wish { entries: Some(&[]), ..WISH };
    let error = guards.path(&relays, &none, sure(22, at), &mut random).unwrap_err().to_string();
    assert!(error.contains("none of the relays that circuits are to begin at is listed"), "{error}");
}

#[test]
fn an_error_says_what_a_path_lacks() {
    let (relays, at) = (relays(3), Instant::now());
    let mut guards = Guards::forgetful(GuardRules::default());
    let mut random = Xoshiro256PlusPlus::seed_from_u64(0);
    let all: Vec<_> = relays.iter().map(|relay| *relay.identity()).collect();
    let mut why = |wish: &Wish<'_>, relays: &[ListedRelay]| {
        guards.path(relays, wish, sure(0, at), &mut random).unwrap_err().to_string()
    };
    assert!(why(&Wish { hops: 4, ..WISH }, &relays).contains("expected 4 relays that offer ntor-v3; found 3 among 3"));
    assert!(why(&Wish { port: 80, ..WISH }, &relays).contains("no relay that offers ntor-v3 is an exit"));
    assert!(why(&Wish { not_exits: &all, ..WISH }, &relays).contains("all 3 exits to port 443 have refused"));
    let family = relays.into_iter().map(|relay| relay.with_family(all.clone())).collect::<Vec<_>>();
    assert!(why(&WISH, &family).contains("far enough from each other"));
}
