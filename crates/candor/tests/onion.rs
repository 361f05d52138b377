//! `candor onion` as processes: three relays, a target, a fetch.

use sha2::{Digest, Sha256};
use std::io::{BufRead, BufReader, Read};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Output, Stdio};

const CANDOR: &str = env!("CARGO_BIN_EXE_candor");

/// A process that is killed when the test is over.
struct Daemon(Child);

impl Drop for Daemon {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Starts a command that serves, and gives its first line.
fn daemon(arguments: &[&str], directory: &Path) -> (Daemon, String) {
    let mut child = Command::new(CANDOR)
        .args(arguments)
        .current_dir(directory)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("candor starts");
    let mut line = String::new();
    let mut stdout = BufReader::new(child.stdout.take().unwrap());
    stdout.read_line(&mut line).unwrap();
    (Daemon(child), line)
}

fn fetch(arguments: &[&str], directory: &Path) -> Output {
    let fetch = [&["onion", "fetch"], arguments].concat();
    Command::new(CANDOR).args(fetch).current_dir(directory).output().expect("candor starts")
}

#[test]
fn three_relay_processes_carry_a_fetch() {
    let dir = tempfile::tempdir().unwrap();
    let (_target, said) = daemon(&["onion", "target"], dir.path());
    let target: serde_json::Value = serde_json::from_str(&said).unwrap();
    let target = target["address"].as_str().unwrap().to_owned();

    std::fs::write(dir.path().join("exit.toml"), format!("exit = \"{target}\"\nhandshake-threads = 1\n")).unwrap();
    let (_ada, ada) =
        daemon(&["onion", "relay", "--name", "ada", "--keys", "ada.keys", "--entry", "ada.json"], dir.path());
    let (_bob, bob) = daemon(&["onion", "relay", "--name", "bob", "--handshakes", "ntor-v3,hybrid-768"], dir.path());
    let (cyd_process, cyd) = daemon(&["onion", "relay", "--name", "cyd", "--config", "exit.toml"], dir.path());
    assert_eq!(std::fs::read_to_string(dir.path().join("ada.json")).unwrap(), ada);
    std::fs::write(dir.path().join("relays.jsonl"), format!("{ada}{bob}{cyd}")).unwrap();

    let url = format!("http://{target}/bytes/300000");
    let output = fetch(&[&url, "--relays", "relays.jsonl"], dir.path());
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{talk}");
    assert!(talk.contains("circuit by hybrid-768") && talk.contains("hop 3"), "{talk}");
    assert_eq!(output.stdout.len(), 300_000);

    let options = ["--handshake", "ntor-v3", "--cells", "tor1", "--path", "bob,ada,cyd", "-o", "page", "--quiet"];
    let again = fetch(&[&[url.as_str(), "--relays", "relays.jsonl"], options.as_slice()].concat(), dir.path());
    assert!(again.status.success() && again.stdout.is_empty() && again.stderr.is_empty(), "{again:?}");
    let page = std::fs::read(dir.path().join("page")).unwrap();
    assert_eq!(Sha256::digest(&page), Sha256::digest(&output.stdout));

    let named = ["--path", "ada,bob,cyd"];
    let refused =
        [&[url.as_str(), "--relays", "relays.jsonl", "--handshake", "hybrid-768-auth"], named.as_slice()].concat();
    let refused = fetch(&refused, dir.path());
    let talk = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert_eq!(refused.status.code(), Some(2));
    assert!(talk.contains("bob at") && talk.contains("does not offer hybrid-768-auth"), "{talk}");

    let missing = fetch(&[&format!("http://{target}/nothing"), "--relays", "relays.jsonl"], dir.path());
    assert_eq!(missing.status.code(), Some(1), "{}", String::from_utf8_lossy(&missing.stderr));

    drop(cyd_process);
    let gone = fetch(&[&url, "--relays", "relays.jsonl"], dir.path());
    let talk = String::from_utf8_lossy(&gone.stderr).into_owned();
    assert_eq!(gone.status.code(), Some(2));
    assert!(talk.contains("hop 3") && talk.contains("cyd at"), "{talk}");
}

/// The README's three lines, but for the port.
#[test]
fn a_page_in_three_commands() {
    let dir = tempfile::tempdir().unwrap();
    let (_target, said) = daemon(&["onion", "target"], dir.path());
    let target: serde_json::Value = serde_json::from_str(&said).unwrap();
    let target = target["address"].as_str().unwrap();
    let _relays = ["ada", "bob", "cyd"].map(|name| {
        let relay = ["onion", "relay", "--name", name, "--relays", "relays.jsonl", "--exit", target];
        Daemon(Command::new(CANDOR).args(relay).current_dir(dir.path()).stderr(Stdio::null()).spawn().unwrap())
    });
    let url = format!("http://{target}/bytes/300000");
    let output = fetch(&[&url, "--relays", "relays.jsonl", "--wait", "60", "-o", "page"], dir.path());
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let page = std::fs::read(dir.path().join("page")).unwrap();
    assert_eq!(page.len(), 300_000);

    // A fetch that fails leaves the file as it was, and nothing beside it.
    let elsewhere = fetch(&["http://127.0.0.1:9/", "--relays", "relays.jsonl", "-o", "page"], dir.path());
    let talk = String::from_utf8_lossy(&elsewhere.stderr).into_owned();
    assert!(elsewhere.status.code() == Some(2) && talk.contains("is an exit to 127.0.0.1:9"), "{talk}");
    let refused = fetch(&[&url, "--relays", "relays.jsonl", "-o", "page", "--path", "ada,nobody"], dir.path());
    assert_eq!(refused.status.code(), Some(2));
    assert_eq!(std::fs::read(dir.path().join("page")).unwrap(), page);
    assert!(!dir.path().join("page.partial").exists());

    // Whoever reads the page may stop at any time.
    let big = format!("http://{target}/bytes/3000000");
    let mut cut = Command::new(CANDOR)
        .args(["onion", "fetch", &big, "--relays", "relays.jsonl"])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut some = [0; 100];
    cut.stdout.take().unwrap().read_exact(&mut some).unwrap();
    let cut = cut.wait_with_output().unwrap();
    assert!(cut.status.success(), "{}", String::from_utf8_lossy(&cut.stderr));
}

#[test]
fn a_relay_that_freezes_during_a_fetch_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let (_target, said) = daemon(&["onion", "target"], dir.path());
    let target: serde_json::Value = serde_json::from_str(&said).unwrap();
    let target = target["address"].as_str().unwrap();
    let [_ada, (bob, _), _cyd] = ["ada", "bob", "cyd"]
        .map(|name| listed_relay(&["--name", name, "--relays", "relays.jsonl", "--exit", target], dir.path()));
    let url = format!("http://{target}/bytes/100000000");
    let mut fetch = Command::new(CANDOR)
        .args(["onion", "fetch", &url, "--relays", "relays.jsonl", "--path", "ada,bob,cyd", "--patience", "2"])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut page = fetch.stdout.take().unwrap();
    page.read_exact(&mut [0; 100]).unwrap();
    let frozen = Command::new("kill").args(["-STOP", &bob.0.id().to_string()]).status().unwrap();
    assert!(frozen.success());
    std::io::copy(&mut page, &mut std::io::sink()).unwrap();
    let output = fetch.wait_with_output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.code() == Some(2) && talk.contains("hop 2") && talk.contains("bob"), "{talk}");
}

