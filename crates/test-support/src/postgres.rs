//! A PostgreSQL server of the tests' own: in a new folder, reached by a socket in that folder, gone when the test process is.

use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Debian's place for the programs of each release.
const PROGRAMS: &str = "/usr/lib/postgresql";
/// The account that Debian's package makes.
const ACCOUNT: &str = "postgres";
/// Keeps the server while its standard input is open, and then removes the folder. So the server goes when the test process does, however that
/// ends.
const KEEPER: &str =
    r#""$@" > "$FOLDER/log" 2>&1 & server=$!; cat > /dev/null; kill -QUIT $server; wait $server; rm -rf "$FOLDER""#;

/// A server.
pub struct Postgres {
    folder: PathBuf,
    programs: PathBuf,
    keeper: Option<Child>,
    /// Where it listens on 127.0.0.1; not at all without one.
    port: Option<u16>,
    databases: AtomicU32,
}

/// The server that all tests of a process share; `Err` says what this machine lacks.
pub fn shared() -> Result<&'static Postgres, &'static str> {
    static SHARED: OnceLock<Result<Postgres, String>> = OnceLock::new();
    SHARED.get_or_init(Postgres::start).as_ref().map_err(String::as_str)
}

/// Says on standard error, past the test harness, that a test did not run and why.
pub fn skipped(test: &str, why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {test}: {why}");
}

impl Postgres {
    /// Starts a server. `Err` says what this machine lacks.
    pub fn start() -> Result<Self, String> {
        Self::start_at(None)
    }

    /// Starts a server that listens on a port of 127.0.0.1 too. `Err` says what this machine lacks.
    pub fn start_on_tcp() -> Result<Self, String> {
        let free = TcpListener::bind("127.0.0.1:0").and_then(|listener| listener.local_addr());
        Self::start_at(Some(free.map_err(|error| error.to_string())?.port()))
    }

    fn start_at(port: Option<u16>) -> Result<Self, String> {
        let programs = newest_release().ok_or("no PostgreSQL here (Debian package postgresql)")?;
        let folder = new_folder();
        let mut server = Self { folder, programs, keeper: None, port, databases: AtomicU32::new(0) };
        if is_root() {
            // The server refuses to run as root.
            let owned = Command::new("chown").arg(ACCOUNT).arg(&server.folder).output();
            if !owned.is_ok_and(|output| output.status.success()) {
                return Err(format!("no account {ACCOUNT} on this machine"));
            }
        }
        let data = server.folder.join("data");
        let made = server
            .program("initdb")
            .args(["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync", "--username", ACCOUNT, "-D"])
            .arg(&data)
            .output();
        expect(made, "initdb");
        server.resume();
        Ok(server)
    }

    /// The URL of a new database.
    pub fn database(&self) -> String {
        let name = format!("d{}", self.databases.fetch_add(1, Ordering::Relaxed));
        let made = self
            .program("psql")
            .args(["-q", "-U", ACCOUNT, "-d", ACCOUNT, "-c", &format!("CREATE DATABASE {name}"), "-h"])
            .arg(&self.folder)
            .output();
        expect(made, "psql");
        let port = self.port.map(|port| format!("&port={port}")).unwrap_or_default();
        format!("postgres:///{name}?user={ACCOUNT}&host={}{port}", self.folder.display())
    }

    /// The URL of a database that [`Self::database`] made, by TCP and this name of the machine.
    pub fn by_tcp(&self, url: &str, host: &str) -> String {
        let port = self.port.expect("a server that listens on a port");
        format!("postgres://{ACCOUNT}@{host}:{port}/{}", name_of(url))
    }

