//! `candor onion relay`.

use super::{Stop, runtime};
use crate::Failure;
use crate::cli::RelayArguments;
use crate::output::{Talk, print};
use candor_network::{HandshakeType, Policy, Relay, RelayConfig, RelayKeys, RelayList};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Seconds that what is in flight gets at the end.
const PATIENCE: u16 = 10;

pub(super) fn execute(flags: RelayArguments, talk: Talk) -> Result<(), Failure> {
    let arguments = with_file(flags)?;
    let config = config(&arguments, talk)?;
    let fresh = arguments.keys.as_ref().filter(|path| !path.exists());
    let keys = match &arguments.keys {
        Some(path) => RelayKeys::load_or_create(path)?,
        None => RelayKeys::generate()?,
    };
    let is_exit = !config.policy.is_empty();
    runtime()?.block_on(async {
        let mut stop = Stop::new()?;
        let relay = Relay::start(&keys, config).await.inspect_err(|_| {
            // A relay that never was leaves no keys behind. Why it could not start is what there is to say.
            let _ = fresh.map(std::fs::remove_file);
        })?;
        match &arguments.relays {
            Some(path) => RelayList::update(path, &relay.listed())?,
            None => print(&format!("{}\n", relay.listed().to_line()))?,
        }
        let role = if is_exit { "an exit" } else { "no exit" };
        talk.say(&format!("relay {} is ready; it is {role}", relay.listed()));
        tokio::select! {
            () = stop.asked() => {}
            () = keep_listed(arguments.relays.as_deref(), &relay, talk) => {}
        }

        let patience = Duration::from_secs(arguments.patience.unwrap_or(PATIENCE).into());
        talk.say("finishing what is in flight; again to stop at once");
        tokio::select! {
            () = relay.shutdown(patience) => {}
            () = stop.asked() => {}
        }
        Ok(())
    })
}

/// Keeps the relay's entry in the list as it is when its keys are renewed.
async fn keep_listed(list: Option<&Path>, relay: &Relay, talk: Talk) {
    let Some(path) = list else { return std::future::pending().await };
    let mut written = relay.listed().to_line();
    loop {
        tokio::time::sleep(Duration::from_secs(60)).await;
        let line = relay.listed().to_line();
        if line != written {
            match RelayList::update(path, &relay.listed()) {
                Ok(()) => written = line,
                Err(error) => talk.say(&format!("the relay list is out of date: {error}")),
            }
        }
    }
}

/// The flags, and from the file what they leave open.
fn with_file(flags: RelayArguments) -> Result<RelayArguments, Failure> {
    let Some(path) = &flags.config else { return Ok(flags) };
    let failed = |why: String| Failure::Error(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let file: RelayArguments = toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
    Ok(RelayArguments {
        listen: flags.listen.or(file.listen),
        advertise: flags.advertise.or(file.advertise),
        name: flags.name.or(file.name),
        keys: flags.keys.or(file.keys),
        exit: flags.exit.or(file.exit),
        handshakes: if flags.handshakes.is_empty() { file.handshakes } else { flags.handshakes },
        handshake_threads: flags.handshake_threads.or(file.handshake_threads),
        handshake_queue: flags.handshake_queue.or(file.handshake_queue),
        entry: flags.entry.or(file.entry),
        relays: flags.relays.or(file.relays),
        patience: flags.patience.or(file.patience),
        config: flags.config,
    })
}

fn config(arguments: &RelayArguments, talk: Talk) -> Result<RelayConfig, Failure> {
    let listen = arguments.listen.unwrap_or(([127, 0, 0, 1], 0).into());
    let mut config = RelayConfig::new(listen);
    config.advertise = arguments.advertise;
    if config.advertise.is_none() && listen.ip().is_unspecified() {
        return Err(Failure::Error(format!(
            "nobody can reach {listen}; say by --advertise how others reach the relay"
        )));
    }
    config.name = arguments.name.clone();
    config.entry = arguments.entry.clone();
    config.policy = Policy::parse(arguments.exit.as_deref().unwrap_or_default())?;
    if !arguments.handshakes.is_empty() {
        config.handshakes =
            arguments.handshakes.iter().map(|name| name.parse()).collect::<Result<Vec<HandshakeType>, _>>()?;
    }
    let threads = arguments.handshake_threads.map_or(config.limits.handshake_threads, usize::from);
    config.limits.handshake_threads = threads.max(1);
    let queue = arguments.handshake_queue.map(|queue| queue as usize);
    config.limits.handshake_queue = queue.unwrap_or(config.limits.handshake_queue).max(1);
    config.log = Arc::new(move |event| talk.say(&event.to_string()));
    Ok(config)
}
