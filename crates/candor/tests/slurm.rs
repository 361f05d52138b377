//! `candor sweep` under Slurm itself: a controller and two nodes, all on this machine, from Debian's packages unpacked into a folder.

use std::collections::BTreeSet;
use std::fs;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

const CANDOR: &str = env!("CARGO_BIN_EXE_candor");
const SHARDS: usize = 20;
/// The shard that fails once.
const FAILS: usize = 7;
const NODES: [&str; 2] = ["one", "two"];

/// Slurm, for as long as this lives.
struct Slurm {
    root: PathBuf,
    run: PathBuf,
    daemons: Vec<Child>,
}

impl Slurm {
    fn start(root: &Path, run: &Path) -> Self {
        let mut slurm = Self { root: root.to_path_buf(), run: run.to_path_buf(), daemons: Vec::new() };
        for folder in ["munge", "state", NODES[0], NODES[1]] {
            fs::create_dir_all(run.join(folder)).unwrap();
        }
        fs::set_permissions(run.join("munge"), fs::Permissions::from_mode(0o755)).unwrap();
        let key = run.join("munge/key");
        fs::write(&key, [7; 1024]).unwrap();
        fs::set_permissions(&key, fs::Permissions::from_mode(0o600)).unwrap();
        fs::write(slurm.configuration(), slurm.text()).unwrap();
        let at = |name: &str| run.join("munge").join(name).display().to_string();
        let [key, socket, pid, log, seed] = ["key", "socket", "pid", "log", "seed"].map(at);
        slurm.daemon(
            "munged",
            &[
                "-F",
                "--force",
                &format!("--key-file={key}"),
                &format!("--socket={socket}"),
                &format!("--pid-file={pid}"),
                &format!("--log-file={log}"),
                &format!("--seed-file={seed}"),
            ],
        );
        slurm.until("munged listens", |_| Path::new(&socket).exists());
        let configuration = slurm.configuration().display().to_string();
        slurm.daemon("slurmctld-wlm", &["-D", "-f", &configuration]);
        let stepd = slurm.sbin("slurmstepd-wlm").display().to_string();
        for node in NODES {
            slurm.daemon("slurmd-wlm", &["-D", "-N", node, "-f", &configuration, "-d", &stepd]);
        }
        slurm
            .until("both nodes are idle", |slurm| slurm.says("sinfo", &["-h", "-t", "idle", "-o", "%D"]).trim() == "2");
        slurm
    }

    /// What each program is told. Nothing but the loopback interface is used.
    fn text(&self) -> String {
        let host = fs::read_to_string("/proc/sys/kernel/hostname").unwrap();
        let (host, run, plugins) = (host.trim(), self.run.display(), self.libraries().join("slurm-wlm"));
        let user = Command::new("id").arg("-un").output().unwrap().stdout;
        let user = String::from_utf8(user).unwrap();
        let (user, plugins) = (user.trim(), plugins.display());
        let ports: Vec<TcpListener> = (0..3).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
        let port = |at: usize| ports[at].local_addr().unwrap().port();
        let node = |at: usize| {
            let (name, port) = (NODES[at], port(at + 1));
            format!("NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=1 State=UNKNOWN\n")
        };
        format!(
            "ClusterName=lab\nSlurmctldHost={host}(127.0.0.1)\nSlurmUser={user}\nSlurmdUser={user}\nAuthType=auth/munge\nAuthInfo=socket={run}/munge/socket\n\
             CryptoType=crypto/munge\nPluginDir={plugins}\nStateSaveLocation={run}/state\nSlurmctldPidFile={run}/slurmctld.pid\nSlurmdPidFile={run}/%n.pid\n\
             SlurmdSpoolDir={run}/%n\nSlurmctldLogFile={run}/slurmctld.log\nSlurmdLogFile={run}/%n.log\nSlurmctldPort={}\nProctrackType=proctrack/linuxproc\n\
             TaskPlugin=task/none\nSwitchType=switch/none\nMpiDefault=none\nJobAcctGatherType=jobacct_gather/none\nAccountingStorageType=accounting_storage/none\n\
             SchedulerType=sched/backfill\nSchedulerParameters=sched_interval=1\nSelectType=select/cons_tres\nSelectTypeParameters=CR_Core\nReturnToService=2\n\
             SlurmdParameters=config_overrides\n{}{}PartitionName=lab Nodes=ALL Default=YES MaxTime=INFINITE State=UP\n",
            port(0),
            node(0),
            node(1),
        )
    }

    fn configuration(&self) -> PathBuf {
        self.run.join("slurm.conf")
    }

    fn sbin(&self, name: &str) -> PathBuf {
        self.root.join("usr/sbin").join(name)
    }

    fn libraries(&self) -> PathBuf {
        let folders = fs::read_dir(self.root.join("usr/lib")).expect("an unpacked package");
        let mut folders = folders.map(|entry| entry.unwrap().path());
        folders.find(|folder| folder.join("slurm-wlm").is_dir()).expect("the package slurm-wlm-basic-plugins")
    }

