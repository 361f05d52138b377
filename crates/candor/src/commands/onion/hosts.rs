//! A network in one file, whose roles run on several hosts: `candor onion role`, and `candor onion up --network`.
//!
//! The file's tables become command lines, so that a role takes the same flags there as by itself, and refuses the same mistakes in the same words.

use super::family::Family;
use crate::Failure;
use crate::cli::{Arguments, Command, ListFormat, OnionCommand, RoleArguments, UpArguments};
use crate::output::{Talk, print};
use clap::Parser;
use serde::Deserialize;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::time::Duration;
use tokio::time::Instant;
use toml::Value as Setting;

/// What a role may run.
const COMMANDS: [&str; 5] = ["directory", "monitor", "proxy", "relay", "target"];

/// The file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct NetworkFile {
    /// The directories, for relays and proxies.
    #[serde(default)]
    directory: Vec<String>,
    /// How many of them must have signed.
    threshold: Option<u8>,
    /// Networks without limits, for relays and directories. If there are any, paths may have relays of one /16.
    #[serde(default)]
    test_networks: Vec<String>,
    role: BTreeMap<String, Role>,
}

#[derive(Debug, Deserialize)]
struct Role {
    /// Its command; without it, the role's name is that.
    run: Option<String>,
    /// The host that it runs on; without it, the role's name is that.
    host: Option<String>,
    /// The command's flags by their names.
    #[serde(flatten)]
    flags: BTreeMap<String, Setting>,
}

/// Runs one role of a file in this process.
pub(super) fn role(arguments: &RoleArguments, talk: Talk) -> Result<(), Failure> {
    let command = NetworkFile::load(&arguments.network)?.command(&arguments.role);
    let command = command.map_err(|why| in_file(&arguments.network, &why))?;
    super::execute(command, talk)
}

