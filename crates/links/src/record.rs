//! Circuits as lines of a file: a survey in parts, each simulated by itself, whose numbers are those of all lines together.

use crate::simulator::Outcome;
use candor_onion::handshake::HandshakeType;
use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Longer lines are no record. Those that [`Record::line`] writes are below 1 KiB.
const LONGEST: usize = 4096;
/// Larger numbers are no time or count of a circuit: 2^53 ns are a hundred days.
const LARGEST: u64 = 1 << 53;

/// What a survey keeps of a circuit.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Record {
    /// From the beginning to the last hop. `None` if the circuit was not built.
    pub built: Option<Duration>,
    /// Why it was not built, or closed later.
    pub failure: Option<String>,
    /// How long the client's link to the guard took.
    pub link: Duration,
    /// How long each hop took.
    pub hops: Vec<Duration>,
    /// Cells over the links to guard, middle and exit, each out and in.
    pub cells: [[u64; 2]; 3],
    /// Bytes likewise.
    pub bytes: [[u64; 2]; 3],
    /// From asking for the page to its first byte.
    pub first_byte: Option<Duration>,
    /// From asking for the page to its last byte.
    pub last_byte: Option<Duration>,
    /// Bytes of the page that have come.
    pub fetched: u64,
    /// Segments that were sent again.
    pub resent: u64,
    /// Packets that found no link, a full queue, or were lost.
    pub dropped: [u64; 3],
}

/// A line, as JSON has it. Times are nanoseconds.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Line {
    handshake: String,
    built: Option<u64>,
    failure: Option<String>,
    link: u64,
    hops: Vec<u64>,
    cells: [[u64; 2]; 3],
    bytes: [[u64; 2]; 3],
    first_byte: Option<u64>,
    last_byte: Option<u64>,
    fetched: u64,
    resent: u64,
    dropped: [u64; 3],
}

impl Line {
    fn numbers(&self) -> impl Iterator<Item = u64> {
        let times = [self.built, Some(self.link), self.first_byte, self.last_byte].into_iter().flatten();
        let counts = [self.fetched, self.resent].into_iter().chain(self.dropped);
        let sent = self.cells.into_iter().chain(self.bytes).flatten();
        times.chain(self.hops.iter().copied()).chain(counts).chain(sent)
    }
}

impl From<&Outcome> for Record {
    fn from(outcome: &Outcome) -> Self {
        Self {
            built: outcome.built,
            failure: outcome.failure.map(|failure| failure.to_string()),
            link: outcome.link,
            hops: outcome.hops.clone(),
            cells: outcome.cells,
            bytes: outcome.bytes,
            first_byte: outcome.first_byte,
            last_byte: outcome.last_byte,
            fetched: outcome.fetched,
            resent: outcome.resent,
            dropped: outcome.dropped,
        }
    }
}

impl Record {
    /// Bits of the page per second, from asking for it to its last byte.
    pub(crate) fn goodput(&self) -> Option<f64> {
        Outcome { fetched: self.fetched, last_byte: self.last_byte, ..Outcome::default() }.goodput()
    }

    /// The circuit and its handshake as a line of JSON, with its end.
    pub fn line(&self, handshake: HandshakeType) -> String {
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        let line = Line {
            handshake: handshake.name().to_owned(),
            built: self.built.map(ns),
            failure: self.failure.clone(),
            link: ns(self.link),
            hops: self.hops.iter().copied().map(ns).collect(),
            cells: self.cells,
            bytes: self.bytes,
            first_byte: self.first_byte.map(ns),
            last_byte: self.last_byte.map(ns),
            fetched: self.fetched,
            resent: self.resent,
            dropped: self.dropped,
        };
        let json = serde_json::to_string(&line).expect("numbers and strings are JSON");
        format!("{json}\n")
    }

