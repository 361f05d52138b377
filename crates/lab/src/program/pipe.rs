//! The pipes to a program: a line each way, within bounds of time and length.

use crate::Refusal;
use crate::pipe::{describe, finished, takes_more};
use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
use nix::sys::signal::{Signal, killpg};
use nix::unistd::Pid;
use serde::Deserialize;
use std::io::{Read, Write};
use std::os::fd::AsFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// A line of a program is no longer than this, in bytes: answers of 2 MiB.
const LONGEST: usize = 4 << 20;

/// What is kept of standard error.
const KEPT: usize = 200;

/// Waits until nobody holds the other end of its standard input any more, however that comes about, and ends its process group, itself included. No key of the terminal and no
/// hang-up ends it before.
const KEEPER: &str = "trap '' HUP INT TERM; read -r end; kill -s KILL 0";

/// A running program.
pub(super) struct Pipe {
    keeper: Keeper,
    child: Child,
    /// `None` while a long question is written, and after one that was not read.
    stdin: Option<ChildStdin>,
    stdout: ChildStdout,
    /// What it has said and nobody has read.
    said: Vec<u8>,
    /// Lines that were read.
    line: usize,
    patience: Duration,
    /// The end of what it wrote to standard error, and who reads that.
    errors: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

impl Pipe {
    pub(super) fn open(path: &Path, patience: Duration) -> Result<Self, Refusal> {
        let keeper = Keeper::start()?;
        let mut child = Command::new(path)
            .process_group(keeper.group.as_raw())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .map_err(|error| Refusal::new(format!("can't be started: {error}")))?;
        let (stdin, stdout) = (child.stdin.take().expect("piped above"), child.stdout.take().expect("piped above"));
        let errors = Arc::new(Mutex::new(Vec::new()));
        let mut stderr = child.stderr.take().expect("piped above");
        let kept = Arc::clone(&errors);
        // Read without end, so that a program that writes much there is neither blocked nor kept in memory. It ends with the program.
        let reader = std::thread::spawn(move || {
            let mut part = [0; 4096];
            while let Ok(length @ 1..) = stderr.read(&mut part) {
                let mut kept = kept.lock().unwrap_or_else(PoisonError::into_inner);
                kept.extend_from_slice(&part[..length]);
                let surplus = kept.len().saturating_sub(KEPT);
                kept.drain(..surplus);
            }
        });
        let stdin = Some(stdin);
        Ok(Self { keeper, child, stdin, stdout, said: Vec::new(), line: 0, patience, errors, reader })
    }

    /// Sends a line and returns the line that answers it.
    pub(super) fn ask(&mut self, request: &str) -> Result<String, Refusal> {
        if !self.said.is_empty() {
            self.line += 1;
            let said = String::from_utf8_lossy(&self.said).into_owned();
            return Err(self.wrong(&format!("{:?}, which nobody asked for", shortened(&said))));
        }
        let mut request = request.as_bytes().to_vec();
        request.push(b'\n');
        let deadline = Instant::now() + self.patience;
        let Some(mut stdin) = self.stdin.take() else {
            return Err(self.wrong("its last question was not read"));
        };
        // A line as short as this fits wherever something fits, so that writing it can't block.
        if request.len() <= 4096 {
            let reads = takes_more(&stdin, deadline);
            if reads {
                // What went wrong is known when the answer does not come.
                let _ = stdin.write_all(&request);
            }
            self.stdin = Some(stdin);
            let answer = if reads { self.line_by(deadline) } else { Err(Silence::TooLate) };
            return self.answered(answer);
        }
        let writer = std::thread::spawn(move || {
            let _ = stdin.write_all(&request);
            stdin
        });
        let answer = self.line_by(deadline);
        if answer.is_ok() {
            self.stdin = finished(writer, deadline);
        }
        if self.stdin.is_none() {
            // Else a program that does not read would keep the writer for ever.
            let _ = self.child.kill();
        }
        let answer = self.answered(answer)?;
        match &self.stdin {
            Some(_) => Ok(answer),
            None => Err(self.wrong("an answer to a question that it did not read")),
        }
    }

    fn line_by(&mut self, deadline: Instant) -> Result<Vec<u8>, Silence> {
        read_line(&mut self.stdout, &mut self.said, deadline)
    }

