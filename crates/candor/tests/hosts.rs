//! The network of `network/docs/deployment/network.toml`: seven roles on seven hosts, each a network namespace of its own.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output};

/// The deployment page's unit.
const UNIT: &str = include_str!("../../network/docs/deployment/candor-onion@.service");
const CANDOR: &str = env!("CARGO_BIN_EXE_candor");
const FILE: &str = include_str!("../../network/docs/deployment/network.toml");

/// The hosts, in the order of their addresses from 192.168.5.110.
const HOSTS: [&str; 7] = ["client", "directory", "guard", "middle", "exit", "target", "monitor"];

/// Seven namespaces on one bridge, in namespaces of the script's own, so that nothing is left behind.
const LAY: &str = r#"
mount -t tmpfs none /run && ip link set lo up && ip link add bridge type bridge && ip link set bridge up || exit 9
address=110
for host in $HOSTS; do
    ip netns add $host && ip link add to-$address type veth peer name eth0 netns $host && ip link set to-$address master bridge up &&
    ip -n $host address add 192.168.5.$address/24 dev eth0 && ip -n $host link set eth0 up && ip -n $host link set lo up || exit 9
    address=$((address + 1))
done
echo laid
"#;

/// Starts a role on each host, fetches a page through the client's proxy, and asks the monitor what it sees.
const RUN: &str = r#"
pids=
for host in $HOSTS; do
    mkdir -p $host; cd $host
    ip netns exec $host "$CANDOR" onion role $host --network ../network.toml > ../$host.out 2> ../$host.err &
    pids="$pids $!"; cd ..
done
trap 'kill -TERM $pids; wait' EXIT
i=0
until [ -s client.out ] && [ -s monitor.out ]; do
    i=$((i + 1)); [ $i -lt 600 ] || { tail -n 5 *.err; exit 8; }
    kill -0 $pids || { tail -n 5 *.err; exit 8; }
    sleep 0.1
done
ip netns exec client curl --silent --show-error --max-time 60 --socks5-hostname 127.0.0.1:9050 http://192.168.5.115:8000/bytes/300000 -o page || exit 7
i=0
until ip netns exec client curl --silent --max-time 10 http://192.168.5.116:9080/state.json -o state && ! grep -q '"silent":"' state &&
    grep -q '"path":\["' state; do
    i=$((i + 1)); [ $i -lt 60 ] || exit 6
    sleep 1
done
"#;

fn script(folder: &Path, text: &str) -> Result<Output, String> {
    let output = Command::new("unshare")
        .args(["--net", "--mount", "sh", "-c", text])
        .current_dir(folder)
        .env("HOSTS", HOSTS.join(" "))
        .env("CANDOR", CANDOR)
        .output();
    output.map_err(|error| format!("no unshare (util-linux): {error}"))
}

fn said(output: &Output) -> String {
    [&output.stdout, &output.stderr].map(|bytes| String::from_utf8_lossy(bytes)).concat()
}

/// Why this machine can't lay the hosts.
fn refusal(folder: &Path) -> Option<String> {
    if let Err(error) = Command::new("curl").arg("--version").output() {
        return Some(format!("curl does not start: {error}"));
    }
    match script(folder, LAY) {
        Ok(output) if output.status.success() => None,
        Ok(output) => Some(format!("no network namespaces (needs root and iproute2): {}", said(&output).trim())),
        Err(why) => Some(why),
    }
}

#[test]
fn one_file_puts_seven_roles_on_seven_hosts() {
    let folder = tempfile::tempdir().unwrap();
    if let Some(why) = refusal(folder.path()) {
        // Past the test harness, which swallows what a passing test prints.
        return writeln!(std::io::stderr(), "skipped: one_file_puts_seven_roles_on_seven_hosts: {why}").unwrap();
    }
    // As the deployment page says: the keys first, then their fingerprint into the file.
    std::fs::create_dir(folder.path().join("directory")).unwrap();
    let keys =
        ["onion", "directory", "--keys", "directory/authority.keys", "--listen", "192.168.5.111:7000", "--fingerprint"];
    let printed = Command::new(CANDOR).args(keys).current_dir(folder.path()).output().unwrap();
    let printed: serde_json::Value = serde_json::from_slice(&printed.stdout).unwrap();
    let directory = printed["directory"].as_str().unwrap();
    let file = FILE.replace("http://192.168.5.111:7000/#FINGERPRINT", directory);
    assert_ne!(file, FILE);
    std::fs::write(folder.path().join("network.toml"), file).unwrap();

    let output = script(folder.path(), &format!("{LAY}{RUN}")).unwrap();
    assert!(output.status.success(), "{}", said(&output));
    assert_eq!(std::fs::metadata(folder.path().join("page")).unwrap().len(), 300_000);
    let state: serde_json::Value =
        serde_json::from_slice(&std::fs::read(folder.path().join("state")).unwrap()).unwrap();
    let roles = state["roles"].as_array().unwrap();
    assert_eq!(roles.len(), 6, "all but the monitor itself: {state}");
    let path = &state["circuits"][0]["path"];
    assert_eq!(*path, serde_json::json!(["guard", "middle", "exit"]), "{state}");
}

/// What a tool of systemd's says of a unit, and whether it is content.
fn judged(folder: &Path, unit: &str, words: &[&str]) -> (bool, String) {
    std::fs::write(folder.join("candor-onion@guard.service"), unit).unwrap();
    let output =
        Command::new("systemd-analyze").args(words).arg("./candor-onion@guard.service").current_dir(folder).output();
    let output = output.unwrap();
    (output.status.success(), said(&output))
}

#[test]
fn systemd_takes_the_shipped_unit_and_finds_it_well_shut() {
    let skipped = |why| {
        writeln!(std::io::stderr(), "skipped: systemd_takes_the_shipped_unit_and_finds_it_well_shut: {why}").unwrap()
    };
    if let Err(error) = Command::new("systemd-analyze").arg("--version").output() {
        return skipped(format!("systemd-analyze does not start: {error}"));
    }
    let folder = tempfile::tempdir().unwrap();
    // The program is not installed where the unit has it.
    let unit = UNIT.replace("/usr/local/bin/candor", CANDOR);
    assert_ne!(unit, UNIT);
    let verify = |unit: &str| judged(folder.path(), unit, &["verify", "--man=no"]);
    assert_eq!(verify(&unit), (true, String::new()));
    let (_, said) = verify(&unit.replace("ProtectHome", "ProtectHomes"));
    assert!(said.contains("ProtectHomes"), "the twin: a word that it doesn't know: {said}");
    // From 0, shut, to 10, open to everything; it is 1.5 for Debian 12's.
    let security =
        |unit: &str| judged(folder.path(), unit, &["security", "--offline=true", "--threshold=20", "--no-pager"]);
    let (is_shut, said) = security(&unit);
    if said.contains("unrecognized option") {
        return skipped("this systemd-analyze judges no files (systemd 250 does)".to_owned());
    }
    assert!(is_shut, "{said}");
    let (is_shut, said) = security(
        &unit.replace("ProtectSystem=strict", "").replace("NoNewPrivileges=yes", "").replace("DynamicUser=yes", ""),
    );
    assert!(!is_shut, "the twin: {said}");
}
