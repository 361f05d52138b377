//! What goes in at one end of a circuit comes out at the other, byte for byte.

mod town;

use candor_network::{Client, ClientOptions, Crypto, Error, HandshakeType, RelayList, Target};
use std::sync::Arc;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::JoinSet;
use town::{Town, client};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_handshake_builds_three_hops_with_either_cryptography() {
    let town = Town::new().await;
    for crypto in [Crypto::Cgo, Crypto::Tor1] {
        let client = Client::new(ClientOptions { crypto, ..ClientOptions::default() }).unwrap();
        for handshake in HandshakeType::ALL {
            let circuit =
                client.circuit(&town.path(), handshake).await.unwrap_or_else(|error| panic!("{handshake}: {error}"));
            assert_eq!(circuit.hops(), 3);
            assert_eq!(town.fetch(&circuit, 5000).await, Target::digest(5000), "{handshake}");
        }
    }
    assert!(town.told.lock().unwrap().is_empty(), "{:?}", town.told);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_relay_listed_as_tors_are_is_asked_for_nothing_that_they_would_refuse() {
    let town = Town::new().await;
    let client = client();
    let path = town.path();
    let mut line: serde_json::Value = serde_json::from_str(&path[0].to_line()).unwrap();
    line["handshakes"] = serde_json::json!(["ntor", "ntor-v3"]);
    line["keys"] = serde_json::json!({ "x25519": line["keys"]["x25519"] });
    let list = RelayList::parse(&line.to_string()).unwrap();
    let as_tors = &list.relays()[0];
    let circuit = client.circuit(&[as_tors, path[1], path[2]], HandshakeType::NtorV3).await.unwrap();
    assert_eq!(town.fetch(&circuit, 5000).await, Target::digest(5000));
    // Without fragments from that hop a post-quantum onionskin can't be sent behind it.
    let mut circuit = client.circuit(&[as_tors], HandshakeType::NtorV3).await.unwrap();
    let error = circuit.extend(path[1], HandshakeType::Hybrid768).await.unwrap_err().to_string();
    assert!(error.starts_with("hop 2:") && error.contains("message for this hop"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_last_hop_is_upgraded_if_it_agrees_and_named_if_it_does_not() {
    let town = Town::with(|config| config.limits.circuit.upgrade = config.name.as_deref() == Some("cyd")).await;
    let path = town.path();
    for crypto in [Crypto::Cgo, Crypto::Tor1] {
        let client = Client::new(ClientOptions { crypto, ..ClientOptions::default() }).unwrap();
        for handshake in [HandshakeType::NtorV3, HandshakeType::Hybrid768] {
            let before = town.relay(2).counts();
            let mut circuit = client.first_hop(path[0], handshake).await.unwrap();
            circuit.extend(path[1], handshake).await.unwrap();
            circuit.extend_and_upgrade(path[2], handshake).await.unwrap();
            assert_eq!(town.fetch(&circuit, 1_000_000).await, Target::digest(1_000_000), "{handshake}, {crypto:?}");
            let counts = town.relay(2).counts();
            assert_eq!((counts.upgrades, counts.handshakes), (before.upgrades + 1, before.handshakes + 1));

            // Bob has none. The hop is there all the same.
            let mut circuit = client.first_hop(path[0], handshake).await.unwrap();
            match circuit.extend_and_upgrade(path[1], handshake).await {
                Err(Error::NoUpgrade { hop: 2, relay }) => assert!(relay.starts_with("bob"), "{relay}"),
                other => panic!("{other:?}"),
            }
            circuit.extend(path[2], handshake).await.unwrap();
            assert_eq!(town.fetch(&circuit, 5000).await, Target::digest(5000));
        }
    }
    // It has no room to ask.
    let client = client();
    let mut circuit = client.first_hop(path[0], HandshakeType::Ntor).await.unwrap();
    let refused = circuit.extend_and_upgrade(path[2], HandshakeType::Ntor).await;
    assert!(matches!(refused, Err(Error::NoUpgrade { hop: 2, .. })), "{refused:?}");
    assert!(town.told.lock().unwrap().is_empty(), "{:?}", town.told);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_megabytes_arrive_byte_for_byte() {
    let town = Town::new().await;
    for crypto in [Crypto::Cgo, Crypto::Tor1] {
        let client = Client::new(ClientOptions { crypto, ..ClientOptions::default() }).unwrap();
        let circuit = town.circuit(&client).await;
        assert_eq!(town.fetch(&circuit, 20_000_000).await, Target::digest(20_000_000), "{crypto:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_streams_at_once_arrive_byte_for_byte() {
    let town = Arc::new(Town::new().await);
    let client = client();
    let circuit = Arc::new(town.circuit(&client).await);
    let streams: Vec<_> = (0..100)
        .map(|index| {
            let (town, circuit) = (Arc::clone(&town), Arc::clone(&circuit));
            tokio::spawn(async move {
                let length = 200_000 + index;
                assert_eq!(town.fetch(&circuit, length).await, Target::digest(length));
            })
        })
        .collect();
    for stream in streams {
        stream.await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upload_arrives_byte_for_byte() {
    let town = Town::new().await;
    for crypto in [Crypto::Cgo, Crypto::Tor1] {
        let client = Client::new(ClientOptions { crypto, ..ClientOptions::default() }).unwrap();
        let circuit = town.circuit(&client).await;
        let mut stream = circuit.open("127.0.0.1", town.target.address().port()).await.unwrap();
        let length = 3_000_000;
        stream
            .write_all(format!("POST /digest HTTP/1.1\r\nContent-Length: {length}\r\n\r\n").as_bytes())
            .await
            .unwrap();
        for piece in Target::bytes(length) {
            stream.write_all(&piece).await.unwrap();
        }
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        assert!(answer.ends_with(&format!("{} {length}\n", Target::digest(length))), "{answer}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_circuits_share_one_link() {
    let town = Town::new().await;
    let client = client();
    let mut circuits = Vec::new();
    for _ in 0..20 {
        circuits.push(town.circuit(&client).await);
    }
    // All at once, so that cells of several come in one read.
    let port = town.target.address().port();
    let mut fetches = JoinSet::new();
    for (circuit, length) in circuits.into_iter().zip(50_000..) {
        fetches.spawn(async move {
            let digest = town::fetch(&circuit, port, length).await.unwrap();
            (circuit, length, digest)
        });
    }
    let fetched = fetches.join_all().await;
    for (_, length, digest) in &fetched {
        assert_eq!(*digest, Target::digest(*length));
    }
    let links: Vec<_> = (0..3).map(|index| town.relay(index).counts().links).collect();
    assert_eq!(links, [2, 2, 1], "client–ada, ada–bob, bob–cyd");
    assert_eq!(town.relay(2).counts().circuits, 20);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exit_goes_only_where_its_policy_says() {
    let town = Town::new().await;
    let client = client();
    let circuit = town.circuit(&client).await;
    let other = Target::start(town::local()).await.unwrap();
    for (host, port) in [("127.0.0.1", other.address().port()), ("10.0.0.1", 80), ("example.org", 80)] {
        let error = circuit.open(host, port).await.unwrap_err();
        assert!(matches!(error, Error::Stream { .. }) && error.to_string().contains("policy"), "{error}");
    }
    let port = town.target.address().port();
    assert!(circuit.open("localhost", port).await.is_ok(), "its address is listed");
    assert_eq!(town.fetch(&circuit, 10).await, Target::digest(10), "a refused stream harms no other");

    let nowhere = Town::with(|config| config.policy = candor_network::Policy::default()).await;
    let circuit = nowhere.circuit(&client).await;
    assert!(circuit.open("127.0.0.1", nowhere.target.address().port()).await.is_err(), "the default permits nothing");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_target_that_is_not_there_is_the_streams_error() {
    let port = {
        let gone = tokio::net::TcpListener::bind(town::local()).await.unwrap();
        gone.local_addr().unwrap().port()
    };
    let policy = candor_network::Policy::parse(&format!("127.0.0.1:{port}")).unwrap();
    let town = Town::with(|config| config.policy = policy.clone()).await;
    let client = client();
    let circuit = town.circuit(&client).await;
    let error = circuit.open("127.0.0.1", port).await.unwrap_err().to_string();
    assert!(error.contains("refused"), "{error}");
}
