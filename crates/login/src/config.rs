//! The server's settings: what there are, their defaults, and where they come from.
//!
//! Each setting has one name. It stands in a TOML file as `name = value`, in the environment as `CANDOR_LOGIN_NAME` (hyphens become underscores) and on
//! the command line as `--name value`; the command line wins over the environment, and the environment over the file. [`SETTINGS`] is the only list.

mod value;

pub use value::Registration;

use crate::throttle::GuessLimits;
use candor_opaque::KsfParams;
use ipnet::IpNet;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use value::{Value, nearest};

/// What the names of environment variables begin with.
pub const ENVIRONMENT: &str = "CANDOR_LOGIN_";

/// The largest `remembered`, which takes 2.4 GB.
const MOST_REMEMBERED: usize = 1 << 24;
const SECOND: Duration = Duration::from_secs(1);

/// How a server is set up. [`Config::default`] needs nothing and serves this machine only.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// Where to listen; port 0 takes any.
    pub listen: SocketAddr,
    /// The database's URL; SQLite in [`Self::state`] if it is not given.
    pub database: Option<String>,
    /// The certificate authorities of a PostgreSQL on another machine, in PEM; this machine's if it is not given.
    pub database_ca: Option<PathBuf>,
    /// The folder of the database and of the master key.
    pub state: PathBuf,
    /// The file of the master key; `master.key` in [`Self::state`] if it is not given.
    pub master_key: Option<PathBuf>,
    /// Who may register.
    pub registration: Registration,
    /// The certificates of TLS, in PEM, the server's first.
    pub tls_certificate: Option<PathBuf>,
    /// The key of TLS, in PEM.
    pub tls_key: Option<PathBuf>,
    /// Whether to listen without TLS at an address that others can reach.
    pub plain: bool,
    /// The folder of the pages that people use; none if it is not given.
    pub pages: Option<PathBuf>,
    /// Networks of proxies, whose word about the client's address is taken.
    pub proxies: Vec<IpNet>,
    /// Networks that may read `/metrics`.
    pub metrics_from: Vec<IpNet>,
    /// Where to answer `/metrics`, in plain HTTP; beside everything else if it is not given.
    pub metrics_listen: Option<SocketAddr>,
    /// Key stretching parameters of the first key, when there is none yet. Clients refuse what [`candor_opaque::Limits::DEFAULT`] refuses unless they are told
    /// otherwise, and so does `candor login serve`.
    pub ksf: KsfParams,
    /// How long a session's access token is valid.
    pub access_lifetime: Duration,
    /// How long a session can be renewed.
    pub session_lifetime: Duration,
    /// Bounds on connections and requests.
    pub limits: Limits,
    /// How fast guesses may come.
    pub guesses: GuessLimits,
}

/// Bounds on what others may make the server do and keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Connections at a time. When there are so many, an idle one of the network with the most yields to a newcomer.
    pub connections: usize,
    /// Connections at a time from one network: a /24, or a /48 of IPv6.
    pub connections_per_network: usize,
    /// How long a connection may take for TLS and for the head of a request, and how long it may be idle.
    pub head: Duration,
    /// How long a request's body may take.
    pub body: Duration,
    /// How long writing may stand still.
    pub write: Duration,
    /// Bytes of a body.
    pub body_bytes: usize,
    /// Login starts, and other requests that compute, that may be waiting for a processor.
    pub waiting: usize,
    /// Of these, from one network.
    pub waiting_per_network: usize,
    /// Answers that are held back because of guesses at their account.
    pub delayed: usize,
    /// Of these, from one network.
    pub delayed_per_network: usize,
    /// How long the answer to a guess that is turned away is held back at most.
    pub refusal: Duration,
    /// How long requests may take to finish after the server was told to stop.
    pub shutdown: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            connections: 4096,
            connections_per_network: 512,
            head: seconds(10),
            body: seconds(10),
            write: seconds(10),
            body_bytes: 16 << 10,
            waiting: 1024,
            waiting_per_network: 128,
            delayed: 512,
            delayed_per_network: 16,
            refusal: seconds(1),
            shutdown: seconds(10),
        }
    }
}

