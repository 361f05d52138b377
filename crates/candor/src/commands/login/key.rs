//! `candor login key`: the key ring.

use super::{open, operator};
use crate::Failure;
use crate::cli::{KeyCommand, ListFormat};
use crate::output::{Talk, print};
use candor_login::store::Conflict;
use candor_login::{Config, KeyRing, UnixTime};
use candor_opaque::{KsfParams, Limits};
use serde_json::json;

/// Argon2id's parameters, as settings have them.
fn shown(ksf: &KsfParams) -> String {
    match ksf {
        KsfParams::Argon2id { memory_kib, iterations, parallelism, .. } => {
            format!("{memory_kib}:{iterations}:{parallelism}")
        }
        _ => "none".to_owned(),
    }
}

/// Key stretching parameters that clients accept by default: with others, nobody could register.
fn stretching(text: &str) -> Result<KsfParams, Failure> {
    let mut config = Config::default();
    config.set("command line", "ksf", text)?;
    let refused = |error| Failure::Error(format!("--ksf {text}: {error}; clients refuse it by default"));
    Limits::DEFAULT.check(&config.ksf).map_err(refused)?;
    Ok(config.ksf)
}

pub(super) async fn execute(command: KeyCommand, talk: Talk) -> Result<(), Failure> {
    match command {
        KeyCommand::List { format, store } => {
            let store = open(&store).await?;
            let accounts = store.accounts_by_key().await?;
            let servers = KeyRing::load(&store).await?;
            for key in store.ring().await? {
                let ksf = servers.as_ref().and_then(|ring| ring.server(key.id)).map(|server| shown(&server.ksf()));
                let ksf = ksf.unwrap_or_default();
                let count = accounts.iter().find(|(id, _)| *id == key.id).map_or(0, |(_, accounts)| *accounts);
                print(&match format {
                    ListFormat::Json => format!(
                        "{}\n",
                        json!({
                            "id": key.id.to_string(),
                            "state": key.state.to_string(),
                            "created": key.created.0,
                            "accounts": count,
                            "ksf": ksf,
                        })
                    ),
                    ListFormat::Text => {
                        let created = key.created;
                        format!(
                            "{}  {:8}  created {created}  ksf: {ksf}  accounts: {count}\n",
                            key.id,
                            key.state.to_string()
                        )
                    }
                })?;
            }
            Ok(())
        }
        KeyCommand::Rotate { ksf, store } => {
            let ksf = ksf.as_deref().map(stretching).transpose()?;
            let store = open(&store).await?;
            let ring = KeyRing::load(&store).await?;
            let ring = ring.ok_or_else(|| Failure::Condition("no key to follow; start the server once".into()))?;
            let ksf = ksf.unwrap_or_else(|| ring.active().1.ksf());
            let key = ring.rotate_to(ksf, &store, operator(), UnixTime::now()).await?;
            talk.say("running servers use it for registrations within a minute");
            print(&format!("{key}\n"))
        }
        KeyCommand::Retire { key, store } => {
            let retired = open(&store).await?.retire_key(key, operator(), UnixTime::now()).await;
            match retired.as_ref().map_err(|error| error.conflict()) {
                Ok(()) => talk.say(&format!("retired {key}")),
                Err(Some(Conflict::KeyInUse)) => {
                    return Err(Failure::Condition(format!(
                        "accounts still need key {key}; each leaves it when it registers again"
                    )));
                }
                Err(Some(_)) => {
                    return Err(Failure::Condition(format!(
                        "{key} is not a key that can be retired: see `candor login key list`"
                    )));
                }
                Err(None) => {}
            }
            Ok(retired?)
        }
    }
}
