//! Guards and middle relays that make circuits as they should, and carry nothing; clients that leave, and one that would have all circuits.

mod doubts;

use super::*;
use crate::client::scripted::{Script, Scripted};
use crate::proxy::Proxy;
use crate::{Policy, Relay, RelayConfig, RelayKeys, Target};
use std::future::{pending, ready};
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

/// A relay as one of the other's family: no path has both.
fn kin(relay: &ListedRelay, other: &ListedRelay) -> ListedRelay {
    list(&[relay]).into_relays().remove(0).with_family(vec![*other.identity()])
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

/// By a consensus of Tor's, which nobody has given a newer one for.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_day_after_its_end_no_circuit_is_built_by_a_consensus() {
    let target = Target::start(local()).await.unwrap();
    let port = target.address().port();
    let relays = [relay("").await, relay("").await, relay(&format!("{HOST}:{port}")).await];
    let [ada, bob, cyd] = relays.each_ref().map(Relay::listed);
    let ended = |ago: u64| {
        let now = Clock::default().now();
        RelayList::signed(list(&[&ada, &bob, &cyd]).into_relays(), now - ago - 10_800, now - ago)
    };
    let (proxy, _folder) = proxy(ended(GRACE), &[&ada], |_| {}).await;
    let refused = proxy.shared.pool.open(isolation(1), HOST, port).await.err().expect("none is built").text();
    assert!(refused.contains("the newest consensus ended") && refused.contains("no directory has given"), "{refused}");
    assert!(!comes(ask(&proxy, 2, port).await).await);
    // The twins: one that has ended not so long ago, and a list that nobody has signed.
    for (login, list) in [(3, ended(GRACE - 600)), (4, list(&[&ada, &bob, &cyd]))] {
        proxy.know(list);
        assert!(comes(ask(&proxy, login, port).await).await, "{login}");
    }
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
    // stream is open. Where cells were spoilt, the third try is over another at once.
    let began = instant();
    for (script, fails) in [
        (Script::Destroys, 1),
        (Script::Garbles, 0),
        (Script::Pads, 1),
        (Script::Spoils, 0),
        (Script::DropsFirst, 0),
        (delays, 1),
        (Script::Opens, 4),
        (Script::Honest, 0),
    ] {
        for spare in [0, 1] {
            let first = Scripted::start(script).await;
            let ada = relay("").await;
            // So that it is no middle relay where Ada is the guard.
            let (one, other) = (kin(&first.listed, &ada.listed()), kin(&ada.listed(), &first.listed));
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
                until(|| locked(&pool.state).circuits.iter().all(|pooled| !pooled.built.is_over())).await;
            }
            assert_eq!(failed, fails, "{script:?}, {spare} ahead");
            // Once another has carried something, it carries all.
            for login in 20..24 {
                assert!(comes(ask(&proxy, login, port_of(login)).await).await, "{script:?}, {spare} ahead");
            }
            let is_honest = script == Script::Honest;
            assert_eq!(ada.counts().handshakes == 0, is_honest, "{script:?}, {spare} ahead");
            assert_eq!(proxy.metrics().retries == 0, is_honest || script == Script::Opens, "{script:?}, {spare} ahead");
            let guards = locked(&pool.guards);
            assert_eq!(
                guards.is_behind_since(one.identity(), began, instant()),
                !is_honest,
                "{script:?}, {spare} ahead"
            );
            assert_eq!(guards.identities().count(), 2, "nobody is drawn for that");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_that_ends_all_circuits_but_an_old_one_comes_behind_though_that_goes_on() {
    for (script, fails) in [(Script::CarriesOne, 1), (Script::Honest, 0)] {
        let target = Target::start(local()).await.unwrap();
        let port = target.address().port();
        let [ada, bob, cyd] = [relay("").await, relay("").await, relay(&format!("{HOST}:{port}")).await];
        let [ada, bob, cyd] = [&ada, &bob, &cyd].map(Relay::listed);
        let first = Scripted::start(script).await;
        let began = instant();
        let (proxy, _folder) = proxy(list(&[&first.listed, &ada, &bob, &cyd]), &[&first.listed, &ada], |_| {}).await;
        let mut download = ask(&proxy, 0, port).await;
        download.write_all(b"GET /bytes/100000000 HTTP/1.0\r\n\r\n").await.unwrap();
        let mut goes_on = async || {
            let before = proxy.metrics().bytes_down;
            while proxy.metrics().bytes_down < before + 100_000 {
                download.read_exact(&mut [0; 10_000]).await.unwrap();
            }
        };
        let mut failed = 0;
        for login in 1..=6 {
            goes_on().await;
            failed += u64::from(!comes(ask(&proxy, login, port).await).await);
        }
        goes_on().await;
        let guards = locked(&proxy.shared.pool.guards);
        assert_eq!((failed, guards.is_behind_since(first.listed.identity(), began, instant())), (fails, fails > 0));
    }
}

/// A proxy whose first guard is at the end of a slow line.
struct SlowLine {
    proxy: Proxy,
    /// Where a page is to be had; and where an exit opens a stream and fills the line with cells that bring nothing.
    port: u16,
    idle: u16,
    slow: Scripted,
    began: Instant,
    _kept: (Target, Scripted, [Relay; 3], TempDir),
}

async fn slow_line(script: Script) -> SlowLine {
    let target = Target::start(local()).await.unwrap();
    let (port, idle) = (target.address().port(), 1);
    let relays = [relay("").await, relay("").await, relay(&format!("{HOST}:{port}")).await];
    let (slow, drops) = (Scripted::start(script).await, Scripted::start(Script::Drops(1000)).await);
    let [ada, bob, cyd] = relays.each_ref().map(Relay::listed);
    // So that it is no middle relay: it makes circuits and extends none.
    let (drops_at, cyd) = (kin(&drops.listed, &cyd), kin(&cyd, &drops.listed));
    let drops_at = drops_at.with_exit(&Policy::parse(&format!("{HOST}:{idle}")).unwrap());
    let began = instant();
    let (proxy, folder) = proxy(list(&[&slow.listed, &ada, &bob, &cyd, &drops_at]), &[&slow.listed, &ada], |config| {
        // Without congestion control a stream has 500 cells on their way: ten seconds, or two and a half.
        (config.handshake, config.client.stream) = (HandshakeType::Ntor, Duration::from_millis(1500));
    })
    .await;
    let pool = &proxy.shared.pool;
    for _ in 0..7 {
        pool.keep(&pool.build(Some(HOST), port, &Passed::default(), None, pending()).await.unwrap(), None);
    }
    SlowLine { proxy, port, idle, slow, began, _kept: (target, drops, relays, folder) }
}

impl SlowLine {
    /// Streams beside the one that fills it are late, and nobody is blamed. That one's circuit is well, though its relays' answers wait, too.
    async fn streams_are_late_and_nobody_is_blamed(&self) {
        let pool = &self.proxy.shared.pool;
        // Six tries in turn; four would be enough if nothing came meanwhile.
        for number in 1..=2 {
            let late = pool.open(isolation(number), HOST, self.port).await.map(drop);
            assert!(matches!(late, Err(Trouble::Network(Error::Late { others_came: true, .. }))), "{late:?}");
        }
        assert!(!locked(&pool.guards).is_behind_since(self.slow.listed.identity(), self.began, instant()));
        assert!(locked(&pool.absent).now(5, instant()).is_empty());
        let fills = |built: &Arc<Built>| Arc::strong_count(built) > 2;
        let kept: Vec<_> = locked(&pool.state).circuits.iter().map(|pooled| Arc::clone(&pooled.built)).collect();
        let filling: Vec<_> = kept.iter().filter(|built| fills(built)).collect();
        assert!(!filling.is_empty());
        for built in filling {
            let stuck = built.circuit.silent_hop(pool.sign).await;
            assert!(stuck.is_none(), "{stuck:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_slow_line_that_a_page_fills_streams_are_late_and_nobody_is_blamed() {
    let line = slow_line(Script::Slow).await;
    let mut page = ask(&line.proxy, 0, line.port).await;
    page.write_all(b"GET /bytes/50000000 HTTP/1.0\r\n\r\n").await.unwrap();
    page.read_exact(&mut [0; 20_000]).await.unwrap();
    let reading = tokio::spawn(async move { tokio::io::copy(&mut page, &mut tokio::io::sink()).await });
    line.streams_are_late_and_nobody_is_blamed().await;
    assert!(!reading.is_finished());
    reading.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_slow_line_that_an_upload_fills_streams_are_late_and_nobody_is_blamed() {
    let line = slow_line(Script::SlowUp).await;
    let mut upload = ask(&line.proxy, 0, line.port).await;
    let head = b"POST /digest HTTP/1.0\r\nContent-Length: 50000000\r\n\r\n";
    upload.write_all(head).await.unwrap();
    let up = || line.proxy.metrics().bytes_up > 200_000;
    let writing = tokio::spawn(async move { upload.write_all(&vec![0; 50_000_000]).await });
    until(up).await;
    line.streams_are_late_and_nobody_is_blamed().await;
    assert!(!writing.is_finished());
    writing.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn on_a_slow_line_that_an_exit_fills_with_cells_that_bring_nothing_nobody_is_blamed() {
    let line = slow_line(Script::Slow).await;
    let (_open, _trial) = line.proxy.shared.pool.open(isolation(0), HOST, line.idle).await.unwrap();
    line.streams_are_late_and_nobody_is_blamed().await;
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
        pool.keep(&pool.build(Some(HOST), port, &Passed::default(), None, pending()).await.unwrap(), None);
    }
    // The twin: one through another relay stays, and is used.
    proxy.know(well);
    let twin = pool.build(Some(HOST), port, &Passed::default(), None, pending()).await.unwrap();
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
async fn an_answer_that_comes_while_relays_are_asked_ends_the_doubt() {
    let Silenced { proxy, port, silent: _silent, _kept, .. } = silenced(Duration::from_secs(6)).await;
    let pool = Arc::clone(&proxy.shared.pool);
    let own = isolation(1);
    let answer = Arc::new(Notify::new());
    let (waits, told) = (Arc::clone(&pool), Arc::clone(&answer));
    let waiting = tokio::spawn(async move {
        let work = |built: Arc<Built>| -> Working<u64> {
            let told = Arc::clone(&told);
            Box::pin(async move { Ok((told.notified().await, built.number).1) })
        };
        waits.attempt(own, HOST, port, String::new(), work).await
    });
    until(|| locked(&pool.state).circuits.len() == 1).await;
    let mut doubt = locked(&pool.state).circuits[0].built.is_in_doubt.subscribe();
    timeout(DEADLINE / 2, doubt.wait_for(|is_in_doubt| *is_in_doubt)).await.expect("it is put in doubt").unwrap();
    // No relay has given a sign of life, but the answer is one.
    answer.notify_one();
    let (number, _trial) = waiting.await.unwrap().unwrap();
    assert!(!*doubt.borrow());
    let next = pool.attempt(own, HOST, port, String::new(), |built| Box::pin(async move { Ok(built.number) }));
    let (next, _trial) = next.await.unwrap();
    assert_eq!((next, proxy.metrics().circuits_built, proxy.metrics().retries), (number, 1, 0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_whose_target_hangs_keeps_no_other_from_its_circuit_once_its_relays_have_answered() {
    let (ada, bob, cyd) = (relay("").await, relay("").await, relay(&format!("{HOST}:9")).await);
    let [ada, bob, cyd] = [&ada, &bob, &cyd].map(Relay::listed);
    let (proxy, _folder) = proxy(list(&[&ada, &bob, &cyd]), &[&ada], |config| {
        config.client.stream = Duration::from_millis(1500);
    })
    .await;
    let pool = Arc::clone(&proxy.shared.pool);
    let own = isolation(1);
    let hanging = tokio::spawn({
        let pool = Arc::clone(&pool);
        async move {
            pool.attempt(own, HOST, 9, String::new(), |_| Box::pin(pending::<Result<(), Error>>())).await.map(drop)
        }
    });
    until(|| locked(&pool.state).circuits.len() == 1).await;
    let mut doubt = locked(&pool.state).circuits[0].built.is_in_doubt.subscribe();
    let asked_and_well = async {
        // It may be over as soon as it is noticed.
        doubt.changed().await.unwrap();
        doubt.wait_for(|is_in_doubt| !is_in_doubt).await.unwrap();
    };
    timeout(DEADLINE / 2, asked_and_well).await.expect("sooner than the stream is given up");
    let other = pool.attempt(own, HOST, 9, String::new(), |built| Box::pin(async move { Ok(built.number) }));
    let (number, _trial) = other.await.unwrap();
    assert_eq!((number, proxy.metrics().circuits_built), (locked(&pool.state).circuits[0].built.number, 1));
    assert!(!hanging.is_finished());
    hanging.abort();
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
    // Streams that begin one after the other, or each while the one before is asked about; of those that fail together one counts.
    for (enough, waits) in [(4, true), (10, false)] {
        let relays = list(&[&starves.listed, &ada, &bob, &exit.listed()]);
        let (second, _folder) =
            proxy(relays, &[&starves.listed, &ada], |config| config.client.stream = 3 * build).await;
        let pool = &second.shared.pool;
        let circuits = || locked(&pool.state).circuits.len();
        let began = instant();
        let is_behind = || locked(&pool.guards).is_behind_since(starves.listed.identity(), began, instant());
        // On a busy machine more fail together than the pauses are for: then it takes more of them.
        let mut login = 0;
        while !is_behind() {
            assert!(login < 3 * enough, "{login} clients came and left, and the guard was not found out");
            let mut client = ask(&second, login, port).await;
            client.read_exact(&mut [0; 8]).await.unwrap();
            drop(client);
            login += 1;
            if waits {
                until(|| circuits() == 0 || is_behind()).await;
            } else {
                sleep(build * 3 / 5).await;
            }
        }
        assert!(comes(ask(&second, login, port).await).await, "another guard is used");
    }
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
    pool.keep(&pool.build(Some(HOST), port, &Passed::default(), None, pending()).await.unwrap(), None);
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
    assert!(matches!(
        pool.build(Some(HOST), 9, &Passed::default(), None, ready(())).await.map(drop),
        Err(Trouble::Busy)
    ));
    assert_eq!(locked(&pool.state).count, 0, "its place is free again");
    pool.build(Some(HOST), 9, &Passed::default(), None, pending()).await.unwrap();
}
