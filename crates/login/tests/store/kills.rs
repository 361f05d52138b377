//! A process that registers accounts and changes records is killed at random. What it had been told is there; nothing is there by half.
//!
//! Twenty kills for each database; `cargo test -p candor-login --test store thousand -- --ignored` does a thousand.

use crate::databases::Empty;
use crate::people::{NOW, People, name, session, token};
use candor_login::audit::verify;
use candor_login::store::{Actor, NewAccount};
use candor_login::{MasterKey, Purpose, Store};
use candor_test_support::Random;
use std::collections::HashMap;
use std::io::{BufRead, BufReader, Write};
use std::process::{Command, Stdio};
use std::time::Duration;

/// Tells a process that it is the one to be killed: the database's URL and a word for its accounts' names.
const TO_BE_KILLED: &str = "CANDOR_TEST_TO_BE_KILLED";
/// Tasks that write at the same time, so that several changes share a commit.
const WRITERS: usize = 4;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_kills_lose_nothing_on_sqlite() {
    kill("kills::twenty_kills_lose_nothing_on_sqlite", 20, |_| Some(Empty::sqlite())).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn twenty_kills_lose_nothing_on_postgres() {
    kill("kills::twenty_kills_lose_nothing_on_postgres", 20, Empty::postgres).await;
}

#[ignore = "takes minutes"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_kills_lose_nothing_on_sqlite() {
    kill("kills::a_thousand_kills_lose_nothing_on_sqlite", 1000, |_| Some(Empty::sqlite())).await;
}

#[ignore = "takes minutes"]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_kills_lose_nothing_on_postgres() {
    kill("kills::a_thousand_kills_lose_nothing_on_postgres", 1000, Empty::postgres).await;
}

/// `test` is the name of the test that calls this: the process to be killed is this program again, with that test alone.
async fn kill(test: &str, kills: usize, empty: fn(&str) -> Option<Empty>) {
    if let Ok(orders) = std::env::var(TO_BE_KILLED) {
        let (word, url) = orders.split_once(' ').unwrap();
        return write_until_killed(url, word).await;
    }
    let Some(empty) = empty(test) else { return };
    People::of(empty.open().await).await;
    let mut random = Random::new(kills as u64);
    let mut told = Told::default();
    for round in 0..kills {
        let mut child = Command::new(std::env::current_exe().unwrap())
            .args([test, "--exact", "--nocapture", "--include-ignored"])
            .env(TO_BE_KILLED, format!("r{round} {}", empty.url))
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // After some answers, and then at any moment of the next change.
        for _ in 0..1 + random.below(40) {
            told.hear(&lines.next().expect("the process to be killed writes").unwrap());
        }
        std::thread::sleep(Duration::from_micros(random.below(3000) as u64));
        child.kill().unwrap();
        child.wait().unwrap();
        // What it said before it died counts too.
        lines.map_while(Result::ok).for_each(|line| told.hear(&line));
    }
    told.check(&empty.open().await).await;
}

/// What the killed processes had been told.
#[derive(Default)]
struct Told {
    /// For each account: the changes that began and that were answered, by number. 0 is the registration.
    accounts: HashMap<String, (usize, Option<usize>)>,
    /// The hash of each change's record.
    hashes: HashMap<(String, usize), String>,
}

impl Told {
    fn hear(&mut self, line: &str) {
        // The harness's own lines, and a line that was cut off by the kill.
        let words: Vec<&str> = line.split(' ').collect();
        let [word @ ("begin" | "done"), account, change, hash, "."] = words[..] else { return };
        let change: usize = change.parse().unwrap();
        let known = self.accounts.entry(account.to_owned()).or_insert((0, None));
        match word {
            "begin" => known.0 = change,
            _ => known.1 = Some(change),
        }
        self.hashes.insert((account.to_owned(), change), hash.to_owned());
    }

    async fn check(&self, store: &Store) {
        verify(store, None).await.unwrap().unwrap();
        let mut registered = 0;
        assert!(self.accounts.values().any(|(_, done)| done.is_some_and(|change| change > 0)), "records were changed");
        for (text, (begun, done)) in &self.accounts {
            let Some(account) = store.account(&name(text)).await.unwrap() else {
                assert_eq!(*done, None, "{text} was registered and is not there");
                continue;
            };
            registered += 1;
            let found = hexadecimal(account.record.credential_hash().as_bytes());
            let change = (0..=*begun).find(|change| self.hashes.get(&(text.clone(), *change)) == Some(&found));
            let change = change.unwrap_or_else(|| panic!("{text} has a record that nobody made"));
            assert!(Some(change) >= *done, "{text}: change {done:?} was answered, {change} is there");
            // One entry in the log for each change that was made, and the recovery codes of the registration.
            let entries = store.latest_audit_entries(Some(account.id.to_string()), 1000).await.unwrap();
            let count = |event: &str| entries.iter().filter(|entry| entry.event == event).count();
            assert_eq!((count("registered"), count("record-replaced")), (1, change), "{text}");
            assert_eq!(store.recovery_codes_left(account.id).await.unwrap(), 3, "{text}");
            // Each change ended the session that was opened before it.
            let opened = count("logged-in");
            assert_eq!(store.sessions(account.id, NOW).await.unwrap().len(), opened - change, "{text}");
        }
        // A token was used up exactly where there is an account.
        let tokens = store.latest_audit_entries(None, 1_000_000).await.unwrap();
        let made = tokens.iter().filter(|entry| entry.event == "token-added").count();
        assert_eq!(store.registration_tokens().await.unwrap().len(), made - registered);
    }
}

async fn write_until_killed(url: &str, word: &str) {
    let store = Store::open(url, &MasterKey::from_bytes([1; 32])).await.unwrap();
    let mut writers = Vec::new();
    for writer in 0..WRITERS {
        let (store, word) = (store.clone(), format!("{word}-{writer}"));
        writers.push(tokio::spawn(async move {
            let people = People::of(store).await;
            for number in 0.. {
                account(&people, &format!("{word}-{number}")).await;
            }
        }));
    }
    for writer in writers {
        writer.await.unwrap();
    }
}

/// Registers an account, logs in to it and changes its record, twice.
async fn account(people: &People, text: &str) {
    let permit = token(Purpose::Registration);
    let actor = Actor::Operator("root".to_owned());
    people.store.add_registration_token(permit, String::new(), NOW.plus(60), actor, NOW).await.unwrap();
    let recovery_codes = (0..3).map(|_| token(Purpose::Recovery)).collect();
    let new = NewAccount { token: Some(permit), recovery_codes, ..people.newcomer(text) };
    let mut record = new.record.clone();
    say("begin", text, 0, record.credential_hash().as_bytes());
    let id = people.store.register(new, NOW).await.unwrap();
    say("done", text, 0, record.credential_hash().as_bytes());
    for change in 1..=2 {
        let login = candor_login::random().unwrap();
        people.store.log_in(login, NOW, id, record.credential_hash(), session(), NOW).await.unwrap();
        let new = people.change(id, &record);
        record = new.record.clone();
        say("begin", text, change, record.credential_hash().as_bytes());
        people.store.replace_record(new, NOW).await.unwrap();
        say("done", text, change, record.credential_hash().as_bytes());
    }
}

fn say(word: &str, account: &str, change: usize, hash: &[u8]) {
    let mut stdout = std::io::stdout().lock();
    // One write a line: a kill cuts no line in two that others go on writing.
    let line = format!("{word} {account} {change} {} .\n", hexadecimal(hash));
    stdout.write_all(line.as_bytes()).unwrap();
    stdout.flush().unwrap();
}

fn hexadecimal(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