/// What a body may be; left in the request for whoever reads it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct BodyLimits {
    pub(crate) bytes: usize,
    pub(crate) patience: Duration,
}

impl From<Limits> for BodyLimits {
    fn from(limits: Limits) -> Self {
        Self { bytes: limits.body_bytes, patience: limits.body }
    }
}

impl Default for BodyLimits {
    fn default() -> Self {
        Limits::default().into()
    }
}

impl Default for Config {
    fn default() -> Self {
        let loopback = ["127.0.0.0/8", "::1/128"].map(|net| net.parse().expect("a network"));
        Self {
            listen: ([127, 0, 0, 1], 8470).into(),
            database: None,
            database_ca: None,
            state: state_folder(|name| std::env::var_os(name)),
            master_key: None,
            registration: Registration::Token,
            tls_certificate: None,
            tls_key: None,
            plain: false,
            pages: None,
            proxies: Vec::new(),
            metrics_from: loopback.to_vec(),
            metrics_listen: None,
            ksf: KsfParams::BROWSER,
            access_lifetime: Duration::from_secs(15 * 60),
            session_lifetime: Duration::from_secs(30 * 24 * 3600),
            limits: Limits::default(),
            guesses: GuessLimits::default(),
        }
    }
}

/// systemd's state directory, otherwise the user's.
fn state_folder(variable: impl Fn(&str) -> Option<std::ffi::OsString>) -> PathBuf {
    let folder =
        |name, below: &str| variable(name).filter(|value| !value.is_empty()).map(|at| PathBuf::from(at).join(below));
    folder("STATE_DIRECTORY", "")
        .or_else(|| folder("XDG_STATE_HOME", "candor-login"))
        .or_else(|| folder("HOME", ".local/state/candor-login"))
        .unwrap_or_else(|| PathBuf::from("candor-login"))
}

/// A setting.
pub struct Setting {
    /// Its name in the file and on the command line.
    pub name: &'static str,
    /// What its value looks like.
    pub value: &'static str,
    /// What it is for.
    pub help: &'static str,
    set: fn(&mut Config, &str) -> Result<(), String>,
    shown: fn(&Config) -> String,
}

impl Setting {
    /// Its default value as text; empty if there is none.
    #[must_use]
    pub fn default_text(&self) -> String {
        (self.shown)(&Config::default())
    }
}

macro_rules! settings {
    ($($name:literal, $value:literal, $($field:ident).+, $help:literal;)+) => {
        /// Every setting, in the order of the help.
        pub const SETTINGS: &[Setting] = &[$(Setting {
            name: $name,
            value: $value,
            help: $help,
            set: |config, text| Value::read(text).map(|value| config.$($field).+ = value),
            shown: |config| Value::shown(&config.$($field).+),
        }),+];
    };
}

