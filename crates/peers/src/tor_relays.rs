//! Relays of C tor's, each a process of its own in no network: it knows no directory, is an exit to this machine, and carries for whoever comes.
//!
//! What a relay is (its address, identities and onion key) is read from the files that it writes. The kernel of a measurement is then the same for all: a
//! client that knows three relays.

use crate::program::{on_path, says_all};
use crate::shared_object::find::shown;
use candor_lab::{Provenance, Refusal, objects};
use std::env;
use std::fs::{self, File};
use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The environment variable that names the program.
const VARIABLE: &str = "CANDOR_TOR";
/// Where the workshop unpacks Debian's package, below a target directory.
const UNPACKED: &str = "unpacked/tor/tor";
/// How to get it.
const HOW: &str = "apt install tor (0.4.9 or later), or name the program by CANDOR_TOR";

/// How long a relay may take to be there.
const PATIENCE: Duration = Duration::from_secs(60);
const PAUSE: Duration = Duration::from_millis(20);

/// A relay that nobody lists. Beside tor's main thread, which carries all cells, `NumCPUs 1` makes two workers, the fewest it has.
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
AvoidDiskWrites 1
NumCPUs 1
Log notice stdout
";

/// What decides when a relay of C tor's writes cells to which connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// By what the kernel's buffers hold, at once and then no more often than every ten milliseconds: the default on Linux.
    Kist,
    /// The same without asking the kernel.
    KistLite,
    /// As much as goes, at once: the default until 0.3.2.
    Vanilla,
}

impl Scheduler {
    /// All, the default first.
    pub const ALL: [Self; 3] = [Self::Kist, Self::KistLite, Self::Vanilla];

    /// As a torrc has it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Kist => "KIST",
            Self::KistLite => "KISTLite",
            Self::Vanilla => "Vanilla",
        }
    }
}

/// The program.
#[derive(Clone, Debug)]
pub struct Tor {
    path: PathBuf,
    version: String,
    /// The OpenSSL that it runs on, which does its TLS and most of its cryptography.
    openssl: Option<String>,
}

/// The program on this machine, or why there is none to measure. Looked for once.
///
/// # Errors
/// A [`Refusal`] that says how to get it.
pub fn tor() -> Result<&'static Tor, Refusal> {
    static FOUND: LazyLock<Result<Tor, Refusal>> = LazyLock::new(|| match cfg!(feature = "peer-tor") {
        true => Tor::find(),
        false => Err(Refusal::new("was left out of this build (feature peer-tor)")),
    });
    FOUND.as_ref().map_err(Clone::clone)
}

impl Tor {
    fn find() -> Result<Self, Refusal> {
        let path = match env::var_os(VARIABLE) {
            Some(named) => PathBuf::from(named),
            None => on_path("tor")
                .or_else(unpacked)
                .ok_or_else(|| Refusal::new(format!("is not on this machine: {HOW}")))?,
        };
        let said = says_all(&path, "--version", None).unwrap_or_default();
        let version = version(said.lines().next().unwrap_or_default()).map_err(Refusal::new)?;
        Ok(Self { path, version, openssl: openssl(&said) })
    }

    /// `tor-0.4.9.11`.
    #[must_use]
    pub fn name(&self) -> String {
        format!("tor-{}", self.version)
    }

    /// Where it comes from. `timed` is what a subject's timed call includes.
    #[must_use]
    pub fn provenance(&self, timed: &str) -> Provenance {
        let program = self.program();
        Provenance {
            build: Some(format!("as found in {}", shown(&program))),
            object_sha256: objects::sha256(&program),
            arm: Some(format!("chosen by {} at run time", self.openssl.as_deref().unwrap_or("OpenSSL"))),
            ..Provenance::of("tor", &self.version, timed)
        }
    }

    /// The program itself, where a script of the workshop's stands before it.
    fn program(&self) -> PathBuf {
        let behind = self.path.with_file_name("root").join("usr/bin/tor");
        if behind.is_file() { behind } else { self.path.clone() }
    }
}

/// What the workshop has unpacked beside this program, or in the folder that one stands in.
fn unpacked() -> Option<PathBuf> {
    let program = env::current_exe().unwrap_or_default();
    let targets = program.ancestors().skip(2).take(2).map(Path::to_path_buf).chain([PathBuf::from("target")]);
    let mut programs = targets.map(|target| target.join(UNPACKED));
    programs.find(|path| path.is_file())
}

