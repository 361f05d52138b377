//! A topology as a picture in text: what a circuit passes, node by node, and which parts play where.

use super::{NodeKind, Role, Step, Topology};
use crate::model::{Delay, Profile};
use std::fmt::Write;
use std::time::Duration;

impl Topology {
    /// The picture under a set of values: a line for each pair of neighbours in a circuit. Links that no circuit uses follow below it.
    pub fn picture(&self, set: Option<&str>) -> String {
        let mut picture = String::new();
        let mut used = vec![false; self.links.len()];
        for pair in Role::ALL.windows(2) {
            let way = self.way(pair[0], pair[1], set).unwrap_or_default();
            let _ = write!(picture, "{:>6} {}", pair[0], self.label(self.node_of(pair[0])));
            if way.is_empty() {
                let _ = write!(picture, " == same node ==");
            }
            for step in &way {
                used[step.link] = true;
                let _ = write!(picture, "{}", self.arrow(*step, set));
            }
            if way.is_empty() {
                let _ = write!(picture, " {}", self.label(self.node_of(pair[1])));
            }
            let _ = writeln!(picture, " {}", pair[1]);
        }
        for (index, link) in self.links.iter().enumerate().filter(|(index, _)| !used[*index]) {
            let step = Step { link: index, back: false };
            let _ = writeln!(picture, "{:>6} {}{}", "unused", self.label(link.between[0]), self.arrow(step, set));
        }
        picture
    }

    fn label(&self, node: usize) -> String {
        let node = &self.nodes[node];
        let name = &node.name;
        match node.kind {
            NodeKind::Ground => format!("[{name}]"),
            NodeKind::Uav => format!("<{name}>"),
            NodeKind::Satellite => format!("({name})"),
            NodeKind::Server => format!("{{{name}}}"),
        }
    }

    /// A link, and the node where it ends.
    fn arrow(&self, step: Step, set: Option<&str>) -> String {
        let link = &self.links[step.link];
        let far = link.between[usize::from(!step.back)];
        format!(" --{}--> {}", values(&link.profiles(set)[usize::from(step.back)]), self.label(far))
    }
}

/// Delay, rate and loss, such as `2.71ms 124M 5%`, or `2.71ms to 7.98ms` of a delay that varies.
fn values(profile: &Profile) -> String {
    let mut text = match &profile.delay {
        Delay::Constant(delay) => time(*delay),
        Delay::Trace(trace) => {
            let delays = || trace.samples.iter().filter_map(|(_, delay)| *delay);
            match delays().min().zip(delays().max()) {
                Some((least, most)) => format!("{} to {}", time(least), time(most)),
                None => "no link".to_owned(),
            }
        }
    };
    if let Some(rate) = profile.rate {
        let mbit = rate as f64 / 1e6;
        let _ = match mbit >= 100.0 {
            true => write!(text, " {mbit:.0}M"),
            false => write!(text, " {}M", (mbit * 10.0).round() / 10.0),
        };
    }
    let loss = profile.loss.mean() * 100.0;
    if loss > 0.0 {
        let _ = write!(text, " {}%", (loss * 100.0).round() / 100.0);
    }
    text
}

fn time(delay: Duration) -> String {
    let micros = delay.as_secs_f64() * 1e6;
    if micros < 100.0 {
        format!("{}us", (micros * 10.0).round() / 10.0)
    } else {
        format!("{}ms", (micros / 10.0).round() / 100.0)
    }
}
