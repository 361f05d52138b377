//! `consensus-8000`: what a client does with a consensus as large as Tor's.
//!
//! Nine authorities have signed it, of which five would do; a signature is Ed25519 and ML-DSA-65 together, on the consensus and on the
//! certificate of the key that signed.

use crate::ours::{AUTO, on_aws_lc};
use candor_lab::{Entry, Mismatch, Provenance, Quantity, Refusal, Subject, Task, Witness};
use candor_onion::Error;
use candor_onion::directory::{Authorities, Certificate, Consensus, Host, Relay, Rule, SecretKey, Times, View, merge};
use candor_peers::seed::Stream;
use std::fs;
use std::hint::black_box;
use std::thread;

const RELAYS: usize = 8000;
const AUTHORITIES: u8 = 9;
const THRESHOLD: usize = 5;

/// The task.
pub(super) fn tasks() -> Vec<Task> {
    let what = format!(
        "a consensus of {RELAYS} relays with {AUTHORITIES} signatures (Ed25519 and ML-DSA-65), {THRESHOLD} of which are needed: bytes in, \
         verified and parsed into relays"
    );
    vec![Task::new("consensus-8000", what).entry(Entry::new(AUTO, || Ok(Verifies::default())))]
}

/// Verifies consensuses.
#[derive(Default)]
struct Verifies {
    ready: Option<Signed>,
    /// What the process grew by at most while it verified one.
    peak: Option<usize>,
}

/// A document, and who must have signed it.
struct Signed {
    document: Vec<u8>,
    trust: Authorities,
}

impl Signed {
    /// Deterministic: the same seed makes the same document.
    fn of(seed: u64) -> Result<Self, Error> {
        let times = Times { valid_after: 1_800_000_000, fresh_until: 1_800_003_600, valid_until: 1_800_010_800 };
        let mut keys = Stream::new(seed, "authorities of a consensus");
        let mut key = || {
            let mut halves = [[0; 32]; 2];
            halves.iter_mut().for_each(|half| keys.fill(half));
            SecretKey::from_seeds(&halves[0], &halves[1])
        };
        let mut signers = Vec::new();
        for _ in 0..AUTHORITIES {
            let (identity, signing) = (key()?, key()?);
            let certificate = Certificate::issue(&identity, signing.public(), 0, u64::MAX)?;
            signers.push((identity.public().fingerprint(), signing, certificate));
        }
        let known: Vec<_> = signers.iter().map(|(fingerprint, ..)| *fingerprint).collect();
        let mut bytes = Stream::new(seed, "relays of a consensus");
        let mut relays: Vec<_> = (0..RELAYS).map(|number| (relay(number, &mut bytes), Vec::new())).collect();
        relays.sort_by_key(|(relay, _)| relay.identity);
        let merged = merge(times, &[View { authority: known[0], times, relays }], 1)?;
        let signatures = signers
            .iter()
            .map(|(_, signing, certificate)| merged.sign(signing, certificate))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(Self { document: merged.signed(&signatures), trust: Authorities::new(known, THRESHOLD)? })
    }

    fn verify(&self) -> Result<Consensus, Error> {
        Consensus::verify(&self.document, &self.trust)
    }
}

/// A relay as Tor's are on average: two addresses, keys for every KEM, and an exit policy at some.
fn relay(number: usize, bytes: &mut Stream) -> Relay {
    let mut key = || {
        let mut key = [0; 32];
        bytes.fill(&mut key);
        key
    };
    Relay {
        identity: key(),
        fingerprint: key(),
        x25519: key(),
        kems: [(); 3].map(|()| Some(key())),
        published: 1_800_000_000,
        keys_until: 1_803_000_000,
        bandwidth: 10_000 + number as u32,
        handshakes: vec![2, 3, 0xff65, 0xff68, 0xff6a, 0xff75, 0xff78, 0xff7a],
        addresses: vec![
            ([10, 1, (number >> 8) as u8, number as u8], 9001).into(),
            ([0x2001, 0xdb8, 0, 0, 0, 0, 0, number as u16], 9001).into(),
        ],
        exit: vec![Rule { host: Host::Public, low: 80, high: 443 }; number % 5],
        name: format!("relay number {number}"),
    }
}

/// Runs `work`, and says by how many bytes the process's memory grew meanwhile at most; `None` where the system doesn't tell.
fn growth<T>(work: impl FnOnce() -> T) -> (T, Option<usize>) {
    // From here on the peak is what there is now.
    let reset = fs::write("/proc/self/clear_refs", "5").is_ok();
    let before = peak();
    let done = work();
    let grown = before.zip(peak()).filter(|_| reset).map(|(before, after)| after.saturating_sub(before));
    (done, grown)
}

/// The most memory that this process has had, in bytes.
fn peak() -> Option<usize> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(1024 * line.trim().trim_end_matches(" kB").parse::<usize>().ok()?)
}

fn witness(consensus: &Consensus) -> Witness {
    let last = consensus.relays.last().map(|listed| listed.relay.identity).unwrap_or_default();
    let counts = [consensus.relays.len(), consensus.signers.len()].map(|count| count as u64);
    Witness::default().with("relays and signatures", counts.map(u64::to_be_bytes).concat()).with("last relay", last)
}

impl Subject for Verifies {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let failed = |error: Error| Refusal::failed(error.to_string());
        // On a thread of its own, so that the memory that making it frees is not used again while verifying.
        let making = thread::spawn(move || Signed::of(seed)).join();
        let signed = making.map_err(|_| Refusal::failed("no consensus could be made"))?.map_err(failed)?;
        let (consensus, peak) = growth(|| signed.verify());
        let consensus = consensus.map_err(failed)?;
        if (consensus.relays.len(), consensus.signers.len()) != (RELAYS, usize::from(AUTHORITIES)) {
            return Err(Refusal::failed("relays or signatures are missing"));
        }
        self.peak = peak;
        self.ready = Some(signed);
        Ok(witness(&consensus))
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        let signed = self.ready.as_ref().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?;
        let consensus = signed.verify().map_err(|error| Mismatch::new(error.to_string()))?;
        witness(&consensus).same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        let signed = self.ready.as_ref().expect("prepare comes before run");
        for _ in 0..iterations {
            black_box(black_box(signed).verify().expect("it was verified when it was prepared"));
        }
    }

    fn quantities(&self) -> Vec<Quantity> {
        let document = self.ready.as_ref().map(|signed| Quantity::bytes("document", &signed.document));
        // What the client holds besides: the document that it has fetched.
        let peak = self.peak.zip(self.ready.as_ref()).map(|(peak, signed)| {
            Quantity::new("peak memory with the document", (peak + signed.document.len()) as f64 / 1e6, "MB")
        });
        document.into_iter().chain(peak).collect()
    }

    fn provenance(&self) -> Provenance {
        on_aws_lc(
            "candor_onion::directory::Consensus::verify",
            "signatures of nine authorities and their certificates verified, SHA-512 of the body, all relays parsed and, at the end, freed",
        )
    }
}
