//! A connection that is read in large pieces, whatever pieces its reader asks for: TLS asks for 4 kB at a time, and each question would be a
//! system call.
//!
//! The room for a piece belongs to the thread. A connection holds it only while something that has been read is left, which its reader
//! takes next. A reader that stops in between, so that others have their turn, keeps it until its own comes. A stranger brings that about on as many
//! links as he has, so all connections together hold [`LENT`] rooms; beyond that, one is read in the pieces that its reader asks for.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::task::coop::poll_proceed;
use tokio_rustls::TlsStream;

/// Bytes to read at a time: as many as are written at a time.
const PIECE: usize = 64 << 10;
/// Rooms that a thread keeps for the next connection. Connections with something left have their own, so there seldom are several.
const KEPT: usize = 4;
/// Rooms that connections may hold, all together: 17 MB.
const LENT: usize = 256;

type Room = Box<[u8]>;

thread_local! {
    static KEPT_ROOMS: RefCell<Vec<Room>> = const { RefCell::new(Vec::new()) };
}

fn room() -> Room {
    let kept = KEPT_ROOMS.with_borrow_mut(Vec::pop);
    kept.unwrap_or_else(|| vec![0; PIECE].into_boxed_slice())
}

fn keep(room: Room) {
    // A thread that ends keeps nothing.
    let _ = KEPT_ROOMS.try_with(|rooms| {
        let mut rooms = rooms.borrow_mut();
        if rooms.len() < KEPT {
            rooms.push(room);
        }
    });
}

/// How many rooms connections hold.
#[derive(Debug)]
struct Rooms {
    most: usize,
    lent: AtomicUsize,
}

/// Those of this process.
static ROOMS: Rooms = Rooms::new(LENT);

impl Rooms {
    const fn new(most: usize) -> Self {
        Self { most, lent: AtomicUsize::new(0) }
    }

    /// Whether no more may be held. Threads that ask at the same time may go one each beyond that.
    fn are_lent(&self) -> bool {
        self.lent.load(Ordering::Relaxed) >= self.most
    }
}

/// A connection whose bytes are counted on their way out.
pub(crate) trait Progress {
    /// How many bytes the kernel has taken so far.
    fn taken(&self) -> u64;
}

impl<S> Progress for TlsStream<Wide<S>> {
    fn taken(&self) -> u64 {
        self.get_ref().0.taken
    }
}

/// Such a connection.
#[derive(Debug)]
pub(crate) struct Wide<S> {
    stream: S,
    rooms: &'static Rooms,
    left: Option<Left>,
    /// Bytes that have been written.
    taken: u64,
}

/// What has been read and nobody has taken yet.
#[derive(Debug)]
struct Left {
    room: Room,
    from: usize,
    to: usize,
    rooms: &'static Rooms,
}

impl Left {
    fn new(room: Room, from: usize, to: usize, rooms: &'static Rooms) -> Self {
        rooms.lent.fetch_add(1, Ordering::Relaxed);
        Self { room, from, to, rooms }
    }
}

impl Drop for Left {
    fn drop(&mut self) {
        self.rooms.lent.fetch_sub(1, Ordering::Relaxed);
        keep(std::mem::take(&mut self.room));
    }
}

/// Gives a reader as much of a piece as it asks for; how much that is.
fn give(piece: &[u8], buffer: &mut ReadBuf<'_>) -> usize {
    let given = buffer.remaining().min(piece.len());
    buffer.put_slice(&piece[..given]);
    given
}

