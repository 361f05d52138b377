//! Products of two binary polynomials, through each library's general entry point or, inlined, by its routine for that very length.

use crate::seed::Stream;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Witness};
use std::hint::black_box;

/// Factors and products of a ring take at most so many bytes, so that they stay in the first-level cache.
const RING_BYTES: usize = 16 << 10;

/// How a task uses the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// Independent products, going round a ring of factors.
    Throughput,
    /// Each product's lower half is a factor of the next.
    Latency,
    /// As throughput, with the routine of that length inlined into the loop.
    Inlined,
}

impl Work {
    /// What the timed call does, in a sentence without its stop.
    pub fn timed(self, words: usize) -> String {
        let ring = ring(words);
        match self {
            Self::Throughput => format!(
                "multiplies two polynomials of {words} words that are in memory, by the library's general entry point; {ring} \
                 pairs of factors in turn"
            ),
            Self::Latency => format!(
                "multiplies two polynomials of {words} words by the library's general entry point; the lower half of each \
                 product is a factor of the next"
            ),
            Self::Inlined => format!(
                "multiplies two polynomials of {words} words by the library's routine for this length, inlined into the loop \
                 over {ring} pairs of factors"
            ),
        }
    }
}

/// Pairs of factors that a task goes round.
fn ring(words: usize) -> usize {
    (RING_BYTES / (32 * words)).clamp(2, 64)
}

/// Products by one library.
pub trait Product: 'static {
    /// `out = a · b`; the factors are equally long, and `out` is as long as both.
    fn mul(&mut self, out: &mut [u64], a: &[u64], b: &[u64]);

    /// Where the library comes from, how it was built, and by which plan it multiplies `words` words.
    fn provenance(&self, words: usize, timed: &str) -> Provenance;

    /// Its plan for `words` words and what that costs, where the library tells.
    fn explanation(&self, words: usize) -> Option<String> {
        let _ = words;
        None
    }
}

/// Loops over products of one length by one library.
pub trait Loop: 'static {
    /// `count` products of factors of `words` words, going round the pairs that stand one after the other in `a` and `b`.
    fn mul(&mut self, out: &mut [u64], a: &[u64], b: &[u64], words: usize, count: u64);

    /// As [`Product::provenance`].
    fn provenance(&self, words: usize, timed: &str) -> Provenance;

    /// As [`Product::explanation`].
    fn explanation(&self, words: usize) -> Option<String> {
        let _ = words;
        None
    }
}

/// The entry of a library's general entry point, for throughput or latency.
pub fn entry<P: Product>(
    subject: impl Into<String>,
    words: usize,
    work: Work,
    make: impl Fn() -> Result<P, Refusal> + Send + Sync + 'static,
) -> Entry {
    match work {
        Work::Latency => Entry::new(subject, move || Ok(Chain::new(make()?, words))),
        _ => Entry::new(subject, move || Ok(Ring::new(General(make()?), words, work))),
    }
}

/// The entry of a library's inlined routine.
pub fn inlined<L: Loop>(
    subject: impl Into<String>,
    words: usize,
    make: impl Fn() -> Result<L, Refusal> + Send + Sync + 'static,
) -> Entry {
    Entry::new(subject, move || Ok(Ring::new(make()?, words, Work::Inlined)))
}

/// A general entry point in a loop of ours.
struct General<P>(P);

impl<P: Product> Loop for General<P> {
    fn mul(&mut self, out: &mut [u64], a: &[u64], b: &[u64], words: usize, count: u64) {
        let mut left = count as usize;
        while left > 0 {
            let pairs = left.min(a.len() / words);
            left -= pairs;
            // Once for each time round: what is written is used, and what is read may have changed.
            let (a, b) = black_box((&a[..pairs * words], &b[..pairs * words]));
            let out = black_box(&mut out[..2 * pairs * words]);
            for ((out, a), b) in out.chunks_exact_mut(2 * words).zip(a.chunks_exact(words)).zip(b.chunks_exact(words)) {
                self.0.mul(out, a, b);
            }
        }
    }

    fn provenance(&self, words: usize, timed: &str) -> Provenance {
        self.0.provenance(words, timed)
    }

    fn explanation(&self, words: usize) -> Option<String> {
        self.0.explanation(words)
    }
}

fn fill(words: &mut [u64], seed: u64, purpose: &str) {
    let mut stream = Stream::new(seed, purpose);
    words.fill_with(|| stream.word());
}

fn witness(words: &[u64]) -> Witness {
    Witness::bytes(words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<_>>())
}

/// Products of independent factors, pair by pair in turn.
struct Ring<L> {
    by: L,
    words: usize,
    work: Work,
    a: Vec<u64>,
    b: Vec<u64>,
    out: Vec<u64>,
}

impl<L: Loop> Ring<L> {
    fn new(by: L, words: usize, work: Work) -> Self {
        let all = words * ring(words);
        Self { by, words, work, a: vec![0; all], b: vec![0; all], out: vec![0; 2 * all] }
    }
}

impl<L: Loop> Subject for Ring<L> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        fill(&mut self.a, seed, "gf2 first factors");
        fill(&mut self.b, seed, "gf2 second factors");
        self.run(ring(self.words) as u64);
        Ok(witness(&self.out))
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        witness(&self.out).same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        let (a, b) = black_box((&self.a[..], &self.b[..]));
        self.by.mul(black_box(&mut self.out), a, b, self.words, iterations);
    }

    fn provenance(&self) -> Provenance {
        self.by.provenance(self.words, &self.work.timed(self.words))
    }

    fn explanation(&self) -> Option<String> {
        self.by.explanation(self.words)
    }
}

/// Products that depend on each other.
struct Chain<P> {
    product: P,
    words: usize,
    factor: Vec<u64>,
    /// The last product, whose lower half is the next one's factor, and the one that is being written.
    ends: [Vec<u64>; 2],
    witness: Witness,
}

impl<P: Product> Chain<P> {
    fn new(product: P, words: usize) -> Self {
        Self {
            product,
            words,
            factor: vec![0; words],
            ends: [vec![0; 2 * words], vec![0; 2 * words]],
            witness: Witness::default(),
        }
    }
}

impl<P: Product> Subject for Chain<P> {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        fill(&mut self.factor, seed, "gf2 factor");
        self.factor[0] |= 1; // so that the chain does not end in zero
        fill(&mut self.ends[0], seed, "gf2 start");
        self.run(3);
        self.witness = witness(&self.ends[0]);
        Ok(self.witness.clone())
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        self.witness.same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        let factor = black_box(&self.factor[..]);
        for _ in 0..iterations {
            let [last, next] = &mut self.ends;
            self.product.mul(next, &last[..self.words], factor);
            self.ends.swap(0, 1);
        }
        black_box(&mut self.ends);
    }

    fn provenance(&self) -> Provenance {
        self.product.provenance(self.words, &Work::Latency.timed(self.words))
    }

    fn explanation(&self) -> Option<String> {
        self.product.explanation(self.words)
    }
}
