//! A `candor` process in a testbed.

use crate::Failure;
use crate::commands::parent;
use crate::output::Talk;
use candor_links::topology::Role;
use candor_testbed::Testbed;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::thread::JoinHandle;

/// A process. Dropping it kills it; it is killed as well when the testbed or this process ends.
pub(super) struct Process {
    name: &'static str,
    child: Child,
    stdin: ChildStdin,
    lines: BufReader<ChildStdout>,
    /// Reads its stderr, and knows at the end what it said last.
    last_words: Option<JoinHandle<String>>,
}

impl Process {
    /// Starts `candor` with these arguments at the node of `role`.
    pub(super) fn start(
        testbed: &Testbed,
        role: Role,
        name: &'static str,
        arguments: &[&str],
        talk: Talk,
    ) -> Result<Self, Failure> {
        // By this name rather than its own: without root's privileges it may not find the way to a file in somebody's home.
        let mut command = Command::new("/proc/self/exe");
        command.arg0("candor").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        parent::leads(&mut command);
        let mut child = testbed.spawn(role, command)?;
        let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(stdin), Some(stdout), Some(stderr)) = (stdin, stdout, stderr) else {
            return Err(Failure::Error(format!("can't talk to {name}")));
        };
        let last_words = std::thread::spawn(move || {
            let mut last = String::new();
            for line in BufReader::new(stderr).lines().map_while(Result::ok) {
                if talk.verbose {
                    talk.say(&format!("{name}: {line}"));
                }
                last = line;
            }
            last
        });
        Ok(Self { name, child, stdin, lines: BufReader::new(stdout), last_words: Some(last_words) })
    }

    /// Writes a line of JSON to its stdin.
    pub(super) fn ask(&mut self, request: &impl Serialize) -> Result<(), Failure> {
        let line = serde_json::to_string(request)? + "\n";
        match self.stdin.write_all(line.as_bytes()) {
            Ok(()) => Ok(()),
            Err(_) => Err(self.ended()),
        }
    }

    /// The next line that it prints.
    pub(super) fn line(&mut self) -> Result<String, Failure> {
        let mut line = String::new();
        match self.lines.read_line(&mut line) {
            Ok(length) if length > 0 => Ok(line),
            _ => Err(self.ended()),
        }
    }

    /// The same as a value.
    pub(super) fn answer<T: DeserializeOwned>(&mut self) -> Result<T, Failure> {
        let line = self.line()?;
        serde_json::from_str(&line)
            .map_err(|error| Failure::Error(format!("{} printed `{}`: {error}", self.name, line.trim())))
    }

    /// It has ended, or is about to: how, and what it said last.
    fn ended(&mut self) -> Failure {
        let _ = self.child.kill();
        let status = self.child.wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        let words = self.last_words.take().and_then(|thread| thread.join().ok()).unwrap_or_default();
        let words = words.strip_prefix("error: ").unwrap_or(&words);
        let said = if words.is_empty() { String::new() } else { format!(": {words}") };
        Failure::Error(format!("{} ended ({status}){said}", self.name))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
