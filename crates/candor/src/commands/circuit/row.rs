//! What rows of circuits have in common, simulated or measured.

use super::ms;
use candor_links::survey::Summary;

/// Heads of [`times`].
pub(super) const TIMES: [&str; 7] = ["circuit", "p95", "p99", "link", "hop 1", "hop 2", "hop 3"];
/// Heads of [`page`].
pub(super) const PAGE: [&str; 3] = ["1st byte", "Mbit/s", "built"];

/// The time to circuit, and the medians of its parts.
pub(super) fn times(summary: &Summary) -> [String; 7] {
    let [one, two, three] = &summary.hops;
    [
        summary.built.median(),
        summary.built.percentile(95),
        summary.built.percentile(99),
        summary.link.median(),
        one.median(),
        two.median(),
        three.median(),
    ]
    .map(ms)
}

/// What came through the circuits, and how many of them there were.
pub(super) fn page(summary: &Summary) -> [String; 3] {
    [
        ms(summary.first_byte.median()),
        summary.goodput.map_or("-".to_owned(), |bits| format!("{:.2}", bits / 1e6)),
        format!("{}/{}", summary.built.count(), summary.circuits),
    ]
}
