//! One task for each link: it writes what the outbox has and hands out the cells that come.
//!
//! Reading and writing are polled in one place and not in two tasks, so a cell that a received cell gives rise to on the same
//! link goes out without a switch of tasks, and at once: nothing is held back to fill a packet.

use super::wide::Progress;
use super::{Full, Outbox};
use crate::tls::RECORD;
use candor_onion::cell::{CELL, Cell, Decoder};
use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncWrite, AsyncWriteExt, ReadBuf};
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
/// A link whose other side has taken less than a record for so long is slow: it is given up if it closes, or if its room is wanted and whoever pays for it holds
/// most. That alone is no reason. A host that is busy with other things may well read nothing for seconds, and the kernel, which keeps megabytes, says
/// that there is room for more only when a third of them has gone.
const SLOW: Duration = Duration::from_secs(1);
/// How long saying farewell may take, and hearing the other side's last words.
const FAREWELL: Duration = Duration::from_secs(1);

/// What has come over a link.
#[derive(Debug)]
pub(crate) enum Came {
    /// A cell, and whether it is the last of its record.
    Cell(Cell, bool),
    /// There are no more for now.
    All,
}

/// What has become of a link in one step.
enum Step {
    /// So many bytes have come, none at the end; and whether they were cells.
    Came(usize, Result<(), String>),
    /// We have closed it, and all is written.
    Closed,
    /// The other side takes no more.
    Broken(io::Error),
}

/// Drives a link until it closes; `decoder` may hold cells that came with the handshake. `on_cell` is given each cell. `Ok` if our
/// side closed the link, or the other side did in good order. If the other side does not take a single record for as long as
/// `patience`, the link is given up.
pub(crate) async fn drive<S: AsyncBufRead + AsyncWrite + Progress + Unpin>(
    mut stream: S,
    mut decoder: Decoder,
    outbox: &Outbox,
    patience: Duration,
    mut on_cell: impl FnMut(Came),
) -> Result<(), String> {
    let mut output = Output::new(outbox);
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
            match output.poll_write(Pin::new(&mut stream), cx) {
                Poll::Ready(Ok(())) => return Poll::Ready(Ok(Step::Closed)),
                Poll::Ready(Err(error)) => return Poll::Ready(Ok(Step::Broken(error))),
                Poll::Pending => {}
            }
            if output.poll_stuck(stream.taken(), patience, alarm.as_mut(), cx).is_ready() {
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::TimedOut, "the other side takes nothing")));
            }
            // Where TLS has decrypted them: cells are taken from there.
            let input = ready!(Pin::new(&mut stream).poll_fill_buf(cx))?;
            let (length, taken) = (input.len(), take(input));
            Pin::new(&mut stream).consume(length);
            Poll::Ready(Ok(Step::Came(length, taken)))
        });
        match step.await {
            Ok(Step::Closed) => {
                let _ = timeout(FAREWELL, farewell(&mut stream)).await;
                return Ok(());
            }
            Ok(Step::Came(0, _)) => return Ok(()),
            Ok(Step::Came(_, taken)) => {
                taken?;
                reads += 1;
                if reads % READS == 0 {
                    yield_now().await;
                }
            }
            Ok(Step::Broken(error)) => {
                // Its last words came before it closed its ears.
                let _ = timeout(FAREWELL, last_words(&mut stream, take)).await;
                return Err(error.to_string());
            }
            // Many close without TLS's farewell; the circuits have ends of their own.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// Says that nothing more comes, and waits until the other side has read that far and says the same. If a connection is closed in which something is unread, the kernel
/// throws away what is still on its way to the other side: the last cells.
async fn farewell<S: AsyncBufRead + AsyncWrite + Unpin>(stream: &mut S) -> io::Result<()> {
    stream.shutdown().await?;
    last_words(stream, |_| Ok(())).await
}

/// Takes what comes until the end, as far as it is of use.
async fn last_words<S: AsyncBufRead + Unpin>(
    stream: &mut S,
    mut take: impl FnMut(&[u8]) -> Result<(), String>,
) -> io::Result<()> {
    loop {
        let input = stream.fill_buf().await?;
        let (length, taken) = (input.len(), take(input));
        if length == 0 || taken.is_err() {
            return Ok(());
        }
        stream.consume(length);
    }
}

/// What is on its way into the stream: one batch at a time. Nothing is taken from the queues, where it has an owner and a turn, before the kernel has all that was taken before.
struct Output<'a> {
    outbox: &'a Outbox,
    /// Not all of a batch is gone.
    is_under_way: bool,
    /// Of it, what the stream has not taken. A stream of TLS takes a whole batch and writes it by and by.
    rest: Vec<u8>,
    written: usize,
    /// Since when, and from which byte on, less than a record has gone.
    stuck: Option<(Instant, u64)>,
}

impl<'a> Output<'a> {
    fn new(outbox: &'a Outbox) -> Self {
        Self { outbox, is_under_way: false, rest: Vec::new(), written: 0, stuck: None }
    }