    fn answered(&mut self, answer: Result<Vec<u8>, Silence>) -> Result<String, Refusal> {
        self.line += 1;
        match answer {
            Ok(line) => String::from_utf8(line).map_err(|_| self.wrong("no text")),
            Err(Silence::TooLong) => Err(self.wrong(&format!("more than {LONGEST} bytes without an end"))),
            Err(Silence::TooLate) => {
                let patience = self.patience;
                Err(Refusal::failed(format!(
                    "said nothing for {patience:.0?} (line {} of its output was due)",
                    self.line
                )))
            }
            Err(Silence::Ended) => Err(self.ended()),
            Err(Silence::Broken(error)) => Err(Refusal::failed(format!("can't be read: {error}"))),
        }
    }

    /// Parses a line of the program.
    pub(super) fn read<'a, T: Deserialize<'a>>(&self, line: &'a str, expected: &str) -> Result<T, Refusal> {
        serde_json::from_str(line).map_err(|_| self.wrong(&format!("{:?}; expected {expected}", shortened(line))))
    }

    /// What is wrong with the line that was read last.
    pub(super) fn wrong(&self, what: &str) -> Refusal {
        Refusal::failed(format!("line {} of its output: {what}", self.line))
    }

    /// How it ended, with the last words on its standard error.
    fn ended(&mut self) -> Refusal {
        // It has closed its output, but may go on for ever, and so may whoever it started.
        let patience = Instant::now() + Duration::from_millis(500);
        let mut status = None;
        while Instant::now() < patience && (status.is_none() || !self.reader.is_finished()) {
            status = status.or_else(|| self.child.try_wait().ok().flatten());
            std::thread::sleep(Duration::from_millis(2));
        }
        let how = status.map_or("closed its output".into(), describe);
        let errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let errors = String::from_utf8_lossy(&errors);
        let last = errors.lines().rfind(|line| !line.trim().is_empty()).map(shortened);
        let last = last.map_or(String::new(), |last| format!(": {last}"));
        Refusal::failed(format!("{how} before line {} of its output{last}", self.line))
    }
}

impl Drop for Pipe {
    /// Nothing of it stays behind.
    fn drop(&mut self) {
        self.keeper.end();
        let _ = self.child.wait();
    }
}

/// The first process of the group that a program and whoever it starts belong to. A process that leaves the group (`setsid`) is not found.
///
/// The kernel would end the program with its parent (`PR_SET_PDEATHSIG`), but only if the program asked for it itself, and not whom it has started.
struct Keeper {
    process: Child,
    group: Pid,
}

impl Keeper {
    fn start() -> Result<Self, Refusal> {
        // Nothing of the worker's but this one pipe, which no other child inherits: else candor would wait for the keeper.
        let process = Command::new("/bin/sh")
            .args(["-c", KEEPER])
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .map_err(|error| Refusal::new(format!("can't be watched over by /bin/sh: {error}")))?;
        let group = Pid::from_raw(process.id().try_into().expect("numbers of processes are positive and small"));
        Ok(Self { process, group })
    }

    /// Ends the group. Its number is not given to another as long as the keeper has not been waited for.
    fn end(&mut self) {
        let _ = killpg(self.group, Signal::SIGKILL);
        let _ = self.process.wait();
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if let Ok(None) = self.process.try_wait() {
            self.end();
        }
    }
}

/// Why there is no line.
enum Silence {
    TooLong,
    TooLate,
    Ended,
    Broken(std::io::Error),
}

/// Reads up to the end of a line, without it. What stands behind it stays in `said`.
fn read_line(stdout: &mut ChildStdout, said: &mut Vec<u8>, deadline: Instant) -> Result<Vec<u8>, Silence> {
    let mut searched = 0;
    let mut part = [0; 65536];
    loop {
        if let Some(end) = said[searched..].iter().position(|&byte| byte == b'\n') {
            let behind = said.split_off(searched + end + 1);
            let mut line = std::mem::replace(said, behind);
            line.truncate(line.trim_ascii_end().len());
            return Ok(line);
        }
        searched = said.len();
        if searched > LONGEST {
            return Err(Silence::TooLong);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        let mut polled = [PollFd::new(stdout.as_fd(), PollFlags::POLLIN)];
        match poll(&mut polled, left) {
            Ok(0) => return Err(Silence::TooLate),
            Err(nix::errno::Errno::EINTR) => continue,
            Ok(_) | Err(_) => {}
        }
        match stdout.read(&mut part) {
            Ok(0) => return Err(Silence::Ended),
            Ok(length) => said.extend_from_slice(&part[..length]),
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(Silence::Broken(error)),
        }
    }
}

/// The beginning of what it said, printable.
pub(super) fn shortened(text: &str) -> String {
    text.chars().filter(|c| !c.is_control()).take(80).collect()
}
