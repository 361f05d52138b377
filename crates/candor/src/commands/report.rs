//! `candor report`: saved runs in other forms.

mod paper;

use super::claims::{claims, read as read_claims};
use crate::cli::{Format, Picture, ReportArguments};
use crate::output::{Talk, columns, on_stdout, print};
use crate::{Failure, published, signature};
use candor_lab::analysis::{Report, beside as with_imports};
use candor_lab::claims::{Beside, Claims};
use candor_lab::figure::{self, Figure};
use candor_lab::report::{Answer, render};
use candor_lab::runfile::{Run, refuse_namesakes};
use std::fs;
use std::path::{Path, PathBuf};

pub(crate) fn execute(arguments: ReportArguments, talk: Talk) -> Result<(), Failure> {
    let (mut runs, mut reports) = (Vec::new(), Vec::new());
    for path in &arguments.runs {
        let bytes = Run::bytes(path)?;
        let run = Run::of(path, &bytes)?;
        let mut report = Report::of(&run);
        report.lints.extend(signature::lint(path, &bytes, talk));
        runs.push(run);
        reports.push(report);
    }
    refuse_namesakes(arguments.runs.iter().map(PathBuf::as_path).zip(&runs))?;
    let reports: Vec<Report> = with_imports(reports);
    let tasks: Vec<&str> = runs.iter().flat_map(|run| &run.tasks).map(|task| task.task.as_str()).collect();
    if let Some(publication) = &arguments.answer {
        return answer(publication, &reports, &tasks, arguments.format);
    }
    let claims = claims(&arguments.claims, &tasks)?;
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

    let mut drawn = vec![Vec::new(); reports.len()];
    if !arguments.figures.is_empty() {
        let directory = arguments.output.as_deref().unwrap_or(Path::new("."));
        for (report, drawn) in reports.iter().zip(&mut drawn) {
            *drawn = draw(report, &claims, &arguments.figures, directory, talk)?;
        }
    }
    let Some(directory) = arguments.output else {
        let beside: Vec<Beside> = reports.iter().flat_map(beside).collect();
        return print(&render(&reports, &beside, on_stdout(arguments.format.into())));
    };
    let ending = ending(arguments.format);
    for (report, figures) in reports.iter().zip(&drawn) {
        let text = render(std::slice::from_ref(report), &beside(report), arguments.format.into());
        let shown = match arguments.format {
            Format::Tex => paper::environments(figures, &report.run, &arguments.figures),
            _ => String::new(),
        };
        save(&directory, &format!("{}.{ending}", report.run), (text + &shown).as_bytes(), talk)?;
    }
    match arguments.format {
        Format::Tex => paper::save_rest(&runs, &reports, &arguments.figures, &arguments.claims, &directory, talk),
        _ => Ok(()),
    }
}

/// A publication's rows, each beside what a run found of it.
fn answer(publication: &str, reports: &[Report], tasks: &[&str], format: Format) -> Result<(), Failure> {
    let read;
    let claims = match published::named(publication) {
        Some(claims) => claims,
        None if Path::new(publication).is_file() => {
            read = read_claims(Path::new(publication), tasks)?;
            &read
        }
        None => {
            let keys: Vec<&str> = published::keys().collect();
            return Err(Failure::Error(format!(
                "--answer: no publication has the key {publication:?}, and there is no such file; expected one of {}, or a file of claims",
                keys.join(", ")
            )));
        }
    };
    let answers = reports.iter().map(|report| Answer::new(claims, report));
    let texts: Vec<String> = match format {
        Format::Text => answers.map(|answer| answer.text(columns())).collect(),
        Format::Md => answers.map(|answer| answer.markdown()).collect(),
        _ => return Err(Failure::Error("--answer is text or Markdown: expected --format text or md".into())),
    };
    print(&texts.join("\n"))
}

/// How names of files of that format end.
pub(super) fn ending(format: Format) -> &'static str {
    match format {
        Format::Text => "txt",
        Format::Md => "md",
        Format::Csv => "csv",
        Format::Json => "json",
        Format::Html => "html",
        Format::Tex => "tex",
    }
}

fn draw(
    report: &Report,
    claims: &[Claims],
    pictures: &[Picture],
    directory: &Path,
    talk: Talk,
) -> Result<Vec<Figure>, Failure> {
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
    figures.iter().try_for_each(|figure| save_figure(figure, &report.run, pictures, directory, talk))?;
    Ok(figures)
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
        let bytes = match picture {
            Picture::Svg => figure.svg().into_bytes(),
            Picture::Png => figure::png(figure)?,
            Picture::Pdf => figure::pdf(figure)?,
        };
        save(directory, &format!("{of}-{}.{}", figure.name, picture.ending()), &bytes, talk)?;
    }
    Ok(())
}

pub(super) fn save(directory: &Path, name: &str, bytes: &[u8], talk: Talk) -> Result<(), Failure> {
    let path = directory.join(name);
    fs::create_dir_all(directory)
        .and_then(|()| fs::write(&path, bytes))
        .map_err(|error| Failure::Error(format!("can't write {}: {error}", path.display())))?;
    talk.say(&format!("wrote {}", path.display()));
    Ok(())
}
