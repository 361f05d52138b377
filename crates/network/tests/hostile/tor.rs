//! Directories and authorities of Tor's that are odd, late or hostile, and what a client and a relay of ours make of it.

use crate::dirport::{Answer, DAY, DirPort, documents, now, times};
use crate::probes::{counting, use_up};
use crate::raw::{Raw, create};
use crate::scene::until;
use candor_network::tor::{TorAttendance, TorDirectory, TorRelayKey, attend};
use candor_network::{Clock, Crypto, Relay, RelayConfig, RelayKeys};
use candor_onion::cell::{DestroyReason, Message};
use candor_test_support::tor::{Authority, Entry, consensus};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// A client that trusts these authorities, which are at these servers.
fn client(servers: &[&DirPort], authorities: &[&Authority]) -> TorDirectory {
    let names = servers.iter().zip(authorities);
    let names = names.map(|(server, authority)| format!("{}/{}", server.address, authority.v3ident()).parse().unwrap());
    TorDirectory::new(names.collect()).unwrap()
}

fn entries(count: u8) -> Vec<Entry> {
    (1..=count).map(|number| Entry::new(number, 9000 + u16::from(number))).collect()
}

/// How many relays a client has of a directory; or why it has none.
async fn relays(directory: &TorDirectory) -> Result<usize, String> {
    let list = async { directory.relays(&*directory.consensus().await?, Crypto::Tor1, true).await };
    list.await.map(|list| list.relays().len()).map_err(|error| error.to_string())
}

#[tokio::test]
async fn an_authority_whose_certificate_is_refused_late_or_giant_vetoes_nothing() {
    let [one, two, three] = [0, 1, 2].map(Authority::new);
    let three = three.with_weak_key();
    let all = [&one, &two, &three];
    let relays_of = entries(1);
    for spoil in 0..4 {
        let honest = documents(&all, times(60), &relays_of);
        let (v3ident, giant) = (three.v3ident(), "x\n".repeat(1 << 14));
        let server = DirPort::start(move |path| match (spoil, path.contains(&v3ident)) {
            (1, true) => Answer::Missing,
            (2, true) => Answer::Text(giant.clone()),
            (3, true) => Answer::Text("nonsense".to_owned()),
            _ => honest(path),
        })
        .await;
        let directory = client(&[&server; 3], &all);
        assert_eq!(relays(&directory).await, Ok(1), "{spoil}");
        assert_eq!(server.asked("/tor/keys/").len(), 3, "{spoil}");
    }
    // Without the second's, each of the others is told.
    let server = DirPort::start(documents(&[&one, &three], times(60), &relays_of)).await;
    let error = relays(&client(&[&server; 3], &all)).await.unwrap_err();
    assert!(error.contains("1 of 3 trusted authorities") && error.contains("expected an RSA key of 2048"), "{error}");
}

#[tokio::test]
async fn a_relay_whose_entry_is_odd_takes_the_consensus_from_nobody() {
    let authority = Authority::new(0);
    let mut odd = entries(5);
    odd[2] = odd[2].clone().with("pr Link");
    let server = DirPort::start(documents(&[&authority], times(60), &odd)).await;
    assert_eq!(relays(&client(&[&server], &[&authority])).await, Ok(4));
    let server = DirPort::start(documents(&[&authority], times(60), &entries(5))).await;
    assert_eq!(relays(&client(&[&server], &[&authority])).await, Ok(5));
}

#[tokio::test]
async fn a_certificate_that_has_ended_is_fetched_again_though_its_key_stays() {
    let authority = Authority::new(0);
    let relays_of = entries(1);
    let start = now();
    let time = Arc::new(AtomicU64::new(start));
    let at = |from: u64, certificate: String| {
        let text = consensus(&[&authority], [from, from + 1200, from + 10_800], &relays_of);
        let honest = documents(&[&authority], times(60), &relays_of);
        move |path: &str| match path {
            path if path.starts_with("/tor/keys/") => Answer::Text(certificate.clone()),
            path if path.starts_with("/tor/status-vote/") => Answer::Text(text.clone()),
            path => honest(path),
        }
    };
    let first = authority.certificate(start - DAY, start + DAY);
    let server = DirPort::start(at(start, first.clone())).await;
    let clock = Arc::clone(&time);
    let directory = client(&[&server], &[&authority]).with_clock(Clock::new(move || clock.load(Ordering::Relaxed)));
    assert_eq!(relays(&directory).await, Ok(1));
    // Two days later, with the old certificate and then the new one.
    time.store(start + 2 * DAY, Ordering::Relaxed);
    server.say(at(start + 2 * DAY, first));
    let error = relays(&directory).await.unwrap_err();
    assert!(error.contains("certificate of its signing key does not hold now"), "{error}");
    server.say(at(start + 2 * DAY, authority.certificate(start + DAY, start + 9 * DAY)));
    assert_eq!(relays(&directory).await, Ok(1));
    assert_eq!(server.asked("/tor/keys/").len(), 3);
    // While it holds it is not fetched again.
    time.store(start + 3 * DAY, Ordering::Relaxed);
    server.say(at(start + 3 * DAY, "nonsense".to_owned()));
    assert_eq!(relays(&directory).await, Ok(1));
    assert_eq!(server.asked("/tor/keys/").len(), 3);
}

