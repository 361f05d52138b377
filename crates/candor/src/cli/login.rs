//! The flags of `candor login`.

mod admin;

pub(crate) use admin::{
    AuditCommand, BackupArguments, FileLayout, KeyCommand, MigrateArguments, NamedArguments, OneArguments, UserCommand,
};

use candor_login::config::{SETTINGS, Setting};
use clap::{Arg, ArgMatches, Args, Command, Error, FromArgMatches, Subcommand, value_parser};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum LoginCommand {
    /// Run the login server until Ctrl-C or SIGTERM
    ///
    /// Without any setting it listens on this machine only, and keeps a SQLite database and its master key in the state folder, which it makes. Every setting can
    /// also stand in the file of --config, as `name = value`, and in the environment, as CANDOR_LOGIN_NAME; flags win over the environment, and the
    /// environment over the file.
    #[command(
        after_help = "Example:\n  candor login serve &\n  candor login token add   # prints a token that permits one registration"
    )]
    Serve(ServeArguments),
    /// Make registration tokens
    #[command(subcommand)]
    Token(TokenCommand),
    /// List, show, disable and delete accounts, and end their sessions
    #[command(subcommand)]
    User(UserCommand),
    /// List, rotate and retire the server's keys
    #[command(subcommand)]
    Key(KeyCommand),
    /// Show and verify the audit log
    #[command(subcommand)]
    Audit(AuditCommand),
    /// Import accounts with the password hashes that another system has stored
    ///
    /// Argon2, bcrypt, scrypt and PBKDF2, as PHC strings, crypt, PHP, passlib and Django write them. Nobody has to choose a new password: at the first
    /// login the client computes the old hash, logs in with it, and registers afresh. Run it again with the same file if it was interrupted: names
    /// that are there are left alone. Exits with status 1 if a line can't be imported.
    ///
    /// Until a user has logged in once, anyone who has the old hash can log in as that user. Delete the old hashes; crates/login/docs/migration.md
    /// says what else this concedes.
    #[command(after_help = "Examples:\n  candor login migrate users.csv --dry-run\n  \
                            candor login migrate accounts.jsonl --name email --hash password")]
    Migrate(MigrateArguments),
    /// Write a copy of the SQLite database while the server runs
    ///
    /// PostgreSQL has pg_dump for this.
    #[command(after_help = "Example:\n  candor login backup login-2027-01-15.sqlite")]
    Backup(BackupArguments),
    /// Print the description of the HTTP interface (OpenAPI 3.1)
    Openapi,
}

#[derive(Debug, Subcommand)]
pub(crate) enum TokenCommand {
    /// Make a token that permits one registration, and print it
    ///
    /// The database keeps only its hash: it can't be shown again.
    Add {
        /// What to call it in the audit log
        #[arg(long, default_value = "")]
        label: String,
        /// Days until it expires
        #[arg(long, default_value_t = 7, value_parser = value_parser!(u16).range(1..=3650))]
        days: u16,
        #[command(flatten)]
        store: StoreArguments,
    },
    /// List the tokens that have not been used
    List {
        #[command(flatten)]
        store: StoreArguments,
    },
}

#[derive(Debug, Args)]
pub(crate) struct ServeArguments {
    /// Print events as lines of JSON
    #[arg(long)]
    pub(crate) json_log: bool,
    #[command(flatten)]
    pub(crate) settings: Settings<true>,
}

/// The settings that say where the database is.
pub(crate) type StoreArguments = Settings<false>;

/// The settings of [`StoreArguments`].
const OF_STORE: [&str; 4] = ["state", "database", "database-ca", "master-key"];

/// Settings on the command line: one flag for each of [`SETTINGS`], or for those that say where the database is.
#[derive(Clone, Debug, Default)]
pub(crate) struct Settings<const ALL: bool> {
    pub(crate) config: Option<PathBuf>,
    /// Names and values.
    pub(crate) given: Vec<(&'static str, String)>,
}

impl<const ALL: bool> Settings<ALL> {
    fn there_are() -> impl Iterator<Item = &'static Setting> {
        SETTINGS.iter().filter(|setting| ALL || OF_STORE.contains(&setting.name))
    }
}

impl<const ALL: bool> Args for Settings<ALL> {
    fn augment_args(command: Command) -> Command {
        let config = Arg::new("config")
            .long("config")
            .value_name("FILE")
            .value_parser(value_parser!(PathBuf))
            .help("A TOML file with any of these settings by their names");
        let settings = Self::there_are().map(|setting| {
            let default = setting.default_text();
            // Where the default depends on the machine or is nothing, the help says what it is.
            let help = match (setting.name, default.as_str()) {
                ("state", _) => format!("{} [default: $STATE_DIRECTORY, or ~/.local/state/candor-login]", setting.help),
                (_, "") => setting.help.to_owned(),
                _ => format!("{} [default: {default}]", setting.help),
            };
            Arg::new(setting.name).long(setting.name).value_name(setting.value).help(help)
        });
        command.arg(config).args(settings)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl<const ALL: bool> FromArgMatches for Settings<ALL> {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let given = |name: &'static str| matches.get_one::<String>(name).map(|value| (name, value.clone()));
        let settings = Self::there_are().filter_map(|setting| given(setting.name)).collect();
        Ok(Self { config: matches.get_one("config").cloned(), given: settings })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}
