//! How an answer's body is framed (RFC 9112 §6): by a length, in chunks, or by the connection's end.

use crate::Error;

/// A line with a chunk's length, or of trailers, must fit.
const MOST_LINE: usize = 4096;

/// A body on its way.
pub(super) struct Body {
    state: State,
    /// A line of the chunked coding that is not whole yet.
    line: Vec<u8>,
}

enum State {
    UntilClose,
    Length(u64),
    /// Before a chunk: its length comes.
    ChunkLine,
    Chunk(u64),
    /// Behind a chunk's bytes comes an empty line.
    ChunkEnd,
    Trailers,
    Complete,
}

/// Why a body was not taken to its end.
#[derive(Debug)]
pub(super) enum Stop {
    /// It is not what HTTP allows.
    Wrong(&'static str),
    /// Whoever takes it can't go on.
    Sink(Error),
}

impl Stop {
    pub(super) fn into_error(self, wrong: &impl Fn(String) -> Error) -> Error {
        match self {
            Self::Wrong(why) => wrong(why.to_owned()),
            Self::Sink(error) => error,
        }
    }
}

impl Body {
    /// As the header lines say, whose names are in lower case.
    pub(super) fn framed_by(status: u16, headers: &[(String, String)]) -> Result<Self, String> {
        let all = |name: &str| -> Vec<String> {
            let lines = headers.iter().filter(|(known, _)| known == name);
            lines.map(|(_, value)| value.trim().to_ascii_lowercase()).collect()
        };
        let (codings, lengths) = (all("transfer-encoding"), all("content-length"));
        let state = match (codings.as_slice(), lengths.as_slice()) {
            _ if status == 204 || status == 304 => State::Complete,
            ([coding], _) if coding == "chunked" => State::ChunkLine,
            ([], []) => State::UntilClose,
            ([], [first, rest @ ..]) if rest.iter().all(|other| other == first) => match first.parse() {
                Ok(0) => State::Complete,
                Ok(length) if first.bytes().all(|byte| byte.is_ascii_digit()) => State::Length(length),
                _ => return Err("has a length that is no number".to_owned()),
            },
            ([], _) => return Err("has two lengths".to_owned()),
            _ => return Err(format!("has an encoding that was not asked for: {}", codings.join(", "))),
        };
        Ok(Self { state, line: Vec::new() })
    }

    pub(super) fn is_complete(&self) -> bool {
        matches!(self.state, State::Complete)
    }

    /// The connection has ended.
    pub(super) fn end(&self) -> Result<(), &'static str> {
        match self.state {
            State::Complete | State::UntilClose => Ok(()),
            _ => Err("is cut short"),
        }
    }

    /// Takes what came and gives what is body. What comes behind the body is dropped.
    pub(super) fn receive(
        &mut self,
        mut bytes: &[u8],
        give: &mut impl FnMut(&[u8]) -> Result<(), Error>,
    ) -> Result<(), Stop> {
        while !bytes.is_empty() {
            let taken = match &mut self.state {
                State::Complete => return Ok(()),
                State::UntilClose => {
                    give(bytes).map_err(Stop::Sink)?;
                    bytes.len()
                }
                State::Length(left) | State::Chunk(left) => {
                    let taken = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                    give(&bytes[..taken]).map_err(Stop::Sink)?;
                    *left -= taken as u64;
                    if *left == 0 {
                        let chunked = matches!(self.state, State::Chunk(_));
                        self.state = if chunked { State::ChunkEnd } else { State::Complete };
                    }
                    taken
                }
                State::ChunkLine | State::ChunkEnd | State::Trailers => {
                    let end = bytes.iter().position(|byte| *byte == b'\n');
                    let taken = end.map_or(bytes.len(), |at| at + 1);
                    self.line.extend_from_slice(&bytes[..taken]);
                    if self.line.len() > MOST_LINE {
                        return Err(Stop::Wrong("has a line without end among its chunks"));
                    }
                    if end.is_some() {
                        let line = std::mem::take(&mut self.line);
                        self.line(line.trim_ascii_end()).map_err(Stop::Wrong)?;
                    }
                    taken
                }
            };
            bytes = &bytes[taken..];
        }
        Ok(())
    }

    fn line(&mut self, line: &[u8]) -> Result<(), &'static str> {
        self.state = match &self.state {
            State::ChunkLine => {
                let digits = line.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
                let text = str::from_utf8(digits).unwrap_or_default();
                let plain = text.bytes().all(|byte| byte.is_ascii_hexdigit());
                match u64::from_str_radix(text, 16).ok().filter(|_| plain) {
                    Some(0) => State::Trailers,
                    Some(length) => State::Chunk(length),
                    None => return Err("has a chunk without a length"),
                }
            }
            State::ChunkEnd if line.is_empty() => State::ChunkLine,
            State::ChunkEnd => return Err("has a chunk that is longer than it says"),
            _ if line.is_empty() => State::Complete,
            _ => State::Trailers,
        };
        Ok(())
    }
}
