//! A network in one file, whose roles run on several hosts.
//!
//! The file is TOML. Its tables become command lines, so that a role takes the same flags there as by itself; what a flag may say is for the command to judge.
//!
//! ```
//! use candor_network::NetworkFile;
//! let text = "test-networks = ['192.0.2.0/24']\n[role.ada]\nrun = 'relay'\nhost = 'two'\nlisten = '192.0.2.2:9001'";
//! let file = NetworkFile::parse(text)?;
//! assert_eq!(file.names(Some("two"))?, ["ada"]);
//! assert_eq!(file.words("ada")?, ["relay", "--listen=192.0.2.2:9001", "--name=ada", "--test-networks=192.0.2.0/24"]);
//! # Ok::<(), String>(())
//! ```

use serde::Deserialize;
use std::collections::{BTreeMap, BTreeSet};
use toml::Value as Setting;

/// The file. `crates/network/docs/deployment.md` says how to write one.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct NetworkFile {
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

#[derive(Clone, Debug, Deserialize)]
struct Role {
    /// Its command; without it, the role's name is that.
    run: Option<String>,
    /// The host that it runs on; without it, the role's name is that.
    host: Option<String>,
    /// The command's flags by their names.
    #[serde(flatten)]
    flags: BTreeMap<String, Setting>,
}

impl NetworkFile {
    /// What a role may run: commands of `candor onion`.
    pub const COMMANDS: [&str; 5] = ["directory", "monitor", "proxy", "relay", "target"];

    /// Reads a file's text.
    ///
    /// # Errors
    /// What is wrong with it, and where.
    pub fn parse(text: &str) -> Result<Self, String> {
        toml::from_str(text).map_err(|error| error.to_string())
    }

