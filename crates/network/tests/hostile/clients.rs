//! Clients that would use up a proxy.

use crate::town::proxied::{ask, connect, proxy, serves, until};
use crate::town::{Town, drain};
use candor_network::proxy::socks::Reply;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

const DEADLINE: Duration = Duration::from_secs(60);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_connections_that_say_nothing_take_a_bounded_number_of_places() {
    let town = Town::new().await;
    let proxy = proxy(&town, |config| {
        config.connections_per_address = 200;
        config.greeting = Duration::from_secs(600);
    })
    .await;
    let at = proxy.addresses()[0];
    let mut idle = Vec::new();
    for count in 1..=10_000 {
        let mut tcp = TcpStream::connect(at).await.unwrap();
        // Every other one begins to speak.
        if count % 2 == 0 {
            let _ = tcp.write_all(&[5]).await;
        }
        idle.push(tcp);
        // The first ones have been closed; the test keeps no more open than a system allows.
        if idle.len() > 1000 {
            idle.drain(..500);
        }
        if count % 2500 == 0 {
            serves(&town, at, None).await;
        }
    }
    until(|| proxy.metrics().displaced + proxy.metrics().connections >= 10_000).await;
    let metrics = proxy.metrics();
    assert!(metrics.connections <= 200 && metrics.turned_away == 0, "{metrics:?}");
    serves(&town, at, None).await;
    drop(idle);
    until(|| proxy.metrics().connections == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_does_not_say_what_it_wants_is_cut_off() {
    let town = Town::new().await;
    let proxy = proxy(&town, |config| config.greeting = Duration::from_millis(300)).await;
    let at = proxy.addresses()[0];
    let port = town.target.address().port();
    let whole = connect(Some(("ada", "pw")), "127.0.0.1", port);
    for (index, said) in
        [&b""[..], &[5], &[5, 1], &whole[..6], &whole[..whole.len() - 1], b"CONNECT 127.0"].iter().enumerate()
    {
        let mut tcp = TcpStream::connect(at).await.unwrap();
        tcp.write_all(said).await.unwrap();
        let ended = timeout(DEADLINE, drain(tcp)).await;
        assert!(ended.is_ok(), "it is closed: {said:?}");
        until(|| proxy.metrics().late == index as u64 + 1).await;
    }
    assert_eq!(proxy.metrics().garbage, 0);
    serves(&town, at, None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn garbage_gets_its_reply_and_is_counted() {
    let town = Town::new().await;
    let proxy = proxy(&town, |_| {}).await;
    let at = proxy.addresses()[0];
    let long = format!("CONNECT x:1 HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(40_000));
    let cases: [(&[u8], &[u8]); 12] = [
        (&[0; 100], b""),
        (&[22, 3, 1, 2, 0, 1, 0, 1, 0xfc], b""),
        (b"get / http/1.1\r\n\r\n", b""),
        (&[5, 1, 9], &[5, 0xff]),
        (&[5, 1, 0, 5, 2, 0, 1, 1, 2, 3, 4, 0, 1], &[5, 0, 5, 7]),
        (&[5, 1, 0, 5, 1, 0, 9, 1, 2, 3, 4, 0, 1], &[5, 0, 5, 8]),
        (&[5, 1, 0, 5, 1, 0, 1, 1, 2, 3, 4, 0, 0], &[5, 0, 5, 1]),
        (&[4, 2, 0, 80, 127, 0, 0, 1, 0], &[0, 91]),
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"HTTP/1.1 405 "),
        (b"CONNECT example.org HTTP/1.1\r\n\r\n", b"HTTP/1.1 400 "),
        (b"CONNECT \0 HTTP/1.1\r\n\r\n", b"HTTP/1.1 400 "),
        (long.as_bytes(), b"HTTP/1.1 431 "),
    ];
    for (index, (said, answer)) in cases.iter().enumerate() {
        let mut tcp = TcpStream::connect(at).await.unwrap();
        let _ = tcp.write_all(said).await;
        let mut heard = Vec::new();
        let _ = timeout(DEADLINE, tcp.read_to_end(&mut heard)).await.expect("it is closed");
        assert!(
            heard.starts_with(answer),
            "{:?}: {:?}",
            said.escape_ascii().to_string(),
            heard.escape_ascii().to_string()
        );
        until(|| proxy.metrics().garbage == index as u64 + 1).await;
    }
    let metrics = proxy.metrics();
    let counted = [Reply::CommandNotSupported, Reply::AddressTypeNotSupported, Reply::GeneralFailure];
    assert_eq!(counted.map(|reply| metrics.replied(reply)), [1, 1, 1]);
    assert_eq!(metrics.circuits_built + metrics.circuits_failed, 0, "none of it reached the network");
    serves(&town, at, None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_takes_nothing_is_given_up_and_holds_little_until_then() {
    let town = Town::new().await;
    let proxy = proxy(&town, |config| config.stuck = Duration::from_secs(3)).await;
    let at = proxy.addresses()[0];
    let port = town.target.address().port();
    let mut slow = Vec::new();
    for _ in 0..5 {
        let (mut tcp, reply) = ask(at, Some(("slow", "")), "127.0.0.1", port).await;
        assert_eq!(reply, 0);
        tcp.write_all(b"GET /bytes/500000000 HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
        slow.push(tcp);
    }
    serves(&town, at, None).await;
    until(|| proxy.metrics().streams == 0).await;
    let taken = proxy.metrics().bytes_down;
    assert!(taken < 5 * 30_000_000, "the system's buffers have some, and no more was fetched: {taken}");
    for tcp in slow {
        assert!(timeout(DEADLINE, drain(tcp)).await.expect("it is closed").is_err(), "not the end of the page");
    }
    serves(&town, at, Some(("slow", ""))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ever_new_credentials_take_no_more_circuits_than_there_may_be() {
    let town = Town::new().await;
    let proxy = proxy(&town, |config| config.circuits = 4).await;
    let at = proxy.addresses()[0];
    let port = town.target.address().port();
    // One after the other: each circuit that nobody uses any more gives way.
    for login in 0..12 {
        serves(&town, at, Some((&login.to_string(), ""))).await;
    }
    assert!(proxy.metrics().circuits <= 4);
    // All at a time: there is a limit.
    let mut kept = Vec::new();
    for login in 0..4 {
        let (tcp, reply) = ask(at, Some((&format!("kept {login}"), "")), "127.0.0.1", port).await;
        assert_eq!(reply, 0);
        kept.push(tcp);
    }
    assert_eq!(ask(at, Some(("another", "")), "127.0.0.1", port).await.1, Reply::GeneralFailure as u8);
    serves(&town, at, Some(("kept 0", ""))).await;
    drop(kept);
    until(|| proxy.metrics().streams == 0).await;
    serves(&town, at, Some(("another", ""))).await;
}
