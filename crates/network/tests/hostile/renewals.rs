//! Ninety days of a moved clock.

use crate::scene::{holds_nothing, until, until_equal};
use crate::town::{Town, fetch};
use candor_network::{Client, ClientOptions, Clock, Error, HandshakeType, RelayList, Target};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const DAY: u64 = 24 * 3600;

/// The system's clock, moved.
fn moved() -> (Clock, Arc<AtomicU64>) {
    let ahead = Arc::new(AtomicU64::new(0));
    let (by, system) = (Arc::clone(&ahead), Clock::default());
    (Clock::new(move || system.now() + by.load(Ordering::Relaxed)), ahead)
}

/// The list that the relays' entries make.
fn list(folder: &Path) -> RelayList {
    let line = |name| std::fs::read_to_string(folder.join(name)).unwrap();
    RelayList::parse(&["ada", "bob", "cyd"].map(line).concat()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn for_ninety_days_relays_serve_and_clients_connect_and_keys_rotate() {
    let folder = tempfile::tempdir().unwrap();
    let (clock, ahead) = moved();
    let town = Town::with(|config| {
        config.clock = clock.clone();
        config.entry = config.name.as_ref().map(|name| folder.path().join(name));
    })
    .await;
    let port = town.target.address().port();
    let serves = async |list: &RelayList, suite| {
        // A new client, so that every link is made and every certificate checked by the clock of the day.
        let client = Client::new(ClientOptions { clock: clock.clone(), ..ClientOptions::default() }).unwrap();
        let path: Vec<_> = list.relays().iter().collect();
        let circuit = client.circuit(&path, suite).await?;
        assert_eq!(fetch(&circuit, port, 1000).await.unwrap(), Target::digest(1000));
        Ok::<_, Error>(())
    };
    let mut lists = vec![list(folder.path())];
    for day in (7..=90).step_by(7) {
        ahead.store(day * DAY, Ordering::Relaxed);
        (0..3).for_each(|index| town.relay(index).disconnect());
        if day % 28 == 0 {
            for index in 0..3 {
                let old = lists.last().unwrap().relays()[index].to_line();
                until(|| town.relay(index).listed().to_line() != old).await;
                until_equal(|| list(folder.path()).relays()[index].to_line(), town.relay(index).listed().to_line())
                    .await;
            }
            // Through the overlap, those who have not heard of the new keys are served too.
            serves(lists.last().unwrap(), HandshakeType::Hybrid768Auth).await.unwrap();
            lists.push(list(folder.path()));
        }
        serves(lists.last().unwrap(), HandshakeType::Hybrid768Auth).await.unwrap();
        serves(lists.last().unwrap(), HandshakeType::Ntor).await.unwrap();
    }
    assert_eq!(lists.len(), 4, "three renewals in ninety days");
    for (before, after) in lists.iter().zip(&lists[1..]) {
        for (before, after) in before.relays().iter().zip(after.relays()) {
            assert_eq!(before.identity(), after.identity());
        }
    }
    // On day 84 the third set of keys came; a week later the second is refused.
    ahead.store(92 * DAY, Ordering::Relaxed);
    until_refused(async || serves(&lists[2], HandshakeType::NtorV3).await).await;
    serves(&lists[3], HandshakeType::NtorV3).await.unwrap();
    holds_nothing(&town).await;
}

/// The time of day jumps and comes back, or stays for hours, while hardly any time passes. Clients with the list of the start are served
/// all along.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_jumps_takes_no_keys_from_clients() {
    let system = Clock::default();
    let (now, passed) = (Arc::new(AtomicU64::new(system.now())), Arc::new(AtomicU64::new(0)));
    let read = |from: &Arc<AtomicU64>| {
        let from = Arc::clone(from);
        move || from.load(Ordering::Relaxed)
    };
    let clock = Clock::unsteady(read(&now), read(&passed));
    let town = Town::with(|config| config.clock = clock.clone()).await;
    let start = now.load(Ordering::Relaxed);
    let port = town.target.address().port();
    let serves = async || {
        let client = Client::new(ClientOptions { clock: clock.clone(), ..ClientOptions::default() }).unwrap();
        let circuit = client.circuit(&town.path(), HandshakeType::Hybrid768Auth).await.unwrap();
        assert_eq!(fetch(&circuit, port, 1000).await.unwrap(), Target::digest(1000));
    };
    let lines = || (0..3).map(|index| town.relay(index).listed().to_line()).collect::<Vec<_>>();
    let first = lines();
    for jump in [3600, 31 * DAY, 365 * DAY] {
        for there in [start + jump, start, start - jump, start] {
            now.store(there, Ordering::Relaxed);
            (0..3).for_each(|index| town.relay(index).disconnect());
            serves().await;
            assert_eq!(lines(), first, "nobody believes a clock at once");
        }
    }
    // By a clock that stays wrong, keys are renewed in the end; the old ones are accepted all the same.
    for there in [start + 31 * DAY, start, start + 365 * DAY, start] {
        let before = lines();
        now.store(there, Ordering::Relaxed);
        // Relays must see the jump before time goes on.
        tokio::time::sleep(std::time::Duration::from_secs(1)).await;
        now.fetch_add(2 * 3600, Ordering::Relaxed);
        passed.fetch_add(2 * 3600, Ordering::Relaxed);
        if there > start {
            until(|| lines().iter().zip(&before).all(|(now, before)| now != before)).await;
        }
        (0..3).for_each(|index| town.relay(index).disconnect());
        serves().await;
    }
}

async fn until_refused(mut ask: impl AsyncFnMut() -> Result<(), Error>) {
    for _ in 0..600 {
        if let Err(error) = ask().await {
            // Each relay drops its old keys at a moment of its own, so any hop may be the first.
            assert!(error.to_string().starts_with("hop "), "{error}");
            return;
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("old onion keys are still accepted");
}