/// `OpenSSL 3.0.22`, from all that `tor --version` says.
fn openssl(said: &str) -> Option<String> {
    let (_, rest) = said.split_once("OpenSSL ")?;
    let version: String = rest.chars().take_while(|c| c.is_ascii_alphanumeric() || ".-".contains(*c)).collect();
    (!version.is_empty()).then(|| format!("OpenSSL {version}"))
}

/// From the first line of `tor --version`. CGO came with 0.4.9.
fn version(said: &str) -> Result<String, String> {
    let version = said.strip_prefix("Tor version ").and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
    let version = version.trim_end_matches('.');
    let numbers: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
    match numbers.as_slice() >= [0, 4, 9].as_slice() {
        true => Ok(version.to_owned()),
        false => Err(format!("says {said:?}; expected `Tor version` and 0.4.9 or later: {HOW}")),
    }
}

/// What a client has to know of a relay.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Where it takes links.
    pub address: SocketAddr,
    /// Its Ed25519 identity.
    pub identity: [u8; 32],
    /// The fingerprint of its RSA identity.
    pub rsa: [u8; 20],
    /// Its ntor key.
    pub onion_key: [u8; 32],
}

/// A running relay, with a folder of its own. Dropping it kills it.
#[derive(Debug)]
pub struct TorRelay {
    child: Child,
    folder: PathBuf,
    facts: Facts,
}

impl TorRelay {
    /// Starts so many relays, whose files go into folders of `below`, and waits until they are there.
    ///
    /// # Errors
    /// What C tor said.
    pub fn start(tor: &Tor, scheduler: Scheduler, below: &Path, count: usize) -> Result<Vec<Self>, String> {
        let started: Result<Vec<_>, String> = (0..count)
            .map(|number| {
                let folder = below.join(format!("relay-{number}"));
                let failed = |error: io::Error| format!("tor can't be started: {error}");
                fs::create_dir_all(&folder).map_err(failed)?;
                Started::new(tor, scheduler, folder).map_err(failed)
            })
            .collect();
        started?.into_iter().map(Started::wait).collect()
    }

    /// What a client has to know.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The number of its process.
    #[must_use]
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// What it has said last.
    #[must_use]
    pub fn last_words(&self) -> String {
        last_words(&self.folder)
    }
}

impl Drop for TorRelay {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// One that may not be ready yet.
struct Started(TorRelay);

impl Started {
    fn new(tor: &Tor, scheduler: Scheduler, folder: PathBuf) -> io::Result<Self> {
        let at = |name: &str| folder.join(name);
        let configuration = format!(
            "DataDirectory {}{CONFIGURATION}PidFile {}\nSchedulers {}\n__OwningControllerProcess {}\n",
            at("data").display(),
            at("pid").display(),
            scheduler.name(),
            std::process::id()
        );
        fs::write(at("torrc"), configuration)?;
        // Files and not pipes: whoever waits for the end of a pipe would wait for every process that holds it.
        let child = Command::new(&tor.path)
            .args(["--defaults-torrc", "/dev/null", "-f"])
            .arg(at("torrc"))
            .stdin(Stdio::null())
            .stdout(File::create(at("out"))?)
            .stderr(File::create(at("err"))?)
            .spawn()?;
        let nobody = Facts { address: ([0; 4], 0).into(), identity: [0; 32], rsa: [0; 20], onion_key: [0; 32] };
        Ok(Self(TorRelay { child, folder, facts: nobody }))
    }