impl<S> Wide<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self::within(stream, &ROOMS)
    }

    fn within(stream: S, rooms: &'static Rooms) -> Self {
        Self { stream, rooms, left: None, taken: 0 }
    }

    pub(crate) fn get_ref(&self) -> &S {
        &self.stream
    }

    fn count(&mut self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        if let Poll::Ready(Ok(length)) = written {
            self.taken += length as u64;
        }
        written
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wide<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        if let Some(left) = &mut this.left {
            // It counts against the task's turn like a system call: a reader that goes on while it is answered, as TLS does for as long as
            // records are empty, would have its thread for sixteen times as long.
            ready!(poll_proceed(cx)).made_progress();
            left.from += give(&left.room[left.from..left.to], buffer);
            if left.from == left.to {
                this.left = None;
            }
            return Poll::Ready(Ok(()));
        }
        if this.rooms.are_lent() {
            return Pin::new(&mut this.stream).poll_read(cx, buffer);
        }
        let mut room = room();
        let mut piece = ReadBuf::new(&mut room);
        let read = Pin::new(&mut this.stream).poll_read(cx, &mut piece);
        let to = piece.filled().len();
        let given = give(piece.filled(), buffer);
        match given == to {
            true => keep(room),
            false => this.left = Some(Left::new(room, given, to, this.rooms)),
        }
        read
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wide<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(cx, bytes);
        self.count(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, pieces);
        self.count(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::poll_fn;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, BufReader, BufWriter, DuplexStream, duplex};

    /// Links of tests, without TLS and with something that keeps a batch as TLS does.
    impl<S: AsyncRead + Unpin> Progress for BufReader<Wide<S>> {
        fn taken(&self) -> u64 {
            self.get_ref().taken
        }
    }

    impl<S: AsyncRead + AsyncWrite + Unpin> Progress for BufReader<BufWriter<Wide<S>>> {
        fn taken(&self) -> u64 {
            self.get_ref().get_ref().taken
        }
    }

    /// Counts how often it is read.
    struct Counting<S>(S, usize);

    impl<S: AsyncRead + Unpin> AsyncRead for Counting<S> {
        fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            self.1 += 1;
            Pin::new(&mut self.0).poll_read(cx, buffer)
        }
    }

    /// Bytes that tell each other apart, and a connection that they come over.
    async fn sent(count: usize) -> (Vec<u8>, DuplexStream, DuplexStream) {
        let (near, mut far) = duplex(4 << 20);
        let bytes: Vec<u8> = (0..count).map(|at| (at % 251) as u8).collect();
        far.write_all(&bytes).await.unwrap();
        (bytes, near, far)
    }

    #[tokio::test]
    async fn small_questions_are_answered_from_one_large_one_and_nothing_is_kept_at_its_end() {
        let (bytes, near, far) = sent(2 * PIECE + 5).await;
        let rooms = Box::leak(Box::new(Rooms::new(1)));
        let mut wide = Wide::within(Counting(near, 0), rooms);
        let (mut came, mut piece) = (Vec::new(), [0; 4096]);
        while came.len() < bytes.len() {
            let length = wide.read(&mut piece).await.unwrap();
            came.extend_from_slice(&piece[..length]);
        }
        assert_eq!((came == bytes, wide.stream.1, wide.left.is_none()), (true, 3, true));
        assert_eq!(KEPT_ROOMS.with_borrow(Vec::len), 1, "the room is the thread's again");
        drop(far);
        assert_eq!(wide.read(&mut piece).await.unwrap(), 0, "the end is an end");
        assert_eq!((KEPT_ROOMS.with_borrow(Vec::len), rooms.lent.load(Ordering::Relaxed)), (1, 0));
    }

    #[tokio::test]
    async fn connections_that_stop_reading_hold_so_many_rooms_and_all_bytes_come_nevertheless() {
        let rooms = Box::leak(Box::new(Rooms::new(2)));
        let (mut wides, mut fars) = (Vec::new(), Vec::new());
        for _ in 0..4 {
            let (_, near, far) = sent(10_000).await;
            wides.push(Wide::within(near, rooms));
            fars.push(far);
        }
        let mut piece = [0; 4096];
        for wide in &mut wides {
            assert_eq!(wide.read(&mut piece).await.unwrap(), piece.len());
        }
        let hold: Vec<bool> = wides.iter().map(|wide| wide.left.is_some()).collect();
        assert_eq!((hold, rooms.lent.load(Ordering::Relaxed)), (vec![true, true, false, false], 2));
        drop(wides.remove(0));
        assert_eq!(rooms.lent.load(Ordering::Relaxed), 1, "one that goes gives its room back");
        for wide in &mut wides {
            let mut rest = vec![0; 10_000 - piece.len()];
            wide.read_exact(&mut rest).await.unwrap();
            assert!(rest.iter().copied().eq((piece.len()..10_000).map(|at| (at % 251) as u8)));
        }
        assert_eq!(rooms.lent.load(Ordering::Relaxed), 0);
    }

    #[tokio::test]
    async fn a_reader_that_is_always_answered_stops_for_others_after_a_turn() {
        let (bytes, near, _far) = sent(2 << 20).await;
        let mut wide = Wide::new(near);
        let in_a_turn = poll_fn(|cx| {
            let (mut came, mut piece) = (0, [0; 4096]);
            while let Poll::Ready(read) = Pin::new(&mut wide).poll_read(cx, &mut ReadBuf::new(&mut piece)) {
                read.unwrap();
                came += piece.len();
                if came == bytes.len() {
                    break;
                }
            }
            Poll::Ready(came)
        });
        let came = in_a_turn.await;
        assert!((4096..=128 * 4096).contains(&came), "{came} bytes, of a turn's 128 questions");
    }
}
