//! A network in one file, whose roles run on several hosts: `candor onion role`, and `candor onion up --network`.
//!
//! The file's tables become command lines, so that a role refuses the same mistakes there as by itself, in the same words.

use super::family::Family;
use crate::Failure;
use crate::cli::{Arguments, Command, ListFormat, OnionCommand, RoleArguments, UpArguments};
use crate::output::{Talk, print};
use candor_network::NetworkFile;
use clap::Parser;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;

/// Runs one role of a file in this process.
pub(super) fn role(arguments: &RoleArguments, talk: Talk) -> Result<(), Failure> {
    let command = command(&load(&arguments.network)?, &arguments.role);
    let command = command.map_err(|why| in_file(&arguments.network, &why))?;
    super::execute(command, talk)
}

/// Starts the roles of a host, and says so. Comes back when one of them has ended.
pub(super) async fn up(family: &mut Family, path: &Path, arguments: &UpArguments) -> Result<(), Failure> {
    let until = Instant::now() + Duration::from_secs(arguments.wait.into());
    let names = load(path)?.names(arguments.host.as_deref()).map_err(|why| in_file(path, &why))?;
    let file = path.to_str().ok_or_else(|| in_file(path, "expected a path that is text"))?;
    for name in &names {
        family.start(name, &["onion", "role", name, "--network", file])?;
    }
    let mut said = BTreeMap::new();
    for name in &names {
        let line = family.line(name, until).await?;
        said.insert(name.as_str(), serde_json::from_str::<Value>(&line)?);
    }
    print(&match arguments.format {
        ListFormat::Text => format!("ready: {}\nCtrl-C stops all of them\n", names.join(", ")),
        ListFormat::Json => {
            let role = |(name, process)| json!({ "name": name, "process": process, "said": said.get(name) });
            format!("{}\n", json!({ "roles": family.processes().map(role).collect::<Vec<_>>() }))
        }
    })?;
    Err(family.until_one_ends().await)
}

fn in_file(path: &Path, why: &str) -> Failure {
    Failure::Error(format!("{}: {why}", path.display()))
}

fn load(path: &Path) -> Result<NetworkFile, Failure> {
    let text = std::fs::read_to_string(path).map_err(|error| in_file(path, &error.to_string()))?;
    NetworkFile::parse(&text).map_err(|why| in_file(path, &why))
}

/// The command of a role.
fn command(file: &NetworkFile, name: &str) -> Result<OnionCommand, String> {
    let words = ["candor", "onion"].map(str::to_owned).into_iter().chain(file.words(name)?);
    let parsed = Arguments::try_parse_from(words).map_err(|error| {
        let text = error.to_string();
        let lines = text.lines().take_while(|line| !line.is_empty()).collect::<Vec<_>>();
        format!("role `{name}`: {}", lines.join(" ").trim_start_matches("error: "))
    })?;
    match parsed.command {
        Some(Command::Onion(command)) => Ok(command),
        _ => Err(format!("role `{name}` is none")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str, name: &str) -> Result<OnionCommand, String> {
        command(&NetworkFile::parse(text)?, name)
    }

    #[test]
    fn a_role_has_the_flags_of_its_command() {
        let text = "directory = [\"http://192.0.2.1:7000/#ab\"]\ntest-networks = [\"192.0.2.0/24\"]\n[role.directory]\nmetrics = \"192.0.2.1:9100\"\n[role.ada]\nrun = \"relay\"\nhandshakes = [\"ntor\", \"hybrid-768\"]\n\
                    [role.proxy]\nports = [80, 443]\n[role.monitor]";
        for name in ["directory", "ada", "proxy", "monitor"] {
            let found = parsed(text, name);
            assert!(found.is_ok(), "{name}: {found:?}");
        }
        let OnionCommand::Proxy(proxy) = parsed(text, "proxy").unwrap() else { panic!("a proxy") };
        assert!(proxy.ports == [80, 443] && proxy.test_network);
    }

    #[test]
    fn a_mistake_is_named_with_its_role() {
        for (role, expected) in [
            ("[role.x]", "role `x`: run is `x`; expected one of directory, monitor, proxy, relay, target"),
            ("[role.x]\nrun = \"up\"", "role `x`: run is `up`; expected one of"),
            ("[role.x]\nrun = \"target\"\nlisten = 7", "role `x`: invalid value '7' for '--listen"),
            ("[role.x]\nrun = \"target\"\nlissten = \"127.0.0.1:0\"", "role `x`: unexpected argument '--lissten'"),
            ("[role.x]\nrun = \"relay\"\nlinks = 0", "role `x`: invalid value '0' for '--links"),
            ("[role.x]\nrun = \"relay\"\nlinks = 1.5", "role `x`: links: expected a text, a whole number"),
            ("[role.x]\nrun = \"relay\"\nfamily = [true]", "role `x`: family: expected texts or whole numbers"),
            ("[role.x]\nrun = \"monitor\"\n[role.y]\nmetrics = 7", "role `y`: metrics: expected an address"),
            ("[role.x]\nrun = \"target\"\nhelp = true", "role `x`:"),
            ("[role.y]\nrun = \"target\"", "no role is called `x`; the roles are y"),
        ] {
            let why = parsed(role, "x").expect_err(role);
            assert!(why.starts_with(expected), "{role}: {why}");
        }
        assert!(parsed("[role.x]\nrun = \"target\"\n[rolle.y]", "x").is_err());
        assert!(parsed("[role.x]\nrun = \"target\"\nlisten = \"127.0.0.1:0\"", "x").is_ok());
    }
}
