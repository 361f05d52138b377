//! Against C tor: our client through three relays of its, as they are. It needs a `tor` program, 0.4.9 or later for CGO:
//!
//! ```text
//! CANDOR_TOR=/usr/bin/tor cargo test -p candor-network --test c_tor -- --ignored
//! ```

use candor_network::{
    Circuit, CircuitStream, Client, ClientOptions, Crypto, Error, HandshakeType, RelayList, Target, http,
};
use candor_onion::relay::message::EndReason;
use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A relay of C tor's. It ends with this.
struct Tor {
    process: Child,
    _directory: TempDir,
    /// Its line for a relay list.
    line: String,
}

impl Drop for Tor {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A relay in no network: it knows no directory, is an exit to this machine, and carries for whoever comes.
const CONFIGURATION: &str = "
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

impl Tor {
    async fn start(program: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("torrc"), format!("DataDirectory {}{CONFIGURATION}", at("data").display())).unwrap();
        let process = Command::new(program)
            .args(["--defaults-torrc", "/dev/null", "-f"])
            .arg(at("torrc"))
            .stdin(Stdio::null())
            .stdout(File::create(at("out")).unwrap())
            .spawn()
            .unwrap();
        let mut tor = Self { process, line: String::new(), _directory: directory };
        let directory = tor._directory.path().to_owned();
        while tor.line.is_empty() {
            assert!(
                tor.process.try_wait().unwrap().is_none(),
                "{}",
                fs::read_to_string(directory.join("out")).unwrap()
            );
            tokio::time::sleep(Duration::from_millis(50)).await;
            tor.line = line(&directory).unwrap_or_default();
        }
        tor
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

/// A fresh relay of C tor's refuses every stream until it has found that it can be reached, and written its own descriptor.
async fn open(circuit: &Circuit, port: u16) -> CircuitStream {
    loop {
        match circuit.open("127.0.0.1", port).await {
            Ok(stream) => return stream,
            Err(Error::Stream { reason: EndReason::EXITPOLICY, .. }) => {
                tokio::time::sleep(Duration::from_millis(200)).await
            }
            Err(error) => panic!("{error}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs CANDOR_TOR, the path of a tor program"]
async fn twenty_megabytes_come_through_three_relays_of_c_tors() {
    let program = std::env::var_os("CANDOR_TOR").expect("CANDOR_TOR is the path of a tor program");
    let mut relays = Vec::new();
    for _ in 0..3 {
        relays.push(Tor::start(program.as_ref()).await);
    }
    let lines: Vec<_> = relays.iter().map(|relay| relay.line.as_str()).collect();
    let list = RelayList::parse(&lines.join("\n")).unwrap();
    let path: Vec<_> = list.relays().iter().collect();
    let target = Target::start("127.0.0.1:0".parse().unwrap()).await.unwrap();
    let length = 20_000_000;
    let expected = Target::digest(length);
    for (handshake, crypto) in [
        (HandshakeType::Ntor, Crypto::Tor1),
        (HandshakeType::NtorV3, Crypto::Tor1),
        (HandshakeType::NtorV3, Crypto::Cgo),
    ] {
        let client = Client::new(ClientOptions { crypto, ..ClientOptions::default() }).unwrap();
        let circuit =
            client.circuit(&path, handshake).await.unwrap_or_else(|error| panic!("{handshake}, {crypto:?}: {error}"));
        let stream = open(&circuit, target.address().port()).await;
        let url = http::Url::parse(&format!("http://{}/bytes/{length}", target.address())).unwrap();
        let mut bytes = Vec::new();
        let answer = http::get(stream, &url, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        });
        let answer = answer.await.unwrap_or_else(|error| panic!("{handshake}, {crypto:?}: {error}"));
        assert_eq!(answer.header("candor-sha256"), Some(expected.as_str()));
        assert!(Target::bytes(length).flatten().eq(bytes), "{handshake}, {crypto:?}");
    }
}
