//! What documents tell people to type is what candor takes: every command line in them is parsed.

use super::Arguments;
use clap::Parser;
use clap::error::ErrorKind;
use std::path::{Path, PathBuf};

/// A command line in a document.
struct Typed {
    place: String,
    words: Vec<String>,
    /// Whether it stands in a sentence, where what is needless there is left out.
    in_prose: bool,
}

/// The Markdown files that tell people what to type. The changelog tells what was typed once.
fn documents() -> Vec<PathBuf> {
    fn walk(folder: &Path, found: &mut Vec<PathBuf>) {
        for entry in std::fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                // In the specifications of onion, what begins with `candor` is the label of a signature.
                let is_left_out = ["target", "corpus", "candor-runs"].contains(&name.as_str());
                if !(name.starts_with('.') || is_left_out || path.ends_with("crates/onion/docs")) {
                    walk(&path, found);
                }
            } else if name.ends_with(".md") && name != "CHANGELOG.md" {
                found.push(path);
            }
        }
    }
    let mut found = Vec::new();
    walk(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), &mut found);
    found.sort();
    found
}

/// Every command line of candor in a text.
fn typed(document: &str, text: &str) -> Vec<Typed> {
    let mut found = Vec::new();
    let mut block = None;
    let mut lines = text.lines().enumerate();
    while let Some((index, line)) = lines.next() {
        let place = format!("{document}:{}", index + 1);
        if let Some(language) = line.trim_start().strip_prefix("```") {
            block = if block.is_some() { None } else { Some(language.trim().to_owned()) };
            continue;
        }
        match block.as_deref() {
            None => {
                let spans = line.split('`').skip(1).step_by(2).filter(|span| span.starts_with("candor "));
                found.extend(spans.map(|span| Typed { place: place.clone(), words: words(span), in_prose: true }));
            }
            Some("sh" | "console" | "bash") => {
                let mut whole = line.trim().trim_start_matches("$ ").to_owned();
                while let Some(begun) = whole.strip_suffix('\\') {
                    whole = format!("{begun}{}", lines.next().map_or("", |(_, more)| more.trim()));
                }
                for command in whole.split(&['|', ';'][..]) {
                    let mut words = words(command);
                    let starts = words.iter().position(|word| word == "candor" || word.ends_with("/candor"));
                    // Variables, and those who run it, may stand before it.
                    let before = |word: &String| word.contains('=') || ["sudo", "do", "time"].contains(&word.as_str());
                    if let Some(at) = starts.filter(|at| words[..*at].iter().all(before)) {
                        words.drain(..at);
                        found.push(Typed { place: place.clone(), words, in_prose: false });
                    }
                }
            }
            Some(_) => {}
        }
    }
    found
}

/// The words of a command, as a shell splits them, up to where it goes to another program, a file or the background.
fn words(command: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for c in command.chars() {
        match (quote, c) {
            (None, '\'' | '"') => {
                quote = Some(c);
                word.get_or_insert_default();
            }
            (Some(open), c) if c == open => quote = None,
            (None, ' ') => words.extend(word.take()),
            (None, '|' | '>' | '&' | ';') => break,
            (None, '#') if word.is_none() => break,
            (_, c) => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    words
}

/// Why candor does not take a command line.
fn fault(typed: &Typed) -> Option<String> {
    let error = Arguments::try_parse_from(&typed.words).err()?;
    let is_short = matches!(
        error.kind(),
        ErrorKind::MissingRequiredArgument
            | ErrorKind::MissingSubcommand
            | ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand
            | ErrorKind::TooFewValues
    );
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => None,
        _ if is_short && typed.in_prose => None,
        // A flag that is spoken of without its value.
        ErrorKind::InvalidValue if typed.in_prose && typed.words.last().is_some_and(|last| last.starts_with("--")) => {
            None
        }
        _ => Some(format!("{}: `{}`: {error}", typed.place, typed.words.join(" "))),
    }
}

#[test]
fn every_command_line_in_a_document_is_one_that_candor_takes() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let (mut seen, mut faults) = (0, Vec::new());
    for path in documents() {
        let text = std::fs::read_to_string(&path).unwrap();
        let shown = path.strip_prefix(&root).unwrap_or(&path).display().to_string();
        let typed = typed(&shown, &text);
        seen += typed.len();
        faults.extend(typed.iter().filter_map(fault));
    }
    assert!(seen > 100, "only {seen} command lines were found");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn a_flag_that_is_not_there_is_found_wherever_it_stands() {
    let faults = |text: &str| typed("a.md", text).iter().filter_map(fault).count();
    for good in [
        "Type `candor list tasks`.\n",
        "Type `candor report`.\n",
        "```sh\ncandor onion up & # it goes on\n```\n",
        "```sh\nX=1 candor run hash --budget 6 > table\n```\n",
        "```console\n$ candor run hash \\\n    --quick | less\n```\n",
        "```text\ncandor frobnicate\n```\n",
    ] {
        assert_eq!(faults(good), 0, "{good}");
    }
    for bad in [
        "Type `candor list taks`.\n",
        "```sh\ncandor report\n```\n",
        "```sh\nX=1 candor run hash --buget 6 > table\n```\n",
        "```console\n$ candor run hash \\\n    --quik | less\n```\n",
        "```sh\nsudo candor circuit leo-bent-pipe --tan\n```\n",
    ] {
        assert_eq!(faults(bad), 1, "{bad}");
    }
}
