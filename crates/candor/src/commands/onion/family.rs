//! Child processes: started, heard, and stopped together.

use crate::Failure;
use crate::commands::parent;
use crate::output::Talk;
use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};
use tokio::time::{Instant, sleep, timeout_at};

/// How often the children are looked at.
const TURN: Duration = Duration::from_millis(50);
/// How long the children may take to end once they are asked to. A relay gives its streams ten seconds.
const PATIENCE: Duration = Duration::from_secs(12);

/// All children. Dropping it kills those that are left.
pub(super) struct Family {
    members: Vec<Member>,
    talk: Talk,
}

struct Member {
    name: String,
    child: Child,
    lines: UnboundedReceiver<String>,
    /// What it said last on stderr.
    last_words: Arc<Mutex<String>>,
    ended: Option<ExitStatus>,
}

impl Family {
    pub(super) fn new(talk: Talk) -> Self {
        Self { members: Vec::new(), talk }
    }

    /// Starts `candor` with these arguments. Call it on the main thread: children end with the thread that started them.
    pub(super) fn start(&mut self, name: &str, arguments: &[&str]) -> Result<(), Failure> {
        let failed = |error: std::io::Error| Failure::Error(format!("can't start {name}: {error}"));
        let mut command = Command::new(std::env::current_exe().map_err(failed)?);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        if self.talk.quiet {
            command.arg("--quiet");
        }
        // Ctrl-C reaches this process alone, which then stops the children in order.
        command.process_group(0);
        parent::leads(&mut command);
        let mut child = command.spawn().map_err(failed)?;
        let (sender, lines) = unbounded_channel();
        each_line(child.stdout.take(), move |line| drop(sender.send(line)));
        let last_words = Arc::<Mutex<String>>::default();
        let (words, talk, speaker) = (Arc::clone(&last_words), self.talk, name.to_owned());
        each_line(child.stderr.take(), move |line| {
            talk.say(&format!("{speaker}: {line}"));
            *words.lock().unwrap_or_else(PoisonError::into_inner) = line;
        });
        self.members.push(Member { name: name.to_owned(), child, lines, last_words, ended: None });
        Ok(())
    }

    /// The numbers of their processes, by name.
    pub(super) fn processes(&self) -> impl Iterator<Item = (&str, u32)> {
        self.members.iter().map(|member| (member.name.as_str(), member.child.id()))
    }

    /// The next line that a child prints. Fails if any child ends first, or when the time is over.
    pub(super) async fn line(&mut self, name: &str, until: Instant) -> Result<String, Failure> {
        let index = self.members.iter().position(|member| member.name == name);
        let index = index.ok_or_else(|| Failure::Error(format!("{name} was not started")))?;
        let mut turn = Instant::now();
        loop {
            turn += TURN;
            match timeout_at(turn.min(until), self.members[index].lines.recv()).await {
                Ok(Some(line)) => return Ok(line),
                // It is about to end, or has closed its stdout for a reason of its own.
                Ok(None) => sleep(TURN).await,
                Err(_) => {}
            }
            if let Some(failure) = self.ended()? {
                return Err(failure);
            }
            if Instant::now() >= until {
                return Err(Failure::Error(format!("{name} was not ready in time; --wait gives it more")));
            }
        }
    }

    /// Comes back when a child has ended, and says which, how, and what it said last.
    pub(super) async fn until_one_ends(&mut self) -> Failure {
        loop {
            match self.ended() {
                Ok(Some(failure)) | Err(failure) => return failure,
                Ok(None) => sleep(TURN).await,
            }
        }
    }

    fn ended(&mut self) -> Result<Option<Failure>, Failure> {
        for member in &mut self.members {
            if let Some(status) = member.look()? {
                // Its last words may still be on their way.
                std::thread::sleep(Duration::from_millis(20));
                let words = member.last_words.lock().unwrap_or_else(PoisonError::into_inner).clone();
                let words = words.strip_prefix("error: ").unwrap_or(&words);
                let said = if words.is_empty() { String::new() } else { format!(": {words}") };
                return Ok(Some(Failure::Error(format!("{} ended ({status}){said}", member.name))));
            }
        }
        Ok(None)
    }

    /// Asks the children to end, `first` before the others, waits a while, and kills those that are left.
    pub(super) async fn stop(mut self, first: &str) {
        let until = Instant::now() + PATIENCE;
        for is_first in [true, false] {
            let chosen = |member: &&mut Member| (member.name == first) == is_first && member.ended.is_none();
            self.members.iter_mut().filter(chosen).for_each(|member| member.signal(Signal::TERM));
            let lives = |member: &mut Member| (member.name == first) == is_first && matches!(member.look(), Ok(None));
            while Instant::now() < until && self.members.iter_mut().any(lives) {
                sleep(Duration::from_millis(10)).await;
            }
        }
    }
}

impl Drop for Family {
    fn drop(&mut self) {
        for member in &mut self.members {
            if member.ended.is_none() {
                let _ = member.child.kill();
                let _ = member.child.wait();
            }
        }
    }
}

impl Member {
    /// How it has ended, if it has.
    fn look(&mut self) -> Result<Option<ExitStatus>, Failure> {
        if self.ended.is_none() {
            self.ended = self.child.try_wait()?;
        }
        Ok(self.ended)
    }

    fn signal(&self, signal: Signal) {
        // One that has ended is not waited for yet, so nobody else has its number.
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        let _ = pid.map(|pid| kill_process(pid, signal));
    }
}

/// Gives each line to `take`, on a thread of its own that ends with the stream.
fn each_line(stream: Option<impl Read + Send + 'static>, mut take: impl FnMut(String) + Send + 'static) {
    let Some(stream) = stream else { return };
    std::thread::spawn(move || {
        let mut stream = BufReader::new(stream);
        let mut line = Vec::new();
        while stream.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            take(String::from_utf8_lossy(line.trim_ascii_end()).into_owned());
            line.clear();
        }
    });
}
