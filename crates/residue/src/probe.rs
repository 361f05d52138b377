//! What a case works with: inputs that differ from run to run, and a look at what each step leaves behind.

use crate::low::{heap, stack};
use rand_core::{Rng, SeedableRng, TryCryptoRng, TryRng};
use rand_xoshiro::SplitMix64;
use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;

/// One run of a case.
///
/// What it records lies where the system's allocator puts it, in each run elsewhere. No method that records is inlined, so that no such address
/// stays in a register that a step saves on its stack.
pub(crate) struct Probe {
    /// Which of two sets of secrets this run has.
    secrets: u64,
    /// What the stack holds at the end of a step.
    pub(crate) window: Box<[u8; stack::WINDOW]>,
    /// Blocks that had been freed when the step began.
    freed: usize,
    pub(crate) run: Run,
}

/// What a run has left behind.
#[derive(Default)]
pub(crate) struct Run {
    pub(crate) steps: Vec<Step>,
    /// What may be anywhere: it is sent.
    pub(crate) public: Vec<Vec<u8>>,
    /// The secrets by name, so that a finding can be named.
    pub(crate) secret: Vec<(&'static str, Vec<u8>)>,
}

/// What one step has left behind.
pub(crate) struct Step {
    pub(crate) name: &'static str,
    /// The stack below the case's frame: the last byte is just below it, the first is the deepest that is not paint.
    pub(crate) stack: Vec<u8>,
    /// The blocks that it freed: where they were, and what they held then.
    pub(crate) freed: Vec<(usize, Vec<u8>)>,
}

/// `step!(probe, "name", [a: A = …, b: B = …], work)` does `work` with these arguments and nothing else, and looks at what that leaves on the
/// stack and in freed memory. The compiler can't inline the work, so all of it happens below the case's frame.
macro_rules! step {
    ($probe:expr, $name:expr, [$($argument:ident: $type:ty = $value:expr),* $(,)?], $work:expr) => {{
        $(let $argument: $type = $value;)*
        let work = std::hint::black_box((|$($argument: $type),*| $work) as fn($($type),*) -> _);
        $probe.begin();
        $crate::low::stack::paint();
        let result = work($($argument),*);
        $crate::low::stack::copy_out($probe.window());
        $probe.end($name);
        result
    }};
}
pub(crate) use step;

impl Probe {
    /// A run with the first or the second set of secrets. All runs of a case have one window, at one address.
    pub(crate) fn new(secrets: u64, window: Box<[u8; stack::WINDOW]>) -> Self {
        Self { secrets, window, freed: 0, run: Run::default() }
    }

    /// A secret, another one in each set.
    pub(crate) fn secret<const N: usize>(&mut self, name: &'static str) -> [u8; N] {
        let bytes = mixed(name, 1 + self.secrets);
        self.know(name, &bytes);
        bytes
    }

    /// A secret scalar of Ristretto's group: the same below 2^252.
    pub(crate) fn scalar(&mut self, name: &'static str) -> [u8; 32] {
        let mut bytes: [u8; 32] = mixed(name, 1 + self.secrets);
        bytes[31] &= 0x0f;
        self.know(name, &bytes);
        bytes
    }

    /// One of two stored secrets, in each set another.
    #[inline(never)]
    pub(crate) fn either<const N: usize>(&mut self, name: &'static str, stored: [&[u8; N]; 2]) -> [u8; N] {
        // Neither's address depends on which it is.
        let other = 0_u8.wrapping_sub(u8::from(self.secrets != 0));
        let bytes = std::array::from_fn(|at| stored[0][at] & !other | stored[1][at] & other);
        self.know(name, &bytes);
        bytes
    }

    /// A secret that the case has computed; findings are named after it.
    #[inline(never)]
    pub(crate) fn know(&mut self, name: &'static str, bytes: &[u8]) {
        heap::aside(|| self.run.secret.push((name, bytes.to_vec())));
    }

    /// Says that bytes are sent, so that finding them is no finding.
    #[inline(never)]
    pub(crate) fn public(&mut self, bytes: &[u8]) {
        heap::aside(|| self.run.public.push(bytes.to_vec()));
    }

    /// A generator whose output is secret.
    pub(crate) fn generator(&self, name: &'static str) -> Generator {
        Generator { name, next: Rc::new(Cell::new(1000 * (1 + self.secrets))) }
    }

    /// A generator whose output is public, and the same whatever the secrets are.
    pub(crate) fn public_generator(&self, name: &'static str) -> Generator {
        Generator { name, next: Rc::default() }
    }

    #[inline(never)]
    pub(crate) fn begin(&mut self) {
        self.freed = heap::freed();
    }

    pub(crate) fn window(&mut self) -> &mut [u8; stack::WINDOW] {
        &mut self.window
    }

    #[inline(never)]
    pub(crate) fn end(&mut self, name: &'static str) {
        heap::aside(|| {
            let from = self.window.iter().position(|byte| *byte != stack::PAINT).unwrap_or(stack::WINDOW);
            let freed = (self.freed..heap::freed()).map(heap::block).collect();
            self.run.steps.push(Step { name, stack: self.window[from..].to_vec(), freed });
        });
    }
}

/// Bytes that depend on a name and a number, and on nothing else.
pub(crate) fn mixed<const N: usize>(name: &str, number: u64) -> [u8; N] {
    let seed = name.bytes().fold(number, |seed, byte| (seed ^ u64::from(byte)).wrapping_mul(0x100000001b3));
    let mut random = SplitMix64::seed_from_u64(seed);
    std::array::from_fn(|_| (random.next_u64() >> 56) as u8)
}

/// Gives other bytes at each call, the same in each run with the same secrets. Clones go on where the other stopped.
#[derive(Clone)]
pub(crate) struct Generator {
    name: &'static str,
    next: Rc<Cell<u64>>,
}

impl TryRng for Generator {
    type Error = Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Infallible> {
        unreachable!("the crates ask for bytes")
    }

    fn try_next_u64(&mut self) -> Result<u64, Infallible> {
        unreachable!("the crates ask for bytes")
    }

    fn try_fill_bytes(&mut self, out: &mut [u8]) -> Result<(), Infallible> {
        for piece in out.chunks_mut(64) {
            self.next.set(self.next.get() + 1);
            let mut bytes: [u8; 64] = mixed(self.name, self.next.get());
            piece.copy_from_slice(&bytes[..piece.len()]);
            zeroize::Zeroize::zeroize(&mut bytes);
        }
        Ok(())
    }
}

impl TryCryptoRng for Generator {}
