//! The folder of a sweep: shards are claimed, done and put in their place.

use super::plan::{LARGEST, Plan};
use super::seal::{sealed, unsealed};
use crate::LabError;
use crate::runfile::Flaw;
use base16ct::lower;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::fs::{self, File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::{Path, PathBuf};

const PLAN: &str = "plan.jsonl";
const COSTS: &str = "costs";
const SHARDS: &str = "shards";
const WORK: &str = ".work";
/// Says, in the folder of a shard that is done, what was done.
const RECORD: &str = "shard.jsonl";
/// Longer records of shards are not read, and longer reasons not kept.
const LONGEST: u64 = 4096;

/// A sweep.
#[derive(Debug)]
pub struct Sweep {
    directory: PathBuf,
    plan: Plan,
}

/// What is known of a shard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It is done.
    Done(Done),
    /// A process is doing it.
    Running,
    /// It could not be done, for this reason.
    Failed(String),
    /// What is in its place is not whole. It will be done again.
    Damaged(String),
    /// What is in its place belongs to another plan. Nobody touches it.
    Foreign(String),
    /// Nobody has done it yet, or whoever was doing it was killed.
    Missing,
}

/// A shard that is done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// Its data.
    pub data: PathBuf,
    /// The program that did it.
    pub tool: String,
}

/// What became of a request for a shard.
#[derive(Debug)]
pub enum Claim {
    /// It is done.
    Done,
    /// Another process is doing it.
    Busy,
    /// It is yours to do.
    Yours(Claimed),
}

/// A shard that this process does. Nobody else does, until this is dropped.
#[derive(Debug)]
pub struct Claimed {
    paths: Paths,
    index: u64,
    plan: String,
    /// What stood in its place, if that was damaged.
    pub damaged: Option<String>,
    /// Closing it ends the lock.
    _lock: File,
}

/// Where everything of a shard is.
#[derive(Clone, Debug)]
struct Paths {
    place: PathBuf,
    lock: PathBuf,
    work: PathBuf,
    failed: PathBuf,
}

/// The line of [`RECORD`].
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Record {
    kind: String,
    plan: String,
    shard: u64,
    tool: String,
    file: String,
    sha256: String,
}

const KIND: &str = "shard";

impl Sweep {
    /// Makes a folder for a plan, with these other files. If it is there with the same plan, nothing changes.
    ///
    /// # Errors
    /// The folder has another plan, or can't be written.
    pub fn create(directory: &Path, plan: Plan, files: &[(PathBuf, Vec<u8>)]) -> Result<Self, LabError> {
        let path = directory.join(PLAN);
        match fs::read(&path) {
            Ok(bytes) if bytes == plan.text().as_bytes() => {}
            Ok(_) => {
                let why = "the folder has another plan already; choose another folder, or remove this one".into();
                return Err(LabError::Sweep { path, line: 1, why });
            }
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(source) => return Err(LabError::Io { doing: "can't read", path, source }),
        }
        for folder in [SHARDS, WORK] {
            let folder = directory.join(folder);
            fs::create_dir_all(&folder).map_err(|source| LabError::Io { doing: "can't make", path: folder, source })?;
        }
        // The plan comes last: a folder with a plan has all that the plan needs.
        for (name, bytes) in files {
            put(&directory.join(name), bytes, directory)?;
        }
        put(&path, plan.text().as_bytes(), directory)?;
        Ok(Self { directory: directory.to_path_buf(), plan })
    }

    /// Opens a folder.
    ///
    /// # Errors
    /// There is no plan, or it is damaged.
    pub fn open(directory: &Path) -> Result<Self, LabError> {
        let path = directory.join(PLAN);
        let bytes =
            read(&path, LARGEST).map_err(|source| LabError::Io { doing: "can't read", path: path.clone(), source })?;
        let plan = Plan::parse(&bytes).map_err(|Flaw { line, why }| LabError::Sweep { path, line, why })?;
        Ok(Self { directory: directory.to_path_buf(), plan })
    }

    /// The plan.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Where a run whose costs are drawn stands, from the folder's root.
    pub fn costs(run: &str) -> PathBuf {
        Path::new(COSTS).join(format!("{run}.jsonl"))
    }

    /// The folder.
    pub fn directory(&self) -> &Path {
        &self.directory
    }

    /// What is known of a shard.
    ///
    /// # Errors
    /// The plan has no such shard, or the folder can't be read.
    pub fn state(&self, index: u64) -> Result<State, LabError> {
        let paths = self.paths(index)?;
        let found = self.found(index)?;
        if matches!(found, State::Done(_) | State::Foreign(_)) {
            return Ok(found);
        }
        let io = |source| LabError::Io { doing: "can't look at", path: paths.lock.clone(), source };
        match File::open(&paths.lock) {
            // Whoever claims the shard in this very moment finds it busy, waits, and gets it.
            Ok(lock) => match lock.try_lock_shared() {
                Err(TryLockError::WouldBlock) => return Ok(State::Running),
                Err(TryLockError::Error(source)) => return Err(io(source)),
                Ok(()) => {}
            },
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(source) => return Err(io(source)),
        }
        match (found, read(&paths.failed, LONGEST)) {
            (State::Missing, Ok(why)) => Ok(State::Failed(String::from_utf8_lossy(&why).trim().to_owned())),
            (found, _) => Ok(found),
        }
    }

