//! A folder of a test's own, and programs that run in it.

use std::io::Write;
use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().expect("a folder"))
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    pub(crate) fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        std::fs::write(self.path(name), bytes).expect("the folder is the test's own");
    }

    pub(crate) fn read(&self, name: &str) -> Vec<u8> {
        std::fs::read(self.path(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
    }

    /// Everything in it, hidden files too.
    pub(crate) fn names(&self) -> Vec<String> {
        let entries = std::fs::read_dir(self.0.path()).expect("it can be listed").flatten();
        let mut names: Vec<_> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    pub(crate) fn command(&self, words: &str) -> Command {
        let mut words = words.split(' ');
        let mut command = program(words.next().expect("a program"));
        command.args(words).current_dir(self.0.path()).stdin(Stdio::null());
        command
    }

    /// Runs a program with its input: exit status, standard output, standard error.
    pub(crate) fn run(&self, words: &str, input: &[u8]) -> (Option<i32>, Vec<u8>, String) {
        let mut command = self.command(words);
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap_or_else(|error| panic!("{words}: {error}"));
        let mut pipe = child.stdin.take().expect("a pipe");
        let input = input.to_vec();
        // The program may end before it has read everything.
        let writer = std::thread::spawn(move || drop(pipe.write_all(&input)));
        let Output { status, stdout, stderr } = child.wait_with_output().expect("it ends");
        writer.join().expect("the writer ends");
        (status.code(), stdout, String::from_utf8_lossy(&stderr).into_owned())
    }

    /// What a program that succeeds prints.
    pub(crate) fn out(&self, words: &str) -> String {
        let (status, out, errors) = self.run(words, b"");
        assert_eq!(status, Some(0), "{words}: {errors}");
        String::from_utf8(out).expect("text")
    }

    /// What a program that exits with this status says.
    pub(crate) fn refusal(&self, words: &str, expected: i32) -> String {
        let (status, _, errors) = self.run(words, b"");
        assert_eq!(status, Some(expected), "{words}: {errors}");
        errors
    }

    /// Whether the machine has this program; if not, says that the test is skipped.
    pub(crate) fn has(&self, program: &str) -> bool {
        let says = |word: &str| self::program(program).arg(word).output().is_ok_and(|said| said.status.success());
        let found = says("--version") || says("version");
        if !found {
            let _ = writeln!(std::io::stderr(), "skipped: {program} is missing");
        }
        found
    }
}

/// `candor` is this build's; `openssl` the system's, or what `CANDOR_OPENSSL` names.
fn program(name: &str) -> Command {
    let other = std::env::var_os("CANDOR_OPENSSL").filter(|_| name == "openssl");
    match name {
        "candor" => Command::new(env!("CARGO_BIN_EXE_candor")),
        name => Command::new(other.unwrap_or_else(|| name.into())),
    }
}
