//! Servers on threads of their own, in this process.

use std::any::Any;
use std::io;
use std::sync::mpsc;
use std::thread::{self, JoinHandle};
use tokio::runtime::{Builder, Runtime};
use tokio::sync::oneshot;

/// What lives as long as its thread.
pub(crate) type Kept = Box<dyn Any>;

/// A thread with a runtime that serves until this is dropped.
pub(crate) struct Thread {
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Thread {
    /// Starts `serve` on a thread of its own, and gives what it started. `broken` makes an error of what is wrong with the thread itself.
    pub(crate) fn new<T, E, F>(
        broken: fn(String) -> E,
        serve: impl FnOnce() -> F + Send + 'static,
    ) -> Result<(T, Self), E>
    where
        T: Send + 'static,
        E: Send + 'static,
        F: Future<Output = Result<(T, Kept), E>>,
    {
        let (ready, started) = mpsc::channel();
        let (stop, stopped) = oneshot::channel();
        let thread = thread::spawn(move || {
            let runtime = match runtime() {
                Ok(runtime) => runtime,
                Err(error) => return drop(ready.send(Err(broken(format!("no runtime: {error}"))))),
            };
            runtime.block_on(async move {
                let kept = match serve().await {
                    Ok((started, kept)) => {
                        let _ = ready.send(Ok(started));
                        kept
                    }
                    Err(error) => return drop(ready.send(Err(error))),
                };
                let _ = stopped.await;
                drop(kept);
            });
        });
        let started = started.recv().map_err(|_| broken("a server's thread has died".to_owned()))??;
        Ok((started, Self { stop: Some(stop), thread: Some(thread) }))
    }
}

impl Drop for Thread {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// A runtime of one thread, the caller's.
pub(crate) fn runtime() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_all().build()
}
