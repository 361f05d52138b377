//! What somebody wants, as TOML. Names are resolved by who makes a plan of it.

use crate::LabError;
use serde::Deserialize;

/// A recipe for a plan.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recipe {
    /// Where seeds begin.
    #[serde(default = "one")]
    pub seed: u64,
    /// Simulated circuits.
    #[serde(default)]
    pub circuits: Vec<CircuitsWanted>,
    /// Measurements.
    #[serde(default)]
    pub run: Vec<RunsWanted>,
}

/// Simulated circuits, as `candor circuit` has them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CircuitsWanted {
    /// A topology that candor knows, or a TOML file.
    pub topology: String,
    /// Another set of its values.
    pub set: Option<String>,
    /// Handshakes; without the line, those of `candor circuit`.
    pub handshakes: Option<Vec<String>>,
    /// Circuits per handshake.
    pub circuits: u64,
    /// How many of them a shard has.
    #[serde(default = "five_hundred")]
    pub per_shard: u64,
    /// Begin without links.
    #[serde(default)]
    pub cold: bool,
    /// Leave out losses.
    #[serde(default)]
    pub lossless: bool,
    /// Bytes of the page; 0 fetches none.
    #[serde(default = "page")]
    pub page: u64,
    /// Run file that says what handshakes cost; without it they cost nothing.
    pub costs: Option<String>,
}

/// Measurements, as `candor run` makes them.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunsWanted {
    /// Words that select tasks.
    pub tasks: Vec<String>,
    /// CPU tiers to measure under, each as if it were a machine of its own; without any, that of the CPU.
    #[serde(default)]
    pub tiers: Vec<String>,
    /// Only on CPUs of this kind: zen4.
    pub cpu: Option<String>,
    /// Seconds for each task.
    pub budget: Option<f64>,
    /// Processes for each task.
    pub processes: Option<u32>,
    /// Only subjects whose names begin with one of these.
    #[serde(default)]
    pub peers: Vec<String>,
    /// Tasks of a shard, which are one run.
    #[serde(default = "ten")]
    pub per_shard: u64,
}

fn one() -> u64 {
    1
}

fn ten() -> u64 {
    10
}

fn five_hundred() -> u64 {
    500
}

fn page() -> u64 {
    100_000
}

impl Recipe {
    /// Larger recipes are not read.
    pub const LARGEST: usize = 1 << 20;

    /// Reads a recipe. Never panics.
    ///
    /// # Errors
    /// What is wrong, with its line.
    pub fn parse(text: &str) -> Result<Self, LabError> {
        if text.len() > Self::LARGEST {
            return Err(LabError::Recipe(format!("over {} bytes long", Self::LARGEST)));
        }
        let recipe: Self = toml::from_str(text).map_err(|error| LabError::Recipe(error.to_string()))?;
        match recipe.circuits.is_empty() && recipe.run.is_empty() {
            true => Err(LabError::Recipe("nothing to do: expected [[circuits]] or [[run]]".into())),
            false => Ok(recipe),
        }
    }
}
