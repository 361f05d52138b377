//! `candor login`: the login server, and what its operator does.

mod audit;
mod backup;
mod key;
mod migrate;
mod user;

use crate::Failure;
use crate::cli::{LoginCommand, ServeArguments, Settings, TokenCommand};
use crate::output::{Talk, print};
use candor_login::{
    Actor, Config, Log, MasterKey, Purpose, Server, Store, TokenHash, UnixTime, openapi, registration_token,
};
use candor_opaque::Limits;
use serde_json::json;

pub(crate) fn execute(command: LoginCommand, talk: Talk) -> Result<(), Failure> {
    match command {
        LoginCommand::Serve(arguments) => serve(&arguments, talk),
        LoginCommand::Token(command) => token(command, talk),
        LoginCommand::User(command) => super::runtime()?.block_on(user::execute(command, talk)),
        LoginCommand::Key(command) => super::runtime()?.block_on(key::execute(command, talk)),
        LoginCommand::Audit(command) => super::runtime()?.block_on(audit::execute(command, talk)),
        LoginCommand::Migrate(arguments) => super::runtime()?.block_on(migrate::execute(arguments, talk)),
        LoginCommand::Backup(arguments) => super::runtime()?.block_on(backup::execute(arguments, talk)),
        LoginCommand::Openapi => print(&openapi()),
    }
}

fn serve(arguments: &ServeArguments, talk: Talk) -> Result<(), Failure> {
    let config = config(&arguments.settings)?;
    let refused = |why| Failure::Error(format!("`ksf`: {why}; clients refuse it by default"));
    Limits::DEFAULT.check(&config.ksf).map_err(refused)?;
    let as_json = arguments.json_log;
    let log = Log::new(move |event| {
        let line = if as_json { serde_json::to_string(event).unwrap_or_default() } else { event.to_string() };
        talk.say(&line);
    });
    super::runtime()?.block_on(async {
        let mut stop = super::Stop::new()?;
        let state = config.database.is_none().then(|| config.state.clone());
        let (registration, exempt) = (config.registration, config.guesses.exempt.clone());
        let server = Server::start(config, log).await?;
        print(&format!("{}\n", json!({ "url": server.url() })))?;
        if !as_json {
            if let Some(state) = state {
                talk.say(&format!("state in {}", state.display()));
            }
            if !exempt.is_empty() {
                let networks: Vec<_> = exempt.iter().map(ToString::to_string).collect();
                talk.say(&format!("guesses from {} are counted by account only (`exempt`)", networks.join(", ")));
            }
            if registration == candor_login::config::Registration::Token {
                talk.say("`candor login token add` prints a token that permits one registration");
            }
        }
        stop.asked().await;
        tokio::select! {
            () = server.shutdown() => {}
            () = stop.asked() => {}
        }
        Ok(())
    })
}

fn token(command: TokenCommand, talk: Talk) -> Result<(), Failure> {
    let now = UnixTime::now();
    super::runtime()?.block_on(async {
        match command {
            TokenCommand::Add { label, days, store } => {
                let token = registration_token()?;
                let hash = TokenHash::of(Purpose::Registration, token.as_bytes());
                let ends = now.plus(i64::from(days) * 24 * 3600);
                open(&store).await?.add_registration_token(hash, label, ends, operator(), now).await?;
                talk.say("this token permits one registration; it can't be shown again");
                print(&format!("{}\n", *token))
            }
            TokenCommand::List { store } => {
                for token in open(&store).await?.registration_tokens().await? {
                    let (made, ends, label) = (token.created.0, token.ends.0, token.label);
                    print(&format!("{}\n", json!({ "label": label, "created": made, "ends": ends })))?;
                }
                Ok(())
            }
        }
    })
}

/// The database of a deployment that exists.
async fn open(settings: &Settings<false>) -> Result<Store, Failure> {
    let config = config(settings)?;
    let master = MasterKey::load(&config.master_key_file())?;
    Ok(Store::open(&config.database_url(), &master).await?)
}

/// Whoever types this, for the audit log.
fn operator() -> Actor {
    let name = ["SUDO_USER", "USER", "LOGNAME"].iter().find_map(|name| std::env::var(name).ok());
    Actor::Operator(name.unwrap_or_else(|| "unknown".to_owned()))
}

/// The settings of the file, the environment and the command line.
fn config<const ALL: bool>(arguments: &Settings<ALL>) -> Result<Config, Failure> {
    let mut config = Config::default();
    if let Some(path) = &arguments.config {
        let at = path.display().to_string();
        let text = std::fs::read_to_string(path).map_err(|error| Failure::Error(format!("{at}: {error}")))?;
        config.read_file(&at, &text)?;
    }
    // A variable that is not valid text can't be one of ours, or its value can't be one.
    let text = |(name, value): (std::ffi::OsString, std::ffi::OsString)| {
        Some((name.into_string().ok()?, value.to_string_lossy().into_owned()))
    };
    config.read_environment(std::env::vars_os().filter_map(text))?;
    for (name, value) in &arguments.given {
        config.set("command line", name, value)?;
    }
    Ok(config)
}
