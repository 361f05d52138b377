//! The file of an import: CSV with a header, or a JSON object per line.

use std::io::{BufRead, Read};

/// The most bytes of a line.
const LONGEST: u64 = 64 << 10;

/// How the file is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// RFC 4180, with names of columns in the first line.
    Csv,
    /// One object per line.
    JsonLines,
}

/// What a line says.
#[derive(Clone, PartialEq, Eq)]
pub struct Entry {
    /// The account's name.
    pub name: String,
    /// Its password hash.
    pub hash: String,
}

impl std::fmt::Debug for Entry {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Entry").field("name", &self.name).finish_non_exhaustive()
    }
}

/// Why a line is no entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// It is longer than 64 KiB.
    #[error("line is longer than 64 KiB")]
    TooLong,
    /// It is not UTF-8.
    #[error("line is not valid UTF-8")]
    Utf8,
    /// It is no JSON object with texts of the names asked for.
    #[error("expected a JSON object with the name and the hash as texts")]
    Json,
    /// It has another number of fields than the header, or a quotation mark where none may be.
    #[error("not as many fields as the header has, or a quotation mark out of place")]
    Csv,
}

/// The entries of a file, with their line numbers.
pub struct Input<'a> {
    lines: Lines<'a>,
    /// For CSV: how many columns there are, and which have name and hash.
    columns: Option<(usize, usize, usize)>,
    name: String,
    hash: String,
}

struct Lines<'a> {
    file: Box<dyn BufRead + Send + 'a>,
    number: u64,
}

impl<'a> Input<'a> {
    /// Reads `file`, whose columns or members `name` and `hash` hold what their names say.
    ///
    /// # Errors
    /// [`MigrationError`](super::MigrationError) if the file can't be read, or its header does not have both columns.
    pub fn new(
        file: impl BufRead + Send + 'a,
        layout: Layout,
        name: &str,
        hash: &str,
    ) -> Result<Self, super::MigrationError> {
        let mut lines = Lines { file: Box::new(file), number: 0 };
        let columns = match layout {
            Layout::JsonLines => None,
            Layout::Csv => Some(header(&mut lines, name, hash)?),
        };
        Ok(Self { lines, columns, name: name.to_owned(), hash: hash.to_owned() })
    }

    fn entry(&self, line: &str) -> Result<Entry, InputError> {
        match self.columns {
            Some((count, name, hash)) => {
                let mut fields = fields(line).filter(|fields| fields.len() == count).ok_or(InputError::Csv)?;
                Ok(Entry { name: std::mem::take(&mut fields[name]), hash: std::mem::take(&mut fields[hash]) })
            }
            None => {
                let object: serde_json::Value = serde_json::from_str(line).map_err(|_| InputError::Json)?;
                let text = |member: &str| object.get(member).and_then(serde_json::Value::as_str).map(str::to_owned);
                match (text(&self.name), text(&self.hash)) {
                    (Some(name), Some(hash)) => Ok(Entry { name, hash }),
                    _ => Err(InputError::Json),
                }
            }
        }
    }
}

impl Iterator for Input<'_> {
    type Item = Result<(u64, Result<Entry, InputError>), std::io::Error>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = match self.lines.next() {
                Ok(line) => line?,
                Err(error) => return Some(Err(error)),
            };
            let number = self.lines.number;
            match line {
                Ok(line) if line.trim().is_empty() => {}
                Ok(line) => return Some(Ok((number, self.entry(&line)))),
                Err(error) => return Some(Ok((number, Err(error)))),
            }
        }
    }
}

impl Lines<'_> {
    /// The next line without its end; one that is too long is read over.
    fn next(&mut self) -> std::io::Result<Option<Result<String, InputError>>> {
        let mut bytes = Vec::new();
        if (&mut self.file).take(LONGEST).read_until(b'\n', &mut bytes)? == 0 {
            return Ok(None);
        }
        self.number += 1;
        if bytes.len() as u64 == LONGEST && bytes.last() != Some(&b'\n') {
            self.file.skip_until(b'\n')?;
            return Ok(Some(Err(InputError::TooLong)));
        }
        let line = String::from_utf8(bytes).map_err(|_| InputError::Utf8);
        Ok(Some(line.map(|line| line.trim_end_matches(['\n', '\r']).to_owned())))
    }
}

