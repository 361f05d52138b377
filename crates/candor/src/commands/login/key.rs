//! `candor login key`: the key ring.

use super::{open, operator};
use crate::Failure;
use crate::cli::{KeyCommand, ListFormat};
use crate::output::{Talk, print};
use candor_login::store::Conflict;
use candor_login::{KeyRing, UnixTime};
use serde_json::json;

pub(super) async fn execute(command: KeyCommand, talk: Talk) -> Result<(), Failure> {
    match command {
        KeyCommand::List { format, store } => {
            let store = open(&store).await?;
            let accounts = store.accounts_by_key().await?;
            for key in store.ring().await? {
                let count = accounts.iter().find(|(id, _)| *id == key.id).map_or(0, |(_, accounts)| *accounts);
                print(&match format {
                    ListFormat::Json => format!(
                        "{}\n",
                        json!({
                            "id": key.id.to_string(),
                            "state": key.state.to_string(),
                            "created": key.created.0,
                            "accounts": count,
                        })
                    ),
                    ListFormat::Text => {
                        let created = key.created;
                        format!("{}  {:8}  created {created}  accounts: {count}\n", key.id, key.state.to_string())
                    }
                })?;
            }
            Ok(())
        }
        KeyCommand::Rotate { store } => {
            let store = open(&store).await?;
            let ring = KeyRing::load(&store).await?;
            let ring = ring.ok_or_else(|| Failure::Condition("no key to follow; start the server once".into()))?;
            let key = ring.rotate(&store, operator(), UnixTime::now()).await?;
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