/// Starts the roles of a host, and says so. Comes back when one of them has ended.
pub(super) async fn up(family: &mut Family, path: &Path, arguments: &UpArguments) -> Result<(), Failure> {
    let until = Instant::now() + Duration::from_secs(arguments.wait.into());
    let names = NetworkFile::load(path)?.names(arguments.host.as_deref()).map_err(|why| in_file(path, &why))?;
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

impl NetworkFile {
    fn load(path: &Path) -> Result<Self, Failure> {
        let text = std::fs::read_to_string(path).map_err(|error| in_file(path, &error.to_string()))?;
        toml::from_str(&text).map_err(|error| in_file(path, &error.to_string()))
    }

    /// The roles of a host, or all.
    fn names(&self, host: Option<&str>) -> Result<Vec<String>, String> {
        let is_here = |(name, role): &(&String, &Role)| host.is_none_or(|host| role.host(name) == host);
        let names: Vec<String> = self.role.iter().filter(is_here).map(|(name, _)| name.clone()).collect();
        match (names.is_empty(), host) {
            (false, _) => Ok(names),
            (true, None) => Err("expected a role, a table such as [role.guard]; found none".to_owned()),
            (true, Some(host)) => {
                let hosts: BTreeSet<_> = self.role.iter().map(|(name, role)| role.host(name)).collect();
                let hosts: Vec<_> = hosts.into_iter().collect();
                Err(format!("no role runs on host `{host}`; the hosts are {}", hosts.join(", ")))
            }
        }
    }

    /// The command of a role.
    fn command(&self, name: &str) -> Result<OnionCommand, String> {
        let words = self.words(name)?;
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

    /// The command line of a role.
    fn words(&self, name: &str) -> Result<Vec<String>, String> {
        let known = || self.role.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let role =
            self.role.get(name).ok_or_else(|| format!("no role is called `{name}`; the roles are {}", known()))?;
        let run = role.run.as_deref().unwrap_or(name);
        if !COMMANDS.contains(&run) {
            return Err(format!("role `{name}`: run is `{run}`; expected one of {}", COMMANDS.join(", ")));
        }
        let mut words = ["candor", "onion", run].map(str::to_owned).to_vec();
        let mut flags = role.flags.clone();
        for (flag, value) in self.defaults(name, run, flags.contains_key("relays"))? {
            flags.entry(flag.to_owned()).or_insert(value);
        }
        for (flag, value) in &flags {
            put(&mut words, flag, value).map_err(|why| format!("role `{name}`: {flag}: {why}"))?;
        }
        Ok(words)
    }

    /// The flags that a role has if its table doesn't say otherwise.
    fn defaults(&self, name: &str, run: &str, has_list: bool) -> Result<Vec<(&'static str, Setting)>, String> {
        let texts = |texts: &[String]| Setting::Array(texts.iter().cloned().map(Setting::String).collect());
        let tests = !self.test_networks.is_empty();
        let mut flags = Vec::new();
        match run {
            "relay" => flags.push(("name", Setting::String(name.to_owned()))),
            "proxy" if tests => flags.push(("test-network", Setting::Boolean(true))),
            "monitor" => flags.push(("watch", texts(&self.watched()?))),
            _ => {}
        }
        if matches!(run, "relay" | "directory") && tests {
            flags.push(("test-networks", texts(&self.test_networks)));
        }
        if matches!(run, "relay" | "proxy") && !has_list {
            flags.push(("directory", texts(&self.directory)));
            flags.extend(self.threshold.map(|threshold| ("threshold", Setting::Integer(threshold.into()))));
        }
        Ok(flags)
    }

    /// What a monitor watches: every role that serves metrics.
    fn watched(&self) -> Result<Vec<String>, String> {
        let mut watched = Vec::new();
        for (name, role) in &self.role {
            match role.flags.get("metrics") {
                Some(Setting::String(address)) => watched.push(format!("{name}=http://{address}/metrics")),
                Some(_) => return Err(format!("role `{name}`: metrics: expected an address and a port as a text")),
                None => {}
            }
        }
        Ok(watched)
    }
}

impl Role {
    fn host<'a>(&'a self, name: &'a str) -> &'a str {
        self.host.as_deref().unwrap_or(name)
    }
}

/// Puts a flag with its value behind the others.
fn put(words: &mut Vec<String>, flag: &str, value: &Setting) -> Result<(), &'static str> {
    match value {
        Setting::Boolean(true) => words.push(format!("--{flag}")),
        Setting::Boolean(false) => {}
        Setting::String(text) => words.push(format!("--{flag}={text}")),
        Setting::Integer(number) => words.push(format!("--{flag}={number}")),
        Setting::Array(values) => {
            for value in values {
                match value {
                    Setting::String(_) | Setting::Integer(_) => put(words, flag, value)?,
                    _ => return Err("expected texts or whole numbers in the list"),
                }
            }
        }
        _ => return Err("expected a text, a whole number, true, false, or a list"),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn file(text: &str) -> NetworkFile {
        toml::from_str(text).unwrap()
    }

    const TWO: &str = "directory = [\"http://192.0.2.1:7000/#ab\"]\ntest-networks = [\"192.0.2.0/24\"]\n\
                       [role.directory]\nhost = \"one\"\nmetrics = \"192.0.2.1:9100\"\n\
                       [role.ada]\nrun = \"relay\"\nhost = \"two\"\nbandwidth = 7\nhandshakes = [\"ntor\", \"hybrid-768\"]\n\
                       [role.proxy]\nhost = \"two\"\nports = [80, 443]\n\
                       [role.monitor]\n";

    #[test]
    fn a_role_is_a_command_line() {
        let file = file(TWO);
        let words = |name: &str| file.words(name).unwrap()[2..].join(" ");
        assert_eq!(words("directory"), "directory --metrics=192.0.2.1:9100 --test-networks=192.0.2.0/24");
        assert_eq!(
            words("ada"),
            "relay --bandwidth=7 --directory=http://192.0.2.1:7000/#ab --handshakes=ntor --handshakes=hybrid-768 --name=ada \
             --test-networks=192.0.2.0/24"
        );
        assert_eq!(words("proxy"), "proxy --directory=http://192.0.2.1:7000/#ab --ports=80 --ports=443 --test-network");
        assert_eq!(words("monitor"), "monitor --watch=directory=http://192.0.2.1:9100/metrics");
        for name in ["directory", "ada", "proxy", "monitor"] {
            assert!(file.command(name).is_ok(), "{name}");
        }
        let OnionCommand::Proxy(proxy) = file.command("proxy").unwrap() else { panic!("a proxy") };
        assert!(proxy.ports == [80, 443] && proxy.test_network);
    }

    #[test]
    fn a_host_has_its_own_roles() {
        let file = file(TWO);
        assert_eq!(file.names(Some("two")).unwrap(), ["ada", "proxy"]);
        assert_eq!(file.names(Some("monitor")).unwrap(), ["monitor"], "a role's host is its name");
        assert_eq!(file.names(None).unwrap().len(), 4);
        let why = file.names(Some("three")).unwrap_err();
        assert_eq!(why, "no role runs on host `three`; the hosts are monitor, one, two");
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
            let why = file(role).command("x").expect_err(role);
            assert!(why.starts_with(expected), "{role}: {why}");
        }
        assert!(toml::from_str::<NetworkFile>("[role.x]\nrun = \"target\"\n[rolle.y]").is_err());
        assert!(file("[role.x]\nrun = \"target\"\nlisten = \"127.0.0.1:0\"").command("x").is_ok());
    }
}
