//! `candor hash`, this very program.

use super::ours;
use super::relays::this_program;
use candor_lab::{Entry, Provenance};
use candor_peers::contract::file_hash::{self, Program, TIMED};
use candor_primitives::hash::Sha256;

/// On the arm that a process takes by default.
pub(crate) fn sha256(bytes: u64) -> Entry {
    let arm = Sha256::new().arm();
    file_hash::entry(format!("candor@{arm}"), bytes, move || {
        let path = this_program()?;
        let timed = format!("{TIMED} (candor hash)");
        let provenance = Provenance { arm: Some(arm.to_owned()), ..ours(&timed) };
        Ok(Program { path, arguments: vec!["hash".into()], libraries: None, provenance })
    })
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
