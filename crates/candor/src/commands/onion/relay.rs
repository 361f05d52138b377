//! `candor onion relay`.

use super::{Stop, directory, metrics, runtime};
use crate::Failure;
use crate::cli::RelayArguments;
use crate::output::{Talk, print};
use candor_network::directory::{Attendance, Directory, attend};
use candor_network::tor::{self, TorAttendance, TorDirectory, TorRelayKey};
use candor_network::{HandshakeType, ListedRelay, Policy, Prefix, Relay, RelayConfig, RelayKeys, RelayList, Words};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Seconds that what is in flight gets at the end.
const PATIENCE: u16 = 10;

pub(super) fn execute(flags: RelayArguments, talk: Talk) -> Result<(), Failure> {
    let arguments = with_file(flags)?;
    let mut config = config(&arguments, talk)?;
    let directory = directory::open(&arguments.directories, talk)?;
    let tor = directory::open_tor(&arguments.tor_authority)?;
    check(&arguments)?;
    let (words, tor_attendance) = words(&arguments)?;
    let attendance = Attendance { words, ..Attendance::default() };
    let files = [&arguments.keys, &arguments.tor_keys].into_iter().flatten();
    let fresh: Vec<_> = files.filter(|path| !path.exists()).collect();
    let keys = match &arguments.keys {
        Some(path) => RelayKeys::load_or_create(path)?,
        None => RelayKeys::generate()?,
    };
    let (keys, tor) = match tor {
        Some(tor) => {
            let rsa = arguments.tor_keys.as_deref().map_or_else(TorRelayKey::generate, TorRelayKey::load_or_create)?;
            config.tor_directory = tor.authorities().first().map(tor::TorAuthority::address);
            (rsa.with(keys), Some((tor, rsa)))
        }
        None => (keys, None),
    };
    let is_exit = !config.policy.is_empty();
    runtime()?.block_on(async {
        let mut stop = Stop::new()?;
        let relay = Relay::start(&keys, config).await.inspect_err(|_| {
            // A relay that never was leaves no keys behind. Why it could not start is what there is to say.
            fresh.iter().for_each(|path| drop(std::fs::remove_file(path)));
        })?;
        let mut list = arguments.relays.as_deref().map(List::new);
        match &mut list {
            Some(list) => list.turn(&relay, talk)?,
            None => print(&format!("{}\n", relay.listed().to_line()))?,
        }
        let name = arguments.name.clone().unwrap_or_else(|| relay.listed().label());
        let _metrics = metrics::serve(arguments.listening.metrics, "relay", name, relay.readings(), talk).await?;
        let role = if is_exit { "an exit" } else { "no exit" };
        talk.say(&format!("relay {} is ready; it is {role}", relay.listed()));
        tokio::select! {
            () = stop.asked() => {}
            () = keep(list, &relay, talk) => {}
            () = register(directory.as_ref(), &relay, &attendance, talk) => {}
            () = register_with_tor(tor.as_ref(), &relay, &tor_attendance, talk) => {}
        }

        let patience = Duration::from_secs(arguments.patience.unwrap_or(PATIENCE).into());
        talk.say("finishing what is in flight; again to stop at once");
        tokio::select! {
            () = relay.shutdown(patience) => {}
            () = stop.asked() => {}
        }
        Ok(())
    })
}

/// How often the relay list is read again.
const TURN: Duration = Duration::from_secs(60);

/// The relay list of a running relay.
struct List<'a> {
    path: &'a Path,
    /// What it was when the relay last learned from it.
    text: String,
    /// What it was when it was first seen to lack relays that it had before.
    shrunken: Option<String>,
}

impl<'a> List<'a> {
    fn new(path: &'a Path) -> Self {
        Self { path, text: String::new(), shrunken: None }
    }

