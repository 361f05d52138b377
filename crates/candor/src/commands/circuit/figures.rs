//! Figures of one topology.

mod flight;

pub(super) use flight::write as write_flight;

use crate::Failure;
use crate::cli::CircuitArguments;
use crate::commands::report::save_figure;
use crate::output::Talk;
use candor_lab::figure::{Axis, Figure, Panel, Series};
use candor_links::crossover::Crossover;
use candor_links::simulator::Plan;
use candor_network::HandshakeType;
use std::path::Path;

/// Draws what was asked for.
pub(super) fn write(
    arguments: &CircuitArguments,
    plan: &Plan,
    costs: &str,
    crossovers: &[(HandshakeType, Crossover)],
    talk: Talk,
) -> Result<(), Failure> {
    let Some(save) = saver(arguments, plan, talk) else { return Ok(()) };
    match bandwidth(plan, costs, crossovers) {
        Some(figure) => save(&figure),
        None => {
            talk.say("left out the figure of bandwidths: it needs two handshakes whose costs are known");
            Ok(())
        }
    }
}

/// Writes a figure of a plan's topology as what was asked for. `None` if no figure was.
fn saver(arguments: &CircuitArguments, plan: &Plan, talk: Talk) -> Option<impl Fn(&Figure) -> Result<(), Failure>> {
    let directory = arguments.output.as_deref().unwrap_or(Path::new("."));
    let save = move |figure: &Figure| save_figure(figure, &plan.topology.name, &arguments.figures, directory, talk);
    (!arguments.figures.is_empty()).then_some(save)
}

/// How much longer a circuit takes than by the first handshake, by bandwidth: a falling line for messages, and a level one for computation.
fn bandwidth(plan: &Plan, costs: &str, crossovers: &[(HandshakeType, Crossover)]) -> Option<Figure> {
    let of = |handshake: &HandshakeType, found: &Crossover| {
        let points = found.messages.iter().map(|&(rate, more)| Some((rate as f64 / 1e6, more * 1e3)));
        let level = found.messages.iter().map(|&(rate, _)| Some((rate as f64 / 1e6, found.computation * 1e3)));
        let rate = found.crossing().rate();
        let marks = rate.map(|rate| (rate / 1e6, found.computation * 1e3, String::new()));
        let name = match rate {
            Some(rate) => format!("{handshake} (ring: {:.0} Mbit/s)", rate / 1e6),
            None => handshake.to_string(),
        };
        [
            Series { name: name.clone(), points: points.collect(), marks: marks.into_iter().collect() },
            Series { name, points: level.collect(), marks: Vec::new() },
        ]
    };
    let series = crossovers.iter().flat_map(|(handshake, found)| of(handshake, found)).collect();
    let panel = Panel {
        across: "rate of every link, Mbit/s".into(),
        up: "ms longer than the first handshake: falling by messages, level by computation".into(),
        axes: (Axis::Logarithmic, Axis::Logarithmic),
        series,
    };
    let title = format!("{}: what larger messages and larger computation cost", plan.topology.name);
    let caption = format!(
        "SIMULATED in virtual time, without loss. A ring marks the rate below which a handshake's messages cost more than its computation. Computation: {costs}."
    );
    Panel::draw(&[panel], Figure::titled("crossover", &title, caption))
}
