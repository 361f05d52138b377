//! A test on a full disk: the same test again, in a process of its own with a file system of its own.

use crate::postgres::skipped;
use std::path::Path;
use std::process::Command;

/// Set in the process that has the disk: the folder that the disk is mounted at.
const DISK: &str = "CANDOR_TEST_SMALL_DISK";

/// In the process that has the disk, the folder that it is mounted at, which is that of temporary files too.
///
/// In any other: runs `test`, by its whole name, again and alone in a process for which 2 MB are mounted at `folder`, and gives `None` once it has passed and
/// has said `says`. Where there is no mounting, `None` as well, and a word on standard error.
pub fn run(test: &str, folder: &Path, says: &str) -> Option<String> {
    if let Ok(disk) = std::env::var(DISK) {
        return Some(disk);
    }
    let script = "mount -t tmpfs -o size=2m none \"$1\" && echo mounted && exec \"$0\" \"$2\" --exact --nocapture";
    let output = Command::new("unshare")
        .args(["--mount", "sh", "-c", script])
        .arg(std::env::current_exe().expect("this program"))
        .arg(folder)
        .arg(test)
        .envs([(DISK, folder), ("TMPDIR", folder)])
        .output();
    match output {
        Err(error) => skipped(test, &error.to_string()),
        Ok(output) => {
            let [printed, errors] =
                [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned());
            if !printed.starts_with("mounted") {
                skipped(test, errors.trim());
                return None;
            }
            let passed = output.status.success() && printed.contains("1 passed") && printed.contains(says);
            assert!(passed, "{printed}{errors}");
        }
    }
    None
}

/// Makes the disk larger.
pub fn grow(disk: &str) {
    let grown = Command::new("mount").args(["-o", "remount,size=8m", disk]).status().expect("mount");
    assert!(grown.success());
}
