//! Verification of the audit log.
//!
//! Each entry is authenticated together with the one before it, under a key derived from the master key, which is not in the database. Whoever
//! can write to the database but does not have that key can't change, insert, remove or reorder entries unnoticed. He can cut off the end and
//! set the head back to match: against that, keep a copy of the head elsewhere, and pass it to [`verify`].

use crate::store::{AuditHead, Store, StoreError};
use std::fmt;
use std::str::FromStr;

/// Entries per look at the database.
const STEP: u32 = 1000;

/// What is wrong with a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Broken {
    /// Something of an entry is not as it was written, or the entry before it is another one.
    #[error("entry {0} was changed, or the one before it was replaced")]
    Changed(u64),
    /// An entry is not there.
    #[error("entry {0} is missing")]
    Missing(u64),
    /// The entries end elsewhere than the head says.
    #[error("the head says that entry {0} is the last, but there are later ones, or that entry has another hash")]
    Head(u64),
    /// There is an entry before the first one.
    #[error("entry {0} was inserted: the first entry is number 1")]
    Inserted(i64),
    /// The log is shorter than it was, or has another entry at the place.
    #[error("the log was rewritten: entry {0} is not the one whose head was kept")]
    Rewritten(u64),
}

/// Reads the whole log. `Ok(Ok(head))` says where it ends; with `kept`, the head that was kept elsewhere, also that nothing up to there is gone.
/// Entries that are appended meanwhile don't disturb it.
///
/// # Errors
/// [`StoreError`] if the database can't be read.
pub async fn verify(store: &Store, kept: Option<AuditHead>) -> Result<Result<AuditHead, Broken>, StoreError> {
    // As of one moment: an entry and the head that names it are written in one transaction.
    let (head, lowest, highest) = store.audit_bounds().await?;
    let mut last = AuditHead { sequence: 0, hash: [0; 32] };
    let differs = |kept: &AuditHead, last: &AuditHead| kept.sequence == last.sequence && kept.hash != last.hash;
    if lowest < 1 {
        return Ok(Err(Broken::Inserted(lowest)));
    }
    if kept.is_some_and(|kept| differs(&kept, &last)) {
        return Ok(Err(Broken::Rewritten(0)));
    }
    while last.sequence < head.sequence {
        let entries = store.audit_entries(last.sequence, STEP).await?;
        let Some(first) = entries.first() else { return Ok(Err(Broken::Missing(last.sequence + 1))) };
        if first.sequence != last.sequence + 1 {
            return Ok(Err(Broken::Missing(last.sequence + 1)));
        }
        for entry in entries.iter().take_while(|entry| entry.sequence <= head.sequence) {
            if entry.sequence != last.sequence + 1 {
                return Ok(Err(Broken::Missing(last.sequence + 1)));
            }
            if !store.audit_entry_fits(&last.hash, entry) {
                return Ok(Err(Broken::Changed(entry.sequence)));
            }
            last = AuditHead { sequence: entry.sequence, hash: entry.hash };
            if kept.is_some_and(|kept| differs(&kept, &last)) {
                return Ok(Err(Broken::Rewritten(last.sequence)));
            }
        }
    }
    Ok(match kept {
        _ if last.hash != head.hash || i64::try_from(head.sequence) != Ok(highest) => Err(Broken::Head(head.sequence)),
        Some(kept) if kept.sequence > head.sequence => Err(Broken::Rewritten(kept.sequence)),
        _ => Ok(head),
    })
}

impl fmt::Display for AuditHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:", self.sequence)?;
        self.hash.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// A text that is no head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "not the head of an audit log; expected its number, a colon and 64 hexadecimal digits, as `candor login audit head` prints them"
)]
pub struct NoHead;

impl FromStr for AuditHead {
    type Err = NoHead;

    fn from_str(text: &str) -> Result<Self, NoHead> {
        let (sequence, digits) = text.split_once(':').ok_or(NoHead)?;
        let mut hash = [0; 32];
        match base16ct::mixed::decode(digits, &mut hash) {
            Ok(decoded) if decoded.len() == 32 => {}
            _ => return Err(NoHead),
        }
        Ok(Self { sequence: sequence.parse().map_err(|_| NoHead)?, hash })
    }
}
