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
use candor_links::survey::Summary;
use candor_network::HandshakeType;
use std::path::Path;

/// Points of a line of a distribution.
const MOST_POINTS: usize = 500;

/// Draws what was asked for.
pub(super) fn write(
    arguments: &CircuitArguments,
    plan: &Plan,
    costs: &str,
    rows: &[(HandshakeType, Summary)],
    crossovers: &[(HandshakeType, Crossover)],
    talk: Talk,
) -> Result<(), Failure> {
    let Some(save) = saver(arguments, plan, talk) else { return Ok(()) };
    let built = |summary: &Summary| summary.built.all().iter().map(|built| built.as_secs_f64() * 1e3).collect();
    let lines = rows.iter().map(|(handshake, summary)| (handshake.to_string(), built(summary))).collect();
    if let Some(figure) = distributions(plan, "SIMULATED in virtual time", costs, vec![(String::new(), lines)]) {
        save(&figure)?;
    }
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

/// Draws what was simulated beside what was measured: for each handshake the times to circuit of both, in ms.
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "nothing is measured elsewhere"))]
pub(super) fn write_both(
    arguments: &CircuitArguments,
    plan: &Plan,
    costs: &str,
    rows: Vec<(HandshakeType, [Vec<f64>; 2])>,
    talk: Talk,
) -> Result<(), Failure> {
    let Some(save) = saver(arguments, plan, talk) else { return Ok(()) };
    let panels = rows.into_iter().map(|(handshake, [simulated, measured])| {
        (format!("{handshake}: "), vec![("simulated".to_owned(), simulated), ("measured".to_owned(), measured)])
    });
    let evidence = "SIMULATED in virtual time and MEASURED over TUN devices, as the lines say";
    distributions(plan, evidence, costs, panels.collect()).map_or(Ok(()), |figure| save(&figure))
}

/// Lines of a panel: names, and times in ms.
type Lines = Vec<(String, Vec<f64>)>;

/// Which share of circuits was built in how long: what losses add makes steps in these lines.
fn distributions(plan: &Plan, evidence: &str, costs: &str, panels: Vec<(String, Lines)>) -> Option<Figure> {
    let line = |(name, mut times): (String, Vec<f64>)| {
        times.sort_unstable_by(f64::total_cmp);
        let (count, apart) = (times.len() as f64, times.len().div_ceil(MOST_POINTS).max(1));
        // The last is always there: it is where the line ends.
        let shown = |at: &usize| at.is_multiple_of(apart) || at + 1 == times.len();
        let points = (0..times.len()).filter(shown).map(|at| Some((times[at], 100.0 * (at + 1) as f64 / count)));
        Series { name, points: points.collect(), marks: Vec::new() }
    };
    let panels: Vec<Panel> = panels
        .into_iter()
        .map(|(what, lines)| Panel {
            across: format!("{what}time to circuit, ms"),
            up: "percent of the circuits that were built".into(),
            axes: (Axis::Logarithmic, Axis::Linear),
            series: lines.into_iter().filter(|(_, times)| !times.is_empty()).map(line).collect(),
        })
        .collect();
    let title = format!("{}: how long circuits take", plan.topology.name);
    let caption = format!(
        "{evidence}. Each line says which share of the circuits was built in at most so long; where losses cost a retransmission it is flat, and rises again behind it. Simulated computation: {costs}."
    );
    Panel::draw(&panels, Figure::titled("circuit-distributions", &title, caption))
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

#[cfg(test)]
mod tests {
    use super::*;
    use candor_lab::figure::{pdf, png};
    use candor_links::topology::Topology;

    fn plan() -> Plan {
        Plan::new(Topology::built_in("leo-bent-pipe").unwrap().unwrap(), HandshakeType::Ntor)
    }

    fn is_drawn(figure: &Figure) {
        assert!(png(figure).unwrap().starts_with(b"\x89PNG") && pdf(figure).unwrap().starts_with(b"%PDF"));
    }

    #[test]
    fn the_figure_of_bandwidths_names_the_rate_at_which_the_lines_cross() {
        let found = Crossover { computation: 1e-3, messages: vec![(1_000_000, 1e-2), (100_000_000, 1e-4)] };
        let rate = found.crossing().rate().unwrap();
        assert!((rate - 65.8e6).abs() < 0.2e6, "a line between logarithms: {rate}");
        let figure = bandwidth(&plan(), "none", &[(HandshakeType::Hybrid768, found)]).unwrap();
        let svg = figure.svg();
        assert!(svg.contains(&format!("hybrid-768 (ring: {:.0} Mbit/s)", rate / 1e6)), "{svg}");
        assert!(
            svg.contains("SIMULATED in virtual time, without loss.") && svg.matches("<circle").count() > 0,
            "{svg}"
        );
        is_drawn(&figure);
        assert!(bandwidth(&plan(), "none", &[]).is_none());
    }

    #[test]
    fn a_distribution_of_two_modes_is_flat_between_them_and_keeps_its_ends() {
        let times = [vec![100.0; 3000], vec![300.0; 1000]].concat();
        let figure =
            distributions(&plan(), "SIMULATED", "none", vec![("".into(), vec![("ntor".into(), times)])]).unwrap();
        let svg = figure.svg();
        assert!(svg.contains("leo-bent-pipe: how long circuits take") && svg.contains("ntor"), "{svg}");
        assert!(svg.len() < 60_000, "{} bytes: points are left out", svg.len());
        is_drawn(&figure);
        assert!(distributions(&plan(), "", "", vec![(String::new(), vec![("ntor".into(), Vec::new())])]).is_none());
    }
}
