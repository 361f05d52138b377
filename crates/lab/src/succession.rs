//! Whom a subject follows in a round. Code that has just run finds its caches and branches as it left them, and the only code that runs twice in a row
//! is the baseline's, which every table has twice. A peer never follows itself.

use crate::runfile::Block;
use crate::stats::{median, sign_interval};
use crate::verdict::LEVEL;

/// Rounds of either kind that a process needs.
const FEWEST: usize = 5;

/// How much less time, as a log-ratio, the baseline takes right behind its own second entry than behind another subject. `None` if the processes
/// don't show that it takes less.
///
/// Both are the same code. So half the difference between rounds in which the one follows the other and rounds in which it is the other way round is
/// what following oneself brings.
pub(crate) fn follows_itself(blocks: &[&Block], baseline: &str, control: &str) -> Option<f64> {
    let gains: Vec<f64> = blocks.iter().filter_map(|block| gain(block, baseline, control)).collect();
    let interval = sign_interval(&gains, LEVEL)?;
    median(&gains).filter(|_| interval.low > 0.0)
}

fn gain(block: &Block, baseline: &str, control: &str) -> Option<f64> {
    let ratios = block.log_ratios(baseline, control)?;
    let place = |subject: &str| block.ns.keys().position(|name| name == subject);
    let (baseline, control) = (place(baseline)?, place(control)?);
    let (mut behind, mut before) = (Vec::new(), Vec::new());
    let mut last = None;
    for (order, ratio) in block.orders.iter().zip(ratios) {
        let follows = |one: usize, other: usize| {
            let at = order.iter().position(|&subject| subject == one)?;
            let previous = if at == 0 { last } else { Some(order[at - 1]) };
            Some(previous == Some(other))
        };
        match (ratio, follows(baseline, control)?, follows(control, baseline)?) {
            (Some(ratio), true, false) => behind.push(ratio),
            (Some(ratio), false, true) => before.push(ratio),
            _ => {}
        }
        last = order.last().copied();
    }
    if behind.len().min(before.len()) < FEWEST {
        return None;
    }
    Some((median(&before)? - median(&behind)?) / 2.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Orders;
    use std::collections::BTreeMap;

    /// A process in which what runs right behind the same code takes `gain` per cent less.
    fn block(seed: u64, gain: u64) -> Block {
        let names = ["ours", "ours#2", "peer"];
        let mut ns: BTreeMap<String, Vec<u64>> = names.iter().map(|name| ((*name).to_owned(), Vec::new())).collect();
        let orders: Vec<Vec<usize>> = Orders::new(names.len(), seed).take(60).collect();
        let mut last = usize::MAX;
        for order in &orders {
            for &subject in order {
                let same = last < 2 && subject < 2;
                ns.get_mut(names[subject]).unwrap().push(1_000_000 - if same { gain * 10_000 } else { 0 });
                last = subject;
            }
        }
        Block { ns, orders, ..Block::default() }
    }

    #[test]
    fn what_following_itself_brings_is_found_and_nothing_where_it_brings_nothing() {
        let blocks: Vec<Block> = (0..9).map(|seed| block(seed, 2)).collect();
        let found = follows_itself(&blocks.iter().collect::<Vec<_>>(), "ours", "ours#2").unwrap();
        assert!((found + 0.98f64.ln()).abs() < 1e-9, "{found}");
        let alike: Vec<Block> = (0..9).map(|seed| block(seed, 0)).collect();
        assert_eq!(follows_itself(&alike.iter().collect::<Vec<_>>(), "ours", "ours#2"), None);
        // Too few processes show nothing.
        assert_eq!(follows_itself(&blocks.iter().take(5).collect::<Vec<_>>(), "ours", "ours#2"), None);
    }
}