settings! {
    "listen", "ADDRESS:PORT", listen, "Where to listen; port 0 takes any";
    "state", "FOLDER", state, "Folder of the SQLite database and the master key";
    "database", "URL", database, "Database: sqlite:PATH or postgres://USER@HOST/NAME; SQLite in the state folder if not given";
    "database-ca", "FILE", database_ca, "Certificate authorities of a PostgreSQL on another machine, in PEM; those of this machine if not given";
    "master-key", "FILE", master_key, "File of the master key, the same for all instances; master.key in the state folder if not given";
    "registration", "WHO", registration, "Who may register: `token` (holders of a registration token), `open` (anybody) or `closed` (nobody)";
    "tls-certificate", "FILE", tls_certificate, "Certificates of TLS in PEM, the server's first";
    "tls-key", "FILE", tls_key, "Key of TLS in PEM";
    "plain", "BOOL", plain, "Listen without TLS at an address that others can reach, for a proxy that does TLS";
    "pages", "FOLDER", pages, "Folder of the pages for people (register, sign in, change the password, recover); none if not given";
    "proxies", "NETWORKS", proxies, "Networks of proxies; X-Forwarded-For is believed from these only";
    "metrics-from", "NETWORKS", metrics_from, "Networks that may read /metrics";
    "metrics-listen", "ADDRESS:PORT", metrics_listen, "Where to answer /metrics, in plain HTTP, and nowhere else; beside everything else if not given";
    "ksf", "M:T:P", ksf, "Argon2id of the first key: memory in KiB, passes, lanes; `candor login key rotate --ksf` changes it later";
    "access-lifetime", "TIME", access_lifetime, "How long an access token is valid";
    "session-lifetime", "TIME", session_lifetime, "How long a session can be refreshed";
    "connections", "N", limits.connections, "Connections at a time";
    "connections-per-network", "N", limits.connections_per_network, "Connections at a time from one /24 (IPv6: /48)";
    "head-timeout", "TIME", limits.head, "How long TLS and the head of a request may take, and how long a connection may be idle";
    "body-timeout", "TIME", limits.body, "How long a request's body may take";
    "write-timeout", "TIME", limits.write, "How long a client may take nothing of an answer";
    "waiting", "N", limits.waiting, "Requests that may wait for a processor";
    "waiting-per-network", "N", limits.waiting_per_network, "Of these, from one /24 (IPv6: /48)";
    "delayed", "N", limits.delayed, "Answers that may be held back because of guesses at their account";
    "delayed-per-network", "N", limits.delayed_per_network, "Of these, from one /24 (IPv6: /48)";
    "refusal-delay", "TIME", limits.refusal, "How long the answer to a guess that is turned away is held back at most";
    "shutdown-timeout", "TIME", limits.shutdown, "How long requests may take to finish after SIGTERM or Ctrl-C";
    "address-burst", "N", guesses.address.burst, "Guesses from one address (IPv6: /64) at once";
    "address-every", "TIME", guesses.address.every, "And then one more after each";
    "network-burst", "N", guesses.network.burst, "Guesses from one /24 (IPv6: /48) at once";
    "network-every", "TIME", guesses.network.every, "And then one more after each";
    "account-burst", "N", guesses.account.rate.burst, "Guesses at one account before answers are held back";
    "account-every", "TIME", guesses.account.rate.every, "How long until a guess at an account is forgotten";
    "account-delay", "TIME", guesses.account.first, "How long the first answer over that is held back; doubles with each";
    "account-delay-longest", "TIME", guesses.account.longest, "How long an answer is held back at most";
    "device-burst", "N", guesses.device.burst, "Guesses from a known device at once";
    "device-every", "TIME", guesses.device.every, "And then one more after each";
    "owner-burst", "N", guesses.owner.burst, "Logins and changes of password and recovery codes by the owner of one account at once, refreshes of one session, and registrations begun with one token";
    "owner-every", "TIME", guesses.owner.every, "And then one more after each";
    "instances", "N", guesses.instances, "Instances that share the database; each permits its share of the rates above";
    "request-burst", "N", guesses.request.burst, "Connections, TLS handshakes and requests from one /24 (IPv6: /48) at once; those over it go on behind others'";
    "request-every", "TIME", guesses.request.every, "And then one more after each";
    "remembered", "N", guesses.remembered, "Addresses, networks, accounts and devices that are remembered, each";
    "exempt", "NETWORKS", guesses.exempt, "Networks whose guesses are not counted by address and network, for load tests";
}

/// Why a configuration can't be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ConfigError {
    /// There is no such setting.
    #[error("{at}: unknown setting `{name}`{}", nearest.as_ref().map(|name| format!("; did you mean `{name}`?")).unwrap_or_default())]
    Unknown {
        /// The file or the environment.
        at: String,
        /// The name as it was given.
        name: String,
        /// The name that it may have been meant to be.
        nearest: Option<&'static str>,
    },
    /// A value is not one.
    #[error("{at}: `{name}`: {why}")]
    Value {
        /// The file, the environment or the command line.
        at: String,
        /// The setting's name.
        name: String,
        /// What was expected, and what was found.
        why: String,
    },
    /// The file is not TOML, or can't be read.
    #[error("{at}: {why}")]
    File {
        /// The file.
        at: String,
        /// What is wrong.
        why: String,
    },
    /// Settings that don't fit each other.
    #[error("{0}")]
    Together(String),
}

