//! Our client in a network of C tor's.

use crate::private::Private;
use crate::programs::Programs;
use crate::{LENGTH, fetch};
use candor_network::tor::TorDirectory;
use candor_network::{Client, ClientOptions, Crypto, Error, HandshakeType, ListedRelay, RelayList, Target};
use candor_onion::cell::DestroyReason;
use candor_onion::circuit::{Cause, Failure};
use std::time::{Duration, Instant};

/// A relay that has just started ends circuits when it finds its address, though it needs none of them ended: then another is built.
const ATTEMPTS: usize = 4;

/// The relays, once the consensus lists so many exits that can be reached.
pub(crate) async fn relays(network: &Private, directory: &TorDirectory, crypto: Crypto, exits: usize) -> RelayList {
    let since = Instant::now();
    loop {
        let list = async { directory.relays(&*directory.consensus().await?, crypto, true).await };
        let why = match list.await {
            Ok(list) if list.relays().iter().filter(|relay| relay.is_exit()).count() >= exits => return list,
            Ok(list) => format!("waiting for {exits} exits in {list:?}", list = list.relays().len()),
            Err(error) => format!("a consensus, which can't be had: {error}"),
        };
        network.check(since, &why);
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
}

pub(crate) fn directory(network: &Private) -> TorDirectory {
    TorDirectory::new(network.authorities.iter().map(|text| text.parse().unwrap()).collect()).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn our_client_builds_circuits_from_the_consensus_of_two_authorities() {
    let Some(programs) = Programs::or_skip() else { return };
    let network = Private::start(&programs, 2, 3);
    let directory = directory(&network);
    let target = Target::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
    for (handshake, crypto) in [
        (HandshakeType::Ntor, Crypto::Tor1),
        (HandshakeType::NtorV3, Crypto::Tor1),
        (HandshakeType::NtorV3, Crypto::Cgo),
    ] {
        let list = relays(&network, &directory, crypto, 3).await;
        assert_eq!(list.relays().len(), 5, "two authorities, which are relays too, and three relays");
        let path: Vec<_> = list.relays().iter().filter(|relay| relay.is_exit()).collect();
        let client = Client::new(ClientOptions { crypto, ..ClientOptions::default() }).unwrap();
        let circuit =
            built(&client, &path, handshake).await.unwrap_or_else(|error| panic!("{handshake}, {crypto:?}: {error}"));
        fetch(&circuit, &target, LENGTH).await;
    }
    // Its own identity is what an authority is trusted for: with others', the same documents are refused.
    let other = network.authorities.iter().map(|text| {
        let (address, identity) = text.split_once('/').unwrap();
        let digit = if identity.starts_with('0') { "1" } else { "0" };
        format!("{address}/{digit}{}", &identity[1..]).parse().unwrap()
    });
    let error = TorDirectory::new(other.collect()).unwrap().consensus().await.unwrap_err().to_string();
    assert!(error.contains("0 of 2 trusted authorities have signed"), "{error}");
}

/// A circuit. C tor's relays may end one by FINISHED shortly after their start; then it is built anew, a few times at most.
pub(crate) async fn built(
    client: &Client,
    path: &[&ListedRelay],
    handshake: HandshakeType,
) -> Result<candor_network::Circuit, Error> {
    again(async || client.circuit(path, handshake).await).await
}

/// The same for one that is built in another way.
pub(crate) async fn again(
    make: impl AsyncFn() -> Result<candor_network::Circuit, Error>,
) -> Result<candor_network::Circuit, Error> {
    let mut last = None;
    for _ in 0..ATTEMPTS {
        match make().await {
            Err(error) if is_finished(&error) => last = Some(error),
            made => return made,
        }
        tokio::time::sleep(Duration::from_millis(500)).await;
    }
    Err(last.expect("an error"))
}

fn is_finished(error: &Error) -> bool {
    match error {
        Error::Circuit { failure: Failure { cause, .. }, .. } => {
            matches!(cause, Cause::Destroyed(DestroyReason::FINISHED))
        }
        Error::FirstHop { source, .. } => is_finished(source),
        _ => false,
    }
}
