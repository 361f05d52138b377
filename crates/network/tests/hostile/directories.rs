//! Directories that lie, stand still or roll back; relays that take what isn't theirs; strangers who register by the thousand.

use candor_network::directory::{
    Authority, AuthorityConfig, AuthorityEvent, AuthorityKeys, Directories, Directory, DirectoryAddress, ReachLimits,
};
use candor_network::http::Url;
use candor_network::{Clock, Error, HandshakeType, Prefix, Relay as Running, RelayConfig, RelayKeys, Words};
use candor_onion::directory::{Consensus, Drafted, Listed, Relay, SecretKey, Times, kem_digest};
use candor_primitives::dh::{DiffieHellman, x25519::X25519};
use std::net::SocketAddr;
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};
use tokio::task::JoinHandle;

use crate::scene::until;
use crate::town::local;

pub(crate) async fn authority(change: impl FnOnce(&mut AuthorityConfig)) -> Authority {
    let mut config = AuthorityConfig::new(local());
    change(&mut config);
    Authority::start(AuthorityKeys::generate(Clock::default().now()).unwrap(), config).await.unwrap()
}

/// A directory's client, and what it was told.
pub(crate) fn client(addresses: &[DirectoryAddress], cache: Option<&Path>) -> (Directory, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let directory = Directory::new(Directories::new(addresses.to_vec(), None).unwrap(), cache.map(Path::to_owned));
    (directory.with_notices(move |error: &Error| sink.lock().unwrap().push(error.to_string())), told)
}

/// Sends a request from that address of this machine; the whole answer.
pub(crate) async fn ask(from: [u8; 4], to: SocketAddr, request: &[u8]) -> Vec<u8> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind(SocketAddr::from((from, 0))).unwrap();
    let mut answer = Vec::new();
    if let Ok(mut tcp) = socket.connect(to).await {
        // Who is refused finds the connection closed.
        let _ = tcp.write_all(request).await;
        let _ = tcp.read_to_end(&mut answer).await;
    }
    answer
}

/// The status of a registration, 0 without an answer.
pub(crate) async fn register(from: [u8; 4], to: SocketAddr, descriptor: &[u8]) -> u16 {
    let head = format!("POST /relay HTTP/1.1\r\nHost: x\r\nContent-Length: {}\r\n\r\n", descriptor.len());
    let answer = ask(from, to, &[head.as_bytes(), descriptor].concat()).await;
    let status = str::from_utf8(&answer).ok().and_then(|text| text.split(' ').nth(1));
    status.and_then(|status| status.parse().ok()).unwrap_or(0)
}

async fn consensus_bytes(authority: &Authority) -> Vec<u8> {
    let answer = ask([127, 0, 0, 1], authority.address(), b"GET /consensus HTTP/1.1\r\nHost: x\r\n\r\n").await;
    let head = answer.windows(4).position(|end| end == b"\r\n\r\n").expect("an answer has a head");
    answer[head + 4..].to_vec()
}

fn descriptor(seed: u8, onion: u8, address: [u8; 4], change: impl FnOnce(&mut Relay)) -> Vec<u8> {
    signed(&SecretKey::of_relay(&[seed; 32]).unwrap(), [onion; 32], address, change)
}

fn signed(key: &SecretKey, onion: [u8; 32], address: [u8; 4], change: impl FnOnce(&mut Relay)) -> Vec<u8> {
    let now = Clock::default().now();
    let mut relay = Relay {
        identity: [0; 32],
        fingerprint: [0; 32],
        x25519: [0; 32],
        kems: [None; 3],
        published: now,
        keys_until: now + 100_000,
        bandwidth: 1,
        handshakes: vec![3],
        addresses: vec![SocketAddr::from((address, 9001))],
        exit: Vec::new(),
        name: String::new(),
    };
    change(&mut relay);
    let public = X25519::new().public_of(&X25519::new().secret_from_bytes(&onion).unwrap()).unwrap();
    Drafted { relay, family: Vec::new(), kems: [None, None, None] }.sign(key, (&onion, public)).unwrap()
}

/// A relay that is there, and its descriptor.
pub(crate) async fn there() -> (Running, Vec<u8>) {
    let mut config = RelayConfig::new(local());
    config.limits.handshake_threads = 1;
    let relay = Running::start(&RelayKeys::generate().unwrap(), config).await.unwrap();
    let descriptor = relay.descriptor(&Words::default()).unwrap();
    (relay, descriptor)
}

