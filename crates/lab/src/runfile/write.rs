//! Writing into a hidden partial file, which is sealed and renamed at the end: a run file is either complete or absent.

use super::read::DIGITS;
use super::record::{Manifest, Record, SCHEMA, Seal};
use crate::LabError;
use base16ct::lower;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

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
        let partial = directory.join(format!(".partial-{}-{:016x}", std::process::id(), manifest.seed));
        let file = File::create_new(&partial).map_err(io)?;
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
        let done = file.into_inner().map_err(std::io::IntoInnerError::into_error).and_then(|file| file.sync_all());
        done.map_err(|source| self.failed(source))?;
        fs::rename(&self.partial, &path).map_err(|source| self.failed(source))?;
        Ok(path)
    }

    fn put(&mut self, bytes: &[u8]) -> Result<(), LabError> {
        let file = self.file.as_mut().expect("only seal takes it");
        file.write_all(bytes).and_then(|()| file.flush()).map_err(|source| self.failed(source))
    }

    fn failed(&self, source: std::io::Error) -> LabError {
        LabError::Io { doing: "can't write a run to", path: self.directory.clone(), source }
    }
}

impl Drop for RunWriter {
    /// Removes the partial file of a run that was not sealed.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.partial);
    }
}

/// A line of canonical JSON: the map of serde_json sorts its keys.
fn to_line(record: &Record) -> String {
    let value = serde_json::to_value(record).expect("records hold only strings, numbers and maps with string keys");
    format!("{value}\n")
}
