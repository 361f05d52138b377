//! Guards and middle relays that make circuits as they should, and carry nothing.

use super::*;
use crate::client::scripted::{Script, Scripted};
use crate::paths::GuardRules;
use crate::{Policy, Relay, RelayConfig, RelayKeys, Target};
use std::net::SocketAddr;

const HOST: &str = "127.0.0.1";

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

/// With these guards, which were reached, in that order.
fn pool(relays: RelayList, guards: &[&ListedRelay], stream: Duration) -> Arc<Pool> {
    let now = Clock::default().now();
    let entry = |relay: &&ListedRelay| {
        let identity = base16ct::lower::encode_string(relay.identity());
        format!(r#"{{"identity":"{identity}","drawn":{now},"last_listed":{now}}}"#)
    };
    let entries: Vec<_> = guards.iter().map(entry).collect();
    let text = format!(r#"{{"guards":[{}]}}"#, entries.join(","));
    let guards = Guards::parse(&text, GuardRules::default()).unwrap();
    let mut config = ProxyConfig::new(Vec::new());
    (config.test_network, config.hops, config.handshake) = (true, 3, HandshakeType::NtorV3);
    config.client.stream = stream;
    let client = Client::new(config.client.clone()).unwrap();
    let journal = Arc::new(Journal::new(Arc::new(|_| {})));
    Pool::new(client, &config, guards, relays, Arc::default(), journal)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_guard_that_builds_circuits_and_carries_no_stream_comes_behind_another() {
    let target = Target::start(local()).await.unwrap();
    let port = target.address().port();
    let [ada, bob] = [relay("").await, relay("").await];
    let cyd = relay(&format!("{HOST}:{port}")).await;
    for script in [Script::Destroys, Script::Garbles, Script::Pads, Script::Honest] {
        let first = Scripted::start(script).await;
        // So that it is no middle relay where Ada is the guard.
        let family = |relay: &ListedRelay, of: &ListedRelay| {
            list(&[relay]).into_relays().remove(0).with_family(vec![*of.identity()])
        };
        let (one, other) = (family(&first.listed, &ada.listed()), family(&ada.listed(), &first.listed));
        let relays = list(&[&one, &other, &bob.listed(), &cyd.listed()]);
        let stream = if script == Script::Pads { Duration::from_millis(250) } else { Duration::from_secs(10) };
        let pool = pool(relays, &[&one, &other], stream);
        let mut failed = 0;
        for number in 0..4 {
            match pool.open(Isolation([number; 32]), HOST, port).await {
                Ok((_, built)) => {
                    let guard = built.relays().next().unwrap().identity();
                    let wanted = if script == Script::Honest { &one } else { &other };
                    assert_eq!(guard, wanted.identity(), "{script:?}");
                }
                Err(_) => failed += 1,
            }
        }
        // Three tries fail with the first stream, and one with the second, which another guard then carries.
        assert_eq!(failed, usize::from(script != Script::Honest), "{script:?}");
        assert_eq!(locked(&pool.guards).identities().count(), 2, "nobody is drawn for that");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn circuits_built_ahead_through_a_relay_that_falls_silent_are_not_tried() {
    let target = Target::start(local()).await.unwrap();
    let port = target.address().port();
    let (ada, bob) = (relay("").await, relay("").await);
    let cyd = relay(&format!("{HOST}:{port}")).await;
    let silent = Scripted::start(Script::Pads).await;
    let [ada, bob, cyd] = [&ada, &bob, &cyd].map(Relay::listed);
    let pool = pool(list(&[&ada, &silent.listed, &cyd]), &[&ada], Duration::from_millis(500));
    for _ in 0..TRIES {
        pool.keep(&pool.build(Some(HOST), port, &[]).await.unwrap(), None);
    }
    // The twin: one through another relay stays, and is used.
    pool.know(list(&[&ada, &bob, &cyd]));
    let twin = pool.build(Some(HOST), port, &[]).await.unwrap();
    pool.keep(&twin, None);
    let (_, built) = pool.open(Isolation([1; 32]), HOST, port).await.unwrap();
    assert_eq!(built.number, twin.number);
    assert_eq!(locked(&pool.state).circuits.len(), 1);
}
