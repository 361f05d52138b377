//! `candor onion proxy`.

use super::{Stop, can_be_upgraded, directory, metrics, runtime};
use crate::Failure;
use crate::cli::{Cells, ProxyArguments};
use crate::output::{Talk, print};
use candor_network::directory::Directory;
use candor_network::tor::TorDirectory;
use candor_network::{Crypto, ExitUpgrade, HandshakeType, Proxy, ProxyConfig, RelayList};
use serde_json::json;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How often the relays are looked at again.
const TURN: Duration = Duration::from_secs(60);

pub(super) fn execute(arguments: &ProxyArguments, talk: Talk) -> Result<(), Failure> {
    talk.say("this is a research network: candor promises no anonymity, and nobody should rely on it for any");
    let config = config(arguments, talk)?;
    let mut relays = Relays::new(arguments, &config, talk)?;
    let deadline = Instant::now() + Duration::from_secs(arguments.wait.into());
    runtime()?.block_on(async {
        let mut stop = Stop::new()?;
        let list = loop {
            match relays.changed().await {
                Ok(Some(list)) if list.relays().len() >= config.hops || Instant::now() >= deadline => break list,
                Err(why) if Instant::now() >= deadline => return Err(Failure::Error(why)),
                _ => {}
            }
            relays.forget();
            tokio::select! {
                () = tokio::time::sleep(Duration::from_millis(200)) => {}
                () = stop.asked() => return Ok(()),
            }
        };
        let proxy = Proxy::start(config, list).await?;
        for address in proxy.addresses().iter().filter(|address| !address.ip().is_loopback()) {
            talk.say(&format!("warning: whoever reaches {address} can use this proxy; it asks for no password"));
        }
        print(&format!("{}\n", json!({ "addresses": proxy.addresses() })))?;
        let _metrics = match arguments.metrics {
            Some(listen) => Some(metrics::announced(proxy.serve_metrics(listen, "proxy".to_owned()).await?, talk)?),
            None => None,
        };
        talk.say("the proxy is ready, for SOCKS and HTTP CONNECT");
        tokio::select! {
            () = stop.asked() => {}
            () = keep(&proxy, relays, talk) => {}
        }
        Ok(())
    })
}

/// Looks at the relays again and again. A list that can't be had changes nothing.
async fn keep(proxy: &Proxy, mut relays: Relays, talk: Talk) {
    loop {
        tokio::time::sleep(TURN).await;
        match relays.changed().await {
            Ok(Some(list)) => proxy.know(list),
            Ok(None) => {}
            Err(why) => talk.say(&format!("the relays stay as they were: {why}")),
        }
    }
}

/// Where the relays come from.
struct Relays {
    source: Source,
    handshake: HandshakeType,
    crypto: Crypto,
    test_network: bool,
    /// What was last taken: a list's text, or a consensus's number.
    taken: String,
    /// The directories must be asked though what they said holds.
    ask: bool,
}

enum Source {
    List(PathBuf),
    Directory(Box<Directory>),
    Tor(Box<TorDirectory>),
}

impl Relays {
    fn new(arguments: &ProxyArguments, config: &ProxyConfig, talk: Talk) -> Result<Self, Failure> {
        let tor = directory::open_tor(&arguments.tor_authority)?;
        let source = match (directory::open(&arguments.directories, talk)?, tor, &arguments.relays) {
            (Some(directory), ..) => Source::Directory(Box::new(directory)),
            (None, Some(tor), _) => Source::Tor(Box::new(tor)),
            (None, None, Some(path)) => Source::List(path.clone()),
            (None, None, None) => {
                return Err(Failure::Error("expected --relays, --directory or --tor-authority".to_owned()));
            }
        };
        let (handshake, crypto, test_network) = (config.handshake, config.client.crypto, config.test_network);
        Ok(Self { source, handshake, crypto, test_network, taken: String::new(), ask: false })
    }

    /// The relays, if they are others than before.
    async fn changed(&mut self) -> Result<Option<RelayList>, String> {
        match &self.source {
            Source::List(path) => {
                let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
                let text = std::fs::read_to_string(path).map_err(|error| failed(&error))?;
                if text == self.taken {
                    return Ok(None);
                }
                let list = RelayList::parse(&text).map_err(|error| failed(&error))?;
                self.taken = text;
                Ok(Some(list))
            }
            Source::Directory(directory) => {
                let asked =
                    if std::mem::take(&mut self.ask) { directory.refresh().await } else { directory.consensus().await };
                let consensus = asked.map_err(|error| error.to_string())?.consensus;
                let number = consensus.number().to_string();
                if number == self.taken {
                    return Ok(None);
                }
                let relays = directory.relays(&consensus, self.handshake).await;
                let list = relays.map_err(|error| error.to_string())?;
                self.taken = number;
                Ok(Some(list))
            }
            Source::Tor(directory) => {
                let consensus = directory.consensus().await.map_err(|error| error.to_string())?;
                let number = consensus.valid_after.to_string();
                if number == self.taken {
                    return Ok(None);
                }
                let relays = directory.relays(&consensus, self.crypto, self.test_network).await;
                let list = relays.map_err(|error| error.to_string())?;
                self.taken = number;
                Ok(Some(list))
            }
        }
    }

