//! What an operator of `candor login` does beside the server: accounts, keys, the audit log, imports, backups.

use serde_json::Value;
use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// A bcrypt hash of "password".
const HASH: &str = "$2b$04$34XtadeKg1WZ9AZ9wElog.zHOPzDLtV3ZnWYW/RmjLeeUNAFbXBnm";

fn login(home: &Path, arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
    command.env_clear().env("HOME", home).env("USER", "ada").arg("login").args(arguments);
    command.current_dir(home).output().expect("candor starts")
}

/// What a command prints that has to succeed.
fn said(home: &Path, arguments: &[&str]) -> String {
    let output = login(home, arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn json(home: &Path, arguments: &[&str]) -> Vec<Value> {
    said(home, arguments).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

/// Exit status and errors of a command that has to fail.
fn failed(home: &Path, arguments: &[&str]) -> (i32, String) {
    let output = login(home, arguments);
    (output.status.code().unwrap(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// A deployment whose server has run once, with three accounts that were imported.
fn deployment() -> tempfile::TempDir {
    let home = tempfile::tempdir().unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
    command.env_clear().env("HOME", home.path()).args(["login", "serve", "--listen", "127.0.0.1:0"]);
    let mut server = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut line = String::new();
    std::io::BufRead::read_line(&mut std::io::BufReader::new(server.stdout.take().unwrap()), &mut line).unwrap();
    server.kill().unwrap();
    server.wait().unwrap();
    fs::write(home.path().join("users.csv"), format!("name,hash\nalice,{HASH}\nBob,{HASH}\ncarol,{HASH}\n")).unwrap();
    said(home.path(), &["migrate", "users.csv"]);
    home
}

#[test]
fn accounts_are_imported_once_and_what_cannot_be_is_named() {
    let home = deployment();
    let home = home.path();
    let again = json(home, &["migrate", "users.csv", "--format", "json"]);
    assert_eq!((&again[0]["imported"], &again[0]["there"]), (&Value::from(0), &Value::from(3)));
    fs::write(
        home.join("more.jsonl"),
        format!("{{\"mail\":\"dora\",\"pw\":\"{HASH}\"}}\n{{\"mail\":\"eve\",\"pw\":\"x\"}}\n"),
    )
    .unwrap();
    let more = ["migrate", "more.jsonl", "--name", "mail", "--hash", "pw"];
    let dry = login(home, &[&more[..], &["--dry-run"]].concat());
    assert_eq!(dry.status.code(), Some(1));
    let text = String::from_utf8_lossy(&dry.stdout);
    assert!(text.contains("would be imported: 1\n") && text.contains("\nline 2: not a password hash"), "{text}");
    assert_eq!(json(home, &["user", "list", "--format", "json"]).len(), 3);
    let (status, errors) = failed(home, &["migrate", "users.csv", "--hash", "password"]);
    assert!(status == 2 && errors.contains("no column \"password\"; the header has name, hash"), "{errors}");
    assert_eq!(failed(home, &["migrate", "nowhere.csv"]).0, 2);
}

#[test]
fn accounts_are_shown_disabled_and_deleted() {
    let home = deployment();
    let home = home.path();
    let list = json(home, &["user", "list", "--old-hash", "--format", "json"]);
    let names: Vec<&str> = list.iter().filter_map(|account| account["name"].as_str()).collect();
    assert_eq!(names, ["alice", "Bob", "carol"]);
    assert_eq!(list[0]["old_hash"], "$bcrypt$r=4");
    said(home, &["user", "disable", "BOB"]);
    let bob = &json(home, &["user", "show", "bob", "--format", "json"])[0];
    assert_eq!((&bob["disabled"], &bob["old_hash"]), (&Value::from(true), &Value::from(true)));
    assert_eq!(bob["audit"][0]["event"], "disabled");
    assert_eq!(bob["audit"][0]["actor"], "operator:ada");
    said(home, &["user", "enable", "bob"]);
    assert!(!said(home, &["user", "show", "bob"]).contains("  disabled\n"));
    assert_eq!(said(home, &["user", "sessions", "alice"]), "");
    said(home, &["user", "revoke", "alice"]);
    said(home, &["user", "delete", "alice"]);
    let (status, errors) = failed(home, &["user", "show", "alice"]);
    assert!(status == 1 && errors.contains("no account alice"), "{errors}");
    assert_eq!(said(home, &["user", "list"]).lines().count(), 2);
    let count = &json(home, &["user", "count", "--format", "json"])[0];
    assert_eq!((&count["accounts"], &count["old_hash"]), (&Value::from(2), &Value::from(2)));
    assert!(said(home, &["user", "count"]).starts_with("accounts: 2\n"));
    assert_eq!(failed(home, &["user", "show", "a b"]).0, 2);
}

#[test]
fn keys_are_rotated_and_retired_once_nobody_needs_them() {
    let home = deployment();
    let home = home.path();
    let old = json(home, &["key", "list", "--format", "json"])[0]["id"].as_str().unwrap().to_owned();
    let new = said(home, &["key", "rotate"]);
    let states = |home| -> Vec<(String, u64)> {
        let keys = json(home, &["key", "list", "--format", "json"]);
        keys.iter().map(|key| (key["state"].as_str().unwrap().to_owned(), key["accounts"].as_u64().unwrap())).collect()
    };
    assert_eq!(states(home), [("accepted".to_owned(), 3), ("active".to_owned(), 0)]);
    for (key, why) in [(old.as_str(), "accounts still need"), (new.trim(), "not a key that can be retired")] {
        let (status, errors) = failed(home, &["key", "retire", key]);
        assert!(status == 1 && errors.contains(why), "{errors}");
    }
    ["alice", "bob", "carol"].iter().for_each(|name| drop(said(home, &["user", "delete", name])));
    said(home, &["key", "retire", &old]);
    assert_eq!(states(home), [("retired".to_owned(), 0), ("active".to_owned(), 0)]);
    assert_eq!(failed(home, &["key", "retire", "x"]).0, 2);
}

#[test]
fn a_new_key_can_have_other_stretching_and_accounts_keep_theirs() {
    let home = deployment();
    let home = home.path();
    let ksf = || -> Vec<String> {
        let keys = json(home, &["key", "list", "--format", "json"]);
        keys.iter().map(|key| key["ksf"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ksf(), ["65536:3:1"]);
    said(home, &["key", "rotate", "--ksf", "131072:3:2"]);
    assert_eq!(ksf(), ["65536:3:1", "131072:3:2"]);
    said(home, &["key", "rotate"]);
    assert_eq!(ksf(), ["65536:3:1", "131072:3:2", "131072:3:2"], "as the one before");
    let keys = json(home, &["key", "list", "--format", "json"]);
    assert_eq!(keys[0]["accounts"], 3, "the accounts stay with theirs");
    for (refused, why) in
        [("8:1:1", "clients refuse it"), ("4194304:3:1", "clients refuse it"), ("65536", "expected memory")]
    {
        let (status, errors) = failed(home, &["key", "rotate", "--ksf", refused]);
        assert!(status == 2 && errors.contains(why), "{errors}");
    }
    assert_eq!(ksf().len(), 3);
}

#[test]
fn a_log_that_was_shortened_is_noticed_by_its_head_and_a_backup_is_whole() {
    let home = deployment();
    let home = home.path();
    said(home, &["backup", "copy.sqlite"]);
    let (status, errors) = failed(home, &["backup", "copy.sqlite"]);
    assert!(status == 2 && errors.contains("exists"), "{errors}");
    said(home, &["user", "disable", "carol"]);
    let head = said(home, &["audit", "head"]);
    assert_eq!(said(home, &["audit", "verify", "--head", head.trim()]), head);
    let events = json(home, &["audit", "show", "--format", "json"]);
    assert_eq!(events.last().unwrap()["event"], "disabled");
    assert_eq!(json(home, &["audit", "show", "--latest", "1", "--user", "carol", "--format", "json"]).len(), 1);
    // The older copy in the database's place: a shorter log, whole in itself.
    let copy = format!("sqlite:{}", home.join("copy.sqlite").display());
    said(home, &["audit", "verify", "--database", &copy]);
    let (status, errors) = failed(home, &["audit", "verify", "--database", &copy, "--head", head.trim()]);
    assert!(status == 1 && errors.contains("the log was rewritten"), "{errors}");
    assert_eq!(json(home, &["user", "list", "--database", &copy, "--format", "json"]).len(), 3);
    assert_eq!(failed(home, &["audit", "verify", "--head", "1:x"]).0, 2);
}
