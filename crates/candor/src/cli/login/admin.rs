//! The flags of `candor login user`, `key`, `audit`, `migrate` and `backup`.

use super::StoreArguments;
use crate::cli::ListFormat;
use candor_login::store::AuditHead;
use candor_login::{KeyId, SessionId};
use clap::{Args, Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum UserCommand {
    /// List accounts in the order of their names
    #[command(after_help = "Example: who has not logged in since the migration\n  candor login user list --old-hash")]
    List {
        /// Only accounts that still have a password hash of another system
        #[arg(long)]
        old_hash: bool,
        /// Output format
        #[arg(long, value_enum, default_value_t)]
        format: ListFormat,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Count accounts, and those that still have a password hash of another system
    ///
    /// Reads the whole table, which takes a while with many accounts.
    Count {
        /// Output format
        #[arg(long, value_enum, default_value_t)]
        format: ListFormat,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Show an account: its sessions, its devices, and what the audit log says about it
    Show(NamedArguments),
    /// Forbid logins to an account, and end its sessions
    Disable(OneArguments),
    /// Permit logins to an account again
    Enable(OneArguments),
    /// Delete an account with all that belongs to it
    Delete(OneArguments),
    /// List the sessions of an account
    Sessions(NamedArguments),
    /// End one session of an account, or all of them
    Revoke {
        /// The account's name
        name: String,
        /// The session, as `candor login user sessions` names it [default: all]
        session: Option<SessionId>,
        #[command(flatten)]
        store: StoreArguments,
    },
}

#[derive(Debug, Args)]
pub(crate) struct NamedArguments {
    /// The account's name
    pub(crate) name: String,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

#[derive(Debug, Args)]
pub(crate) struct OneArguments {
    /// The account's name
    pub(crate) name: String,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// List the keys of the ring, the oldest first, with the number of accounts that need each
    List {
        /// Output format
        #[arg(long, value_enum, default_value_t)]
        format: ListFormat,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Add a key for new registrations
    ///
    /// Accounts stay with their keys until they register again, for instance with a new password. Running servers use the new key within a minute.
    ///
    /// With --ksf, clients stretch the passwords of new registrations that way; accounts keep their parameters until they register again.
    Rotate {
        /// Argon2id of the new key: memory in KiB, passes, lanes, such as 65536:3:1 [default: as the active key]
        #[arg(long, value_name = "M:T:P")]
        ksf: Option<String>,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Remove a key that no account needs any more
    ///
    /// Exits with status 1 if the key is the active one, or accounts need it.
    Retire {
        /// The key, as `candor login key list` names it
        key: KeyId,
        #[command(flatten)]
        store: StoreArguments,
    },
}

#[derive(Debug, Subcommand)]
pub(crate) enum AuditCommand {
    /// Show the latest entries, the newest last
    Show {
        /// Only entries about this account
        #[arg(long, value_name = "NAME")]
        user: Option<String>,
        /// How many
        #[arg(long, value_name = "N", default_value_t = 50)]
        latest: u32,
        /// Output format
        #[arg(long, value_enum, default_value_t)]
        format: ListFormat,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Print where the log ends, to be kept elsewhere
    Head {
        #[command(flatten)]
        store: StoreArguments,
    },
    /// Check that no entry was changed, removed or reordered
    ///
    /// Exits with status 1 if one was. Entries that were cut off at the end are noticed only with --head.
    #[command(after_help = "Example:\n  candor login audit head > head   # kept on another machine\n  \
                            candor login audit verify --head $(cat head)")]
    Verify {
        /// An earlier answer of `candor login audit head`: the log must contain it
        #[arg(long, value_name = "HEAD")]
        head: Option<AuditHead>,
        #[command(flatten)]
        store: StoreArguments,
    },
}

#[derive(Debug, Args)]
pub(crate) struct MigrateArguments {
    /// CSV with a header, or a JSON object per line (.json, .jsonl, .ndjson); - is stdin
    pub(crate) file: PathBuf,
    /// How the file is laid out [default: by its name; CSV for stdin]
    #[arg(long, value_enum)]
    pub(crate) layout: Option<FileLayout>,
    /// Column or member with the account's name
    #[arg(long, value_name = "COLUMN", default_value = "name")]
    pub(crate) name: String,
    /// Column or member with the password hash
    #[arg(long, value_name = "COLUMN", default_value = "hash")]
    pub(crate) hash: String,
    /// Read and check everything, and change nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t)]
    pub(crate) format: ListFormat,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum FileLayout {
    /// Columns, named in the first line
    Csv,
    /// A JSON object per line
    Jsonl,
}

#[derive(Debug, Args)]
pub(crate) struct BackupArguments {
    /// The file to write; it must not exist
    pub(crate) file: PathBuf,
    #[command(flatten)]
    pub(crate) store: StoreArguments,
}
