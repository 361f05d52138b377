//! `candor login migrate` as an operator runs it: users move to a server that is running, and each logs in with the old password.

use candor_login::{Config, Log, Server};
use candor_login_client::{Client, CostLimits, Error, Limits, Options};
use candor_test_support::postgres;
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tokio::task::JoinSet;

const USERS: usize = 1000;
/// Users who log in at the same time.
const TOGETHER: usize = 8;

#[tokio::test]
async fn a_thousand_users_of_bcrypt_log_in_with_their_old_passwords_on_sqlite() {
    users_log_in_with_their_old_passwords(None).await;
}

#[tokio::test]
async fn a_thousand_users_of_bcrypt_log_in_with_their_old_passwords_on_postgres() {
    match postgres::shared() {
        Ok(postgres) => users_log_in_with_their_old_passwords(Some(&postgres.database())).await,
        Err(why) => postgres::skipped("a_thousand_users_of_bcrypt_log_in_with_their_old_passwords_on_postgres", why),
    }
}

/// Of "pässword", as passlib, argon2-cffi and Django store it at their lowest costs.
const OTHERS: [&str; 7] = [
    "$argon2d$v=19$m=32,t=2,p=2$U19l7hygk97R/Ovd0zx4bA$ZUZKbRXefW6aWjqbV9t7urR8atM3FVxH3fUKujolUvI",
    "$argon2i$v=19$m=32,t=2,p=2$+29F7ENYOIo4uBtHcmlrkQ$mZzwXTEz3yFq2Fb4AqtMSSXlhIMONsBsyRJeDcpcbNM",
    "$argon2id$v=19$m=32,t=2,p=2$3aqY6097iHm8HKbo6fnN2Q$Srbnd7cbb+O3J62w/oPD7EfXIA6i3FLsBBNrcYf5DXQ",
    "$scrypt$ln=4,r=8,p=1$DsFYC6F07n0vxRgjZIwxpg$E0fvgBGfKgRh/8aNOMJzjoORkAgtS4F04HfDi9Ak8QU",
    "$pbkdf2-sha256$3$gHBOae09JyQkhHBurTXGOA$OE.8XTVFACfC0Rl5N8zZMi0eeX88vQzEe8wwYwnqAcg",
    "pbkdf2_sha1$3$u9j0ybH7tucKyYW1CorKtz$wgAwhbn6Ip2Ui09UAO3HXn9rwiU=",
    "bcrypt_sha256$$2b$04$3Y5L4UVz3/uMofkLlT/AcOZZjbJbPdnLUnE/LQ7qbGAfYm0XYevli",
];

#[tokio::test]
async fn users_of_argon2_scrypt_and_pbkdf2_log_in_with_their_old_passwords() {
    let home = tempfile::tempdir().unwrap();
    make_first_key(home.path(), None).await;
    let server = Serving::start(home.path(), None);
    let entries = OTHERS.iter().enumerate();
    let entries = entries.map(|(user, hash)| json!({ "name": name(user), "hash": hash }).to_string() + "\n");
    std::fs::write(home.path().join("users.jsonl"), entries.collect::<String>()).unwrap();
    assert_eq!(candor(home.path(), None, &["migrate", "users.jsonl"])["imported"], OTHERS.len());
    let client = client(&server.url).with_old_hash_limits(CostLimits::NONE);
    for (user, hash) in OTHERS.iter().enumerate() {
        let log_in = async |password: &str| client.log_in(&name(user), password, &Options::default()).await.map(drop);
        assert_eq!(log_in("password").await, Err(Error::LoginFailed), "{hash}");
        assert_eq!(log_in("pässword").await, Ok(()), "{hash}");
    }
    assert_eq!(candor(home.path(), None, &["user", "count"])["old_hash"], 0);
}

