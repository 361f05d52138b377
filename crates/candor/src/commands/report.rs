//! `candor report`: saved runs in other forms.

use crate::Failure;
use crate::cli::{BUILT_IN, Format, Picture, ReportArguments};
use crate::output::{Talk, on_stdout, print};
use candor_lab::LabError;
use candor_lab::analysis::Report;
use candor_lab::claims::{Beside, Claims};
use candor_lab::figure::{self, Figure};
use candor_lab::report::render;
use candor_lab::runfile::Run;
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn execute(arguments: ReportArguments, talk: Talk) -> Result<(), Failure> {
    let runs: Result<Vec<Run>, LabError> = arguments.runs.iter().map(|path| Run::open(path)).collect();
    let reports: Vec<Report> = runs?.iter().map(Report::of).collect();
    let claims = claims(&arguments.claims)?;
    if arguments.format == Format::Csv && !claims.is_empty() {
        talk.say("left out all published numbers: CSV has rows of runs only; JSON has both");
    }
    // A quoted number without a row of ours compares nothing, so it is left out.
    let beside = |report: &Report| -> Vec<Beside> {
        let all: Vec<Beside> = claims.iter().flat_map(|claims| claims.beside(report)).collect();
        let total = all.len();
        let shown: Vec<Beside> = all.into_iter().filter(|beside| beside.here.is_some()).collect();
        if total > shown.len() {
            talk.say(&format!(
                "left out {} published numbers for work that {} did not measure",
                total - shown.len(),
                report.run
            ));
        }
        shown
    };

    if !arguments.figures.is_empty() {
        let directory = arguments.output.as_deref().unwrap_or(Path::new("."));
        for report in &reports {
            draw(report, &claims, &arguments.figures, directory, talk)?;
        }
    }
    let Some(directory) = arguments.output else {
        let beside: Vec<Beside> = reports.iter().flat_map(beside).collect();
        return print(&render(&reports, &beside, on_stdout(arguments.format.into())));
    };
    let ending = match arguments.format {
        Format::Text => "txt",
        Format::Md => "md",
        Format::Csv => "csv",
        Format::Json => "json",
        Format::Html => "html",
    };
    for report in &reports {
        let text = render(std::slice::from_ref(report), &beside(report), arguments.format.into());
        save(&directory, &format!("{}.{ending}", report.run), text.as_bytes(), talk)?;
    }
    Ok(())
}

fn draw(report: &Report, claims: &[Claims], pictures: &[Picture], directory: &Path, talk: Talk) -> Result<(), Failure> {
    let mut figures = figure::figures(report);
    for claims in claims {
        let quoted = figure::quoted(claims, report);
        if quoted.len() < claims.figures.len() {
            let missing = claims.figures.len() - quoted.len();
            talk.say(&format!(
                "left out {missing} figures of {} for work that {} did not measure",
                claims.key, report.run
            ));
        }
        figures.extend(quoted);
    }
    figures.iter().try_for_each(|figure| save_figure(figure, &report.run, pictures, directory, talk))
}

/// Writes a figure in each of these forms, as `<of>-<its name>`.
pub(super) fn save_figure(
    figure: &Figure,
    of: &str,
    pictures: &[Picture],
    directory: &Path,
    talk: Talk,
) -> Result<(), Failure> {
    for picture in pictures {
        let (ending, bytes) = match picture {
            Picture::Svg => ("svg", figure.svg().into_bytes()),
            Picture::Png => ("png", figure::png(figure)?),
            Picture::Pdf => ("pdf", figure::pdf(figure)?),
        };
        save(directory, &format!("{of}-{}.{ending}", figure.name), &bytes, talk)?;
    }
    Ok(())
}

fn save(directory: &Path, name: &str, bytes: &[u8], talk: Talk) -> Result<(), Failure> {
    let path = directory.join(name);
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&path, bytes))
        .map_err(|error| Failure::Error(format!("can't write {}: {error}", path.display())))?;
    talk.say(&format!("wrote {}", path.display()));
    Ok(())
}

/// The published numbers that candor comes with.
const PUBLISHED: [&str; 6] = [
    include_str!("../../../../claims/berger-2025.toml"),
    include_str!("../../../../claims/ecliptix-003.toml"),
    include_str!("../../../../claims/gfmul-004.toml"),
    include_str!("../../../../claims/kctsb-001.toml"),
    include_str!("../../../../claims/pqntor-000.toml"),
    include_str!("../../../../claims/threehop-002.toml"),
];

/// Reads claims from files and from the `*.toml` files of directories.
fn claims(paths: &[PathBuf]) -> Result<Vec<Claims>, Failure> {
    let mut claims = Vec::new();
    let mut files = Vec::new();
    for path in paths {
        if path.as_os_str() == BUILT_IN {
            for text in PUBLISHED {
                claims.push(Claims::parse(text)?);
            }
            continue;
        }
        let unreadable = |error| Failure::Error(format!("can't read claims from {}: {error}", path.display()));
        if path.is_dir() {
            let mut inside = Vec::new();
            for entry in fs::read_dir(path).map_err(unreadable)? {
                inside.push(entry.map_err(unreadable)?.path());
            }
            inside.retain(|file| file.extension().is_some_and(|ending| ending == "toml"));
            inside.sort();
            files.extend(inside);
        } else {
            files.push(path.clone());
        }
    }
    let read = |path: &PathBuf| {
        let text = fs::read_to_string(path)
            .map_err(|error| Failure::Error(format!("can't read claims from {}: {error}", path.display())))?;
        Claims::parse(&text).map_err(|error| Failure::Error(format!("{}: {error}", path.display())))
    };
    for path in &files {
        claims.push(read(path)?);
    }
    Ok(claims)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_committed_file_of_claims_is_built_in() {
        let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../claims");
        let committed = claims(&[directory]).unwrap_or_else(|_| panic!("the files can be read"));
        let built_in = claims(&[BUILT_IN.into()]).unwrap_or_else(|_| panic!("the texts can be read"));
        let keys = |claims: &[Claims]| claims.iter().map(|claims| claims.key.clone()).collect::<Vec<_>>();
        assert_eq!(keys(&built_in), keys(&committed));
    }
}
