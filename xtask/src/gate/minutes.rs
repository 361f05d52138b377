//! How long each stage of the gate took: kept in `target/gate-minutes.json`, and shown beside the run before.

use crate::columns::{self, Align};
use crate::stage::clock;
use serde_json::{Map, Value, json};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Beyond this a stage says why it takes so long.
const LONG: Duration = Duration::from_secs(5 * 60);

/// What makes a stage long on a machine of two cores, for those that may be.
const REASONS: [(&str, &str); 4] = [
    ("clippy", "cold, it checks every dependency once and compiles AWS-LC's C; warm, it is seconds"),
    ("release build", "cold, it compiles every dependency with all optimisations; bar: six minutes"),
    ("tests", "cold, it compiles every dependency for tests, AWS-LC's C among them, and links each test program"),
    ("constant time", "every case runs under valgrind, about thirty times slower than on the CPU, some twice"),
];

/// The file, and what it held before this run.
pub(super) struct Minutes {
    file: PathBuf,
    before: Map<String, Value>,
}

/// One stage of this run.
pub(super) struct Row {
    pub(super) name: &'static str,
    pub(super) time: Duration,
    pub(super) well: bool,
}

impl Minutes {
    pub(super) fn open(target: &Path) -> Self {
        let file = target.join("gate-minutes.json");
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        let before = serde_json::from_str::<Value>(&text).ok().and_then(|value| value["seconds"].as_object().cloned());
        Self { file, before: before.unwrap_or_default() }
    }

    /// The table: this run's time, the last run's, the stage.
    pub(super) fn table(&self, rows: &[Row]) -> String {
        let shown =
            |seconds: Option<f64>| seconds.map_or_else(|| "-".to_owned(), |s| clock(Duration::from_secs_f64(s)));
        let stage = |Row { name, time, well }: &Row| {
            let before = self.before.get(*name).and_then(Value::as_f64);
            [clock(*time), shown(before), format!("{name}{}", if *well { "" } else { "  FAILED" })]
        };
        let before = (!self.before.is_empty()).then(|| self.before.values().filter_map(Value::as_f64).sum());
        let sum = [clock(rows.iter().map(|row| row.time).sum()), shown(before), "in all".to_owned()];
        let head = ["minutes", "before", "stage"].map(str::to_owned);
        let rows = [head].into_iter().chain(rows.iter().map(stage)).chain([sum]);
        columns::lines([Align::Right, Align::Right, Align::Left], rows).join("\n") + "\n"
    }

    /// Writes this run's times for the next one to show. A target folder that can't be written fails nothing.
    pub(super) fn keep(&self, rows: &[Row]) {
        let seconds: Map<String, Value> =
            rows.iter().map(|row| (row.name.to_owned(), json!(row.time.as_secs_f64()))).collect();
        if let Err(error) = std::fs::write(&self.file, format!("{:#}\n", json!({ "seconds": seconds }))) {
            println!("cannot write {}: {error}", self.file.display());
        }
    }
}

/// Why a stage took as long as it did, if it took long.
pub(super) fn reason(name: &str, time: Duration) -> Option<String> {
    (time > LONG).then(|| match REASONS.iter().find(|(stage, _)| *stage == name) {
        Some((_, why)) => format!("over five minutes: {why}"),
        None => {
            "over five minutes, which is unexpected: make it faster, or give the reason in xtask/src/gate/minutes.rs"
                .to_owned()
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(name: &'static str, seconds: u64, well: bool) -> Row {
        Row { name, time: Duration::from_secs(seconds), well }
    }

    #[test]
    fn a_run_stands_beside_the_one_before() {
        let folder = std::env::temp_dir().join(format!("xtask-minutes-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let first = Minutes::open(&folder);
        assert!(first.table(&[row("fmt", 1, true)]).contains("   0:01       -  fmt\n"));
        first.keep(&[row("fmt", 61, true), row("tests", 60, true)]);
        let table = Minutes::open(&folder).table(&[row("fmt", 1, true), row("new", 2, false)]);
        std::fs::remove_dir_all(&folder).unwrap();
        assert_eq!(
            table,
            "minutes  before  stage\n   0:01    1:01  fmt\n   0:02       -  new  FAILED\n   0:03    2:01  in all\n"
        );
    }

    #[test]
    fn a_long_stage_says_why_and_a_short_one_does_not() {
        assert_eq!(reason("tests", Duration::from_secs(300)), None);
        assert!(reason("tests", Duration::from_secs(301)).unwrap().contains("links each test program"));
        assert!(reason("fmt", Duration::from_secs(301)).unwrap().contains("unexpected"));
    }
}
