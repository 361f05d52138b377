//! `candor verify`: whether saved runs are what they say they are. A file's signature is for `files::sign`.

use crate::cli::{SignatureChoices, VerifyArguments};
use crate::output::{Talk, print};
use crate::{Failure, layout, signature};
use candor_lab::runfile::Run;
use std::fmt::Write;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How far clocks may differ: a run that began later than that from now did not.
const CLOCKS: Duration = Duration::from_secs(86_400);

pub(crate) fn execute(arguments: &VerifyArguments, talk: Talk) -> Result<(), Failure> {
    if let (Some(signature), Some(key)) = (&arguments.signature, &arguments.key) {
        let [file] = &arguments.runs[..] else {
            return Err(Failure::Error("--signature: expected one file".into()));
        };
        return super::files::sign::verify(file, signature, key, &arguments.choices, talk);
    }
    let SignatureChoices { hash, id, padding } = &arguments.choices;
    if hash.is_some() || id.is_some() || padding.is_some() {
        let these = "--hash, --id and --padding";
        return Err(Failure::Error(format!("{these} are of a file's signature: name it with --signature")));
    }
    let keys = arguments.key.as_deref().map(signature::fingerprints).transpose()?;
    let mut refused = Vec::new();
    for path in &arguments.runs {
        // The signature is of the very bytes that are read here.
        let bytes = Run::bytes(path)?;
        let run = Run::of(path, &bytes)?;
        let signer = signature::signer(path, &bytes)?;
        let mut doubts = Vec::new();
        print(&text_of(path, &run, signer.as_deref(), &mut doubts))?;
        if let Some(keys) = &keys
            && !signer.is_some_and(|signer| keys.contains(&signer))
        {
            doubts.push("not signed by a key that was given");
        }
        refused.extend(doubts.iter().map(|doubt| format!("{}: {doubt}", path.display())));
    }
    match refused.is_empty() {
        true => Ok(()),
        false => Err(Failure::Condition(refused.join("; "))),
    }
}

/// What is known of the run. What can't be true goes to `doubts` as well.
fn text_of(path: &Path, run: &Run, signer: Option<&str>, doubts: &mut Vec<&str>) -> String {
    let planned = run.tasks.iter().filter(|task| task.plan.is_some()).count();
    let mut text = format!("{}\n", path.display());
    let mut line = |name: &str, what: String| writeln!(text, "  {name:<10} {what}").expect("text grows");
    line("seal", format!("sha256 {}", run.sha256));
    line(
        "name",
        match run.named_digest() {
            Some(digest) => format!("ends with the first digits of the digest, {digest}"),
            None => format!("renamed: candor named it {}", run.given_name()),
        },
    );
    let date = &run.manifest.date;
    let doubt = match run.manifest.began() {
        None => Some("its date is none that candor writes"),
        Some(began) if began > SystemTime::now() + CLOCKS => Some("it says that it began in the future"),
        Some(_) => None,
    };
    line("date", doubt.map_or_else(|| date.clone(), |doubt| format!("{date}: {doubt}")));
    doubts.extend(doubt);
    let stopped = if run.end.interrupted { "; interrupted before its plan was complete" } else { "" };
    let lost = match run.lost.len() {
        0 => String::new(),
        n => format!(", of which {n} ended without a result"),
    };
    let processes = run.blocks.len() + run.lost.len();
    let trials = run.trials.len();
    let imported = run.imported_from();
    line(
        "plan",
        match (trials, run.manifest.tried.is_empty()) {
            (0, _) if imported.is_some() => imported.unwrap_or_default(),
            (0, _) => format!(
                "{processes} processes follow from seed {} (tasks: {planned}){lost}{stopped}",
                run.manifest.seed
            ),
            (_, false) => format!("a self-test of {trials} trials, as it was planned{stopped}"),
            (_, true) => format!("a self-test of {trials} trials; it does not say how many were planned{stopped}"),
        },
    );
    for build in run.manifest.paired.iter().flat_map(|paired| &paired.others) {
        let digest = build.tool.sha256.as_deref().unwrap_or("unknown");
        line("build", format!("{}, candor {}, sha256 {digest}", build.name, build.tool.version));
    }
    line(
        "layout",
        match &run.manifest.layout {
            None => "not known".into(),
            Some(known) => {
                let (floor, test) = (known.floor.exp_m1() * 100.0, &known.run);
                let confirmed = layout::confirmed(known, run, path);
                doubts.extend((confirmed == Some(false)).then_some("its self-test says something else of layout"));
                let found = match confirmed {
                    None => "which is not beside it",
                    Some(true) => "which is beside it and says so",
                    Some(false) => "which is beside it and says something else",
                };
                format!("{floor:.2} % by self-test {test}, {found}")
            }
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
