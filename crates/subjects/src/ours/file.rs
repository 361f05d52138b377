//! `candor hash`, this very program.

use super::ours;
use candor_lab::{Entry, Provenance, Refusal};
use candor_peers::contract::file_hash::{self, Program, TIMED};
use candor_primitives::hash::Sha256;

/// The program's name, by which it is told from the tests that link this crate.
const CANDOR: &str = "candor";

/// On the arm that a process takes by default.
pub(crate) fn sha256(bytes: u64) -> Entry {
    let arm = Sha256::new().arm();
    file_hash::entry(format!("candor@{arm}"), bytes, move || {
        let path = std::env::current_exe().map_err(|error| Refusal::new(format!("can't be found: {error}")))?;
        // A test would take the arguments for names of tests, and run.
        if path.file_stem().is_none_or(|stem| stem != CANDOR) {
            return Err(Refusal::new(format!("is a command of the program {CANDOR}, and this is {}", name(&path))));
        }
        let timed = format!("{TIMED} (candor hash)");
        let provenance = Provenance { arm: Some(arm.to_owned()), ..ours(&timed) };
        Ok(Program { path, arguments: vec!["hash".into()], libraries: None, provenance })
    })
}

/// Of a path only the name: the rest would be this machine's.
fn name(path: &std::path::Path) -> String {
    path.file_name().map_or_else(|| "none".to_owned(), |name| name.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Otherwise it would start itself, with these tests in it, without end.
    #[test]
    fn a_test_does_not_take_itself_for_the_program() {
        let refusal = sha256(1 << 20).make().err().expect("this is a test").to_string();
        assert!(refusal.starts_with("is a command of the program candor, and this is candor_subjects-"), "{refusal}");
    }
}