impl Config {
    /// Takes the settings of a TOML file, whose name is `at`.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn read_file(&mut self, at: &str, text: &str) -> Result<(), ConfigError> {
        let table: toml::Table = text.parse().map_err(|error: toml::de::Error| ConfigError::File {
            at: at.to_owned(),
            why: where_and_what(text, &error),
        })?;
        for (name, value) in table {
            let text = value::text(&value).map_err(|why| ConfigError::Value {
                at: at.to_owned(),
                name: name.clone(),
                why: why.to_owned(),
            })?;
            self.set(at, &name, &text)?;
        }
        Ok(())
    }

    /// Takes the settings among environment variables.
    ///
    /// # Errors
    /// [`ConfigError`].
    pub fn read_environment(
        &mut self,
        variables: impl IntoIterator<Item = (String, String)>,
    ) -> Result<(), ConfigError> {
        for (variable, text) in variables {
            if let Some(name) = variable.strip_prefix(ENVIRONMENT) {
                self.set("environment", &name.to_ascii_lowercase().replace('_', "-"), &text)?;
            }
        }
        Ok(())
    }

    /// Sets one setting. `at` is where the value comes from.
    ///
    /// # Errors
    /// [`ConfigError::Unknown`], [`ConfigError::Value`].
    pub fn set(&mut self, at: &str, name: &str, text: &str) -> Result<(), ConfigError> {
        let setting = SETTINGS.iter().find(|setting| setting.name == name).ok_or_else(|| ConfigError::Unknown {
            at: at.to_owned(),
            name: name.to_owned(),
            nearest: nearest(name, SETTINGS.iter().map(|setting| setting.name)),
        })?;
        (setting.set)(self, text).map_err(|why| ConfigError::Value { at: at.to_owned(), name: name.to_owned(), why })
    }

    /// The database's URL, with the file of its certificate authorities.
    #[must_use]
    pub fn database_url(&self) -> String {
        let Some(url) = &self.database else {
            return format!("sqlite:{}", self.state.join("login.sqlite").display());
        };
        match &self.database_ca {
            Some(file) => {
                let sign = if url.contains('?') { '&' } else { '?' };
                let file = file.to_string_lossy();
                format!("{url}{sign}sslrootcert={}", utf8_percent_encode(&file, NON_ALPHANUMERIC))
            }
            None => url.clone(),
        }
    }

    /// The master key's file.
    #[must_use]
    pub fn master_key_file(&self) -> PathBuf {
        self.master_key.clone().unwrap_or_else(|| self.state.join("master.key"))
    }

    /// Whether the settings fit each other.
    ///
    /// # Errors
    /// [`ConfigError::Together`].
    pub fn check(&self) -> Result<(), ConfigError> {
        let wrong = |why: String| Err(ConfigError::Together(why));
        let tls = match (&self.tls_certificate, &self.tls_key) {
            (Some(_), Some(_)) => true,
            (None, None) => false,
            _ => return wrong("`tls-certificate` and `tls-key` belong together; one is missing".to_owned()),
        };
        if tls && self.plain {
            return wrong("`plain` turns TLS off, and there is a certificate; leave one of them out".to_owned());
        }
        if !tls && !self.plain && !self.listen.ip().is_loopback() {
            return wrong(format!(
                "others can reach {}; set `tls-certificate` and `tls-key`, or `plain` if a proxy does TLS",
                self.listen
            ));
        }
        let at_least_one = [
            self.limits.connections,
            self.limits.connections_per_network,
            self.limits.waiting,
            self.limits.waiting_per_network,
        ];
        if at_least_one.contains(&0) {
            return wrong("a server needs room for at least one connection and one request".to_owned());
        }
        let is_postgres = self.database.as_ref().is_some_and(|url| url.starts_with("postgres"));
        if self.database_ca.is_some() && !is_postgres {
            return wrong("`database-ca` is for PostgreSQL; leave it out, or set `database`".to_owned());
        }
        if self.guesses.remembered > MOST_REMEMBERED {
            return wrong(format!(
                "`remembered` is at most {MOST_REMEMBERED}: each takes about 150 bytes, all of them at the start"
            ));
        }
        if self.access_lifetime < SECOND || self.session_lifetime < SECOND {
            return wrong(
                "`access-lifetime` and `session-lifetime` are at least 1s; sessions would have expired when they open"
                    .to_owned(),
            );
        }
        if self.guesses.instances == 0 {
            return wrong("`instances` counts this server too; expected at least 1".to_owned());
        }
        Ok(())
    }
}

