//! Files that subjects load: a run digests each once, and loses the processes that meet another file than the one that was probed.

mod quick;

use candor_lab::plan::Processes;
use candor_lab::runfile::Run;
use candor_lab::session::{self, InProcess, Settings};
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Task, Witness, objects};
use quick::settings;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

/// The digest of `abc` (FIPS 180-4).
const ABC: &str = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";

/// Counts, and stands on a file if it has one.
struct Counter(Option<PathBuf>);

impl Subject for Counter {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        Ok(Witness::bytes(seed.to_le_bytes()))
    }
    fn check(&mut self, _: &Witness) -> Result<(), Mismatch> {
        Ok(())
    }
    fn run(&mut self, iterations: u64) {
        (0..iterations).for_each(|i| _ = black_box(i));
    }
    fn provenance(&self) -> Provenance {
        let object_sha256 = self.0.as_deref().and_then(objects::sha256);
        Provenance { object_sha256, ..Provenance::of("counter", "1", "counts") }
    }
}

/// A task whose peer loads `library`, which `replaced` replaces by a copy when the peer is made for that time.
fn task(library: &Path, name: &'static str, replaced: Option<usize>) -> Task {
    let made = Arc::new(AtomicUsize::new(0));
    let library = library.to_owned();
    let peer = Entry::new(format!("{name}+batch"), move || {
        objects::meet(&library);
        objects::named(&library, "liba", name);
        if Some(made.fetch_add(1, Ordering::Relaxed) + 1) == replaced {
            let copy = library.with_extension("copy");
            fs::copy(&library, &copy).and_then(|_| fs::rename(&copy, &library)).unwrap();
        }
        Ok(Counter(Some(library.clone())))
    });
    Task::new("t", "counts").entry(Entry::new("ours", || Ok(Counter(None)))).entry(peer)
}

/// A run of that task with processes enough to lose one.
fn run(name: &'static str, replaced: Option<usize>) -> Run {
    let folder = tempfile::tempdir().unwrap();
    let library = folder.path().join("liba.so.1");
    fs::write(&library, b"abc").unwrap();
    let tasks = [task(&library, name, replaced)];
    let settings = Settings { processes: Processes::LosingOne, ..settings(folder.path()) };
    let stop = AtomicBool::new(false);
    let finished = session::run(&tasks, &settings, &InProcess(&tasks), &stop, &mut |_| {}).unwrap();
    Run::open(&finished.path).unwrap()
}

#[test]
fn a_run_whose_files_stay_loses_nothing_and_has_their_digests() {
    let run = run("a-1", None);
    assert_eq!((run.manifest.processes, run.blocks.len(), run.lost.len()), (9, 9, 0));
    let peer = run.subjects.iter().find(|subject| subject.subject == "a-1+batch").unwrap();
    assert_eq!(peer.provenance.object_sha256.as_deref(), Some(ABC));
}

/// The probe makes the peer once, and each process once more: the fifth time is in the fourth process.
#[test]
fn a_process_that_meets_another_file_than_the_probe_is_lost_and_says_so() {
    let run = run("b-1", Some(5));
    assert_eq!((run.blocks.len(), run.lost.len()), (3, 6));
    for lost in &run.lost {
        assert_eq!(lost.reason, "liba.so.1 is not the file that was probed: its time of modification differs");
    }
}
