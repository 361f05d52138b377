//! C tor's programs, and its processes.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;

/// `tor` and `tor-gencert`.
pub(crate) struct Programs {
    pub(crate) tor: PathBuf,
    gencert: PathBuf,
}

impl Programs {
    /// Those to test against, or why there are none.
    pub(crate) fn find() -> Result<Self, String> {
        let tor = std::env::var_os("CANDOR_TOR").map_or_else(|| PathBuf::from("tor"), PathBuf::from);
        let said = Command::new(&tor).arg("--version").output();
        let said = said.map_err(|error| format!("`{}` can't be run: {error}", tor.display()))?;
        let said = String::from_utf8_lossy(&said.stdout).into_owned();
        let version =
            said.strip_prefix("Tor version ").and_then(|rest| rest.split_whitespace().next()).unwrap_or_default();
        let numbers: Vec<u32> = version.split('.').map_while(|part| part.parse().ok()).collect();
        match numbers.as_slice() >= [0, 4, 9].as_slice() {
            // Beside it in the package, or both in the search path.
            true => Ok(Self { gencert: tor.with_file_name("tor-gencert"), tor }),
            false => Err(format!("`{}` is version `{version}`; CGO came with 0.4.9", tor.display())),
        }
    }

    /// The same, or tells that the test is skipped.
    pub(crate) fn or_skip() -> Option<Self> {
        match Self::find() {
            Ok(programs) => Some(programs),
            Err(why) => {
                // Not eprintln: libtest would keep it to itself.
                let told = writeln!(std::io::stderr(), "skipped: {why}; install Debian's package tor");
                told.unwrap();
                None
            }
        }
    }

    /// Makes an authority's keys in a data directory, for the directory at that address. Its `v3ident`.
    pub(crate) fn make_authority(&self, data: &Path, address: &str) -> String {
        let keys = data.join("keys");
        let mut making = Command::new(&self.gencert)
            .args(["--create-identity-key", "--passphrase-fd", "0", "-m", "1", "-a", address])
            .args([Path::new("-i"), &keys.join("authority_identity_key")])
            .args([Path::new("-s"), &keys.join("authority_signing_key")])
            .args([Path::new("-c"), &keys.join("authority_certificate")])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .unwrap_or_else(|error| panic!("{}: {error}", self.gencert.display()));
        making.stdin.take().unwrap().write_all(b"a passphrase for a minute\n").unwrap();
        assert!(making.wait().unwrap().success(), "tor-gencert");
        let certificate = fs::read_to_string(keys.join("authority_certificate")).unwrap();
        let line = certificate.lines().find_map(|line| line.strip_prefix("fingerprint "));
        line.expect("a certificate has a fingerprint").to_owned()
    }

    /// The RSA fingerprint of whoever has that data directory. Makes the key if there is none.
    pub(crate) fn fingerprint(&self, data: &Path) -> String {
        let said = Command::new(&self.tor)
            .args(["--quiet", "--list-fingerprint", "-f", "/dev/null", "--ignore-missing-torrc", "--DataDirectory"])
            .arg(data)
            .args(["--ORPort", "127.0.0.1:1", "--Nickname", "any", "--AssumeReachable", "1"])
            .args(["--DirAuthority", "x 127.0.0.1:1 ffffffffffffffffffffffffffffffffffffffff"])
            .output()
            .unwrap();
        let said = String::from_utf8(said.stdout).unwrap();
        said.lines().last().unwrap_or_default().split(' ').skip(1).collect()
    }
}

/// A process of C tor's. It is killed on drop.
pub(crate) struct Process {
    child: Mutex<Child>,
    folder: PathBuf,
}

impl Process {
    /// Starts `tor` with that configuration; its output goes into a folder, which is there.
    pub(crate) fn start(programs: &Programs, folder: &Path, configuration: &str) -> Self {
        let at = |name: &str| folder.join(name);
        fs::write(at("torrc"), configuration).unwrap();
        // Files and not pipes: whoever waits for the end of a pipe would wait for every process that holds it.
        let child = Command::new(&programs.tor)
            .args(["--defaults-torrc", "/dev/null", "-f"])
            .arg(at("torrc"))
            .stdin(Stdio::null())
            .stdout(File::create(at("out")).unwrap())
            .stderr(File::create(at("err")).unwrap())
            .spawn()
            .unwrap();
        Self { child: Mutex::new(child), folder: folder.to_owned() }
    }

    /// What it has said.
    pub(crate) fn said(&self) -> String {
        fs::read_to_string(self.folder.join("out")).unwrap_or_default()
    }

    pub(crate) fn has_ended(&self) -> bool {
        self.child.lock().unwrap().try_wait().unwrap().is_some()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let child = self.child.get_mut().unwrap();
        let _ = child.kill();
        let _ = child.wait();
    }
}
