//! A connection that is read in large pieces, whatever pieces its reader asks for: TLS asks for 4 kB at a time, and each question would be a
//! system call.
//!
//! The room for a piece belongs to the thread. A connection holds it only while something that has been read is left, which its reader
//! takes next.

use std::cell::RefCell;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// Bytes to read at a time: as many as are written at a time.
const PIECE: usize = 64 << 10;
/// Rooms that a thread keeps for the next connection. Connections with something left have their own, so there seldom are several.
const KEPT: usize = 4;

type Room = Box<[u8; PIECE]>;

thread_local! {
    static ROOMS: RefCell<Vec<Room>> = const { RefCell::new(Vec::new()) };
}

fn room() -> Room {
    let kept = ROOMS.with_borrow_mut(Vec::pop);
    kept.unwrap_or_else(|| vec![0; PIECE].into_boxed_slice().try_into().expect("it has that length"))
}

fn keep(room: Room) {
    ROOMS.with_borrow_mut(|rooms| {
        if rooms.len() < KEPT {
            rooms.push(room);
        }
    });
}

/// Such a connection.
#[derive(Debug)]
pub(crate) struct Wide<S> {
    stream: S,
    left: Option<Left>,
}

/// What has been read and nobody has taken yet.
#[derive(Debug)]
struct Left {
    room: Room,
    from: usize,
    to: usize,
}

impl<S> Wide<S> {
    pub(crate) fn new(stream: S) -> Self {
        Self { stream, left: None }
    }

    pub(crate) fn get_ref(&self) -> &S {
        &self.stream
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Wide<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let mut left = match this.left.take() {
            Some(left) => left,
            None => {
                let mut room = room();
                let mut piece = ReadBuf::new(room.as_mut_slice());
                let read = Pin::new(&mut this.stream).poll_read(cx, &mut piece);
                let to = piece.filled().len();
                if to == 0 {
                    keep(room);
                    return read;
                }
                ready!(read)?;
                Left { room, from: 0, to }
            }
        };
        let taken = buffer.remaining().min(left.to - left.from);
        buffer.put_slice(&left.room[left.from..left.from + taken]);
        left.from += taken;
        match left.from == left.to {
            true => keep(left.room),
            false => this.left = Some(left),
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Wide<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.stream).poll_write_vectored(cx, pieces)
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
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    /// Counts how often it is read.
    struct Counting<S>(S, usize);

    impl<S: AsyncRead + Unpin> AsyncRead for Counting<S> {
        fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
            self.1 += 1;
            Pin::new(&mut self.0).poll_read(cx, buffer)
        }
    }

    #[tokio::test]
    async fn small_questions_are_answered_from_one_large_one_and_nothing_is_kept_at_its_end() {
        let (near, mut far) = tokio::io::duplex(1 << 20);
        let bytes: Vec<u8> = (0..2 * PIECE + 5).map(|at| (at % 251) as u8).collect();
        far.write_all(&bytes).await.unwrap();
        let mut wide = Wide::new(Counting(near, 0));
        let (mut came, mut piece) = (Vec::new(), [0; 4096]);
        while came.len() < bytes.len() {
            let length = wide.read(&mut piece).await.unwrap();
            came.extend_from_slice(&piece[..length]);
        }
        assert_eq!((came == bytes, wide.stream.1, wide.left.is_none()), (true, 3, true));
        assert_eq!(ROOMS.with_borrow(Vec::len), 1, "the room is the thread's again");
        drop(far);
        assert_eq!(wide.read(&mut piece).await.unwrap(), 0, "the end is an end");
        assert_eq!(ROOMS.with_borrow(Vec::len), 1);
    }
}
