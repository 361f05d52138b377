//! Writing into a hidden partial file, which is sealed and renamed at the end: a run file is either complete or absent. Whoever is killed leaves the partial file; the next run in that
//! folder removes it. A lock of the kernel, which ends with its process, tells such a file from one that is being written.

use super::read::DIGITS;
use super::record::{Manifest, Record, SCHEMA, Seal};
use crate::LabError;
use base16ct::lower;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// How the names of partial files begin. The number of the process follows.
const PARTIAL: &str = ".partial-";

/// A run file in the making.
#[derive(Debug)]
pub struct RunWriter {
    directory: PathBuf,
    partial: PathBuf,
    name: String,
    file: Option<BufWriter<File>>,
    digest: Sha256,
}

impl RunWriter {
    /// Begins a run file in `directory`, which is created if it does not exist.
    pub fn begin(directory: &Path, manifest: &Manifest) -> Result<Self, LabError> {
        debug_assert_eq!(manifest.schema, SCHEMA);
        let io = |source| LabError::Io { doing: "can't write to", path: directory.to_path_buf(), source };
        fs::create_dir_all(directory).map_err(io)?;
        tidy(directory);
        let partial = directory.join(format!("{PARTIAL}{}-{:016x}", std::process::id(), manifest.seed));
        let file = held(&partial).map_err(io)?;
        let mut writer = Self {
            directory: directory.to_path_buf(),
            name: manifest.name(),
            partial,
            file: Some(BufWriter::new(file)),
            digest: Sha256::new(),
        };
        writer.append(&Record::Manifest(Box::new(manifest.clone())))?;
        Ok(writer)
    }

    /// Appends a line.
    pub fn append(&mut self, record: &Record) -> Result<(), LabError> {
        let line = to_line(record);
        self.digest.update(line.as_bytes());
        self.put(line.as_bytes())
    }

    /// Seals the run and names it after date, CPU and digest. Returns the path.
    pub fn seal(mut self) -> Result<PathBuf, LabError> {
        let sha256 = lower::encode_string(&self.digest.finalize_reset());
        let path = self.directory.join(format!("{}-{}.jsonl", self.name, &sha256[..DIGITS]));
        self.put(to_line(&Record::Seal(Seal { sha256 })).as_bytes())?;
        let file = self.file.take().expect("only seal takes it");
        let done = file.into_inner().map_err(io::IntoInnerError::into_error).and_then(|file| file.sync_all());
        done.map_err(|source| self.failed(source))?;
        fs::rename(&self.partial, &path).map_err(|source| self.failed(source))?;
        Ok(path)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), LabError> {
        let file = self.file.as_mut().expect("only seal takes it");
        file.write_all(bytes).and_then(|()| file.flush()).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: io::Error) -> LabError {
        LabError::Io { doing: "can't write a run to", path: self.directory.clone(), source }
    }
}

impl Drop for RunWriter {
    /// Removes the partial file of a run that was not sealed.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.partial);
    }
}

/// Makes the file and holds its lock.
fn held(partial: &Path) -> io::Result<File> {
    loop {
        let file = File::create_new(partial)?;
        // A file system without locks keeps what is left behind.
        let _ = file.lock();
        // Another run may have come between the two, and have taken it for one that was left behind.
        if partial.exists() {
            return Ok(file);
        }
    }
}

/// Removes the partial files of processes that are gone. What can't be looked at or removed stays: it is in nobody's way.
fn tidy(directory: &Path) {
    let Ok(entries) = fs::read_dir(directory) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(rest) = name.to_str().and_then(|name| name.strip_prefix(PARTIAL)) else { continue };
        // Versions from before 2026-11-28 hold no lock.
        let process = rest.split('-').next().unwrap_or_default();
        if process.parse::<u32>().is_ok() && !Path::new("/proc").join(process).exists() {
            let file = File::options().write(true).open(entry.path());
            if let Some(file) = file.ok().filter(|file| file.try_lock().is_ok()) {
                let _ = fs::remove_file(entry.path());
                drop(file);
            }
        }
    }
}

/// A line of canonical JSON: the map of serde_json sorts its keys.
fn to_line(record: &Record) -> String {
    let value = serde_json::to_value(record).expect("records hold only strings, numbers and maps with string keys");
    format!("{value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// Two runs may be measured into one folder at the same time, and one of them may have been killed.
    #[test]
    fn what_a_killed_process_left_is_removed_and_what_is_being_written_is_not() {
        let dir = tempfile::tempdir().unwrap();
        let names = || -> BTreeSet<String> {
            let entries = fs::read_dir(dir.path()).unwrap();
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect()
        };
        let begin =
            |seed| RunWriter::begin(dir.path(), &Manifest { schema: SCHEMA, seed, ..Manifest::default() }).unwrap();
        // Numbers of processes are smaller than that.
        let gone = ".partial-4294967295-0000000000000007".to_owned();
        let others = [".partial", ".partial-x-1", "2026-11-21-zen5.jsonl", "notes"].map(str::to_owned);
        for name in others.iter().chain([&gone]) {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let first = begin(1);
        assert!(!names().contains(&gone), "{:?}", names());
        let with_first = names();
        // By its name it is of a process that is gone, but somebody writes it: another machine may share the folder.
        let held = File::create(dir.path().join(&gone)).unwrap();
        held.lock().unwrap();
        let second = begin(2);
        assert!(names().is_superset(&with_first) && names().contains(&gone), "{:?}", names());
        first.seal().unwrap();
        drop((second, held));
        drop(begin(3));
        assert_eq!(names().iter().filter(|name| name.ends_with(".jsonl")).count(), 2);
        assert!(others.iter().all(|other| names().contains(other)) && !names().contains(&gone), "{:?}", names());
    }
}
