//! `candor login audit`: the log of who did what.

use super::open;
use crate::Failure;
use crate::cli::{AuditCommand, ListFormat};
use crate::output::{Talk, print};
use candor_login::audit::verify;
use candor_login::store::AuditEntry;
use serde_json::{Value, json};

pub(super) async fn execute(command: AuditCommand, talk: Talk) -> Result<(), Failure> {
    match command {
        AuditCommand::Show { user, latest, format, store } => {
            let (store, subject) = match user {
                Some(name) => {
                    let (store, account) = super::user::find(&store, &name).await?;
                    (store, Some(account.id.to_string()))
                }
                None => (open(&store).await?, None),
            };
            for entry in store.latest_audit_entries(subject, latest).await?.iter().rev() {
                print(&match format {
                    ListFormat::Json => format!("{}\n", as_json(entry)),
                    ListFormat::Text => as_line(entry),
                })?;
            }
            Ok(())
        }
        AuditCommand::Head { store } => print(&format!("{}\n", open(&store).await?.audit_head().await?)),
        AuditCommand::Verify { head, store } => match verify(&open(&store).await?, head).await? {
            Ok(found) => {
                talk.say(&format!("entries: {}, none changed, removed or reordered", found.sequence));
                if head.is_none() {
                    talk.say("without --head nobody knows whether entries were cut off at the end");
                }
                print(&format!("{found}\n"))
            }
            Err(broken) => Err(Failure::Condition(format!("audit log: {broken}"))),
        },
    }
}

pub(super) fn as_json(entry: &AuditEntry) -> Value {
    json!({
        "sequence": entry.sequence,
        "at": entry.at.0,
        "actor": entry.actor,
        "event": entry.event,
        "subject": entry.subject,
        "detail": entry.detail,
    })
}

pub(super) fn as_line(entry: &AuditEntry) -> String {
    let AuditEntry { sequence, actor, event, subject, detail, .. } = entry;
    let line = format!("{sequence}  {}  {actor}  {event}  {subject}  {detail}", entry.at);
    format!("{}\n", line.trim_end())
}
