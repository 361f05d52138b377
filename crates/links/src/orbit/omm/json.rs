//! One OMM as a JSON object, or an array of them, as CelesTrak and Space-Track serve them.

use super::Message;
use crate::orbit::elements::Elements;
use crate::orbit::error::{Error, Problem};
use serde_json::value::RawValue;
use serde_json::{Map, Value};

pub(in crate::orbit) fn read(text: &str) -> Result<Vec<Elements>, Error> {
    let texts: Vec<&RawValue> = match text.trim_start().starts_with('[') {
        true => serde_json::from_str(text).map_err(|error| syntax(&error, 1))?,
        false => vec![serde_json::from_str(text).map_err(|error| syntax(&error, 1))?],
    };
    let mut found = Vec::new();
    for object in texts {
        // Values are borrowed from the text, so their addresses say where they stand.
        let offset = object.get().as_ptr() as usize - text.as_ptr() as usize;
        found.push(message(object.get(), line_at(text, offset))?.elements()?);
    }
    match found.is_empty() {
        true => Err(Problem::Nothing.at(1)),
        false => Ok(found),
    }
}

fn message(object: &str, line: usize) -> Result<Message, Error> {
    let fields: Map<String, Value> = serde_json::from_str(object).map_err(|error| syntax(&error, line))?;
    let mut message = Message::new(line);
    for (key, value) in &fields {
        // Where the key first stands. (If a string earlier holds it too, the line is that one's.)
        let place = object.find(&format!("\"{key}\"")).map_or(line, |offset| line + line_at(object, offset) - 1);
        match value {
            Value::String(text) => message.add(key, text, place)?,
            Value::Number(number) => message.add(key, &number.to_string(), place)?,
            Value::Null => {}
            _ => return Err(Problem::Syntax(format!("{key} is neither a number nor a string")).at(place)),
        }
    }
    Ok(message)
}

/// The error without serde's own words for its place, which count from the beginning of the object.
fn syntax(error: &serde_json::Error, first: usize) -> Error {
    let text = error.to_string();
    let what = text.rsplit_once(" at line ").map_or(text.as_str(), |(what, _)| what);
    Problem::Syntax(format!("JSON: {what}")).at(first + error.line().saturating_sub(1))
}

fn line_at(text: &str, offset: usize) -> usize {
    1 + text.as_bytes()[..offset].iter().filter(|&&byte| byte == b'\n').count()
}
