//! The commands on files: hash, mac, key, sign, verify, encrypt, decrypt. What they do to bytes is in `candor-suite`; here are files.

pub(super) mod encrypt;
pub(super) mod hash;
mod input;
pub(super) mod key;
pub(super) mod mac;
pub(super) mod sign;
mod target;

use crate::Failure;
use crate::output::{print_bytes, tell};
use candor_suite::key_file::{self, Key};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use zeroize::Zeroizing;

/// The longest key file: a key of ML-KEM-1024 in both forms has 6 kB in PEM.
const LONGEST_KEY: u64 = 1 << 20;

/// All of a small file that holds a secret.
fn secret_file(path: &Path) -> Result<Zeroizing<Vec<u8>>, Failure> {
    let failed = |error| Failure::Error(format!("{}: {error}", path.display()));
    let mut file = File::open(path).map_err(failed)?.take(LONGEST_KEY + 1);
    // With room from the start, so that no copy is left where it has grown.
    let mut bytes = Zeroizing::new(Vec::with_capacity(LONGEST_KEY as usize + 1));
    file.read_to_end(&mut bytes).map_err(failed)?;
    if bytes.len() as u64 > LONGEST_KEY {
        return Err(Failure::Error(format!("{} is longer than {LONGEST_KEY} bytes", path.display())));
    }
    Ok(bytes)
}

/// The key in a file.
fn key_in(path: &Path) -> Result<Key, Failure> {
    let bytes = secret_file(path)?;
    key_file::read(&bytes).map_err(|error| Failure::Error(format!("{}: {error}", path.display())))
}

/// The secret key in a file.
fn secret_key_in(path: &Path) -> Result<candor_suite::key::SecretKey, Failure> {
    match key_in(path)? {
        Key::Secret(key) => Ok(key),
        Key::Public(_) => Err(Failure::Error(format!("{} holds a public key; expected a secret one", path.display()))),
    }
}

/// Prints the line that `line` makes of each file, or of standard input if there is none. A file that can't be read is told, and the others are not the worse
/// for it.
fn each_file(files: &[PathBuf], line: impl Fn(&Path) -> Result<Vec<u8>, Failure>) -> Result<(), Failure> {
    let stdin = [PathBuf::from("-")];
    let mut unread = 0;
    for path in if files.is_empty() { &stdin[..] } else { files } {
        match line(path) {
            Ok(line) => print_bytes(&line)?,
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

/// A path for people. Its control characters are escapes, so that a name from a list that somebody else has written moves no cursor.
fn shown(path: &Path) -> String {
    let mut text = String::new();
    for letter in path.to_string_lossy().chars() {
        if letter.is_control() { text.extend(letter.escape_default()) } else { text.push(letter) }
    }
    text
}

/// Bytes as hexadecimal digits.
fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write;
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}
