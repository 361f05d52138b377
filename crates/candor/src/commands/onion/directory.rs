//! `candor onion directory`, and what the relay and the fetch need of directories.

use super::{Stop, metrics, runtime};
use crate::Failure;
use crate::cli::{DirectoryArguments, DirectoryFlags};
use crate::output::{Talk, print};
use candor_network::directory::{Authority, AuthorityConfig, AuthorityKeys, Directories, Directory, DirectoryAddress};
use candor_network::http::Url;
use candor_network::tor::TorDirectory;
use candor_network::{Clock, Prefix};
use serde_json::json;
use std::sync::Arc;
use std::time::Duration;

pub(super) fn execute(flags: DirectoryArguments, talk: Talk) -> Result<(), Failure> {
    let arguments = with_file(flags)?;
    let now = Clock::default().now();
    let keys = match &arguments.keys {
        Some(path) => AuthorityKeys::load_or_create(path, now)?,
        None => AuthorityKeys::generate(now)?,
    };
    let fingerprint = *keys.fingerprint();
    let listen = arguments.listening.address();
    let reached_at = |listening| {
        let address = arguments.listening.advertise.unwrap_or(listening);
        Ok::<_, candor_network::Error>(DirectoryAddress::new(Url::parse(&format!("http://{address}"))?, fingerprint))
    };
    if arguments.fingerprint {
        if arguments.keys.is_none() {
            return Err(Failure::Error("expected --keys, the file whose fingerprint to print".to_owned()));
        }
        if arguments.listening.advertise.unwrap_or(listen).port() == 0 {
            let why = "expected --listen with a port, or --advertise: the address is printed beside the fingerprint";
            return Err(Failure::Error(why.to_owned()));
        }
        return print(&format!("{}\n", json!({ "directory": reached_at(listen)?.to_string() })));
    }
    if arguments.listening.advertise.is_none() && listen.ip().is_unspecified() {
        return Err(Failure::Error(format!(
            "nobody can reach {listen}; say by --advertise how others reach the directory"
        )));
    }
    let config = config(&arguments, talk)?;
    runtime()?.block_on(async {
        let mut stop = Stop::new()?;
        let authority = Authority::start(keys, config).await?;
        print(&format!("{}\n", json!({ "directory": reached_at(authority.address())?.to_string() })))?;
        let name = "directory".to_owned();
        let _metrics =
            metrics::serve(arguments.listening.metrics, "directory", name, authority.readings(), talk).await?;
        stop.asked().await;
        Ok(())
    })
}

/// The flags, and from the file what they leave open.
fn with_file(flags: DirectoryArguments) -> Result<DirectoryArguments, Failure> {
    let Some(path) = &flags.config else { return Ok(flags) };
    let failed = |why: String| Failure::Error(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let file: DirectoryArguments = toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
    Ok(DirectoryArguments {
        listening: flags.listening.or(file.listening),
        keys: flags.keys.or(file.keys),
        state: flags.state.or(file.state),
        authorities: if flags.authorities.is_empty() { file.authorities } else { flags.authorities },
        threshold: flags.threshold.or(file.threshold),
        interval: flags.interval.or(file.interval),
        fingerprint: flags.fingerprint,
        config: flags.config,
    })
}

fn config(arguments: &DirectoryArguments, talk: Talk) -> Result<AuthorityConfig, Failure> {
    let mut config = AuthorityConfig::new(arguments.listening.address());
    config.peers = arguments.authorities.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
    config.threshold = arguments.threshold.map(usize::from);
    config.state = arguments.state.clone();
    if let Some(seconds) = arguments.interval {
        config.interval = Duration::from_secs(seconds.max(1).into());
    }
    if let Some(networks) = &arguments.listening.test_networks {
        config.test_networks = networks.iter().map(|text| text.parse::<Prefix>()).collect::<Result<_, _>>()?;
    }
    config.log = Arc::new(move |event| talk.say(&event.to_string()));
    Ok(config)
}

/// Tor's directory, if any of its authorities is named.
pub(super) fn open_tor(authorities: &[String]) -> Result<Option<TorDirectory>, Failure> {
    if authorities.is_empty() {
        return Ok(None);
    }
    let authorities = authorities.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
    Ok(Some(TorDirectory::new(authorities)?))
}

/// The directories of a relay or a client; `None` if there are none.
pub(super) fn open(flags: &DirectoryFlags, talk: Talk) -> Result<Option<Directory>, Failure> {
    if flags.directory.is_empty() {
        return Ok(None);
    }
    let directories = Directories::parse(&flags.directory, flags.threshold.map(usize::from))?;
    let notices = move |error: &candor_network::Error| talk.say(&error.to_string());
    Ok(Some(Directory::new(directories, flags.consensus.clone()).with_notices(notices)))
}
