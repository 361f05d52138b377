//! Lets a subject work while it is interrupted.

use super::decode::Code;
use super::{FEWEST, MOST_SAMPLES, Samples, Used};
use crate::low::interrupts;
use crate::{Evidence, Subject};
use std::time::{Duration, Instant};

const _: () = assert!(MOST_SAMPLES == interrupts::ROOM);

/// For how long a subject works; a call that takes longer is done once.
const WATCHED_NS: f64 = 40e6;

/// How many samples are wanted.
const SAMPLES: f64 = 256.0;

/// Interruptions that are no nearer to each other than this leave almost all of the time to the work.
const LEAST_NS: f64 = 100e3;

/// How often it is watched anew, if there are too few.
const ATTEMPTS: usize = 3;

/// Watches a subject whose operation takes about so many nanoseconds.
pub(crate) fn watch(subject: &mut dyn Subject, ns: f64) -> Used {
    watched(subject, ns).map_or_else(Used::Skipped, Used::Sampled)
}

fn watched(subject: &mut dyn Subject, ns: f64) -> Result<Samples, String> {
    if subject.provenance().evidence == Evidence::Simulated {
        return Err("its time is virtual".into());
    }
    if subject.works_elsewhere() {
        return Err("works in a process of its own".into());
    }
    if subject.outcomes().is_some() {
        return Err("its work can fail, and a signal might make it".into());
    }
    let mut ns = ns.max(0.1);
    let mut places = Vec::new();
    // What was known of its time may have been far too long, where something else had the processor then.
    for _ in 0..ATTEMPTS {
        let iterations = (WATCHED_NS / ns).max(1.0) as u64;
        let every = Duration::from_nanos((iterations as f64 * ns / SAMPLES).max(LEAST_NS) as u64);
        subject.restock(iterations);
        let start = Instant::now();
        places = interrupts::during(every, || subject.run(iterations))?;
        if places.len() as u64 >= FEWEST {
            break;
        }
        ns = ns.min(start.elapsed().as_nanos() as f64 / iterations as f64).max(0.1);
    }
    if places.is_empty() {
        return Err("it was never interrupted".into());
    }
    let code = Code::of_this_process()?;
    let mut samples = Samples::default();
    places.into_iter().for_each(|place| samples.add(code.kinds_at(place)));
    Ok(samples)
}
