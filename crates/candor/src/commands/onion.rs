//! `candor onion`: relays, directories, circuits, the proxy, the target.

mod directory;
mod fetch;
mod proxy;
mod relay;

use super::{Stop, runtime};
use crate::Failure;
use crate::cli::{OnionCommand, TargetArguments};
use crate::output::{Talk, print};
use candor_network::Target;
use serde_json::json;

pub(crate) fn execute(command: OnionCommand, talk: Talk) -> Result<(), Failure> {
    match command {
        OnionCommand::Relay(arguments) => relay::execute(*arguments, talk),
        OnionCommand::Directory(arguments) => directory::execute(arguments, talk),
        OnionCommand::Fetch(arguments) => fetch::execute(&arguments, talk),
        OnionCommand::Proxy(arguments) => proxy::execute(&arguments, talk),
        OnionCommand::Target(arguments) => target(&arguments),
    }
}

fn target(arguments: &TargetArguments) -> Result<(), Failure> {
    runtime()?.block_on(async {
        let mut stop = Stop::new()?;
        let target = Target::start(arguments.listen).await?;
        print(&format!("{}\n", json!({ "address": target.address() })))?;
        stop.asked().await;
        Ok(())
    })
}
