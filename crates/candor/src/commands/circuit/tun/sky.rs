//! Circuits that are built in real time while satellites pass, beside virtual time at the same instants.

use crate::Failure;
use crate::commands::circuit::{ms, pass::clock};
use candor_lab::table::{Align, Table};
use candor_links::simulator::{Outcome, Plan, SimulatorError, World};
use std::time::Duration;

/// Most lines of the table.
const LINES: usize = 24;

/// A column of the table: circuits, each with its beginning.
pub(super) struct Series<'a> {
    pub(super) title: String,
    pub(super) begins: &'a [Duration],
    pub(super) times: Vec<Option<Duration>>,
}

/// What delays alone make a circuit take is told of when time begins, if it changes.
pub(super) fn at_the_beginning(plan: &Plan) -> &'static str {
    if plan.topology.flight().is_some() { " at the beginning" } else { "" }
}

/// `each` circuits in virtual time for each of these instants, which begin then and differ in the seed. Where there was no link, none was built.
pub(super) fn simulated(plan: &Plan, begins: &[Duration], each: u32) -> Result<Vec<Outcome>, Failure> {
    let instants = begins.iter().flat_map(|begin| std::iter::repeat_n(*begin, each as usize));
    let build = |(index, begin): (u64, Duration)| match World::new(&Plan {
        begin,
        seed: plan.seed.wrapping_add(index),
        ..plan.clone()
    }) {
        Ok(mut world) => Ok(world.build()),
        Err(SimulatorError::Topology(_)) => Ok(Outcome::default()),
        Err(error) => Err(error.into()),
    };
    (0..).zip(instants).map(build).collect()
}

/// Times to circuit over the flight, with the satellite that serves; nothing if nothing flies.
pub(super) fn text(plan: &Plan, series: &[Series<'_>], wide: Option<usize>) -> String {
    let (Some(flight), Some(first)) = (plan.topology.flight(), series.first()) else { return String::new() };
    let mut aligns = vec![Align::Right; 4 + series.len()];
    aligns[1] = Align::Left;
    let mut table = Table::new(&[&aligns[..], &[Align::Left]].concat());
    let titles = ["UTC", "satellite", "elevation", "delay"].map(str::to_owned).into_iter();
    table.row(titles.chain(series.iter().map(|series| series.title.clone())));
    let step = first.begins.len().div_ceil(LINES).max(1);
    for (index, begin) in first.begins.iter().enumerate().step_by(step) {
        let seen = match flight.link(*begin) {
            Some(link) => {
                let elevation = format!("{:.1}°", link.user.elevation);
                [flight.name(link.satellite).to_owned(), elevation, ms(Some(link.delay))]
            }
            None => ["no link", "-", "-"].map(str::to_owned),
        };
        let built = |series: &Series<'_>| match series.times.get(index) {
            Some(Some(built)) => ms(Some(*built)),
            Some(None) => "not built".to_owned(),
            None => "-".to_owned(),
        };
        table.row([clock(flight, *begin)].into_iter().chain(seen).chain(series.iter().map(built)));
    }
    let every = match step {
        1 => "each circuit".to_owned(),
        step => format!("one circuit of {step}"),
    };
    format!(
        "\nWhile satellites pass, the time to circuit of {every}, in ms, and the delay from user to gateway:\n{}",
        table.text(wide)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use candor_links::topology::Topology;
    use candor_network::HandshakeType;

    fn plan(name: &str) -> Plan {
        let topology = Topology::built_in(name).unwrap().unwrap();
        let topology = if topology.orbit.is_some() { topology.fly(None, None).unwrap() } else { topology };
        Plan::new(topology.lossless(), HandshakeType::Hybrid768)
    }

    #[test]
    fn circuits_in_virtual_time_begin_at_their_instants() {
        let plan = plan("leo-pass");
        let (opens, ends) = (plan.begin, plan.topology.flight().unwrap().ends());
        // Low, at its highest, and gone.
        let begins = [opens, opens + (ends - opens) / 2, ends + Duration::from_secs(60)];
        let outcomes = simulated(&plan, &begins, 2).unwrap_or_else(|_| panic!("a good plan"));
        let [low, _, high, _, gone, also_gone] = outcomes.iter().map(|outcome| outcome.built).collect::<Vec<_>>()[..]
        else {
            panic!("two for each")
        };
        let alone = |begin| Plan { begin, ..plan.clone() }.delays_alone().unwrap();
        assert!(low.unwrap() > high.unwrap() && gone.is_none() && also_gone.is_none());
        for (built, begin) in [(low, begins[0]), (high, begins[1])] {
            assert!(built.unwrap().abs_diff(alone(begin)) < alone(begin) / 10, "{built:?} {:?}", alone(begin));
        }
    }

    #[test]
    fn the_table_says_which_satellite_served_and_is_short() {
        let plan = plan("leo-pass");
        let begins: Vec<_> = (0..100).map(|second| plan.begin + Duration::from_secs(second)).collect();
        let times = begins.iter().map(|begin| Some(*begin).filter(|begin| *begin > plan.begin)).collect();
        let series = [Series { title: "hybrid-768".to_owned(), begins: &begins, times }];
        let text = text(&plan, &series, None);
        assert!(text.contains("one circuit of 5") && text.contains("57795") && text.contains("not built"), "{text}");
        assert!(text.lines().count() <= 3 + LINES, "{text}");
        assert_eq!(super::text(&self::plan("leo-bent-pipe"), &series, None), "");
    }
}
