//! A child process that speaks JSON: each message is a line.

use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// The environment variable whose length moves the stack of a worker.
const PADDING: &str = "CANDOR_PADDING";

/// Lines that wait to be heard. A child that says more waits itself. Each may be as long as a line can be.
const WAITING: usize = 2;

/// A longer line is no message.
const LONGEST: u64 = 1 << 26;

/// What fits into an empty pipe, so that writing it waits for nobody.
const FITS: usize = 1 << 12;

/// How long a child may take to end once nobody speaks to it any more, and to read what it was told before it is told more.
const FAREWELL: Duration = Duration::from_secs(10);

/// How a worker ended before it had served its request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WorkerDeath {
    /// It could not be started.
    NotStarted(String),
    /// It was told to stop. (Ctrl-C reaches the whole process group.)
    Stopped,
    /// It crashed.
    Crashed(String),
}

/// A child, and the lines that it says.
#[derive(Debug)]
pub(crate) struct Pipe {
    child: Child,
    stdin: Stdin,
    lines: Receiver<String>,
    /// The last line that was no message.
    nonsense: Option<String>,
    /// Whether it was ended because it did not read.
    is_deaf: bool,
}

#[derive(Debug)]
enum Stdin {
    Open(ChildStdin),
    /// A long message is written by a thread: the child may not be reading.
    Busy(JoinHandle<ChildStdin>),
    Closed,
}

/// What was heard.
#[derive(Debug)]
pub(crate) enum Heard<T> {
    /// A message.
    Message(T),
    /// The child has closed its side.
    End,
    /// Nothing for as long as one was prepared to wait.
    Silence,
}

impl Pipe {
    /// Starts `program arguments…` in an environment that is `padding` bytes larger.
    pub(crate) fn open(program: &Path, arguments: &[String], padding: usize) -> Result<Self, WorkerDeath> {
        // Its name without its folder: the reason is sealed, and a folder may tell who measured.
        let name = Path::new(program.file_name().unwrap_or(program.as_os_str())).display();
        let mut child = Command::new(program)
            .args(arguments)
            .env(PADDING, "x".repeat(padding))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|error| WorkerDeath::NotStarted(format!("{name}: {error}")))?;
        let stdin = Stdin::Open(child.stdin.take().expect("piped above"));
        // Another thread reads, so that this one can lose its patience.
        let (send, lines) = sync_channel(WAITING);
        let stdout = BufReader::new(child.stdout.take().expect("piped above"));
        std::thread::spawn(move || pass_on(stdout, &send));
        Ok(Self { child, stdin, lines, nonsense: None, is_deaf: false })
    }

    /// Says something. A child that dies before it has read it, or is ended because it does not read, is noticed when nothing is heard of it.
    pub(crate) fn say(&mut self, message: &impl Serialize) {
        let mut line = serde_json::to_vec(message).expect("messages are plain data");
        line.push(b'\n');
        let deadline = Instant::now() + FAREWELL;
        self.stdin = match std::mem::replace(&mut self.stdin, Stdin::Closed) {
            Stdin::Busy(thread) => finished(thread, deadline).map_or(Stdin::Closed, Stdin::Open),
            Stdin::Open(stdin) if !takes_more(&stdin, deadline) => Stdin::Closed,
            other => other,
        };
        if let Stdin::Closed = self.stdin {
            self.is_deaf = true;
            let _ = self.child.kill();
        }
        self.stdin = match std::mem::replace(&mut self.stdin, Stdin::Closed) {
            Stdin::Open(mut stdin) if line.len() > FITS => Stdin::Busy(std::thread::spawn(move || {
                let _ = stdin.write_all(&line);
                stdin
            })),
            Stdin::Open(mut stdin) => {
                let _ = stdin.write_all(&line);
                Stdin::Open(stdin)
            }
            other => other,
        };
    }

    /// Says that nothing more will be said.
    pub(crate) fn close(&mut self) {
        self.stdin = Stdin::Closed;
    }

    /// Waits for a message. Lines that are none may come from a library that prints; they are no sign of life, since they may come for ever.
    pub(crate) fn hear<T: DeserializeOwned>(&mut self, patience: Duration) -> Heard<T> {
        let began = Instant::now();
        loop {
            match self.lines.recv_timeout(patience.saturating_sub(began.elapsed())) {
                Ok(line) => match serde_json::from_str(&line) {
                    Ok(message) => return Heard::Message(message),
                    Err(_) => {
                        self.nonsense = Some(line.chars().take(80).collect());
                        if began.elapsed() >= patience {
                            return Heard::Silence;
                        }
                    }
                },
                Err(RecvTimeoutError::Disconnected) => return Heard::End,
                Err(RecvTimeoutError::Timeout) => return Heard::Silence,
            }
        }
    }

    /// How the child ended that has closed its side.
    pub(crate) fn ended(&mut self) -> WorkerDeath {
        let Some(status) = self.farewell() else {
            return WorkerDeath::Crashed("ended because it closed its output and went on".into());
        };
        match &self.nonsense {
            _ if self.is_deaf => WorkerDeath::Crashed("ended because it did not read what it was told".into()),
            _ if was_interrupted(status) => WorkerDeath::Stopped,
            None => WorkerDeath::Crashed(describe(status)),
            Some(text) => WorkerDeath::Crashed(format!("{}, after it printed {text:?}", describe(status))),
        }
    }

    /// Ends a child that said nothing for `patience`.
    pub(crate) fn end(&mut self, patience: Duration) -> WorkerDeath {
        // It may have ended by itself meanwhile; then there is nobody to kill.
        let _ = self.child.kill();
        let _ = self.child.wait();
        WorkerDeath::Crashed(format!("ended because it said nothing for {patience:.0?}"))
    }
}

