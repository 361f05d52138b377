//! The testbed: namespaces, devices, addresses and the emulator.

use crate::Error;
use crate::addresses::{address, of_node};
use crate::carrier::{Carrier, Counts};
use crate::emulator::Emulator;
use crate::namespace::{self, Namespace};
use crate::privileges;
use crate::tun::{self, Device};
use candor_links::topology::{Role, Topology};
use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::{Child, Command};
use std::time::Duration;

/// A topology as a network of this machine. Dropping it takes it down, and kills the processes in it that end with their parent.
pub struct Testbed {
    /// First, so that it is dropped first.
    emulator: Emulator,
    namespaces: BTreeMap<usize, Namespace>,
    roles: [usize; Role::ALL.len()],
}

impl Testbed {
    /// Builds it: a namespace for each node that plays a part, addresses, routes, and the emulator. Each direction of each link draws its losses from the
    /// same stream as in the simulator: the packet number n on it is lost in both or in neither, though it may not be the same packet.
    ///
    /// Its time begins at `begin`, as the simulator's does, and goes by as real time does: delays that vary are those of [`now`](Self::now).
    ///
    /// # Errors
    /// [`Error`]; [`Error::is_refusal`] says whether this machine or this user can't have one.
    pub fn start(topology: &Topology, set: Option<&str>, seed: u64, begin: Duration) -> Result<Self, Error> {
        let carrier = Carrier::new(topology, set, seed, begin)?;
        let roles = Role::ALL.map(|role| topology.node_of(role));
        let mut namespaces = BTreeMap::new();
        let mut devices = Vec::new();
        for node in roles {
            if namespaces.contains_key(&node) {
                continue;
            }
            let namespace = Namespace::new(&topology.nodes[node].name)?;
            let parts = Role::ALL.into_iter().filter(|role| topology.node_of(*role) == node).collect::<Vec<_>>();
            devices.push((node, namespace.run(move || furnish(node, &parts))??));
            namespace.run(privileges::give_up)??;
            namespaces.insert(node, namespace);
        }
        let emulator = Emulator::start(devices, carrier, begin)?;
        Ok(Self { emulator, namespaces, roles })
    }

    /// Starts a process at the node that plays a part.
    ///
    /// The process is a child of a thread that ends with the testbed. If it asks the kernel to be killed with its parent (PR_SET_PDEATHSIG), nothing
    /// of the testbed outlives this process.
    ///
    /// It has no capabilities, even if its user is root, and gets none by starting another program.
    ///
    /// # Errors
    /// [`Error::System`] if it can't be started.
    pub fn spawn(&self, role: Role, mut command: Command) -> Result<Child, Error> {
        let node = &self.namespaces[&self.roles[role as usize]];
        node.run(move || command.spawn())?.map_err(Error::system("start a process"))
    }

    /// The time of the links.
    pub fn now(&self) -> Duration {
        self.emulator.now()
    }

    /// What became of packets so far.
    ///
    /// # Errors
    /// [`Error::Stopped`] if a device or the clock is broken.
    pub fn counts(&self) -> Result<Counts, Error> {
        self.emulator.counts()
    }
}

/// Parameters of each namespace, and why.
const PARAMETERS: [(&str, &str); 4] = [
    // What the simulator's transport is modelled on, and what every kernel lets a namespace choose: it may refuse CUBIC.
    ("ipv4/tcp_congestion_control", "reno"),
    // Connections begin as in the simulator, and not with what earlier ones to the same host have learned.
    ("ipv4/tcp_no_metrics_save", "1"),
    // Many connections, one after the other: none waits for a port.
    ("ipv4/ip_local_port_range", "1024 65535"),
    // Nothing but what is meant: no neighbour discovery on links that lose packets.
    ("ipv6/conf/default/disable_ipv6", "1"),
];

/// Sets this thread's namespace up for a node that plays these parts: its device, addresses and routes.
fn furnish(node: usize, parts: &[Role]) -> Result<Device, Error> {
    for (parameter, value) in PARAMETERS {
        match namespace::set(parameter, value) {
            // A kernel without IPv6.
            Err(_) if parameter.starts_with("ipv6") => {}
            done => done?,
        }
    }
    let device = Device::new()?;
    let (own, name) = (of_node(node), tun::NAME);
    let mut lines = format!(
        "link set lo up\naddress add {own}/32 dev {name}\nlink set {name} mtu 1500 up\nroute add 10.0.0.0/8 dev {name} src {own}\n"
    );
    for part in parts {
        let _ = writeln!(lines, "route add local {}/16 dev lo src {own}", address(*part, 0));
    }
    namespace::ip(&lines)?;
    Ok(device)
}
