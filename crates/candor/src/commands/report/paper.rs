//! The paper kit: what stands beside the tables in LaTeX.

use super::save;
use crate::Failure;
use crate::cli::{BUILT_IN, Picture};
use crate::measure::described;
use crate::output::Talk;
use candor_lab::analysis::Report;
use candor_lab::figure::{self, Figure};
use candor_lab::report::{ARTIFACT_MARK, Maker, PREVIEW_MARK, artifact, preview, shell_path};
use candor_lab::runfile::Run;
use std::fs;
use std::path::{Path, PathBuf};

/// The figures of a run as environments, if their PDF files are drawn.
pub(super) fn environments(figures: &[Figure], run: &str, pictures: &[Picture]) -> String {
    let drawn = if pictures.contains(&Picture::Pdf) { figures } else { &[] };
    drawn.iter().map(|figure| figure::tex(figure, &format!("{run}-{}.pdf", figure.name))).collect()
}

/// Writes the document that shows the tables of these reports, and ARTIFACT.md about the runs that they are of.
pub(super) fn save_rest(
    runs: &[Run],
    reports: &[Report],
    pictures: &[Picture],
    claims: &[PathBuf],
    directory: &Path,
    talk: Talk,
) -> Result<(), Failure> {
    let names = reports.iter().map(|report| report.run.as_str());
    save_again(directory, "preview.tex", PREVIEW_MARK, &preview(names), talk)?;
    let maker = Maker { tool: &described(), repository: env!("CARGO_PKG_REPOSITORY") };
    let text = artifact(runs, &again(runs, pictures, claims), maker);
    save_again(directory, "ARTIFACT.md", ARTIFACT_MARK, &text, talk)
}

/// The command line that makes it all.
fn again(runs: &[Run], pictures: &[Picture], claims: &[PathBuf]) -> String {
    let files = runs.iter().map(|run| format!(" {}", shell_path(&format!("{}.jsonl", run.name)))).collect::<String>();
    let pictures: Vec<&str> = pictures.iter().map(Picture::ending).collect();
    let pictures = if pictures.is_empty() { String::new() } else { format!(" --figures {}", pictures.join(",")) };
    let claims = claims.iter().map(|path| match path.as_os_str() == BUILT_IN {
        true => " --claims".to_owned(),
        false => format!(" --claims={}", shell_path(&path.display().to_string())),
    });
    format!("candor report{files} --format tex{pictures}{} -o again", claims.collect::<String>())
}

/// Writes a file with a name that others may use as well: one that is not ours stays.
fn save_again(directory: &Path, name: &str, mark: &str, text: &str, talk: Talk) -> Result<(), Failure> {
    let path = directory.join(name);
    match fs::read(&path) {
        Ok(bytes) if !bytes.starts_with(mark.as_bytes()) => Err(Failure::Error(format!(
            "{} was not made by candor, so it is not replaced: choose another directory for -o",
            path.display()
        ))),
        _ => save(directory, name, text.as_bytes(), talk),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_somebody_else_wrote_is_not_replaced() {
        let directory = tempfile::tempdir().unwrap();
        let talk = Talk { quiet: true, verbose: false };
        let write = |text: &str| save_again(directory.path(), "ARTIFACT.md", ARTIFACT_MARK, text, talk);
        let ours = format!("{ARTIFACT_MARK}\nfirst");
        assert!(write(&ours).is_ok() && write(&ours.replace("first", "second")).is_ok());
        assert!(fs::read_to_string(directory.path().join("ARTIFACT.md")).unwrap().ends_with("second"));
        fs::write(directory.path().join("ARTIFACT.md"), "# Our artifact\n").unwrap();
        let Err(Failure::Error(why)) = write(&ours) else { panic!("it was replaced") };
        assert!(why.contains("was not made by candor"), "{why}");
        assert_eq!(fs::read_to_string(directory.path().join("ARTIFACT.md")).unwrap(), "# Our artifact\n");
    }
}
