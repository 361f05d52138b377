//! Programs that know nothing of circuits, through the proxy.

mod town;

use candor_network::proxy::socks::Reply;
use candor_network::{
    Error, ExitUpgrade, HandshakeType, ListedRelay, Policy, ProxyConfig, ProxyEvent, RelayKeys, RelayList, Target,
};
use candor_onion::relay::message::EndReason;
use std::collections::HashSet;
use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket, TcpStream};
use tokio::process::Command;
use town::proxied::{ask, ask_over, connect, list_of, page, proxy, serves, until};
use town::{Town, local};

/// The answer to an HTTP request, whole.
async fn http(at: SocketAddr, request: &str) -> String {
    let mut tcp = TcpStream::connect(at).await.unwrap();
    tcp.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn socks_and_http_carry_a_page_byte_for_byte() {
    let town = Town::new().await;
    let proxy = proxy(&town, |_| {}).await;
    let (at, port) = (proxy.addresses()[0], town.target.address().port());
    serves(&town, at, None).await;
    serves(&town, at, Some(("ada", "pw"))).await;
    let wanted: Vec<u8> = Target::bytes(300_000).flatten().collect();
    for (hello, answer) in [
        ([&[4, 1][..], &port.to_be_bytes(), &[0, 0, 0, 1], b"me\0localhost\0"].concat(), 8),
        ([&[4, 1][..], &port.to_be_bytes(), &[127, 0, 0, 1], b"\0"].concat(), 8),
        (format!("CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n").into_bytes(), 0),
    ] {
        let mut tcp = TcpStream::connect(at).await.unwrap();
        tcp.write_all(&hello).await.unwrap();
        let mut said = vec![0; answer];
        tcp.read_exact(&mut said).await.unwrap();
        while answer == 0 && !said.ends_with(b"\r\n\r\n") {
            said.push(tcp.read_u8().await.unwrap());
        }
        assert!(said.starts_with(&[0, 90]) || said.starts_with(b"HTTP/1.1 200 "), "{}", String::from_utf8_lossy(&said));
        assert!(page(tcp, 300_000).await.unwrap() == wanted);
    }
    // A client that sends its request before it is asked for it.
    let mut tcp = TcpStream::connect(at).await.unwrap();
    let ahead = [connect(None, "127.0.0.1", port), b"GET /bytes/7 HTTP/1.1\r\nHost: x\r\n\r\n".to_vec()].concat();
    tcp.write_all(&ahead).await.unwrap();
    let mut answer = Vec::new();
    tcp.read_to_end(&mut answer).await.unwrap();
    assert!(answer.ends_with(&Target::bytes(7).flatten().collect::<Vec<u8>>()));

    let metrics = proxy.metrics();
    assert_eq!((metrics.replied(Reply::Succeeded), metrics.circuits_failed, metrics.retries), (6, 0, 0));
    assert!(metrics.bytes_down > 1_000_000 && metrics.bytes_up > 200, "{metrics:?}");
    assert!(metrics.hops.iter().all(|stage| stage.count == metrics.circuits_built), "{metrics:?}");
    assert_eq!(metrics.stream.count, 6);
    until(|| proxy.metrics().streams == 0 && proxy.metrics().connections == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_asks_for_upgrades_gets_them_of_exits_that_have_them_and_serves_through_others() {
    for has in [true, false] {
        let town = Town::with(|config| config.limits.circuit.upgrade = has).await;
        let proxy = proxy(&town, upgrading(ExitUpgrade::IfOffered)).await;
        serves(&town, proxy.addresses()[0], None).await;
        let metrics = proxy.metrics();
        assert_eq!((metrics.circuits_built, metrics.circuits_failed, metrics.upgrades), (1, 0, u64::from(has)));
    }
}

/// Any of the town's relays may be the exit; it is one that has upgrades, however often one has to be chosen, or none.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_that_takes_no_exit_without_an_upgrade_serves_through_no_other() {
    for has in [Some("cyd"), None] {
        let town = Town::with(|config| config.limits.circuit.upgrade = config.name.as_deref() == has).await;
        let proxy = proxy(&town, |config| {
            upgrading(ExitUpgrade::Always)(config);
            // Otherwise cyd may be the guard.
            config.entries = vec!["ada".to_owned()];
        })
        .await;
        let at = proxy.addresses()[0];
        for login in [("one", ""), ("two", ""), ("three", "")] {
            match has {
                Some(_) => serves(&town, at, Some(login)).await,
                None => {
                    let (_, reply) = ask(at, Some(login), "127.0.0.1", town.target.address().port()).await;
                    assert_ne!(reply, 0, "the stream is opened");
                }
            }
        }
        let metrics = proxy.metrics();
        let circuits = if has.is_some() { 3 } else { 0 };
        assert_eq!((metrics.circuits_built, metrics.upgrades), (circuits, circuits));
        // The other relays are asked once, and again when there is a new list: one may have upgrades by then.
        assert!(metrics.circuits_failed <= 3, "{metrics:?}");
        proxy.know(list_of(&town));
        if has.is_none() {
            let (_, reply) = ask(at, None, "127.0.0.1", town.target.address().port()).await;
            assert_ne!(reply, 0, "the stream is opened");
            assert!(proxy.metrics().circuits_failed > metrics.circuits_failed, "nobody is asked again");
        }
    }
}

fn upgrading(upgrade: ExitUpgrade) -> impl FnOnce(&mut ProxyConfig) {
    move |config| (config.upgrade, config.handshake, config.hops) = (upgrade, HandshakeType::NtorV3, 2)
}

/// Runs curl, if there is one; what it fetched.
async fn curl(arguments: &[&str]) -> Option<Result<Vec<u8>, String>> {
    let output =
        match Command::new("curl").args(["--silent", "--show-error", "--noproxy", ""]).args(arguments).output().await {
            Ok(output) => output,
            Err(error) => {
                eprintln!("skipped: curl does not start: {error}");
                return None;
            }
        };
    Some(match output.status.success() {
        true => Ok(output.stdout),
        false => Err(String::from_utf8_lossy(&output.stderr).into_owned()),
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn curl_fetches_through_three_relays() {
    let town = Town::new().await;
    let proxy = proxy(&town, |_| {}).await;
    let at = proxy.addresses()[0].to_string();
    let url = format!("http://localhost:{}/bytes/200000", town.target.address().port());
    let wanted: Vec<u8> = Target::bytes(200_000).flatten().collect();
    for arguments in [
        &["--socks5-hostname", &at, &url][..],
        &["--socks5-hostname", &at, "--proxy-user", "ada:pw", &url],
        &["--socks4a", &at, &url],
        &["--proxytunnel", "-x", &at, &url],
        &["--proxytunnel", "-x", &at, "--proxy-user", "ada:pw", &url],
    ] {
        let Some(fetched) = curl(arguments).await else { return };
        assert!(fetched.unwrap() == wanted, "{arguments:?}");
    }
    let Some(refused) = curl(&["--socks5-hostname", &at, "http://abc.onion/"]).await else { return };
    assert!(refused.unwrap_err().contains("(2)"), "not allowed by the rules");
    let built = proxy.metrics().circuits_built;
    assert_eq!(built, 3, "without credentials, with those of SOCKS, with those of HTTP");
}

/// Asks SOCKS 5 for an address or a name: the whole reply.
async fn look_up(at: SocketAddr, command: u8, kind: u8, host: &[u8]) -> Vec<u8> {
    let mut tcp = TcpStream::connect(at).await.unwrap();
    tcp.write_all(&[&[5, 1, 0, 5, command, 0, kind], host, &[0, 0]].concat()).await.unwrap();
    let mut answers = Vec::new();
    tcp.read_to_end(&mut answers).await.unwrap();
    assert_eq!(answers[..2], [5, 0]);
    answers.split_off(2)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn names_and_addresses_are_looked_up_by_the_exit() {
    const RESOLVE: u8 = 0xf0;
    const RESOLVE_PTR: u8 = 0xf1;
    let town = Town::new().await;
    let port = town.target.address().port();
    let proxy = proxy(&town, |config| config.expected = vec![port]).await;
    let at = proxy.addresses()[0];
    let localhost = [&[9][..], b"localhost"].concat();
    // The exit's policy leads to 127.0.0.1, so that is all that it tells of.
    assert_eq!(look_up(at, RESOLVE, 3, &localhost).await, [5, 0, 0, 1, 127, 0, 0, 1, 0, 0]);
    assert_eq!(look_up(at, RESOLVE, 1, &[127, 0, 0, 1]).await, [5, 0, 0, 1, 127, 0, 0, 1, 0, 0], "stands for itself");
    let named = look_up(at, RESOLVE_PTR, 1, &[127, 0, 0, 1]).await;
    assert_eq!((&named[..4], usize::from(named[4])), (&[5, 0, 0, 3][..], named.len() - 7));
    assert!(named.len() > 7, "a name of this machine");
    let nobody = [&[14][..], b"nobody.invalid"].concat();
    assert_ne!(look_up(at, RESOLVE, 3, &nobody).await[1], 0);
    let onion = [&[9][..], b"abc.onion"].concat();
    assert_eq!(look_up(at, RESOLVE, 3, &onion).await[1], 2, "out of scope");
    // No exit leads there: none is asked, and nothing is told.
    assert_eq!(look_up(at, RESOLVE_PTR, 1, &[192, 0, 2, 1]).await[1], 3);
    // The questions have given their places back, and streams go on.
    until(|| (0..3).all(|relay| town.relay(relay).held().streams == 0)).await;
    serves(&town, at, None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exit_tells_only_where_its_clients_may_go() {
    let town = Town::new().await;
    let client = town::client();
    let circuit = town.circuit(&client).await;
    assert_eq!(circuit.addresses("localhost").await.unwrap(), [IpAddr::from([127, 0, 0, 1])]);
    assert!(!circuit.name([127, 0, 0, 1].into()).await.unwrap().is_empty());
    let refused = |error: Error| matches!(error, Error::Stream { reason: EndReason::RESOLVEFAILED, .. });
    assert!(refused(circuit.name([10, 0, 0, 1].into()).await.unwrap_err()));
    // A relay that is no exit tells nothing, and one whose policy leads elsewhere nothing of this address.
    for policy in ["", "192.0.2.7:80"] {
        let closed = Town::with(|config| config.policy = Policy::parse(policy).unwrap()).await;
        let circuit = closed.circuit(&client).await;
        assert!(refused(circuit.addresses("localhost").await.unwrap_err()), "{policy}");
        assert!(refused(circuit.name([127, 0, 0, 1].into()).await.unwrap_err()), "{policy}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn outside_a_test_network_a_name_never_stands_for_a_private_address() {
    let town = Town::new().await;
    let port = town.target.address().port();
    // One relay, since three of them share a network here.
    let proxy =
        proxy(&town, |config| (config.test_network, config.hops, config.expected) = (false, 1, vec![port])).await;
    let localhost = [&[9][..], b"localhost"].concat();
    assert_eq!(look_up(proxy.addresses()[0], 0xf0, 3, &localhost).await[1], 2, "the exit's answer is not passed on");
    serves(&town, proxy.addresses()[0], None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_share_a_circuit_only_with_their_like() {
    let town = Town::new().await;
    let proxy = proxy(&town, |config| config.listen.push(local())).await;
    let (at, port) = (proxy.addresses()[0], town.target.address().port());
    let mut kept = Vec::new();
    let mut built = 0;
    let mut next = async |tcp: TcpStream, login: Option<(&'static str, &'static str)>, is_new: bool| {
        let (tcp, reply) = ask_over(tcp, login, "127.0.0.1", port).await;
        assert_eq!(reply, 0);
        kept.push(tcp);
        built += usize::from(is_new);
        assert_eq!(proxy.metrics().circuits, built as u64, "{login:?}");
        let handshakes = [0, 1, 2].map(|index| town.relay(index).counts().handshakes);
        assert_eq!(handshakes, [built as u64; 3], "every path goes through all three");
    };
    let open = || TcpStream::connect(at);
    for (login, is_new) in [
        (None, true),
        (None, false),
        (Some(("ada", "1")), true),
        (Some(("ada", "1")), false),
        (Some(("ada", "2")), true),
        (Some(("bob", "1")), true),
        (Some(("ada1", "")), true),
        (None, false),
    ] {
        next(open().await.unwrap(), login, is_new).await;
    }
    let other_listener = TcpStream::connect(proxy.addresses()[1]).await.unwrap();
    next(other_listener, None, true).await;
    for is_new in [true, false] {
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(([127, 0, 0, 9], 0).into()).unwrap();
        next(socket.connect(at).await.unwrap(), None, is_new).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn circuits_are_built_ahead_used_for_their_time_and_then_left() {
    let town = Town::new().await;
    let port = town.target.address().port();
    let proxy = proxy(&town, |config| {
        config.expected = vec![port];
        config.spare = 2;
        config.reuse = Duration::from_millis(300);
    })
    .await;
    let at = proxy.addresses()[0];
    until(|| proxy.metrics().circuits == 2).await;
    let (first, reply) = ask(at, None, "127.0.0.1", port).await;
    assert_eq!(reply, 0);
    // The one that was taken is made up for.
    until(|| proxy.metrics().circuits == 3).await;
    // After its time it takes no new stream, and goes on with the one that it has.
    tokio::time::sleep(Duration::from_millis(400)).await;
    let (second, reply) = ask(at, None, "127.0.0.1", port).await;
    assert_eq!(reply, 0);
    until(|| proxy.metrics().circuits == 4).await;
    assert_eq!(page(first, 1000).await.unwrap(), Target::bytes(1000).flatten().collect::<Vec<u8>>());
    drop(second);
    until(|| proxy.metrics().circuits == 2).await;
    assert_eq!(proxy.metrics().circuits_failed, 0);
}

/// A name that no resolver knows (RFC 6761).
const NOWHERE: &str = "name-of-nobody.invalid";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_failure_has_its_reply_and_names_the_hop() {
    let closed = TcpListener::bind(local()).await.unwrap().local_addr().unwrap().port();
    let town = Town::with(|config| {
        let policy = format!("{} 127.0.0.1:{closed} {NOWHERE}:80", config.policy);
        config.policy = Policy::parse(&policy).unwrap();
    })
    .await;
    let heard: Arc<Mutex<Vec<ProxyEvent>>> = Arc::default();
    let told = Arc::clone(&heard);
    let proxy =
        proxy(&town, |config| config.log = Arc::new(move |event| told.lock().unwrap().push(event.clone()))).await;
    let at = proxy.addresses()[0];
    serves(&town, at, None).await;
    for (host, port, reply, status, cause) in [
        ("abc.onion", 80, Reply::NotAllowed, 403, "onion services"),
        ("127.0.0.1", closed, Reply::ConnectionRefused, 502, "hop 3: host refused the connection (relay "),
        ("127.0.0.1", 9, Reply::NetworkUnreachable, 502, "is an exit to that host and port 9"),
        // The exit's policy permits the name, and only the exit looks it up: it is hop 3 that does not find it.
        (NOWHERE, 80, Reply::HostUnreachable, 502, "hop 3: host name not found (relay "),
    ] {
        assert_eq!(ask(at, None, host, port).await.1, reply as u8, "{host}:{port}");
        let answer = http(at, &format!("CONNECT {host}:{port} HTTP/1.1\r\nHost: x\r\n\r\n")).await;
        assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")) && answer.contains(cause), "{answer}");
        assert_eq!(proxy.metrics().replied(reply), 2, "{host}:{port}");
    }
    serves(&town, at, None).await;
    let log: Vec<String> = heard.lock().unwrap().iter().map(ToString::to_string).collect();
    assert_eq!(log.len(), 8, "{log:?}");
    let names_a_target =
        |line: &String| line.contains(NOWHERE) || line.contains(&closed.to_string()) || line.contains("abc.");
    assert!(!log.iter().any(names_a_target), "the log names no target: {log:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn another_exit_is_tried_when_one_refuses() {
    // The entries say that all three are exits; only one is.
    let mut town = Town::with(|config| {
        if config.name.as_deref() != Some("bob") {
            config.policy = Policy::parse("192.0.2.1:1").unwrap();
        }
    })
    .await;
    let permitted = Policy::parse(&format!("127.0.0.1:{}", town.target.address().port())).unwrap();
    town.relist(|relay| relay.with_exit(&permitted));
    // The guard is not the only one that is an exit.
    let proxy = proxy(&town, |config| config.entries = vec!["ada".to_owned()]).await;
    let logins: Vec<String> = (0..8).map(|number| number.to_string()).collect();
    for login in &logins {
        serves(&town, proxy.addresses()[0], Some((login, ""))).await;
    }
    let metrics = proxy.metrics();
    assert!(metrics.retries > 0 && metrics.replied(Reply::Succeeded) == 8, "{metrics:?}");
}

/// Relays at ports where nobody listens, which say that they carry everything to everywhere. The sockets keep the ports.
fn not_there(sockets: &[TcpSocket]) -> Vec<ListedRelay> {
    let relay = |socket: &TcpSocket| {
        let closed = socket.local_addr().unwrap();
        let keys = RelayKeys::generate().unwrap();
        let listed = keys.listed(None, closed, &[HandshakeType::Hybrid768]).unwrap();
        listed.with_exit(&Policy::parse("127.0.0.0/8:*").unwrap()).with_bandwidth(u32::MAX)
    };
    sockets.iter().map(relay).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn relays_that_are_not_there_stop_no_new_client() {
    let folder = tempfile::tempdir().unwrap();
    let town = Town::new().await;
    let state = folder.path().join("guards.json");
    let relays = || list_of(&town).into_relays();
    let sockets = [(); 3].map(|()| TcpSocket::new_v4().unwrap());
    sockets.iter().for_each(|socket| socket.bind(local()).unwrap());
    let start = async |dead: &[TcpSocket]| {
        let proxy = proxy(&town, |config| config.state = Some(state.clone())).await;
        proxy.know(RelayList::of(relays().into_iter().chain(not_there(dead)).collect()));
        proxy
    };
    // As many as there are others. The first stream finds some of them out, and the next ones go where somebody is.
    let proxy = start(&sockets).await;
    let at = proxy.addresses()[0];
    let logins: Vec<String> = (0..12).map(|number| number.to_string()).collect();
    for login in &logins {
        serves(&town, at, Some((login, ""))).await;
    }
    let failed = proxy.metrics().circuits_failed;
    for login in &logins {
        serves(&town, at, Some((login, "again"))).await;
    }
    let again = proxy.metrics().circuits_failed;
    assert!(again <= 9 && again == failed, "{failed} circuits failed, then {again}"); // a few are tried at a time
    // Its guard is one that is there.
    until(|| std::fs::read_to_string(&state).is_ok_and(|text| text.contains("\"reached\": true"))).await;
    let text = std::fs::read_to_string(&state).unwrap();
    let document: serde_json::Value = serde_json::from_str(&text).unwrap();
    let reached = document["guards"].as_array().unwrap().iter().filter(|guard| guard["reached"] == true);
    let reached: Vec<_> = reached.map(|guard| guard["identity"].as_str().unwrap().to_owned()).collect();
    assert!(reached.len() == 1 && relays().iter().any(|relay| relay.is_called(&reached[0])), "{text}");
    // The twin: without them, nothing fails.
    std::fs::remove_file(&state).unwrap();
    let twin = start(&[]).await;
    for login in &logins {
        serves(&town, twin.addresses()[0], Some((login, ""))).await;
    }
    assert_eq!(twin.metrics().circuits_failed, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_that_answers_links_and_carries_no_circuits_is_passed_over() {
    let folder = tempfile::tempdir().unwrap();
    let state = folder.path().join("guards.json");
    for extends in [false, true] {
        // Ada takes links. She refuses circuits, or goes on from there to nobody.
        let town = Town::with(|config| {
            if config.name.as_deref() == Some("ada") {
                let limits = &mut config.limits;
                *(if extends { &mut limits.attempts } else { &mut limits.circuits }) = 0;
            }
        })
        .await;
        let digits: String = town.listed(0).identity().iter().map(|byte| format!("{byte:02x}")).collect();
        for reached in [true, false] {
            let now = candor_network::Clock::default().now();
            let entry = format!(r#"{{"identity":"{digits}","drawn":{now},"last_listed":{now},"reached":{reached}}}"#);
            std::fs::write(&state, format!(r#"{{"guards":[{entry}]}}"#)).unwrap();
            let proxy = proxy(&town, |config| (config.state, config.hops) = (Some(state.clone()), 2)).await;
            let (at, port) = (proxy.addresses()[0], town.target.address().port());
            let reply = ask(at, None, "127.0.0.1", port).await.1;
            assert_eq!(reply, 0, "{extends} {reached}");
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_page_that_breaks_off_is_no_whole_page_and_is_not_begun_again() {
    let mut town = Town::new().await;
    let proxy = proxy(&town, |_| {}).await;
    let (mut tcp, reply) = ask(proxy.addresses()[0], None, "127.0.0.1", town.target.address().port()).await;
    assert_eq!(reply, 0);
    tcp.write_all(b"GET /bytes/500000000 HTTP/1.0\r\n\r\n").await.unwrap();
    tcp.read_exact(&mut vec![0; 100_000]).await.unwrap();
    town.relays[1] = None;
    let ended = tokio::time::timeout(Duration::from_secs(60), town::drain(tcp)).await.expect("it ends in time");
    assert!(ended.is_err(), "a reset, and not the end of a page: {ended:?}");
    assert_eq!(proxy.metrics().retries, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_guard_is_the_same_for_every_circuit_and_after_a_restart() {
    let folder = tempfile::tempdir().unwrap();
    let town = Town::new().await;
    let state = folder.path().join("guards.json");
    let mut firsts = HashSet::new();
    for _ in 0..3 {
        let proxy = proxy(&town, |config| config.state = Some(state.clone())).await;
        for login in ["a", "b", "c"] {
            serves(&town, proxy.addresses()[0], Some((login, ""))).await;
        }
        // The guard has the client's link; the others have links with each other.
        let text = std::fs::read_to_string(&state).unwrap();
        let document: serde_json::Value = serde_json::from_str(&text).unwrap();
        assert_eq!(document["guards"].as_array().unwrap().len(), 1);
        firsts.insert(document["guards"][0]["identity"].as_str().unwrap().to_owned());
    }
    assert_eq!(firsts.len(), 1);
    // A folder in the way of the partial file: the guards can't be kept, and everything else goes on.
    let lost = folder.path().join("lost");
    std::fs::create_dir(folder.path().join("lost.partial")).unwrap();
    let heard: Arc<Mutex<Vec<String>>> = Arc::default();
    let told = Arc::clone(&heard);
    let proxy = proxy(&town, |config| {
        config.state = Some(lost.clone());
        config.log = Arc::new(move |event| told.lock().unwrap().push(event.to_string()));
    })
    .await;
    serves(&town, proxy.addresses()[0], None).await;
    let said = heard.lock().unwrap().join("\n");
    assert!(said.contains("can't keep the guards") && !lost.exists(), "{said}");
}

/// Clients of the crowd.
const CROWD: usize = 100;

/// A load driver: 100 clients against three relays, all in this process, each with pages of 1 kB to 1 MB one after the other, over fresh
/// connections, with ten credentials among them. Prints failures, and the process's memory after a fifth of the time and at the end.
///
/// ```text
/// CANDOR_CROWD_SECONDS=180 cargo test --release -p candor-network --test proxied -- --ignored --exact crowd --nocapture
/// ```
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a load driver; its comment says how to run it"]
async fn crowd() {
    let seconds = std::env::var("CANDOR_CROWD_SECONDS").map_or(180, |text| text.parse().expect("a number of seconds"));
    let town = Arc::new(Town::new().await);
    let port = town.target.address().port();
    let proxy = proxy(&town, |config| {
        config.expected = vec![port];
        config.spare = 2;
        config.reuse = Duration::from_secs(30);
    })
    .await;
    let at = proxy.addresses()[0];
    let end = std::time::Instant::now() + Duration::from_secs(seconds);
    let mut clients = tokio::task::JoinSet::new();
    for number in 0..CROWD {
        clients.spawn(async move {
            let (mut pages, mut failures, login) = (0u64, Vec::new(), format!("client {}", number % 10));
            while std::time::Instant::now() < end {
                let length = [1_000, 30_000, 1_000_000][(pages as usize + number) % 3];
                let (tcp, reply) = ask(at, Some((&login, "")), "127.0.0.1", port).await;
                match page(tcp, length).await {
                    Ok(page) if page.len() as u64 == length => pages += 1,
                    other => failures.push(format!("reply {reply}: {:?}", other.map(|page| page.len()))),
                }
            }
            (pages, failures)
        });
    }
    tokio::time::sleep(Duration::from_secs(seconds / 5)).await;
    let warm = memory();
    let (mut pages, mut failures) = (0, Vec::new());
    tokio::time::sleep_until((end - Duration::from_secs(1)).into()).await;
    let last = memory();
    while let Some(done) = clients.join_next().await {
        let (more, failed) = done.unwrap();
        pages += more;
        failures.extend(failed);
    }
    println!("{CROWD} clients, {seconds} s: {pages} pages, {} failures", failures.len());
    failures.iter().take(20).for_each(|failure| println!("  {failure}"));
    let change = 100.0 * (last as f64 / warm as f64 - 1.0);
    println!("memory: {} MB after a fifth of the time, {} MB at the end: {change:+.1} %", warm >> 20, last >> 20);
    println!("{:#?}", proxy.metrics());
    assert!(failures.is_empty());
}

/// The process's resident memory in bytes.
fn memory() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with("VmRSS:")).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() << 10
}