    fn wait(self) -> Result<TorRelay, String> {
        let since = Instant::now();
        let mut relay = self.0;
        loop {
            if let Some((facts, process)) = facts(&relay.folder).zip(process(&relay.folder)) {
                relay.facts = facts;
                return is_the_started(process, relay.child.id()).map(|()| relay);
            }
            match relay.child.try_wait() {
                Ok(None) if since.elapsed() < PATIENCE => sleep(PAUSE),
                Ok(None) => return Err(format!("tor was not ready in time: {}", relay.last_words())),
                Ok(Some(status)) => return Err(format!("tor ended ({status}): {}", relay.last_words())),
                Err(error) => return Err(format!("tor can't be waited for: {error}")),
            }
        }
    }
}

/// The number of the process that tor is, as it writes it.
fn process(folder: &Path) -> Option<u32> {
    fs::read_to_string(folder.join("pid")).ok()?.trim().parse().ok()
}

/// The CPU time of a script that waits for tor would be told as tor's.
fn is_the_started(process: u32, started: u32) -> Result<(), String> {
    match process == started {
        true => Ok(()),
        false => Err(format!(
            "tor is process {process}, and {started} was started: a script named by {VARIABLE} must `exec` tor, so that its CPU time is tor's"
        )),
    }
}

fn last_words(folder: &Path) -> String {
    let said = ["out", "err"].map(|name| fs::read_to_string(folder.join(name)).unwrap_or_default()).concat();
    said.lines().last().unwrap_or("it said nothing").to_owned()
}

/// What the relay in that folder is, once its files say so.
fn facts(folder: &Path) -> Option<Facts> {
    let out = fs::read_to_string(folder.join("out")).ok()?;
    let (_, rest) = out.split_once("Opened OR listener connection (ready) on ")?;
    let address = rest.split_whitespace().next()?.parse().ok()?;
    // Both key files begin with 32 bytes that say what they are; the onion key's secret comes before its public half.
    let key = |name: &str, from: usize| -> Option<[u8; 32]> {
        let bytes = fs::read(folder.join("data/keys").join(name)).ok()?;
        bytes.get(from..from + 32)?.try_into().ok()
    };
    let fingerprint = fs::read_to_string(folder.join("data/fingerprint")).ok()?;
    Some(Facts {
        address,
        identity: key("ed25519_master_id_public_key", 32)?,
        rsa: digits(fingerprint.split_whitespace().nth(1)?)?,
        onion_key: key("secret_onion_key_ntor", 64)?,
    })
}

/// Bytes from hexadecimal digits.
fn digits<const N: usize>(text: &str) -> Option<[u8; N]> {
    let mut bytes = [0; N];
    if text.len() != 2 * N || !text.bytes().all(|digit| digit.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_tor_with_cgo_is_taken() {
        assert_eq!(version("Tor version 0.4.9.11.").as_deref(), Ok("0.4.9.11"));
        assert_eq!(version("Tor version 0.5.0.1-alpha (git-0).").as_deref(), Ok("0.5.0.1-alpha"));
        for other in ["Tor version 0.4.8.16.", "tor 0.4.9.11", ""] {
            assert!(version(other).unwrap_err().contains("0.4.9 or later"), "{other}");
        }
    }

    #[test]
    fn a_script_that_waits_for_tor_is_not_tor() {
        let folder = env::temp_dir().join(format!("candor-tor-pid-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        assert_eq!(process(&folder), None);
        fs::write(folder.join("pid"), "4243\n").unwrap();
        assert_eq!(process(&folder), Some(4243));
        fs::remove_dir_all(&folder).unwrap();
        assert_eq!(is_the_started(4243, 4243), Ok(()));
        assert!(is_the_started(4243, 4242).unwrap_err().contains("must `exec` tor"));
    }

    #[test]
    fn the_openssl_below_tor_is_read_from_what_tor_says() {
        let said = "Tor version 0.4.9.11.\nTor is running on Linux with Libevent 2.1.12-stable, OpenSSL 3.0.22, Zlib 1.2.13, and Glibc 2.36 as libc.\n";
        assert_eq!(openssl(said).as_deref(), Some("OpenSSL 3.0.22"));
        assert_eq!((openssl("Tor version 0.4.9.11."), openssl("with OpenSSL , Zlib")), (None, None));
    }

    #[test]
    fn a_relay_is_what_its_files_say_once_all_are_there() {
        let folder = env::temp_dir().join(format!("candor-tor-facts-{}", std::process::id()));
        fs::create_dir_all(folder.join("data/keys")).unwrap();
        let write = |name: &str, bytes: &[u8]| fs::write(folder.join(name), bytes).unwrap();
        write("out", b"[notice] Opened OR listener connection (ready) on 127.0.0.1:4242\n");
        write("data/keys/ed25519_master_id_public_key", &[[1; 32], [2; 32]].concat());
        write("data/fingerprint", b"Unnamed 00112233445566778899AABBCCDDEEFF00112233\n");
        write("data/keys/secret_onion_key_ntor", &[3; 95]);
        assert_eq!(facts(&folder), None, "a key file that is cut short");
        write("data/keys/secret_onion_key_ntor", &[[3; 64].as_slice(), &[4; 32]].concat());
        let found = facts(&folder).unwrap();
        assert_eq!((found.address.port(), found.identity, found.onion_key), (4242, [2; 32], [4; 32]));
        assert_eq!(found.rsa[..3], [0x00, 0x11, 0x22]);
        write("data/fingerprint", b"Unnamed 00112233445566778899AABBCCDDEEFF0011223\n");
        assert_eq!(facts(&folder), None);
        fs::remove_dir_all(&folder).unwrap();
    }
}
