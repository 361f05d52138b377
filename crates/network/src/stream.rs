//! A stream through a circuit, as bytes to read and write. Client and exit use the same.

use crate::link::{Budget, Full, with_input};
use candor_onion::circuit::StreamId;
use candor_onion::relay::message::EndReason;
use std::collections::{HashMap, VecDeque};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll, Waker, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes that small pieces are put together up to: a cell's worth.
const PIECE: usize = 498;

/// A circuit that carries streams.
pub(crate) trait Carrier: Send + Sync {
    /// Takes bytes that have come, and tells the circuit that they are used up. Ready with nothing at the stream's end.
    fn poll_receive(&self, stream: StreamId, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>>;

    /// Sends as much as flow control and the link's queue allow, and at least one byte.
    fn poll_send(&self, stream: StreamId, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>>;

    /// Ready with how many bytes can be sent now, at least one.
    fn poll_sendable(&self, stream: StreamId, cx: &mut Context<'_>) -> Poll<io::Result<usize>>;

    /// Ready when the stream is gone with its circuit.
    fn poll_gone(&self, stream: StreamId, cx: &mut Context<'_>) -> Poll<()>;

    /// Ends the stream from here, if it has not ended yet.
    fn end(&self, stream: StreamId, reason: EndReason);
}

/// A stream through a circuit. Dropping it ends it.
///
/// As with Tor, there is no half of a stream: closing the writing side ends both.
pub struct CircuitStream {
    carrier: Arc<dyn Carrier>,
    id: StreamId,
    reason: OnceLock<EndReason>,
}

impl CircuitStream {
    pub(crate) fn new(carrier: Arc<dyn Carrier>, id: StreamId) -> Self {
        Self { carrier, id, reason: OnceLock::new() }
    }

    /// The reason to give when it is dropped, instead of DONE. The first one counts.
    pub(crate) fn set_reason(&self, reason: EndReason) {
        let _ = self.reason.set(reason);
    }

    /// The next bytes, `most` of them at most; none at the stream's end. Both directions can be used at a time.
    pub(crate) async fn receive(&self, most: usize) -> io::Result<Vec<u8>> {
        poll_fn(|cx| {
            with_input(|buffer| {
                let mut piece = buffer.take(most);
                self.carrier.poll_receive(self.id, cx, &mut piece).map_ok(|()| piece.filled().to_vec())
            })
        })
        .await
    }

    /// Sends all of `bytes`.
    pub(crate) async fn send_all(&self, mut bytes: &[u8]) -> io::Result<()> {
        while !bytes.is_empty() {
            let sent = poll_fn(|cx| self.carrier.poll_send(self.id, cx, bytes)).await?;
            bytes = &bytes[sent..];
        }
        Ok(())
    }

    /// Sends what comes next from `source`; how much that was, 0 at its end. No more is read than can be sent, so a stream that waits holds nothing.
    pub(crate) async fn send_from<R: AsyncRead + Unpin>(&self, source: &mut R) -> Result<usize, Broken> {
        let sendable = |cx: &mut Context<'_>| self.carrier.poll_sendable(self.id, cx);
        let send = |cx: &mut Context<'_>, bytes: &[u8]| self.carrier.poll_send(self.id, cx, bytes);
        let (length, rest) = pass(source, sendable, send).await?;
        self.send_all(&rest).await.map_err(|_| Broken::Stream)?;
        Ok(length)
    }

    /// Comes back when the circuit is over.
    pub(crate) async fn gone(&self) {
        poll_fn(|cx| self.carrier.poll_gone(self.id, cx)).await;
    }
}

/// Which side of a [`CircuitStream::send_from`] has broken.
#[derive(Debug)]
pub(crate) enum Broken {
    Stream,
    Source(io::Error),
}

/// Passes on what comes next from `source`, in one poll: how much that was, and what could not be sent although it seemed so, because others were faster.
async fn pass<R: AsyncRead + Unpin>(
    source: &mut R,
    mut sendable: impl FnMut(&mut Context<'_>) -> Poll<io::Result<usize>>,
    mut send: impl FnMut(&mut Context<'_>, &[u8]) -> Poll<io::Result<usize>>,
) -> Result<(usize, Vec<u8>), Broken> {
    poll_fn(|cx| {
        let most = ready!(sendable(cx)).map_err(|_| Broken::Stream)?;
        with_input(|buffer| {
            let mut piece = buffer.take(most);
            ready!(Pin::new(&mut *source).poll_read(cx, &mut piece)).map_err(Broken::Source)?;
            let bytes = piece.filled();
            let sent = match bytes {
                [] => 0,
                bytes => match send(cx, bytes) {
                    Poll::Ready(sent) => sent.map_err(|_| Broken::Stream)?,
                    Poll::Pending => 0,
                },
            };
            Poll::Ready(Ok((bytes.len(), bytes[sent..].to_vec())))
        })
    })
    .await
}

impl Drop for CircuitStream {
    fn drop(&mut self) {
        self.carrier.end(self.id, *self.reason.get().unwrap_or(&EndReason::DONE));
    }
}

impl AsyncRead for CircuitStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.carrier.poll_receive(self.id, cx, buffer)
    }
}

impl AsyncWrite for CircuitStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut &*self).poll_write(cx, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut &*self).poll_flush(cx)
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut &*self).poll_shutdown(cx)
    }
}

