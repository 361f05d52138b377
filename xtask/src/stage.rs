//! One stage of a longer check: a child process whose output streams to the terminal while somebody reads along.

use crate::Failure;
use crate::workspace::{cargo, clean};
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

/// After this long without a line the reader is told that the child still works.
const QUIET: Duration = Duration::from_secs(60);
/// How long a pipe may stay open after its owner has ended: a daemon that a test left behind must not hang the gate.
const GRACE: Duration = Duration::from_secs(3);

/// `cargo` with these words, in colour if we are on a terminal.
pub(crate) fn cargo_with<I: IntoIterator<Item = S>, S: AsRef<OsStr>>(words: I) -> Command {
    let mut command = cargo();
    command.args(words);
    if std::io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none() {
        command.env("CARGO_TERM_COLOR", "always");
    }
    command
}

/// A program that is not cargo, without the outer cargo's environment.
pub(crate) fn program(name: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(name);
    clean(&mut command);
    command
}

/// Runs the command to its end, shows each line as it comes, and gives it, without colours, to `read_along`.
/// Both streams share one pipe, so that they appear in the order in which they were written. Says whether it succeeded.
pub(crate) fn stream(command: Command, read_along: impl FnMut(&str)) -> Result<bool, Failure> {
    stream_to(&mut std::io::stdout(), command, read_along)
}

/// [`stream`] with another place for the lines.
pub(crate) fn stream_to(
    out: &mut dyn Write,
    mut command: Command,
    mut read_along: impl FnMut(&str),
) -> Result<bool, Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let cannot = |error: std::io::Error| format!("cannot run {name}: {error}");
    let (reader, writer) = std::io::pipe().map_err(cannot)?;
    command.stdin(Stdio::null()).stdout(writer.try_clone().map_err(cannot)?).stderr(writer);
    let mut child = command.spawn().map_err(cannot)?;
    // Our own ends of the pipe live in the command; while they do, the reader never sees its end.
    drop(command);

    let (sender, lines) = channel();
    std::thread::spawn(move || {
        let mut reader = BufReader::new(reader);
        let mut line = Vec::new();
        while matches!(reader.read_until(b'\n', &mut line), Ok(length) if length > 0) {
            if sender.send(std::mem::take(&mut line)).is_err() {
                return;
            }
        }
    });

    let mut last = Instant::now();
    let mut told = Instant::now();
    let mut ended: Option<Instant> = None;
    loop {
        match lines.recv_timeout(Duration::from_millis(100)) {
            Ok(line) => {
                show(out, &line);
                read_along(&plain(&String::from_utf8_lossy(&line)));
                last = Instant::now();
                told = last;
            }
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                if ended.is_none() && child.try_wait().map_err(cannot)?.is_some() {
                    ended = Some(Instant::now());
                }
                if ended.is_some_and(|then| then.max(last).elapsed() > GRACE) {
                    show(out, b"(a process that was left behind still holds the output; not waiting for it)\n");
                    break;
                }
                if told.elapsed() > QUIET {
                    show(out, format!("(nothing new for {}; still running)\n", clock(last.elapsed())).as_bytes());
                    told = Instant::now();
                }
            }
        }
    }
    Ok(child.wait().map_err(cannot)?.success())
}

/// How often [`within`] looks.
const TICK: Duration = Duration::from_millis(100);

/// Runs the command, for as long as `patience` at most. Gives its exit status and how long it took; no status if it had to be stopped, with the
/// processes that it had started.
///
/// Time is what was slept through between two looks, so an hour in which the whole machine was asleep, or all programs stopped, is none.
pub(crate) fn within(mut command: Command, patience: Duration) -> Result<(Option<ExitStatus>, Duration), Failure> {
    let name = command.get_program().to_string_lossy().into_owned();
    let cannot = |what: &str, error: std::io::Error| format!("cannot {what} {name}: {error}");
    let mut child = command.spawn().map_err(|error| cannot("run", error))?;
    let mut taken = Duration::ZERO;
    loop {
        if let Some(status) = child.try_wait().map_err(|error| cannot("wait for", error))? {
            return Ok((Some(status), taken));
        }
        if taken >= patience {
            break;
        }
        std::thread::sleep(TICK);
        taken += TICK;
    }
    // Its children first: cargo would leave a test behind, which would go on.
    let stopped = program("pkill").args(["-KILL", "-P", &child.id().to_string()]).status();
    child.kill().and_then(|()| child.wait()).map_err(|error| cannot("stop", error))?;
    stopped.map_err(|error| cannot("stop the children of", error))?;
    Ok((None, taken))
}

