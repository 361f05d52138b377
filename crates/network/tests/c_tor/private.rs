//! A private network of C tor's on 127.0.0.1: authorities and relays.

use crate::programs::{Process, Programs};
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// How long anything of C tor's may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// What all have in common beside the authorities' lines.
const COMMON: &str = "
TestingTorNetwork 1
PathsNeededToBuildCircuits 0.67
ShutdownWaitLength 0
AvoidDiskWrites 1
Address 127.0.0.1
Log notice stdout
";

/// An authority votes every ten seconds, the shortest time that C tor takes, and gives flags to whoever asks. It tries itself whether relays can be reached.
const AUTHORITY: &str = "
AssumeReachable 0
AuthoritativeDirectory 1
V3AuthoritativeDirectory 1
ContactInfo nobody
SocksPort 0
ExitPolicy reject *:*
TestingV3AuthInitialVotingInterval 5
TestingV3AuthInitialVoteDelay 2
TestingV3AuthInitialDistDelay 2
V3AuthVotingInterval 10
V3AuthVoteDelay 2
V3AuthDistDelay 2
TestingDirAuthVoteExit *
TestingDirAuthVoteGuard *
TestingMinFastFlagThreshold 0
TestingMinExitFlagThreshold 0
AuthDirVoteStableGuaranteeMinUptime 1 second
";

const RELAY: &str = "
SocksPort 0
AssumeReachable 1
ExitRelay 1
ExitPolicy accept 127.0.0.0/8:*, accept private:*, accept *:*
ExitPolicyRejectPrivate 0
ServerDNSDetectHijacking 0
ServerDNSTestAddresses
";

/// A network. Its processes end with it.
pub(crate) struct Private {
    /// `ADDRESS/V3IDENT` of each authority.
    pub(crate) authorities: Vec<String>,
    /// The authorities' lines for every configuration.
    lines: String,
    processes: Vec<(String, Process)>,
    folder: TempDir,
}

/// An authority before it starts.
struct Draft {
    data: PathBuf,
    directory: SocketAddr,
    links: SocketAddr,
}

impl Private {
    /// Starts authorities and relays, named `authority0`, `relay0` and so on.
    pub(crate) fn start(programs: &Programs, authorities: usize, relays: usize) -> Self {
        let mut network = Self {
            authorities: Vec::new(),
            lines: String::new(),
            processes: Vec::new(),
            folder: tempfile::tempdir().unwrap(),
        };
        let mut drafts = Vec::new();
        for number in 0..authorities {
            let name = format!("authority{number}");
            let draft = Draft { data: network.make_folder(&name), directory: free_address(), links: free_address() };
            let directory = draft.directory.to_string();
            let identity = programs.make_authority(&draft.data, &directory);
            let fingerprint = programs.fingerprint(&draft.data);
            network.authorities.push(format!("{directory}/{identity}"));
            let port = draft.links.port();
            network.lines +=
                &format!("DirAuthority {name} orport={port} no-v2 v3ident={identity} {directory} {fingerprint}\n");
            drafts.push((name, draft));
        }
        for (name, draft) in drafts {
            let own = format!("DirPort {}\nORPort {}\n{AUTHORITY}", draft.directory, draft.links);
            network.run(programs, &name, &own);
        }
        for number in 0..relays {
            let own = format!("ORPort {}\n{RELAY}", free_address());
            network.run(programs, &format!("relay{number}"), &own);
        }
        network
    }

    /// Starts one more of that name.
    pub(crate) fn run(&mut self, programs: &Programs, name: &str, own: &str) {
        let data = self.make_folder(name);
        let all = format!("{}Nickname {name}\nDataDirectory {}\n{COMMON}{own}", self.lines, data.display());
        let process = Process::start(programs, &data, &all);
        self.processes.push((name.to_owned(), process));
    }

    /// What one of that name has said.
    pub(crate) fn said(&self, name: &str) -> String {
        self.processes.iter().find(|(known, _)| known == name).expect("a process of that name").1.said()
    }

    /// Fails if any process has ended, or that took too long: with what all have said.
    pub(crate) fn check(&self, since: Instant, what: &str) {
        let ended = self.processes.iter().find(|(_, process)| process.has_ended());
        let why = match ended {
            Some((name, _)) => format!("{name} has ended"),
            None if since.elapsed() > PATIENCE => format!("{what} took more than {} s", PATIENCE.as_secs()),
            None => return,
        };
        panic!("{why}\n{}", self.all_said());
    }

    /// What all have said.
    pub(crate) fn all_said(&self) -> String {
        self.processes.iter().map(|(name, process)| format!("--- {name}\n{}", process.said())).collect()
    }

    /// A folder that is its owner's alone, as C tor wants it.
    fn make_folder(&self, name: &str) -> PathBuf {
        let folder = self.folder.path().join(name);
        fs::create_dir_all(folder.join("keys")).unwrap();
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o700)).unwrap();
        fs::set_permissions(folder.join("keys"), fs::Permissions::from_mode(0o700)).unwrap();
        folder
    }
}

/// An address that nobody listens at, in a moment at least.
pub(crate) fn free_address() -> SocketAddr {
    TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap()
}
