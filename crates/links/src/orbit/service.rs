//! Which satellites serve a user over time, the hand-overs between them, and the delay of the way to a gateway.

use super::error::Error;
use super::frame::{Look, Site, State, light_time, minus, norm};
use super::grid::Grid;
use super::passes::{after, check_mask, turn};
use super::satellite::Satellite;
use crate::DelayTrace;
use jiff::Timestamp;
use std::time::Duration;

mod choice;
mod opening;

/// To how many seconds the moment is found at which a satellite is lost.
const PRECISION: f64 = 1e-3;

/// Samples that a plan may have.
const MOST_SAMPLES: f64 = 1e7;

/// Two samples cannot stand at one time; those before and behind a step are so far apart.
const STEP_WIDTH: Duration = Duration::from_nanos(1);

/// A dish on the ground.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Terminal {
    /// Where it stands.
    pub site: Site,
    /// Elevation in degrees below which it uses no satellite.
    pub mask: f64,
}

/// How the signal goes from the user's satellite to the gateway.
#[derive(Clone, Copy, Debug)]
pub enum Route<'a> {
    /// The satellite that the user sees sends it down to the gateway, which must see that satellite as well.
    BentPipe,
    /// User and gateway each choose a satellite; between these the signal takes the shortest way along links.
    BetweenSatellites(&'a Grid),
}

/// Which of the visible satellites a terminal takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// The highest, looked for anew in every slot.
    HighestElevation,
    /// The one that stays visible longest, kept until it is lost. What is visible for an hour or more counts as the same; the highest of those.
    LongestRemaining,
}

/// A connection from a user through satellites to a gateway.
#[derive(Clone, Copy, Debug)]
pub struct Connection<'a> {
    /// All satellites that may serve.
    pub satellites: &'a [Satellite],
    /// One end.
    pub user: Terminal,
    /// The other end.
    pub gateway: Terminal,
    /// What is between.
    pub route: Route<'a>,
    /// How satellites are chosen.
    pub selection: Selection,
    /// Length of a slot: satellites, and the way between them, are chosen anew at its beginning, and when one is lost.
    pub slot: Duration,
    /// How long there is no link while user or gateway turn to another satellite.
    pub outage: Duration,
    /// How far apart samples are, at most a minute. A link that is shorter than that may be missed.
    pub step: Duration,
}

/// What a connection is like over time. Times count from its start.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Plan {
    /// By rising times, at least one per step. At a step of the delay there are two, a nanosecond apart.
    pub samples: Vec<Sample>,
    /// Stretches in which the way is the same.
    pub stretches: Vec<Stretch>,
    /// When an end turned from one satellite to another, or found or lost its only one.
    pub hand_overs: Vec<HandOver>,
}

/// A connection at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// Since the start.
    pub at: Duration,
    /// `None` if there is no link.
    pub link: Option<Link>,
}

/// A link at one instant.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Link {
    /// One way, from user to gateway, at the speed of light in vacuum. Processing is not in it.
    pub delay: Duration,
    /// The user's satellite: its index.
    pub satellite: usize,
    /// How the user sees it.
    pub user: Look,
    /// How the gateway sees its own.
    pub gateway: Look,
}

/// A part of the way from user to gateway.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// From the user to its satellite.
    Up,
    /// Between satellites; nothing in a bent pipe.
    Between,
    /// From the last satellite to the gateway.
    Down,
}

/// A stretch of time with one way.
#[derive(Clone, Debug, PartialEq)]
pub struct Stretch {
    /// Its beginning.
    pub from: Duration,
    /// Its end.
    pub until: Duration,
    /// Indices of the satellites, from the user's to the gateway's.
    pub way: Vec<usize>,
}

/// A change of the satellites that the ends use.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HandOver {
    /// When the old link ended; if there was none, when the new one begins.
    pub at: Duration,
    /// The user's satellite and the gateway's before.
    pub from: Option<(usize, usize)>,
    /// The same behind.
    pub to: Option<(usize, usize)>,
    /// Delay at its end, before.
    pub before: Option<Duration>,
    /// Delay at the same instant on the new way.
    pub behind: Option<Duration>,
}

