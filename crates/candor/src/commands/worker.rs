//! `candor worker`: reads a request from stdin and writes replies to stdout.

use super::parent;
use crate::Failure;
use crate::measure::{described, with_self_test};
use candor_lab::remote::serve_lines;
use candor_lab::worker::Request;
use std::io::{stdin, stdout};
use std::path::PathBuf;

pub(crate) fn execute(programs: &[PathBuf]) -> Result<(), Failure> {
    parent::follow_any()?;
    let tasks = |request: &Request| {
        let mut tasks = with_self_test(candor_subjects::tasks_near(request.task()));
        tasks.iter_mut().for_each(|task| programs.iter().for_each(|program| task.program(program)));
        tasks
    };
    serve_lines(tasks, described, stdin().lock(), &mut stdout().lock()).map_err(Failure::Error)
}