/// All settings but the database's URL, which may hold a password.
impl fmt::Debug for Config {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = SETTINGS.iter().map(|setting| match setting.name {
            "database" => (setting.name, "(not shown)".to_owned()),
            name => (name, (setting.shown)(self)),
        });
        f.debug_map().entries(shown).finish()
    }
}

/// The number of the line that is no TOML, and what is wrong with it. Not the line: it may hold the database's password.
fn where_and_what(text: &str, error: &toml::de::Error) -> String {
    let before = error.span().and_then(|span| text.get(..span.start)).unwrap_or_default();
    format!("line {}: {}", before.matches('\n').count() + 1, error.message())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_no_toml_is_refused_without_its_passwords() {
        let error = read("plain = true\ndatabase = \"postgres://me:hunter2@db/login\n").unwrap_err().to_string();
        assert!(error.starts_with("login.toml: line 2: ") && !error.contains("hunter2"), "{error}");
        let whole = read("plain = true\ndatabase = \"postgres://me:hunter2@db/login\"\n").unwrap();
        assert!(whole.database_url().contains("hunter2"));
        let shown = format!("{whole:?}");
        assert!(!shown.contains("hunter2") && shown.contains("\"plain\": \"true\""), "{shown}");
    }

    fn read(text: &str) -> Result<Config, ConfigError> {
        let mut config = Config::default();
        config.read_file("login.toml", text).map(|()| config)
    }

    #[test]
    fn every_setting_reads_its_own_default_and_has_a_name_and_help() {
        for setting in SETTINGS {
            let mut config = Config::default();
            let text = setting.default_text();
            if !text.is_empty() {
                config.set("test", setting.name, &text).unwrap();
            }
            assert_eq!(config, Config::default(), "{}", setting.name);
            assert!(setting.name.chars().all(|c| c.is_ascii_lowercase() || c == '-') && !setting.help.is_empty());
            assert!(!setting.help.ends_with('.'), "{}", setting.name);
        }
    }

    #[test]
    fn a_file_the_environment_and_the_command_line_say_the_same_in_their_ways() {
        let file = read(
            "listen = \"[::1]:80\"\nplain = true\nproxies = [\"10.0.0.0/8\", \"::1/128\"]\nconnections = 7\naccess-lifetime = \"5m\"\nregistration = \"closed\"\n",
        )
        .unwrap();
        let mut environment = Config::default();
        let variables = [
            ("LISTEN", "[::1]:80"),
            ("PLAIN", "true"),
            ("PROXIES", "10.0.0.0/8,::1/128"),
            ("CONNECTIONS", "7"),
            ("ACCESS_LIFETIME", "300s"),
            ("REGISTRATION", "closed"),
        ]
        .map(|(name, value)| (format!("{ENVIRONMENT}{name}"), value.to_owned()));
        environment.read_environment(variables.into_iter().chain([("PATH".to_owned(), "x".to_owned())])).unwrap();
        assert_eq!(file, environment);
        assert_eq!((file.listen.port(), file.plain, file.proxies.len()), (80, true, 2));
        assert_eq!((file.limits.connections, file.access_lifetime.as_secs()), (7, 300));
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_nearest_known_one() {
        let error = read("lissen = \"127.0.0.1:1\"\n").unwrap_err().to_string();
        assert_eq!(error, "login.toml: unknown setting `lissen`; did you mean `listen`?");
        let error =
            Config::default().read_environment([("CANDOR_LOGIN_TLS_KEYS".to_owned(), String::new())]).unwrap_err();
        assert_eq!(error.to_string(), "environment: unknown setting `tls-keys`; did you mean `tls-key`?");
        let error = read("zzzzzzzzzzz = 1\n").unwrap_err().to_string();
        assert_eq!(error, "login.toml: unknown setting `zzzzzzzzzzz`");
    }

    #[test]
    fn a_value_of_the_wrong_kind_is_refused() {
        for wrong in [
            "listen = 3",
            "listen = \"somewhere\"",
            "connections = -1",
            "connections = \"many\"",
            "plain = \"perhaps\"",
            "access-lifetime = \"5\"",
            "access-lifetime = \"5y\"",
            "access-lifetime = \"99999999999999999999d\"",
            "proxies = [1]",
            "proxies = [\"10.0.0.0/33\"]",
            "registration = \"friends\"",
            "connections = 1.5",
            "ksf = \"65536:3\"",
            "ksf = \"7:1:1\"",
            "[listen]",
            "listen",
        ] {
            assert!(matches!(read(wrong), Err(ConfigError::Value { .. } | ConfigError::File { .. })), "{wrong}");
        }
    }

    #[test]
    fn an_address_that_others_reach_needs_tls_or_the_word_that_it_does_not() {
        let listen = "listen = \"0.0.0.0:1\"\n";
        assert!(read("").unwrap().check().is_ok());
        assert!(read(listen).unwrap().check().is_err());
        assert!(read(&format!("{listen}plain = true\n")).unwrap().check().is_ok());
        let tls = "tls-certificate = \"c\"\ntls-key = \"k\"\n";
        assert!(read(&format!("{listen}{tls}")).unwrap().check().is_ok());
        assert!(read(&format!("{tls}plain = true\n")).unwrap().check().is_err());
        assert!(read("tls-key = \"k\"\n").unwrap().check().is_err());
        assert!(read("connections = 0\n").unwrap().check().is_err());
        assert!(read("instances = 0\n").unwrap().check().is_err());
        assert!(read("instances = 3\n").unwrap().check().is_ok());
    }

    #[test]
    fn the_file_of_the_databases_authorities_goes_into_its_url() {
        let ca = "database-ca = \"/etc/ca & co.pem\"\n";
        let at = |database: &str| read(&format!("{ca}database = \"{database}\"\n")).unwrap();
        let encoded = "sslrootcert=%2Fetc%2Fca%20%26%20co%2Epem";
        assert_eq!(at("postgres://a@b/c").database_url(), format!("postgres://a@b/c?{encoded}"));
        assert_eq!(at("postgres://a@b/c?port=1").database_url(), format!("postgres://a@b/c?port=1&{encoded}"));
        assert!(at("postgres://a@b/c").check().is_ok());
        assert!(at("sqlite:x").check().is_err() && read(ca).unwrap().check().is_err());
    }

    #[test]
    fn the_state_folder_is_systemds_or_the_users() {
        let folder = |variables: &[(&str, &str)]| {
            state_folder(|name| variables.iter().find(|(other, _)| *other == name).map(|(_, value)| value.into()))
        };
        assert_eq!(folder(&[("STATE_DIRECTORY", "/s"), ("HOME", "/h")]), PathBuf::from("/s/"));
        assert_eq!(folder(&[("XDG_STATE_HOME", "/x"), ("HOME", "/h")]), PathBuf::from("/x/candor-login"));
        assert_eq!(folder(&[("XDG_STATE_HOME", ""), ("HOME", "/h")]), PathBuf::from("/h/.local/state/candor-login"));
        assert_eq!(folder(&[]), PathBuf::from("candor-login"));
    }
}
