//! OMMs as `KEYWORD = value` lines (CCSDS 502.0-B-3, section 7). Each begins with `CCSDS_OMM_VERS`.

use super::Message;
use crate::orbit::elements::Elements;
use crate::orbit::error::{Error, Problem};

/// The keyword that begins a message.
const BEGIN: &str = "CCSDS_OMM_VERS";

/// Whether the first line that says something is one of a KVN.
pub(in crate::orbit) fn begins(text: &str) -> bool {
    text.lines().map(str::trim).find(|line| !line.is_empty()).is_some_and(|line| line.starts_with(BEGIN))
}

pub(in crate::orbit) fn read(text: &str) -> Result<Vec<Elements>, Error> {
    let mut found = Vec::new();
    let mut message: Option<Message> = None;
    for (index, line) in text.lines().enumerate() {
        let place = index + 1;
        let line = line.trim();
        if line.is_empty() || line == "COMMENT" || line.starts_with("COMMENT ") {
            continue;
        }
        let Some((key, value)) = line.split_once('=') else {
            return Err(Problem::Syntax(format!("`{line}` is not of the form `KEYWORD = value`")).at(place));
        };
        let key = key.trim();
        if key == BEGIN
            && let Some(complete) = message.replace(Message::new(place))
        {
            found.push(complete.elements()?);
        }
        let message = message.as_mut().ok_or_else(|| Problem::Missing { field: BEGIN }.at(place))?;
        // A unit may follow in brackets: `51.6 [deg]`.
        let value = match value.trim_end().strip_suffix(']').and_then(|value| value.rsplit_once('[')) {
            Some((value, _)) if key != "OBJECT_NAME" => value,
            _ => value,
        };
        message.add(key, value, place)?;
    }
    let last = message.ok_or_else(|| Problem::Nothing.at(1))?;
    found.push(last.elements()?);
    Ok(found)
}