#[test]
fn a_relay_that_can_not_listen_leaves_no_keys_behind() {
    let dir = tempfile::tempdir().unwrap();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let relay = ["onion", "relay", "--keys", "keys", "--listen", &address];
    let output = Command::new(CANDOR).args(relay).current_dir(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(!dir.path().join("keys").exists());
    let authority = "127.0.0.1:1/F7FB9FD1811AE912462DC8982B2181338516466F";
    let with_tor = [&relay[..], &["--tor-keys", "rsa", "--tor-authority", authority]].concat();
    let output = Command::new(CANDOR).args(&with_tor).current_dir(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(["keys", "rsa"].iter().all(|name| !dir.path().join(name).exists()));
    // Neither are any made for a relay that could never be listed.
    let output = Command::new(CANDOR).args(with_tor).args(["--name", "my-relay"]).current_dir(dir.path()).output();
    let output = output.unwrap();
    assert!(String::from_utf8_lossy(&output.stderr).contains("1 to 19 letters and digits"), "{output:?}");
    assert!(["keys", "rsa"].iter().all(|name| !dir.path().join(name).exists()));
    // Keys that were there stay.
    let (old, _) = daemon(&["onion", "relay", "--keys", "keys"], dir.path());
    drop(old);
    let output = Command::new(CANDOR).args(relay).current_dir(dir.path()).output().unwrap();
    assert_eq!(output.status.code(), Some(2));
    assert!(dir.path().join("keys").exists());
}

#[test]
fn a_relay_ends_in_good_order_when_it_is_asked_to() {
    let dir = tempfile::tempdir().unwrap();
    let (mut relay, line) = daemon(&["onion", "relay", "--keys", "keys"], dir.path());
    assert!(line.contains("\"identity\""), "{line}");
    let pid = relay.0.id().to_string();
    assert!(Command::new("kill").args(["-TERM", &pid]).status().unwrap().success());
    assert!(relay.0.wait().unwrap().success());
    // The same keys the next time.
    let (_again, second) = daemon(&["onion", "relay", "--keys", "keys"], dir.path());
    let identity = |line: &str| serde_json::from_str::<serde_json::Value>(line).unwrap()["identity"].clone();
    assert_eq!(identity(&line), identity(&second));
}

/// A relay that is ready, and what it says from then on.
fn listed_relay(arguments: &[&str], directory: &Path) -> (Daemon, BufReader<ChildStderr>) {
    let mut command = Command::new(CANDOR);
    command.args(["onion", "relay"]).args(arguments);
    ready(command, directory)
}

fn ready(mut command: Command, directory: &Path) -> (Daemon, BufReader<ChildStderr>) {
    let mut child = command.current_dir(directory).stderr(Stdio::piped()).spawn().expect("candor starts");
    let mut talk = BufReader::new(child.stderr.take().unwrap());
    until_said(&mut talk, "is ready");
    (Daemon(child), talk)
}

fn until_said(talk: &mut BufReader<ChildStderr>, words: &str) -> String {
    let mut line = String::new();
    while !line.contains(words) {
        line.clear();
        assert!(talk.read_line(&mut line).unwrap() > 0, "the relay ended before it said `{words}`");
    }
    line
}

/// The address of the relay of that name.
fn address_of(name: &str, directory: &Path) -> String {
    let list = std::fs::read_to_string(directory.join("relays.jsonl")).unwrap();
    let entries = list.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let entry = entries.into_iter().find(|entry| entry["name"] == name).expect("it is listed");
    entry["address"].as_str().unwrap().to_owned()
}

#[test]
fn a_relay_has_limits_for_strangers_and_none_for_the_relays_of_its_list() {
    let dir = tempfile::tempdir().unwrap();
    let (_target, said) = daemon(&["onion", "target"], dir.path());
    let target: serde_json::Value = serde_json::from_str(&said).unwrap();
    let target = target["address"].as_str().unwrap();
    let url = format!("http://{target}/bytes/1000");
    let _bob = listed_relay(&["--name", "bob", "--relays", "bob.jsonl"], dir.path());
    let bob = std::fs::read_to_string(dir.path().join("bob.jsonl")).unwrap();
    // Ada has one place for all of this machine. The link that bob makes to her stays, and takes it, unless her list has bob.
    for listed in [false, true] {
        std::fs::write(dir.path().join("ada.jsonl"), if listed { bob.as_str() } else { "" }).unwrap();
        let limits = ["--test-networks", "192.0.2.0/24", "--links-per-network", "1"];
        let ada = [&["--name", "ada", "--relays", "ada.jsonl", "--exit", target], limits.as_slice()].concat();
        let (_ada, mut talk) = listed_relay(&ada, dir.path());
        let ada = std::fs::read_to_string(dir.path().join("ada.jsonl")).unwrap();
        let all = if listed { ada } else { ada + &bob };
        std::fs::write(dir.path().join("relays.jsonl"), all).unwrap();
        let fetch = |path| fetch(&[&url, "--relays", "relays.jsonl", "--path", path, "--quiet"], dir.path());
        let through_bob = fetch("bob,ada");
        assert!(through_bob.status.success(), "{through_bob:?}");
        let direct = fetch("ada");
        assert_eq!(direct.status.success(), listed, "{direct:?}");
        if !listed {
            assert!(until_said(&mut talk, "refused").contains("from one network"));
        }
    }
}

#[test]
fn a_relay_that_has_too_many_files_open_says_so_and_serves_again_afterwards() {
    let dir = tempfile::tempdir().unwrap();
    let (_target, said) = daemon(&["onion", "target"], dir.path());
    let target: serde_json::Value = serde_json::from_str(&said).unwrap();
    let target = target["address"].as_str().unwrap();
    let mut shell = Command::new("sh");
    let relay = "ulimit -n 40; exec \"$0\" onion relay --name ada --relays relays.jsonl --exit \"$1\"";
    shell.args(["-c", relay, CANDOR, target]);
    let (_ada, mut talk) = ready(shell, dir.path());
    let address = address_of("ada", dir.path());
    let silent: Vec<_> = (0..60).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let said = until_said(&mut talk, "too many open files");
    assert!(said.contains("ulimit -n"), "{said}");
    drop(silent);
    let url = format!("http://{target}/bytes/1000");
    let served = fetch(&[&url, "--relays", "relays.jsonl", "--path", "ada", "--quiet"], dir.path());
    assert!(served.status.success() && served.stdout.len() == 1000, "{served:?}");
}

#[test]
fn a_directory_raises_its_limit_of_open_files_or_says_that_it_is_too_low() {
    for (limit, too_low) in [("ulimit -Sn 100", false), ("ulimit -n 100", true)] {
        let dir = tempfile::tempdir().unwrap();
        let mut shell = Command::new("sh");
        let directory = "exec \"$0\" onion directory --listen 127.0.0.1:0 --keys keys";
        shell.args(["-c", &format!("{limit}; {directory}"), CANDOR]).current_dir(dir.path());
        let mut child = shell.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("a shell starts");
        let (stdout, stderr) = (child.stdout.take().unwrap(), child.stderr.take().unwrap());
        let directory = Daemon(child);
        BufReader::new(stdout).read_line(&mut String::new()).unwrap();
        let Ok(limits) = std::fs::read_to_string(format!("/proc/{}/limits", directory.0.id())) else {
            return eprintln!("skipped: this system doesn't tell what a process may open");
        };
        let line = limits.lines().find(|line| line.starts_with("Max open files")).unwrap();
        let [soft, hard] = [3, 4].map(|word| line.split_whitespace().nth(word).unwrap());
        assert_eq!(soft, hard, "{limit}");
        drop(directory);
        let said = std::io::read_to_string(stderr).unwrap();
        assert_eq!(said.contains("allows 100 open files") && said.contains("ulimit -n"), too_low, "{said}");
    }
}

/// The README's line with `proxy`, but for the ports; a name is looked up by the exit.
#[test]
fn a_proxy_process_carries_a_page_and_says_what_it_is_not() {
    use std::io::Write;
    let dir = tempfile::tempdir().unwrap();
    let (_target, said) = daemon(&["onion", "target"], dir.path());
    let target: serde_json::Value = serde_json::from_str(&said).unwrap();
    let target: std::net::SocketAddr = target["address"].as_str().unwrap().parse().unwrap();
    let relays = ["ada", "bob", "cyd"]
        .map(|name| daemon(&["onion", "relay", "--name", name, "--exit", &target.to_string()], dir.path()));
    let list: String = relays.iter().map(|(_, line)| line.as_str()).collect();
    std::fs::write(dir.path().join("relays.jsonl"), list).unwrap();

    let port = target.port().to_string();
    let mut proxy = Command::new(CANDOR)
        .args(["onion", "proxy", "--listen", "127.0.0.1:0", "--relays", "relays.jsonl", "--state", "guards.json"])
        .args(["--test-network", "--ports", &port])
        .current_dir(dir.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("candor starts");
    let (stdout, stderr) = (proxy.stdout.take().unwrap(), proxy.stderr.take().unwrap());
    let _proxy = Daemon(proxy);
    let mut line = String::new();
    let mut stderr = BufReader::new(stderr);
    stderr.read_line(&mut line).unwrap();
    assert!(line.contains("research network") && line.contains("no anonymity"), "{line}");
    line.clear();
    BufReader::new(stdout).read_line(&mut line).unwrap();
    let ready: serde_json::Value = serde_json::from_str(&line).unwrap();
    let at = ready["addresses"][0].as_str().unwrap();

    let mut tcp = TcpStream::connect(at).unwrap();
    tcp.write_all(&[5, 1, 0, 5, 1, 0, 3, 9]).unwrap();
    tcp.write_all(&[b"localhost", &target.port().to_be_bytes()[..]].concat()).unwrap();
    let mut answers = [0; 12];
    tcp.read_exact(&mut answers).unwrap();
    assert_eq!(answers[..4], [5, 0, 5, 0]);
    tcp.write_all(b"GET /bytes/300000 HTTP/1.0\r\n\r\n").unwrap();
    let mut page = Vec::new();
    tcp.read_to_end(&mut page).unwrap();
    assert!(page.len() > 300_000 && page.starts_with(b"HTTP/1.0 200 "));
    // Whoever drew the guard writes the file; a stream that came meanwhile doesn't wait for that.
    let guards = dir.path().join("guards.json");
    while !guards.exists() {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    assert!(std::fs::read_to_string(guards).unwrap().contains("identity"));
}

/// The address in a directory's first line.
fn directory_of(line: &str) -> String {
    let said: serde_json::Value = serde_json::from_str(line).unwrap();
    said["directory"].as_str().unwrap().to_owned()
}

/// The walk of `crates/network/docs/directory.md`.
#[test]
fn one_directory_three_relays_and_a_fetch() {
    let dir = tempfile::tempdir().unwrap();
    let (_target, said) = daemon(&["onion", "target"], dir.path());
    let target: serde_json::Value = serde_json::from_str(&said).unwrap();
    let target = target["address"].as_str().unwrap().to_owned();

    let keys = ["onion", "directory", "--keys", "authority.keys"];
    let shown = Command::new(CANDOR)
        .args(keys)
        .args(["--fingerprint", "--advertise", "192.0.2.1:7000"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    let fingerprint = directory_of(str::from_utf8(&shown.stdout).unwrap()).split_once('#').unwrap().1.to_owned();
    let (authority, said) = daemon(&[keys.as_slice(), &["--state", "state"]].concat(), dir.path());
    let directory = directory_of(&said);
    assert!(directory.ends_with(&fingerprint), "{directory}");

    let relay = |name: &str, more: &[&str]| {
        daemon(&[&["onion", "relay", "--name", name, "--directory", &directory], more].concat(), dir.path()).0
    };
    std::fs::write(dir.path().join("cyd.toml"), format!("exit = \"{target}\"\nbandwidth = 500\n")).unwrap();
    let relays = [relay("ada", &[]), relay("bob", &[]), relay("cyd", &["--config", "cyd.toml"])];

    let url = format!("http://{target}/bytes/300000");
    let from = [&url, "--directory", &directory, "--consensus", "consensus"];
    let output = fetch(&[from.as_slice(), &["--wait", "60"]].concat(), dir.path());
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{talk}");
    assert!(talk.contains("consensus: 3 relays") && talk.contains("hop 3"), "{talk}");
    assert_eq!(output.stdout.len(), 300_000);

    // Without the directory, what is known goes on; a client that knows nothing says what it tried.
    drop(authority);
    let again = fetch(&from, dir.path());
    assert!(again.status.success(), "{}", String::from_utf8_lossy(&again.stderr));
    let stranger = fetch(&[&url, "--directory", &directory], dir.path());
    let talk = String::from_utf8_lossy(&stranger.stderr).into_owned();
    assert_eq!(stranger.status.code(), Some(2));
    assert!(talk.contains("no usable consensus") && talk.contains("can't connect"), "{talk}");
    drop(relays);

    for (more, why) in [
        (["--directory", "http://127.0.0.1:1"], "expected the fingerprint of an authority"),
        (["--directory", "http://127.0.0.1:1#12"], "64 hexadecimal digits"),
    ] {
        let wrong = fetch(&[&[url.as_str()], more.as_slice()].concat(), dir.path());
        assert!(String::from_utf8_lossy(&wrong.stderr).contains(why), "{wrong:?}");
    }
    std::fs::write(dir.path().join("wrong.toml"), "bandwith = 500\n").unwrap();
    let wrong = Command::new(CANDOR)
        .args(["onion", "relay", "--config", "wrong.toml"])
        .current_dir(dir.path())
        .output()
        .unwrap();
    assert!(String::from_utf8_lossy(&wrong.stderr).contains("bandwith"), "{wrong:?}");
}

fn soak(arguments: &[&str]) -> Command {
    let mut command = Command::new(CANDOR);
    command.args(["onion", "soak", "--format", "json"]).args(arguments);
    command
}

#[test]
fn a_soak_carries_what_it_was_asked_to_and_says_what_became_of_it() {
    let output = soak(&["--circuits", "4", "--streams", "12", "--for", "6s", "--seed", "3"]).output().unwrap();
    let talk = String::from_utf8_lossy(&output.stderr).into_owned();
    assert!(output.status.success(), "{talk}");
    assert!(talk.contains(" circuits and ") && talk.contains("RSS in MB: guard "), "{talk}");
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |pointer: &str| summary.pointer(pointer).and_then(serde_json::Value::as_u64).unwrap();
    assert!(number("/circuits/at_once") >= 4 && number("/streams/at_once") >= 12, "{summary}");
    assert_eq!((number("/circuits/failures"), number("/streams/failures")), (0, 0), "{summary}");
    assert!(number("/circuits/attempts") > 4, "circuits come and go: {summary}");
    assert!(number("/streams/attempts") > 12 && number("/bytes") > 10_000, "{summary}");
    assert!(summary["streams"]["at_once_mean"].as_f64().unwrap() > 6.0, "{summary}");
    let bound = summary["circuits"]["failures_at_most"].as_f64().unwrap();
    assert!((bound - 3.0 / number("/circuits/attempts") as f64).abs() < 1e-9, "{summary}");
    let relays: Vec<&str> =
        summary["relays"].as_array().unwrap().iter().filter_map(|relay| relay["name"].as_str()).collect();
    assert_eq!(relays, ["guard", "middle", "exit"]);
    for (wrong, why) in
        [(["--for", "0s"], "expected a time"), (["--streams", "0"], "expected a number from 1 to 100000")]
    {
        let output = soak(&wrong).output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert!(String::from_utf8_lossy(&output.stderr).contains(why), "{output:?}");
    }
}

/// A process by the beginning of its arguments, among the children of another.
fn child_of(parent: u32, arguments: &[&str]) -> Option<u32> {
    let wanted: String = arguments.iter().map(|argument| format!("{argument}\0")).collect();
    let numbers = std::fs::read_dir("/proc").ok()?.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    numbers.into_iter().find(|number: &u32| {
        let read = |name: &str| std::fs::read_to_string(format!("/proc/{number}/{name}")).unwrap_or_default();
        let is_child = read("status").lines().any(|line| line == format!("PPid:\t{parent}"));
        is_child && read("cmdline").split_once('\0').is_some_and(|(_, rest)| rest.starts_with(&wanted))
    })
}

#[test]
#[cfg(target_os = "linux")]
fn a_soak_whose_relay_dies_has_failed_and_says_which() {
    let mut soak = soak(&["--circuits", "2", "--streams", "4", "--for", "2m"]);
    let mut child = soak.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut talk = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(talk.any(|line| line.contains(" circuits and ")), "it ended early");
    let middle = child_of(child.id(), &["onion", "relay", "--name", "middle"]).expect("the middle relay is a child");
    assert!(Command::new("kill").args(["-KILL", &middle.to_string()]).status().unwrap().success());
    let rest: Vec<String> = talk.collect();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{rest:?}");
    assert!(rest.iter().any(|line| line.contains("middle ended (signal: 9")), "{rest:?}");
    assert!(serde_json::from_slice::<serde_json::Value>(&output.stdout).is_ok(), "the summary is there all the same");
}

#[test]
fn a_soak_that_is_interrupted_says_what_there_was_until_then() {
    let mut soak = soak(&["--circuits", "2", "--streams", "4", "--for", "2m"]);
    let mut child = soak.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    // It says how things are every two seconds.
    let mut talk = BufReader::new(child.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(talk.any(|line| line.contains(" circuits and ")), "it ended early");
    let asked = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
    assert!(asked.success());
    let rest: Vec<String> = talk.collect();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1), "{rest:?}");
    assert!(
        rest.iter().any(|line| line.contains("interrupted: the summary is of what there was until then")),
        "{rest:?}"
    );
    let summary: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    assert_eq!(summary["circuits"]["failures"], 0, "{summary}");
}
