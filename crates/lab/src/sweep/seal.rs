//! Lines of JSON with a seal: the digest of all bytes before it, as a run file has it.

use crate::runfile::Flaw;
use base16ct::lower;
use serde::Serialize;
use serde::de::DeserializeOwned;
use sha2::{Digest, Sha256};

/// The last line.
#[derive(Debug, Serialize, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Seal {
    kind: String,
    sha256: String,
}

/// What [`Seal::kind`] is.
const SEAL: &str = "seal";

/// The records as lines, sealed, and the seal's digest.
pub(super) fn sealed<T: Serialize>(records: &[T]) -> (String, String) {
    let mut text = String::new();
    for record in records {
        text += &line(record);
    }
    let sha256 = lower::encode_string(&Sha256::digest(&text));
    text += &line(&Seal { kind: SEAL.to_owned(), sha256: sha256.clone() });
    (text, sha256)
}

/// The records of a sealed file, of which there is one at least, and the seal's digest.
pub(super) fn unsealed<T: DeserializeOwned>(what: &str, bytes: &[u8]) -> Result<(Vec<T>, String), Flaw> {
    let flaw = |line: usize, why: String| Flaw { line, why };
    let text = std::str::from_utf8(bytes).map_err(|_| flaw(1, format!("not {what}: binary data")))?;
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let Some((last, records)) = lines.split_last().filter(|(_, records)| !records.is_empty()) else {
        return Err(flaw(1, format!("not {what}: expected records and a seal, found fewer than two lines")));
    };
    let count = lines.len();
    // Any other line at the end means that there was more.
    let seal = serde_json::from_str::<Seal>(last).ok().filter(|seal| seal.kind == SEAL && last.ends_with('\n'));
    let seal = seal.ok_or_else(|| flaw(count, "the file ends without a seal: it was cut short".into()))?;
    let found = lower::encode_string(&Sha256::digest(&bytes[..bytes.len() - last.len()]));
    if found != seal.sha256 {
        let why =
            format!("the seal does not match: the file was edited (expected {:.12}…, found {found:.12}…)", seal.sha256);
        return Err(flaw(count, why));
    }
    let record = |(index, line): (usize, &&str)| {
        serde_json::from_str(line).map_err(|error| flaw(index + 1, format!("not a line of {what}: {error}")))
    };
    Ok((records.iter().enumerate().map(record).collect::<Result<_, _>>()?, seal.sha256))
}

/// A line of canonical JSON: the map of serde_json sorts its keys.
fn line(record: &impl Serialize) -> String {
    let value = serde_json::to_value(record).expect("records hold only strings, numbers and lists");
    format!("{value}\n")
}
