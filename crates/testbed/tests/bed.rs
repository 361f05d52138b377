//! The namespaces of a testbed, as processes in them see them.
#![cfg(target_os = "linux")]

use candor_links::DelayTrace;
use candor_links::topology::{Role, Topology};
use candor_testbed::{Error, Testbed, address};
use rustix::thread::{CapabilitySet, CapabilitySets, capabilities, set_capabilities};
use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// `None` where this machine or this user can't have one: then the test skips.
fn testbed(name: &str) -> Option<Testbed> {
    start(&Topology::built_in(name).unwrap().unwrap(), Duration::ZERO)
}

/// The same, of any topology, at this time.
fn start(topology: &Topology, begin: Duration) -> Option<Testbed> {
    match Testbed::start(topology, None, 1, begin) {
        Ok(testbed) => Some(testbed),
        Err(refusal) if refusal.is_refusal() => {
            // Past the test harness, which swallows what a passing test prints.
            let _ = writeln!(std::io::stderr(), "skipped: {refusal}");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// What a program prints at the node of a part.
fn printed(testbed: &Testbed, role: Role, program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    command.args(arguments).stdout(Stdio::piped());
    let output = testbed.spawn(role, command).unwrap().wait_with_output().unwrap();
    assert!(output.status.success());
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn each_node_has_a_namespace_with_its_address_and_parts_at_one_node_share_it() {
    // Middle, exit and target are at the satellite there.
    let Some(testbed) = testbed("sagin-02") else { return };
    let namespace = |role| printed(&testbed, role, "readlink", &["/proc/self/ns/net"]);
    let own = std::fs::read_link("/proc/self/ns/net").unwrap().display().to_string();
    let [client, guard, middle, exit, target] = Role::ALL.map(namespace);
    assert!(middle == exit && exit == target && client != guard && guard != middle && client != middle);
    assert!([client, guard, middle].iter().all(|namespace| namespace.trim() != own));
    let devices = printed(&testbed, Role::Exit, "ip", &["-brief", "-4", "address"]);
    assert!(devices.contains("tun0") && devices.contains("10.255.0.1/32"), "{devices}");
    // Any address of a part is local to its node, and goes out from all others.
    let way = |at, to, number| printed(&testbed, at, "ip", &["route", "get", &address(to, number).to_string()]);
    for number in [0, 1, 77, 65_535] {
        assert!(way(Role::Exit, Role::Middle, number).starts_with("local"), "the same node");
        assert!(way(Role::Client, Role::Middle, number).contains("dev tun0"), "another one");
    }
}

#[test]
fn connections_begin_alike_whatever_the_machine_prefers() {
    let Some(testbed) = testbed("sagin-01") else { return };
    let parameter = |name: &str| printed(&testbed, Role::Guard, "cat", &[&format!("/proc/sys/net/ipv4/{name}")]);
    assert_eq!(parameter("tcp_congestion_control").trim(), "reno");
    assert_eq!(parameter("tcp_no_metrics_save").trim(), "1");
}

/// The line of `/proc/PID/status` with this name.
fn line<'a>(status: &'a str, name: &str) -> &'a str {
    let line = status.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    line.unwrap_or_else(|| panic!("no {name} in {status}")).trim()
}

#[test]
fn processes_have_no_privileges_while_those_of_the_testbed_stay() {
    let before = std::fs::read_to_string("/proc/self/status").unwrap();
    let Some(testbed) = testbed("sagin-01") else { return };
    let status = printed(&testbed, Role::Guard, "cat", &["/proc/self/status"]);
    for set in ["CapInh", "CapPrm", "CapEff", "CapAmb"] {
        assert_eq!(u64::from_str_radix(line(&status, set), 16), Ok(0), "{set}");
    }
    // Dropping these needs a capability of its own.
    let setpcap = 1 << 8;
    let may = u64::from_str_radix(line(&before, "CapEff"), 16).unwrap() & setpcap != 0;
    assert!(!may || u64::from_str_radix(line(&status, "CapBnd"), 16) == Ok(0), "{status}");
    assert_eq!(line(&status, "NoNewPrivs"), "1");
    assert_eq!(line(&status, "Uid"), line(&before, "Uid"), "the user stays");
    let after = std::fs::read_to_string("/proc/self/status").unwrap();
    for name in ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs"] {
        assert_eq!(line(&after, name), line(&before, name), "this process keeps what it has");
    }
}

#[test]
fn permission_for_namespaces_and_none_for_devices_is_a_refusal() {
    let attempt = || {
        // Of this thread alone, and of those that it starts.
        let sets = capabilities(None).unwrap();
        let left = |set: CapabilitySet| set.difference(CapabilitySet::NET_ADMIN);
        let sets = CapabilitySets { effective: left(sets.effective), permitted: left(sets.permitted), ..sets };
        set_capabilities(None, sets).unwrap();
        let topology = Topology::built_in("sagin-01").unwrap().unwrap();
        Testbed::start(&topology, None, 1, Duration::ZERO).map(drop)
    };
    let refusal = std::thread::spawn(attempt).join().unwrap().unwrap_err();
    if !matches!(refusal, Error::Device) && refusal.is_refusal() {
        return writeln!(std::io::stderr(), "skipped: {refusal}").unwrap();
    }
    assert!(matches!(refusal, Error::Device) && refusal.is_refusal(), "{refusal}");
    assert!(refusal.to_string().contains("it needs CAP_NET_ADMIN"), "{refusal}");
    // With that permission, nothing else was missing.
    drop(testbed("sagin-01"));
}

#[test]
fn an_error_says_what_failed() {
    let Some(testbed) = testbed("sagin-01") else { return };
    let error = testbed.spawn(Role::Client, Command::new("no-such-program")).unwrap_err().to_string();
    assert!(error.starts_with("can't start a process: "), "{error}");
}

/// What a process connects to that this test starts at a node.
const CONNECT: &str = "CANDOR_TEST_CONNECT";

#[test]
fn a_delay_that_varies_is_that_of_the_testbeds_time() {
    if let Ok(to) = std::env::var(CONNECT) {
        let began = Instant::now();
        // Nobody listens there, which the node's kernel says at once.
        let said = TcpStream::connect(to.parse::<SocketAddr>().unwrap()).map(drop).map_err(|error| error.kind());
        return println!("\ntook {} {said:?}", began.elapsed().as_nanos());
    }
    let at = Duration::from_secs;
    let delay = |at| Some(Duration::from_millis(at));
    // A tenth of a second longer with each second that passes, and no link before.
    let trace = DelayTrace { samples: vec![(at(0), None), (at(1000), delay(100)), (at(1100), delay(10_100))] };
    let text = r#"
        title = "rising"
        source = "test"
        node = [{ name = "a", kind = "ground" }, { name = "b", kind = "server" }]
        link = [{ between = ["a", "b"], delay_ms = 1 }]
        roles = { client = "a", guard = "b", middle = "b", exit = "b", target = "b" }
    "#;
    let mut topology = Topology::parse("rising", text).unwrap();
    topology.vary(["a", "b"], &Arc::new(trace.clone())).unwrap();
    let Some(testbed) = start(&topology, at(1000)) else { return };
    for _ in 0..2 {
        let mut command = Command::new("/proc/self/exe");
        command.args(["--exact", "a_delay_that_varies_is_that_of_the_testbeds_time", "--nocapture"]);
        command.env(CONNECT, SocketAddr::from((address(Role::Guard, 0), 9)).to_string()).stdout(Stdio::piped());
        let before = testbed.now();
        // There and back.
        let least = 2 * trace.at(before).expect("there is a link");
        let output = testbed.spawn(Role::Client, command).unwrap().wait_with_output().unwrap();
        let after = testbed.now();
        let said = String::from_utf8(output.stdout).unwrap();
        let line = said.lines().find_map(|line| line.strip_prefix("took ")).unwrap_or_else(|| panic!("{said}"));
        let (took, answer) = line.split_once(' ').unwrap();
        let took = Duration::from_nanos(took.parse().unwrap());
        assert_eq!(answer, "Err(ConnectionRefused)");
        // The testbed's time goes by as the process's does.
        assert!(
            took >= least && took <= after - before,
            "{took:?}, at least {least:?}, from {before:?} until {after:?}"
        );
    }
    assert_eq!(testbed.counts().unwrap().dropped, [0; 3]);
}