    /// Puts the relay's entry of the moment into the list, if it is not there, and tells the relay of the others.
    ///
    /// A list that lacks relays may be one that somebody is just writing. It is left alone until it is the same a turn later.
    fn turn(&mut self, relay: &Relay, talk: Talk) -> Result<(), candor_network::Error> {
        let entry = relay.listed();
        let line = entry.to_line();
        let is_listed = |text: &str| text.lines().any(|other| other == line);
        let mut text = std::fs::read_to_string(self.path).unwrap_or_default();
        if self.lacks_relays(&text, &entry)? && self.shrunken.as_ref() != Some(&text) {
            talk.say(&format!(
                "{} lacks relays that it had; they count as listed until it has been the same for a turn",
                self.path.display()
            ));
            self.shrunken = Some(text);
            return Ok(());
        }
        self.shrunken = None;
        if !is_listed(&text) {
            RelayList::update(self.path, &entry)?;
            text = RelayList::load(self.path)?.relays().iter().map(|relay| relay.to_line() + "\n").collect();
        }
        if text != self.text {
            let list = RelayList::parse(&text)?;
            relay.know(&list);
            let others = list.relays().iter().filter(|other| other.identity() != entry.identity()).count();
            talk.say(&format!("{} lists {others} other relays", self.path.display()));
            self.text = text;
        }
        Ok(())
    }

    /// Whether a relay other than `own` was in the list when it was last taken, and is not in `text`.
    fn lacks_relays(&self, text: &str, own: &ListedRelay) -> Result<bool, candor_network::Error> {
        let now = RelayList::parse(text)?;
        let is_there = |relay: &ListedRelay| now.relays().iter().any(|other| other.identity() == relay.identity());
        let before = RelayList::parse(&self.text)?;
        Ok(before.relays().iter().any(|relay| relay.identity() != own.identity() && !is_there(relay)))
    }
}

/// Keeps the list and the relay informed of each other.
async fn keep(list: Option<List<'_>>, relay: &Relay, talk: Talk) {
    let Some(mut list) = list else { return std::future::pending().await };
    loop {
        tokio::time::sleep(TURN).await;
        // Whoever else writes the list may keep it for a while; the relay goes on serving meanwhile.
        let turned = tokio::task::block_in_place(|| list.turn(relay, talk));
        if let Err(error) = turned {
            talk.say(&format!("the relay list could not be brought up to date, will try again: {error}"));
        }
    }
}

/// Keeps the directory and the relay informed of each other.
async fn register(directory: Option<&Directory>, relay: &Relay, attendance: &Attendance, talk: Talk) {
    let Some(directory) = directory else { return std::future::pending().await };
    attend(relay, directory, attendance, |step| tell(step, talk)).await;
}

/// Keeps the authorities of a network of C tor's and the relay informed of each other.
async fn register_with_tor(
    tor: Option<&(TorDirectory, TorRelayKey)>,
    relay: &Relay,
    attendance: &TorAttendance,
    talk: Talk,
) {
    let Some((directory, key)) = tor else { return std::future::pending().await };
    tor::attend(relay, key, directory, attendance, |step| tell(step, talk)).await;
}

fn tell(step: Result<String, candor_network::Error>, talk: Talk) {
    match step {
        Ok(done) => talk.say(&done),
        Err(error) => talk.say(&format!("{error}; will try again")),
    }
}

/// What does not go together, or what a network of C tor's would refuse for as long as the relay runs. Before any key is made.
fn check(arguments: &RelayArguments) -> Result<(), Failure> {
    let wrong = |why: String| Err(Failure::Error(why));
    let sources = [
        ("relays", arguments.relays.is_some()),
        ("directory", !arguments.directories.directory.is_empty()),
        ("tor-authority", !arguments.tor_authority.is_empty()),
    ];
    let found: Vec<_> = sources.into_iter().filter(|(_, is_there)| *is_there).map(|(name, _)| name).collect();
    if found.len() > 1 {
        return wrong(format!("expected one of relays, directory and tor-authority; found {}", found.join(" and ")));
    }
    if arguments.tor_authority.is_empty() {
        let alone = [("tor-keys", arguments.tor_keys.is_some()), ("contact", arguments.contact.is_some())];
        return match alone.into_iter().find(|(_, is_there)| *is_there) {
            Some((name, _)) => {
                wrong(format!("{name} is for relays in a network of C tor's; expected tor-authority beside it"))
            }
            None => Ok(()),
        };
    }
    let address = arguments.listening.advertise.unwrap_or(arguments.listening.address());
    if !address.is_ipv4() {
        return wrong(format!("C tor's authorities want an IPv4 address; others reach the relay at {address}"));
    }
    let name = arguments.name.as_deref().unwrap_or("candor");
    if !(1..=19).contains(&name.len()) || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return wrong(format!("C tor's authorities want a name of 1 to 19 letters and digits; found `{name}`"));
    }
    let contact = arguments.contact.as_deref().unwrap_or_default();
    match contact.len() > 400 || contact.contains(char::is_control) {
        true => wrong("contact: expected at most 400 bytes without control characters".to_owned()),
        false => Ok(()),
    }
}

