//! Authorities whose clocks are wrong, or jump.

use candor_network::directory::{Authority, AuthorityConfig, AuthorityEvent, AuthorityKeys, DirectoryAddress};
use candor_network::http::Url;
use candor_network::tor::TorRelayKey;
use candor_network::{Clock, Relay, RelayConfig, RelayKeys};
use candor_onion::link::certificate::RsaCross;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::directories::{authority, register, there};
use crate::raw::Raw;
use crate::scene::until;
use crate::town::local;

/// A clock that can be set; time goes on by the system's all the same.
fn settable() -> (Clock, Arc<AtomicI64>) {
    let ahead = Arc::new(AtomicI64::new(0));
    let (read, system) = (Arc::clone(&ahead), || Clock::default().now());
    (Clock::unsteady(move || system().saturating_add_signed(read.load(Ordering::Relaxed)), system), ahead)
}

/// The numbers that an authority tells, each with whether there was a consensus and with what it says.
type Rounds = Arc<Mutex<Vec<(u64, bool, String)>>>;

/// Tells of an authority's rounds.
fn told_rounds(config: &mut AuthorityConfig) -> Rounds {
    let told = Rounds::default();
    let sink = Arc::clone(&told);
    config.log = Arc::new(move |event| {
        let seen = match event {
            AuthorityEvent::Consensus { number, .. } => (*number, true),
            AuthorityEvent::NoConsensus { number, .. } => (*number, false),
            _ => return,
        };
        sink.lock().unwrap().push((seen.0, seen.1, event.to_string()));
    });
    told
}

