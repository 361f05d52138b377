//! `candor report`.

use super::{Talk, print};
use crate::Failure;
use crate::cli::{Format, ReportArguments};
use candor_lab::LabError;
use candor_lab::analysis::Report;
use candor_lab::report::render;
use candor_lab::runfile::Run;
use std::fs;

pub(crate) fn execute(arguments: ReportArguments, talk: Talk) -> Result<(), Failure> {
    let runs: Result<Vec<Run>, LabError> = arguments.runs.iter().map(|path| Run::open(path)).collect();
    let reports: Vec<Report> = runs?.iter().map(Report::of).collect();
    let Some(directory) = arguments.output else {
        return print(&render(&reports, arguments.format.into()));
    };
    let ending = match arguments.format {
        Format::Text => "txt",
        Format::Md => "md",
        Format::Csv => "csv",
        Format::Json => "json",
    };
    fs::create_dir_all(&directory)
        .map_err(|error| Failure::Error(format!("can't make {}: {error}", directory.display())))?;
    for report in &reports {
        let path = directory.join(format!("{}.{ending}", report.run));
        fs::write(&path, render(std::slice::from_ref(report), arguments.format.into()))
            .map_err(|error| Failure::Error(format!("can't write {}: {error}", path.display())))?;
        talk.say(&format!("wrote {}", path.display()));
    }
    Ok(())
}
