//! The plan: which shards there are, and what each does.

use super::host::Use;
use super::seal::{sealed, unsealed};
use crate::plan::MOST_PROCESSES;
use crate::runfile::Flaw;
use serde::{Deserialize, Serialize};

/// Version of the plan's format.
const SCHEMA: u32 = 1;
/// Larger plans are not read.
pub(super) const LARGEST: u64 = 64 << 20;
/// A plan has no more shards.
pub const MOST_SHARDS: u64 = 100_000;
/// What one shard, or one list of a plan, has at most.
const MOST_AT_ONCE: u64 = 1_000_000;
/// A plan has no more circuits per handshake.
const MOST_CIRCUITS: u64 = 100_000_000;
/// A page is at most as long as `candor circuit` fetches.
const MOST_PAGE: u64 = 1_000_000_000;
/// Names are at most this long.
const LONGEST_NAME: usize = 200;

/// The work of a sweep, cut into shards. What has been parsed is sound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    blocks: Vec<Block>,
    sha256: String,
    text: String,
}

/// Work of one kind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "kebab-case")]
pub enum Block {
    /// Circuits to be simulated.
    Circuits(Circuits),
    /// Tasks to be measured.
    Run(Runs),
}

/// Circuits to be simulated.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Circuits {
    /// The topology's name.
    pub name: String,
    /// The topology as TOML.
    pub topology: String,
    /// Another set of its values.
    pub set: Option<String>,
    /// Handshakes by name.
    pub handshakes: Vec<String>,
    /// Circuits per handshake.
    pub circuits: u64,
    /// How many of them a shard has.
    pub per_shard: u64,
    /// Seed of the first shard's circuits. That of another is larger by the number of circuits before it.
    pub seed: u64,
    /// Begin without links.
    pub cold: bool,
    /// Leave out losses.
    pub lossless: bool,
    /// Bytes of the page; 0 fetches none.
    pub page: u64,
    /// What handshakes cost. `None`: nothing.
    pub costs: Option<CostsOf>,
}

/// The run that says what handshakes cost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CostsOf {
    /// The run's name. Its file stands in the sweep's folder `costs`.
    pub run: String,
    /// The digest of its seal.
    pub sha256: String,
}

/// Tasks to be measured.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Runs {
    /// Tasks by name.
    pub tasks: Vec<String>,
    /// Tasks of a shard.
    pub per_shard: u64,
    /// Tiers to measure under. None: that of the CPU.
    pub tiers: Vec<String>,
    /// Only on CPUs of this kind.
    pub cpu: Option<String>,
    /// Milliseconds for each task.
    pub budget_ms: u64,
    /// Processes for each task. `None`: as many as the number of comparisons requires.
    pub processes: Option<u32>,
    /// Only subjects whose names begin with one of these.
    pub peers: Vec<String>,
    /// Seed of the first tasks' runs. That of others is larger by the number of tasks before them; all tiers have the same.
    pub seed: u64,
}

/// What a shard does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work<'a> {
    /// Simulates circuits.
    Circuits {
        /// Number of the block in the plan.
        block: usize,
        /// Which circuits.
        of: &'a Circuits,
        /// Their seed.
        seed: u64,
        /// How many per handshake.
        count: u64,
    },
    /// Measures tasks.
    Run {
        /// Of which measurements.
        of: &'a Runs,
        /// The tier to measure under.
        tier: Option<&'a str>,
        /// The tasks.
        tasks: &'a [String],
        /// The seed.
        seed: u64,
    },
}

impl Work<'_> {
    /// How it uses its machine.
    pub fn uses(&self) -> Use {
        match self {
            Self::Circuits { .. } => Use::Shared,
            Self::Run { .. } => Use::Alone,
        }
    }
}

