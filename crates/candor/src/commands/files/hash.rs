//! `candor hash`.

use super::input::Input;
use super::{each_file, shown};
use crate::Failure;
use crate::cli::HashArguments;
use crate::output::{Talk, print, tell};
use candor_suite::checksum::{self, Line};
use candor_suite::hash::{HashAlgorithm, Hasher};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The longest line of a list: a name of 4 KiB, each byte escaped, and a long digest.
const LONGEST_LINE: u64 = 1 << 20;

pub(crate) fn execute(arguments: &HashArguments, talk: Talk) -> Result<(), Failure> {
    if arguments.check {
        return check(arguments, talk);
    }
    let algorithm = arguments.algorithm.unwrap_or(HashAlgorithm::Sha256);
    let size = match arguments.length {
        Some(length) if algorithm.is_extendable() => length as usize,
        Some(_) => {
            return Err(Failure::Error(format!(
                "--length: only SHAKE has it; {} has {} bytes",
                algorithm.name(),
                algorithm.size()
            )));
        }
        None => algorithm.size(),
    };
    each_file(&arguments.files, |path| {
        let digest = digest(path, algorithm, size, talk)?;
        Ok(checksum::format(arguments.tag.then_some(algorithm), &digest, path.as_os_str().as_bytes()))
    })
}

fn digest(path: &Path, algorithm: HashAlgorithm, size: usize, talk: Talk) -> Result<Vec<u8>, Failure> {
    let mut hasher = Hasher::new(algorithm);
    Input::open(path, talk)?.each(|piece| {
        hasher.update(piece);
        Ok(())
    })?;
    let mut digest = vec![0; size];
    hasher.finish(&mut digest)?;
    Ok(digest)
}

/// What came of the lines of all lists.
#[derive(Default)]
struct Tally {
    checked: usize,
    different: usize,
    unread: usize,
    malformed: usize,
    /// Lists that could not be read, or have no line that is a checksum.
    useless: usize,
}

impl Tally {
    /// All of it in a sentence, and empty if nothing is wrong.
    fn summary(&self) -> String {
        let mut said = Vec::new();
        let mut say = |count: usize, one: &str, many: &str| match count {
            0 => {}
            1 => said.push(one.to_owned()),
            count => said.push(format!("{count} {many}")),
        };
        say(self.useless, "1 list has no checksum that could be read", "lists have no checksum that could be read");
        say(self.malformed, "1 line is no checksum", "lines are no checksums");
        say(self.unread, "1 listed file could not be read", "listed files could not be read");
        say(self.different, "1 checksum does not match", "checksums do not match");
        said.join(", ")
    }
}

fn check(arguments: &HashArguments, talk: Talk) -> Result<(), Failure> {
    let stdin = [PathBuf::from("-")];
    let lists = if arguments.files.is_empty() { &stdin[..] } else { &arguments.files };
    let mut tally = Tally::default();
    for list in lists {
        let before = tally.checked;
        match check_list(list, arguments, &mut tally, talk) {
            Ok(()) if tally.checked > before => {}
            Ok(()) => {
                let name = arguments.algorithm.unwrap_or(HashAlgorithm::Sha256).name();
                let hint = "--algorithm names another hash for lines without a tag";
                tell(&format!("error: {}: no line is a checksum of {name}; {hint}", shown(list)));
                tally.useless += 1;
            }
            Err(Failure::Error(message)) => {
                tell(&format!("error: {message}"));
                tally.useless += 1;
            }
            Err(other) => return Err(other),
        }
    }
    let said = tally.summary();
    if tally.useless > 0 {
        return Err(Failure::Error(said));
    }
    if tally.unread + tally.different > 0 || arguments.strict && tally.malformed > 0 {
        return Err(Failure::Condition(said));
    }
    // Also when asked for quiet, which is about files that are right.
    if !said.is_empty() {
        tell(&format!("candor: {said}"));
    }
    Ok(())
}

