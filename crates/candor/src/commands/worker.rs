//! `candor worker`: reads a request from stdin and writes replies to stdout.

use crate::Failure;
use crate::measure::with_self_test;
use candor_lab::worker::{Reply, Request, serve};
use std::io::{BufRead, Write};

pub(crate) fn execute() -> Result<(), Failure> {
    let mut line = String::new();
    std::io::stdin().lock().read_line(&mut line)?;
    let request: Request = serde_json::from_str(&line)
        .map_err(|error| Failure::Error(format!("expected a request from `candor run` on stdin: {error}")))?;
    // A subject's panic becomes its reason in the table; a trace would disturb the progress bar.
    std::panic::set_hook(Box::new(|_| {}));
    let mut out = std::io::stdout().lock();
    let mut broken = None;
    let tasks = with_self_test(candor_subjects::tasks_near(request.task()));
    serve(&tasks, &request, &mut |reply: Reply| {
        let mut line = serde_json::to_vec(&reply).expect("a reply is plain data");
        line.push(b'\n');
        if let Err(error) = out.write_all(&line).and_then(|()| out.flush()) {
            broken = Some(error);
        }
    });
    broken.map_or(Ok(()), |error| Err(Failure::Error(format!("can't reply to `candor run`: {error}"))))
}
