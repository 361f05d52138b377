//! `candor onion proxy`.

use super::{Stop, runtime};
use crate::Failure;
use crate::cli::{Cells, ProxyArguments};
use crate::output::{Talk, print};
use candor_network::{Crypto, HandshakeType, Proxy, ProxyConfig, RelayList};
use serde_json::json;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// How often the relay list is read again.
const TURN: Duration = Duration::from_secs(60);

pub(super) fn execute(arguments: &ProxyArguments, talk: Talk) -> Result<(), Failure> {
    talk.say("this is a research network: candor promises no anonymity, and nobody should rely on it for any");
    let config = config(arguments, talk)?;
    let text = read(&arguments.relays).map_err(Failure::Error)?;
    let wrong = |error| Failure::Error(format!("{}: {error}", arguments.relays.display()));
    let relays = RelayList::parse(&text).map_err(wrong)?;
    runtime()?.block_on(async {
        let mut stop = Stop::new()?;
        let proxy = Proxy::start(config, relays).await?;
        for address in proxy.addresses().iter().filter(|address| !address.ip().is_loopback()) {
            talk.say(&format!("warning: whoever reaches {address} can use this proxy; it asks for no password"));
        }
        print(&format!("{}\n", json!({ "addresses": proxy.addresses() })))?;
        talk.say("the proxy is ready, for SOCKS and HTTP CONNECT");
        tokio::select! {
            () = stop.asked() => {}
            () = keep(&proxy, &arguments.relays, text, talk) => {}
        }
        Ok(())
    })
}

/// Reads the relay list again and again. One that can't be read changes nothing.
async fn keep(proxy: &Proxy, path: &Path, mut known: String, talk: Talk) {
    loop {
        tokio::time::sleep(TURN).await;
        match tokio::task::block_in_place(|| read(path)) {
            Ok(text) if text != known => match RelayList::parse(&text) {
                Ok(list) => {
                    proxy.know(list);
                    known = text;
                }
                Err(error) => talk.say(&format!("the relays stay as they were: {}: {error}", path.display())),
            },
            Ok(_) => {}
            Err(why) => talk.say(&format!("the relays stay as they were: {why}")),
        }
    }
}

fn read(path: &Path) -> Result<String, String> {
    std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))
}

fn config(arguments: &ProxyArguments, talk: Talk) -> Result<ProxyConfig, Failure> {
    let mut config = ProxyConfig::new(arguments.listen.clone());
    config.hops = arguments.hops.into();
    config.handshake = arguments.handshake.parse::<HandshakeType>().map_err(candor_network::Error::from)?;
    config.client.crypto = match arguments.cells {
        Cells::Cgo => Crypto::Cgo,
        Cells::Tor1 => Crypto::Tor1,
    };
    config.client.not_post_quantum = Arc::new(move |relay, group| {
        talk.say(&format!("the link to {relay} has no post-quantum key exchange ({group})"));
    });
    config.test_network = arguments.test_network;
    config.state = arguments.state.clone();
    config.reuse = Duration::from_secs(60 * u64::from(arguments.reuse));
    config.spare = arguments.spare.into();
    config.expected = arguments.ports.clone();
    config.circuits = arguments.circuits as usize;
    config.connections = arguments.connections as usize;
    config.connections_per_address = arguments.connections_per_address as usize;
    config.log = Arc::new(move |event| talk.say(&event.to_string()));
    Ok(config)
}
