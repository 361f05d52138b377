//! `candor verify`: whether saved runs are what they say they are.

use crate::cli::VerifyArguments;
use crate::output::print;
use crate::{Failure, signature};
use candor_lab::runfile::Run;
use std::fmt::Write;
use std::path::Path;

pub(crate) fn execute(arguments: &VerifyArguments) -> Result<(), Failure> {
    let keys = arguments.key.as_deref().map(signature::fingerprints).transpose()?;
    let mut refused = Vec::new();
    for path in &arguments.runs {
        // The signature is of the very bytes that are read here.
        let bytes = Run::bytes(path)?;
        let run = Run::of(path, &bytes)?;
        let signer = signature::signer(path, &bytes)?;
        print(&text_of(path, &run, signer.as_deref()))?;
        if let Some(keys) = &keys
            && !signer.is_some_and(|signer| keys.contains(&signer))
        {
            refused.push(path.display().to_string());
        }
    }
    match refused.is_empty() {
        true => Ok(()),
        false => Err(Failure::Condition(format!("not signed by a key that was given: {}", refused.join(", ")))),
    }
}

fn text_of(path: &Path, run: &Run, signer: Option<&str>) -> String {
    let planned = run.tasks.iter().filter(|task| task.plan.is_some()).count();
    let mut text = format!("{}\n", path.display());
    let mut line = |name: &str, what: String| writeln!(text, "  {name:<10} {what}").expect("text grows");
    line("seal", format!("sha256 {}", run.sha256));
    line(
        "name",
        match run.named_digest() {
            Some(digest) => format!("ends with the first digits of the digest, {digest}"),
            None => "renamed: it does not end with the digest's first digits".into(),
        },
    );
    let stopped = if run.end.interrupted { "; interrupted before its plan was complete" } else { "" };
    let lost = match run.lost.len() {
        0 => String::new(),
        n => format!(", of which {n} ended without a result"),
    };
    let processes = run.blocks.len() + run.lost.len();
    line(
        "plan",
        match run.trials.len() {
            0 => format!(
                "{processes} processes follow from seed {} (tasks: {planned}){lost}{stopped}",
                run.manifest.seed
            ),
            trials => format!("a self-test of {trials} trials{stopped}"),
        },
    );
    line(
        "signature",
        match signer {
            Some(signer) => format!("by {signer}"),
            None => "none: whoever made the times up could have sealed them as well".into(),
        },
    );
    text
}
