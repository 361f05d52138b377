//! Cells that somebody on a circuit spoils, and errors of our own: which relays a stream is tried with next.

use super::*;
use candor_onion::cell::DestroyReason;
use candor_onion::circuit::{Cause, Failure};
use std::collections::HashSet;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn where_one_exit_leads_to_a_port_a_guard_that_garbles_loses_its_place_and_no_guard_for_an_exit_that_does() {
    for is_guards in [true, false] {
        let target = Target::start(local()).await.unwrap();
        let port = target.address().port();
        let there = format!("{HOST}:{port}");
        let [ada, bob, cyd, dora] = [relay("").await, relay("").await, relay("").await, relay(&there).await];
        let scripted = Scripted::start(Script::Garbles).await;
        let [ada, bob, cyd, dora] = [&ada, &bob, &cyd, &dora].map(Relay::listed);
        // So that it is no middle relay where Ada is the guard.
        let (garbles, ada) = (kin(&scripted.listed, &ada), kin(&ada, &scripted.listed));
        let (first, exit, relays) = if is_guards {
            let relays = list(&[&garbles, &ada, &bob, &cyd, &dora]);
            (garbles, dora, relays)
        } else {
            let exit = Arc::new(garbles.with_exit(&Policy::parse(&there).unwrap()));
            let relays = list(&[&ada, &bob, &cyd, &exit]);
            (list(&[&cyd]).into_relays().remove(0), exit, relays)
        };
        let began = instant();
        let (proxy, _folder) = proxy(relays, &[&first, &ada], |_| {}).await;
        let pool = &proxy.shared.pool;
        let is_behind = |relay: &ListedRelay| locked(&pool.guards).is_behind_since(relay.identity(), began, instant());
        for login in 0..5 {
            assert_eq!(comes(ask(&proxy, login, port).await).await, is_guards, "{login}");
            assert_eq!(is_behind(&first), is_guards && login >= 3, "{login}");
            // A second try over the first guard and one over another follow, until the fourth stream's first try puts it behind.
            let most = if is_guards { 7 } else { u64::MAX };
            assert_eq!(proxy.metrics().retries, most.min(2 * u64::from(login + 1)), "{login}");
        }
        assert!(!is_behind(&ada));
        assert_eq!(locked(&pool.guards).identities().count(), 2, "nobody is drawn for that");
        assert!(locked(&pool.absent).now(5, instant()).is_empty(), "nor is {} passed over", exit.label());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exit_that_garbles_leads_no_stream_to_another_guard() {
    let target = Target::start(local()).await.unwrap();
    let port = target.address().port();
    let there = format!("{HOST}:{port}");
    let relays = [relay("").await, relay("").await, relay("").await, relay(&there).await];
    let scripted = Scripted::start(Script::Garbles).await;
    let [ada, bob, cyd, dora] = relays.each_ref().map(Relay::listed);
    // Neither guard is a middle relay, nor one exit before the other.
    let garbles = kin(&scripted.listed, &dora).with_exit(&Policy::parse(&there).unwrap()).with_bandwidth(4000);
    let (ada, bob, dora) = (kin(&ada, &bob), kin(&bob, &ada), kin(&dora, &garbles));
    let (proxy, _folder) = proxy(list(&[&ada, &bob, &cyd, &garbles, &dora]), &[&ada, &bob], |_| {}).await;
    let mut login = 0;
    while proxy.metrics().retries == 0 {
        assert!(comes(ask(&proxy, login, port).await).await, "a page comes though its stream may have met that exit");
        login += 1;
    }
    assert_eq!((proxy.metrics().retries, relays[1].counts().handshakes), (1, 0));
}

/// What a stream meets: its first tries end with that, and the next does well. What comes of it, and the path of each.
async fn tries(proxy: &Proxy, login: u8, errors: Vec<Error>) -> (Result<(), Trouble>, Vec<Vec<[u8; 32]>>) {
    let pool = &proxy.shared.pool;
    let (errors, paths) = (Arc::new(Mutex::new(errors)), Arc::new(Mutex::new(Vec::new())));
    let work = |built: Arc<Built>| -> Working<()> {
        locked(&paths).push(built.relays().map(|relay| *relay.identity()).collect());
        let error = locked(&errors).pop();
        Box::pin(ready(error.map_or(Ok(()), Err)))
    };
    let done = pool.attempt(isolation(login), HOST, 443, String::new(), work).await;
    (done.map(|(_, mut trial)| trial.heard(true)), std::mem::take(&mut locked(&paths)))
}

/// The same for a stream of which something comes.
async fn paths(proxy: &Proxy, login: u8, errors: Vec<Error>) -> Vec<Vec<[u8; 32]>> {
    let (done, paths) = tries(proxy, login, errors).await;
    done.unwrap();
    paths
}

fn spoilt() -> Error {
    Error::Circuit { failure: Failure { hop: None, cause: Cause::Unrecognized }, relay: None }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_spoilt_cell_leads_no_stream_to_another_guard_and_no_exit_that_refuses_does() {
    let there = format!("{HOST}:443");
    let start = async || relay("").await;
    let relays = [start().await, start().await, start().await, start().await];
    let exits = [relay(&there).await, relay(&there).await];
    let [ada, bob, cyd, dora] = relays.each_ref().map(Relay::listed);
    let [eve, fay] = exits.each_ref().map(Relay::listed);
    // Only Cyd and Eve go with Ada. No guard or exit is a middle relay.
    let kin = |relay: &ListedRelay, others: &[&ListedRelay]| {
        list(&[relay]).into_relays().remove(0).with_family(others.iter().map(|other| *other.identity()).collect())
    };
    let all = [
        &kin(&ada, &[&bob, &dora, &fay]),
        &kin(&bob, &[&ada]),
        &cyd,
        &kin(&dora, &[&ada]),
        &kin(&eve, &[&fay]),
        &kin(&fay, &[&ada, &eve]),
    ];
    let (proxy, _folder) = proxy(list(&all), &[&ada, &bob], |_| {}).await;
    let pool = &proxy.shared.pool;
    let build = async || pool.build(Some(HOST), 443, &Passed::default(), None, pending()).await.unwrap();
    pool.keep(&build().await, Some(isolation(1)));
    // One over the second guard, by other relays, is there from when the first was down.
    locked(&pool.guards).failed(ada.identity(), instant());
    let elsewhere = [&bob, &dora, &fay].map(|relay| *relay.identity());
    while locked(&pool.state).circuits.len() < 2 {
        let built = build().await;
        if built.relays().map(ListedRelay::identity).eq(&elsewhere) {
            pool.keep(&built, None);
        }
    }
    locked(&pool.guards).reached(ada.identity());
    let path = [&ada, &cyd, &eve].map(|relay| *relay.identity());
    assert_eq!(paths(&proxy, 1, vec![spoilt()]).await, [path, path], "the same again, rather than another guard");
    // So it is where a middle relay ends the circuit.
    let ends = || {
        let failure = Failure { hop: Some(2), cause: Cause::Destroyed(DestroyReason::RESOURCELIMIT) };
        Error::Circuit { failure, relay: None }
    };
    assert_eq!(paths(&proxy, 1, vec![ends(), ends()]).await, [path, path, path]);
    // So do an exit that refuses and a target that hangs, but then there is nobody else to ask.
    let refused = || {
        let (relay, target) = (String::new(), String::new());
        Error::Stream { relay, hop: 3, target, reason: candor_onion::relay::message::EndReason::RESOURCELIMIT }
    };
    let hangs = || Error::Timeout { what: String::new(), after: Duration::ZERO };
    for error in [refused(), hangs()] {
        let said = error.to_string();
        let (done, tried) = tries(&proxy, 1, vec![error]).await;
        assert!(matches!(done, Err(Trouble::Network(error)) if error.to_string() == said));
        assert_eq!(tried, [path], "{said}");
    }
    // The twins: a stream that has met no such cell takes what is there, and a second try that fares no better leads to another guard.
    assert_eq!(paths(&proxy, 2, Vec::new()).await, [elsewhere]);
    let gone = locked(&pool.state).remove(|_| true);
    drop(gone);
    let tries = paths(&proxy, 3, vec![spoilt(), spoilt()]).await;
    assert_eq!(tries.iter().map(|path| path[0]).collect::<Vec<_>>(), [&ada, &ada, &bob].map(|relay| *relay.identity()));
    // Nor does a middle relay keep a stream from another guard when the first is gone.
    let down = |built: Arc<Built>| -> Working<[u8; 32]> {
        let guard = *built.guard().identity();
        locked(&pool.guards).failed(&guard, instant());
        Box::pin(ready(if guard == *ada.identity() { Err(ends()) } else { Ok(guard) }))
    };
    let (guard, _trial) = pool.attempt(isolation(4), HOST, 443, String::new(), down).await.unwrap();
    assert_eq!(guard, *bob.identity());
    assert_eq!(locked(&pool.guards).identities().count(), 2, "nobody is drawn for that");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_circuit_that_is_there_over_a_doubted_guard_is_not_taken() {
    let there = format!("{HOST}:443");
    let relays = [relay("").await, relay("").await, relay("").await, relay(&there).await];
    let [ada, bob, cyd, dora] = relays.each_ref().map(Relay::listed);
    let (proxy, _folder) = proxy(list(&[&ada, &bob, &cyd, &dora]), &[&ada, &bob], |_| {}).await;
    let pool = &proxy.shared.pool;
    let ahead = pool.build(Some(HOST), 443, &Passed::default(), None, pending()).await.unwrap();
    pool.keep(&ahead, None);
    let mut passed = Passed::default();
    passed.guards.push(*ada.identity());
    let found = pool.circuit(isolation(1), HOST, 443, &passed).await.unwrap();
    assert_eq!((ahead.guard().identity(), found.guard().identity()), (ada.identity(), bob.identity()));
    // The twin: it is there for a stream that has no doubts.
    let found = pool.circuit(isolation(2), HOST, 443, &Passed::default()).await.unwrap();
    assert_eq!(found.number, ahead.number);
    // Nor is one by way of the middle relay that has just ended another, and the guard's end of one says nothing of that.
    for (hop, passes) in [(1, false), (2, true)] {
        let failure = Failure { hop: Some(hop), cause: Cause::Destroyed(DestroyReason::RESOURCELIMIT) };
        let mut passed = Passed::default();
        passed.learn(&ahead, &Error::Circuit { failure, relay: None });
        assert_eq!(passed.passes(&ahead), passes, "hop {hop}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stream_whose_cell_was_spoilt_is_tried_by_other_relays_behind_the_same_guard() {
    let there = format!("{HOST}:443");
    let relays = [relay("").await, relay("").await, relay("").await, relay(&there).await, relay(&there).await];
    let [ada, bob, cyd, dora, eve] = relays.each_ref().map(Relay::listed);
    // Neither exit is a middle relay.
    let (dora, eve) = (kin(&dora, &eve), kin(&eve, &dora));
    let (proxy, _folder) = proxy(list(&[&ada, &bob, &cyd, &dora, &eve]), &[&ada], |_| {}).await;
    for login in 0..8 {
        let tries = paths(&proxy, login, vec![spoilt()]).await;
        assert_eq!(tries.len(), 2);
        assert!(tries.iter().all(|path| path[0] == *ada.identity()));
        let relays: HashSet<_> = tries.iter().flatten().collect();
        assert_eq!(relays.len(), 5, "no relay behind the guard is on both");
    }
    assert_eq!(locked(&proxy.shared.pool.guards).identities().count(), 1, "nobody is drawn for that");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_this_end_can_not_send_costs_no_circuit_and_no_relay() {
    let (ada, bob, cyd) = (relay("").await, relay("").await, relay("*:443, 127.0.0.1:443").await);
    let [ada, bob, cyd] = [&ada, &bob, &cyd].map(Relay::listed);
    let (proxy, _folder) = proxy(list(&[&ada, &bob, &cyd]), &[&ada], |_| {}).await;
    let (pool, began) = (&proxy.shared.pool, instant());
    let number = async || {
        let work = |built: Arc<Built>| -> Working<u64> { Box::pin(ready(Ok(built.number))) };
        let (number, mut trial) = pool.attempt(isolation(1), HOST, 443, String::new(), work).await.unwrap();
        trial.heard(true);
        number
    };
    let first = number().await;
    for _ in 0..8 {
        // No cell carries such a name.
        let refused = pool.open(isolation(1), "caf\u{e9}.example", 443).await.map(drop);
        assert!(matches!(refused, Err(Trouble::Network(Error::Internal(_)))), "{refused:?}");
    }
    assert_eq!((number().await, proxy.metrics().retries), (first, 0), "the circuit is still there");
    assert!(!locked(&pool.guards).is_behind_since(ada.identity(), began, instant()));
    assert!(locked(&pool.absent).now(3, instant()).is_empty());
    // The twin: what a relay has brought about costs the circuit.
    assert_eq!(paths(&proxy, 1, vec![spoilt()]).await.len(), 2);
    assert_ne!(number().await, first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_circuit_with_all_the_streams_that_it_may_have_goes_on_and_another_takes_the_next() {
    let deaf = TcpListener::bind(local()).await.unwrap();
    let port = deaf.local_addr().unwrap().port();
    let relays = [relay("").await, relay("").await, relay(&format!("{HOST}:{port}")).await];
    let [ada, bob, cyd] = relays.each_ref().map(Relay::listed);
    let (proxy, _folder) = proxy(list(&[&ada, &bob, &cyd]), &[&ada], |config| config.client.limits.streams = 2).await;
    let pool = &proxy.shared.pool;
    let mut open = Vec::new();
    for (built, retries) in [(1, 0), (1, 0), (2, 1), (2, 2)] {
        open.push(pool.open(isolation(1), HOST, port).await.unwrap());
        assert_eq!((proxy.metrics().circuits_built, proxy.metrics().retries), (built, retries));
    }
    // Its last hop can't be asked, and is not taken for silent.
    for (_, trial) in &open {
        let stuck = trial.built.circuit.silent_hop(Duration::from_millis(500)).await;
        assert!(stuck.is_none(), "{stuck:?}");
    }
    assert_eq!(locked(&pool.state).circuits.len(), 2);
    let (stream, mut trial) = open.swap_remove(0);
    trial.heard(true);
    drop(stream);
    open.push(pool.open(isolation(1), HOST, port).await.unwrap());
    assert_eq!(proxy.metrics().circuits_built, 2, "where one has ended there is room");
}