#[tokio::test]
async fn few_missing_microdescriptors_cost_their_relays_and_many_the_consensus() {
    let authority = Authority::new(0);
    let without = async |entries: Vec<Entry>, missing: &[usize]| {
        let mut known = entries.clone();
        // One that nobody asks for, in its place.
        missing.iter().for_each(|index| known[*index].microdescriptor = "onion-key\n".to_owned());
        let (all, some) = (documents(&[&authority], times(60), &entries), documents(&[&authority], times(60), &known));
        let server =
            DirPort::start(move |path| if path.starts_with("/tor/micro/") { some(path) } else { all(path) }).await;
        relays(&client(&[&server], &[&authority])).await
    };
    assert_eq!(without(entries(40), &[]).await, Ok(40));
    assert_eq!(without(entries(40), &[7, 30]).await, Ok(38), "5 %");
    let error = without(entries(40), &[7, 11, 30]).await.unwrap_err();
    assert!(error.contains("92 % of its relays") && error.contains("95 % are needed"), "{error}");
    // One of ten guards, or of ten exits, is too much; and so is one that carries much.
    let only_ten = |flag: &str| {
        let mut some = entries(40);
        for entry in &mut some[10..] {
            *entry = entry.clone().with(&"s Exit Guard Running Valid".replace(&format!(" {flag}"), ""));
        }
        some
    };
    for (flag, name) in [("Guard", "guards"), ("Exit", "exits")] {
        let error = without(only_ten(flag), &[3]).await.unwrap_err();
        assert!(error.contains(&format!("90 % of its {name}")), "{error}");
        assert_eq!(without(only_ten(flag), &[30]).await, Ok(39));
    }
    let mut one_large = entries(40);
    one_large[5] = one_large[5].clone().with("w Bandwidth=100000");
    assert!(without(one_large, &[5]).await.is_err());
}

#[tokio::test]
async fn a_directory_without_what_it_is_asked_for_or_with_something_else_is_asked_once() {
    let [one, two] = [0, 1].map(Authority::new);
    let relays_of = entries(200);
    for spoil in 0..3 {
        let honest = documents(&[&one, &two], times(60), &relays_of);
        let other = Entry::new(250, 9250).microdescriptor;
        let bad = DirPort::start(move |path| match (path.starts_with("/tor/micro/"), spoil) {
            (true, 0) => Answer::Text(String::new()),
            (true, 1) => Answer::Text(other.clone()),
            (true, _) => Answer::Endless,
            _ => honest(path),
        })
        .await;
        let good = DirPort::start(documents(&[&one, &two], times(60), &relays_of)).await;
        // Which one is first is a matter of chance.
        while bad.asked("/tor/micro/").is_empty() {
            assert_eq!(relays(&client(&[&bad, &good], &[&one, &two])).await, Ok(200), "{spoil}");
        }
        assert_eq!(bad.asked("/tor/micro/").len(), 1, "{spoil}: of three pieces");
        assert!(good.asked("/tor/micro/").len() >= 3);
    }
}

#[tokio::test]
async fn of_an_older_consensus_and_a_newer_one_the_newer_is_used_and_a_giant_one_costs_nothing() {
    let [one, two] = [0, 1].map(Authority::new);
    let (few, many) = (entries(1), entries(2));
    let older = DirPort::start(documents(&[&one, &two], times(3600), &few)).await;
    let newer = DirPort::start(documents(&[&one, &two], times(60), &many)).await;
    for _ in 0..6 {
        assert_eq!(relays(&client(&[&older, &newer], &[&one, &two])).await, Ok(2));
    }
    // Alone, the older one is used: it holds.
    assert_eq!(relays(&client(&[&older, &older], &[&one, &two])).await, Ok(1));
    older.say(|_| Answer::Endless);
    while older.asked("consensus").len() < 20 {
        assert_eq!(relays(&client(&[&older, &newer], &[&one, &two])).await, Ok(2));
    }
}

