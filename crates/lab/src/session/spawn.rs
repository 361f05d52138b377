//! Starting workers.

use super::Workers;
use crate::Task;
use crate::pipe::{Heard, Pipe, WorkerDeath};
use crate::worker::{Reply, Request, serve};
use std::path::PathBuf;
use std::time::Duration;

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
        let mut worker = Pipe::open(&self.program, &self.arguments, padding)?;
        worker.say(request);
        worker.close();
        let mut done = false;
        loop {
            match worker.hear(patience) {
                Heard::Message(Reply::Done) => done = true,
                Heard::Message(answer) => reply(answer),
                Heard::End if done => return Ok(()),
                Heard::End => return Err(worker.ended()),
                Heard::Silence => {
                    let death = worker.end(patience);
                    return if done { Ok(()) } else { Err(death) };
                }
            }
        }
    }
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
        let request =
            Request::Probe { task: "t".into(), seed: 1, without: Vec::new(), watched: false, objects: Vec::new() };
        let died = spawn.serve(&request, 0, Duration::from_secs(1), &mut |_| ());
        let Err(WorkerDeath::NotStarted(why)) = died else { panic!("nothing can be started there") };
        assert!(why.starts_with("no-such-program: "), "{why}");
        assert!(!why.contains(&folder.path().display().to_string()), "{why}");
    }
}