/// A port of this machine where nobody listens.
async fn closed() -> SocketAddr {
    TcpListener::bind(local()).await.unwrap().local_addr().unwrap()
}

/// The identities in an authority's consensus.
async fn listed(authority: &Authority) -> Vec<[u8; 32]> {
    let fetched = client(&[authority.directory().unwrap()], None).0.consensus().await;
    fetched.map_or_else(
        |_| Vec::new(),
        |fetched| fetched.consensus.relays.iter().map(|listed| listed.relay.identity).collect(),
    )
}

/// Loopback has limits, and relays may be there.
fn with_limits(config: &mut AuthorityConfig) {
    config.test_networks.clear();
    config.private_networks = Prefix::LOOPBACK.to_vec();
}

/// A directory that says `answer` to everybody, if anything.
struct Fake(SocketAddr, JoinHandle<()>);

impl Drop for Fake {
    fn drop(&mut self) {
        self.1.abort();
    }
}

impl Fake {
    async fn start(body: Option<Vec<u8>>) -> Self {
        let listener = TcpListener::bind(local()).await.unwrap();
        let address = listener.local_addr().unwrap();
        let task = tokio::spawn(async move {
            let mut silent = Vec::new();
            while let Ok((mut tcp, _)) = listener.accept().await {
                let Some(body) = &body else {
                    silent.push(tcp);
                    continue;
                };
                let _ = tcp.read(&mut [0; 1 << 12]).await;
                let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n", body.len());
                let _ = tcp.write_all(head.as_bytes()).await;
                let _ = tcp.write_all(body).await;
            }
        });
        Self(address, task)
    }

    /// Its address, under the name of an authority or as a mirror.
    fn address(&self, of: Option<&DirectoryAddress>) -> DirectoryAddress {
        let url = format!("http://{}/", self.0);
        match of.and_then(DirectoryAddress::fingerprint) {
            Some(fingerprint) => DirectoryAddress::new(Url::parse(&url).unwrap(), *fingerprint),
            None => url.parse().unwrap(),
        }
    }
}

