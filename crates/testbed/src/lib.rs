//! A topology as a network of this machine: a network namespace for each node, and TUN devices between them.
//!
//! What processes in the namespaces send to each other is real: their sockets are the kernel's, and so is TCP. Every packet comes out of the TUN device of
//! its node; [`Carrier`] leads it over the topology's links, where [`LinkModel`] decides when it arrives or whether it is lost, as in the simulator; and
//! at its time it goes into the device of the node that it is for. Parts of a circuit at the same node reach each other by the loopback device.
//!
//! Nothing has a name outside this process. A namespace is held by a thread, the devices by open files, and processes are started such that
//! they end with the thread that started them. When this process ends, however that comes about, the kernel takes all of it down.
//!
//! Making all that takes privileges. Those who are there afterwards have none: the threads give up every capability before they start a process.
//!
//! ```no_run
//! # #[cfg(target_os = "linux")]
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use candor_links::topology::{Role, Topology};
//! use candor_testbed::Testbed;
//! let topology = Topology::built_in("leo-bent-pipe").expect("candor brings it")?;
//! let testbed = Testbed::start(&topology, None, 1, topology.begins())?;
//! let mut command = std::process::Command::new("ip");
//! command.args(["-brief", "address"]);
//! testbed.spawn(Role::Guard, command)?.wait()?;
//! # Ok(()) }
//! # #[cfg(not(target_os = "linux"))]
//! # fn main() {}
//! ```
//!
//! [`LinkModel`]: candor_links::model::LinkModel
#![cfg(target_os = "linux")]

mod addresses;
mod awake;
mod bed;
mod carrier;
mod emulator;
mod error;
mod namespace;
mod privileges;
mod tun;
mod waits;

pub use addresses::address;
pub use awake::Awake;
pub use bed::Testbed;
pub use carrier::{Carrier, Counts, Lateness};
pub use error::Error;
