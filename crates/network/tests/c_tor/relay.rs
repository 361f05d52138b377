//! Relays of ours in a network of C tor's: its authority lists them, and its client and ours go through them beside its own.

use crate::client::{built, directory};
use crate::private::{Private, free_address};
use crate::programs::Programs;
use crate::{fetch, get};
use candor_network::tor::{TorAttendance, TorDirectory, TorRelayKey, attend};
use candor_network::{
    Client, ClientOptions, Crypto, HandshakeType, ListedRelay, Policy, Relay, RelayConfig, RelayKeys, Target,
};
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::AbortHandle;

/// What is fetched through each circuit, in bytes.
const LENGTH: u64 = 5_000_000;

/// A relay of ours that stays published.
struct Ours {
    relay: Arc<Relay>,
    told: Arc<Mutex<Vec<String>>>,
    attending: AbortHandle,
}

impl Drop for Ours {
    fn drop(&mut self) {
        self.attending.abort();
    }
}

impl Ours {
    /// Starts a relay that is an exit to this machine; the others are told that it is at `advertise`, if that is said.
    async fn start(network: &Private, name: &str, advertise: Option<SocketAddr>) -> Self {
        let key = TorRelayKey::generate().unwrap();
        let keys = key.with(RelayKeys::generate().unwrap());
        let mut config = RelayConfig::new("127.0.0.1:0".parse().unwrap());
        config.name = Some(name.to_owned());
        config.policy = Policy::parse("127.0.0.0/8:* private:* *:*").unwrap();
        config.advertise = advertise;
        let directory = directory(network);
        config.tor_directory = Some(directory.authorities()[0].address());
        let relay = Arc::new(Relay::start(&keys, config).await.unwrap());
        let told: Arc<Mutex<Vec<String>>> = Arc::default();
        let attending = {
            let (relay, told) = (Arc::clone(&relay), Arc::clone(&told));
            tokio::spawn(async move {
                let hear = |step: Result<String, _>| {
                    told.lock().unwrap().push(step.unwrap_or_else(|error: candor_network::Error| error.to_string()))
                };
                attend(&relay, &key, &directory, &TorAttendance::default(), hear).await;
            })
        };
        Self { relay, told, attending: attending.abort_handle() }
    }

    fn told(&self) -> String {
        self.told.lock().unwrap().join("\n")
    }
}

/// Waits until the consensus lists all of these as guards, and gives their entries.
async fn listed(network: &Private, directory: &TorDirectory, names: &[&str], ours: &[Ours]) -> Vec<ListedRelay> {
    let since = Instant::now();
    loop {
        let read = async {
            let consensus = directory.consensus().await?;
            let is_guard = |name: &&str| {
                consensus.relays.iter().any(|relay| relay.nickname == **name && relay.is("Guard") && relay.is("Stable"))
            };
            let all = names.iter().all(is_guard);
            let flags: Vec<_> =
                consensus.relays.iter().map(|relay| format!("{} {:?}", relay.nickname, relay.flags)).collect();
            let list = directory.relays(&consensus, Crypto::Cgo, true).await?;
            Ok::<_, candor_network::Error>((all, flags.join("\n"), list))
        };
        let why = match read.await {
            Ok((true, _, list)) => {
                let mut relays = list.into_relays();
                let take =
                    |name: &&str| relays.swap_remove(relays.iter().position(|relay| relay.label() == **name).unwrap());
                return names.iter().map(take).collect();
            }
            Ok((false, flags, _)) => format!("waiting for {names:?} in\n{flags}"),
            Err(error) => format!("waiting for a consensus: {error}"),
        };
        let told: String = ours.iter().map(|ours| format!("\n--- {}\n{}", ours.relay.listed(), ours.told())).collect();
        network.check(since, &format!("{why}{told}\n"));
        tokio::time::sleep(Duration::from_millis(300)).await;
    }
}

fn hex(relay: &ListedRelay) -> String {
    relay.rsa_identity().unwrap().iter().map(|byte| format!("{byte:02X}")).collect()
}