/// A consensus of relays with these static keys of ML-KEM-768.
fn consensus_with(keys: &[Vec<u8>]) -> Consensus {
    let now = Clock::default().now();
    let listed = |(number, key): (usize, &Vec<u8>)| {
        let relay = Relay {
            identity: [number as u8; 32],
            fingerprint: [0; 32],
            x25519: [9; 32],
            kems: [None, Some(kem_digest(key)), None],
            published: now,
            keys_until: now + 100_000,
            bandwidth: 1,
            handshakes: vec![HandshakeType::Hybrid768Auth.number()],
            addresses: vec![SocketAddr::from(([192, 0, 2, number as u8], 9001))],
            exit: Vec::new(),
            name: String::new(),
        };
        Listed { relay, family: 0 }
    };
    let times = Times { valid_after: now, fresh_until: now + 3600, valid_until: now + 7200 };
    Consensus { times, exit_weight: 0, relays: keys.iter().enumerate().map(listed).collect(), signers: Vec::new() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_leaves_keys_out_does_not_choose_the_relays() {
    let keys: Vec<Vec<u8>> = (1..=4).map(|byte| vec![byte; 1184]).collect();
    let consensus = consensus_with(&keys);
    let (half, rest) = (Fake::start(Some(keys[..2].concat())).await, Fake::start(Some(keys[2..].concat())).await);
    let authority = authority(|_| {}).await.directory().unwrap();
    let relays = async |from: &[&Fake]| {
        let addresses: Vec<_> = from.iter().map(|fake| fake.address(Some(&authority))).take(1).collect();
        let mirrors = from.iter().skip(1).map(|fake| fake.address(None));
        let (directory, _) = client(&addresses.into_iter().chain(mirrors).collect::<Vec<_>>(), None);
        directory.relays(&consensus, HandshakeType::Hybrid768Auth).await
    };
    let error = relays(&[&half]).await.unwrap_err().to_string();
    assert!(error.contains("2 of its 4 ml-kem-768 keys are missing"), "{error}");
    // Two directories that have half of them each have them all.
    assert_eq!(relays(&[&half, &rest]).await.unwrap().relays().len(), 4);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_lies_or_is_silent_is_passed_over_for_the_next() {
    let (honest, other) = (authority(|_| {}).await, authority(|_| {}).await);
    let address = honest.directory().unwrap();
    let (_relay, descriptor) = there().await;
    for authority in [&honest, &other] {
        assert_eq!(register([127, 0, 0, 1], authority.address(), &descriptor).await, 204);
    }
    for at in [&address, &other.directory().unwrap()] {
        while client(std::slice::from_ref(at), None)
            .0
            .consensus()
            .await
            .map_or(0, |fetched| fetched.consensus.relays.len())
            == 0
        {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    }
    let (good, foreign) = (consensus_bytes(&honest).await, consensus_bytes(&other).await);
    let length = u32::from_be_bytes(*good.first_chunk().unwrap()) as usize + 4;
    let mixed = [&good[..length], &foreign[length..]].concat();
    let mut flipped = good.clone();
    flipped[100] ^= 1;
    for (what, body, why) in [
        ("another network's", Some(foreign), "0 of 1 trusted authorities"),
        ("mixed", Some(mixed), "0 of 1 trusted authorities"),
        ("flipped", Some(flipped), "0 of 1 trusted authorities"),
        ("cut", Some(good[..good.len() / 2].to_vec()), "consensus is"),
        ("noise", Some(vec![0xff; 5000]), "consensus is"),
        ("giant", Some(vec![0; 17 << 20]), "more than 16777216 bytes"),
        ("empty", Some(Vec::new()), "consensus is"),
        ("silent", None, "does not answer within 10 s"),
    ] {
        let fake = Fake::start(body).await;
        let error = client(&[fake.address(Some(&address))], None).0.consensus().await.unwrap_err().to_string();
        assert!(error.contains(why), "{what}: {error}");
        let served = client(&[fake.address(None), address.clone()], None).0.consensus().await;
        assert_eq!(served.unwrap().consensus.relays.len(), 1, "{what}");
    }
    let twin = Fake::start(Some(good)).await;
    client(&[twin.address(Some(&address))], None)
        .0
        .consensus()
        .await
        .expect("a mirror's is as good as the authority's");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_older_consensus_is_refused_once_a_newer_one_was_seen() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("consensus");
    let authority = authority(|_| {}).await;
    let address = authority.directory().unwrap();
    until_number(&address, 0).await;
    let old = consensus_bytes(&authority).await;
    let number = client(std::slice::from_ref(&address), None).0.consensus().await.unwrap().consensus.number();
    let (_relay, descriptor) = there().await;
    assert_eq!(register([127, 0, 0, 1], authority.address(), &descriptor).await, 204);
    until_number(&address, number).await;
    let liar = Fake::start(Some(old)).await;
    let lied = [liar.address(Some(&address))];
    let (fresh, _) = client(&lied, None);
    assert_eq!(fresh.consensus().await.unwrap().consensus.number(), number, "who has seen none can't tell");

    let newer = client(&[address], Some(&cache)).0.consensus().await.unwrap().consensus;
    assert!(newer.number() > number);
    let (again, told) = client(&lied, Some(&cache));
    let kept = again.refresh().await.unwrap();
    assert!(kept.was_known && kept.consensus == newer);
    assert!(told.lock().unwrap()[0].contains("older than one seen before"), "{told:?}");
}

pub(crate) async fn until_number(address: &DirectoryAddress, above: u64) {
    loop {
        if let Ok(fetched) = client(std::slice::from_ref(address), None).0.consensus().await
            && fetched.consensus.number() > above
        {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cache_that_is_cut_ended_or_can_not_be_written_costs_a_fetch_and_no_more() {
    let folder = tempfile::tempdir().unwrap();
    let cache = folder.path().join("consensus");
    let authority = authority(|_| {}).await;
    let addresses = [authority.directory().unwrap()];
    until_number(&addresses[0], 0).await;
    client(&addresses, Some(&cache)).0.consensus().await.unwrap();
    let whole = std::fs::read(&cache).unwrap();

    for damaged in [&whole[..whole.len() / 2], &[], &[0xff; 1000]] {
        std::fs::write(&cache, damaged).unwrap();
        let (directory, told) = client(&addresses, Some(&cache));
        assert!(!directory.consensus().await.unwrap().was_known);
        assert!(told.lock().unwrap()[0].contains("cached consensus"), "{told:?}");
        client(&addresses, Some(&cache)).0.consensus().await.expect("it is whole again");
    }
    // A folder in the way of the partial file: the disk takes nothing.
    std::fs::write(&cache, &whole).unwrap();
    std::fs::create_dir(folder.path().join("consensus.partial")).unwrap();
    std::fs::remove_file(&cache).unwrap();
    let (directory, told) = client(&addresses, Some(&cache));
    assert!(!directory.consensus().await.unwrap().was_known && !cache.exists());
    assert!(told.lock().unwrap()[0].contains("consensus"), "{told:?}");
    std::fs::remove_dir(folder.path().join("consensus.partial")).unwrap();

    // Four hours on, it has ended, and nobody has another. An hour back, nothing is wrong.
    std::fs::write(&cache, &whole).unwrap();
    drop(authority);
    let system = Clock::default().now();
    let shift = Arc::new(AtomicU64::new(system - 3500));
    let read = Arc::clone(&shift);
    let directory = client(&addresses, Some(&cache)).0.with_clock(Clock::new(move || read.load(Ordering::Relaxed)));
    assert!(directory.consensus().await.unwrap().was_known);
    shift.store(system + 4 * 3600, Ordering::Relaxed);
    let error = directory.consensus().await.unwrap_err().to_string();
    assert!(error.contains("no usable consensus"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_registers_what_is_not_his_and_nothing_twice() {
    let authority = authority(|_| {}).await;
    let at = authority.address();
    let now = Clock::default().now();
    let home = [127, 0, 0, 1];
    let first = descriptor(1, 1, [127, 0, 2, 1], |relay| relay.published = now - 10);
    assert_eq!(register(home, at, &first).await, 204);
    assert_eq!(register(home, at, &first).await, 409, "a replay");
    let older = descriptor(1, 1, [127, 0, 2, 9], |relay| relay.published = now - 20);
    assert_eq!(register(home, at, &older).await, 409, "an older one");
    assert_eq!(register(home, at, &descriptor(2, 1, [127, 0, 2, 2], |_| {})).await, 409, "another's onion key");
    let forger = SecretKey::from_seeds(&[1; 32], &[77; 32]).unwrap();
    assert_eq!(register(home, at, &signed(&forger, [3; 32], [127, 0, 2, 3], |_| {})).await, 403, "a broken curve only");
    let mut changed = first.clone();
    changed[200] ^= 1;
    assert_eq!(register(home, at, &changed).await, 400);
    for published in [now - 3700, now + 3700] {
        let stale = descriptor(4, 4, [127, 0, 2, 4], |relay| relay.published = published);
        assert_eq!(register(home, at, &stale).await, 400, "published at {published}, now {now}");
    }
    for (seed, published) in [(4, now - 3500), (5, now + 3500), (1, now)] {
        let good = descriptor(seed, seed, [127, 0, 2, seed], |relay| relay.published = published);
        assert_eq!(register(home, at, &good).await, 204, "clocks an hour apart");
    }
    assert_eq!((authority.held().waiting, authority.held().relays), (3, 0));
    assert_eq!(register(home, at, &[0; 20_000]).await, 413);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_thousand_registrations_from_one_address_keep_nobody_else_out() {
    let authority = Arc::new(authority(with_limits).await);
    let at = authority.address();
    let mut crowd = tokio::task::JoinSet::new();
    for worker in 0..8_u16 {
        crowd.spawn(async move {
            let mut taken = 0;
            for number in 0..125_u16 {
                let seed = worker * 125 + number;
                let mut secret = [9; 32];
                secret[..2].copy_from_slice(&seed.to_be_bytes());
                let [high, low] = seed.to_be_bytes();
                let body = signed(&SecretKey::of_relay(&secret).unwrap(), secret, [127, 18, high, low], |_| {});
                taken += usize::from(register([127, 0, 0, 1], at, &body).await == 204);
            }
            taken
        });
    }
    let taken: usize = crowd.join_all().await.into_iter().sum();
    assert!((1..200).contains(&taken), "{taken} were taken");
    assert!(taken <= ReachLimits::default().waiting_per_network, "{taken} wait");
    assert_eq!(authority.held().waiting, taken);
    let stranger = descriptor(250, 250, [127, 9, 9, 9], |_| {});
    assert_eq!(register([127, 9, 9, 9], at, &stranger).await, 204, "another network registers meanwhile");
    until(|| authority.held().connections == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn half_requests_from_many_networks_keep_nobody_out() {
    let authority = authority(|config| {
        config.test_networks.clear();
        config.connections = 64;
    })
    .await;
    let at = authority.address();
    let half = async |third: u8| {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 20, third, 1], 0))).unwrap();
        let mut tcp = socket.connect(at).await.unwrap();
        tcp.write_all(b"GET / HT").await.unwrap();
        tcp
    };
    let mut crowd = Vec::new();
    for number in 0..112_u8 {
        crowd.push(half(number % 16).await);
    }
    // An eighth is kept for others.
    until(|| (1..=56).contains(&authority.held().connections)).await;
    for third in 100..108 {
        let answer = ask([127, 21, third, 1], at, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
        assert!(answer.starts_with(b"HTTP/1.1 200 OK"), "{}", String::from_utf8_lossy(&answer));
        // Whoever has left gives a place back to the crowd.
        crowd.push(half(third % 16).await);
    }
    // Half a request that becomes a whole one is answered.
    let mut last = half(200).await;
    last.write_all(b"TP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    last.read_to_end(&mut answer).await.unwrap();
    assert!(answer.starts_with(b"HTTP/1.1 200 OK"));
    drop((crowd, last));
    until(|| authority.held().connections == 0).await;
}

/// An authority that soon forgets who does not answer, and what it says of relays.
async fn impatient(change: impl FnOnce(&mut AuthorityConfig)) -> (Authority, Arc<Mutex<Vec<String>>>) {
    let told = Arc::new(Mutex::new(Vec::new()));
    let sink = Arc::clone(&told);
    let authority = authority(|config| {
        config.reach.patience = Duration::from_millis(300);
        config.reach.retry = Duration::from_millis(200);
        config.reach.waiting = Duration::from_secs(2);
        config.log = Arc::new(move |event| {
            if let AuthorityEvent::NotListed { .. } = event {
                sink.lock().unwrap().push(event.to_string());
            }
        });
        change(config);
    });
    (authority.await, told)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn descriptors_with_nothing_behind_them_are_not_listed() {
    let (authority, told) = impatient(|_| {}).await;
    let (honest, descriptor) = there().await;
    let home = [127, 0, 0, 1];
    // Nobody is there; somebody who says nothing; a relay, which is another.
    let silent = TcpListener::bind(local()).await.unwrap();
    let liars = [closed().await, silent.local_addr().unwrap(), honest.listed().address()];
    for (seed, at) in (1..).zip(liars) {
        let claim = self::descriptor(seed, seed, [127, 0, 0, 1], |relay| {
            (relay.addresses, relay.bandwidth) = (vec![at], u32::MAX);
        });
        assert_eq!(register(home, authority.address(), &claim).await, 204);
    }
    assert_eq!(register(home, authority.address(), &descriptor).await, 204);
    until(|| authority.held().relays == 1).await;
    until(|| authority.held().waiting == 0).await;
    assert_eq!(authority.held().relays, 1);
    let mut seen = Vec::new();
    while seen.is_empty() {
        seen = listed(&authority).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(seen, [*honest.listed().identity()]);
    let told = told.lock().unwrap();
    let says = |at: SocketAddr, why: &str| told.iter().any(|line| line.contains(&at.to_string()) && line.contains(why));
    assert!(says(liars[0], "can't connect") && says(liars[1], "more than") && says(liars[2], "link with"), "{told:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_has_gone_is_listed_no_longer() {
    let (authority, told) = impatient(|config| {
        config.reach.every = Duration::from_millis(200);
        config.reach.good_for = Duration::from_secs(1);
    })
    .await;
    let ((_stays, stays), (goes, descriptor)) = (there().await, there().await);
    for descriptor in [&stays, &descriptor] {
        assert_eq!(register([127, 0, 0, 1], authority.address(), descriptor).await, 204);
    }
    until(|| authority.held().relays == 2).await;
    let address = goes.listed().address();
    drop(goes);
    until(|| authority.held().relays == 1).await;
    assert!(told.lock().unwrap().iter().any(|line| line.contains(&address.to_string())), "{told:?}");
    let (_back, descriptor) = there().await;
    assert_eq!(register([127, 0, 0, 1], authority.address(), &descriptor).await, 204);
    until(|| authority.held().relays == 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn claims_to_a_network_keep_no_relay_out_of_it() {
    let (authority, _) = impatient(|config| {
        with_limits(config);
        config.registry.relays_per_network = 2;
    })
    .await;
    let at = authority.address();
    let port = closed().await.port();
    for seed in 1..=16 {
        let claim = descriptor(seed, seed, [127, 0, 0, seed], |relay| relay.addresses[0].set_port(port));
        assert_eq!(register([127, 1, seed, 1], at, &claim).await, 204);
    }
    let (_first, first) = there().await;
    let (second, renewed) = there().await;
    for descriptor in [&first, &renewed] {
        assert_eq!(register([127, 0, 0, 1], at, descriptor).await, 204, "relays that are there");
    }
    until(|| authority.held().relays == 2).await;
    let (_third, third) = there().await;
    assert_eq!(register([127, 2, 1, 1], at, &third).await, 503, "the network has two that are there");
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let renewed = second.descriptor(&Words::default()).unwrap();
    assert_eq!(register([127, 2, 3, 1], at, &renewed).await, 204, "those that are known go on");
    until(|| authority.held().waiting == 0).await;
    assert_eq!(authority.held().relays, 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_is_sent_to_a_private_address() {
    let authority = authority(|config| config.test_networks.clear()).await;
    let (relay, descriptor) = there().await;
    assert_eq!(
        register([127, 0, 0, 1], authority.address(), &descriptor).await,
        400,
        "loopback is no test network here"
    );
    let second = self::descriptor(1, 1, [9, 9, 9, 9], |told| {
        told.addresses.push("[fd00::1]:9001".parse().unwrap());
    });
    assert_eq!(register([127, 0, 0, 1], authority.address(), &second).await, 400);
    tokio::time::sleep(Duration::from_millis(300)).await;
    assert_eq!((authority.held().waiting, relay.held().links), (0, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_body_that_never_ends_is_cut_and_holds_nothing() {
    let authority = authority(|_| {}).await;
    let head = b"POST /relay HTTP/1.1\r\nHost: x\r\nContent-Length: 9000\r\n\r\nhalf";
    let mut tcp = tokio::net::TcpStream::connect(authority.address()).await.unwrap();
    tcp.write_all(head).await.unwrap();
    until(|| authority.held().connections == 1).await;
    let mut answer = Vec::new();
    // The authority ends it: by an answer or by closing.
    let _ = tcp.read_to_end(&mut answer).await;
    until(|| authority.held().connections == 0).await;
    assert_eq!(authority.held().relays, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authorities_that_disagree_make_no_consensus_and_each_names_the_other() {
    let now = Clock::default().now();
    let keys = [0; 2].map(|_| AuthorityKeys::generate(now).unwrap());
    let listen = [(); 2].map(|()| std::net::TcpListener::bind(local()).unwrap()).map(|port| port.local_addr().unwrap());
    let url = |at: SocketAddr| Url::parse(&format!("http://{at}/")).unwrap();
    let addresses = [0, 1].map(|index| DirectoryAddress::new(url(listen[index]), *keys[index].fingerprint()));
    let mut running = Vec::new();
    for ((keys, at), seconds) in keys.into_iter().zip(listen).zip([2, 4]) {
        let mut config = AuthorityConfig::new(at);
        config.peers = addresses.to_vec();
        config.interval = Duration::from_secs(seconds);
        let told = Arc::new(Mutex::new(Vec::new()));
        let sink = Arc::clone(&told);
        config.log = Arc::new(move |event: &AuthorityEvent| sink.lock().unwrap().push(event.clone()));
        running.push((Authority::start(keys, config).await.unwrap(), told));
    }
    let named = |told: &Mutex<Vec<AuthorityEvent>>, other: &DirectoryAddress| {
        told.lock().unwrap().iter().any(|event| {
            matches!(event, AuthorityEvent::Peer { url, why } if *url == other.url().to_string() && why.contains("--interval"))
        })
    };
    until(|| named(&running[0].1, &addresses[1]) && named(&running[1].1, &addresses[0])).await;
    let agreed = |event: &AuthorityEvent| matches!(event, AuthorityEvent::Consensus { .. });
    assert!(running.iter().all(|(_, told)| !told.lock().unwrap().iter().any(agreed)));
    assert!(client(&addresses, None).0.consensus().await.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_that_answers_links_and_carries_no_circuits_is_not_listed() {
    let (authority, told) = impatient(|_| {}).await;
    let at = authority.address();
    let mut config = RelayConfig::new(local());
    (config.limits.handshake_threads, config.limits.circuits) = (1, 0);
    let closed = Running::start(&RelayKeys::generate().unwrap(), config).await.unwrap();
    let (twin, descriptor) = there().await;
    assert_eq!(register([127, 0, 0, 1], at, &closed.descriptor(&Words::default()).unwrap()).await, 204);
    assert_eq!(register([127, 0, 0, 1], at, &descriptor).await, 204);
    until(|| authority.held().relays > 0 && authority.held().waiting == 0).await;
    assert_eq!(authority.held().relays, 1);
    let told = told.lock().unwrap().join("\n");
    assert!(told.contains(&closed.listed().address().to_string()), "{told}");
    drop((closed, twin));
}
