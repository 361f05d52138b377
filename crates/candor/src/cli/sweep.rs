//! The flags of `candor sweep`.

use super::ListFormat;
use clap::{Subcommand, ValueEnum};
use std::path::PathBuf;

#[derive(Debug, Subcommand)]
pub(crate) enum SweepCommand {
    /// Make a folder with a plan from a recipe
    ///
    /// RECIPE is TOML: tables `[[circuits]]` for `candor circuit`, and `[[run]]` for `candor run`. The plan has topologies as text and tasks by name, so that a shard does the same
    /// wherever it is done. The same recipe makes the same plan. The folder also gets slurm.sh, the plan as a job array.
    #[command(
        after_help = "Examples:\n  candor sweep plan examples/sweep/circuits.toml -o sweep\n  candor sweep run sweep\n  candor sweep collect sweep"
    )]
    Plan {
        /// The recipe
        recipe: PathBuf,
        /// The folder to make
        #[arg(long, short, value_name = "DIR")]
        output: PathBuf,
    },
    /// Do the shards that nobody has done
    ///
    /// Any number of these can run at once, on any number of machines that share the folder: each shard is done by one of them. One that is killed leaves nothing half done; run it
    /// again. Shards that are damaged are done again, with a remark. Those of a plan for another kind of CPU are left out.
    /// What is measured has its machine for itself: the other shards there wait for it.
    #[command(
        after_help = "Exit status: 0 all these shards are done; 1 some failed; 2 error.\n\nExamples:\n  candor sweep run sweep\n  candor sweep run sweep --shard 0-9,20\n  \
                      candor sweep run sweep --shard env"
    )]
    Run {
        /// The folder
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Only these: numbers and ranges such as 0-9,20; or `env` for the number in SLURM_ARRAY_TASK_ID
        #[arg(long, value_name = "LIST", value_parser = shards)]
        shard: Option<Shards>,
    },
    /// Say which shards are done, and what is wrong with others
    #[command(after_help = "Exit status: 0 every shard is done; 1 some are not; 2 error.")]
    Status {
        /// The folder
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Output format
        #[arg(long, value_enum, default_value_t)]
        format: ListFormat,
    },
    /// Put the results together: circuits as `candor circuit` prints them, and the paths of runs
    #[command(
        after_help = "Exit status: 0 printed; 1 shards are missing, and --partial is not given; 2 error.\n\nExamples:\n  candor sweep collect sweep\n  candor sweep collect sweep \
                      --format csv > circuits.csv\n  candor compare $(candor sweep collect sweep --format paths)"
    )]
    Collect {
        /// The folder
        #[arg(value_name = "DIR")]
        directory: PathBuf,
        /// Take the shards that are done, even if others are missing
        #[arg(long)]
        partial: bool,
        /// Output format
        #[arg(long, value_enum, default_value_t)]
        format: Collected,
    },
}

/// Which shards to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Shards {
    /// The one whose number is in the environment.
    Env,
    /// From the first to the last of each range.
    Ranges(Vec<(u64, u64)>),
}

/// How results are printed.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Collected {
    /// Text for the terminal
    #[default]
    Text,
    /// One JSON object
    Json,
    /// A line for each circuit
    Csv,
    /// A line for each run: its path
    Paths,
}

fn shards(text: &str) -> Result<Shards, String> {
    if text == "env" {
        return Ok(Shards::Env);
    }
    let number = |text: &str| text.parse::<u64>().ok().filter(|_| text.bytes().all(|byte| byte.is_ascii_digit()));
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        let (first, last) = (number(first)?, number(last)?);
        (first <= last).then_some((first, last))
    };
    let ranges: Option<Vec<_>> = text.split(',').map(range).collect();
    ranges.map(Shards::Ranges).ok_or_else(|| "expected numbers and ranges such as 0-9,20, or env".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shards_are_numbers_and_ranges_and_nothing_else() {
        assert_eq!(shards("7"), Ok(Shards::Ranges(vec![(7, 7)])));
        assert_eq!(shards("0-9,20"), Ok(Shards::Ranges(vec![(0, 9), (20, 20)])));
        assert_eq!(shards("env"), Ok(Shards::Env));
        for bad in ["", ",", "9-0", "-1", "+1", "1-", "a", "1..2", "1, 2", "99999999999999999999", "0-9-10"] {
            assert!(shards(bad).is_err(), "{bad}");
        }
    }
}
