//! Overloads, injected one at a time at each hop: the circuit ends cleanly, and its client is told the hop, the relay and the cause.

use crate::scene::holds_nothing;
use crate::town::{Town, client, fetch};
use candor_network::{Circuit, Client, ClientOptions, Crypto, Error, HandshakeType, RelayLimits};
use tokio::io::AsyncWriteExt;

/// Relays by hop.
const NAMES: [&str; 3] = ["ada", "bob", "cyd"];

/// What happens at a relay with these limits.
struct Overload {
    name: &'static str,
    limit: fn(&mut RelayLimits),
    hops: &'static [usize],
    /// Whether it comes when the circuit is built, or with its data.
    uploads: Option<bool>,
}

/// A full queue is one read of a link's long: a relay hands out what it has read before it writes.
const OVERLOADS: [Overload; 5] = [
    Overload {
        name: "cells towards the client",
        limit: |limits| limits.cells = 16,
        hops: &[1, 2, 3],
        uploads: Some(false),
    },
    Overload {
        name: "cells from the client",
        limit: |limits| limits.cells = 16,
        hops: &[1, 2, 3],
        uploads: Some(true),
    },
    Overload { name: "circuits of a link", limit: |limits| limits.circuits = 0, hops: &[1, 2, 3], uploads: None },
    Overload { name: "circuits in all", limit: |limits| limits.all_circuits = 0, hops: &[1, 2, 3], uploads: None },
    Overload { name: "links to other relays", limit: |limits| limits.links = 1, hops: &[1, 2], uploads: None },
];

/// Uses the circuit until it ends.
async fn wear_out(circuit: &Circuit, port: u16, uploads: bool) {
    if !uploads {
        fetch(circuit, port, 1_000_000).await.expect_err("a relay is overloaded");
        return;
    }
    let mut stream = circuit.open("127.0.0.1", port).await.unwrap();
    let request = b"POST /digest HTTP/1.1\r\nContent-Length: 1000000\r\n\r\n";
    let _ = stream.write_all(request).await;
    let _ = stream.write_all(&vec![0; 1_000_000]).await;
    // The last of it may be refused after it was taken.
    let _ = crate::town::drain(stream).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_overload_is_named_with_its_hop_and_relay() {
    let mut named = 0;
    for overload in &OVERLOADS {
        for hop in overload.hops {
            for crypto in [Crypto::Cgo, Crypto::Tor1] {
                let town = Town::with(|config| {
                    if config.name.as_deref() == Some(NAMES[hop - 1]) {
                        (overload.limit)(&mut config.limits);
                    }
                })
                .await;
                let client = Client::new(ClientOptions { crypto, ..ClientOptions::default() }).unwrap();
                let built = client.circuit(&town.path(), HandshakeType::NtorV3).await;
                let error = match (overload.uploads, built) {
                    (Some(uploads), Ok(circuit)) => {
                        wear_out(&circuit, town.target.address().port(), uploads).await;
                        circuit.failure().expect("the circuit is over")
                    }
                    (Some(_), Err(error)) | (None, Err(error)) => error,
                    (None, Ok(_)) => panic!("{}, hop {hop}: nothing happened", overload.name),
                };
                drop(client);
                holds_nothing(&town).await;
                let said = error.to_string();
                let right = format!("hop {hop}: destroyed: relay is out of resources (relay {} at", NAMES[hop - 1]);
                assert!(said.starts_with(&right), "{}, hop {hop}, {crypto:?}: {said}", overload.name);
                named += 1;
            }
        }
    }
    assert!(named >= 20, "{named}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_exit_without_a_place_for_a_stream_is_named() {
    let town = Town::with(|config| config.limits.streams = 0).await;
    let client = client();
    let circuit = town.circuit(&client).await;
    let error = circuit.open("127.0.0.1", town.target.address().port()).await.unwrap_err();
    assert!(matches!(error, Error::Stream { hop: 3, .. }), "{error}");
    let said = error.to_string();
    assert!(said.contains("hop 3: ") && said.contains("out of resources (relay cyd at"), "{said}");
    assert!(circuit.failure().is_none(), "the circuit goes on");
    drop((circuit, client));
    holds_nothing(&town).await;
}