impl AsyncRead for &CircuitStream {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.carrier.poll_receive(self.id, cx, buffer)
    }
}

impl AsyncWrite for &CircuitStream {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match bytes {
            [] => Poll::Ready(Ok(0)),
            _ => self.carrier.poll_send(self.id, cx, bytes),
        }
    }

    /// Cells go out at once: there is nothing to flush.
    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        self.carrier.end(self.id, EndReason::DONE);
        Poll::Ready(Ok(()))
    }
}

impl std::fmt::Debug for CircuitStream {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "CircuitStream({})", self.id)
    }
}

/// A circuit's streams at this end: what has come and was not read yet, and who waits.
pub(crate) struct Ends {
    ends: HashMap<StreamId, End>,
    /// Has room for what has come: a cell's worth for each piece.
    budget: Arc<Budget>,
    /// How many of those there are.
    pieces: usize,
}

#[derive(Default)]
struct End {
    /// In pieces, of which any two neighbours are more than a cell's worth together.
    arrived: VecDeque<Vec<u8>>,
    /// How much of the first is read.
    read: usize,
    connected: bool,
    over: Option<EndReason>,
    reader: Option<Waker>,
    writer: Option<Waker>,
    /// Waits for the stream to be gone.
    watcher: Option<Waker>,
}

impl End {
    fn wake_all(mut self) {
        [&mut self.reader, &mut self.writer, &mut self.watcher].into_iter().for_each(wake);
    }
}

/// What a read comes to.
pub(crate) enum Read {
    /// So many bytes were copied.
    Bytes(usize),
    /// Nothing has come; the waker is kept.
    Wait,
    /// The other end has ended the stream, and all that came before is read.
    Over(EndReason),
    /// There is no such stream (any more).
    Gone,
}

impl Ends {
    pub(crate) fn new(budget: Arc<Budget>) -> Self {
        Self { ends: HashMap::new(), budget, pieces: 0 }
    }

