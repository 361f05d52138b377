//! A network namespace, held by a thread.
//!
//! The namespace has no name and no file. It lives as long as the thread, the processes that the thread has started, and what either has open. A process can
//! ask the kernel to be killed when the thread ends that started it (PR_SET_PDEATHSIG), so nothing of it outlives this process.

use crate::Error;
use nix::sched::{CloneFlags, unshare};
use std::io;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::thread::{Builder, JoinHandle};

type Job = Box<dyn FnOnce() + Send>;

/// A network namespace. Dropping it ends its thread.
pub(crate) struct Namespace {
    jobs: Option<Sender<Job>>,
    thread: Option<JoinHandle<()>>,
}

impl Namespace {
    /// Makes a namespace with nothing in it but a loopback device that is down.
    pub(crate) fn new(node: &str) -> Result<Self, Error> {
        let (jobs, taken) = channel::<Job>();
        let (report, reported) = channel();
        let work = move || {
            let made = unshare(CloneFlags::CLONE_NEWNET);
            let is_made = made.is_ok();
            let _ = report.send(made);
            if is_made {
                taken.iter().for_each(|job| job());
            }
        };
        // A thread's name has 15 bytes; the kernel cuts the rest off.
        let thread = Builder::new().name(format!("net {node}")).spawn(work).map_err(Error::system("start a thread"))?;
        match reported.recv() {
            Ok(Ok(())) => Ok(Self { jobs: Some(jobs), thread: Some(thread) }),
            Ok(Err(nix::errno::Errno::EPERM)) => Err(Error::Namespace),
            Ok(Err(error)) => Err(Error::System { what: "make a network namespace", why: error.into() }),
            Err(_) => Err(gone()),
        }
    }

    /// Does something in the namespace: what it opens and starts is there.
    pub(crate) fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T, Error> {
        let (give, take) = channel();
        let job = Box::new(move || drop(give.send(work())));
        let sent = self.jobs.as_ref().is_some_and(|jobs| jobs.send(job).is_ok());
        if sent { take.recv().map_err(|_| gone()) } else { Err(gone()) }
    }
}

fn gone() -> Error {
    Error::System { what: "use a network namespace", why: io::Error::other("its thread has ended") }
}

impl Drop for Namespace {
    fn drop(&mut self) {
        drop(self.jobs.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Runs lines of `ip` in the namespace of this thread.
pub(crate) fn ip(lines: &str) -> Result<(), Error> {
    let failed = |error: io::Error| Error::Ip(error.to_string());
    let mut command = Command::new("ip");
    command.args(["-batch", "-"]).stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::piped());
    // Its errors are told apart by their words.
    command.env("LC_ALL", "C");
    let mut child = command.spawn().map_err(Error::NoTool)?;
    // Less than a pipe holds.
    let written = child.stdin.take().map(|mut stdin| io::Write::write_all(&mut stdin, lines.as_bytes()));
    let output = child.wait_with_output().map_err(failed)?;
    match written {
        _ if !output.status.success() => Err(Error::Ip(String::from_utf8_lossy(&output.stderr).trim().to_owned())),
        Some(Err(error)) => Err(failed(error)),
        _ => Ok(()),
    }
}

/// Sets a parameter of the namespace of this thread, such as `ipv4/tcp_congestion_control`.
pub(crate) fn set(parameter: &'static str, value: &str) -> Result<(), Error> {
    // /proc/sys/net shows everyone their own.
    std::fs::write(format!("/proc/sys/net/{parameter}"), value).map_err(|why| Error::Parameter { parameter, why })
}
