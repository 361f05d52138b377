//! The figures of C tor's own bench program, which `cargo xtask peers tor` runs and writes to `target/peers/tor/claims.toml`.
//!
//! No row of ours can time what that program times: tor's cells need its channels and circuits around them. So its figures are imported: sealed beside our
//! rows, marked, and never divided by.

use crate::shared_object::find::built;
use candor_lab::claims::{Claim, Claims};
use candor_lab::machine::Machine;
use candor_lab::{Entry, Imported, Provenance, Quantity, Refusal};
use std::fs;

/// The file, below `target/peers`.
const FILE: &str = "tor/claims.toml";

/// How to get it.
const HOW: &str = "build and run it with `cargo xtask peers tor`";

/// The tasks that do what a part of the bench program does. Beside hybrids stand claims only: those are other handshakes.
const TASKS: [&str; 4] = ["relay/cells/tor1", "relay/cells/cgo", "relay/create2/ntor/single", "ntor/ntor/handshake"];

/// What stands in the file of that task.
pub(super) fn imported(task: &str) -> Option<Result<Imported, Entry>> {
    let text = || fs::read_to_string(built(FILE)?).ok();
    TASKS.contains(&task).then(|| {
        let missing = || Refusal::new(format!("C tor's bench program has not run here: {HOW}"));
        let of = |text: String| read(&text, task, &Machine::here().cpu);
        text().ok_or_else(missing).and_then(of).map_err(|refusal| Entry::refused("tor+bench", refusal))
    })
}

/// The figures of a task, if they are of this CPU.
fn read(text: &str, task: &str, cpu: &str) -> Result<Imported, Refusal> {
    let claims = Claims::parse(text).map_err(|error| Refusal::new(format!("{FILE} can't be read ({error}): {HOW}")))?;
    let Some(claim) = claims.claims.iter().find(|claim| claim.task == task) else {
        return Err(Refusal::new(format!("{FILE} has no figure of this task: {HOW} again")));
    };
    if claim.hardware != cpu {
        return Err(Refusal::new(format!("C tor's bench program ran on another CPU, {}: {HOW} again", claim.hardware)));
    }
    let Claim { what, place, value, unit, doubt, samples, .. } = claim;
    let version = claims.key.trim_start_matches("tor-");
    let doubt = doubt.as_deref().unwrap_or("imported");
    let provenance = Provenance {
        commit: Some(format!("Debian's source package tor {version}, without Debian's patches")),
        build: Some(claims.source.clone()),
        ..Provenance::of("tor", version, &format!("{what}, by {place}; {doubt}"))
    };
    let runs = samples.map_or_else(String::new, |runs| format!(", median of {runs} runs"));
    let figures = vec![Quantity::new(&format!("time by {place}{runs}"), *value, unit)];
    Ok(Imported::new(format!("{}+bench", claims.key), provenance, figures))
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_lab::Evidence;

    const TEXT: &str = r#"
        key = "tor-0.4.9.11"
        source = "C tor 0.4.9.11, its own src/test/bench"
        [[claim]]
        what = "C tor, tor1, an outbound cell at a relay"
        place = "bench cell_ops_tor1"
        value = 112.690
        unit = "ns"
        hardware = "A CPU"
        how = "whole"
        task = "relay/cells/tor1"
        samples = 11
        doubt = "imported: not interleaved with ours"
        "#;

    #[test]
    fn a_figure_of_this_cpu_is_imported_with_its_doubt() {
        let found = read(TEXT, "relay/cells/tor1", "A CPU").unwrap();
        assert_eq!((found.subject.as_str(), found.provenance.evidence), ("tor-0.4.9.11+bench", Evidence::Imported));
        let expected = Quantity::new("time by bench cell_ops_tor1, median of 11 runs", 112.69, "ns");
        assert_eq!(found.quantities, [expected]);
        assert!(found.provenance.timed.ends_with("not interleaved with ours"), "{}", found.provenance.timed);
    }

    #[test]
    fn a_figure_of_another_cpu_or_task_is_none() {
        let why = |text: &str, task, cpu| read(text, task, cpu).unwrap_err().to_string();
        assert!(why(TEXT, "relay/cells/tor1", "Another").contains("another CPU, A CPU"));
        assert!(why(TEXT, "relay/cells/cgo", "A CPU").contains("no figure of this task"));
        assert!(why("key = 1", "relay/cells/tor1", "A CPU").contains("can't be read"));
        assert!(imported("relay/create2/hybrid-768/single").is_none() && imported("relay/cells/tor1").is_some());
    }
}