#[tokio::test]
async fn a_consensus_that_is_known_is_not_fetched_again_and_nobody_without_one_is_put_off() {
    let authority = Authority::new(0);
    let unmodified = |path: &str| match path.starts_with("/tor/status-vote/") {
        true => Answer::Unmodified,
        false => Answer::Missing,
    };
    // A word that a client without a consensus can do nothing with is no answer.
    let server = DirPort::start(unmodified).await;
    let error = client(&[&server], &[&authority]).consensus().await.unwrap_err().to_string();
    assert!(error.contains("status 304") && server.asked("if-modified-since").is_empty(), "{error}");

    let old = times(3600);
    server.say(documents(&[&authority], old, &entries(1)));
    let directory = client(&[&server], &[&authority]);
    let first = directory.consensus().await.unwrap();
    assert!(server.asked("if-modified-since").is_empty(), "nothing is known yet");
    server.say(unmodified);
    let again = directory.consensus().await.unwrap();
    let since = server.asked("if-modified-since");
    assert!(again.valid_after == first.valid_after && since.len() == 1, "{since:?}");
    let date = since[0].lines().find_map(|line| line.strip_prefix("if-modified-since: ")).unwrap();
    // coreutils writes the same date.
    let at = format!("@{}", old[0] + 180);
    let shown = Command::new("date").env("LC_ALL", "C").args(["-u", "-d", &at, "+%a, %d %b %Y %H:%M:%S GMT"]).output();
    let shown = String::from_utf8(shown.unwrap().stdout).unwrap();
    assert_eq!(date, shown.trim_end(), "after its own beginning, before any other's");
    // One that is newer is taken.
    server.say(documents(&[&authority], times(60), &entries(2)));
    assert_eq!(relays(&directory).await, Ok(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_the_next_consensus_is_late_a_relay_asks_one_authority_at_a_time_and_ever_more_seldom() {
    let authorities = [0, 1, 2].map(Authority::new);
    let all = authorities.each_ref();
    let mut servers = Vec::new();
    for _ in 0..3 {
        servers.push(DirPort::start(documents(&all, times(3600), &entries(1))).await);
    }
    let directory = client(&servers.iter().collect::<Vec<_>>(), &all);
    let key = TorRelayKey::generate().unwrap();
    let keys = key.with(RelayKeys::generate().unwrap());
    let relay = Relay::start(&keys, RelayConfig::new(crate::town::local())).await.unwrap();
    let asked = || servers.iter().map(|server| server.asked("consensus").len()).sum::<usize>();
    let attendance = TorAttendance::default();
    let attending = attend(&relay, &key, &directory, &attendance, |_| {});
    let _ = tokio::time::timeout(Duration::from_secs(3), attending).await;
    // All of them at first, since none is fresh; then one after 1 s, and after at least 0.5 s and 1 s more; and never more often than that, however busy the machine is.
    assert!((3..=6).contains(&asked()), "{}", asked());
    assert!(servers.iter().all(|server| server.asked("POST /tor/ ").len() == 1), "and all are told of the relay");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_neighbour_of_tors_authority_keeps_no_relay_from_it() {
    let authority = Authority::new(0);
    // None of its relays is at the authority's address.
    let elsewhere = Entry { address: "192.0.2.1".to_owned(), ..Entry::new(1, 9001) };
    let server = DirPort::start(documents(&[&authority], times(60), &[elsewhere])).await;
    let directory = client(&[&server], &[&authority]);
    let key = TorRelayKey::generate().unwrap();
    let (knows, _) = counting().await;
    let (other, _) = counting().await;
    // Its keys are others than those of the relay, which nobody looks at here.
    let attendance = TorAttendance::default();
    tokio::select! {
        () = attend(&knows, &key, &directory, &attendance, |_| {}) => {}
        () = until(|| !server.asked("POST /tor/ ").is_empty()) => {}
    }
    for (relay, is_served) in [(&knows, true), (&other, false)] {
        use_up(relay).await;
        // The authority's own address.
        let listed = relay.listed();
        let mut raw = Raw::from(server.address.ip(), &listed).await.unwrap();
        let number = raw.fresh_number();
        raw.send([create(&listed, number)]).await;
        let message = raw.next().await.unwrap().message;
        assert_eq!(matches!(message, Message::Created2(_)), is_served, "{message:?}");
        assert!(is_served || matches!(message, Message::Destroy(DestroyReason::RESOURCELIMIT)));
    }
}
