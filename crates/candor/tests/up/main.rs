//! `candor onion up`: seven processes that start, serve and end together, and the page that shows them.

mod page;

use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

const CANDOR: &str = env!("CARGO_BIN_EXE_candor");
/// How long anything may take that has to come about.
const DEADLINE: Duration = Duration::from_secs(60);

/// A network that was started, and killed when the test is over.
pub(crate) struct Up {
    child: Child,
    _stdout: BufReader<ChildStdout>,
    /// The line that says where everything is.
    said: Value,
}

const RELAYS: [&str; 3] = ["guard", "middle", "exit"];
/// The flags that let several networks run beside each other.
const ANY_PORTS: [&str; 6] = ["--socks", "127.0.0.1:0", "--target", "127.0.0.1:0", "--monitor", "127.0.0.1:0"];

impl Up {
    pub(crate) fn start() -> Self {
        let mut child = Command::new(CANDOR)
            .args(["onion", "up", "--format", "json", "--wait", "60"])
            .args(ANY_PORTS)
            // A terminal gives Ctrl-C to a group of processes.
            .process_group(0)
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("candor starts");
        let mut stdout = BufReader::new(child.stdout.take().unwrap());
        let mut line = String::new();
        stdout.read_line(&mut line).unwrap();
        let said = serde_json::from_str(&line).unwrap_or_else(|error| {
            let mut talk = String::new();
            let _ = child.stderr.take().unwrap().read_to_string(&mut talk);
            panic!("{error}: {line}{talk}")
        });
        Self { child, _stdout: stdout, said }
    }

    pub(crate) fn text(&self, key: &str) -> &str {
        self.said[key].as_str().unwrap_or_else(|| panic!("{key} is a text: {}", self.said))
    }

    fn roles(&self) -> impl Iterator<Item = (&str, u32)> {
        let role = |role: &'_ Value| role["process"].as_u64().map(|process| process as u32);
        let roles = self.said["roles"].as_array().expect("there are roles");
        roles.iter().map(move |each| (each["name"].as_str().unwrap(), role(each).unwrap()))
    }

    pub(crate) fn metrics(&self, name: &str) -> &str {
        let roles = self.said["roles"].as_array().expect("there are roles");
        let role = roles.iter().find(|role| role["name"] == name).expect("that role is there");
        role["metrics"].as_str().unwrap()
    }

    /// Fetches so many bytes of the target through the proxy, as a client of SOCKS 5 that lets the exit look the name up.
    pub(crate) fn fetch(&self, length: usize) -> Vec<u8> {
        let port = self.text("target").trim_end_matches('/').rsplit(':').next().unwrap().parse::<u16>().unwrap();
        let mut tcp = TcpStream::connect(self.text("socks")).unwrap();
        tcp.set_read_timeout(Some(DEADLINE)).unwrap();
        tcp.write_all(&[&[5, 1, 0, 5, 1, 0, 3, 9][..], b"127.0.0.1", &port.to_be_bytes()].concat()).unwrap();
        let mut answers = [0; 12];
        tcp.read_exact(&mut answers).unwrap();
        assert_eq!(answers[..4], [5, 0, 5, 0], "the stream is opened");
        write!(tcp, "GET /bytes/{length} HTTP/1.1\r\nHost: x\r\n\r\n").unwrap();
        let mut answer = Vec::new();
        tcp.read_to_end(&mut answer).unwrap();
        let head = answer.windows(4).position(|bytes| bytes == b"\r\n\r\n").expect("an answer has a head") + 4;
        answer.split_off(head)
    }