    /// Writes and flushes as much as goes. Ready when the outbox is closed and empty.
    fn poll_write<S: AsyncWrite>(&mut self, mut stream: Pin<&mut S>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        for _ in 0..WRITES {
            ready!(self.poll_gone(stream.as_mut(), cx))?;
            // The batch is the thread's, so that a link without anything to write holds no room for it.
            let filled = OUTPUT.with_borrow_mut(|batch| {
                batch.clear();
                if !ready!(self.outbox.poll_fill(cx, batch)) {
                    return Poll::Ready(Ok(false));
                }
                self.is_under_way = true;
                let taken = match stream.as_mut().poll_write(cx, batch) {
                    Poll::Ready(taken) => taken_of(taken)?,
                    Poll::Pending => 0,
                };
                self.rest = batch[taken..].to_vec();
                Poll::Ready(Ok::<_, io::Error>(true))
            });
            if !ready!(filled)? {
                return Poll::Ready(Ok(()));
            }
        }
        ready!(self.poll_gone(stream, cx))?;
        // There may be more to write, and nobody else will wake us for it.
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// Has what is left of a batch go. Ready when nothing is.
    fn poll_gone<S: AsyncWrite>(&mut self, mut stream: Pin<&mut S>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.is_under_way {
            return Poll::Ready(Ok(()));
        }
        while self.written < self.rest.len() {
            self.written += taken_of(ready!(stream.as_mut().poll_write(cx, &self.rest[self.written..])))?;
        }
        ready!(stream.poll_flush(cx))?;
        (self.is_under_way, self.rest, self.written, self.stuck) = (false, Vec::new(), 0, None);
        Poll::Ready(Ok(()))
    }

    /// Ready when the link is to be given up: the other side has taken nothing for too long, or others need the room. The kernel has `taken` so many bytes in all.
    fn poll_stuck(
        &mut self,
        taken: u64,
        patience: Duration,
        mut alarm: Pin<&mut Sleep>,
        cx: &mut Context<'_>,
    ) -> Poll<()> {
        if !self.is_under_way {
            return Poll::Pending;
        }
        let now = Instant::now();
        let (since, from) = self.stuck.get_or_insert((now, taken));
        // However slow a link is, a record now and then is not nothing.
        if taken - *from >= RECORD as u64 {
            (*since, *from) = (now, taken);
        }
        let stuck = now.duration_since(*since);
        let is_slow = stuck >= SLOW.min(patience);
        if stuck >= patience || is_slow && self.outbox.is_closing() || self.outbox.poll_stuck(is_slow, cx).is_ready() {
            return Poll::Ready(());
        }
        while alarm.as_mut().poll(cx).is_ready() {
            alarm.as_mut().reset(now + SLOW.min(patience));
        }
        Poll::Pending
    }
}

impl Drop for Output<'_> {
    fn drop(&mut self) {
        self.outbox.gone();
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
    use crate::link::wide::Wide;
    use candor_onion::cell::payload::Versions;
    use candor_onion::cell::{DestroyReason, Message, PAYLOAD};
    use std::sync::Arc;
    use tokio::io::{AsyncReadExt, BufReader, BufWriter, DuplexStream, duplex};
    use tokio::net::{TcpListener, TcpSocket};

    const PATIENCE: Duration = Duration::from_secs(60);

    /// An outbox with so many cells.
    fn outbox(budget: &Arc<Budget>, cells: usize) -> Outbox {
        let outbox = Outbox::new(Arc::clone(budget), 10);
        for number in 0..cells {
            outbox.push(1, Message::Relay(Box::new([number as u8; PAYLOAD]))).unwrap();
        }
        outbox
    }

    fn bare<S: tokio::io::AsyncRead + Unpin>(stream: S) -> BufReader<Wide<S>> {
        BufReader::new(Wide::new(stream))
    }

    /// A stream that takes a whole batch and writes it by and by, as TLS does.
    fn buffered(stream: DuplexStream) -> BufReader<BufWriter<Wide<DuplexStream>>> {
        BufReader::new(BufWriter::with_capacity(64 << 10, Wide::new(stream)))
    }

    #[tokio::test]
    async fn what_the_other_side_does_not_take_keeps_its_room_and_its_order() {
        const CELLS: usize = 200;
        let budget = Budget::new(1000);
        for with_buffer in [false, true] {
            let outbox = outbox(&budget, CELLS);
            // A stream takes ten cells and a half, and then nothing until somebody reads.
            let (near, mut far) = duplex(CELL * 10 + CELL / 2);
            let driver = async {
                match with_buffer {
                    true => drive(buffered(near), Decoder::default(), &outbox, PATIENCE, |_| ()).await,
                    false => drive(bare(near), Decoder::default(), &outbox, PATIENCE, |_| ()).await,
                }
            };
            let reader = async {
                yield_now().await;
                let waiting = budget.used();
                let mut came = vec![0; CELLS * CELL];
                far.read_exact(&mut came).await.unwrap();
                outbox.close();
                drop(far);
                (waiting, came)
            };
            let (driven, (waiting, came)) = tokio::join!(driver, reader);
            assert_eq!(driven, Ok(()));
            assert_eq!(waiting, CELLS, "a batch of which a part is gone counts whole, wherever the rest is");
            let numbers: Vec<u8> = came.chunks(CELL).map(|cell| cell[CELL - 1]).collect();
            assert!(numbers.iter().copied().eq((0..CELLS).map(|number| number as u8)), "{numbers:?}");
            assert_eq!(budget.used(), 0);
        }
    }

    /// How a link ends whose other side takes so many bytes every eight seconds, with a patience of ten.
    async fn taken_every_eight_seconds<S>(bytes: usize, stream: impl FnOnce(DuplexStream) -> S) -> Result<(), String>
    where
        S: AsyncBufRead + AsyncWrite + Progress + Unpin,
    {
        let outbox = outbox(&Budget::new(1000), 200);
        let (near, mut far) = duplex(CELL);
        let driver = drive(stream(near), Decoder::default(), &outbox, Duration::from_secs(10), |_| ());
        let reader = async {
            let mut left = 200 * CELL;
            while left > 0 {
                let mut came = vec![0; bytes.min(left)];
                far.read_exact(&mut came).await.unwrap();
                left -= came.len();
                sleep(Duration::from_secs(8)).await;
            }
        };
        tokio::select! { ended = driver => ended, () = reader => Ok(()) }
    }

    #[tokio::test(start_paused = true)]
    async fn a_slow_link_lasts_while_it_takes_a_record_now_and_then() {
        let stuck = Err("the other side takes nothing".to_owned());
        assert_eq!(taken_every_eight_seconds(RECORD + CELL, bare).await, Ok(()));
        assert_eq!(taken_every_eight_seconds(4 * CELL, bare).await, stuck);
        assert_eq!(taken_every_eight_seconds(RECORD + CELL, buffered).await, Ok(()), "also out of TLS's buffer");
        assert_eq!(taken_every_eight_seconds(4 * CELL, buffered).await, stuck);
    }

    #[tokio::test(start_paused = true)]
    async fn a_link_that_takes_nothing_for_a_while_lasts_unless_its_room_is_wanted() {
        for is_wanted in [false, true] {
            let budget = Budget::new(100);
            let others = outbox(&budget, 80);
            let outbox = outbox(&budget, 20);
            assert!(budget.is_short());
            let (near, mut far) = duplex(CELL);
            let driver = drive(buffered(near), Decoder::default(), &outbox, PATIENCE, |_| ());
            let reader = async {
                sleep(Duration::from_millis(500)).await;
                assert_eq!((outbox.overdue(), budget.used()), (0, 100), "that is nothing yet");
                sleep(Duration::from_millis(4500)).await;
                assert_eq!((outbox.overdue(), budget.used()), (20, 100));
                if is_wanted {
                    outbox.give_up();
                    assert_eq!(budget.used(), 80, "at once");
                    return Some(far);
                }
                far.read_exact(&mut [0; 20 * CELL]).await.unwrap();
                outbox.close();
                None
            };
            let (driven, far) = tokio::join!(driver, reader);
            assert_eq!((driven.is_err(), budget.used(), outbox.overdue()), (is_wanted, 80, 0));
            drop(far);
            drop(others);
        }
    }

    #[tokio::test]
    async fn the_last_cells_arrive_though_something_was_unread_when_the_link_closed() {
        const CELLS: usize = 120;
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let socket = TcpSocket::new_v4().unwrap();
        // So most of it waits in our kernel until it is read.
        socket.set_recv_buffer_size(8 << 10).unwrap();
        let (far, near) = tokio::join!(socket.connect(listener.local_addr().unwrap()), listener.accept());
        let (mut far, near) = (far.unwrap(), near.unwrap().0);
        // The beginning of a cell.
        far.write_all(&[0, 0]).await.unwrap();
        near.readable().await.unwrap();
        let outbox = outbox(&Budget::new(1000), CELLS);
        outbox.close();
        let driver = drive(bare(near), Decoder::default(), &outbox, PATIENCE, |_| ());
        let reader = async {
            let mut came = Vec::new();
            let end = far.read_to_end(&mut came).await;
            drop(far);
            (end.is_ok(), came.len())
        };
        assert_eq!(tokio::join!(driver, reader), (Ok(()), (true, CELLS * CELL)));
    }

    #[tokio::test]
    async fn what_came_before_the_other_side_closed_its_ears_is_heard() {
        let outbox = outbox(&Budget::new(1000), 1);
        let (near, mut far) = duplex(1 << 16);
        let mut said = Vec::new();
        Cell::on_link(Message::Versions(Versions(vec![5]))).encode(&mut said);
        for circuit in 1..=3 {
            Cell { circuit, message: Message::Destroy(DestroyReason::NONE) }.encode(&mut said);
        }
        far.write_all(&said).await.unwrap();
        drop(far);
        let mut heard = Vec::new();
        let on_cell = |came| {
            if let Came::Cell(cell, _) = came {
                heard.push(cell.circuit);
            }
        };
        let driven = drive(bare(near), Decoder::default(), &outbox, PATIENCE, on_cell).await;
        assert_eq!((driven.is_err(), heard), (true, vec![0, 1, 2, 3]));
    }
}