const DAY: i64 = 86_400;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sole_authority_that_has_signed_for_the_future_says_so() {
    let folder = tempfile::tempdir().unwrap();
    let start = async |ahead: i64| {
        let mut rounds = None;
        let started = authority(|config| {
            let (clock, shift) = settable();
            shift.store(ahead, Ordering::Relaxed);
            (config.clock, config.state) = (clock, Some(folder.path().to_owned()));
            config.interval = Duration::from_secs(1);
            rounds = Some(told_rounds(config));
        });
        (started.await, rounds.unwrap())
    };
    let (first, told) = start(DAY).await;
    until(|| told.lock().unwrap().iter().any(|(_, made, _)| *made)).await;
    assert!(told.lock().unwrap().iter().all(|(_, made, _)| *made), "nothing is wrong yet");
    drop(first);
    let (_second, told) = start(0).await;
    until(|| told.lock().unwrap().iter().any(|(_, made, text)| !made && text.contains("clock was ahead"))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authority_whose_clock_was_ahead_holds_the_rounds_of_today_once_it_is_right() {
    let other: DirectoryAddress = format!("http://127.0.0.1:1#{}", "ab".repeat(32)).parse().unwrap();
    let (clock, ahead) = settable();
    ahead.store(DAY, Ordering::Relaxed);
    let mut told = None;
    let _authority = authority(|config| {
        (config.peers, config.clock, config.interval) = (vec![other], clock, Duration::from_secs(1));
        told = Some(told_rounds(config));
    })
    .await;
    let (told, tomorrow) = (told.unwrap(), Clock::default().now() + 43_200);
    // The other one is never there, so each round comes to nothing.
    until(|| told.lock().unwrap().iter().any(|(number, ..)| *number > tomorrow)).await;
    ahead.store(0, Ordering::Relaxed);
    until(|| told.lock().unwrap().iter().any(|(number, ..)| *number < tomorrow)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sole_authority_whose_clock_jumps_signs_nothing_and_drops_nobody() {
    let (clock, ahead) = settable();
    let mut told = None;
    let authority = authority(|config| {
        (config.clock, config.interval) = (clock, Duration::from_secs(1));
        (config.reach.every, config.reach.good_for) = (Duration::from_millis(200), Duration::from_secs(1));
        told = Some(told_rounds(config));
    })
    .await;
    let (told, home, at) = (told.unwrap(), [127, 0, 0, 1], authority.address());
    let (_relay, descriptor) = there().await;
    assert_eq!(register(home, at, &descriptor).await, 204);
    until(|| authority.held().relays == 1).await;
    for (jump, name) in [(40 * DAY, "ahead"), (-40 * DAY, "back")] {
        ahead.store(jump, Ordering::Relaxed);
        until(|| told.lock().unwrap().iter().any(|(_, made, text)| !made && text.contains("clock has jumped"))).await;
        told.lock().unwrap().clear();
        // Relays whose clocks are right still register, and those that are there stay.
        let (newcomer, descriptor) = there().await;
        assert_eq!(register(home, at, &descriptor).await, 204, "{name}");
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(told.lock().unwrap().iter().all(|(_, made, _)| !made), "{name}: {told:?}");
        assert_eq!((authority.held().relays, authority.held().waiting), (1, 1), "{name}");
        // The twin: it is back, and goes on.
        ahead.store(0, Ordering::Relaxed);
        until(|| told.lock().unwrap().iter().any(|(_, made, _)| *made)).await;
        until(|| authority.held().relays == 2).await;
        drop(newcomer);
        until(|| authority.held().relays == 1).await;
        told.lock().unwrap().clear();
    }
}

/// Authorities of one network, the first of which has a clock that can be set, `ahead` at the start. `present`: who is there.
async fn several(present: [bool; 3], ahead: i64) -> (Vec<Authority>, Arc<AtomicI64>, Rounds) {
    let keys = [0; 3].map(|_| AuthorityKeys::generate(Clock::default().now()).unwrap());
    let ports = [(); 3].map(|()| std::net::TcpListener::bind(local()).unwrap());
    let at = ports.map(|port| port.local_addr().unwrap());
    let url = |at: SocketAddr| Url::parse(&format!("http://{at}/")).unwrap();
    let addresses: Vec<_> =
        keys.iter().zip(at).map(|(keys, at)| DirectoryAddress::new(url(at), *keys.fingerprint())).collect();
    let (clock, shift) = settable();
    shift.store(ahead, Ordering::Relaxed);
    let (mut running, mut told) = (Vec::new(), Rounds::default());
    for (number, (keys, at)) in keys.into_iter().zip(at).enumerate().filter(|(number, _)| present[*number]) {
        let mut config = AuthorityConfig::new(at);
        (config.peers, config.interval) = (addresses.clone(), Duration::from_secs(2));
        if number == 0 {
            config.clock = clock.clone();
            told = told_rounds(&mut config);
        }
        running.push(Authority::start(keys, config).await.unwrap());
    }
    (running, shift, told)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authority_whose_clock_is_set_right_is_believed_once_the_others_agree() {
    let (_running, ahead, told) = several([true; 3], -DAY).await;
    let says = |text: &str| told.lock().unwrap().iter().any(|(.., said)| said.contains(text));
    until(|| says("no consensus")).await;
    ahead.store(0, Ordering::Relaxed);
    until(|| says("2 other authorities say that it is right")).await;
    until(|| says("signed by 3")).await;
    // It jumps away again, and nobody agrees. The rounds of tomorrow are not signed.
    told.lock().unwrap().clear();
    ahead.store(DAY, Ordering::Relaxed);
    until(|| says("clock has jumped")).await;
    let tomorrow = Clock::default().now() + 43_200;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert!(told.lock().unwrap().iter().all(|(number, made, _)| !made || *number < tomorrow), "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_liar_does_not_set_an_authoritys_clock() {
    let (_running, ahead, told) = several([true, true, false], DAY).await;
    let says = |text: &str| told.lock().unwrap().iter().any(|(.., said)| said.contains(text));
    until(|| says("no consensus")).await;
    // One of two others is there, and holds the rounds of the time that the clock is set to.
    ahead.store(0, Ordering::Relaxed);
    until(|| says("clock has jumped")).await;
    tokio::time::sleep(Duration::from_secs(5)).await;
    assert!(!says("say that it is right") && !says("signed by"), "{told:?}");
}

/// What a relay shows of its RSA identity is made by its own clock, and anew every day: one that was started in the wrong year, or a year ago, is believed by C tor's all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_relay_shows_of_its_rsa_identity_follows_its_clock() {
    let (clock, ahead) = settable();
    let keys = TorRelayKey::generate().unwrap().with(RelayKeys::generate().unwrap());
    let mut config = RelayConfig::new(local());
    config.clock = clock;
    let relay = Relay::start(&keys, config).await.unwrap();
    let shown = async || {
        let raw = Raw::new(&relay.listed()).await;
        let certificates = raw.certificates();
        let [identity, cross] = [2, 7].map(|kind| certificates.only(kind).expect("both are there").to_vec());
        (identity, RsaCross::decode(&cross).unwrap().expires)
    };
    let now = Clock::default().now();
    let a_year_from = |time: u64| time + 364 * DAY as u64..time + 366 * DAY as u64;
    let (first, expires) = shown().await;
    assert!(a_year_from(now).contains(&expires));
    // Within the day nothing is made anew.
    assert_eq!(shown().await, (first.clone(), expires));
    ahead.store(400 * DAY, Ordering::Relaxed);
    let (second, expires) = shown().await;
    assert!(a_year_from(now + 400 * DAY as u64).contains(&expires) && second != first, "{expires}");
    ahead.store(0, Ordering::Relaxed);
    assert!(a_year_from(now).contains(&shown().await.1), "back from a wrong time");
}
