//! `candor login user`: accounts and their sessions.

use super::{open, operator};
use crate::Failure;
use crate::cli::{ListFormat, NamedArguments, OneArguments, UserCommand};
use crate::output::{Talk, print};
use candor_login::store::{Account, Session};
use candor_login::{Store, UnixTime, UserName};
use serde_json::{Value, json};

/// Accounts per look at the database.
const PAGE: u32 = 500;
/// Entries of the audit log that `show` prints.
const ENTRIES: u32 = 10;

pub(super) async fn execute(command: UserCommand, talk: Talk) -> Result<(), Failure> {
    match command {
        UserCommand::List { old_hash, format, store } => list(&open(&store).await?, old_hash, format).await,
        UserCommand::Count { format, store } => {
            let (accounts, old) = open(&store).await?.count_accounts().await?;
            print(&match format {
                ListFormat::Json => format!("{}\n", json!({ "accounts": accounts, "old_hash": old })),
                ListFormat::Text => {
                    format!("accounts: {accounts}\nof these with a password hash of another system: {old}\n")
                }
            })
        }
        UserCommand::Show(named) => show(named).await,
        UserCommand::Disable(one) => set_disabled(one, true, talk).await,
        UserCommand::Enable(one) => set_disabled(one, false, talk).await,
        UserCommand::Delete(one) => {
            let (store, account) = find(&one.store, &one.name).await?;
            store.delete_account(account.id, operator(), UnixTime::now()).await?;
            talk.say(&format!("deleted {}", account.name));
            Ok(())
        }
        UserCommand::Sessions(named) => {
            let (store, account) = find(&named.store, &named.name).await?;
            let sessions = store.sessions(account.id, UnixTime::now()).await?;
            print(&match named.format {
                ListFormat::Json => format!("{}\n", sessions.iter().map(as_json).collect::<Value>()),
                ListFormat::Text => sessions.iter().map(as_line).collect(),
            })
        }
        UserCommand::Revoke { name, session, store } => {
            let (store, account) = find(&store, &name).await?;
            let ended = match session {
                Some(session) => {
                    store.revoke_session(account.id, session, operator(), UnixTime::now()).await?;
                    1
                }
                None => store.revoke_sessions(account.id, None, operator(), UnixTime::now()).await?,
            };
            talk.say(&format!("sessions ended: {ended}"));
            Ok(())
        }
    }
}

async fn list(store: &Store, only_old: bool, format: ListFormat) -> Result<(), Failure> {
    let mut after = None;
    loop {
        let page = store.accounts(after, PAGE).await?;
        for account in page.iter().filter(|account| !only_old || account.old_hash.is_some()) {
            let state = if account.disabled { "disabled" } else { "enabled" };
            // A scheme without its salt, which says nothing here.
            let old = account.old_hash.as_deref().and_then(|scheme| scheme.rsplit_once('$')).map(|(scheme, _)| scheme);
            print(&match format {
                ListFormat::Json => format!(
                    "{}\n",
                    json!({
                        "id": account.id.to_string(),
                        "name": account.name.shown(),
                        "key": account.key.to_string(),
                        "old_hash": old,
                        "created": account.created.0,
                        "changed": account.changed.0,
                        "disabled": account.disabled,
                    })
                ),
                ListFormat::Text => {
                    format!("{}  {}  {state}  {}\n", account.id, account.name, old.unwrap_or("password"))
                }
            })?;
        }
        match page.last() {
            Some(last) => after = Some(last.name.key().to_owned()),
            None => return Ok(()),
        }
    }
}

async fn show(named: NamedArguments) -> Result<(), Failure> {
    let (store, account) = find(&named.store, &named.name).await?;
    let sessions = store.sessions(account.id, UnixTime::now()).await?;
    let devices = store.devices(account.id).await?;
    let codes = store.recovery_codes_left(account.id).await?;
    let entries = store.latest_audit_entries(Some(account.id.to_string()), ENTRIES).await?;
    if named.format == ListFormat::Json {
        let devices = devices.iter().map(|device| {
            json!({ "id": device.id.to_string(), "label": device.label, "created": device.created.0, "used": device.used.0 })
        });
        let value = json!({
            "id": account.id.to_string(),
            "name": account.name.shown(),
            "key": account.key.to_string(),
            "old_hash": account.old_hash.is_some(),
            "created": account.created.0,
            "changed": account.changed.0,
            "disabled": account.disabled,
            "recovery_codes": codes,
            "sessions": sessions.iter().map(as_json).collect::<Value>(),
            "devices": devices.collect::<Value>(),
            "audit": entries.iter().rev().map(super::audit::as_json).collect::<Value>(),
        });
        return print(&format!("{value}\n"));
    }
    let mut text = format!(
        "{}  {}\n  created {}, record of {}, key {}\n",
        account.id, account.name, account.created, account.changed, account.key
    );
    if account.disabled {
        text += "  disabled\n";
    }
    if account.old_hash.is_some() {
        text += "  logs in with a password hash of another system\n";
    }
    text += &format!("  recovery codes left: {codes}\n  sessions: {}\n", sessions.len());
    sessions.iter().for_each(|session| text += &format!("    {}", as_line(session)));
    text += &format!("  devices: {}\n", devices.len());
    for device in &devices {
        text += &format!("    {}  used {}  {}\n", device.id, device.used, device.label);
    }
    text += "  latest entries of the audit log:\n";
    entries.iter().rev().for_each(|entry| text += &format!("    {}", super::audit::as_line(entry)));
    print(&text)
}

async fn set_disabled(one: OneArguments, disabled: bool, talk: Talk) -> Result<(), Failure> {
    let (store, account) = find(&one.store, &one.name).await?;
    store.set_disabled(account.id, disabled, operator(), UnixTime::now()).await?;
    talk.say(&format!("{} {}", if disabled { "disabled" } else { "enabled" }, account.name));
    Ok(())
}

/// The account of a name, and the store that it is in.
pub(super) async fn find(settings: &crate::cli::StoreArguments, name: &str) -> Result<(Store, Account), Failure> {
    let (store, name) = (open(settings).await?, UserName::parse(name)?);
    match store.account(&name).await? {
        Some(account) => Ok((store, account)),
        None => Err(Failure::Condition(format!("no account {name}; `candor login user list` lists them"))),
    }
}

fn as_json(session: &Session) -> Value {
    json!({
        "id": session.id.to_string(),
        "label": session.label,
        "created": session.created.0,
        "used": session.used.0,
        "ends": session.ends.0,
    })
}

fn as_line(session: &Session) -> String {
    let (used, ends) = (session.used, session.ends);
    format!("{}  used {used}, ends {ends}  {}\n", session.id, session.label)
}
