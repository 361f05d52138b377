//! `gf2/mul/<words>w`: products of two binary polynomials of as many 64-bit words, through each library's general entry point;
//! `…/latency`, where each product is a factor of the next; `…/inlined`, where each library's routine for that very length is
//! compiled into the loop.

use crate::ours;
use candor_lab::Task;
use candor_peers::contract::gf2::Work;

/// Words of a factor.
const SIZES: [usize; 23] = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 16, 20, 24, 32, 48, 64, 96, 128, 256, 277, 561, 901];
/// Up to here a product takes less than a microsecond everywhere but on portable arms, and its latency is of interest.
const LATENCY_UP_TO: usize = 64;
/// Lengths that are also measured inlined.
const INLINED: [usize; 4] = [3, 4, 8, 9];

/// All tasks of binary polynomials.
pub(super) fn tasks() -> Vec<Task> {
    let task = |name: String, words, work: Work| {
        let mut task = Task::new(name, format!("GF(2)[x]: {}", work.timed(words)));
        task.entries.extend(ours::gf2::products(words, work));
        task.entries.extend(candor_peers::gf2(words, work));
        task
    };
    let throughput = SIZES.map(|words| task(format!("gf2/mul/{words}w"), words, Work::Throughput));
    let short = SIZES.iter().filter(|words| **words <= LATENCY_UP_TO);
    let latency = short.map(|&words| task(format!("gf2/mul/{words}w/latency"), words, Work::Latency));
    let inlined = INLINED.map(|words| task(format!("gf2/mul/{words}w/inlined"), words, Work::Inlined));
    throughput.into_iter().chain(latency).chain(inlined).collect()
}
