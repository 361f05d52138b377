//! All these tests once more, on PostgreSQL: this program again, with another database behind each server.

use candor_test_support::postgres;
use std::process::Command;

/// Set where servers are to keep their accounts in PostgreSQL.
const POSTGRES: &str = "CANDOR_HTTP_POSTGRES";
/// Tests that choose their database themselves, that damage or lock a file, or that count rounds of the runtime in which SQLite answers at once.
const ELSEWHERE: [&str; 5] = ["everywhere::", "database::", "faults::", "instances::", "flood::"];

pub(crate) fn is_postgres() -> bool {
    std::env::var_os(POSTGRES).is_some()
}

#[test]
fn the_same_tests_pass_on_postgres() {
    if let Err(why) = postgres::shared() {
        return postgres::skipped("the_same_tests_pass_on_postgres", why);
    }
    let mut again = Command::new(std::env::current_exe().unwrap());
    for module in ELSEWHERE {
        again.args(["--skip", module]);
    }
    let ran = again.env(POSTGRES, "1").output().unwrap();
    let said = String::from_utf8_lossy(&ran.stdout);
    assert!(ran.status.success(), "{said}");
    assert!(said.contains("test guesses::a_login_that_succeeds_is_no_guess ... ok"), "{said}");
}