    /// Reads a line. Never panics.
    ///
    /// # Errors
    /// What is wrong with the line.
    pub fn parse(line: &str) -> Result<(HandshakeType, Self), String> {
        if line.len() > LONGEST {
            return Err(format!("a circuit of {} bytes; expected at most {LONGEST}", line.len()));
        }
        let line: Line = serde_json::from_str(line).map_err(|error| format!("not a circuit: {error}"))?;
        let handshake: HandshakeType = line.handshake.parse().map_err(|error| format!("{error}"))?;
        if line.hops.len() > 3 || (line.built.is_some() && line.hops.len() != 3) {
            return Err(format!("a circuit of {} hops; expected 3", line.hops.len()));
        }
        if let Some(number) = line.numbers().find(|&number| number > LARGEST) {
            return Err(format!("a circuit with the number {number}; expected at most {LARGEST}"));
        }
        if line.last_byte == Some(0) {
            return Err("a page that took no time".into());
        }
        let ns = Duration::from_nanos;
        Ok((
            handshake,
            Self {
                built: line.built.map(ns),
                failure: line.failure,
                link: ns(line.link),
                hops: line.hops.into_iter().map(ns).collect(),
                cells: line.cells,
                bytes: line.bytes,
                first_byte: line.first_byte.map(ns),
                last_byte: line.last_byte.map(ns),
                fetched: line.fetched,
                resent: line.resent,
                dropped: line.dropped,
            },
        ))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::simulator::Plan;
    use crate::survey::{Summary, outcomes};
    use crate::topology::Topology;
    use proptest::array::{uniform2, uniform3, uniform4};
    use proptest::collection::vec;
    use proptest::prelude::*;

    const HANDSHAKE: HandshakeType = HandshakeType::Hybrid768;

    fn simulated() -> Vec<Outcome> {
        let topology = Topology::built_in("sagin-01").unwrap().unwrap();
        outcomes(&Plan { fetch: Some(20_000), ..Plan::new(topology, HANDSHAKE) }, 30).unwrap()
    }

    #[test]
    fn a_survey_of_lines_is_the_survey_of_the_circuits() {
        let outcomes = simulated();
        let read = outcomes.iter().map(|outcome| {
            let line = Record::from(outcome).line(HANDSHAKE);
            let (handshake, record) = Record::parse(&line).unwrap();
            assert_eq!(handshake, HANDSHAKE);
            record
        });
        let (read, whole) = (Summary::of_records(&read.collect::<Vec<_>>()), Summary::of(&outcomes));
        assert!(whole.goodput.is_some() && whole.built.count() > 0);
        assert_eq!(format!("{read:?}"), format!("{whole:?}"));
    }

    #[test]
    fn a_line_that_no_circuit_has_is_refused_and_its_twin_is_read() {
        let line = Record::from(&simulated()[0]).line(HANDSHAKE);
        assert!(Record::parse(&line).is_ok());
        for (what, with, why) in [
            ("\"hybrid-768\"", "\"hybrid-769\"", "unknown handshake"),
            ("\"hops\":[", "\"hops\":[1,", "4 hops"),
            ("\"resent\":", "\"resend\":", "unknown field"),
            ("\"link\":0", "\"link\":-1", "not a circuit"),
            ("\"link\":0", "\"link\":9007199254740993", "expected at most"),
            ("\"cells\":[[", "\"cells\":[[1,", "not a circuit"),
        ] {
            let damaged = line.replace(what, with);
            assert_ne!(damaged, line, "{what}");
            let refused = Record::parse(&damaged).unwrap_err();
            assert!(refused.contains(why), "{refused}");
        }
        assert!(Record::parse(line[..line.len() / 2].trim_end()).is_err(), "half a line");
        let long = Record { failure: Some("x".repeat(LONGEST)), ..Record::default() };
        assert!(Record::parse(&long.line(HANDSHAKE)).unwrap_err().contains("at most"));
        let none = Record { last_byte: Some(Duration::ZERO), ..Record::default() };
        assert!(Record::parse(&none.line(HANDSHAKE)).unwrap_err().contains("took no time"));
    }

    prop_compose! {
        fn records()(
            built in any::<bool>(), failure in proptest::option::of(".{0,80}"), times in uniform4(0..=LARGEST), hops in vec(0..=LARGEST, 0..4),
            cells in uniform3(uniform2(0..=LARGEST)), bytes in uniform3(uniform2(0..=LARGEST)), page in any::<bool>(), dropped in uniform3(0..=LARGEST),
        ) -> Record {
            let ns = Duration::from_nanos;
            Record {
                built: (built && hops.len() == 3).then_some(ns(times[0])), failure, link: ns(times[1]), hops: hops.into_iter().map(ns).collect(), cells, bytes,
                first_byte: page.then_some(ns(times[2])), last_byte: page.then_some(ns(times[3].max(1))), fetched: times[2], resent: times[0], dropped,
            }
        }
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_again(record in records()) {
            let line = record.line(HANDSHAKE);
            prop_assert_eq!(Record::parse(&line), Ok((HANDSHAKE, record)));
            prop_assert_eq!(line.matches('\n').count(), 1);
        }

        #[test]
        fn no_text_makes_the_reader_panic(text in ".{0,300}") {
            let _ = Record::parse(&text);
        }
    }
}
