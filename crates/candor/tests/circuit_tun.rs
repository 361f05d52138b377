//! `candor circuit --tun`: real processes over TUN devices, in namespaces of their own, which leave nothing behind.
#![cfg(target_os = "linux")]

use candor_links::simulator::Plan;
use candor_links::topology::Topology;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take before the test gives up. Nothing is timed by it.
const PATIENCE: Duration = Duration::from_secs(60);

/// Three links of 5 ms in a row; the exit and the target are at one node.
const ROW: &str = r#"
    title = "row"
    source = "test"
    node = [{ name = "a", kind = "ground" }, { name = "b", kind = "uav" }, { name = "c", kind = "server" }, { name = "d", kind = "server" }]
    link = [
        { between = ["a", "b"], delay_ms = 5, rate_mbit = 100 },
        { between = ["b", "c"], delay_ms = 5, loss_percent = 5 },
        { between = ["c", "d"], delay_ms = 5 },
    ]
    roles = { client = "a", guard = "b", middle = "c", exit = "d", target = "d" }
"#;
/// Six, four and two times 5 ms.
const ALONE: u64 = 60_000_000;
/// Twelve, ten and eight.
const ALONE_COLD: u64 = 150_000_000;

/// Says why a test can't run here, past the test harness, which swallows what a passing test prints.
fn skip(why: &str) {
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

struct Scene {
    topology: PathBuf,
    _folder: tempfile::TempDir,
}

impl Scene {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let topology = folder.path().join("row.toml");
        fs::write(&topology, ROW).unwrap();
        Self { topology, _folder: folder }
    }

    /// The same with a topology that candor brings.
    fn built_in(name: &str) -> Self {
        Self { topology: name.into(), ..Self::new() }
    }

    fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
        command.arg("circuit").arg(&self.topology).args(["--costs", "none", "--handshake", "hybrid-768"]);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    /// Runs it. `None` where this machine or this user can't have a testbed: then the test skips.
    fn json(&self, arguments: &[&str]) -> Option<Value> {
        let output = self.command(&[arguments, &["--format", "json"]].concat()).output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        if let Some(refusal) = said.lines().find_map(refusal) {
            skip(refusal);
            return None;
        }
        assert!(output.status.success(), "{said}");
        Some(serde_json::from_slice(&output.stdout).unwrap())
    }
}

/// What `candor_testbed::Error::is_refusal` says yes to, by its words.
fn refusal(line: &str) -> Option<&str> {
    let whole = [
        "can't make a network namespace: it needs",
        "can't make a TUN device",
        "can't set up a network namespace by `ip`: ",
    ];
    let with_reason = ["can't set up a network namespace by `ip`, of iproute2: ", "can't set "];
    let reasons = ["Operation not permitted", "Permission denied", "Operation not supported", "Read-only file system"];
    let line = line.strip_prefix("error: ")?;
    let refuses = whole.iter().any(|refusal| line.starts_with(refusal))
        || with_reason.iter().any(|what| line.starts_with(what)) && reasons.iter().any(|why| line.contains(why));
    refuses.then_some(line)
}

#[test]
fn tests_skip_where_the_machine_refuses_and_not_where_candor_fails() {
    for skips in [
        "error: can't make a network namespace: it needs CAP_SYS_ADMIN and CAP_NET_ADMIN",
        "error: can't set up a network namespace by `ip`: No such file or directory (os error 2); install iproute2",
        "error: can't set up a network namespace by `ip`, of iproute2: RTNETLINK answers: Operation not permitted",
        "error: can't set ipv4/tcp_congestion_control of a network namespace: Read-only file system (os error 30)",
    ] {
        assert_eq!(refusal(skips), skips.strip_prefix("error: "));
    }
    for fails in [
        "error: can't set up a network namespace by `ip`, of iproute2: Cannot find device \"tun7\"",
        "error: can't set ipv4/tcp_congestion_control of a network namespace: No such file or directory (os error 2)",
        "error: can't start a process: Permission denied (os error 13)",
        "error: the client ended (exit status: 2)",
    ] {
        assert_eq!(refusal(fails), None, "{fails}");
    }
}

fn times(circuits: &Value) -> Vec<u64> {
    let circuits = circuits.as_array().unwrap();
    circuits.iter().map(|circuit| circuit["built_ns"].as_u64().expect("it was built")).collect()
}

