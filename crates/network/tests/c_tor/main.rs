//! With C tor: our client through its relays, whose keys are given by hand or by its own directory; and relays of ours in its network.
//!
//! It runs where `tor` and `tor-gencert` are installed (0.4.9 or later, for CGO), or `CANDOR_TOR` is the path of a `tor` program with `tor-gencert` beside it; elsewhere it says why it
//! is skipped. All is on 127.0.0.1, and nobody knows of any network but the test's own.

mod client;
mod private;
mod programs;
mod relay;
mod upgrade;

use candor_network::{
    Circuit, CircuitStream, Client, ClientOptions, Crypto, Error, HandshakeType, RelayList, Target, http,
};
use candor_onion::relay::message::EndReason;
use private::PATIENCE;
use programs::{Process, Programs};
use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncWrite};

/// What is fetched through each circuit, in bytes.
pub(crate) const LENGTH: u64 = 20_000_000;

/// A relay in no network: it knows no directory, is an exit to this machine, and carries for whoever comes.
pub(crate) const ALONE: &str = "
DirAuthority nobody orport=1 no-v2 v3ident=FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF 127.0.0.1:1 FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF
TestingTorNetwork 1
AssumeReachable 1
PublishServerDescriptor 0
ORPort 127.0.0.1:auto
Address 127.0.0.1
SocksPort 0
ExtendAllowPrivateAddresses 1
ExitRelay 1
ExitPolicy accept 127.0.0.0/8:*
ExitPolicyRejectPrivate 0
RefuseUnknownExits 0
ServerDNSDetectHijacking 0
ServerDNSTestAddresses
ShutdownWaitLength 0
Log notice stdout
";

/// Its line for a relay list, once it has one.
pub(crate) async fn line_of(relay: &Process, folder: &Path) -> String {
    let since = Instant::now();
    loop {
        let late = since.elapsed() > PATIENCE;
        assert!(!relay.has_ended() && !late, "tor has ended, or did not start: {}", relay.said());
        match line(folder) {
            Some(line) => return line,
            None => tokio::time::sleep(Duration::from_millis(50)).await,
        }
    }
}

/// What the relay in that directory is, once its files say so.
fn line(directory: &Path) -> Option<String> {
    let out = fs::read_to_string(directory.join("out")).ok()?;
    let (_, rest) = out.split_once("Opened OR listener connection (ready) on ")?;
    let address: SocketAddr = rest.split_whitespace().next()?.parse().ok()?;
    // Both key files begin with 32 bytes that say what they are; the onion key's secret comes before its public half.
    let key = |name: &str, from: usize| -> Option<String> {
        let bytes = fs::read(directory.join("data/keys").join(name)).ok()?;
        Some(bytes.get(from..from + 32)?.iter().map(|byte| format!("{byte:02x}")).collect())
    };
    let fingerprint = fs::read_to_string(directory.join("data/fingerprint")).ok()?;
    let relay = serde_json::json!({
        "address": address.to_string(),
        "identity": key("ed25519_master_id_public_key", 32)?,
        "rsa_identity": fingerprint.split_whitespace().nth(1)?.to_lowercase(),
        "handshakes": ["ntor", "ntor-v3"],
        "keys": { "x25519": key("secret_onion_key_ntor", 64)? },
    });
    Some(relay.to_string())
}

/// Three such relays with their folders, and their lines for a relay list.
pub(crate) async fn three_alone(programs: &Programs) -> (Vec<(TempDir, Process)>, Vec<String>) {
    let start = |_| {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let process = Process::start(programs, folder.path(), &format!("DataDirectory {}{ALONE}", data.display()));
        (folder, process)
    };
    let relays: Vec<(TempDir, Process)> = (0..3).map(start).collect();
    let mut lines = Vec::new();
    for (folder, relay) in &relays {
        lines.push(line_of(relay, folder.path()).await);
    }
    (relays, lines)
}

/// A fresh relay of C tor's refuses every stream until it has found that it can be reached, and written its own descriptor (EXITPOLICY); and as an exit those of circuits that come from no relay that
/// its consensus has and that has proved its RSA identity (MISC): its consensus may be older than ours.
async fn open(circuit: &Circuit, port: u16) -> CircuitStream {
    let since = Instant::now();
    loop {
        match circuit.open("127.0.0.1", port).await {
            Ok(stream) => return stream,
            Err(Error::Stream { reason: EndReason::EXITPOLICY | EndReason::MISC, .. })
                if since.elapsed() < PATIENCE =>
            {
                tokio::time::sleep(Duration::from_millis(200)).await
            }
            Err(error) => panic!("{error}"),
        }
    }
}

/// Fetches so many bytes through a circuit, and checks each.
pub(crate) async fn fetch(circuit: &Circuit, target: &Target, length: u64) {
    get(open(circuit, target.address().port()).await, target, length).await;
}

/// The same over a stream that leads to the target.
pub(crate) async fn get(stream: impl AsyncRead + AsyncWrite + Unpin, target: &Target, length: u64) {
    let url = http::Url::parse(&format!("http://{}/bytes/{length}", target.address())).unwrap();
    let mut bytes = Vec::new();
    let answer = http::get(stream, &url, PATIENCE, |piece| {
        bytes.extend_from_slice(piece);
        Ok(())
    });
    let answer = answer.await.unwrap_or_else(|error| panic!("{error}"));
    assert_eq!(answer.header("candor-sha256"), Some(Target::digest(length).as_str()));
    assert!(Target::bytes(length).flatten().eq(bytes), "the bytes are others");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_megabytes_come_through_three_relays_of_c_tors() {
    let Some(programs) = Programs::or_skip() else { return };
    let (_relays, lines) = three_alone(&programs).await;
    let list = RelayList::parse(&lines.join("\n")).unwrap();
    let path: Vec<_> = list.relays().iter().collect();
    let target = Target::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
    for (handshake, crypto) in [
        (HandshakeType::Ntor, Crypto::Tor1),
        (HandshakeType::NtorV3, Crypto::Tor1),
        (HandshakeType::NtorV3, Crypto::Cgo),
    ] {
        let client = Client::new(ClientOptions { crypto, ..ClientOptions::default() }).unwrap();
        let circuit = client::built(&client, &path, handshake)
            .await
            .unwrap_or_else(|error| panic!("{handshake}, {crypto:?}: {error}"));
        fetch(&circuit, &target, LENGTH).await;
    }
}
