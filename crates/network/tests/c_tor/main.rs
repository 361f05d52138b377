//! Against C tor: our client through three unmodified relays of C tor's.
//!
//! It runs where `tor` is installed (0.4.9 or later, for CGO), or `CANDOR_TOR` is the path of a `tor` program; elsewhere it says why it is
//! skipped. All is on 127.0.0.1, and no relay knows of any network but these three.

use candor_network::{
    Circuit, CircuitStream, Client, ClientOptions, Crypto, Error, HandshakeType, RelayList, Target, http,
};
use candor_onion::relay::message::EndReason;
use std::fs::{self, File};
use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long a relay may take to start, and a fetch may stand still.
const PATIENCE: Duration = Duration::from_secs(60);

/// A relay of C tor's. It is killed on drop.
struct Tor {
    process: Mutex<Child>,
    directory: TempDir,
}

impl Drop for Tor {
    fn drop(&mut self) {
        let process = self.process.get_mut().unwrap();
        let _ = process.kill();
        let _ = process.wait();
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
    fn start(program: &Path) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let at = |name: &str| directory.path().join(name);
        fs::write(at("torrc"), format!("DataDirectory {}{CONFIGURATION}", at("data").display())).unwrap();
        // Files and not pipes: whoever waits for the end of a pipe would wait for every process that holds it.
        let process = Command::new(program)
            .args(["--defaults-torrc", "/dev/null", "-f"])
            .arg(at("torrc"))
            .stdin(Stdio::null())
            .stdout(File::create(at("out")).unwrap())
            .stderr(File::create(at("err")).unwrap())
            .spawn()
            .unwrap();
        Self { process: Mutex::new(process), directory }
    }

    /// Its line for a relay list, once it has one.
    async fn line(&self) -> String {
        let directory = self.directory.path();
        let end = Instant::now() + PATIENCE;
        loop {
            let ended = self.process.lock().unwrap().try_wait().unwrap();
            let said = || fs::read_to_string(directory.join("out")).unwrap();
            assert!(ended.is_none() && Instant::now() < end, "tor has ended, or did not start: {}", said());
            match line(directory) {
                Some(line) => return line,
                None => tokio::time::sleep(Duration::from_millis(50)).await,
            }
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

/// The `tor` to test against, or why there is none.
fn tor() -> Result<PathBuf, String> {
    let program = std::env::var_os("CANDOR_TOR").map_or_else(|| PathBuf::from("tor"), PathBuf::from);
    let said = Command::new(&program).arg("--version").output();
    let said = said.map_err(|error| format!("`{}` can't be run: {error}", program.display()))?;
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let version = said.strip_prefix("Tor version ").and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
    let numbers: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
    match numbers.as_slice() >= [0, 4, 9].as_slice() {
        true => Ok(program),
        false => Err(format!("`{}` is version `{version}`; CGO came with 0.4.9", program.display())),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_megabytes_come_through_three_relays_of_c_tors() {
    let program = match tor() {
        Ok(program) => program,
        Err(why) => {
            // Not eprintln: libtest would keep it to itself.
            return writeln!(io::stderr(), "skipped: {why}; install Debian's package tor").unwrap();
        }
    };
    let relays: Vec<_> = (0..3).map(|_| Tor::start(&program)).collect();
    let mut lines = Vec::new();
    for relay in &relays {
        lines.push(relay.line().await);
    }
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
        let answer = http::get(stream, &url, PATIENCE, |piece| {
            bytes.extend_from_slice(piece);
            Ok(())
        });
        let answer = answer.await.unwrap_or_else(|error| panic!("{handshake}, {crypto:?}: {error}"));
        assert_eq!(answer.header("candor-sha256"), Some(expected.as_str()));
        assert!(Target::bytes(length).flatten().eq(bytes), "{handshake}, {crypto:?}");
    }
}
