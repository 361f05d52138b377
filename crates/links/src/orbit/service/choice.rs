//! The choice among the satellites that are visible at an instant.

use super::{Connection, Route, Selection, Terminal, after};
use crate::orbit::error::Error;
use crate::orbit::frame::State;
use jiff::Timestamp;

/// How far ahead it is looked whether a satellite stays visible, and in what steps: seconds.
const AHEAD: f64 = 3600.0;
const AHEAD_STEP: f64 = 10.0;

/// The way to use from now on, given the present one.
pub(super) fn choose(
    connection: &Connection<'_>,
    time: Timestamp,
    present: Option<&[usize]>,
) -> Result<Option<Vec<usize>>, Error> {
    let states = connection.satellites.iter().map(|satellite| satellite.at(time)).collect::<Result<Vec<_>, _>>()?;
    let (user, gateway) = (&connection.user, &connection.gateway);
    let end = |terminals: &[&Terminal], present: Option<usize>| best(connection, terminals, &states, time, present);
    match connection.route {
        Route::BentPipe => Ok(end(&[user, gateway], present.map(|way| way[0]))?.map(|index| vec![index])),
        Route::BetweenSatellites(grid) => {
            let first = end(&[user], present.map(|way| way[0]))?;
            let last = end(&[gateway], present.map(|way| way[way.len() - 1]))?;
            Ok(first.zip(last).and_then(|(first, last)| grid.shortest(&states, first, last)))
        }
    }
}

/// The best satellite that all of these terminals see. Elevation is that at the first.
fn best(
    connection: &Connection<'_>,
    terminals: &[&Terminal],
    states: &[State],
    time: Timestamp,
    present: Option<usize>,
) -> Result<Option<usize>, Error> {
    let seen = |state: &State| terminals.iter().all(|terminal| terminal.site.look(state).elevation >= terminal.mask);
    let elevation = |index: usize| terminals[0].site.look(&states[index]).elevation;
    let visible = (0..states.len()).filter(|&index| seen(&states[index]));
    match connection.selection {
        Selection::HighestElevation => {
            Ok(visible.max_by(|&one, &other| elevation(one).total_cmp(&elevation(other)).then(other.cmp(&one))))
        }
        Selection::LongestRemaining => {
            if let Some(present) = present.filter(|&index| seen(&states[index])) {
                return Ok(Some(present));
            }
            let mut best: Option<(f64, f64, usize)> = None;
            for index in visible {
                let mut remaining = 0.0;
                // A satellite without a place then, since it decays, does not stay visible.
                let later = |ahead| connection.satellites[index].at(after(time, ahead)).is_ok_and(|state| seen(&state));
                while remaining < AHEAD && later(remaining + AHEAD_STEP) {
                    remaining += AHEAD_STEP;
                }
                let rank = (remaining, elevation(index), index);
                if best.is_none_or(|(seconds, height, _)| (rank.0, rank.1) > (seconds, height)) {
                    best = Some(rank);
                }
            }
            Ok(best.map(|(_, _, index)| index))
        }
    }
}
