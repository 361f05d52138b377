//! `candor opaque demo`: what it prints.

use std::process::Command;

fn demo(suite: &str) -> String {
    let output = Command::new(env!("CARGO_BIN_EXE_candor")).args(["opaque", "demo", "--suite", suite]).output();
    let output = output.expect("candor starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("the demo prints text")
}

/// The lengths of the messages of one kind.
fn lengths(printed: &str, message: &str) -> Vec<usize> {
    let lines = printed.lines().filter(|line| line.contains(&format!("server  {message} ")));
    lines.map(|line| line.split_whitespace().nth(4).unwrap().parse().unwrap()).collect()
}

#[test]
fn the_demo_shows_every_message_with_its_size() {
    for (suite, ke1, ke2) in [("hybrid", 1280, 1408), ("rfc9807", 96, 320)] {
        let printed = demo(suite);
        assert_eq!(lengths(&printed, "request"), [32], "{printed}");
        assert_eq!(lengths(&printed, "response"), [64], "{printed}");
        assert_eq!(lengths(&printed, "upload"), [192], "{printed}");
        // Two logins, a wrong password, a name without an account; the last two end before KE3.
        assert_eq!(lengths(&printed, "KE1"), [ke1; 4], "{printed}");
        assert_eq!(lengths(&printed, "KE2"), [ke2; 4], "{printed}");
        assert_eq!(lengths(&printed, "KE3"), [64; 2], "{printed}");
        assert_eq!(printed.matches("the same session key").count(), 2, "{printed}");
        assert_eq!(printed.matches("login failed: wrong password or user").count(), 2, "{printed}");
    }
}

#[test]
fn the_demo_says_what_a_recorded_login_is_worth_later() {
    let later = |suite| {
        let printed = demo(suite);
        printed.lines().find(|line| line.contains("after the curve is broken")).expect("a line about it").to_owned()
    };
    assert!(later("rfc9807").contains("the password by offline guessing"));
    assert!(later("hybrid").contains("as long as ML-KEM-768 holds"));
}
