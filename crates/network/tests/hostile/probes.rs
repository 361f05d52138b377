//! Authorities that try whether relays are there, and those who would have them find nobody, or somebody else.

use crate::directories::{authority, register, there};
use crate::proxy::Proxy as Line;
use crate::raw::Raw;
use crate::scene::until;
use crate::town::local;
use candor_network::directory::{Attendance, AuthorityConfig, Directories, Directory, attend};
use candor_network::{Rate, Relay, RelayConfig, RelayKeys, Words};
use candor_onion::cell::{DestroyReason, Message};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

const HOME: [u8; 4] = [127, 0, 0, 1];

fn impatient(config: &mut AuthorityConfig) {
    config.reach.patience = Duration::from_secs(5);
    config.reach.retry = Duration::from_millis(50);
    config.reach.waiting = Duration::from_millis(500);
}

/// A relay that counts loopback as strangers', and makes a hundred circuits for a network.
pub(crate) async fn counting() -> (Relay, Vec<u8>) {
    let mut config = RelayConfig::new(local());
    config.test_networks.clear();
    config.limits.network.creations = Rate { burst: 100, per_second: 0 };
    let relay = Relay::start(&RelayKeys::generate().unwrap(), config).await.unwrap();
    let descriptor = relay.descriptor(&Words::default()).unwrap();
    (relay, descriptor)
}

/// A neighbour of the authority uses up all circuits that its network may make.
pub(crate) async fn use_up(relay: &Relay) {
    let listed = relay.listed();
    let mut raw = Raw::from(IpAddr::from([127, 0, 0, 99]), &listed).await.unwrap();
    loop {
        let number = raw.fresh_number();
        raw.send([crate::raw::create(&listed, number)]).await;
        match raw.next().await.unwrap().message {
            Message::Created2(_) => {}
            Message::Destroy(DestroyReason::RESOURCELIMIT) => return,
            other => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_neighbour_of_an_authority_keeps_no_relay_out_that_knows_the_authority() {
    let authority = authority(impatient).await;
    let (knows, _) = counting().await;
    use_up(&knows).await;
    let directory = Directory::new(Directories::new(vec![authority.directory().unwrap()], None).unwrap(), None);
    let attendance = Attendance::default();
    tokio::select! {
        () = attend(&knows, &directory, &attendance, |_| {}) => {}
        () = until(|| authority.held().relays == 1) => {}
    }
    // The attack works on one that has not been told of it.
    let (other, descriptor) = counting().await;
    use_up(&other).await;
    assert_eq!(register(HOME, authority.address(), &descriptor).await, 204);
    until(|| authority.held().waiting == 0).await;
    assert_eq!(authority.held().relays, 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_others_keep_busy_is_not_delisted() {
    let good_for = Duration::from_millis(400);
    let authority = authority(|config| {
        impatient(config);
        (config.reach.every, config.reach.good_for) = (Duration::from_millis(100), good_for);
    })
    .await;
    // Another goes on answering: it is not the authority that is cut off.
    let ((busy, descriptor), (stays, other)) = (counting().await, there().await);
    for descriptor in [descriptor, other] {
        assert_eq!(register(HOME, authority.address(), &descriptor).await, 204);
    }
    until(|| authority.held().relays == 2).await;
    use_up(&busy).await;
    let before = busy.counts().refused_circuits;
    // Silence counts by the tries of the other.
    let a_try = stays.counts().handshakes;
    until(|| busy.counts().refused_circuits > before + 3 && stays.counts().handshakes > 6 * a_try).await;
    assert_eq!(authority.held().relays, 2, "it is there, and has no room");
    // The twin: when it is gone, it is dropped.
    drop(busy);
    until(|| authority.held().relays == 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_relay_at_a_second_address_does_not_do() {
    if std::net::TcpListener::bind("[::1]:0").is_err() {
        eprintln!("skipped: this machine has no IPv6 loopback");
        return;
    }
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let authority = authority(|config| {
        impatient(config);
        config.log = Arc::new(move |event| sink.lock().unwrap().push(event.to_string()));
    })
    .await;
    let ((relay, _), (other, _)) = (there().await, there().await);
    let descriptor = |at: &Line| {
        let words = Words { other_address: Some(at.address), ..Words::default() };
        relay.descriptor(&words).unwrap()
    };
    let lines = [Line::at_v6(other.listed().address()).await, Line::at_v6(relay.listed().address()).await];
    assert_eq!(register(HOME, authority.address(), &descriptor(&lines[0])).await, 204);
    until(|| lines[0].connections() > 0 && authority.held().waiting == 0).await;
    assert_eq!(authority.held().relays, 0);
    assert!(told.lock().unwrap().join("\n").contains("not the one asked for"), "{told:?}");
    // The twin: at this one it is the relay itself.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(register(HOME, authority.address(), &descriptor(&lines[1])).await, 204);
    until(|| authority.held().relays == 1).await;
    assert!(lines[1].connections() > 0);
}