impl Plan {
    /// The delay of the whole way or a part of it. The parts add up to the whole, so that each can drive a link of its own.
    pub fn trace(&self, part: Part) -> DelayTrace {
        let delay = |link: Link| {
            let (up, down) = (link.user.delay(), link.gateway.delay());
            match part {
                Part::Whole => link.delay,
                Part::Up => up,
                Part::Between => link.delay.saturating_sub(up + down),
                Part::Down => link.delay - link.delay.saturating_sub(up + down) - up,
            }
        };
        DelayTrace { samples: self.samples.iter().map(|sample| (sample.at, sample.link.map(delay))).collect() }
    }
}

impl Connection<'_> {
    /// What the connection is like from `start` for some time.
    ///
    /// Fails if a mask, a duration or the number of samples is out of range, or a satellite has no place at some instant.
    pub fn plan(&self, start: Timestamp, length: Duration) -> Result<Plan, Error> {
        self.check(length)?;
        let mut planner = Planner { connection: self, start, plan: Plan::default(), way: None, usable_from: 0.0 };
        planner.run(length.as_secs_f64())?;
        Ok(planner.plan)
    }

    fn check(&self, length: Duration) -> Result<(), Error> {
        check_mask(self.user.mask)?;
        check_mask(self.gateway.mask)?;
        let within =
            |what, value: Duration, low: f64, high: f64, allowed| match (low..=high).contains(&value.as_secs_f64()) {
                true => Ok(()),
                false => Err(Error::OutOfRange { what, value: value.as_secs_f64(), allowed }),
            };
        let year = 366.0 * 86400.0;
        within("length of the plan in seconds", length, 0.0, year, "from 0 to a year")?;
        within("length of a slot in seconds", self.slot, 0.1, year, "from 0.1 to a year")?;
        within("distance of samples in seconds", self.step, 0.001, 60.0, "from 0.001 to 60")?;
        within("outage in seconds", self.outage, 0.0, self.slot.as_secs_f64() / 2.0, "from 0 to half a slot")?;
        let samples = length.as_secs_f64() / self.step.as_secs_f64();
        match samples <= MOST_SAMPLES {
            true => Ok(()),
            false => Err(Error::OutOfRange { what: "number of samples", value: samples, allowed: "at most 10000000" }),
        }
    }

    /// The link along a way, whether the ends may use it or not.
    fn link(&self, way: &[usize], time: Timestamp) -> Result<Link, Error> {
        let states = way.iter().map(|&index| self.satellites[index].at(time)).collect::<Result<Vec<State>, _>>()?;
        let (user, gateway) = (self.user.site.look(&states[0]), self.gateway.site.look(&states[states.len() - 1]));
        let between: f64 = states.windows(2).map(|pair| norm(minus(pair[1].position, pair[0].position))).sum();
        Ok(Link { delay: light_time(user.range + between + gateway.range), satellite: way[0], user, gateway })
    }

    fn usable(&self, link: &Link) -> bool {
        link.user.elevation >= self.user.mask && link.gateway.elevation >= self.gateway.mask
    }
}

/// Makes a plan. Times in here are seconds since the start.
struct Planner<'a> {
    connection: &'a Connection<'a>,
    start: Timestamp,
    plan: Plan,
    way: Option<Vec<usize>>,
    /// End of the outage after the last hand-over.
    usable_from: f64,
}

