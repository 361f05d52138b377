//! `candor onion builder`, which `candor circuit --tun` starts: builds circuits, one after another, and says how long each part of each took.
//!
//! Each circuit has connections of its own, as in the simulator: its relays are reached at addresses that no circuit before has used, and relays share no
//! link between different addresses of a neighbour. Where links are to be there, a circuit by `ntor` makes them first.

use super::runtime;
use crate::Failure;
use crate::output::print;
use candor_network::http::{self, Url};
use candor_network::{Client, ClientOptions, Error, HandshakeType, ListedRelay, RelayList};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::io::BufRead;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

/// How long the target may send nothing.
const PATIENCE: Duration = Duration::from_secs(60);
/// How often making the links is tried.
const ATTEMPTS: u32 = 3;

/// What to build: a line of JSON on stdin.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    /// The entries of guard, middle and exit, as the relays print them.
    pub(crate) relays: [String; 3],
    /// Addresses of each; there is one for every circuit.
    pub(crate) addresses: [Vec<Ipv4Addr>; 3],
    /// The handshake's name.
    pub(crate) handshake: String,
    /// Whether links are made as part of the circuit.
    pub(crate) cold: bool,
    /// A page to fetch.
    pub(crate) page: Option<String>,
    /// How long it stays quiet before each circuit, once its links are there.
    pub(crate) settle: Duration,
}

/// What became of a circuit: a line of JSON on stdout.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(crate) struct Built {
    /// Making the client's link.
    pub(crate) link: Duration,
    /// Each hop, with the link that it needs.
    pub(crate) hops: Vec<Duration>,
    /// All of it, if it was built.
    pub(crate) built: Option<Duration>,
    /// Why it was not built, or brought no page.
    pub(crate) failure: Option<String>,
    /// From asking for the page to its first byte.
    pub(crate) first_byte: Option<Duration>,
    /// From asking for the page to its last byte.
    pub(crate) last_byte: Option<Duration>,
    /// Bytes of the page.
    pub(crate) fetched: u64,
}

pub(super) fn execute() -> Result<(), Failure> {
    runtime()?.block_on(async {
        // One for all: a client that is new in its process gathers entropy first.
        let client = Client::new(ClientOptions::default())?;
        for line in std::io::stdin().lock().lines() {
            let request: Request = serde_json::from_str(&line?).map_err(|error| {
                Failure::Error(format!("expected a request from `candor circuit --tun` on stdin: {error}"))
            })?;
            serve(&client, &request).await?;
        }
        Ok(())
    })
}

async fn serve(client: &Client, request: &Request) -> Result<(), Failure> {
    let handshake = request.handshake.parse()?;
    let circuits = request.addresses.iter().map(Vec::len).min().unwrap_or_default();
    for number in 0..circuits {
        let path = path(request, number)?;
        let mut built = Built::default();
        if let Err(error) = build(client, request, handshake, path.each_ref(), &mut built).await {
            built.failure = Some(error.to_string());
        }
        client.disconnect();
        print(&format!("{}\n", serde_json::to_string(&built)?))?;
    }
    Ok(())
}

/// The relays at the addresses of a circuit.
fn path(request: &Request, number: usize) -> Result<[ListedRelay; 3], Failure> {
    let mut lines = String::new();
    for (entry, addresses) in request.relays.iter().zip(&request.addresses) {
        let mut entry: Value = serde_json::from_str(entry)?;
        let address = entry["address"].as_str().and_then(|address| address.parse::<SocketAddr>().ok());
        let port = address.ok_or_else(|| Failure::Error("an entry has no address".to_owned()))?.port();
        entry["address"] = SocketAddr::from((addresses[number], port)).to_string().into();
        lines += &format!("{entry}\n");
    }
    let relays = RelayList::parse(&lines)?.into_relays();
    relays.try_into().map_err(|_| Failure::Error("expected the entries of three relays".to_owned()))
}