impl Pipe {
    /// Waits for the child to end. `None` if it did not, and had to be ended.
    fn farewell(&mut self) -> Option<ExitStatus> {
        let began = Instant::now();
        loop {
            match self.child.try_wait() {
                Ok(Some(status)) => return Some(status),
                Ok(None) if began.elapsed() < FAREWELL => {}
                _ => {
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    return None;
                }
            }
            // What it still says must not keep it waiting.
            while self.lines.try_recv().is_ok() {}
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Pipe {
    /// A child that is not spoken to any more ends; one that does not is ended.
    fn drop(&mut self) {
        self.close();
        self.farewell();
    }
}

/// Passes on the lines of a child, until it has no more or says one that is too long.
fn pass_on(mut stdout: BufReader<ChildStdout>, send: &SyncSender<String>) {
    loop {
        let mut line = Vec::new();
        match stdout.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(1..) if line.ends_with(b"\n") || (line.len() as u64) < LONGEST => {
                let line = String::from_utf8_lossy(&line);
                if send.send(line.trim_end_matches('\n').to_owned()).is_err() {
                    return;
                }
            }
            _ => return,
        }
    }
}

/// What a thread returns, if it ends in time. Whatever it waits for otherwise, it waits for alone.
pub(crate) fn finished<T>(thread: JoinHandle<T>, deadline: Instant) -> Option<T> {
    while !thread.is_finished() {
        if Instant::now() >= deadline {
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    thread.join().ok()
}

/// Whether as much as fits into an empty pipe can be written without waiting, by then at the latest. A child that is dead takes anything.
#[cfg(unix)]
pub(crate) fn takes_more(stdin: &ChildStdin, deadline: Instant) -> bool {
    use nix::errno::Errno;
    use nix::poll::{PollFd, PollFlags, PollTimeout, poll};
    use std::os::fd::AsFd;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        let left = PollTimeout::try_from(left).unwrap_or(PollTimeout::MAX);
        match poll(&mut [PollFd::new(stdin.as_fd(), PollFlags::POLLOUT)], left) {
            Ok(0) => return false,
            Err(Errno::EINTR) => {}
            Ok(_) | Err(_) => return true,
        }
    }
}

#[cfg(not(unix))]
pub(crate) fn takes_more(_: &ChildStdin, _: Instant) -> bool {
    true
}

#[cfg(unix)]
fn was_interrupted(status: ExitStatus) -> bool {
    use std::os::unix::process::ExitStatusExt;
    const SIGINT: i32 = 2;
    const SIGTERM: i32 = 15;
    matches!(status.signal(), Some(SIGINT | SIGTERM))
}

#[cfg(not(unix))]
fn was_interrupted(_: ExitStatus) -> bool {
    false
}

#[cfg(unix)]
pub(crate) fn describe(status: ExitStatus) -> String {
    use std::os::unix::process::ExitStatusExt;
    match status.signal() {
        Some(4) => "killed by signal 4 (illegal instruction: this CPU may lack it)".into(),
        Some(9) => "killed by signal 9 (killed by a user, or out of memory)".into(),
        Some(11) => "killed by signal 11 (invalid memory access)".into(),
        Some(signal) => format!("killed by signal {signal}"),
        None => format!("ended with {status}"),
    }
}

#[cfg(not(unix))]
pub(crate) fn describe(status: ExitStatus) -> String {
    format!("ended with {status}")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    /// Reads nothing for a long time.
    fn deaf() -> Child {
        Command::new("sleep").arg("1000").stdin(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn nobody_writes_into_a_pipe_that_is_full() {
        let mut child = deaf();
        let mut stdin = child.stdin.take().unwrap();
        let soon = || Instant::now() + Duration::from_millis(50);
        let mut written = 0;
        while takes_more(&stdin, soon()) {
            written += stdin.write(&[b'x'; FITS]).unwrap();
            assert!(written < 1 << 24, "it is never full");
        }
        assert!(written >= FITS);
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(takes_more(&stdin, soon()), "a dead child stops nobody");
    }

    #[test]
    fn a_thread_that_does_not_end_is_left_alone() {
        let soon = Instant::now() + Duration::from_millis(50);
        assert_eq!(finished(std::thread::spawn(|| 7), Instant::now() + Duration::from_secs(60)), Some(7));
        assert_eq!(finished(std::thread::spawn(|| std::thread::sleep(Duration::from_secs(1000))), soon), None);
    }
}
