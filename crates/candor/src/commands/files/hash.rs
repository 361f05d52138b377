//! `candor hash`.

use super::input::Input;
use super::shown;
use crate::Failure;
use crate::cli::HashArguments;
use crate::output::{Talk, print_bytes, tell};
use candor_suite::checksum::{self, Line};
use candor_suite::hash::{HashAlgorithm, Hasher};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// The longest line of a list: a name of 4 KiB, each byte escaped, and a long digest.
const LONGEST_LINE: u64 = 1 << 20;

pub(crate) fn execute(arguments: &HashArguments, talk: Talk) -> Result<(), Failure> {
    let stdin = [PathBuf::from("-")];
    let files = if arguments.files.is_empty() { &stdin[..] } else { &arguments.files };
    if arguments.check {
        return check(arguments, files, talk);
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
    let mut unread = 0;
    for path in files {
        match digest(path, algorithm, size, talk) {
            Ok(digest) => {
                let name = path.as_os_str().as_bytes();
                print_bytes(&checksum::format(algorithm, &digest, name, arguments.tag))?;
            }
            Err(Failure::Error(message)) => {
                tell(&format!("error: {message}"));
                unread += 1;
            }
            Err(other) => return Err(other),
        }
    }
    match unread {
        0 => Ok(()),
        1 => Err(Failure::Error("1 file could not be read".into())),
        many => Err(Failure::Error(format!("{many} files could not be read"))),
    }
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
}

fn check(arguments: &HashArguments, lists: &[PathBuf], talk: Talk) -> Result<(), Failure> {
    let mut tally = Tally::default();
    for list in lists {
        let before = tally.checked;
        let shown = shown(list);
        let failed = |error| Failure::Error(format!("{shown}: {error}"));
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
                return Err(Failure::Error(format!("{shown}: line {number} is longer than {LONGEST_LINE} bytes")));
            }
            let line = line.strip_suffix(b"\n").unwrap_or(&line);
            let line = line.strip_suffix(b"\r").unwrap_or(line);
            if line.is_empty() || line.starts_with(b"#") {
                continue;
            }
            match checksum::parse(line).ok().and_then(|line| Some((algorithm_of(&line, arguments)?, line))) {
                Some((_, line)) if from_stdin && line.name == b"-" => {
                    // Reading it would wait for the lock that this loop has.
                    tell("error: -: standard input is the list itself");
                    tally.checked += 1;
                    tally.unread += 1;
                }
                Some((algorithm, line)) => check_line(&line, algorithm, &mut tally, talk)?,
                None => {
                    tally.malformed += 1;
                    if talk.verbose || arguments.strict {
                        tell(&format!("{shown}: line {number} is no checksum"));
                    }
                }
            }
        }
        if tally.checked == before {
            let name = arguments.algorithm.unwrap_or(HashAlgorithm::Sha256).name();
            return Err(Failure::Error(format!(
                "{shown}: no line is a checksum of {name}; --algorithm names another hash for lines without a tag"
            )));
        }
    }
    let mut said = Vec::new();
    let mut say = |count: usize, one: &str, many: &str| match count {
        0 => {}
        1 => said.push(one.to_owned()),
        count => said.push(format!("{count} {many}")),
    };
    say(tally.malformed, "1 line is no checksum", "lines are no checksums");
    say(tally.unread, "1 listed file could not be read", "listed files could not be read");
    say(tally.different, "1 checksum does not match", "checksums do not match");
    let said = said.join(", ");
    if tally.unread + tally.different > 0 || arguments.strict && tally.malformed > 0 {
        return Err(Failure::Condition(said));
    }
    if !said.is_empty() {
        talk.say(&format!("candor: {said}"));
    }
    Ok(())
}

/// The algorithm of a line, if its digest has the length for it. A line with a tag names it; --algorithm must then be the same.
fn algorithm_of(line: &Line, arguments: &HashArguments) -> Option<HashAlgorithm> {
    let algorithm = match (line.algorithm, arguments.algorithm) {
        (Some(tag), Some(asked)) if tag != asked => return None,
        (Some(tag), _) => tag,
        (None, asked) => asked.unwrap_or(HashAlgorithm::Sha256),
    };
    (algorithm.is_extendable() || line.digest.len() == algorithm.size()).then_some(algorithm)
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
    // As coreutils shows a name with an end of line in it: escaped, and marked by a backslash.
    let mut shown = checksum::format(algorithm, b"", &line.name, false);
    let (escaped, start) = if shown.first() == Some(&b'\\') { (true, 3) } else { (false, 2) };
    let mut said = if escaped { b"\\".to_vec() } else { Vec::new() };
    shown.pop();
    said.extend_from_slice(&shown[start..]);
    said.extend_from_slice(format!(": {verdict}\n").as_bytes());
    print_bytes(&said)
}