/// Starts a client of C tor's whose circuits go through these three relays. Where its SOCKS port is.
fn start_client(network: &mut Private, programs: &Programs, name: &str, path: [&ListedRelay; 3]) -> SocketAddr {
    let socks = free_address();
    let [entry, middle, exit] = path.map(hex);
    let own = format!(
        "SocksPort {socks}\nClientRejectInternalAddresses 0\nClientDNSRejectInternalAddresses 0\nConfluxEnabled 0\nStrictNodes 1\n\
         EntryNodes {entry}\nMiddleNodes {middle}\nExitNodes {exit}\n"
    );
    network.run(programs, name, &own);
    socks
}

/// A stream through C tor's client.
async fn through(socks: SocketAddr, target: SocketAddr) -> TcpStream {
    let SocketAddr::V4(to) = target else { panic!("expected IPv4") };
    let mut stream = TcpStream::connect(socks).await.unwrap();
    stream.write_all(&[5, 1, 0]).await.unwrap();
    let mut chosen = [0; 2];
    stream.read_exact(&mut chosen).await.unwrap();
    assert_eq!(chosen, [5, 0]);
    let request = [&[5, 1, 0, 1][..], &to.ip().octets(), &to.port().to_be_bytes()].concat();
    stream.write_all(&request).await.unwrap();
    let mut answer = [0; 10];
    stream.read_exact(&mut answer).await.unwrap();
    assert_eq!(answer[1], 0, "SOCKS says no");
    stream
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn c_tors_authority_lists_our_relays_and_clients_of_both_go_through_relays_of_both() {
    let Some(programs) = Programs::or_skip() else { return };
    let mut network = Private::start(&programs, 1, 2);
    let ours = [
        Ours::start(&network, "ours0", None).await,
        Ours::start(&network, "ours1", None).await,
        // Nobody is where this one says that it is.
        Ours::start(&network, "nowhere", Some(free_address())).await,
    ];
    let directory = directory(&network);
    let relays = listed(&network, &directory, &["ours0", "ours1", "relay0", "relay1"], &ours).await;
    let [ours0, ours1, relay0, relay1] = [0, 1, 2, 3].map(|index| &relays[index]);
    let consensus = directory.consensus().await.unwrap();
    assert!(consensus.relays.iter().all(|relay| relay.nickname != "nowhere"), "the authority can't reach it");
    assert!(ours[2].told().contains("published to"), "though it took its descriptor: {}", ours[2].told());

    let target = Target::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let clients =
        [("guard", [ours0, relay0, relay1]), ("middle", [relay0, ours0, relay1]), ("exit", [relay0, relay1, ours0])];
    let socks = clients.map(|(name, path)| (name, start_client(&mut network, &programs, name, path)));

    // Our client meanwhile: a relay of ours between two of theirs, and one of theirs between two of ours.
    for path in [[relay0, ours0, relay1], [ours0, relay0, ours1]] {
        for (handshake, crypto) in [(HandshakeType::Ntor, Crypto::Tor1), (HandshakeType::NtorV3, Crypto::Cgo)] {
            let client = Client::new(ClientOptions { crypto, ..ClientOptions::default() }).unwrap();
            let circuit = built(&client, &path, handshake).await;
            let circuit =
                circuit.unwrap_or_else(|error| panic!("{handshake}, {path:?}: {error}\n{}", network.all_said()));
            fetch(&circuit, &target, LENGTH).await;
        }
    }

    for (name, socks) in socks {
        let since = Instant::now();
        while !network.said(name).contains("Bootstrapped 100%") {
            network.check(since, &format!("waiting for the client with ours as its {name}\n{}", network.said(name)));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        let before = ours[0].relay.counts().cells;
        get(through(socks, target.address()).await, &target, LENGTH).await;
        let cells = ours[0].relay.counts().cells - before;
        assert!(cells > LENGTH / 509, "as the {name}, our relay has had {cells} cells of it");
    }
}
