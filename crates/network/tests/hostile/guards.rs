//! What makes a guard look dead and is not the guard: a line that is cut, an exit that stalls or floods, a middle relay that fails. A client that drew another
//! guard for that would let whoever brings it about have it draw again and again.

use crate::proxy::Proxy as Line;
use crate::town::proxied::{self, ask, list_of, page, serves};
use crate::town::{Town, fetch, local};
use candor_network::{
    Client, ClientOptions, Error, HandshakeType, ListedRelay, Policy, Proxy, ProxyConfig, Relay, RelayConfig,
    RelayKeys, RelayList,
};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;

const SOON: Duration = Duration::from_secs(1);

async fn exit_is_cyd() -> Town {
    Town::with(|config| {
        if config.name.as_deref() != Some("cyd") {
            config.policy = Policy::default();
        }
    })
    .await
}

/// A town whose relay of that number is reached over a line.
async fn behind_line(town: &mut Town, number: usize) -> Line {
    let line = Line::start([127, 0, 0, 1], town.listed(number).address()).await;
    let (identity, at) = (*town.listed(number).identity(), line.address);
    town.relist(|relay| if *relay.identity() == identity { moved(&relay, at) } else { relay });
    line
}

fn moved(relay: &ListedRelay, at: SocketAddr) -> ListedRelay {
    let mut line: serde_json::Value = serde_json::from_str(&relay.to_line()).unwrap();
    line["address"] = at.to_string().into();
    RelayList::parse(&line.to_string()).unwrap().into_relays().remove(0)
}

/// The file of a client's guards, of which ada has been reached.
struct Guarded(TempDir);