async fn build(
    client: &Client,
    request: &Request,
    handshake: HandshakeType,
    path: [&ListedRelay; 3],
    built: &mut Built,
) -> Result<(), Error> {
    let mut attempts = 0;
    // It stays until the end, so that its end disturbs nothing.
    let _links = loop {
        if request.cold {
            break None;
        }
        attempts += 1;
        match client.circuit(&path, HandshakeType::Ntor).await {
            Ok(circuit) => break Some(circuit),
            Err(error) if attempts == ATTEMPTS => return Err(error),
            Err(_) => {}
        }
    };
    tokio::time::sleep(request.settle).await;

    let began = Instant::now();
    let mut lap = began;
    let mut split = || {
        let now = Instant::now();
        now - std::mem::replace(&mut lap, now)
    };
    if request.cold {
        client.connect(path[0]).await?;
        built.link = split();
    }
    let mut circuit = client.first_hop(path[0], handshake).await?;
    built.hops.push(split());
    for relay in &path[1..] {
        circuit.extend(relay, handshake).await?;
        built.hops.push(split());
    }
    built.built = Some(began.elapsed());

    let Some(page) = &request.page else { return Ok(()) };
    let url = Url::parse(page)?;
    let began = Instant::now();
    let stream = circuit.open(url.host(), url.port()).await?;
    http::get(stream, &url, PATIENCE, |piece| {
        built.first_byte.get_or_insert_with(|| began.elapsed());
        built.fetched += piece.len() as u64;
        Ok(())
    })
    .await?;
    built.last_byte = Some(began.elapsed());
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_network::{Relay, RelayConfig, RelayKeys, Target};

    /// Three relays on this machine, each at all addresses of the loopback network.
    async fn relays(target: &Target) -> [Relay; 3] {
        let mut relays = Vec::new();
        for name in ["guard", "middle", "exit"] {
            let any = SocketAddr::from(([0, 0, 0, 0], 0));
            let port = std::net::TcpListener::bind(any).and_then(|free| free.local_addr()).unwrap().port();
            let mut config = RelayConfig::new(([0, 0, 0, 0], port).into());
            config.name = Some(name.to_owned());
            config.advertise = Some(([127, 255, 255, 254], port).into());
            config.test_networks = vec!["127.0.0.0/8".parse().unwrap()];
            config.policy = candor_network::Policy::parse(&target.address().to_string()).unwrap();
            relays.push(Relay::start(&RelayKeys::generate().unwrap(), config).await.unwrap());
        }
        relays.try_into().unwrap_or_else(|_| panic!("three"))
    }

    fn addresses(network: u8) -> Vec<Ipv4Addr> {
        (1..=3).map(|host| Ipv4Addr::new(127, network, 0, host)).collect()
    }

    async fn built(client: &Client, request: &Request, number: usize) -> Built {
        let path = path(request, number).unwrap_or_else(|_| panic!("good entries"));
        let mut built = Built::default();
        build(client, request, HandshakeType::Hybrid768, path.each_ref(), &mut built).await.unwrap();
        assert_eq!(built.hops.len(), 3);
        assert!(built.built.unwrap() >= built.link + built.hops.iter().sum::<Duration>());
        built
    }

    async fn scene(cold: bool) -> (Target, [Relay; 3], Client, Request) {
        let target = Target::start(([127, 0, 0, 1], 0).into()).await.unwrap();
        let relays = relays(&target).await;
        let request = Request {
            relays: relays.each_ref().map(|relay| relay.listed().to_line()),
            addresses: [1, 2, 3].map(addresses),
            handshake: "hybrid-768".into(),
            cold,
            page: Some(format!("http://{}/bytes/5000", target.address())),
            settle: Duration::ZERO,
        };
        (target, relays, Client::new(ClientOptions::default()).unwrap(), request)
    }

    #[test]
    fn the_simulated_client_waits_as_long_as_this_one() {
        let (client, relay) = (ClientOptions::default(), candor_network::RelayLimits::default());
        use candor_links::simulator::setup;
        assert_eq!([client.link, relay.link], [setup::LIMIT; 2]);
        assert_eq!((client.stream, relay.connect), (setup::STREAM, setup::CONNECT));
        // Hops: the simulator's circuits have the bounds of every circuit of `onion`.
        assert_eq!(client.limits, candor_network::Limits::default());
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn every_circuit_has_links_of_its_own_and_all_its_times() {
        let (_target, relays, client, request) = scene(true).await;
        for number in 0..3 {
            let built = built(&client, &request, number).await;
            assert!(built.link > Duration::ZERO);
            assert_eq!(built.fetched, 5000);
            assert!(built.first_byte.unwrap() <= built.last_byte.unwrap());
            client.disconnect();
        }
        // Circuits that shared links would have made one in and one out.
        assert!(relays[1].counts().links > 2, "{}", relays[1].counts().links);
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn links_that_are_to_be_there_are_made_by_a_circuit_before() {
        let (_target, relays, client, request) = scene(false).await;
        assert_eq!(built(&client, &request, 0).await.link, Duration::ZERO);
        let handshakes = relays.each_ref().map(|relay| relay.counts().handshakes);
        assert_eq!(handshakes, [2; 3], "one of each circuit");
    }
}