    fn command(&self, program: &Path) -> Command {
        let libraries = self.libraries();
        let mut command = Command::new(program);
        command.env("LD_LIBRARY_PATH", format!("{0}:{0}/slurm-wlm", libraries.display()));
        command.env("SLURM_CONF", self.configuration());
        command
    }

    fn daemon(&mut self, name: &str, arguments: &[&str]) {
        let mut command = self.command(&self.sbin(name));
        let log = fs::File::create(self.run.join(format!("{name}-{}.out", self.daemons.len()))).unwrap();
        command.args(arguments).stdin(Stdio::null()).stdout(log.try_clone().unwrap()).stderr(log);
        self.daemons.push(command.spawn().unwrap_or_else(|error| panic!("{name}: {error}")));
    }

    fn output(&self, program: &str, arguments: &[&str], directory: &Path) -> Output {
        let mut command = self.command(&self.root.join("usr/bin").join(program));
        command.env("CANDOR", self.run.join("candor")).args(arguments).current_dir(directory).output().unwrap()
    }

    fn says(&self, program: &str, arguments: &[&str]) -> String {
        String::from_utf8(self.output(program, arguments, &self.run).stdout).unwrap()
    }

    /// Waits, while all daemons live.
    fn until(&mut self, what: &str, holds: impl Fn(&Self) -> bool) {
        while !holds(self) {
            for daemon in &mut self.daemons {
                assert!(
                    daemon.try_wait().unwrap().is_none(),
                    "a daemon ended before {what}: see {}",
                    self.run.display()
                );
            }
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Submits the array of a folder and waits for its end.
    fn submit(&mut self, directory: &Path) {
        let output = self.output("sbatch", &["slurm.sh"], directory);
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        self.until("the array has ended", |slurm| slurm.says("squeue", &["-h"]).trim().is_empty());
    }
}

impl Drop for Slurm {
    fn drop(&mut self) {
        for daemon in self.daemons.iter_mut().rev() {
            let _ = daemon.kill();
            let _ = daemon.wait();
        }
    }
}

fn candor(arguments: &[&str], directory: &Path) -> String {
    let output = Command::new(CANDOR).args(arguments).current_dir(directory).output().unwrap();
    assert!(matches!(output.status.code(), Some(0 | 1)), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// Files of the shards, with their bytes.
fn shards(sweep: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let files = (0..SHARDS).flat_map(|index| {
        ["circuits.jsonl", "shard.jsonl"].map(|file| Path::new("shards").join(format!("{index:06}")).join(file))
    });
    files.map(|file| (file.clone(), fs::read(sweep.join(file)).unwrap_or_default())).collect()
}

#[test]
#[ignore = "needs Slurm and a minute: cargo xtask slurm"]
fn an_array_on_two_nodes_does_the_plan_and_a_second_one_fills_the_hole() {
    let root = std::env::var_os("CANDOR_SLURM").expect("CANDOR_SLURM is a folder with Debian's packages of Slurm");
    let dir = tempfile::tempdir().unwrap();
    let recipe = format!(
        "[[circuits]]\ntopology = \"leo-bent-pipe\"\nhandshakes = [\"ntor\"]\ncircuits = {}\nper_shard = 10\n",
        SHARDS * 10
    );
    fs::write(dir.path().join("recipe.toml"), recipe).unwrap();
    for name in ["alone", "array"] {
        candor(&["sweep", "plan", "recipe.toml", "-o", name], dir.path());
    }
    candor(&["sweep", "run", "alone"], dir.path());
    let (array, run) = (dir.path().join("array"), dir.path().join("slurm"));
    fs::create_dir(&run).unwrap();
    // candor, which notes on which node it runs, and fails once.
    let script = format!(
        "#!/bin/sh\necho \"$SLURMD_NODENAME $*\" >> '{0}/calls'\n\
         case \"$*\" in *'--shard {FAILS}') [ -e '{0}/failed' ] || {{ touch '{0}/failed'; exit 1; }};; esac\nexec '{CANDOR}' \"$@\"\n",
        run.display()
    );
    fs::write(run.join("candor"), script).unwrap();
    fs::set_permissions(run.join("candor"), fs::Permissions::from_mode(0o755)).unwrap();
    let mut slurm = Slurm::start(Path::new(&root), &run);
    slurm.submit(&array);
    let status = candor(&["sweep", "status", "array"], dir.path());
    assert_eq!(status, format!("{SHARDS} shards: {} done, 1 missing\n  missing  {FAILS}\n", SHARDS - 1));
    let calls = fs::read_to_string(run.join("calls")).unwrap();
    let nodes: BTreeSet<&str> = calls.lines().filter_map(|line| line.split(' ').next()).collect();
    assert_eq!(nodes, BTreeSet::from(NODES), "both nodes worked");
    slurm.submit(&array);
    let status = candor(&["sweep", "status", "array"], dir.path());
    assert_eq!(status, format!("{SHARDS} shards: {SHARDS} done\n"));
    assert!(shards(&array) == shards(&dir.path().join("alone")), "the two differ");
    let collect = |name| candor(&["sweep", "collect", name, "--format", "json"], dir.path());
    assert_eq!(collect("array"), collect("alone"));
}
