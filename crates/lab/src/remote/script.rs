//! A child that says what a text says, whatever it is asked: for tests of what children may say.

use super::{Answered, Channel, Message};
use crate::pipe::WorkerDeath;
use std::collections::VecDeque;
use std::time::Duration;

/// Says the lines of a text in their order, those that are answers, and then dies.
#[derive(Clone, Debug)]
pub struct Script(VecDeque<Answered>);

impl Script {
    /// A child that says this.
    pub fn of(text: &str) -> Self {
        Self(text.lines().filter_map(|line| serde_json::from_str(line).ok()).collect())
    }
}

impl Channel for Script {
    fn say(&mut self, _: &Message<'_>) {}

    fn hear(&mut self, _: Duration) -> Result<Answered, WorkerDeath> {
        self.0.pop_front().ok_or_else(|| WorkerDeath::Crashed("the script is at its end".into()))
    }
}