impl Planner<'_> {
    fn run(&mut self, length: f64) -> Result<(), Error> {
        let (slot, step) = (self.connection.slot.as_secs_f64(), self.connection.step.as_secs_f64());
        let mut now = 0.0;
        self.choose(now)?;
        self.sample(now)?;
        let (mut slots, mut steps) = (1.0, 1.0);
        while now < length {
            let (next_slot, next_step) = (slots * slot, steps * step);
            let mut next = next_slot.min(next_step).min(length);
            if self.usable_from > now {
                next = next.min(self.usable_from);
            }
            now = match self.first_change(now, next)? {
                Some(change) => {
                    if change < length {
                        self.choose(change)?;
                    }
                    change
                }
                None => {
                    if next == next_slot && next < length {
                        self.choose(next)?;
                    }
                    next
                }
            };
            if now >= next_slot {
                slots += 1.0;
            }
            if now >= next_step {
                steps += 1.0;
            }
            self.sample(now)?;
        }
        if let Some(way) = self.way.take() {
            self.close(way, length);
        }
        Ok(())
    }

    /// When, between two times, the present way is lost, or, if there is none, another is found.
    fn first_change(&self, from: f64, to: f64) -> Result<Option<f64>, Error> {
        let usable = |way: &[usize], at: f64| Ok(self.connection.usable(&self.connection.link(way, self.time(at))?));
        match &self.way {
            Some(way) if usable(way, to)? => Ok(None),
            Some(way) => turn(from, to, PRECISION, |at| Ok(!usable(way, at)?)).map(Some),
            None => match choice::choose(self.connection, self.time(to), None)? {
                // The ends were there already, so it is the way between them that has opened.
                Some(way) if usable(&way, from)? => Ok(Some(to)),
                Some(way) => turn(from, to, PRECISION, |at| usable(&way, at)).map(Some),
                None => Ok(None),
            },
        }
    }

    /// Chooses a way, and notes what that changes.
    fn choose(&mut self, at: f64) -> Result<(), Error> {
        let time = self.time(at);
        let new = choice::choose(self.connection, time, self.way.as_deref())?;
        if new == self.way {
            return Ok(());
        }
        let ends = |way: &Option<Vec<usize>>| way.as_ref().map(|way| (way[0], way[way.len() - 1]));
        let delay =
            |way: &Option<Vec<usize>>| way.as_ref().map(|way| Ok(self.connection.link(way, time)?.delay)).transpose();
        let (from, to) = (ends(&self.way), ends(&new));
        let (before, behind) = (delay(&self.way)?, delay(&new)?);
        let begins = self.plan.samples.is_empty();
        if !begins {
            // The old way's last sample.
            self.sample(at)?;
        }
        if from != to && !begins {
            self.plan.hand_overs.push(HandOver { at: seconds(at), from, to, before, behind });
        }
        if let Some(old) = self.way.take() {
            self.close(old, at);
            if from != to && to.is_some() {
                self.usable_from = at + self.connection.outage.as_secs_f64();
            }
        }
        if let Some(way) = &new {
            let from = seconds(self.usable_from.max(at));
            self.plan.stretches.push(Stretch { from, until: from, way: way.clone() });
        }
        self.way = new;
        Ok(())
    }

    /// Ends the last stretch, which is that of this way.
    fn close(&mut self, way: Vec<usize>, at: f64) {
        if let Some(stretch) = self.plan.stretches.last_mut() {
            debug_assert_eq!(stretch.way, way);
            stretch.until = seconds(at).max(stretch.from);
        }
    }

    fn sample(&mut self, at: f64) -> Result<(), Error> {
        let link = match &self.way {
            Some(way) if at >= self.usable_from => Some(self.connection.link(way, self.time(at))?),
            _ => None,
        };
        let mut at = seconds(at);
        if let Some(last) = self.plan.samples.last() {
            let same = match (&last.link, &link) {
                (None, None) => true,
                (Some(one), Some(other)) => one.delay == other.delay && one.satellite == other.satellite,
                _ => false,
            };
            if at <= last.at {
                if same {
                    return Ok(());
                }
                at = last.at + STEP_WIDTH;
            } else if last.link.is_none() && link.is_some() && at - last.at > STEP_WIDTH {
                // The gap lasts until here: nothing is interpolated into it.
                self.plan.samples.push(Sample { at: at - STEP_WIDTH, link: None });
            }
        }
        self.plan.samples.push(Sample { at, link });
        Ok(())
    }

    fn time(&self, at: f64) -> Timestamp {
        after(self.start, at)
    }
}

fn seconds(at: f64) -> Duration {
    Duration::from_secs_f64(at)
}

#[cfg(test)]
mod tests;
