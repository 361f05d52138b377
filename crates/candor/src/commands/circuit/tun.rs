//! `candor circuit --tun` and `--both`: circuits of real processes over the kernel's TCP, alone or beside virtual time.

#[cfg(target_os = "linux")]
mod compare;
#[cfg(target_os = "linux")]
mod measured;
#[cfg(target_os = "linux")]
mod network;
#[cfg(target_os = "linux")]
mod process;
#[cfg(target_os = "linux")]
mod sky;

use super::CircuitArguments;
use super::costs::Found;
use crate::Failure;
use crate::output::Talk;
use candor_links::simulator::Plan;
use candor_network::HandshakeType;

/// `costs` says where the costs of simulated handshakes come from.
#[cfg(target_os = "linux")]
pub(super) fn execute(
    arguments: &CircuitArguments,
    plan: &Plan,
    handshakes: &[HandshakeType],
    costs: &Found,
    talk: Talk,
) -> Result<(), Failure> {
    match arguments.both {
        true => compare::execute(arguments, plan, handshakes, costs, talk),
        false => measured::execute(arguments, plan, handshakes, talk),
    }
}

/// Other systems have no network namespaces.
#[cfg(not(target_os = "linux"))]
pub(super) fn execute(_: &CircuitArguments, _: &Plan, _: &[HandshakeType], _: &Found, _: Talk) -> Result<(), Failure> {
    Err(Failure::Error("--tun and --both need network namespaces and TUN devices, which only Linux has".to_owned()))
}