/// A line of the file.
#[derive(Serialize)]
#[serde(untagged)]
enum Line<'a> {
    Head { kind: &'static str, schema: u32 },
    Block(&'a Block),
}

/// [`Line::Head`]'s kind.
const KIND: &str = "sweep";

impl Plan {
    /// A plan of this work.
    ///
    /// # Errors
    /// Why it can't be a plan.
    pub fn new(blocks: Vec<Block>) -> Result<Self, String> {
        let count = blocks.iter().try_fold(0u64, |sum, block| Ok::<_, String>(sum + block.check()?))?;
        if !(1..=MOST_SHARDS).contains(&count) {
            return Err(format!("a plan of {count} shards; expected 1 to {MOST_SHARDS}: change per_shard"));
        }
        let head = Line::Head { kind: KIND, schema: SCHEMA };
        let lines: Vec<Line<'_>> = std::iter::once(head).chain(blocks.iter().map(Line::Block)).collect();
        let (text, sha256) = sealed(&lines);
        Ok(Self { blocks, sha256, text })
    }

    /// Reads a plan from the bytes of its file. Never panics.
    ///
    /// # Errors
    /// What is wrong, with its line.
    pub fn parse(bytes: &[u8]) -> Result<Self, Flaw> {
        let at = |line: usize| move |why: String| Flaw { line, why };
        let (lines, _) = unsealed::<serde_json::Value>("a plan of a sweep", bytes)?;
        let (head, blocks) = lines.split_first().ok_or_else(|| at(1)("the file is empty".into()))?;
        if head["kind"] != KIND {
            return Err(at(1)(format!("not a plan of a sweep: the first line is not of kind {KIND}")));
        }
        match head["schema"].as_u64() {
            Some(schema) if schema == u64::from(SCHEMA) => {}
            Some(schema) => {
                return Err(at(1)(format!(
                    "the plan has schema {schema}, and this version of candor reads schema {SCHEMA}"
                )));
            }
            None => return Err(at(1)("the plan does not name a schema".into())),
        }
        let block = |(index, value): (usize, &serde_json::Value)| {
            let block: Block =
                serde_json::from_value(value.clone()).map_err(|error| at(index + 2)(error.to_string()))?;
            block.check().map_err(at(index + 2))?;
            Ok(block)
        };
        let blocks = blocks.iter().enumerate().map(block).collect::<Result<_, Flaw>>()?;
        let plan = Self::new(blocks).map_err(at(1))?;
        // What is written in another way would have another digest on another machine.
        match plan.text.as_bytes() == bytes {
            true => Ok(plan),
            false => Err(at(1)("the plan is not written as candor writes it; make it by `candor sweep plan`".into())),
        }
    }

    /// The file.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The digest of the seal.
    pub fn sha256(&self) -> &str {
        &self.sha256
    }

    /// The work, block by block.
    pub fn blocks(&self) -> &[Block] {
        &self.blocks
    }

    /// How many shards there are.
    pub fn shards(&self) -> u64 {
        self.blocks.iter().map(Block::shards).sum()
    }

    /// Whether anything is measured.
    pub fn measures(&self) -> bool {
        self.blocks.iter().any(|block| matches!(block, Block::Run(_)))
    }

    /// What the shard of this number does. `None` if there is none.
    pub fn work(&self, mut index: u64) -> Option<Work<'_>> {
        for (number, block) in self.blocks.iter().enumerate() {
            match block.shards() {
                shards if index < shards => return Some(block.work(number, index)),
                shards => index -= shards,
            }
        }
        None
    }
}

impl Block {
    /// How many shards it has, if it is sound.
    fn check(&self) -> Result<u64, String> {
        match self {
            Self::Circuits(circuits) => circuits.check()?,
            Self::Run(runs) => runs.check()?,
        }
        match self.shards() {
            shards @ ..=MOST_SHARDS => Ok(shards),
            shards => Err(format!("{shards} shards; expected at most {MOST_SHARDS}: make per_shard larger")),
        }
    }

    /// How many shards it has.
    pub fn shards(&self) -> u64 {
        match self {
            Self::Circuits(circuits) => circuits.circuits.div_ceil(circuits.per_shard),
            Self::Run(runs) => runs.groups() * runs.tiers.len().max(1) as u64,
        }
    }