fn show(out: &mut dyn Write, line: &[u8]) {
    // Nobody left to read it is no reason to stop checking.
    let _ = out.write_all(line).and_then(|()| out.flush());
}

/// The line without its end and without terminal colours.
fn plain(line: &str) -> String {
    let mut text = String::with_capacity(line.len());
    let mut rest = line.trim_end_matches(['\n', '\r']);
    while let Some(at) = rest.find('\u{1b}') {
        text.push_str(&rest[..at]);
        let escape = &rest[at..];
        rest = escape.find(|c: char| c.is_ascii_alphabetic()).map_or("", |end| &escape[end + 1..]);
    }
    text.push_str(rest);
    text
}

/// Minutes and seconds.
pub(crate) fn clock(time: Duration) -> String {
    let seconds = time.as_secs_f64().round() as u64;
    format!("{}:{:02}", seconds / 60, seconds % 60)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Runs a script without showing its lines, which would end up between those of the test run.
    fn shell(script: &str, read_along: impl FnMut(&str)) -> Result<bool, Failure> {
        stream_to(&mut std::io::sink(), shell_command(script), read_along)
    }

    fn shell_command(script: &str) -> Command {
        let mut command = program("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn both_streams_arrive_in_order_and_the_status_is_told() {
        let mut lines = Vec::new();
        let ok = shell("echo one; echo two >&2; echo three; exit 3", |line| lines.push(line.to_owned()));
        assert_eq!(lines, ["one", "two", "three"]);
        assert_eq!(ok, Ok(false));
    }

    /// The script prints the number of a process that would go on for long.
    #[test]
    fn what_takes_too_long_is_stopped_with_its_children() {
        let (status, _) = within(shell_command("exit 3"), Duration::MAX).unwrap();
        assert_eq!(status.and_then(|status| status.code()), Some(3));

        let file = std::env::temp_dir().join(format!("xtask-within-{}", std::process::id()));
        let mut command = shell_command("sleep 1000 & echo $!; wait");
        command.stdout(std::fs::File::create(&file).unwrap());
        let stopped = within(command, 20 * TICK);
        let said = std::fs::read_to_string(&file).unwrap();
        std::fs::remove_file(&file).unwrap();
        assert_eq!(stopped, Ok((None, 20 * TICK)));
        let status = format!("/proc/{}/status", said.trim());
        assert!(status.len() > "/proc//status".len(), "the script said nothing");
        // A process that nobody has asked for its status stays as a zombie.
        let gone = || std::fs::read_to_string(&status).map_or(true, |text| text.contains("State:\tZ"));
        let looks = (0..600).any(|_| {
            std::thread::sleep(TICK);
            gone()
        });
        assert!(looks, "process {} goes on", said.trim());
    }

    #[test]
    fn a_process_left_behind_does_not_hang_the_gate() {
        let start = Instant::now();
        assert_eq!(shell("sleep 30 & echo done", |_| ()), Ok(true));
        assert!(start.elapsed() < Duration::from_secs(20));
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error_with_its_name() {
        assert!(stream(program("no-such-program-xyz"), |_| ()).unwrap_err().contains("no-such-program-xyz"));
    }

    #[test]
    fn colours_are_taken_out() {
        assert_eq!(plain("\u{1b}[1m\u{1b}[32mRunning\u{1b}[0m x\r\n"), "Running x");
        assert_eq!(plain("cut \u{1b}[3"), "cut ");
    }

    #[test]
    fn times_read_as_minutes_and_seconds() {
        assert_eq!(clock(Duration::from_millis(59_700)), "1:00");
        assert_eq!(clock(Duration::from_secs(5)), "0:05");
    }
}