    /// Waits until the parent has ended; how, and what it said.
    fn ended(&mut self) -> (ExitStatus, String) {
        let until = Instant::now() + DEADLINE;
        let mut talk = self.child.stderr.take().unwrap();
        let read = std::thread::spawn(move || {
            let mut text = String::new();
            let _ = talk.read_to_string(&mut text);
            text
        });
        loop {
            if let Some(status) = self.child.try_wait().unwrap() {
                return (status, read.join().unwrap());
            }
            assert!(Instant::now() < until, "it ends in time");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    fn until_all_are_gone(&self) {
        let until = Instant::now() + DEADLINE;
        for (name, process) in self.roles() {
            while lives(process) {
                assert!(Instant::now() < until, "{name} is gone in time");
                std::thread::sleep(Duration::from_millis(20));
            }
        }
    }
}

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Whether a process runs. One that has ended and that nobody waits for does not.
fn lives(process: u32) -> bool {
    let Ok(status) = std::fs::read_to_string(format!("/proc/{process}/status")) else { return false };
    !status.lines().any(|line| line.starts_with("State:\tZ"))
}

/// What a GET is answered with.
fn get(url: &str) -> String {
    let (host, path) = url.strip_prefix("http://").and_then(|rest| rest.split_once('/')).expect("a URL");
    let mut tcp = TcpStream::connect(host).unwrap();
    write!(tcp, "GET /{path} HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).unwrap();
    answer
}

fn signal(to: &str, signal: &str) {
    assert!(Command::new("kill").args([signal, "--", to]).status().expect("kill is in procps").success());
}

#[test]
fn seven_processes_carry_a_page_and_end_tidily_on_ctrl_c() {
    let mut up = Up::start();
    let names: Vec<_> = up.roles().map(|(name, _)| name).collect();
    assert_eq!(names, ["directory", "target", "guard", "middle", "exit", "proxy", "monitor"]);
    assert!(up.roles().all(|(_, process)| lives(process)));
    // Where the system tells, all of it together stays below 120 MB.
    match up.said["memory_kb"].as_u64() {
        Some(memory) => assert!((1_000..120_000).contains(&memory), "{}", up.said),
        None => writeln!(std::io::stderr(), "skipped: no /proc/PID/smaps_rollup here").unwrap(),
    }
    assert!(up.said["ready_ms"].is_u64());
    assert_eq!((up.said["test_network"].as_bool(), up.fetch(300_000).len()), (Some(true), 300_000));
    match Command::new("curl")
        .args(["--silent", "--show-error", "--noproxy", "", "--socks5-hostname", up.text("socks")])
        .arg(format!("{}bytes/1000", up.text("target")))
        .output()
    {
        Ok(output) => assert_eq!(output.stdout.len(), 1000, "{}", String::from_utf8_lossy(&output.stderr)),
        // Past the test harness, which swallows what a passing test prints.
        Err(error) => writeln!(std::io::stderr(), "skipped: curl does not start: {error}").unwrap(),
    }
    for (role, name, least) in [
        ("directory", "candor_directory_consensus_relays", 3.0),
        ("target", "candor_target_bytes_total", 300_000.0),
        ("guard", "candor_relay_cells_total", 600.0),
        ("middle", "candor_relay_cells_total", 600.0),
        ("exit", "candor_relay_exit", 1.0),
        ("proxy", "candor_proxy_bytes_total{way=\"down\"}", 300_000.0),
        ("monitor", "candor_monitor_up{name=\"guard\"}", 1.0),
    ] {
        let kind = if RELAYS.contains(&role) { "relay" } else { role };
        let until = Instant::now() + DEADLINE;
        loop {
            let text = get(up.metrics(role));
            assert!(text.contains(&format!("candor_info{{role=\"{kind}\",name=\"{role}\"")), "{text}");
            let line = text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<f64>().ok());
            if line.is_some_and(|value| value >= least) {
                break;
            }
            // The monitor may not have asked everybody yet.
            assert!(Instant::now() < until, "{role}: {name}: {text}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }
    // The group of the terminal: only the parent is in it.
    signal(&format!("-{}", up.child.id()), "-INT");
    let (status, talk) = up.ended();
    assert!(status.success(), "{talk}");
    assert!(talk.contains("stopping") && !talk.contains("ended ("), "{talk}");
    up.until_all_are_gone();
}

#[test]
fn no_process_outlives_a_parent_that_is_killed() {
    let mut up = Up::start();
    assert!(up.roles().all(|(_, process)| lives(process)));
    up.child.kill().unwrap();
    up.child.wait().unwrap();
    up.until_all_are_gone();
}

#[test]
fn when_a_part_dies_it_is_named_and_the_others_are_stopped() {
    let mut up = Up::start();
    let middle = up.roles().find(|(name, _)| *name == "middle").unwrap().1;
    signal(&middle.to_string(), "-KILL");
    let (status, talk) = up.ended();
    assert_eq!(status.code(), Some(2), "{talk}");
    assert!(talk.contains("error: middle ended (signal: 9 (SIGKILL)"), "{talk}");
    up.until_all_are_gone();
}

#[test]
fn a_port_that_is_taken_is_an_error_that_names_who_wanted_it() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    for (flag, role) in [("--socks", "proxy"), ("--target", "target"), ("--monitor", "monitor")] {
        let mut flags = ANY_PORTS;
        let place = flags.iter().position(|word| *word == flag).unwrap();
        flags[place + 1] = &address;
        let output = Command::new(CANDOR).args(["onion", "up", "--quiet"]).args(flags).output().unwrap();
        let talk = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!((output.status.code(), output.stdout.len()), (Some(2), 0), "{talk}");
        assert!(talk.contains(&format!("error: {role} ended")) && talk.contains(&address), "{talk}");
    }
}

#[test]
fn the_roles_of_a_host_are_started_from_a_file_and_no_others() {
    let folder = tempfile::tempdir().unwrap();
    let file = "[role.target]\nhost = \"one\"\nlisten = \"127.0.0.1:0\"\n\
                [role.ada]\nrun = \"relay\"\nhost = \"one\"\nrelays = \"relays.jsonl\"\nmetrics = \"127.0.0.1:0\"\n\
                [role.bob]\nrun = \"relay\"\nhost = \"two\"\nlinks = 0\n";
    std::fs::write(folder.path().join("network.toml"), file).unwrap();
    let up = |host: &str| {
        let mut command = Command::new(CANDOR);
        command.args(["onion", "up", "--format", "json", "--network", "network.toml", "--host", host]);
        command.current_dir(folder.path()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    let mut child = up("one");
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    let said: Value = serde_json::from_str(&line).unwrap();
    let names: Vec<_> = said["roles"].as_array().unwrap().iter().map(|role| role["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["ada", "target"], "{line}");
    assert!(said["roles"][1]["said"]["address"].is_string(), "{line}");
    signal(&child.id().to_string(), "-TERM");
    assert!(child.wait().unwrap().success());
    for (host, expected) in
        [("two", "role `bob`: invalid value '0' for '--links"), ("three", "no role runs on host `three`")]
    {
        let output = up(host).wait_with_output().unwrap();
        let talk = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && talk.contains(expected), "{talk}");
    }
}

#[test]
fn a_process_whose_parent_is_gone_before_it_looks_ends_at_once() {
    let start = |parent: u32| {
        let mut command = Command::new(CANDOR);
        command.args(["onion", "target"]).env("CANDOR_PARENT", parent.to_string());
        command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    };
    // Process 1 started none of them.
    let orphan = start(1).wait_with_output().unwrap();
    let talk = String::from_utf8_lossy(&orphan.stderr).into_owned();
    assert!(
        orphan.status.code() == Some(2) && orphan.stdout.is_empty() && talk.contains("is not its parent"),
        "{talk}"
    );
    let mut child = start(std::process::id());
    let mut line = String::new();
    BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
    assert!(line.contains("address"), "{line}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn a_network_goes_on_when_nobody_reads_what_it_says() {
    let mut up = Up::start();
    drop(up.child.stderr.take());
    // The proxy logs a stream that fails, and its parent passes that on.
    let mut tcp = TcpStream::connect(up.text("socks")).unwrap();
    tcp.write_all(b"nonsense").unwrap();
    let _ = tcp.read_to_end(&mut Vec::new());
    assert_eq!(up.fetch(1000).len(), 1000);
    assert!(up.child.try_wait().unwrap().is_none() && up.roles().all(|(_, process)| lives(process)));
}
