//! Sending a stream's bytes, as far as flow control allows.

use super::{Conversation, Send};
use crate::Error;
use crate::cell::PAYLOAD;
use crate::circuit::padding::{self, UNPREDICTABLE};
use crate::circuit::stream::{Outgoing, Stream, StreamId};
use crate::relay::{Header, RelayCommand};
use std::collections::BTreeMap;
use std::time::Instant;

fn connected(streams: &mut BTreeMap<u16, Stream>, id: StreamId) -> Result<&mut Stream, Error> {
    let stream = streams.get_mut(&id.0).ok_or(Error::NoStream(id.0))?;
    match stream.connected {
        true => Ok(stream),
        false => Err(Error::NotNow("stream is not connected yet")),
    }
}

impl Conversation {
    /// How many bytes of the stream can be sent now, at least. If none, the stream is told to be writable once there are some.
    pub(in crate::circuit) fn sendable(&mut self, id: StreamId) -> Result<usize, Error> {
        let stream = connected(&mut self.streams, id)?;
        let cells = self.flow.allowance().min(stream.allowance());
        stream.starved |= cells == 0;
        Ok(cells as usize * (self.format.most_data() - UNPREDICTABLE))
    }

    /// Sends as much as flow control allows; returns how much that was.
    pub(in crate::circuit) fn data(
        &mut self,
        id: StreamId,
        bytes: &[u8],
        now: Instant,
        send: Send<'_>,
    ) -> Result<usize, Error> {
        let stream = connected(&mut self.streams, id)?;
        let mut done = 0;
        while done < bytes.len() && self.flow.allowance() > 0 && stream.allowance() > 0 {
            // The cell that a SENDME will acknowledge has room for bytes that nobody but us can know before it arrives.
            let most = self.format.most_data() - if self.flow.marks_next() { UNPREDICTABLE } else { 0 };
            let chunk = &bytes[done..bytes.len().min(done + most)];
            let mut payload = Box::new([0; PAYLOAD]);
            let header = Header { command: RelayCommand::DATA, stream: id.0, length: chunk.len() as u16 };
            self.format.encode(&mut payload, header, chunk);
            padding::fill(&mut payload, self.format.most_data() - chunk.len())?;
            let tag = send(false, payload);
            self.flow.sent(tag, now);
            if let Outgoing::Window(cells) = &mut stream.outgoing {
                *cells -= 1;
            }
            done += chunk.len();
        }
        stream.starved = done < bytes.len();
        Ok(done)
    }
}
