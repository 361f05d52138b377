//! Lints about figures of other tools. They need nothing but the figures, so that they fire on every file in which such figures are sealed.

use super::lints::ALIKE;
use crate::import::STEP;
use crate::lint::Lint;
use crate::runfile::{Run, SubjectRecord};
use crate::verdict::LEAST_FLOOR;
use crate::{Evidence, Quantity};
use std::collections::BTreeMap;

/// Steps of a clock that are looked for where all times of a tool are whole numbers of them: their name and nanoseconds.
const STEPS: [(&str, f64); 3] = [("second", 1e9), ("millisecond", 1e6), ("microsecond", 1e3)];

/// The lints that fire on the imported figures of a run.
pub(super) fn lints(run: &Run) -> Vec<Lint> {
    let imported: Vec<&SubjectRecord> =
        run.subjects.iter().filter(|subject| subject.provenance.evidence == Evidence::Imported).collect();
    let mut lints = Vec::new();
    let mut add = |name, task: &str, subject: &str, text| {
        lints.push(Lint { name, task: task.to_owned(), subject: subject.to_owned(), text });
    };
    for subject in &imported {
        let step = subject.quantities.iter().find(|quantity| quantity.name == STEP && quantity.unit == "%");
        if let Some(step) = step.filter(|step| step.value > LEAST_FLOOR * 100.0) {
            let text = format!("one step of its clock, or of its digits, is {} of the figure", step.amount());
            add("clock-too-coarse", &subject.task, &subject.subject, text);
        }
    }
    let mut tools: BTreeMap<&str, Vec<(&str, &Quantity)>> = BTreeMap::new();
    for subject in &imported {
        let stands_for_it = subject.quantities.first().filter(|first| matches!(first.unit.as_str(), "ns" | "cycles"));
        if let Some(quantity) = stands_for_it {
            tools.entry(&subject.subject).or_default().push((&subject.task, quantity));
        }
    }
    for (subject, figures) in tools {
        let times: Vec<f64> =
            figures.iter().filter(|(_, figure)| figure.unit == "ns").map(|(_, figure)| figure.value).collect();
        let shortest = times.iter().copied().fold(f64::INFINITY, f64::min);
        let step = STEPS.iter().find(|(_, ns)| times.iter().all(|time| time % ns == 0.0));
        if let Some((name, ns)) = step.filter(|(_, ns)| times.len() >= ALIKE && ns / shortest > LEAST_FLOOR) {
            let share = ns / shortest * 100.0;
            let text = format!("all {} times are whole {name}s, and one is {share:.1} % of the shortest", times.len());
            add("clock-too-coarse", "", subject, text);
        }
        let mut alike: BTreeMap<(u64, &str), Vec<&str>> = BTreeMap::new();
        for (task, figure) in figures {
            alike.entry((figure.value.to_bits(), &figure.unit)).or_default().push(task);
        }
        for ((bits, unit), tasks) in alike.into_iter().filter(|(_, tasks)| tasks.len() >= ALIKE) {
            let amount = Quantity::new("", f64::from_bits(bits), unit).amount();
            add("identical-values", "", subject, format!("exactly {amount} for each of {}", tasks.join(", ")));
        }
    }
    lints
}
