//! OpenSSL's program in a directory of a test's own: the system's `openssl`, or the program that `CANDOR_OPENSSL` names.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The program, and a directory that is removed on drop.
pub struct OpenSsl(PathBuf);

impl OpenSsl {
    /// If the machine has one that lists this algorithm for public keys. `directory` is the test's own, below the build's.
    ///
    /// # Panics
    /// If the directory can't be made.
    #[must_use]
    pub fn find(algorithm: &str, directory: &Path) -> Option<Self> {
        let mut command = program();
        let found = command.args(["list", "-public-key-algorithms"]).stderr(Stdio::null()).output();
        if !found.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(algorithm)) {
            eprintln!("skipped: this machine has no openssl with {algorithm}");
            return None;
        }
        let directory = PathBuf::from(format!("{}-{}", directory.display(), std::process::id()));
        std::fs::create_dir_all(&directory).expect("the directory can be made");
        Some(Self(directory))
    }

    /// Whether it succeeds with these words.
    ///
    /// # Panics
    /// If it can't be started.
    #[must_use]
    pub fn run(&self, line: &str) -> bool {
        let mut command = program();
        let command = command.args(line.split(' ')).current_dir(&self.0).stdout(Stdio::null()).stderr(Stdio::null());
        command.status().expect("it has started before").success()
    }

    /// Writes a file for it.
    ///
    /// # Panics
    /// If that fails.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.0.join(name), bytes).expect("the directory is the test's own");
    }

    /// A file that it has written.
    ///
    /// # Panics
    /// If there is none.
    #[must_use]
    pub fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.0.join(name)).expect("it has written the file")
    }

    /// The same, as text.
    ///
    /// # Panics
    /// If there is none, or it is no text.
    #[must_use]
    pub fn text(&self, name: &str) -> String {
        String::from_utf8(self.read(name)).expect("PEM is text")
    }
}

fn program() -> Command {
    Command::new(std::env::var_os("CANDOR_OPENSSL").unwrap_or_else(|| "openssl".into()))
}

impl Drop for OpenSsl {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
