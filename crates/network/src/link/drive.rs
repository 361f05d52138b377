//! One task for each link: it writes what the outbox has and hands out the cells that come.
//!
//! Reading and writing are polled in one place and not in two tasks, so a cell that a received cell gives rise to on the same
//! link goes out without a switch of tasks, and at once: nothing is held back to fill a packet.

use super::Outbox;
use candor_onion::cell::{Cell, Decoder};
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, ReadBuf};

/// Bytes to read at a time: a TLS record.
const READ: usize = 16 << 10;
/// Batches to write before reading is tried again, so that neither starves the other.
const WRITES: usize = 4;

/// Drives a link until it closes; `decoder` may hold cells that came with the handshake. `Ok` if our side closed it, or the
/// other side did in good order.
pub(crate) async fn drive<S: AsyncRead + AsyncWrite + Unpin>(
    mut stream: S,
    mut decoder: Decoder,
    outbox: &Outbox,
    mut on_cell: impl FnMut(Cell),
) -> Result<(), String> {
    let mut output = Output::default();
    let mut input = vec![0; READ];
    loop {
        while let Some(cell) = decoder.next().map_err(|error| error.to_string())? {
            on_cell(cell);
        }
        let step = poll_fn(|cx| {
            let open = match output.poll_write(Pin::new(&mut stream), outbox, cx) {
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Ready(Ok(open)) => open,
                Poll::Pending => true,
            };
            if !open {
                return Poll::Ready(Ok(None));
            }
            let mut buffer = ReadBuf::new(&mut input);
            ready!(Pin::new(&mut stream).poll_read(cx, &mut buffer))?;
            Poll::Ready(Ok(Some(buffer.filled().len())))
        });
        match step.await {
            // We closed and all is written.
            Ok(None) => {
                let _ = stream.shutdown().await;
                return Ok(());
            }
            Ok(Some(0)) => return Ok(()),
            Ok(Some(length)) => decoder.receive(&input[..length]),
            // Many close without TLS's farewell; the circuits have ends of their own.
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(()),
            Err(error) => return Err(error.to_string()),
        }
    }
}

/// What is on its way into the stream.
#[derive(Default)]
struct Output {
    bytes: Vec<u8>,
    written: usize,
    unflushed: bool,
}

impl Output {
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
            if self.written == self.bytes.len() {
                self.bytes.clear();
                self.written = 0;
                match outbox.poll_fill(cx, &mut self.bytes) {
                    Poll::Ready(true) => {}
                    Poll::Ready(false) => more = false,
                    Poll::Pending => pending = true,
                }
                if self.bytes.is_empty() {
                    break;
                }
            }
            match stream.as_mut().poll_write(cx, &self.bytes[self.written..]) {
                Poll::Ready(Ok(0)) => return Poll::Ready(Err(io::ErrorKind::WriteZero.into())),
                Poll::Ready(Ok(length)) => {
                    self.written += length;
                    self.unflushed = true;
                }
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => {
                    pending = true;
                    break;
                }
            }
        }
        if self.unflushed {
            match stream.poll_flush(cx) {
                Poll::Ready(Ok(())) => self.unflushed = false,
                Poll::Ready(Err(error)) => return Poll::Ready(Err(error)),
                Poll::Pending => pending = true,
            }
        }
        if !more && !self.unflushed && self.written == self.bytes.len() {
            return Poll::Ready(Ok(false));
        }
        if !pending && more {
            // There may be more to write, and nobody else will wake us for it.
            cx.waker().wake_by_ref();
        }
        Poll::Pending
    }
}
