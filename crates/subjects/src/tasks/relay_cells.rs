//! `relay/cells/{cgo,tor1}`: what a relay's cryptography does to a cell that it passes on, and nothing else.
//!
//! A cell goes outwards through a middle relay's layer: the layer is taken off, and the cell is found to be for somebody behind it.
//! No socket, no queue, no allocation.

use crate::ours::{AUTO, distinct_arms, ours};
use candor_cpu::Cpu;
use candor_lab::{Entry, Mismatch, Provenance, Refusal, Subject, Task, Witness};
use candor_onion::Error;
use candor_onion::cell::{Command, PAYLOAD};
use candor_onion::layer::{ClientLayer, Crypto, Onion, RelayLayer};
use candor_peers::seed::Stream;
use candor_primitives::polyval::Polyval;
use std::hint::black_box;

/// Where a layer leaves a cell's content alone, in both formats: behind CGO's tag and tor1's header.
const CONTENT: std::ops::Range<usize> = 32..PAYLOAD;

/// All tasks of relay cells.
pub(super) fn tasks() -> Vec<Task> {
    [Crypto::Cgo, Crypto::Tor1].map(task).into_iter().collect()
}

fn task(crypto: Crypto) -> Task {
    let what = format!(
        "a relay takes its {} layer off an outbound cell of 509 bytes that is for a hop behind it; no socket, no queue",
        crypto.name()
    );
    // A cell's payload.
    let mut task = Task::new(format!("relay/cells/{}", crypto.name()), what).bytes(PAYLOAD as u64);
    // AES has the same arms as POLYVAL.
    for (arm, cpu) in distinct_arms(|cpu| Polyval::<1>::with_cpu(cpu, &[1; 16]).arm()) {
        // Without kernels of ours the kept crates run, on the arm that they choose.
        let name = if arm == "library" { AUTO.to_owned() } else { format!("candor@{arm}") };
        task.entries.push(Entry::new(name, move || {
            Ok(Forwards { crypto, cpu, arm, layer: None, cell: Box::new([0; PAYLOAD]), content: Vec::new() })
        }));
    }
    task
}

/// A middle relay.
struct Forwards {
    crypto: Crypto,
    cpu: Cpu,
    arm: &'static str,
    layer: Option<RelayLayer>,
    cell: Box<[u8; PAYLOAD]>,
    /// What a second hop read.
    content: Vec<u8>,
}

/// Both ends of a layer, with keys of the seed's.
fn pair(cpu: Cpu, crypto: Crypto, mut keys: Stream) -> Result<(ClientLayer, RelayLayer), Error> {
    let mut material = vec![0; crypto.key_length()];
    keys.fill(&mut material);
    Ok((ClientLayer::with_cpu(cpu, crypto, &material)?, RelayLayer::with_cpu(cpu, crypto, &material)?))
}

impl Forwards {
    /// Wraps the seed's content for the second of two hops, lets the first pass it on, and gives what the second reads.
    fn pass_on(&self, seed: u64) -> Result<(RelayLayer, Vec<u8>), String> {
        let failed = |error: Error| error.to_string();
        let hop = |purpose| pair(self.cpu, self.crypto, Stream::new(seed, purpose)).map_err(failed);
        let ((first_client, mut first), (second_client, mut second)) = (hop("first hop")?, hop("second hop")?);
        let mut onion = Onion::default();
        onion.push(first_client);
        onion.push(second_client);
        let mut cell = [0; PAYLOAD];
        Stream::new(seed, "relay cell").fill(&mut cell[CONTENT]);
        onion.wrap(1, Command::RELAY, &mut cell).ok_or("there is no second hop")?;
        if first.outbound(Command::RELAY, &mut cell).is_some() {
            return Err("the first hop recognises a cell that is meant for the second".to_owned());
        }
        second.outbound(Command::RELAY, &mut cell).ok_or("the second hop does not recognise its cell")?;
        Ok((first, cell[CONTENT].to_vec()))
    }
}

impl Subject for Forwards {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let (layer, content) = self.pass_on(seed).map_err(Refusal::failed)?;
        self.layer = Some(layer);
        Stream::new(seed, "relay cells").fill(self.cell.as_mut_slice());
        let mut expected = vec![0; CONTENT.len()];
        Stream::new(seed, "relay cell").fill(&mut expected);
        match content == expected {
            true => {
                self.content.clone_from(&content);
                Ok(Witness::default().with("content", content))
            }
            false => Err(Refusal::failed("the second hop does not read what was sent")),
        }
    }

    /// The content is the seed's, so it can be told whether the other one passed it on.
    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        Witness::default().with("content", &self.content).same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        let layer = self.layer.as_mut().expect("prepare comes before run");
        for _ in 0..iterations {
            // What comes out goes in again: random either way, and never this relay's own.
            black_box(layer.outbound(Command::RELAY, black_box(&mut self.cell)));
        }
    }

    fn provenance(&self) -> Provenance {
        let timed = format!(
            "RelayLayer::outbound of {} for a cell that it does not recognise, 509 bytes in place; nothing is allocated or sent",
            self.crypto.name()
        );
        let mut provenance = ours(&timed);
        provenance.arm = Some(match (self.arm, self.crypto) {
            ("library", _) => "AES, POLYVAL and SHA-1: chosen by RustCrypto's crates at run time".into(),
            (arm, Crypto::Cgo) => format!("AES and POLYVAL: {arm}"),
            (arm, _) => format!("AES: {arm}; SHA-1 is not needed where nothing is recognised"),
        });
        provenance
    }
}
