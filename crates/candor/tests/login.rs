//! `candor login` as processes.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Child, Command, Stdio};

/// Candor with an empty home, so that no setting of this machine counts.
fn candor(home: &Path, arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_candor"));
    command.env_clear().env("HOME", home).arg("login").args(arguments);
    command
}

/// A server that is killed when the test is over, and its address.
struct Serving {
    child: Child,
    address: String,
}

impl Serving {
    fn start(mut command: Command) -> Self {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("candor starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let said: serde_json::Value = serde_json::from_str(&line).expect("the first line is JSON");
        let address = said["url"].as_str().unwrap().trim_start_matches("http://").to_owned();
        Self { child, address }
    }

    fn get(&self, path: &str) -> String {
        let mut tcp = TcpStream::connect(&self.address).unwrap();
        write!(tcp, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        tcp.read_to_string(&mut answer).unwrap();
        answer
    }
}

impl Drop for Serving {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[test]
fn the_server_needs_no_configuration_and_ends_when_it_is_told_to() {
    let home = tempfile::tempdir().unwrap();
    // Only the port is given: the default one may be in use here.
    let mut serving = Serving::start(candor(home.path(), &["serve", "--listen", "127.0.0.1:0"]));
    assert!(serving.get("/readyz").starts_with("HTTP/1.1 200 "));
    assert!(serving.get("/v1/config").contains(r#""registration":"token""#));
    assert!(serving.get("/metrics").contains("candor_login_connections"));
    assert!(home.path().join(".local/state/candor-login/master.key").exists());

    let token = candor(home.path(), &["token", "add", "--label", "first"]).output().unwrap();
    assert_eq!((token.status.code(), token.stdout.len()), (Some(0), 33), "{}", String::from_utf8_lossy(&token.stderr));
    let list = candor(home.path(), &["token", "list"]).output().unwrap();
    assert!(String::from_utf8_lossy(&list.stdout).contains(r#""label":"first""#));

    let killed = Command::new("kill").arg(serving.child.id().to_string()).status().unwrap();
    assert!(killed.success());
    assert!(serving.child.wait().unwrap().success());
    let mut said = String::new();
    serving.child.stderr.take().unwrap().read_to_string(&mut said).unwrap();
    for line in ["ready at http://127.0.0.1:", "candor login token add", "finishing requests", "stopped"] {
        assert!(said.contains(line), "{line}: {said}");
    }
}

#[test]
fn settings_come_from_the_file_the_environment_and_flags_in_this_order() {
    let home = tempfile::tempdir().unwrap();
    let file = home.path().join("login.toml");
    std::fs::write(&file, "listen = \"127.0.0.1:0\"\nregistration = \"closed\"\nmetrics-from = []\n").unwrap();
    let file = file.to_str().unwrap();
    let serve = |more: &[&str]| candor(home.path(), &[&["serve", "--config", file], more].concat());
    assert!(Serving::start(serve(&[])).get("/v1/config").contains("closed"));
    let mut command = serve(&[]);
    command.env("CANDOR_LOGIN_REGISTRATION", "token");
    let serving = Serving::start(command);
    assert!(serving.get("/v1/config").contains(r#""token""#));
    assert!(serving.get("/metrics").starts_with("HTTP/1.1 404 "));
    let mut command = serve(&["--registration", "open", "--json-log"]);
    command.env("CANDOR_LOGIN_REGISTRATION", "token");
    assert!(Serving::start(command).get("/v1/config").contains(r#""open""#));
}

#[test]
fn a_setting_that_is_wrong_is_named_with_where_it_stands() {
    let home = tempfile::tempdir().unwrap();
    let said = |mut command: Command| {
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        String::from_utf8(output.stderr).unwrap()
    };
    let mut command = candor(home.path(), &["serve"]);
    command.env("CANDOR_LOGIN_DATBASE", "x");
    assert!(said(command).contains("environment: unknown setting `datbase`; did you mean `database`?"));
    assert!(said(candor(home.path(), &["serve", "--connections", "many"])).contains("command line: `connections`"));
    let reachable = said(candor(home.path(), &["serve", "--listen", "0.0.0.0:0"]));
    assert!(reachable.contains("tls-certificate"), "{reachable}");
    for (setting, value, why) in [
        ("--ksf", "8:1:1", "clients refuse it by default"),
        ("--remembered", "99999999999", "at most 16777216"),
        ("--access-lifetime", "0s", "at least 1s"),
    ] {
        let refused = said(candor(home.path(), &["serve", setting, value]));
        assert!(refused.contains(&setting[2..]) && refused.contains(why), "{refused}");
    }
    let nothing = said(candor(home.path(), &["token", "add"]));
    assert!(nothing.contains("master.key"), "{nothing}");
}

#[test]
fn pages_are_served_from_a_folder_that_has_them() {
    let home = tempfile::tempdir().unwrap();
    let pages = home.path().join("pages");
    std::fs::create_dir(&pages).unwrap();
    let serve = ["serve", "--listen", "127.0.0.1:0", "--pages", pages.to_str().unwrap()];
    let refused = candor(home.path(), &serve).output().unwrap();
    let said = String::from_utf8_lossy(&refused.stderr);
    assert_eq!((refused.status.code(), refused.stdout.len()), (Some(2), 0), "{said}");
    assert!(
        said.contains("error: pages: ") && said.contains("pages: no index.html in it; expected the folder"),
        "{said}"
    );
    for page in ["index.html", "change-password.html"] {
        std::fs::write(pages.join(page), "<!doctype html>").unwrap();
    }
    assert!(Serving::start(candor(home.path(), &serve)).get("/change-password").ends_with("<!doctype html>"));
}