    /// Asks for a shard. With `wait`, waits until whoever is doing it has ended.
    ///
    /// # Errors
    /// The plan has no such shard, what is in its place belongs to another plan, or the folder can't be written.
    pub fn claim(&self, index: u64, wait: bool) -> Result<Claim, LabError> {
        let paths = self.paths(index)?;
        if matches!(self.found(index)?, State::Done(_)) && !paths.lock.exists() {
            return Ok(Claim::Done);
        }
        let io = |source| LabError::Io { doing: "can't lock", path: paths.lock.clone(), source };
        let work = self.directory.join(WORK);
        fs::create_dir_all(&work).map_err(|source| LabError::Io { doing: "can't make", path: work, source })?;
        let lock = File::options().create(true).truncate(false).write(true).open(&paths.lock).map_err(io)?;
        match wait {
            true => lock.lock().map_err(io)?,
            false => match lock.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(Claim::Busy),
                Err(TryLockError::Error(source)) => return Err(io(source)),
            },
        }
        // It may have been done while this process waited. Whoever did it may have been killed before it had tidied up.
        let damaged = match self.found(index)? {
            State::Done(_) => {
                paths.tidy();
                return Ok(Claim::Done);
            }
            State::Foreign(why) => {
                let path = paths.place.join(RECORD);
                paths.tidy();
                return Err(LabError::Sweep { path, line: 1, why: format!("{why}; remove it, or use another folder") });
            }
            State::Damaged(why) => Some(why),
            _ => None,
        };
        remove(&paths.work).and_then(|()| fs::create_dir(&paths.work)).map_err(|source| LabError::Io {
            doing: "can't make",
            path: paths.work.clone(),
            source,
        })?;
        Ok(Claim::Yours(Claimed { paths, index, plan: self.plan.sha256().to_owned(), damaged, _lock: lock }))
    }

    /// What is in a shard's place.
    fn found(&self, index: u64) -> Result<State, LabError> {
        let Paths { place, .. } = self.paths(index)?;
        let io = |path: &Path| {
            let path = path.to_path_buf();
            move |source| LabError::Io { doing: "can't read", path, source }
        };
        match place.symlink_metadata() {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(State::Missing),
            Err(error) => return Err(io(&place)(error)),
            Ok(about) if !about.is_dir() => return Ok(State::Damaged("it is no folder".into())),
            Ok(_) => {}
        }
        let path = place.join(RECORD);
        let bytes = match read(&path, LONGEST) {
            Ok(bytes) => bytes,
            Err(error) if is_of_the_file(&error) => return Ok(State::Damaged(format!("{RECORD}: {error}"))),
            Err(error) => return Err(io(&path)(error)),
        };
        let record = match unsealed::<Record>("a record of a shard", &bytes) {
            Ok((records, _)) if records.len() == 1 && records[0].kind == KIND => records.into_iter().next(),
            Ok(_) => None,
            Err(Flaw { why, .. }) => return Ok(State::Damaged(format!("{RECORD}: {why}"))),
        };
        let Some(record) = record else { return Ok(State::Damaged(format!("{RECORD}: not a record of a shard"))) };
        if record.plan != self.plan.sha256() {
            let (theirs, ours) = (record.plan, self.plan.sha256());
            return Ok(State::Foreign(format!("result of another plan ({theirs:.12}…; this one is {ours:.12}…)")));
        }
        if record.shard != index {
            return Ok(State::Damaged(format!("it is shard {} of the plan", record.shard)));
        }
        if !is_plain(&record.file) {
            return Ok(State::Damaged(format!("{RECORD}: {:?} is no name of its data", record.file)));
        }
        let data = place.join(&record.file);
        match digest(&data) {
            Ok(found) if found == record.sha256 => Ok(State::Done(Done { data, tool: record.tool })),
            Ok(found) => {
                let expected = record.sha256;
                let why =
                    format!("{} was changed or cut short (expected {expected:.12}…, found {found:.12}…)", record.file);
                Ok(State::Damaged(why))
            }
            Err(error) if is_of_the_file(&error) => Ok(State::Damaged(format!("{}: {error}", record.file))),
            Err(error) => Err(io(&data)(error)),
        }
    }

    fn paths(&self, index: u64) -> Result<Paths, LabError> {
        let shards = self.plan.shards();
        if index >= shards {
            return Err(LabError::NoShard { index, shards });
        }
        let work = self.directory.join(WORK);
        Ok(Paths {
            place: self.directory.join(SHARDS).join(format!("{index:06}")),
            lock: work.join(format!("{index:06}.lock")),
            work: work.join(format!("{index:06}")),
            failed: work.join(format!("{index:06}.failed")),
        })
    }
}

