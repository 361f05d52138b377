//! One task for each link: it writes what the outbox has and hands out the cells that come.
//!
//! Reading and writing are polled in one place and not in two tasks, so a cell that a received cell gives rise to on the same
//! link goes out without a switch of tasks, and at once: nothing is held back to fill a packet.

use super::{Full, Outbox, Room};
use crate::tls::RECORD;
use candor_onion::cell::{CELL, Cell, Decoder};
use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncWrite, AsyncWriteExt, ReadBuf};
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep, sleep, timeout};

/// Bytes of an exit's connection to read at a time.
const READ: usize = 64 << 10;
/// Reads, of a TLS record each, after which other links get their turn, however much there is to read. Without it a link that always
/// has more keeps its thread for thousands of cells.
const READS: usize = 4;

thread_local! {
    static INPUT: RefCell<Box<[u8]>> = RefCell::new(vec![0; READ].into_boxed_slice());
    static OUTPUT: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// Lends this thread's input buffer for one poll: an exit's connection that waits holds no memory for what may come.
pub(crate) fn with_input<T>(poll: impl FnOnce(&mut ReadBuf<'_>) -> T) -> T {
    INPUT.with_borrow_mut(|input| poll(&mut ReadBuf::new(input)))
}

/// Batches to write before reading is tried again, so that neither starves the other.
const WRITES: usize = 2;
/// How long the other side may take less than a record when the link closes, or room is short.
const PRESSED: Duration = Duration::from_secs(1);
/// How long saying farewell may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// What has come over a link.
#[derive(Debug)]
pub(crate) enum Came {
    /// A cell, and whether it is the last of what has come so far.
    Cell(Cell, bool),
    /// There are no more for now.
    All,
}

/// Drives a link until it closes; `decoder` may hold cells that came with the handshake. `on_cell` is given each cell. `Ok` if our
/// side closed the link, or the other side did in good order. If the other side does not take a single record for as long as
/// `patience`, the link is given up.
pub(crate) async fn drive<S: AsyncBufRead + AsyncWrite + Unpin>(
    mut stream: S,
    mut decoder: Decoder,
    outbox: &Outbox,
    patience: Duration,
    mut on_cell: impl FnMut(Came),
) -> Result<(), String> {
    let mut output = Output::new(outbox.room());
    let mut unfinished = outbox.room();
    let mut alarm = Box::pin(sleep(Duration::ZERO));
    // Hands out the cells that `input` completes, and keeps what is left.
    let mut take = |mut input: &[u8]| {
        while let Some(cell) = decoder.next_of(&mut input).map_err(|error| error.to_string())? {
            on_cell(Came::Cell(cell, input.is_empty() && decoder.pending() == 0));
        }
        on_cell(Came::All);
        // The room of an ordinary cell is every link's due.
        let kept = unfinished.set(decoder.held().saturating_sub(CELL).div_ceil(CELL));
        kept.map_err(|Full| "no room for an unfinished cell".to_owned())
    };
    take(&[])?;
    let mut reads = 0;
    loop {
        let step = poll_fn(|cx| {
            let open = match output.poll_write(Pin::new(&mut stream), outbox, cx) {
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(open)) => open,
                Poll::Pending => true,
            };
            if !open {
                return Poll::Ready(Ok(None));
            }
            if output.poll_stuck(outbox, patience, alarm.as_mut(), cx).is_ready() {
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other side takes nothing")));
            }
            // Where TLS has decrypted them: cells are taken from there.
            let input = ready!(Pin::new(&mut stream).poll_fill_buf(cx))?;
            let (length, taken) = (input.len(), take(input));
            Pin::new(&mut stream).consume(length);
            Poll::Ready(Ok(Some((length, taken))))
        });
        match step.await {
            // We closed and all is written.
            Ok(None) => {
                let _ = timeout(FAREWELL, stream.shutdown()).await;
                return Ok(());
            }
            Ok(Some((0, _))) => return Ok(()),
            Ok(Some((_, taken))) => {
                taken?;
                reads += 1;
                if reads % READS == 0 {
                    yield_now().await;
                }
            }
            // Many close without TLS's farewell; the circuits have ends of their own.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// What is on its way into the stream.
struct Output {
    /// Of a batch that the stream took a part of, the rest. A link that keeps up has none.
    rest: Vec<u8>,
    /// For the rest.
    room: Room,
    written: usize,
    unflushed: bool,
    /// Since when the stream has taken less than a record.
    stuck: Option<Instant>,
}

impl Output {
    fn new(room: Room) -> Self {
        Self { rest: Vec::new(), room, written: 0, unflushed: false, stuck: None }
    }

    /// Writes and flushes as much as goes. Ready with `false` when the outbox is closed and empty; ready with `true` never.
    fn poll_write<S: AsyncWrite>(
        &mut self,
        mut stream: Pin<&mut S>,
        outbox: &Outbox,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<bool>> {
        let mut more = true;
        let mut pending = false;
        for _ in 0..WRITES {
            match self.poll_rest(stream.as_mut(), cx) {
                Poll::Ready(taken) => taken?,
                Poll::Pending => {
                    pending = true;
                    break;
                }
            }
            // The batch is the thread's, so that a link without anything to write holds no room for it.
            let written = OUTPUT.with_borrow_mut(|batch| {
                batch.clear();
                match outbox.poll_fill(cx, batch) {
                    Poll::Ready(true) => {}
                    Poll::Ready(false) => more = false,
                    Poll::Pending => pending = true,
                }
                if batch.is_empty() {
                    return Ok(false);
                }
                let taken = match stream.as_mut().poll_write(cx, batch) {
                    Poll::Ready(taken) => taken_of(taken)?,
                    Poll::Pending => 0,
                };
                self.unflushed |= taken > 0;
                self.keep(&batch[taken..])?;
                Ok::<_, io::Error>(true)
            });
            match written {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => return Poll::Ready(Err(error)),
            }
        }
        if self.unflushed {
            match stream.poll_flush(cx) {
                Poll::Ready(Ok(())) => self.unflushed = false,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => pending = true,
            }
        }
        if !more && !self.unflushed && self.rest.is_empty() {
            return Poll::Ready(Ok(false));
        }
        if !pending && more {
            // There may be more to write, and nobody else will wake us for it.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }

    /// Writes what is left of a batch. Ready when nothing is.
    fn poll_rest<S: AsyncWrite>(&mut self, mut stream: Pin<&mut S>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while self.written < self.rest.len() {
            let taken = taken_of(ready!(stream.as_mut().poll_write(cx, &self.rest[self.written..])))?;
            self.unflushed = true;
            // However slow a link is, a record now and then is not nothing.
            if self.written / RECORD < (self.written + taken) / RECORD {
                self.stuck = None;
            }
            self.written += taken;
        }
        if self.written > 0 {
            self.keep(&[])?;
        }
        Poll::Ready(Ok(()))
    }

    /// Keeps what the stream has not taken of a batch; if that is nothing, the other side is not stuck.
    fn keep(&mut self, rest: &[u8]) -> io::Result<()> {
        (self.rest, self.written) = (rest.to_vec(), 0);
        if rest.is_empty() {
            self.stuck = None;
        }
        let kept = self.room.set(rest.len().div_ceil(CELL));
        kept.map_err(|Full| io::Error::other("no room for what the other side does not take"))
    }

    /// Ready when the other side has taken nothing for too long.
    fn poll_stuck(
        &mut self,
        outbox: &Outbox,
        patience: Duration,
        mut alarm: Pin<&mut Sleep>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if self.rest.is_empty() && !self.unflushed {
            self.stuck = None;
            return Poll::Pending;
        }
        let now = Instant::now();
        let since = *self.stuck.get_or_insert(now);
        loop {
            ready!(alarm.as_mut().poll(cx));
            let enough = if outbox.is_pressed() { PRESSED.min(patience) } else { patience };
            if now.duration_since(since) >= enough {
                return Poll::Ready(());
            }
            alarm.as_mut().reset(now + PRESSED.min(patience));
        }
    }
}

/// How much a stream took, which is something.
fn taken_of(taken: io::Result<usize>) -> io::Result<usize> {
    match taken {
        Ok(0) => Err(io::ErrorKind::WriteZero.into()),
        taken => taken,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Budget;
    use candor_onion::cell::{Message, PAYLOAD};
    use tokio::io::{AsyncReadExt, BufReader, duplex};

    #[tokio::test]
    async fn what_the_other_side_does_not_take_keeps_its_room_and_its_order() {
        const CELLS: usize = 200;
        let budget = Budget::new(1000);
        let outbox = Outbox::new(std::sync::Arc::clone(&budget), 10);
        for number in 0..CELLS {
            outbox.push(1, Message::Relay(Box::new([number as u8; PAYLOAD]))).unwrap();
        }
        // A stream takes ten cells and a half, and then nothing until somebody reads.
        let (near, mut far) = duplex(CELL * 10 + CELL / 2);
        let decoder = Decoder::default();
        let driver = drive(BufReader::new(near), decoder, &outbox, Duration::from_secs(60), |_| ());
        let reader = async {
            yield_now().await;
            let waiting = budget.used();
            let mut came = vec![0; CELLS * CELL];
            far.read_exact(&mut came).await.unwrap();
            outbox.close();
            (waiting, came)
        };
        let (driven, (waiting, came)) = tokio::join!(driver, reader);
        assert_eq!(driven, Ok(()));
        assert_eq!(waiting, CELLS - 10, "what was taken in part counts whole");
        let numbers: Vec<u8> = came.chunks(CELL).map(|cell| cell[CELL - 1]).collect();
        assert!(numbers.iter().copied().eq((0..CELLS).map(|number| number as u8)), "{numbers:?}");
        assert_eq!(budget.used(), 0);
    }

    /// How a link ends whose other side takes so many bytes every eight seconds, with a patience of ten.
    async fn taken_every_eight_seconds(bytes: usize) -> Result<(), String> {
        let outbox = Outbox::new(Budget::new(1000), 10);
        for _ in 0..200 {
            outbox.push(1, Message::Relay(Box::new([0; PAYLOAD]))).unwrap();
        }
        let (near, mut far) = duplex(CELL);
        let near = BufReader::new(near);
        let driver = drive(near, Decoder::default(), &outbox, Duration::from_secs(10), |_| ());
        let reader = async {
            let mut left = 200 * CELL;
            while left > 0 {
                let mut came = vec![0; bytes.min(left)];
                far.read_exact(&mut came).await.unwrap();
                left -= came.len();
                sleep(Duration::from_secs(8)).await;
            }
            outbox.close();
        };
        tokio::select! { ended = driver => ended, () = reader => Ok(()) }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_link_lasts_while_it_takes_a_record_now_and_then() {
        assert_eq!(taken_every_eight_seconds(RECORD + CELL).await, Ok(()));
        let stuck = taken_every_eight_seconds(4 * CELL).await;
        assert_eq!(stuck, Err("the other side takes nothing".to_owned()));
    }
}