/// What the relay says of itself to a directory of ours, and to C tor's authorities.
fn words(arguments: &RelayArguments) -> Result<(Words, TorAttendance), Failure> {
    let (mut words, mut attendance) = (Words::default(), TorAttendance::default());
    words.bandwidth = arguments.bandwidth.unwrap_or(words.bandwidth);
    attendance.bandwidth = words.bandwidth;
    attendance.contact = arguments.contact.clone();
    for text in &arguments.family {
        match arguments.tor_authority.is_empty() {
            true => words.family.push(Words::identity(text).ok_or_else(|| {
                Failure::Error(format!("family: `{text}` is not an identity; expected 64 hexadecimal digits"))
            })?),
            false => attendance.family.push(TorAttendance::identity(text).ok_or_else(|| {
                Failure::Error(format!(
                    "family: `{text}` is not an RSA identity, by which C tor's networks name families; expected $ and 40 hexadecimal digits"
                ))
            })?),
        }
    }
    Ok((words, attendance))
}

/// The flags, and from the file what they leave open.
fn with_file(flags: RelayArguments) -> Result<RelayArguments, Failure> {
    let Some(path) = &flags.config else { return Ok(flags) };
    let failed = |why: String| Failure::Error(format!("{}: {why}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|error| failed(error.to_string()))?;
    let file: RelayArguments = toml::from_str(&text).map_err(|error| failed(error.to_string()))?;
    Ok(RelayArguments {
        listening: flags.listening.or(file.listening),
        name: flags.name.or(file.name),
        keys: flags.keys.or(file.keys),
        exit: flags.exit.or(file.exit),
        handshakes: if flags.handshakes.is_empty() { file.handshakes } else { flags.handshakes },
        handshake_threads: flags.handshake_threads.or(file.handshake_threads),
        handshake_queue: flags.handshake_queue.or(file.handshake_queue),
        upgrade: flags.upgrade || file.upgrade,
        bandwidth: flags.bandwidth.or(file.bandwidth),
        family: if flags.family.is_empty() { file.family } else { flags.family },
        directories: flags.directories.or(file.directories),
        tor_authority: if flags.tor_authority.is_empty() { file.tor_authority } else { flags.tor_authority },
        tor_keys: flags.tor_keys.or(file.tor_keys),
        contact: flags.contact.or(file.contact),
        entry: flags.entry.or(file.entry),
        relays: flags.relays.or(file.relays),
        links: flags.links.or(file.links),
        links_per_network: flags.links_per_network.or(file.links_per_network),
        circuits: flags.circuits.or(file.circuits),
        circuits_per_network: flags.circuits_per_network.or(file.circuits_per_network),
        streams: flags.streams.or(file.streams),
        cells: flags.cells.or(file.cells),
        patience: flags.patience.or(file.patience),
        config: flags.config,
    })
}

fn config(arguments: &RelayArguments, talk: Talk) -> Result<RelayConfig, Failure> {
    let listen = arguments.listening.address();
    let mut config = RelayConfig::new(listen);
    config.advertise = arguments.listening.advertise;
    if config.advertise.is_none() && listen.ip().is_unspecified() {
        return Err(Failure::Error(format!(
            "nobody can reach {listen}; say by --advertise how others reach the relay"
        )));
    }
    config.name = arguments.name.clone();
    config.entry = arguments.entry.clone();
    config.policy = Policy::parse(arguments.exit.as_deref().unwrap_or_default())?;
    if !arguments.handshakes.is_empty() {
        config.handshakes =
            arguments.handshakes.iter().map(|name| name.parse()).collect::<Result<Vec<HandshakeType>, _>>()?;
    }
    if let Some(networks) = &arguments.listening.test_networks {
        config.test_networks = networks.iter().map(|text| text.parse::<Prefix>()).collect::<Result<_, _>>()?;
    }
    let limits = &mut config.limits;
    limits.circuit.upgrade = arguments.upgrade;
    let threads = arguments.handshake_threads.map_or(limits.handshake_threads, usize::from);
    limits.handshake_threads = threads.max(1);
    // The file has no ranges: a relay without room for anything would only look like one that is broken.
    let set = |limit: &mut usize, to: Option<u32>| *limit = to.map_or(*limit, |to| to as usize).max(1);
    set(&mut limits.handshake_queue, arguments.handshake_queue);
    set(&mut limits.links, arguments.links);
    set(&mut limits.network.connections, arguments.links_per_network);
    set(&mut limits.all_circuits, arguments.circuits);
    set(&mut limits.network.circuits, arguments.circuits_per_network);
    set(&mut limits.streams, arguments.streams);
    set(&mut limits.cells, arguments.cells);
    config.log = Arc::new(move |event| talk.say(&event.to_string()));
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    const TALK: Talk = Talk { quiet: true, verbose: false };

    async fn relay(name: &str) -> Relay {
        let mut config = RelayConfig::new(([127, 0, 0, 1], 0).into());
        config.name = Some(name.to_owned());
        Relay::start(&RelayKeys::generate().unwrap(), config).await.unwrap()
    }

    #[tokio::test]
    async fn a_relay_stays_in_its_list_and_leaves_others_alone() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("relays.jsonl");
        let (ada, bob) = (relay("ada").await, relay("bob").await);
        let [ada_line, bob_line] = [&ada, &bob].map(|relay| relay.listed().to_line());
        let mut list = List::new(&path);
        list.turn(&ada, TALK).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{ada_line}\n"));
        // Somebody replaces the list by one that doesn't have ada.
        std::fs::write(&path, format!("{bob_line}\n")).unwrap();
        list.turn(&ada, TALK).unwrap();
        assert_eq!(std::fs::read_to_string(&path).unwrap(), format!("{bob_line}\n{ada_line}\n"));
        assert_eq!(list.text, format!("{bob_line}\n{ada_line}\n"), "what it has learned from");
        // One that is no list is an error, and stays as it is.
        std::fs::write(&path, "something else\n").unwrap();
        assert!(list.turn(&ada, TALK).is_err());
        assert_eq!(std::fs::read_to_string(&path).unwrap(), "something else\n");
    }

    #[tokio::test]
    async fn a_list_that_lacks_relays_is_believed_after_a_turn() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("relays.jsonl");
        let (ada, bob, cyd) = (relay("ada").await, relay("bob").await, relay("cyd").await);
        let [ada_line, bob_line, cyd_line] = [&ada, &bob, &cyd].map(|relay| relay.listed().to_line() + "\n");
        let whole = bob_line.clone() + &cyd_line + &ada_line;
        std::fs::write(&path, &whole).unwrap();
        let mut list = List::new(&path);
        list.turn(&ada, TALK).unwrap();
        assert_eq!(list.text, whole);

        // Somebody writes it in place: for a moment it is empty, then it has its first line.
        for part in ["", &bob_line] {
            std::fs::write(&path, part).unwrap();
            list.turn(&ada, TALK).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), part, "nobody writes into it meanwhile");
            assert_eq!(list.text, whole);
        }
        // A turn later it is still the same.
        list.turn(&ada, TALK).unwrap();
        assert_eq!(list.text, bob_line + &ada_line);
        // One with more relays is taken at once.
        std::fs::write(&path, &whole).unwrap();
        list.turn(&ada, TALK).unwrap();
        assert_eq!(list.text, whole);
    }

    #[test]
    fn what_a_network_of_c_tors_would_refuse_is_said_before_keys_are_made() {
        let authority = || vec!["127.0.0.1:7000/F7FB9FD1811AE912462DC8982B2181338516466F".to_owned()];
        let file = |name: &str| Some(std::path::PathBuf::from(name));
        let good = || RelayArguments {
            name: Some("ada".to_owned()),
            tor_authority: authority(),
            tor_keys: file("rsa"),
            contact: Some("ada <ada@example.org>".to_owned()),
            family: vec![format!("${}", "aB".repeat(20))],
            ..Default::default()
        };
        let why = |arguments: RelayArguments| match check(&arguments).and_then(|()| words(&arguments)) {
            Ok(_) => String::new(),
            Err(Failure::Error(why)) => why,
            Err(_) => panic!("another failure"),
        };
        assert_eq!(why(good()), "");
        let attendance = words(&good()).unwrap_or_else(|_| panic!("a good family")).1;
        assert_eq!((attendance.family, attendance.contact), (vec![[0xab; 20]], good().contact));
        let mut at_v6 = good();
        at_v6.listening.advertise = Some("[2001:db8::1]:443".parse().unwrap());
        let mut with_list = good();
        with_list.relays = file("list");
        let mut with_directory = good();
        with_directory.directories.directory = vec!["http://127.0.0.1:1".to_owned()];
        let named = |name: &str| RelayArguments { name: Some(name.to_owned()), ..good() };
        for (arguments, expected) in [
            (at_v6, "want an IPv4 address; others reach the relay at [2001:db8::1]:443"),
            (with_list, "found relays and tor-authority"),
            (with_directory, "found directory and tor-authority"),
            (named("my-relay"), "1 to 19 letters and digits; found `my-relay`"),
            (named("a23456789012345678901"), "1 to 19 letters and digits"),
            (RelayArguments { contact: Some("a\nb".to_owned()), ..good() }, "without control characters"),
            (RelayArguments { family: vec!["ab".repeat(32)], ..good() }, "expected $ and 40 hexadecimal digits"),
            (RelayArguments { tor_authority: Vec::new(), ..good() }, "tor-keys is for relays in a network of C tor's"),
            (
                RelayArguments { tor_authority: Vec::new(), tor_keys: None, ..good() },
                "contact is for relays in a network of C tor's",
            ),
            (
                RelayArguments { tor_authority: Vec::new(), tor_keys: None, contact: None, ..good() },
                "is not an identity; expected 64 hexadecimal digits",
            ),
        ] {
            let why = why(arguments);
            assert!(why.contains(expected), "{why} does not say {expected}");
        }
        // Elsewhere a name may be any.
        let elsewhere = RelayArguments { name: Some("my-relay".to_owned()), ..Default::default() };
        assert_eq!(why(elsewhere), "");
    }

    #[test]
    fn limits_come_from_flags_and_then_from_the_file() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("relay.toml");
        std::fs::write(
            &path,
            "links-per-network = 7\nupgrade = true\ncircuits = 8\ntest-networks = [\"192.0.2.0/24\"]\n",
        )
        .unwrap();
        let flags = RelayArguments { config: Some(path), circuits: Some(9), streams: Some(10), ..Default::default() };
        let config = config(&with_file(flags).unwrap_or_default(), TALK).unwrap_or_else(|_| panic!("a good file"));
        let limits = config.limits;
        assert_eq!((limits.network.connections, limits.all_circuits, limits.streams), (7, 9, 10));
        let default = candor_network::RelayLimits::default();
        assert_eq!((limits.links, limits.cells), (default.links, default.cells));
        assert!(limits.circuit.upgrade && !default.circuit.upgrade);
        assert_eq!(config.test_networks, ["192.0.2.0/24".parse().unwrap()]);
        let none = super::config(&RelayArguments::default(), TALK).unwrap_or_else(|_| panic!("the defaults"));
        assert_eq!(none.limits, default);
        assert_eq!(none.test_networks, Prefix::LOOPBACK);
    }
}