impl Claimed {
    /// An empty folder for the shard's data.
    pub fn folder(&self) -> &Path {
        &self.paths.work
    }

    /// Puts the shard in its place, once this file of its folder is on the disk.
    ///
    /// # Errors
    /// The system's. Then there is nothing in its place.
    pub fn finish(&self, file: &str, tool: &str) -> Result<(), LabError> {
        let Paths { place, work, .. } = &self.paths;
        let failed = |source| LabError::Io { doing: "can't write", path: place.clone(), source };
        let sha256 =
            File::open(work.join(file)).and_then(|file| file.sync_all()).and_then(|()| digest(&work.join(file)));
        let (plan, tool, file) = (self.plan.clone(), tool.to_owned(), file.to_owned());
        let record = Record { kind: KIND.into(), plan, shard: self.index, tool, file, sha256: sha256.map_err(failed)? };
        let (text, _) = sealed(&[record]);
        let mut written = File::create_new(work.join(RECORD)).map_err(failed)?;
        written.write_all(text.as_bytes()).and_then(|()| written.sync_all()).map_err(failed)?;
        File::open(work).and_then(|folder| folder.sync_all()).map_err(failed)?;
        let shards = place.parent().unwrap_or(Path::new("."));
        // What was damaged makes room.
        let placed = fs::create_dir_all(shards).and_then(|()| remove(place)).and_then(|()| fs::rename(work, place));
        placed.and_then(|()| File::open(shards)?.sync_all()).map_err(failed)?;
        self.paths.tidy();
        Ok(())
    }

    /// Notes why the shard could not be done. If even that can't be written, it is merely missing.
    pub fn fail(self, why: &str) {
        let mut end = why.len().min(LONGEST as usize / 2);
        while !why.is_char_boundary(end) {
            end -= 1;
        }
        let whole = remove(&self.paths.work).and_then(|()| fs::create_dir(&self.paths.work));
        let note = self.paths.work.join("failed");
        let _ = whole.and_then(|()| fs::write(&note, &why[..end])).and_then(|()| fs::rename(&note, &self.paths.failed));
    }
}

impl Drop for Claimed {
    /// Nothing half done is left.
    fn drop(&mut self) {
        let _ = remove(&self.paths.work);
    }
}

impl Paths {
    /// Removes what a shard in its place needs no longer, the lock last.
    fn tidy(&self) {
        let _ = remove(&self.work);
        let _ = remove(&self.failed);
        let _ = remove(&self.lock);
    }
}

/// A name without a folder, which does not hide.
fn is_plain(name: &str) -> bool {
    let sound = |c: char| c.is_ascii_alphanumeric() || "-_.+@".contains(c);
    name.starts_with(|c: char| c.is_ascii_alphanumeric()) && name.chars().all(sound) && name != RECORD
}

/// Whether the file is to blame, and not the disk or the rights.
fn is_of_the_file(error: &io::Error) -> bool {
    use ErrorKind::{FileTooLarge, IsADirectory, NotADirectory, NotFound};
    matches!(error.kind(), NotFound | FileTooLarge | IsADirectory | NotADirectory)
}

/// Removes whatever is there.
fn remove(path: &Path) -> io::Result<()> {
    let removed = match path.symlink_metadata() {
        Ok(about) if about.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => other,
    }
}

/// The bytes of a file, which are no more than that.
fn read(path: &Path, most: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    File::open(path)?.take(most + 1).read_to_end(&mut bytes)?;
    match bytes.len() as u64 > most {
        true => Err(io::Error::new(ErrorKind::FileTooLarge, format!("over {most} bytes long"))),
        false => Ok(bytes),
    }
}

fn digest(path: &Path) -> io::Result<String> {
    let (mut file, mut digest, mut piece) = (File::open(path)?, Sha256::new(), vec![0; 1 << 16]);
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(lower::encode_string(&digest.finalize())),
            count => digest.update(&piece[..count]),
        }
    }
}

/// Writes a file of the folder so that it has its name only as a whole.
fn put(path: &Path, bytes: &[u8], directory: &Path) -> Result<(), LabError> {
    let hidden = directory.join(WORK).join(format!("plan-{}", std::process::id()));
    let written = (|| {
        fs::create_dir_all(path.parent().unwrap_or(directory))?;
        let mut file = File::create(&hidden)?;
        file.write_all(bytes)?;
        file.sync_all()?;
        fs::rename(&hidden, path)
    })();
    written.map_err(|source| {
        let _ = fs::remove_file(&hidden);
        LabError::Io { doing: "can't write", path: path.to_path_buf(), source }
    })
}
