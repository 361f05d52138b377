//! Starting workers.

use super::{WorkerDeath, Workers};
use crate::Task;
use crate::worker::{Reply, Request, serve};
use std::io::{BufRead, BufReader, Write};
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// The environment variable whose length moves the stack of a worker.
const PADDING: &str = "CANDOR_PADDING";

/// Starts `program arguments…` for each request, which it reads from stdin; replies come from its stdout.
#[derive(Clone, Debug)]
pub struct Spawn {
    /// The program.
    pub program: PathBuf,
    /// The arguments that make it a worker.
    pub arguments: Vec<String>,
}

impl Workers for Spawn {
    fn serve(
        &self,
        request: &Request,
        padding: usize,
        patience: Duration,
        reply: &mut dyn FnMut(Reply),
    ) -> Result<(), WorkerDeath> {
        let not_started = |error: std::io::Error| {
            // Its name without its folder: the reason is sealed, and a folder may tell who measured.
            let name = self.program.file_name().unwrap_or(self.program.as_os_str());
            WorkerDeath::NotStarted(format!("{}: {error}", name.display()))
        };
        let mut child = Command::new(&self.program)
            .args(&self.arguments)
            .env(PADDING, "x".repeat(padding))
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(not_started)?;
        let mut line = serde_json::to_vec(request).expect("a request is plain data");
        line.push(b'\n');
        // A worker that dies before it has read the request is noticed below: it does not reply.
        let _ = child.stdin.take().expect("piped above").write_all(&line);

        // Another thread reads, so that this one can lose its patience.
        let (send, lines) = channel();
        let stdout = BufReader::new(child.stdout.take().expect("piped above"));
        std::thread::spawn(move || stdout.lines().map_while(Result::ok).try_for_each(|line| send.send(line)));
        let mut done = false;
        let mut nonsense = None;
        let mut heard = Instant::now();
        loop {
            let line = {
                // What a library prints is no sign of life: it may do so for ever.
                let patience = patience.saturating_sub(heard.elapsed());
                lines.recv_timeout(patience)
            };
            let said = line.map(|line| serde_json::from_str(&line).map_err(|_| line));
            if matches!(said, Ok(Ok(_))) {
                heard = Instant::now();
            }
            match said {
                Ok(Ok(Reply::Done)) => done = true,
                Ok(Ok(answer)) => reply(answer),
                // Output of a library that prints to stdout.
                Ok(Err(line)) => nonsense = Some(line.chars().take(80).collect::<String>()),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    // It may have ended by itself meanwhile; then there is nobody to kill.
                    let _ = child.kill();
                    child.wait().map_err(not_started)?;
                    return match done {
                        true => Ok(()),
                        false => Err(WorkerDeath::Crashed(format!("ended because it said nothing for {patience:.0?}"))),
                    };
                }
            }
        }
        let status = child.wait().map_err(not_started)?;
        match (done, nonsense) {
            (true, _) => Ok(()),
            _ if was_interrupted(status) => Err(WorkerDeath::Stopped),
            (false, None) => Err(WorkerDeath::Crashed(describe(status))),
            (false, Some(text)) => {
                Err(WorkerDeath::Crashed(format!("{}, after it printed {text:?}", describe(status))))
            }
        }
    }
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
fn describe(status: ExitStatus) -> String {
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
fn describe(status: ExitStatus) -> String {
    format!("ended with {status}")
}

/// Serves requests in this very process, for tests that need no isolation.
pub struct InProcess<'a>(pub &'a [Task]);

impl Workers for InProcess<'_> {
    fn serve(&self, request: &Request, _: usize, _: Duration, reply: &mut dyn FnMut(Reply)) -> Result<(), WorkerDeath> {
        serve(self.0, request, reply);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reasons of lost processes are sealed.
    #[test]
    fn a_program_that_does_not_start_is_named_without_its_folder() {
        let folder = tempfile::tempdir().unwrap();
        let spawn = Spawn { program: folder.path().join("no-such-program"), arguments: Vec::new() };
        let request = Request::Probe { task: "t".into(), seed: 1, without: Vec::new() };
        let died = spawn.serve(&request, 0, Duration::from_secs(1), &mut |_| ());
        let Err(WorkerDeath::NotStarted(why)) = died else { panic!("nothing can be started there") };
        assert!(why.starts_with("no-such-program: "), "{why}");
        assert!(!why.contains(&folder.path().display().to_string()), "{why}");
    }
}