fn check_list(list: &Path, arguments: &HashArguments, tally: &mut Tally, talk: Talk) -> Result<(), Failure> {
    let name = shown(list);
    let failed = |error| Failure::Error(format!("{name}: {error}"));
    let from_stdin = list == Path::new("-");
    let mut reader: Box<dyn BufRead> = match from_stdin {
        true => Box::new(std::io::stdin().lock()),
        false => Box::new(BufReader::new(std::fs::File::open(list).map_err(failed)?)),
    };
    for number in 1.. {
        let mut line = Vec::new();
        reader.by_ref().take(LONGEST_LINE).read_until(b'\n', &mut line).map_err(failed)?;
        if line.is_empty() {
            break;
        }
        if line.len() as u64 == LONGEST_LINE && !line.ends_with(b"\n") {
            return Err(Failure::Error(format!("{name}: line {number} is longer than {LONGEST_LINE} bytes")));
        }
        let line = line.strip_suffix(b"\n").unwrap_or(&line);
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        match understood(line, arguments) {
            Ok((_, line)) if from_stdin && line.name == b"-" => {
                tell("error: -: standard input is the list itself");
                tally.checked += 1;
                tally.unread += 1;
            }
            Ok((algorithm, line)) => check_line(&line, algorithm, tally, talk)?,
            Err(why) => {
                tally.malformed += 1;
                if talk.verbose || arguments.strict {
                    tell(&format!("{name}: line {number} {why}"));
                }
            }
        }
    }
    Ok(())
}

/// A line and its algorithm, or why it is none. A line with a tag names the algorithm; --algorithm must then be the same.
fn understood(line: &[u8], arguments: &HashArguments) -> Result<(HashAlgorithm, Line), String> {
    let line = checksum::parse(line).map_err(|_| "is no checksum".to_owned())?;
    let algorithm = match (line.algorithm, arguments.algorithm) {
        (Some(tag), Some(asked)) if tag != asked => {
            return Err(format!("is a checksum of {}; expected one of {}", tag.name(), asked.name()));
        }
        (Some(tag), _) => tag,
        (None, asked) => asked.unwrap_or(HashAlgorithm::Sha256),
    };
    let (name, size, got) = (algorithm.name(), algorithm.size(), line.digest.len());
    // A digest of SHAKE may have any length, and a short one is that of many files. From here on another file is as hard to find as the name says.
    let least = size / 2;
    match algorithm.is_extendable() {
        true if got < least => Err(format!("has {got} bytes of {name}; expected at least {least}")),
        false if got != size => Err(format!("is no checksum of {name}: it has {got} bytes; expected {size}")),
        _ => Ok((algorithm, line)),
    }
}

fn check_line(line: &Line, algorithm: HashAlgorithm, tally: &mut Tally, talk: Talk) -> Result<(), Failure> {
    tally.checked += 1;
    let path = Path::new(OsStr::from_bytes(&line.name));
    let verdict = match digest(path, algorithm, line.digest.len(), talk) {
        Ok(digest) if digest == line.digest => "OK",
        Ok(_) => {
            tally.different += 1;
            "FAILED"
        }
        Err(Failure::Error(message)) => {
            tell(&format!("error: {message}"));
            tally.unread += 1;
            "FAILED open or read"
        }
        Err(other) => return Err(other),
    };
    if talk.quiet && verdict == "OK" {
        return Ok(());
    }
    print(&format!("{}: {verdict}\n", escaped(&line.name)))
}

/// A name as coreutils shows one with an end of line in it here, escaped and marked by a backslash; and so with every other control character, since the list may be
/// anybody's and the terminal is the user's.
fn escaped(name: &[u8]) -> String {
    let name = String::from_utf8_lossy(name);
    if !name.chars().any(char::is_control) {
        return name.into_owned();
    }
    let mut shown = String::from("\\");
    for letter in name.chars() {
        if letter == '\\' || letter.is_control() {
            shown.extend(letter.escape_default());
        } else {
            shown.push(letter);
        }
    }
    shown
}