    /// Looks anew next time, since what there was does not do.
    fn forget(&mut self) {
        self.taken.clear();
        self.ask = true;
    }
}

/// Whether that is a relay's whole identity.
fn is_identity(text: &str) -> bool {
    let (digits, count) = text.strip_prefix('$').map_or((text, 64), |digits| (digits, 40));
    digits.len() == count && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
}

fn config(arguments: &ProxyArguments, talk: Talk) -> Result<ProxyConfig, Failure> {
    let mut config = ProxyConfig::new(arguments.listen.clone());
    config.hops = arguments.hops.into();
    let default = if arguments.tor_authority.is_empty() { "hybrid-768" } else { "ntor-v3" };
    let handshake = arguments.handshake.as_deref().unwrap_or(default);
    config.handshake = handshake.parse::<HandshakeType>().map_err(candor_network::Error::from)?;
    if !arguments.tor_authority.is_empty() && !matches!(config.handshake, HandshakeType::Ntor | HandshakeType::NtorV3) {
        return Err(Failure::Error(format!("relays of C tor's offer ntor and ntor-v3; found --handshake {handshake}")));
    }
    if let Some(name) = arguments.entries.iter().find(|name| !arguments.tor_authority.is_empty() && !is_identity(name))
    {
        return Err(Failure::Error(format!(
            "--entries: expected an Ed25519 identity of 64 hexadecimal digits, or $ and an RSA identity of 40; found `{name}`; in Tor names are anybody's"
        )));
    }
    config.upgrade = match (arguments.upgrade, arguments.only_upgraded) {
        (_, true) => ExitUpgrade::Always,
        (true, false) => ExitUpgrade::IfOffered,
        (false, false) => ExitUpgrade::Never,
    };
    if config.upgrade != ExitUpgrade::Never {
        can_be_upgraded(config.hops, config.handshake)?;
    }
    config.client.crypto = match arguments.cells {
        Cells::Cgo => Crypto::Cgo,
        Cells::Tor1 => Crypto::Tor1,
    };
    config.client.not_post_quantum = Arc::new(move |relay, group| {
        talk.say(&format!("the link to {relay} has no post-quantum key exchange ({group})"));
    });
    config.test_network = arguments.test_network;
    config.state = arguments.state.clone();
    config.entries = arguments.entries.clone();
    config.reuse = Duration::from_secs(60 * u64::from(arguments.reuse));
    config.spare = arguments.spare.into();
    config.expected = arguments.ports.clone();
    config.circuits = arguments.circuits as usize;
    config.connections = arguments.connections as usize;
    config.connections_per_address = arguments.connections_per_address as usize;
    config.log = Arc::new(move |event| talk.say(&event.to_string()));
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        arguments: ProxyArguments,
    }

    /// Why these words are refused; empty if they are not.
    fn refused(words: &[&str]) -> String {
        let line = Line::parse_from([&["candor"], words].concat());
        match config(&line.arguments, Talk { quiet: true, verbose: false }) {
            Ok(_) => String::new(),
            Err(Failure::Error(why)) => why,
            Err(_) => panic!("another failure"),
        }
    }

    #[test]
    fn in_a_network_of_c_tors_entries_are_identities() {
        let refused = |entry: &str, source: [&str; 2]| refused(&[source[0], source[1], "--entries", entry]);
        let tor = ["--tor-authority", "127.0.0.1:7000/F7FB9FD1811AE912462DC8982B2181338516466F"];
        for entry in ["aB".repeat(32), format!("${}", "aB".repeat(20))] {
            assert_eq!(refused(&entry, tor), "");
        }
        for entry in
            ["ada".to_owned(), "ab".repeat(8), "ab".repeat(20), format!("${}", "ab".repeat(32)), "z".repeat(64)]
        {
            assert!(refused(&entry, tor).contains(&format!("found `{entry}`; in Tor names are anybody's")), "{entry}");
            assert_eq!(refused(&entry, ["--relays", "list"]), "", "of our own networks names will do");
        }
    }

    /// A proxy goes on without where an exit has no upgrade. It must not do so with every exit because of what it was told at the start.
    #[test]
    fn an_upgrade_that_no_circuit_can_have_is_refused() {
        for (words, found) in [
            (&["--handshake", "ntor"][..], "found 3 by ntor"),
            (&["--hops", "1", "--handshake", "ntor-v3"], "found 1 by ntor-v3"),
            (&["--hops", "2", "--handshake", "ntor-v3"], ""),
            (&[], ""),
        ] {
            for asked in ["--upgrade", "--only-upgraded"] {
                let with = refused(&[&["--relays", "list", asked], words].concat());
                assert!(with.contains(found) && with.is_empty() == found.is_empty(), "{with}");
            }
            assert_eq!(refused(&[&["--relays", "list"], words].concat()), "");
        }
    }
}
