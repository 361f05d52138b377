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
/// what following oneself brings. `lost` processes died; what they and rounds in which work failed would have shown counts as an advantage.
pub(crate) fn follows_itself(blocks: &[&Block], lost: usize, baseline: &str, control: &str) -> Option<f64> {
    let gains = blocks.iter().filter_map(|block| gain(block, baseline, control));
    let gains: Vec<f64> = gains.chain(std::iter::repeat_n(f64::INFINITY, lost)).collect();
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
        match (follows(baseline, control)?, follows(control, baseline)?) {
            (true, false) => behind.push(ratio.unwrap_or(f64::NEG_INFINITY)),
            (false, true) => before.push(ratio.unwrap_or(f64::INFINITY)),
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
        let found = |blocks: &[Block], lost| follows_itself(&blocks.iter().collect::<Vec<_>>(), lost, "ours", "ours#2");
        assert!((found(&blocks, 0).unwrap() + 0.98f64.ln()).abs() < 1e-9);
        let alike: Vec<Block> = (0..9).map(|seed| block(seed, 0)).collect();
        assert_eq!(found(&alike, 0), None);
        // Too few processes show nothing.
        assert_eq!(found(&blocks[..5], 0), None);
    }

    /// Nobody hides the advantage by leaving out the rounds or processes that show it.
    #[test]
    fn what_died_or_failed_counts_as_an_advantage() {
        let found = |blocks: &[Block], lost| follows_itself(&blocks.iter().collect::<Vec<_>>(), lost, "ours", "ours#2");
        let mut blocks: Vec<Block> = (0..9).map(|seed| block(seed, 2)).collect();
        let whole = found(&blocks, 0);
        assert_eq!(found(&blocks[2..], 2), whole, "two were lost that showed it");
        for block in &mut blocks {
            let ratios: Vec<f64> = block.log_ratios("ours", "ours#2").unwrap().flatten().collect();
            let faster = ratios.iter().enumerate().filter(|(_, ratio)| **ratio < 0.0);
            block.failed.insert("ours#2".into(), faster.map(|(round, _)| round).collect());
        }
        assert!(found(&blocks, 0) >= whole, "the rounds failed that showed it");
    }
}