#[test]
fn circuits_take_at_least_what_light_takes_and_are_compared_with_virtual_time() {
    let scene = Scene::new();
    for (start, alone) in [(&[][..], ALONE), (&["--cold"][..], ALONE_COLD)] {
        let Some(report) = scene.json(&[&["--both", "--lossless", "--circuits", "10"], start].concat()) else { return };
        let report = &report["reports"][0];
        let row = &report["rows"][0];
        assert_eq!(report["delays_alone_ns"], alone);
        let measured = times(&row["measured"]["circuits"]);
        assert_eq!((measured.len(), times(&row["simulated"]["circuits"]).len()), (10, 100));
        assert!(measured.iter().all(|time| *time >= alone), "{measured:?}");
        for circuit in row["measured"]["circuits"].as_array().unwrap() {
            let sum: u64 = circuit["hops_ns"].as_array().unwrap().iter().map(|hop| hop.as_u64().unwrap()).sum();
            let link = circuit["link_ns"].as_u64().unwrap();
            assert_eq!(link > 0, !start.is_empty(), "a link is there, or is made");
            assert!(sum + link <= circuit["built_ns"].as_u64().unwrap());
        }
        assert!(row["simulated"]["median_ns"].as_u64().unwrap() >= alone);
        assert!(row["difference"]["ms"].is_f64() && report["packets"]["dropped"]["loss"] == 0, "{report}");
        let counted = std::path::Path::new("/proc/thread-self/schedstat").exists();
        for late in ["late_ns", "read_late_at_most_ns"] {
            assert!(report["packets"][late]["p99"].is_u64() || late != "late_ns" && !counted, "{late}: {report}");
        }
    }
}

#[test]
fn packets_are_lost_as_the_topology_says_and_pages_come_all_the_same() {
    let scene = Scene::new();
    let Some(report) = scene.json(&["--tun", "--circuits", "10", "--page", "100000"]) else { return };
    assert_eq!(report["evidence"], "measured");
    let circuits = &report["rows"][0]["circuits"];
    assert!(times(circuits).iter().all(|time| *time >= ALONE));
    for circuit in circuits.as_array().unwrap() {
        // BEGIN, CONNECTED, the request and the answer: four times 15 ms.
        assert!(circuit["first_byte_ns"].as_u64().unwrap() >= 60_000_000, "{circuit}");
        assert!(circuit["last_byte_ns"].as_u64() >= circuit["first_byte_ns"].as_u64());
    }
    // One packet in twenty, of some thousand.
    assert!(report["packets"]["dropped"]["loss"].as_u64().unwrap() > 0, "{}", report["packets"]);
}

#[test]
fn circuits_are_built_while_a_satellite_passes_beside_virtual_time_at_the_same_instants() {
    let scene = Scene::built_in("leo-pass");
    let Some(report) = scene.json(&["--both", "--lossless", "--circuits", "3", "--handshake", "ntor"]) else { return };
    let topology = Topology::built_in("leo-pass").unwrap().unwrap().fly(None, None).unwrap().lossless();
    let plan = Plan::new(topology, candor_network::HandshakeType::Ntor);
    let alone = |begin| Plan { begin, ..plan.clone() }.delays_alone().unwrap();
    let mut begins = Vec::new();
    for row in report["reports"][0]["rows"].as_array().unwrap() {
        let [measured, simulated] = ["measured", "simulated"].map(|side| {
            let circuits = row[side]["circuits"].as_array().unwrap();
            let circuit = |circuit: &Value| {
                let begin = Duration::from_secs_f64(circuit["seconds"].as_f64().unwrap());
                (begin, Duration::from_nanos(circuit["built_ns"].as_u64().expect("it was built")))
            };
            circuits.iter().map(circuit).collect::<Vec<_>>()
        });
        assert_eq!((measured.len(), simulated.len()), (3, 30));
        for (index, (begin, built)) in measured.into_iter().enumerate() {
            // It comes nearer, so no packet was faster than one at the end.
            assert!(built >= alone(begin + built), "{built:?} from {begin:?}");
            for (at, built) in &simulated[10 * index..][..10] {
                assert!(
                    *at == begin && built.abs_diff(alone(begin)) < Duration::from_millis(10),
                    "{built:?} from {at:?}"
                );
            }
            begins.push(begin);
        }
    }
    // Of two handshakes, which take turns.
    let turns: Vec<Duration> = [0, 3, 1, 4, 2, 5].map(|index| begins[index]).to_vec();
    assert!(turns.is_sorted() && turns[0] > plan.begin, "{turns:?}");
}

/// What there is of network namespaces and devices, as far as anybody can see who doesn't know them.
fn traces() -> (BTreeSet<String>, BTreeSet<String>) {
    let names = |folder: &str| -> BTreeSet<String> {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect()
    };
    (names("/run/netns"), names("/sys/class/net"))
}

fn namespace(process: u32) -> Option<PathBuf> {
    fs::read_link(format!("/proc/{process}/ns/net")).ok()
}