    /// A file that only the server's account can read.
    pub fn private_file(&self, name: &str, content: &str) -> PathBuf {
        let path = self.folder.join(name);
        let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path).expect("a new file");
        file.write_all(content.as_bytes()).expect("room for a file");
        if is_root() {
            expect(Command::new("chown").arg(ACCOUNT).arg(&path).output(), "chown");
        }
        path
    }

    /// Runs statements in the database at `url`, one that [`Self::database`] made.
    pub fn run(&self, url: &str, statements: &str) {
        let name = name_of(url);
        let command = ["-q", "-v", "ON_ERROR_STOP=1", "-U", ACCOUNT, "-d", name, "-c", statements, "-h"];
        expect(self.program("psql").args(command).arg(&self.folder).output(), "psql");
    }

    /// Stops the server as an operator does who does not wait for clients to leave.
    pub fn pause(&mut self) {
        let data = self.folder.join("data");
        expect(self.program("pg_ctl").args(["-m", "fast", "-w", "stop", "-D"]).arg(data).output(), "pg_ctl");
        // It holds the folder, which has to stay.
        if let Some(mut keeper) = self.keeper.take() {
            let _ = keeper.kill();
            let _ = keeper.wait();
        }
    }

    /// Starts the server again.
    pub fn resume(&mut self) {
        let mut keeper = Command::new("sh");
        keeper.args(["-c", KEEPER, "keeper"]).env("FOLDER", &self.folder).stdin(Stdio::piped());
        let server = self.program("postgres");
        keeper.arg(server.get_program()).args(server.get_args());
        keeper.arg("-D").arg(self.folder.join("data")).arg("-k").arg(&self.folder);
        // By the socket in the folder, and by TCP only if that was asked for. Nobody cuts the power of a test, so nothing has to reach the disk.
        let addresses = if self.port.is_some() { "listen_addresses=127.0.0.1" } else { "listen_addresses=" };
        keeper.args(["-c", addresses, "-c", "fsync=off", "-c", "max_connections=200"]);
        keeper.stdout(Stdio::null()).stderr(Stdio::null());
        keeper.envs(server.get_envs().filter_map(|(name, value)| Some((name, value?))));
        self.keeper = Some(keeper.spawn().expect("a shell"));
        for _ in 0..1200 {
            let ready = self.program("pg_isready").arg("-q").arg("-h").arg(&self.folder).output();
            if ready.is_ok_and(|output| output.status.success()) {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        let log = fs::read_to_string(self.folder.join("log")).unwrap_or_default();
        panic!("PostgreSQL did not start within a minute:\n{log}");
    }

    /// One of PostgreSQL's programs, as the account that may run it.
    fn program(&self, name: &str) -> Command {
        let path = self.programs.join(name);
        let mut command = if is_root() {
            let mut command = Command::new("setpriv");
            command.args(["--reuid", ACCOUNT, "--regid", ACCOUNT, "--clear-groups"]).arg(path);
            command
        } else {
            Command::new(path)
        };
        if let Some(port) = self.port {
            command.env("PGPORT", port.to_string());
        }
        command.current_dir(&self.folder).stdin(Stdio::null());
        command
    }
}

impl Drop for Postgres {
    fn drop(&mut self) {
        match self.keeper.take() {
            Some(mut keeper) => {
                drop(keeper.stdin.take());
                let _ = keeper.wait();
            }
            None => drop(fs::remove_dir_all(&self.folder)),
        }
    }
}

/// The name of the database of a URL.
fn name_of(url: &str) -> &str {
    url.split(['/', '?']).find(|part| part.starts_with('d')).expect("a URL of this server")
}

fn newest_release() -> Option<PathBuf> {
    let releases = fs::read_dir(PROGRAMS).ok()?.flatten().map(|entry| entry.path().join("bin"));
    releases.filter(|folder| folder.join("postgres").exists()).max()
}

/// A new folder that the server's account can reach. (What tempfile makes is its maker's only, and a path to a socket must be short.)
fn new_folder() -> PathBuf {
    static MADE: AtomicU32 = AtomicU32::new(0);
    let number = MADE.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("candor-postgres-{}-{number}", std::process::id()));
    let _ = fs::remove_dir_all(&folder);
    fs::create_dir(&folder).expect("a temporary folder");
    folder
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata(Path::new("/proc/self")).is_ok_and(|metadata| metadata.uid() == 0)
}

fn expect(output: std::io::Result<Output>, program: &str) {
    let output = output.unwrap_or_else(|error| panic!("can't start {program}: {error}"));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{program}: {} {said}", output.status);
}
