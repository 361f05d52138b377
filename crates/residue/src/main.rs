//! What operations on secrets leave on the stack and in freed memory, in the build that users get.
//!
//! `cargo xtask residue` runs it. Each case runs with two sets of secrets and everything else equal; the stack below each operation is painted
//! before it and read after it, and an allocator keeps what is freed. `judge.rs` says how a secret is recognised.
//!
//! ```text
//! candor-residue [WORD]    the cases whose name contains WORD; a line each, `ok`, `FAILED` or `skipped`
//! candor-residue left      what may be left behind: `case, step, why`, separated by tabs
//! ```

mod case;
mod cases;
mod judge;
mod low;
mod probe;

use candor_cpu::Cpu;
use case::Case;
use judge::Left;
use probe::{Probe, Run};
use std::process::ExitCode;

/// The stack of the thread that runs the cases: more than what is looked at.
const STACK: usize = 8 * low::stack::WINDOW;

fn main() -> ExitCode {
    let word = std::env::args().nth(1);
    if word.as_deref() == Some("left") {
        cases::all().iter().filter(|case| !case.is_control()).for_each(|case| {
            case.leaves.iter().for_each(|leaves| println!("{}\t{}\t{}", case.name, leaves.step, leaves.why));
        });
        return ExitCode::SUCCESS;
    }
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || {
        let wanted = |case: &&Case| case.is_control() || word.as_ref().is_none_or(|word| case.name.contains(word));
        cases::all().iter().filter(wanted).map(report).fold(true, |all, well| all & well)
    });
    match thread.map(std::thread::JoinHandle::join) {
        Ok(Ok(true)) => ExitCode::SUCCESS,
        _ => ExitCode::FAILURE,
    }
}

/// Runs a case and prints what came of it.
fn report(case: &Case) -> bool {
    let Ok(cpu) = Cpu::named(case.tier) else {
        println!("{}\tskipped\tthis CPU lacks tier {}", case.name, case.tier);
        return true;
    };
    let mut window = Some(vec![0; low::stack::WINDOW].into_boxed_slice().try_into().expect("as long as the window"));
    let mut run = |secrets| run(case, cpu, secrets, &mut window);
    // The first run is thrown away: it fills tables that are made once. No loop, whose count would stay in a register that a step puts on the stack.
    run(0);
    // A library's `malloc` has a state of its own, whose addresses and paths may alternate from run to run or return after four: in this order no
    // such rhythm looks like a secret.
    let (a, b, c, d) = (run(0), run(1), run(1), run(0));
    let (e, f, g, h) = (run(1), run(0), run(0), run(1));
    let verdict = judge::judge([&[a, d, f, g], &[b, c, e, h]]);
    match case.judge(&verdict) {
        Ok(what) => println!("{}\tok\t{what}", case.name),
        Err(why) => println!("{}\tFAILED\t{why}", case.name),
    }
    if std::env::var_os("CANDOR_RESIDUE_PLACES").is_some() {
        verdict.iter().flatten().for_each(places);
    }
    case.judge(&verdict).is_ok()
}

fn places(left: &Left) {
    println!(
        "    {}: {} bytes on the stack, {} in freed blocks, {} unstable; {} deep",
        left.step, left.stack, left.heap, left.unstable, left.depth
    );
    left.places.iter().for_each(|place| println!("        {place}"));
}

#[inline(never)]
fn run(case: &Case, cpu: Cpu, secrets: u64, window: &mut Option<Box<[u8; low::stack::WINDOW]>>) -> Run {
    let mut probe = Probe::new(secrets, window.take().expect("each run gives it back"));
    low::heap::begin(low::stack::PAINT);
    low::stack::from_empty_registers(|| (case.run)(&mut probe, cpu));
    low::heap::end();
    *window = Some(probe.window);
    probe.run
}