/// All processes of this machine.
fn processes() -> impl Iterator<Item = u32> {
    let entries = fs::read_dir("/proc").unwrap().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

/// Network namespaces that processes are in.
fn namespaces() -> BTreeSet<PathBuf> {
    processes().filter_map(namespace).collect()
}

fn children(of: u32) -> Vec<u32> {
    let parent = format!("PPid:\t{of}\n");
    let is_child = |process: &u32| {
        fs::read_to_string(format!("/proc/{process}/status")).is_ok_and(|status| status.contains(&parent))
    };
    processes().filter(is_child).collect()
}

fn until(what: &str, mut done: impl FnMut() -> bool) {
    let began = Instant::now();
    while !done() {
        assert!(began.elapsed() < PATIENCE, "{what} takes for ever");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// A run with all its processes, and the namespaces that they are in. `None` if this test must skip.
fn running(scene: &Scene) -> Option<(Child, Vec<u32>, BTreeSet<PathBuf>)> {
    let mut run = scene.command(&["--tun", "--circuits", "100000", "--page", "0"]).spawn().unwrap();
    let own = namespace(std::process::id()).unwrap();
    let mut found = (Vec::new(), BTreeSet::new());
    let mut ended = false;
    until("the start", || {
        ended = run.try_wait().unwrap().is_some();
        let processes = children(run.id());
        let namespaces: BTreeSet<_> = processes.iter().filter_map(|process| namespace(*process)).collect();
        found = (processes, namespaces);
        // Guard, middle, exit, target, client; at four nodes.
        ended || found.0.len() == 5 && found.1.len() == 4
    });
    if ended {
        let said = String::from_utf8(run.wait_with_output().unwrap().stderr).unwrap();
        let refusal = said.lines().find_map(refusal).unwrap_or_else(|| panic!("{said}"));
        skip(refusal);
        return None;
    }
    let (processes, namespaces) = found;
    assert!(!namespaces.contains(&own), "namespaces of their own");
    Some((run, processes, namespaces))
}

#[test]
fn nothing_outlives_a_run_that_is_killed_or_interrupted() {
    let scene = Scene::new();
    let before = traces();
    for signal in ["KILL", "INT", "TERM"] {
        let Some((mut run, processes, used)) = running(&scene) else { return };
        assert_eq!(traces(), before, "nothing has a name while it runs");
        let sent = Command::new("kill").args([format!("-{signal}"), run.id().to_string()]).status().unwrap();
        assert!(sent.success());
        assert!(run.wait().unwrap().signal().is_some(), "by {signal}");
        until("the end of its processes", || {
            processes.iter().all(|process| !namespace(*process).is_some_and(|namespace| used.contains(&namespace)))
        });
        // The kernel gives the numbers of namespaces that are gone to new ones, such as those of the test beside this one, so not even this must hold at once.
        until("the end of the namespaces", || namespaces().is_disjoint(&used));
        assert_eq!(traces(), before);
    }
}

/// Processes that were started with this in their environment, by whomever.
fn marked(mark: &str) -> Vec<u32> {
    let line = format!("{MARK}={mark}");
    let is_marked = |process: &u32| {
        let environment = fs::read(format!("/proc/{process}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|variable| variable == line.as_bytes())
    };
    processes().filter(is_marked).collect()
}

const MARK: &str = "CANDOR_TEST_RUN";

/// When runs are killed: one in each sixth of the time that a whole one takes, from the first namespace to the last process, at a place that the seed says.
fn moments(whole: Duration, seed: u64) -> [Duration; 6] {
    let mut state = seed;
    std::array::from_fn(|sixth| {
        // Knuth's MMIX generator.
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let within = (state >> 40) as f64 / f64::from(1 << 24);
        whole.mul_f64((sixth as f64 + within) / 6.0)
    })
}

#[test]
fn nothing_outlives_a_run_whenever_it_is_killed() {
    let scene = Scene::new();
    let before = traces();
    let mark = |number: usize| format!("{} {number}", std::process::id());
    let start =
        |number| scene.command(&["--tun", "--lossless", "--circuits", "1"]).env(MARK, mark(number)).spawn().unwrap();
    let began = Instant::now();
    let whole = start(0).wait_with_output().unwrap();
    let lasted = began.elapsed();
    let said = String::from_utf8_lossy(&whole.stderr);
    if let Some(refusal) = said.lines().find_map(refusal) {
        return skip(refusal);
    }
    assert!(whole.status.success(), "{said}");
    assert_eq!((marked(&mark(0)), traces()), (Vec::new(), before.clone()), "after a run that ended by itself");
    for (number, moment) in (1..).zip(moments(lasted, 20)) {
        let mut run = start(number);
        std::thread::sleep(moment);
        let used: BTreeSet<_> = marked(&mark(number)).into_iter().filter_map(namespace).collect();
        run.kill().unwrap();
        run.wait().unwrap();
        until("the end of its processes", || marked(&mark(number)).is_empty());
        let own = namespace(std::process::id()).unwrap();
        until("the end of the namespaces", || namespaces().intersection(&used).all(|left| *left == own));
        assert_eq!(traces(), before, "killed after {moment:?} of {lasted:?}");
    }
}

#[test]
fn relays_target_and_client_run_without_privileges() {
    let scene = Scene::new();
    let Some((mut run, processes, _)) = running(&scene) else { return };
    let sets = |process: u32| {
        let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap();
        ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"].map(|set| {
            let line = status.lines().find_map(|line| line.strip_prefix(set)).expect("every kernel has these");
            u64::from_str_radix(line.trim_start_matches(':').trim(), 16).unwrap()
        })
    };
    let (of_run, of_others) = (sets(run.id()), processes.iter().map(|process| sets(*process)).collect::<Vec<_>>());
    run.kill().unwrap();
    run.wait().unwrap();
    assert_ne!(of_run[2], 0, "what makes the network needs some");
    let setpcap = 1 << 8;
    for [inheritable, permitted, effective, bounding, ambient] in of_others {
        assert_eq!([inheritable, permitted, effective, ambient], [0; 4]);
        assert!(bounding == 0 || of_run[2] & setpcap == 0, "{bounding:x}");
    }
}

#[test]
fn without_permission_it_says_what_it_needs() {
    let scene = Scene::new();
    let candor = scene.command(&["--tun"]);
    // As root without the capabilities. Whoever is not root has none anyway.
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-sys_admin,-net_admin"]).arg(candor.get_program()).args(candor.get_args());
    let output = match command.output() {
        Ok(output) if !String::from_utf8_lossy(&output.stderr).starts_with("setpriv:") => output,
        _ => scene.command(&["--tun"]).output().unwrap(),
    };
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(2), "{said}");
    assert!(
        said.contains("can't make a network namespace: it needs CAP_SYS_ADMIN and CAP_NET_ADMIN; run as root"),
        "{said}"
    );
}

#[test]
fn without_permission_for_devices_it_says_so_and_tests_skip() {
    let scene = Scene::new();
    let candor = scene.command(&["--tun", "--circuits", "1"]);
    // It may make namespaces, and nothing in them.
    let mut command = Command::new("setpriv");
    command.args(["--bounding-set", "-net_admin"]).arg(candor.get_program()).args(candor.get_args());
    let Ok(output) = command.output() else { return skip("setpriv does not start") };
    let said = String::from_utf8_lossy(&output.stderr);
    if said.starts_with("setpriv:") || said.contains("can't make a network namespace") {
        return skip(&format!("nobody here has CAP_SYS_ADMIN to keep: {said}"));
    }
    assert_eq!(output.status.code(), Some(2), "{said}");
    let why = said.lines().find_map(refusal).unwrap_or_else(|| panic!("{said}"));
    assert!(why.starts_with("can't make a TUN device: it needs CAP_NET_ADMIN and permission"), "{why}");
}

/// What candor says in a mount namespace in which `prepare` has been done, if that can be done here.
fn said_after(prepare: &str) -> Option<String> {
    let scene = Scene::new();
    let candor = scene.command(&["--tun", "--circuits", "1"]);
    let mut command = Command::new("unshare");
    let script = format!("{prepare} && exec \"$0\" \"$@\"");
    command.args(["--mount", "sh", "-c", &script]).arg(candor.get_program()).args(candor.get_args());
    match command.output() {
        Ok(output) if output.status.code() == Some(2) => Some(String::from_utf8_lossy(&output.stderr).into_owned()),
        other => {
            skip(&format!("no mount namespace after `{prepare}`: {other:?}"));
            None
        }
    }
}

#[test]
fn with_parameters_that_can_not_be_set_it_says_so_and_tests_skip() {
    let read_only = "mount --bind /proc/sys /proc/sys && mount -o remount,bind,ro /proc/sys";
    let Some(said) = said_after(read_only) else { return };
    let why = said.lines().find_map(refusal).unwrap_or_else(|| panic!("{said}"));
    let (before, behind) =
        ("can't set ipv4/tcp_congestion_control of a network namespace: Read-only file system", "must be writable");
    // Where nobody may make namespaces, it comes no further than that.
    assert!(why.starts_with("can't make a") || why.starts_with(before) && why.contains(behind), "{why}");
}

#[test]
fn without_the_tool_it_says_what_to_install_and_tests_skip() {
    let Some(said) = said_after("PATH=/nowhere") else { return };
    let why = said.lines().find_map(refusal).unwrap_or_else(|| panic!("{said}"));
    assert!(
        why.starts_with("can't make a") || why.contains("by `ip`: No such file") && why.contains("iproute2"),
        "{why}"
    );
}

#[test]
fn without_the_device_it_says_how_to_get_it() {
    let Some(said) = said_after("mount -t tmpfs none /dev/net") else { return };
    assert!(said.contains("/dev/net/tun is missing; load the kernel's module by `modprobe tun`"), "{said}");
}
