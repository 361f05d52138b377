//! Authorities, relays that publish themselves, and clients that fetch the consensus.

mod town;

use candor_network::directory::{
    Attendance, Authority, AuthorityConfig, AuthorityEvent, AuthorityKeys, Directories, Directory, DirectoryAddress,
    attend,
};
use candor_network::{Client, Clock, Error, HandshakeType, Policy, Relay, RelayConfig, RelayKeys, Target, Words};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use town::local;

const SECOND: Duration = Duration::from_secs(1);

/// What authorities have told.
type Told = Arc<Mutex<Vec<AuthorityEvent>>>;

async fn authority(listen: SocketAddr, change: impl FnOnce(&mut AuthorityConfig)) -> (Authority, Told) {
    let keys = AuthorityKeys::generate(Clock::default().now()).unwrap();
    start(keys, listen, change).await
}

async fn start(
    keys: AuthorityKeys,
    listen: SocketAddr,
    change: impl FnOnce(&mut AuthorityConfig),
) -> (Authority, Told) {
    let mut config = AuthorityConfig::new(listen);
    let told = Told::default();
    let sink = Arc::clone(&told);
    config.log = Arc::new(move |event| sink.lock().unwrap().push(event.clone()));
    change(&mut config);
    (Authority::start(keys, config).await.unwrap(), told)
}

fn directory(addresses: &[DirectoryAddress], cache: Option<&Path>) -> Directory {
    Directory::new(Directories::new(addresses.to_vec(), None).unwrap(), cache.map(Path::to_owned))
}

/// A relay that attends its directory until it is dropped.
struct Attending(tokio::task::JoinHandle<()>);

impl Drop for Attending {
    fn drop(&mut self) {
        self.0.abort();
    }
}

async fn relay(name: &str, exit: &str, addresses: &[DirectoryAddress], words: Words) -> ([u8; 32], Attending) {
    let mut config = RelayConfig::new(local());
    config.name = Some(name.to_owned());
    config.policy = Policy::parse(exit).unwrap();
    config.limits.handshake_threads = 1;
    let relay = Relay::start(&RelayKeys::generate().unwrap(), config).await.unwrap();
    let (identity, directory) = (*relay.listed().identity(), directory(addresses, None));
    let attendance = Attendance { words, ..Attendance::default() };
    (identity, Attending(tokio::spawn(async move { attend(&relay, &directory, &attendance, |_| {}).await })))
}