    /// The names of the roles of a host, or of all, in their order; at least one.
    ///
    /// # Errors
    /// There is none. Which hosts there are.
    pub fn names(&self, host: Option<&str>) -> Result<Vec<String>, String> {
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

    /// The command of a role, one of [`Self::COMMANDS`], and behind it its flags, each in one word with its value.
    ///
    /// # Errors
    /// What is wrong with the role, and its name; or which roles there are.
    pub fn words(&self, name: &str) -> Result<Vec<String>, String> {
        let known = || self.role.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        let role =
            self.role.get(name).ok_or_else(|| format!("no role is called `{name}`; the roles are {}", known()))?;
        let run = role.run.as_deref().unwrap_or(name);
        if !Self::COMMANDS.contains(&run) {
            return Err(format!("role `{name}`: run is `{run}`; expected one of {}", Self::COMMANDS.join(", ")));
        }
        let mut words = vec![run.to_owned()];
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
    use proptest::prelude::*;

    const TWO: &str = "directory = [\"http://192.0.2.1:7000/#ab\"]\ntest-networks = [\"192.0.2.0/24\"]\n\
                       [role.directory]\nhost = \"one\"\nmetrics = \"192.0.2.1:9100\"\n\
                       [role.ada]\nrun = \"relay\"\nhost = \"two\"\nbandwidth = 7\nhandshakes = [\"ntor\", \"hybrid-768\"]\n\
                       [role.proxy]\nhost = \"two\"\nports = [80, 443]\n\
                       [role.monitor]\n";

    #[test]
    fn a_role_is_a_command_line() {
        let file = NetworkFile::parse(TWO).unwrap();
        let words = |name: &str| file.words(name).unwrap().join(" ");
        assert_eq!(words("directory"), "directory --metrics=192.0.2.1:9100 --test-networks=192.0.2.0/24");
        assert_eq!(
            words("ada"),
            "relay --bandwidth=7 --directory=http://192.0.2.1:7000/#ab --handshakes=ntor --handshakes=hybrid-768 --name=ada \
             --test-networks=192.0.2.0/24"
        );
        assert_eq!(words("proxy"), "proxy --directory=http://192.0.2.1:7000/#ab --ports=80 --ports=443 --test-network");
        assert_eq!(words("monitor"), "monitor --watch=directory=http://192.0.2.1:9100/metrics");
    }

    #[test]
    fn a_host_has_its_own_roles() {
        let file = NetworkFile::parse(TWO).unwrap();
        assert_eq!(file.names(Some("two")).unwrap(), ["ada", "proxy"]);
        assert_eq!(file.names(Some("monitor")).unwrap(), ["monitor"], "a role's host is its name");
        assert_eq!(file.names(None).unwrap().len(), 4);
        let why = file.names(Some("three")).unwrap_err();
        assert_eq!(why, "no role runs on host `three`; the hosts are monitor, one, two");
        assert!(NetworkFile::parse("[role]").unwrap().names(None).is_err());
    }

    /// A flag as a table has it, and as words say it; `None` if it can't be a flag.
    fn flags() -> impl Strategy<Value = (String, Option<Vec<String>>)> {
        let text = || "[ -~]{0,12}";
        let single = prop_oneof![
            text().prop_map(|text| (format!("{text:?}"), text)),
            any::<i64>().prop_map(|number| (number.to_string(), number.to_string())),
        ];
        prop_oneof![
            single.clone().prop_map(|(said, word)| (said, Some(vec![format!("={word}")]))),
            any::<bool>().prop_map(|is| (is.to_string(), Some(is.then(String::new).into_iter().collect()))),
            prop::collection::vec(single, 0..4).prop_map(|all| {
                let (said, words): (Vec<_>, Vec<_>) = all.into_iter().unzip();
                let words = words.into_iter().map(|word| format!("={word}")).collect();
                (format!("[{}]", said.join(", ")), Some(words))
            }),
            Just(("1.5".to_owned(), None)),
            Just(("[true]".to_owned(), None)),
            Just(("{ a = 1 }".to_owned(), None)),
            Just(("1979-05-27".to_owned(), None)),
        ]
    }

    proptest! {
        #[test]
        fn every_flag_of_a_table_is_in_its_role_s_words_and_nothing_else_is(
            run in prop::sample::select(&["target", "directory", "proxy", "relay", "monitor", "up", ""][..]),
            flags in prop::collection::btree_map("[a-z]{1,5}-[a-z]{1,5}", flags(), 0..5),
            has_tests in any::<bool>(),
        ) {
            let table: String = flags.iter().map(|(flag, (said, _))| format!("{flag} = {said}\n")).collect();
            let tests = if has_tests { "test-networks = [\"192.0.2.0/24\"]\n" } else { "" };
            let file = NetworkFile::parse(&format!("{tests}[role.\"an other\"]\nrun = {run:?}\n{table}")).unwrap();
            prop_assert_eq!(file.names(None).unwrap(), ["an other"]);
            let words = file.words("an other");
            let is_known = NetworkFile::COMMANDS.contains(&run);
            if !is_known || flags.values().any(|(_, words)| words.is_none()) {
                let why = words.unwrap_err();
                prop_assert!(why.starts_with("role `an other`: "), "{}", why);
                return Ok(());
            }
            let words = words.unwrap();
            let expected = flags.iter().flat_map(|(flag, (_, values))| {
                values.iter().flatten().map(move |value| format!("--{flag}{value}"))
            });
            let defaults = ["--name=an other", "--test-network", "--test-networks=192.0.2.0/24"];
            prop_assert_eq!(&words[0], run);
            let own = words[1..].iter().filter(|word| !defaults.contains(&word.as_str())).cloned();
            prop_assert_eq!(own.collect::<Vec<_>>(), expected.collect::<Vec<_>>());
        }

        #[test]
        fn no_text_makes_it_panic(text in "([\\[\\]{}=.\"'\n a-z0-9-]|role|run|directory){0,60}") {
            if let Ok(file) = NetworkFile::parse(&text) {
                for name in file.names(None).unwrap_or_default() {
                    let _ = file.words(&name);
                }
            }
        }
    }
}
