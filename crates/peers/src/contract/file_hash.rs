//! SHA-256 of a file by a program: a process for each file, from its start until it has printed the digest and ended.
//!
//! The file is a hole between two pieces from the seed. Written out, it would keep the disk busy after the clock has started; a hole is read from the page
//! cache like any other file, and SHA-256 takes as long for zeros as for other bytes. (On tmpfs all of a hole is read from one page, for every program.)
//! A killed process leaves a few kilobytes behind.

use crate::seed::Stream;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use std::env;
use std::ffi::OsString;
use std::fs::{self, OpenOptions};
use std::io::{self, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::process::{self, Command, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What the timed call does, in a sentence without its full stop.
pub const TIMED: &str = "starts the program with the name of a file, which lies in the page cache, and waits until it has printed the digest and ended";

/// A program that prints the SHA-256 of a file, in hexadecimal digits at the beginning of its first line.
#[derive(Clone, Debug)]
pub struct Program {
    /// Where it is.
    pub path: PathBuf,
    /// What stands before the name of the file.
    pub arguments: Vec<OsString>,
    /// Where it finds its shared libraries, if they are not the system's.
    pub libraries: Option<PathBuf>,
    /// Where it comes from.
    pub provenance: Provenance,
}

/// The entry of a program, with files of so many bytes.
pub fn entry(
    subject: impl Into<String>,
    bytes: u64,
    make: impl Fn() -> Result<Program, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(Hashes { program: make()?, bytes, ready: None }))
}

struct Hashes {
    program: Program,
    bytes: u64,
    ready: Option<Ready>,
}

struct Ready {
    file: Arc<File>,
    digest: [u8; 32],
}

impl Program {
    /// The digest that it prints.
    fn digest(&self, file: &Path) -> Result<[u8; 32], String> {
        let mut command = Command::new(&self.path);
        command.args(&self.arguments).arg(file).stdin(Stdio::null());
        if let Some(libraries) = &self.libraries {
            command.env("LD_LIBRARY_PATH", libraries);
        }
        let output = command.output().map_err(|error| format!("can't be started: {error}"))?;
        if !output.status.success() {
            let said = String::from_utf8_lossy(&output.stderr);
            return Err(format!("ended with {}: {}", output.status, said.trim()));
        }
        digest(&output.stdout).ok_or_else(|| {
            let line = String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned();
            format!("printed {line:?}; expected 64 hexadecimal digits first")
        })
    }
}

/// The digest at the beginning of a line, which something else must follow.
fn digest(line: &[u8]) -> Option<[u8; 32]> {
    let (digits, rest) = line.split_at_checked(64)?;
    let mut digest = [0; 32];
    for (byte, pair) in digest.iter_mut().zip(digits.chunks_exact(2)) {
        let pair = std::str::from_utf8(pair).ok().filter(|pair| pair.bytes().all(|c| c.is_ascii_hexdigit()))?;
        *byte = u8::from_str_radix(pair, 16).ok()?;
    }
    rest.first().is_some_and(u8::is_ascii_whitespace).then_some(digest)
}

impl Subject for Hashes {
    /// Reads the file once, so that it is in the page cache.
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let file = File::of(seed, self.bytes)
            .map_err(|error| Refusal::new(format!("has no file of {} bytes to read: {error}", self.bytes)))?;
        let digest = self.program.digest(&file.path).map_err(Refusal::failed)?;
        self.ready = Some(Ready { file, digest });
        Ok(Witness::bytes(digest))
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        let ready = self.ready.as_ref().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?;
        Witness::bytes(ready.digest).same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        let ready = self.ready.as_ref().expect("prepare comes before run");
        for _ in 0..iterations {
            let digest = self.program.digest(&ready.file.path);
            assert_eq!(digest.as_ref(), Ok(&ready.digest), "the digest was another when it was prepared");
        }
    }

    fn works_elsewhere(&self) -> bool {
        true
    }

    fn provenance(&self) -> Provenance {
        self.program.provenance.clone()
    }
}

/// A file below the directory for temporary files, which is removed when dropped.
struct File {
    seed: u64,
    bytes: u64,
    path: PathBuf,
}