impl Guarded {
    fn by_ada(town: &Town) -> Self {
        let guarded = Self(tempfile::tempdir().unwrap());
        let digits: String = town.listed(0).identity().iter().map(|byte| format!("{byte:02x}")).collect();
        let now = candor_network::Clock::default().now();
        let entry = format!(r#"{{"identity":"{digits}","drawn":{now},"last_listed":{now}}}"#);
        std::fs::write(guarded.path(), format!(r#"{{"guards":[{entry}]}}"#)).unwrap();
        guarded
    }

    fn path(&self) -> PathBuf {
        Path::new(self.0.path()).join("guards.json")
    }

    /// How many are in the file: a client that passes ada over draws another.
    fn count(&self) -> usize {
        let text = std::fs::read_to_string(self.path()).unwrap();
        serde_json::from_str::<serde_json::Value>(&text).unwrap()["guards"].as_array().unwrap().len()
    }

    async fn proxy(&self, town: &Town, hops: usize, change: impl FnOnce(&mut ProxyConfig)) -> Proxy {
        proxied::proxy(town, |config| {
            (config.state, config.hops) = (Some(self.path()), hops);
            // Its relays are asked for a sign of life after a third of the time that a stream has.
            (config.client.stream, config.client.link, config.client.limits.build) = (3 * SOON, SOON, SOON);
            change(config);
        })
        .await
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_line_that_is_cut_costs_a_guard_its_link_and_not_its_place() {
    // Cyd is the only exit: that the link is dead is no reason not to ask her again.
    let mut town = exit_is_cyd().await;
    let line = behind_line(&mut town, 0).await;
    let guarded = Guarded::by_ada(&town);
    let proxy = guarded.proxy(&town, 2, |_| {}).await;
    let at = proxy.addresses()[0];
    for round in 1..=2 {
        serves(&town, at, Some(("one", ""))).await;
        // A new circuit finds out, and in the second round a stream on the circuit that there is.
        line.cut();
        serves(&town, at, Some((if round == 2 { "one" } else { "two" }, ""))).await;
        assert!(proxy.metrics().retries >= round && line.connections() > round as usize, "a new link each time");
        assert_eq!(guarded.count(), 1, "nobody else is drawn");
    }
    // The twin: a guard that is not there over a new link either is passed over.
    line.stall();
    serves(&town, at, Some(("three", ""))).await;
    assert_eq!(guarded.count(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_middle_relay_that_fails_or_an_exit_that_stalls_costs_no_guard() {
    for stalled in [1, 2] {
        // Cyd is the only exit, until dora is there as another relay or another exit.
        let mut town = exit_is_cyd().await;
        let line = behind_line(&mut town, stalled).await;
        let port = town.target.address().port();
        let policy = if stalled == 2 { format!("127.0.0.1:{port}") } else { String::new() };
        let exit = Policy::parse(&policy).unwrap();
        let keys = RelayKeys::generate().unwrap();
        let dora =
            Relay::start(&keys, RelayConfig { policy: exit.clone(), ..RelayConfig::new(local()) }).await.unwrap();
        let with_dora = || {
            let dora = RelayList::parse(&dora.listed().to_line()).unwrap().into_relays();
            RelayList::of(list_of(&town).into_relays().into_iter().chain(dora).collect())
        };
        let guarded = Guarded::by_ada(&town);
        let proxy = guarded.proxy(&town, 3, |_| {}).await;
        let at = proxy.addresses()[0];
        serves(&town, at, None).await;
        proxy.know(with_dora());
        line.stall();
        serves(&town, at, None).await;
        assert!(
            proxy.metrics().retries >= 1 && town.relay(0).counts().handshakes >= 2,
            "another circuit, from ada too"
        );
        assert_eq!(guarded.count(), 1, "hop {}", stalled + 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exit_that_floods_the_guard_costs_it_circuits_and_not_its_place() {
    // Ada has room for a few cells towards the client, and ends circuits with more.
    let town = Town::with(|config| {
        if config.name.as_deref() == Some("ada") {
            config.limits.cells = 16;
        }
    })
    .await;
    let guarded = Guarded::by_ada(&town);
    let proxy = guarded.proxy(&town, 3, |config| config.client.stream = Duration::from_secs(10)).await;
    let (at, port) = (proxy.addresses()[0], town.target.address().port());
    // While the exit floods a circuit, streams are opened on it.
    let mut rounds = 0;
    while proxy.metrics().retries < 6 {
        let login = rounds.to_string();
        let login = Some((login.as_str(), ""));
        let (mut flooded, reply) = ask(at, login, "127.0.0.1", port).await;
        if reply == 0 {
            let floods = flooded.write_all(b"GET /bytes/1000000 HTTP/1.0\r\n\r\n");
            // On a busy machine the circuit may be over before another stream is asked for, and on an idle one that stream be open before the flood comes.
            if rounds % 2 == 0 {
                floods.await.unwrap();
                ask(at, login, "localhost", port).await;
            } else {
                let (sent, ..) =
                    tokio::join!(floods, ask(at, login, "localhost", port), ask(at, login, "localhost", port));
                sent.unwrap();
            }
        }
        rounds += 1;
        assert!(rounds < 500, "no stream was being opened when its circuit was ended");
    }
    assert_eq!(guarded.count(), 1, "nobody else is drawn");
    // The twin: one that asks for little is served by the same guard.
    let (tcp, reply) = ask(at, Some(("quiet", "")), "127.0.0.1", port).await;
    assert_eq!((reply, page(tcp, 100).await.unwrap().len(), guarded.count()), (0, 100, 1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_whose_answer_waits_behind_what_an_exit_sends_is_not_taken_for_dead() {
    let mut town = Town::new().await;
    let line = behind_line(&mut town, 0).await;
    let client = Client::new(ClientOptions::default()).unwrap();
    let quiet = town.circuit(&client).await;
    let flooded = [town.circuit(&client).await, town.circuit(&client).await, town.circuit(&client).await];
    assert!(quiet.silent_hop(SOON).await.is_none(), "all are well");
    // A slow line to the client, and an exit that sends more than it carries on other circuits.
    line.slow_down(SOON / 3);
    let port = town.target.address().port();
    let pages = flooded.each_ref().map(|circuit| fetch(circuit, port, 50_000_000));
    let flood = async {
        let [one, two, three] = pages;
        tokio::join!(one, two, three)
    };
    // Once they have filled it, the guard's answer is late, as are all; but what the exit sends comes through it. It is silent at no time.
    let question = async {
        let mut stuck = None;
        while !matches!(stuck, Some(Error::Late { .. })) {
            stuck = quiet.silent_hop(SOON).await;
            assert!(!matches!(stuck, Some(Error::Silent { hop: 1, .. })), "{stuck:?}");
        }
    };
    tokio::select! {
        _ = flood => panic!("50 MB don't come over that line in a quarter of an hour"),
        late = tokio::time::timeout(60 * SOON, question) => late.expect("they fill it"),
    }
    // The twin: over a line that is cut nothing comes, and the next circuit takes another.
    line.cut();
    // What was on its way comes through before that.
    let mut error = quiet.silent_hop(SOON).await.unwrap();
    while matches!(error, Error::Late { .. }) {
        error = quiet.silent_hop(SOON).await.unwrap();
    }
    assert!(matches!(error, Error::Silent { hop: 1, .. }), "{error}");
    assert_eq!(line.connections(), 1);
    client.first_hop(town.listed(0), HandshakeType::NtorV3).await.unwrap();
    assert_eq!(line.connections(), 2);
}
