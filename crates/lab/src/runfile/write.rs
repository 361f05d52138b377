//! Writing: into a hidden partial file, then the seal, then a rename. A run either stands there whole or not at all.

use super::record::{Manifest, Record, SCHEMA, Seal};
use crate::LabError;
use base16ct::lower;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

/// A run file that is being written.
#[derive(Debug)]
pub struct RunWriter {
    directory: PathBuf,
    partial: PathBuf,
    name: String,
    file: Option<BufWriter<File>>,
    digest: Sha256,
}

impl RunWriter {
    /// Begins a run in `directory`, which is made if it is missing.
    pub fn begin(directory: &Path, manifest: &Manifest) -> Result<Self, LabError> {
        debug_assert_eq!(manifest.schema, SCHEMA);
        let io = |source| LabError::Io { doing: "can't write to", path: directory.to_path_buf(), source };
        fs::create_dir_all(directory).map_err(io)?;
        let partial = directory.join(format!(".partial-{}-{:016x}", std::process::id(), manifest.seed));
        let file = File::create_new(&partial).map_err(io)?;
        let day = manifest.date.get(..10).unwrap_or("undated");
        let mut writer = Self {
            directory: directory.to_path_buf(),
            name: format!("{day}-{}", manifest.machine.short_name()),
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

    /// Seals the run and gives it its name: date, CPU, digest. Answers the path.
    pub fn seal(mut self) -> Result<PathBuf, LabError> {
        let sha256 = lower::encode_string(&self.digest.finalize_reset());
        let path = self.directory.join(format!("{}-{}.jsonl", self.name, &sha256[..6]));
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
    /// What was not sealed is not a run. After a seal the partial file has been renamed and there is nothing to remove.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.partial);
    }
}

/// Canonical JSON: serde_json's own map sorts keys. Ends with a newline.
pub(super) fn to_line(record: &Record) -> String {
    let value = serde_json::to_value(record).expect("records hold only strings, numbers and maps with string keys");
    format!("{value}\n")
}
