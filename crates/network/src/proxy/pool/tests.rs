//! Guards and middle relays that make circuits as they should, and carry nothing; clients that leave, and one that would have all circuits.

use super::*;
use crate::client::scripted::{Script, Scripted};
use crate::proxy::Proxy;
use crate::{Policy, Relay, RelayConfig, RelayKeys, Target};
use std::net::SocketAddr;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

const HOST: &str = "127.0.0.1";
/// How long anything may take that has to come about.
const DEADLINE: Duration = Duration::from_secs(60);

fn local() -> SocketAddr {
    ([127, 0, 0, 1], 0).into()
}

async fn relay(policy: &str) -> Relay {
    let mut config = RelayConfig::new(local());
    config.policy = Policy::parse(policy).unwrap();
    config.limits.handshake_threads = 1;
    Relay::start(&RelayKeys::generate().unwrap(), config).await.unwrap()
}

fn list(relays: &[&ListedRelay]) -> RelayList {
    let lines: Vec<_> = relays.iter().map(|relay| relay.to_line()).collect();
    RelayList::parse(&lines.join("\n")).unwrap()
}

/// With these guards, which were reached, in that order. It builds no circuit before it is asked.
async fn proxy(relays: RelayList, guards: &[&ListedRelay], change: impl FnOnce(&mut ProxyConfig)) -> (Proxy, TempDir) {
    let now = Clock::default().now();
    let entry = |relay: &&ListedRelay| {
        let identity = base16ct::lower::encode_string(relay.identity());
        format!(r#"{{"identity":"{identity}","drawn":{now},"last_listed":{now}}}"#)
    };
    let entries: Vec<_> = guards.iter().map(entry).collect();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("guards");
    std::fs::write(&file, format!(r#"{{"guards":[{}]}}"#, entries.join(","))).unwrap();
    let mut config = ProxyConfig::new(vec![local()]);
    (config.test_network, config.handshake, config.state) = (true, HandshakeType::NtorV3, Some(file));
    (config.spare, config.expected) = (0, Vec::new());
    change(&mut config);
    (Proxy::start(config, relays).await.unwrap(), folder)
}

/// A proxy whose only middle relay is silent.
struct Silenced {
    proxy: Proxy,
    /// Where a page is to be had.
    port: u16,
    silent: Scripted,
    /// The list in which an honest relay stands in its place.
    well: RelayList,
    _kept: (Target, [Relay; 3], TempDir),
}

/// With streams that may take so long to open.
async fn silenced(stream: Duration) -> Silenced {
    let target = Target::start(local()).await.unwrap();
    let port = target.address().port();
    let relays = [relay("").await, relay("").await, relay(&format!("{HOST}:{port}")).await];
    let silent = Scripted::start(Script::Pads).await;
    let [ada, bob, cyd] = relays.each_ref().map(Relay::listed);
    let (proxy, folder) =
        proxy(list(&[&ada, &silent.listed, &cyd]), &[&ada], |config| config.client.stream = stream).await;
    let well = list(&[&ada, &bob, &cyd]);
    Silenced { proxy, port, silent, well, _kept: (target, relays, folder) }
}

fn isolation(number: u8) -> Isolation {
    Isolation { key: [number; 32], from: local().ip() }
}

async fn until(mut is_so: impl FnMut() -> bool) {
    let waiting = async {
        while !is_so() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(DEADLINE, waiting).await.expect("it comes about in time");
}

/// A client that asks for a stream, in SOCKS 4, and says who it is. It sends nothing ahead, so that the proxy sees it leave.
async fn ask(proxy: &Proxy, login: u8, port: u16) -> TcpStream {
    let mut tcp = TcpStream::connect(proxy.addresses()[0]).await.unwrap();
    let [high, low] = port.to_be_bytes();
    tcp.write_all(&[4, 1, high, low, 127, 0, 0, 1, b'a' + login, 0]).await.unwrap();
    tcp
}

/// Whether a page comes over it.
async fn comes(mut tcp: TcpStream) -> bool {
    tcp.write_all(b"GET /bytes/1000 HTTP/1.0\r\n\r\n").await.unwrap();
    let mut answer = Vec::new();
    let _ = timeout(DEADLINE, tcp.read_to_end(&mut answer)).await.expect("the connection ends");
    answer.len() > 1000
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_that_builds_circuits_and_carries_no_stream_comes_behind_another() {
    // Each target has an exit of its own, so that it is no chance which exit is tried.
    let start = async || Target::start(local()).await.unwrap();
    let targets = [start().await, start().await, start().await, start().await];
    let ports = targets.each_ref().map(|target| target.address().port());
    let exit = async |port| relay(&format!("{HOST}:{port}")).await;
    let exits = [exit(ports[0]).await, exit(ports[1]).await, exit(ports[2]).await, exit(ports[3]).await];
    let port_of = |login: u8| ports[usize::from(login) % ports.len()];
    let bob = relay("").await;
    // Longer than relays are waited for, from when they are asked, and shorter than a stream may take.
    let delays = Script::Delays(Duration::from_millis(3750));
    // How many pages don't come until another guard is used: three tries fail for the first and one for the second; nothing is tried again once a
    // stream is open. What may be an exit's doing counts once for each exit: all three tries of three pages, and the first of the fourth.
    for (script, fails) in [
        (Script::Destroys, 1),
        (Script::Garbles, 3),
        (Script::Pads, 1),
        (Script::Spoils, 3),
        (Script::DropsFirst, 3),
        (delays, 1),
        (Script::Opens, 4),
        (Script::Honest, 0),
    ] {
        for spare in [0, 1] {
            let first = Scripted::start(script).await;
            let ada = relay("").await;
            // So that it is no middle relay where Ada is the guard.
            let family = |relay: &ListedRelay, of: &ListedRelay| {
                list(&[relay]).into_relays().remove(0).with_family(vec![*of.identity()])
            };
            let (one, other) = (family(&first.listed, &ada.listed()), family(&ada.listed(), &first.listed));
            let [cyd, dora, eve, fay] = exits.each_ref().map(Relay::listed);
            let relays = list(&[&one, &other, &bob.listed(), &cyd, &dora, &eve, &fay]);
            let stream = match script {
                Script::Pads | Script::DropsFirst => Duration::from_millis(750),
                Script::Delays(_) => Duration::from_millis(4500),
                _ => Duration::from_secs(10),
            };
            let (proxy, _folder) = proxy(relays, &[&one, &other], |config| {
                (config.client.stream, config.spare) = (stream, spare);
                config.expected = ports.to_vec();
            })
            .await;
            let pool = &proxy.shared.pool;
            until(|| locked(&pool.state).circuits.len() == spare * ports.len()).await;
            let mut failed = 0;
            while !comes(ask(&proxy, failed, port_of(failed)).await).await {
                failed += 1;
                assert!(failed <= fails, "{script:?}, {spare} ahead: no other guard is used");
            }
            assert_eq!(failed, fails, "{script:?}, {spare} ahead");
            // Once another has carried something, it carries all.
            for login in 20..24 {
                assert!(comes(ask(&proxy, login, port_of(login)).await).await, "{script:?}, {spare} ahead");
            }
            let is_honest = script == Script::Honest;
            assert_eq!(ada.counts().handshakes == 0, is_honest, "{script:?}, {spare} ahead");
            assert_eq!(proxy.metrics().retries == 0, is_honest || script == Script::Opens, "{script:?}, {spare} ahead");
            assert_eq!(locked(&pool.guards).identities().count(), 2, "nobody is drawn for that");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_slow_line_that_a_page_fills_streams_are_late_and_nobody_is_blamed() {
    let target = Target::start(local()).await.unwrap();
    let port = target.address().port();
    let (ada, bob, cyd) = (relay("").await, relay("").await, relay(&format!("{HOST}:{port}")).await);
    let slow = Scripted::start(Script::Slow).await;
    let [ada, bob, cyd] = [&ada, &bob, &cyd].map(Relay::listed);
    let (proxy, _folder) = proxy(list(&[&slow.listed, &ada, &bob, &cyd]), &[&slow.listed, &ada], |config| {
        // Without congestion control a page has 500 cells on their way: ten seconds.
        (config.handshake, config.client.stream) = (HandshakeType::Ntor, Duration::from_millis(1500));
    })
    .await;
    let (pool, began) = (&proxy.shared.pool, instant());
    for _ in 0..7 {
        pool.keep(&pool.build(Some(HOST), port, &[], None, || true).await.unwrap(), None);
    }
    let mut page = ask(&proxy, 0, port).await;
    page.write_all(b"GET /bytes/50000000 HTTP/1.0\r\n\r\n").await.unwrap();
    page.read_exact(&mut [0; 20_000]).await.unwrap();
    let reading = tokio::spawn(async move { tokio::io::copy(&mut page, &mut tokio::io::sink()).await });
    // Six tries in turn; four would be enough if nothing came meanwhile.
    for number in 1..=2 {
        let late = pool.open(isolation(number), HOST, port).await.map(drop);
        assert!(matches!(late, Err(Trouble::Network(Error::Late { .. }))), "{late:?}");
    }
    assert!(!locked(&pool.guards).is_behind_since(slow.listed.identity(), began, instant()));
    assert!(locked(&pool.absent).now(4, instant()).is_empty());
    // The circuit that brings the page is well, though its relays' answers wait, too.
    let kept: Vec<_> = locked(&pool.state).circuits.iter().map(|pooled| Arc::clone(&pooled.built)).collect();
    assert_eq!(kept.len(), 1);
    assert!(kept[0].circuit.silent_hop(pool.sign).await.is_none());
    assert!(!reading.is_finished());
    reading.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exit_that_a_guard_makes_end_circuits_is_asked_again_where_it_is_the_only_one() {
    let target = Target::start(local()).await.unwrap();
    let port = target.address().port();
    let (bob, cyd) = (relay("").await, relay(&format!("{HOST}:{port}")).await);
    let spoils = Scripted::start(Script::Spoils).await;
    let (proxy, _folder) =
        proxy(list(&[&spoils.listed, &bob.listed(), &cyd.listed()]), &[&spoils.listed], |_| {}).await;
    assert!(!comes(ask(&proxy, 0, port).await).await);
    assert_eq!((proxy.metrics().retries, cyd.counts().handshakes), (2, 3), "three tries");
    assert!(locked(&proxy.shared.pool.absent).now(3, instant()).is_empty(), "nobody is passed over for that");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn circuits_built_ahead_through_a_relay_that_falls_silent_are_not_tried() {
    let Silenced { proxy, port, well, silent: _silent, _kept } = silenced(Duration::from_millis(1500)).await;
    let pool = &proxy.shared.pool;
    for _ in 0..3 {
        pool.keep(&pool.build(Some(HOST), port, &[], None, || true).await.unwrap(), None);
    }
    // The twin: one through another relay stays, and is used.
    proxy.know(well);
    let twin = pool.build(Some(HOST), port, &[], None, || true).await.unwrap();
    pool.keep(&twin, None);
    let (_, trial) = pool.open(isolation(1), HOST, port).await.unwrap();
    assert_eq!(trial.built.number, twin.number);
    assert_eq!(locked(&pool.state).circuits.len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_gives_up_leaves_no_dead_circuit_to_its_next_stream() {
    let Silenced { proxy, port, silent, well, _kept } = silenced(Duration::from_millis(1500)).await;
    let pool = &proxy.shared.pool;
    let impatient = ask(&proxy, 1, port).await;
    until(|| locked(&pool.state).circuits.len() == 1).await;
    let dead = Arc::downgrade(&locked(&pool.state).circuits[0].built);
    proxy.know(well);
    drop(impatient);
    until(|| dead.upgrade().is_none_or(|dead| *dead.is_in_doubt.borrow())).await;
    // Nobody knows yet what is wrong with it, and no other stream is tried there.
    assert!(comes(ask(&proxy, 1, port).await).await);
    assert_eq!(proxy.metrics().retries, 0);
    until(|| dead.upgrade().is_none()).await;
    assert_eq!(locked(&pool.absent).now(3, instant()), [*silent.listed.identity()]);
    // The twin: a circuit that is well serves again once it has answered. The next streams wait for that, however often one is given up.
    let (well, own) = {
        let state = locked(&pool.state);
        (Arc::clone(&state.circuits[0].built), state.circuits[0].isolation.unwrap())
    };
    for _ in 0..5 {
        drop(Trial::new(pool, Arc::clone(&well)));
        let (_stream, trial) = pool.open(own, HOST, port).await.unwrap();
        assert_eq!(trial.built.number, well.number);
    }
    assert!(comes(ask(&proxy, 1, port).await).await);
    assert_eq!((proxy.metrics().circuits_built, locked(&pool.state).circuits.len()), (2, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn while_relays_are_asked_for_a_client_that_waits_no_other_stream_begins_there() {
    let Silenced { proxy, port, well, silent: _silent, _kept } = silenced(Duration::from_secs(6)).await;
    let pool = &proxy.shared.pool;
    let patient = ask(&proxy, 1, port).await;
    until(|| locked(&pool.state).circuits.len() == 1).await;
    proxy.know(well);
    let is_in_doubt = || locked(&pool.state).circuits.first().is_some_and(|pooled| *pooled.built.is_in_doubt.borrow());
    until(is_in_doubt).await;
    let other = ask(&proxy, 1, port).await;
    assert!(comes(other).await && comes(patient).await);
    assert_eq!(proxy.metrics().retries, 1, "only the first was tried there");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_that_is_silent_is_found_out_though_its_clients_leave() {
    let port = 443;
    let (ada, bob, cyd) = (relay("").await, relay("").await, relay(&format!("{HOST}:{port}")).await);
    let [ada, bob, cyd] = [&ada, &bob, &cyd].map(Relay::listed);
    // While a circuit is being built.
    let mute = Scripted::start(Script::Mute).await;
    let build = Duration::from_millis(500);
    let (first, _folder) = proxy(list(&[&mute.listed, &bob, &cyd]), &[&mute.listed], |config| {
        config.client.limits.build = build;
    })
    .await;
    let client = ask(&first, 1, port).await;
    until(|| mute.links() == 1).await;
    drop(client);
    until(|| first.metrics().circuits_failed == 1).await;
    // While a stream that is open brings nothing.
    let target = Target::start(local()).await.unwrap();
    let port = target.address().port();
    let exit = relay(&format!("{HOST}:{port}")).await;
    let starves = Scripted::start(Script::Starves).await;
    let relays = list(&[&starves.listed, &ada, &bob, &exit.listed()]);
    let (second, _folder) = proxy(relays, &[&starves.listed, &ada], |config| config.client.stream = 3 * build).await;
    let circuits = || locked(&second.shared.pool.state).circuits.len();
    for login in 0..4 {
        let mut client = ask(&second, login, port).await;
        client.read_exact(&mut [0; 8]).await.unwrap();
        assert_eq!(circuits(), 1);
        drop(client);
        until(|| circuits() == 0).await;
    }
    assert!(comes(ask(&second, 4, port).await).await, "another guard is used");
}

/// A proxy that may have so many circuits, the port of a target that says nothing, and what must go on meanwhile.
async fn proxy_with_circuits(circuits: usize) -> (Proxy, u16, (TempDir, TcpListener, [Relay; 3])) {
    let deaf = TcpListener::bind(local()).await.unwrap();
    let port = deaf.local_addr().unwrap().port();
    let relays = [relay("").await, relay("").await, relay(&format!("{HOST}:{port}")).await];
    let [ada, bob, cyd] = relays.each_ref().map(Relay::listed);
    let (proxy, folder) = proxy(list(&[&ada, &bob, &cyd]), &[&ada], |config| config.circuits = circuits).await;
    (proxy, port, (folder, deaf, relays))
}

/// A stream's isolation by its client's address.
fn from(address: u8, number: u8) -> Isolation {
    Isolation { key: [number; 32], from: [192, 0, 2, address].into() }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_takes_many_circuits_leaves_some_to_other_addresses() {
    let (proxy, port, _running) = proxy_with_circuits(16).await;
    let pool = &proxy.shared.pool;
    let mut kept = Vec::new();
    // One of them was built ahead, and counts for whoever gets it.
    pool.keep(&pool.build(Some(HOST), port, &[], None, || true).await.unwrap(), None);
    for number in 0..14 {
        kept.push(pool.open(from(1, number), HOST, port).await.unwrap());
    }
    let refused = pool.open(from(1, 14), HOST, port).await.map(drop);
    assert!(matches!(refused, Err(Trouble::Busy)), "{refused:?}");
    // The twin: others get the last two, and there are no more.
    for address in [2, 3] {
        kept.push(pool.open(from(address, 20 + address), HOST, port).await.unwrap());
    }
    assert!(matches!(pool.open(from(4, 24), HOST, port).await.map(drop), Err(Trouble::Busy)));
    // Whoever has many makes room for itself alone, others with few where nobody is.
    let idle = kept.pop().unwrap();
    drop(idle);
    until(|| locked(&pool.state).circuits.iter().any(|pooled| Arc::strong_count(&pooled.built) == 1)).await;
    assert!(matches!(pool.open(from(1, 14), HOST, port).await.map(drop), Err(Trouble::Busy)));
    kept.push(pool.open(from(4, 24), HOST, port).await.unwrap());
    let of_address = |address: u8| locked(&pool.state).of_address.get(&IpAddr::from([192, 0, 2, address])).copied();
    assert_eq!([1, 2, 3, 4].map(of_address), [Some(14), Some(1), None, Some(1)]);
    kept.clear();
    until(|| locked(&pool.state).circuits.iter().all(|pooled| Arc::strong_count(&pooled.built) == 1)).await;
    kept.push(pool.open(from(1, 14), HOST, port).await.unwrap());
    assert_eq!(of_address(1), Some(14), "one of its own has gone");
    assert_eq!(locked(&pool.state).count, 16);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn who_comes_later_displaces_what_those_with_more_do_not_use() {
    let (proxy, port, _running) = proxy_with_circuits(24).await;
    let pool = &proxy.shared.pool;
    let mut kept = Vec::new();
    for number in 0..21 {
        kept.push(pool.open(from(1, number), HOST, port).await.unwrap());
    }
    kept.clear();
    until(|| locked(&pool.state).circuits.iter().all(|pooled| Arc::strong_count(&pooled.built) == 1)).await;
    // Until it has as many.
    for number in 0..12 {
        kept.push(pool.open(from(2, number), HOST, port).await.unwrap());
    }
    assert!(matches!(pool.open(from(2, 12), HOST, port).await.map(drop), Err(Trouble::Busy)));
    assert_eq!(locked(&pool.state).count, 24);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_circuit_that_nobody_waits_for_any_more_is_not_begun() {
    let (ada, bob, cyd) = (relay("").await, relay("").await, relay(&format!("{HOST}:9")).await);
    let [ada, bob, cyd] = [&ada, &bob, &cyd].map(Relay::listed);
    let (proxy, _folder) = proxy(list(&[&ada, &bob, &cyd]), &[&ada], |_| ()).await;
    let pool = &proxy.shared.pool;
    assert!(matches!(pool.build(Some(HOST), 9, &[], None, || false).await.map(drop), Err(Trouble::Busy)));
    assert_eq!(locked(&pool.state).count, 0, "its place is free again");
    pool.build(Some(HOST), 9, &[], None, || true).await.unwrap();
}
