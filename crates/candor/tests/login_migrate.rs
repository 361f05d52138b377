//! `candor login migrate` as an operator runs it: a thousand users of bcrypt move to a server that is running, and each logs in with the old password.

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

async fn users_log_in_with_their_old_passwords(database: Option<&str>) {
    let home = tempfile::tempdir().unwrap();
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

/// Accepts whatever little stretching the server asks for.
fn client(url: &str) -> Client {
    let costs = CostLimits { bcrypt: 4..=5, ..CostLimits::DEFAULT };
    Client::new(url).unwrap().with_limits(Limits::NONE).with_old_hash_limits(costs)
}

/// Some are longer than the 72 bytes that bcrypt looks at, and none is ASCII only.
fn password(user: usize) -> String {
    format!("pässword {user}").repeat(1 + user % 7)
}

/// As the other system has stored it. One in ten was made at a higher cost.
fn old_hash(user: usize) -> String {
    bcrypt::hash(password(user), if user % 10 == 0 { 5 } else { 4 }).unwrap()
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

/// A server, killed when the test is over. It stretches little, and guesses from this machine are not counted.
struct Serving {
    child: Child,
    url: String,
}

impl Serving {
    fn start(home: &Path, database: Option<&str>) -> Self {
        let settings = ["serve", "--listen", "127.0.0.1:0", "--ksf", "8:1:1", "--exempt", "127.0.0.0/8"];
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