fn header(lines: &mut Lines<'_>, name: &str, hash: &str) -> Result<(usize, usize, usize), super::MigrationError> {
    let wrong = |what: &str| super::MigrationError::Layout(what.to_owned());
    let line = lines.next()?.ok_or_else(|| wrong("file is empty; expected a header with the names of the columns"))?;
    let line = line.map_err(|error| super::MigrationError::Layout(format!("header: {error}")))?;
    let names = fields(line.trim_start_matches('\u{feff}')).ok_or_else(|| wrong("header is not CSV"))?;
    let column = |sought: &str| {
        names.iter().position(|name| name == sought).ok_or_else(|| {
            super::MigrationError::Layout(format!("no column {sought:?}; the header has {}", names.join(", ")))
        })
    };
    Ok((names.len(), column(name)?, column(hash)?))
}

/// The fields of a line of CSV (RFC 4180 without line breaks inside of fields, which neither names nor hashes have).
fn fields(line: &str) -> Option<Vec<String>> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, after) = match rest.strip_prefix('"') {
            None => {
                let end = rest.find(',').unwrap_or(rest.len());
                let field = &rest[..end];
                if field.contains('"') {
                    return None;
                }
                (field.to_owned(), &rest[end..])
            }
            Some(quoted) => quoted_field(quoted)?,
        };
        fields.push(field);
        rest = match after.strip_prefix(',') {
            Some(rest) => rest,
            None => return after.is_empty().then_some(fields),
        };
    }
}

/// A field after its first quotation mark, and what follows its last; two marks are one.
fn quoted_field(quoted: &str) -> Option<(String, &str)> {
    let mut field = String::new();
    let mut rest = quoted;
    loop {
        let (part, after) = rest.split_once('"')?;
        field.push_str(part);
        match after.strip_prefix('"') {
            Some(after) => {
                field.push('"');
                rest = after;
            }
            None => return Some((field, after)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Read = Result<(String, String), InputError>;

    fn read(layout: Layout, text: &[u8]) -> Vec<(u64, Read)> {
        let input = Input::new(text, layout, "name", "hash").unwrap();
        let plain = |entry: Entry| (entry.name, entry.hash);
        input.map(Result::unwrap).map(|(line, entry)| (line, entry.map(plain))).collect()
    }

    fn entry(name: &str, hash: &str) -> Read {
        Ok((name.to_owned(), hash.to_owned()))
    }

    #[test]
    fn columns_are_found_by_their_names() {
        let text = b"\xef\xbb\xbfid,hash,name\r\n1,$2b$,alice\r\n\r\n2,\"$a$m=1,t=2\",\"b\"\"ob\"\n3,\"\",\n";
        assert_eq!(
            read(Layout::Csv, text),
            [(2, entry("alice", "$2b$")), (4, entry("b\"ob", "$a$m=1,t=2")), (5, entry("", "")),]
        );
        for text in [&b""[..], b"name\n", b"name,Hash\n", b"\"name,hash\n"] {
            assert!(Input::new(text, Layout::Csv, "name", "hash").is_err(), "{text:?}");
        }
    }

    #[test]
    fn damaged_lines_are_named_and_the_others_read() {
        let mut text = b"name,hash\na,1\nb\nc,\"1\"2\n\xff,1\n".to_vec();
        text.extend(vec![b'x'; 70_000]);
        text.extend_from_slice(b"\nd,1\ne,1,2\nf,\"1");
        assert_eq!(
            read(Layout::Csv, &text),
            [
                (2, entry("a", "1")),
                (3, Err(InputError::Csv)),
                (4, Err(InputError::Csv)),
                (5, Err(InputError::Utf8)),
                (6, Err(InputError::TooLong)),
                (7, entry("d", "1")),
                (8, Err(InputError::Csv)),
                (9, Err(InputError::Csv)),
            ]
        );
    }

    #[test]
    fn json_lines_are_objects_with_texts() {
        let text =
            b"{\"name\":\"alice\",\"hash\":\"$2b$\",\"id\":1}\n[]\n{\"name\":1,\"hash\":\"\"}\n{\"name\":\"x\"}\n{";
        assert_eq!(
            read(Layout::JsonLines, text),
            [
                (1, entry("alice", "$2b$")),
                (2, Err(InputError::Json)),
                (3, Err(InputError::Json)),
                (4, Err(InputError::Json)),
                (5, Err(InputError::Json)),
            ]
        );
    }
}
