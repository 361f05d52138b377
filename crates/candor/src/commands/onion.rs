//! `candor onion`: relays, circuits, the target.

mod fetch;
mod relay;

use crate::Failure;
use crate::cli::{OnionCommand, TargetArguments};
use crate::output::{Talk, print};
use candor_network::Target;
use serde_json::json;
use tokio::runtime::Runtime;
use tokio::signal::unix::{Signal, SignalKind, signal};

pub(crate) fn execute(command: OnionCommand, talk: Talk) -> Result<(), Failure> {
    match command {
        OnionCommand::Relay(arguments) => relay::execute(arguments, talk),
        OnionCommand::Fetch(arguments) => fetch::execute(&arguments, talk),
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

fn runtime() -> Result<Runtime, Failure> {
    Runtime::new().map_err(|error| Failure::Error(format!("can't start threads: {error}")))
}

/// Waits for Ctrl-C or SIGTERM.
struct Stop {
    interrupt: Signal,
    terminate: Signal,
}

impl Stop {
    fn new() -> Result<Self, Failure> {
        let take = |kind| {
            signal(kind)
                .map_err(|error| Failure::Error(format!("can't install a handler for Ctrl-C and SIGTERM: {error}")))
        };
        Ok(Self { interrupt: take(SignalKind::interrupt())?, terminate: take(SignalKind::terminate())? })
    }

    async fn asked(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }
}
