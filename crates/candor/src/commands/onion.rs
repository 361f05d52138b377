//! `candor onion`: relays, directories, circuits, the proxy, the target, the monitor, and all of them at once.

pub(super) mod builder;
mod directory;
mod family;
mod fetch;
mod hosts;
mod metrics;
mod proxy;
mod relay;
mod soak;
mod up;

use super::{Stop, parent, runtime};
use crate::Failure;
use crate::cli::{OnionCommand, TargetArguments};
use crate::output::{Talk, print};
use candor_network::{HandshakeType, Target};
use serde_json::json;

pub(crate) fn execute(command: OnionCommand, talk: Talk) -> Result<(), Failure> {
    parent::follow()?;
    match command {
        OnionCommand::Up(arguments) => up::execute(&arguments, talk),
        OnionCommand::Role(arguments) => hosts::role(&arguments, talk),
        OnionCommand::Monitor(arguments) => metrics::monitor(&arguments, talk),
        OnionCommand::Relay(arguments) => relay::execute(*arguments, talk),
        OnionCommand::Directory(arguments) => directory::execute(arguments, talk),
        OnionCommand::Fetch(arguments) => fetch::execute(&arguments, talk),
        OnionCommand::Proxy(arguments) => proxy::execute(&arguments, talk),
        OnionCommand::Target(arguments) => target(&arguments, talk),
        OnionCommand::Soak(arguments) => soak::execute(&arguments, talk),
        OnionCommand::Builder => builder::execute(),
    }
}

/// Whether a circuit of so many relays by that handshake can have an in-circuit upgrade at all.
fn can_be_upgraded(relays: usize, handshake: HandshakeType) -> Result<(), Failure> {
    match relays > 1 && handshake != HandshakeType::Ntor {
        true => Ok(()),
        false => Err(Failure::Error(format!(
            "--upgrade: expected a path of two relays or more, and another handshake than ntor; found {relays} by {handshake}"
        ))),
    }
}

fn target(arguments: &TargetArguments, talk: Talk) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let mut stop = Stop::new()?;
        let target = Target::start(arguments.listen).await?;
        print(&format!("{}\n", json!({ "address": target.address() })))?;
        let _metrics =
            metrics::serve(arguments.metrics, "target", "target".to_owned(), target.readings(), talk).await?;
        stop.asked().await;
        Ok(())
    })
}