impl File {
    /// All subjects of a process read one file, so that the page cache has to hold one.
    fn of(seed: u64, bytes: u64) -> io::Result<Arc<Self>> {
        static LAST: Mutex<Weak<File>> = Mutex::new(Weak::new());
        let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(file) = last.upgrade().filter(|file| (file.seed, file.bytes) == (seed, bytes)) {
            return Ok(file);
        }
        let file = Arc::new(Self::make(seed, bytes)?);
        *last = Arc::downgrade(&file);
        Ok(file)
    }

    fn make(seed: u64, bytes: u64) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("candor-file-{}-{number}", process::id()));
        let mut open = OpenOptions::new().write(true).create_new(true).mode(0o600).open(&path)?;
        let file = Self { seed, bytes, path };
        let mut ends = Stream::new(seed, "file");
        let mut piece = vec![0; bytes.min(64 << 10) as usize];
        for at in [0, bytes - piece.len() as u64] {
            ends.fill(&mut piece);
            open.seek(SeekFrom::Start(at))?;
            open.write_all(&piece)?;
        }
        open.sync_all()?;
        Ok(file)
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // One that stays behind is mostly a hole.
        let _ = fs::remove_file(&self.path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};

    const BYTES: u64 = 1 << 20;

    fn program(path: &str, arguments: &[&str]) -> Hashes {
        let program = Program {
            path: path.into(),
            arguments: arguments.iter().map(Into::into).collect(),
            libraries: None,
            provenance: Provenance::of("sh", "1", TIMED),
        };
        Hashes { program, bytes: BYTES, ready: None }
    }

    #[test]
    fn the_file_is_as_long_as_asked_for_follows_from_the_seed_and_goes_when_nobody_reads_it() {
        let read = |seed| {
            let file = File::make(seed, BYTES).unwrap();
            let bytes = fs::read(&file.path).unwrap();
            let path = file.path.clone();
            drop(file);
            assert!(!path.exists());
            bytes
        };
        let (first, again, other) = (read(1), read(1), read(2));
        assert_eq!(first.len() as u64, BYTES);
        assert!(first == again && first != other);
        assert!(first[..64].iter().any(|byte| *byte != 0) && first[first.len() - 64..].iter().any(|byte| *byte != 0));
        assert!(first[64 << 10..128 << 10].iter().all(|byte| *byte == 0), "between the ends it is a hole");
        let (one, same) = (File::of(3, BYTES).unwrap(), File::of(3, BYTES).unwrap());
        assert!(Arc::ptr_eq(&one, &same));
    }

    #[test]
    fn what_a_program_prints_is_the_digest_of_the_file() {
        // Prints the digest that this test knows, as a program that hashes does.
        let file = File::make(5, BYTES).unwrap();
        let expected = Sha256::digest(fs::read(&file.path).unwrap());
        let hex: String = expected.iter().map(|byte| format!("{byte:02x}")).collect();
        let script = format!("echo \"{hex}  $0\"");
        let mut hashes = program("sh", &["-c", &script]);
        let witness = hashes.prepare(5).unwrap();
        assert!(Witness::bytes(expected).same_as(&witness).is_ok());
        assert!(hashes.check(&witness).is_ok());
        assert!(hashes.check(&Witness::bytes([0; 32])).is_err());
        hashes.run(2);
    }

    #[test]
    fn a_program_that_fails_or_prints_something_else_is_refused_with_what_it_said() {
        let refusal = |script: &str| program("sh", &["-c", script]).prepare(6).unwrap_err().to_string();
        assert!(refusal("echo no such key >&2; exit 3").ends_with("3: no such key"));
        let other = refusal("echo SHA256: 00");
        assert!(other.contains("SHA256: 00") && other.contains("expected 64 hexadecimal digits"), "{other}");
        let missing = program("./no-such-program", &[]).prepare(6).unwrap_err().to_string();
        assert!(missing.starts_with("can't be started"), "{missing}");
    }

    #[test]
    fn a_digest_is_64_digits_and_then_a_space_or_the_end_of_the_line() {
        let digits = "0123456789abcdefABCDEF0123456789".repeat(2);
        let of = |line: &str| digest(line.as_bytes());
        assert_eq!(of(&format!("{digits}  name\n")).unwrap()[..3], [0x01, 0x23, 0x45]);
        assert!(of(&format!("{digits} *name\n")).is_some() && of(&format!("{digits}\n")).is_some());
        for wrong in [format!("{digits}0  name"), digits.clone(), format!("+{}  name", &digits[1..]), String::new()] {
            assert!(of(&wrong).is_none(), "{wrong}");
        }
    }
}