async fn users_log_in_with_their_old_passwords(database: Option<&str>) {
    let home = tempfile::tempdir().unwrap();
    make_first_key(home.path(), database).await;
    let server = Serving::start(home.path(), database);
    let lines: Vec<_> = (0..USERS).map(|user| format!("{},{}\n", name(user), old_hash(user))).collect();
    std::fs::write(home.path().join("users.csv"), format!("name,hash\n{}", lines.concat())).unwrap();

    let schemes = json!({ "bcrypt r=4": USERS - USERS / 10, "bcrypt r=5": USERS / 10 });
    let migrated = |imported: usize, there: usize, schemes: &Value| {
        json!({
            "entries": USERS, "imported": imported, "there": there, "refused": 0, "refusals": [], "schemes": schemes,
            "uneven_salts": [],
        })
    };
    assert_eq!(candor(home.path(), database, &["migrate", "users.csv", "--dry-run"]), migrated(USERS, 0, &schemes));
    assert_eq!(candor(home.path(), database, &["user", "count"])["accounts"], 0);
    assert_eq!(candor(home.path(), database, &["migrate", "users.csv"]), migrated(USERS, 0, &schemes));
    assert_eq!(candor(home.path(), database, &["migrate", "users.csv"]), migrated(0, USERS, &json!({})));
    assert_eq!(candor(home.path(), database, &["user", "count"])["old_hash"], USERS);

    let client = client(&server.url);
    let log_in = async |user: usize, password: &str| client.log_in(&name(user), password, &Options::default()).await;
    assert_eq!(log_in(0, &password(1)).await.unwrap_err(), Error::LoginFailed);
    let mut logging_in = JoinSet::new();
    for first in 0..TOGETHER {
        let client = self::client(&server.url);
        logging_in.spawn(async move {
            for user in (first..USERS).step_by(TOGETHER) {
                let login = client.log_in(&name(user), &password(user), &Options::default()).await;
                let login = login.unwrap_or_else(|error| panic!("{}: {error}", name(user)));
                assert_eq!(login.session.show().await.unwrap().name, name(user));
            }
        });
    }
    logging_in.join_all().await;
    let count = candor(home.path(), database, &["user", "count"]);
    assert_eq!((&count["accounts"], &count["old_hash"]), (&json!(USERS), &json!(0)), "all have registered afresh");
    assert_eq!(log_in(0, &password(1)).await.unwrap_err(), Error::LoginFailed);
    log_in(0, &password(0)).await.unwrap();
}

fn name(user: usize) -> String {
    format!("user{user}")
}

/// With less key stretching than `candor login serve` permits, so that the test is quick.
async fn make_first_key(home: &Path, database: Option<&str>) {
    let mut config = Config::default();
    let state = home.join(".local/state/candor-login");
    let settings = [("listen", "127.0.0.1:0"), ("state", state.to_str().unwrap()), ("ksf", "8:1:1")];
    for (name, value) in settings.into_iter().chain(database.map(|url| ("database", url))) {
        config.set("test", name, value).unwrap();
    }
    Server::start(config, Log::default()).await.unwrap().shutdown().await;
}

/// Accepts whatever little stretching the server asks for.
fn client(url: &str) -> Client {
    Client::new(url).unwrap().with_limits(Limits::NONE)
}

/// Some are longer than the 72 bytes that bcrypt looks at, and none is ASCII only.
fn password(user: usize) -> String {
    format!("pässword {user}").repeat(1 + user % 7)
}

/// As the other system has stored it. One in ten was made at a higher cost.
fn old_hash(user: usize) -> String {
    bcrypt::hash(password(user), if user.is_multiple_of(10) { 5 } else { 4 }).unwrap()
}

/// What a command prints as JSON; it has to succeed.
fn candor(home: &Path, database: Option<&str>, arguments: &[&str]) -> Value {
    let output = command(home, database, arguments).args(["--format", "json"]).output().expect("candor starts");
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    serde_json::from_slice(&output.stdout).unwrap()
}

/// `candor login` with an empty home, so that no setting of this machine counts.
fn command(home: &Path, database: Option<&str>, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
    command.env_clear().env("HOME", home).current_dir(home).arg("login").args(arguments);
    if let Some(url) = database {
        command.args(["--database", url]);
    }
    command
}

/// A server, killed when the test is over. Guesses from this machine are not counted.
struct Serving {
    child: Child,
    url: String,
}

impl Serving {
    fn start(home: &Path, database: Option<&str>) -> Self {
        let settings = ["serve", "--listen", "127.0.0.1:0", "--exempt", "127.0.0.0/8"];
        let mut command = command(home, database, &settings);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("candor starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: Value = serde_json::from_str(&line).expect("the first line is JSON");
        Self { child, url: said["url"].as_str().unwrap().to_owned() }
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