    /// A new stream; whether its number is free.
    pub(crate) fn open(&mut self, id: StreamId) -> bool {
        let is_free = !self.ends.contains_key(&id);
        if is_free {
            self.ends.insert(id, End::default());
        }
        is_free
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// How much of the budget the streams hold.
    pub(crate) fn held(&self) -> usize {
        self.pieces
    }

    pub(crate) fn connected(&mut self, id: StreamId) {
        if let Some(end) = self.ends.get_mut(&id) {
            end.connected = true;
            wake(&mut end.reader);
        }
    }

    /// For the client that waits for CONNECTED: whether it has come, or the reason why it will not.
    pub(crate) fn poll_connected(&mut self, id: StreamId, cx: &mut Context<'_>) -> Poll<Result<(), EndReason>> {
        match self.ends.get_mut(&id) {
            Some(End { connected: true, .. }) => Poll::Ready(Ok(())),
            Some(End { over: Some(reason), .. }) => Poll::Ready(Err(*reason)),
            Some(end) => {
                keep(&mut end.reader, cx);
                Poll::Pending
            }
            None => Poll::Ready(Err(EndReason::DESTROY)),
        }
    }

    /// Keeps what has come, if there is room. Says how many bytes nobody will read, because the stream is gone.
    pub(crate) fn data(&mut self, id: StreamId, bytes: Vec<u8>) -> Result<usize, Full> {
        let Some(end) = self.ends.get_mut(&id) else { return Ok(bytes.len()) };
        match end.arrived.back_mut() {
            Some(last) if last.len() + bytes.len() <= PIECE => last.extend_from_slice(&bytes),
            _ => {
                self.budget.take()?;
                self.pieces += 1;
                end.arrived.push_back(bytes);
            }
        }
        wake(&mut end.reader);
        Ok(0)
    }

    pub(crate) fn over(&mut self, id: StreamId, reason: EndReason) {
        if let Some(end) = self.ends.get_mut(&id) {
            end.over = Some(reason);
            wake(&mut end.reader);
            wake(&mut end.writer);
        }
    }

    pub(crate) fn writable(&mut self, id: StreamId) {
        if let Some(end) = self.ends.get_mut(&id) {
            wake(&mut end.writer);
        }
    }

    /// Who writes waits for [`Self::writable`].
    pub(crate) fn wait_writable(&mut self, id: StreamId, cx: &mut Context<'_>) {
        if let Some(end) = self.ends.get_mut(&id) {
            keep(&mut end.writer, cx);
        }
    }

    pub(crate) fn poll_gone(&mut self, id: StreamId, cx: &mut Context<'_>) -> Poll<()> {
        match self.ends.get_mut(&id) {
            Some(end) => {
                keep(&mut end.watcher, cx);
                Poll::Pending
            }
            None => Poll::Ready(()),
        }
    }

    /// Whether the other end has ended the stream, and why.
    pub(crate) fn reason(&self, id: StreamId) -> Option<EndReason> {
        self.ends.get(&id).map_or(Some(EndReason::DESTROY), |end| end.over)
    }

    pub(crate) fn read(&mut self, id: StreamId, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Read {
        let Some(end) = self.ends.get_mut(&id) else { return Read::Gone };
        let before = buffer.filled().len();
        while let Some(first) = end.arrived.front().filter(|_| buffer.remaining() > 0) {
            let rest = &first[end.read..];
            let taken = rest.len().min(buffer.remaining());
            buffer.put_slice(&rest[..taken]);
            end.read += taken;
            if end.read == first.len() {
                end.arrived.pop_front();
                end.read = 0;
                self.pieces -= 1;
                self.budget.give(1);
            }
        }
        let taken = buffer.filled().len() - before;
        match end.over {
            _ if taken > 0 => Read::Bytes(taken),
            Some(reason) => Read::Over(reason),
            None => {
                keep(&mut end.reader, cx);
                Read::Wait
            }
        }
    }

    /// Forgets a stream; how many bytes were thrown away unread.
    pub(crate) fn forget(&mut self, id: StreamId) -> usize {
        let Some(end) = self.ends.remove(&id) else { return 0 };
        let all: usize = end.arrived.iter().map(Vec::len).sum();
        let rest = all - end.read;
        self.pieces -= end.arrived.len();
        self.budget.give(end.arrived.len());
        end.wake_all();
        rest
    }

    /// All streams are gone; those who wait find that out.
    pub(crate) fn clear(&mut self) {
        self.budget.give(std::mem::take(&mut self.pieces));
        self.ends.drain().for_each(|(_, end)| end.wake_all());
    }
}

impl Drop for Ends {
    fn drop(&mut self) {
        self.clear();
    }
}

fn keep(place: &mut Option<Waker>, cx: &Context<'_>) {
    if !place.as_ref().is_some_and(|waker| waker.will_wake(cx.waker())) {
        *place = Some(cx.waker().clone());
    }
}

fn wake(place: &mut Option<Waker>) {
    if let Some(waker) = place.take() {
        waker.wake();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::{Cell, RefCell};
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    #[tokio::test]
    async fn no_more_is_read_of_a_connection_than_can_be_sent() {
        let (mut source, mut far) = duplex(1 << 20);
        let bytes: Vec<u8> = (0..100_000).map(|at| (at % 251) as u8).collect();
        far.write_all(&bytes).await.unwrap();
        let (room, sent) = (Cell::new(3000), RefCell::new(Vec::new()));
        let sendable = |_: &mut Context<'_>| match room.get() {
            0 => Poll::Pending,
            room => Poll::Ready(Ok(room)),
        };
        let send = |_: &mut Context<'_>, bytes: &[u8]| {
            room.set(room.get() - bytes.len());
            sent.borrow_mut().extend_from_slice(bytes);
            Poll::Ready(Ok(bytes.len()))
        };
        assert_eq!(pass(&mut source, sendable, send).await.unwrap(), (3000, Vec::new()));
        tokio::select! {
            biased;
            _ = pass(&mut source, sendable, send) => panic!("nothing can be sent"),
            () = std::future::ready(()) => {}
        }
        // Another stream has taken all but ten bytes of the room.
        room.set(3000);
        let slower = |_: &mut Context<'_>, bytes: &[u8]| {
            sent.borrow_mut().extend_from_slice(&bytes[..10]);
            Poll::Ready(Ok(10))
        };
        let (length, rest) = pass(&mut source, sendable, slower).await.unwrap();
        assert_eq!((length, rest.len()), (3000, 2990));
        sent.borrow_mut().extend_from_slice(&rest);
        let mut left = vec![0; bytes.len() - 6000];
        source.read_exact(&mut left).await.unwrap();
        assert!([sent.take(), left].concat() == bytes, "what was not sent is still to be read");
        drop(far);
        assert_eq!(pass(&mut source, sendable, send).await.unwrap().0, 0, "the end");
    }
}