/// The first consensus with so many relays.
async fn consensus_of(directory: &Directory, relays: usize) -> Arc<candor_onion::directory::Consensus> {
    for _ in 0..600 {
        if let Ok(fetched) = directory.refresh().await
            && fetched.consensus.relays.len() == relays
        {
            return fetched.consensus;
        }
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    panic!("no consensus lists {relays} relays");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relays_publish_themselves_and_a_client_builds_a_circuit_from_the_consensus() {
    let folder = tempfile::tempdir().unwrap();
    let (authority, _) = authority(local(), |_| {}).await;
    let addresses = [authority.directory().unwrap()];
    let target = Target::start(local()).await.unwrap();
    let exit = target.address().to_string();
    let mut relays = Vec::new();
    for name in ["ada", "bob", "cyd"] {
        relays.push(relay(name, if name == "cyd" { &exit } else { "" }, &addresses, Words::default()).await);
    }
    let cache = folder.path().join("consensus");
    let directory = directory(&addresses, Some(&cache));
    let consensus = consensus_of(&directory, 3).await;
    for handshake in [HandshakeType::Hybrid768, HandshakeType::Hybrid768Auth] {
        let list = directory.relays(&consensus, handshake).await.unwrap();
        let path = list.path(3, handshake, "127.0.0.1", target.address().port()).unwrap();
        let client = Client::new(candor_network::ClientOptions::default()).unwrap();
        let circuit = client.circuit(&path, handshake).await.unwrap();
        assert_eq!(town::fetch(&circuit, target.address().port(), 5000).await.unwrap(), Target::digest(5000));
    }
    // The directory is gone; what is in the cache goes on.
    drop(authority);
    let later = self::directory(&addresses, Some(&cache));
    let fetched = later.consensus().await.unwrap();
    assert!(fetched.was_known && fetched.consensus == consensus);
    assert_eq!(later.relays(&consensus, HandshakeType::Hybrid768Auth).await.unwrap().relays().len(), 3);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_of_three_authorities_agree_on_relays_and_families_and_the_third_is_missed() {
    // Their addresses must be known before they start.
    let keys = [0; 3].map(|_| AuthorityKeys::generate(Clock::default().now()).unwrap());
    let ports: Vec<_> = (0..3).map(|_| std::net::TcpListener::bind(local()).unwrap()).collect();
    let listen: Vec<_> = ports.iter().map(|port| port.local_addr().unwrap()).collect();
    drop(ports);
    let addresses: Vec<_> = keys
        .iter()
        .zip(&listen)
        .map(|(keys, at)| {
            DirectoryAddress::new(
                candor_network::http::Url::parse(&format!("http://{at}/")).unwrap(),
                *keys.fingerprint(),
            )
        })
        .collect();
    let [first, second, _third] = keys;
    let mut running = Vec::new();
    for (keys, at) in [(first, listen[0]), (second, listen[1])] {
        let peers = addresses.clone();
        running.push(
            start(keys, at, |config| {
                config.peers = peers;
                config.interval = 2 * SECOND;
                config.intervals_valid = 30;
            })
            .await,
        );
    }
    let (ada, _ada) = relay("ada", "", &addresses, Words::default()).await;
    let family = Words { family: vec![ada], ..Words::default() };
    let (bob, _bob) = relay("bob", "", &addresses, family).await;
    let directory = directory(&addresses, None);
    let consensus = consensus_of(&directory, 2).await;
    assert_eq!(consensus.signers.len(), 2);
    assert!(
        [ada, bob].iter().all(|identity| consensus.relay(identity).unwrap().family == 0),
        "ada says nothing of bob"
    );
    let missed = |event: &AuthorityEvent| matches!(event, AuthorityEvent::Peer { url, why } if *url == addresses[2].url().to_string() && why.contains("can't connect"));
    assert!(running.iter().all(|(_, told)| told.lock().unwrap().iter().any(missed)), "the third is missed by name");
    let next = directory.refresh().await.unwrap().consensus;
    assert!(next.number() >= consensus.number());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_two_authorities_alone_makes_no_consensus() {
    let other: DirectoryAddress = format!("http://127.0.0.1:1#{}", "ab".repeat(32)).parse().unwrap();
    let (authority, told) = authority(local(), |config| {
        config.peers = vec![other.clone()];
        config.interval = SECOND;
    })
    .await;
    let lonely = |event: &AuthorityEvent| matches!(event, AuthorityEvent::NoConsensus { why, .. } if why.contains("1 of 2 trusted authorities"));
    while !told.lock().unwrap().iter().any(lonely) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let directory = directory(&[authority.directory().unwrap(), other], None);
    let error = directory.consensus().await.unwrap_err();
    assert!(
        matches!(&error, Error::NoConsensus { why } if why.contains("have not agreed") && why.contains("can't connect")),
        "{error}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authority_goes_on_after_a_restart_with_what_it_knew() {
    let folder = tempfile::tempdir().unwrap();
    let (path, state) = (folder.path().join("keys"), folder.path().join("state"));
    let keys = || AuthorityKeys::load_or_create(&path, Clock::default().now()).unwrap();
    let set = |config: &mut AuthorityConfig| config.state = Some(state.clone());
    let (first, _) = start(keys(), local(), set).await;
    let address = first.directory().unwrap();
    let (identity, attending) = relay("ada", "", std::slice::from_ref(&address), Words::default()).await;
    let before = consensus_of(&directory(&[address], None), 1).await;
    drop((attending, first));

    let (second, told) = start(keys(), local(), set).await;
    assert_eq!(second.held().relays, 1);
    let after = consensus_of(&directory(&[second.directory().unwrap()], None), 1).await;
    assert!(after.number() >= before.number() && after.relay(&identity).is_some());
    assert!(told.lock().unwrap().iter().all(|event| matches!(event, AuthorityEvent::Consensus { .. })));
    drop(second);

    // Files that were cut in the middle are told of, and the authority starts all the same.
    for name in ["consensus", "descriptors"] {
        let bytes = std::fs::read(state.join(name)).unwrap();
        std::fs::write(state.join(name), &bytes[..bytes.len() / 2]).unwrap();
    }
    let (third, told) = start(keys(), local(), set).await;
    assert_eq!(third.held().relays, 0);
    let told = told.lock().unwrap();
    assert_eq!(
        told.iter()
            .filter(|event| matches!(event, AuthorityEvent::State { why } if why.contains("can't be used")))
            .count(),
        2
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_registers_again_with_an_authority_that_has_forgotten_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("keys");
    let keys = || AuthorityKeys::load_or_create(&path, Clock::default().now()).unwrap();
    let set = |config: &mut AuthorityConfig| config.interval = SECOND;
    let (first, _) = start(keys(), local(), set).await;
    let (at, address) = (first.address(), first.directory().unwrap());
    let (identity, _attending) = relay("ada", "", std::slice::from_ref(&address), Words::default()).await;
    consensus_of(&directory(std::slice::from_ref(&address), None), 1).await;
    drop(first);
    // Its port is free once its task has ended.
    let second = loop {
        let mut config = AuthorityConfig::new(at);
        set(&mut config);
        match Authority::start(keys(), config).await {
            Ok(authority) => break authority,
            Err(_) => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    };
    assert_eq!(second.held().relays, 0);
    let consensus = consensus_of(&directory(&[address], None), 1).await;
    assert!(consensus.relay(&identity).is_some());
}