    fn work(&self, number: usize, index: u64) -> Work<'_> {
        match self {
            Self::Circuits(of) => {
                let before = index * of.per_shard;
                let count = of.per_shard.min(of.circuits - before);
                Work::Circuits { block: number, of, seed: of.seed.wrapping_add(before), count }
            }
            Self::Run(of) => {
                let (tier, group) = (index / of.groups(), index % of.groups());
                let before = (group * of.per_shard) as usize;
                let end = of.tasks.len().min(before + of.per_shard as usize);
                let tier = of.tiers.get(tier as usize).map(String::as_str);
                Work::Run { of, tier, tasks: &of.tasks[before..end], seed: of.seed.wrapping_add(before as u64) }
            }
        }
    }
}

impl Circuits {
    /// Whether it is sound as far as the lab knows it. Whoever simulates anything for a plan looks here first: the work of one circuit alone has no other bound.
    ///
    /// # Errors
    /// What is not.
    pub fn check(&self) -> Result<(), String> {
        within("circuits", self.circuits, 1..=MOST_CIRCUITS)?;
        within("per_shard", self.per_shard, 1..=MOST_AT_ONCE)?;
        within("page", self.page, 0..=MOST_PAGE)?;
        names("handshake", &self.handshakes, true)?;
        let costs = self.costs.as_ref();
        for name in [Some(&self.name), costs.map(|costs| &costs.run)].into_iter().flatten() {
            if !is_name(name) || name.contains('/') {
                return Err(format!("{name:?} is no name of a topology or run"));
            }
        }
        let is_digest =
            |text: &str| text.len() == 64 && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        match costs {
            Some(costs) if !is_digest(&costs.sha256) => Err("the digest of the run with the costs is none".into()),
            _ => Ok(()),
        }
    }
}

impl Runs {
    /// Parts that the list of tasks is cut into.
    fn groups(&self) -> u64 {
        (self.tasks.len() as u64).div_ceil(self.per_shard)
    }

    fn check(&self) -> Result<(), String> {
        within("per_shard", self.per_shard, 1..=MOST_AT_ONCE)?;
        within("processes", self.processes.unwrap_or(1).into(), 1..=MOST_PROCESSES as u64)?;
        within("budget_ms", self.budget_ms, 10..=86_400_000)?;
        names("task", &self.tasks, true)?;
        names("tier", &self.tiers, false)?;
        names("peer", &self.peers, false)?;
        names("CPU", self.cpu.as_slice(), false)
    }
}

fn within(what: &str, number: u64, range: std::ops::RangeInclusive<u64>) -> Result<(), String> {
    match range.contains(&number) {
        true => Ok(()),
        false => Err(format!("{what} is {number}; expected {} to {}", range.start(), range.end())),
    }
}

/// Whether these are names, each once.
fn names(what: &str, names: &[String], needed: bool) -> Result<(), String> {
    if needed && names.is_empty() {
        return Err(format!("no {what} is named"));
    }
    if names.len() as u64 > MOST_AT_ONCE {
        return Err(format!("{} names of a {what}; expected at most {MOST_AT_ONCE}", names.len()));
    }
    if let Some(name) = names.iter().find(|name| !is_name(name)) {
        return Err(format!("{name:?} is no name of a {what}"));
    }
    let mut sorted: Vec<&String> = names.iter().collect();
    sorted.sort_unstable();
    match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => Err(format!("{what} {} is named twice", pair[0])),
        None => Ok(()),
    }
}

/// Names become arguments of a program and parts of paths: none is taken for a flag, and none leads out of its folder.
fn is_name(name: &str) -> bool {
    let sound = |c: char| c.is_ascii_alphanumeric() || "-_./+@#".contains(c);
    let begins = name.starts_with(|c: char| c.is_ascii_alphanumeric());
    begins && name.len() <= LONGEST_NAME && name.chars().all(sound) && !name.contains("..")
}
