//! A circuit at its client, on its link.

use super::{ClientLink, ClientOptions};
use crate::Error;
use crate::link::{Budget, Full, SHORT, locked};
use crate::onion_keys::{Offer, with_offer};
use crate::relay_list::ListedRelay;
use crate::stream::{Carrier, CircuitStream, Ends, Read};
use candor_onion::cell::Message;
use candor_onion::circuit::{Cause, ClientAction, ClientCircuit, Failure, HopOptions, StreamId};
use candor_onion::handshake::HandshakeType;
use candor_onion::layer::Crypto;
use candor_onion::relay::message::{Begin, EndReason, NextRelay, Resolve, Resolved};
use candor_primitives::kem::ml_kem::MlKem768;
use std::collections::HashMap;
use std::fmt;
use std::future::poll_fn;
use std::io;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, OnceLock};
use std::task::{Context, Poll, Waker, ready};
use std::time::{Duration, Instant};
use tokio::io::ReadBuf;
use tokio::sync::Mutex as AsyncMutex;
use tokio::time::{timeout, timeout_at};

/// A circuit. Dropping it destroys it, with its streams.
pub struct Circuit(Arc<State>);

pub(super) struct State {
    link: Arc<ClientLink>,
    number: OnceLock<u32>,
    crypto: Crypto,
    /// How long a stream may take to be opened.
    patience: Duration,
    inner: Mutex<Inner>,
    /// When the hops were last asked for a sign of life, and what came of it. Held while they are asked.
    asked: AsyncMutex<Option<(Instant, Option<Stuck>)>>,
}

/// Where a circuit is stuck.
#[derive(Clone, Copy)]
enum Stuck {
    /// At that hop, from 0.
    At(usize),
    /// Hop 1 has not answered, and something has come over the link: its answer, and those of the hops behind it, may wait behind that. Whether that were cells from
    /// behind it, on other circuits.
    Somewhere { others_came: bool },
}

struct Inner {
    machine: ClientCircuit,
    streams: Ends,
    failure: Option<Failure>,
    /// Cells of this circuit were lost for want of room; only its end is sent.
    overflowed: bool,
    /// The relays, as the list names them.
    relays: Vec<String>,
    /// Hops that have answered the last probes.
    answered: Vec<bool>,
    /// Who waits for a hop.
    builder: Option<Waker>,
    /// Answers to look-ups that nobody has taken yet.
    answers: HashMap<StreamId, Resolved>,
}

impl Circuit {
    pub(super) fn new(state: Arc<State>) -> Self {
        Self(state)
    }

    pub(super) async fn create(&mut self, relay: &ListedRelay, offer: &Offer) -> Result<(), Error> {
        let options = self.0.options(relay, false);
        self.0.ask(relay, |machine| {
            with_offer!(offer, |handshake, public| machine.create(handshake, public, options, Instant::now()))
        })?;
        self.hop(1).await
    }

    /// Adds a hop.
    ///
    /// # Errors
    /// [`Error::Handshake`] if the relay does not offer the handshake; [`Error::Circuit`], after which the circuit is over.
    pub async fn extend(&mut self, relay: &ListedRelay, handshake: HandshakeType) -> Result<(), Error> {
        self.extend_by(relay, handshake, false).await
    }

    /// Adds a hop and gives its layer new keys by an ML-KEM exchange inside the circuit (experimental; `docs/upgrade.md` of `candor-onion`). It is for a relay of
    /// ours behind relays of C tor's, which know no post-quantum handshake.
    ///
    /// # Errors
    /// Those of [`Self::extend`]; [`Error::NoUpgrade`] if the relay does not agree, which only it can say while X25519 holds.
    pub async fn extend_and_upgrade(&mut self, relay: &ListedRelay, handshake: HandshakeType) -> Result<(), Error> {
        self.extend_by(relay, handshake, true).await?;
        self.0.with(|inner| {
            if let Some(failure) = inner.failure {
                return Err(inner.error(failure));
            }
            let hop = inner.machine.hops();
            if !inner.machine.can_upgrade() {
                return Err(Error::NoUpgrade { hop, relay: relay.to_string() });
            }
            let begun = inner.machine.upgrade(&MlKem768::new(), Instant::now());
            begun.map_err(|error| inner.error(Failure { hop: Some(hop), cause: Cause::Handshake(error) }))
        })?;
        self.until(ClientCircuit::is_upgraded).await
    }

    async fn extend_by(&mut self, relay: &ListedRelay, handshake: HandshakeType, upgrade: bool) -> Result<(), Error> {
        let offer = relay.offer(handshake)?;
        let options = self.0.options(relay, upgrade);
        let next = NextRelay {
            addresses: vec![relay.address()],
            ed25519: Some(*relay.identity()),
            rsa: relay.rsa_identity().copied(),
        };
        let hops = self.0.ask(relay, |machine| {
            with_offer!(offer, |handshake, public| machine.extend(handshake, public, &next, options, Instant::now()))
        })?;
        self.hop(hops + 1).await
    }

    /// Waits until the circuit has so many hops.
    async fn hop(&self, hops: usize) -> Result<(), Error> {
        self.until(|machine| machine.hops() >= hops).await
    }

    /// Waits until the circuit is as asked.
    async fn until(&self, is_done: impl Fn(&ClientCircuit) -> bool) -> Result<(), Error> {
        let built = poll_fn(|cx| {
            let mut inner = locked(&self.0.inner);
            if let Some(failure) = inner.failure {
                return Poll::Ready(Err(inner.error(failure)));
            }
            if is_done(&inner.machine) {
                return Poll::Ready(Ok(()));
            }
            inner.builder = Some(cx.waker().clone());
            Poll::Pending
        });
        let mut built = std::pin::pin!(built);
        loop {
            let deadline = locked(&self.0.inner).machine.deadline();
            let Some(deadline) = deadline else { return built.await };
            match timeout_at(deadline.into(), built.as_mut()).await {
                Ok(result) => return result,
                Err(_) => self.0.with(|inner| inner.machine.tick(Instant::now())),
            }
        }
    }

    /// Opens a stream from the last hop to a host (a name, an IPv4 address, or an IPv6 address in brackets) and a port.
    ///
    /// # Errors
    /// [`Error::Stream`] if the exit refuses; [`Error::Timeout`] if it says nothing in time; [`Error::Circuit`] if the circuit is over;
    /// [`Error::TooManyStreams`]; [`Error::Internal`] if the host can't be sent.
    pub async fn open(&self, host: &str, port: u16) -> Result<CircuitStream, Error> {
        let target = Begin::new(host, port).map_err(|error| Error::Internal(error.to_string()))?;
        let id = self.0.start(|machine| machine.begin(&target))?;
        // From here on dropping this future ends the stream.
        let stream = CircuitStream::new(Arc::clone(&self.0) as Arc<dyn Carrier>, id);
        let answer = poll_fn(|cx| {
            let mut inner = locked(&self.0.inner);
            match (inner.failure, inner.streams.poll_connected(id, cx)) {
                (Some(failure), _) => Poll::Ready(Err(inner.error(failure))),
                (None, answer) => answer.map_err(|reason| inner.refused(format!("{host}:{port}"), reason)),
            }
        });
        let patience = self.0.patience;
        match timeout(patience, answer).await {
            Ok(answer) => answer.map(|()| stream),
            Err(_) => {
                stream.set_reason(EndReason::TIMEOUT);
                Err(Error::Timeout { what: format!("opening a stream to {host}:{port}"), after: patience })
            }
        }
    }

    /// Asks the last hop for the addresses of a name; there is at least one.
    ///
    /// # Errors
    /// As for [`Self::open`]. The reason of [`Error::Stream`] is RESOLVEFAILED if there is no answer, and RESOURCELIMIT if there may be one later
    /// or from another exit.
    pub async fn addresses(&self, name: &str) -> Result<Vec<IpAddr>, Error> {
        let question = Resolve::name(name).map_err(|error| Error::Internal(error.to_string()))?;
        match self.ask_exit(&question, name).await? {
            Resolved::Addresses(addresses) => Ok(addresses),
            _ => Err(self.no_answer(name)),
        }
    }

    /// Asks the last hop for the name of an address.
    ///
    /// # Errors
    /// As for [`Self::addresses`].
    pub async fn name(&self, address: IpAddr) -> Result<String, Error> {
        let what = address.to_string();
        match self.ask_exit(&Resolve::Pointer(address), &what).await? {
            Resolved::Name(name) => Ok(name),
            _ => Err(self.no_answer(&what)),
        }
    }

    fn no_answer(&self, what: &str) -> Error {
        locked(&self.0.inner).refused(what.to_owned(), EndReason::RESOLVEFAILED)
    }

    /// Waits for the answer to a look-up.
    async fn ask_exit(&self, question: &Resolve, what: &str) -> Result<Resolved, Error> {
        let id = self.0.start(|machine| machine.resolve(question))?;
        // From here on dropping this future gives the question up.
        let stream = CircuitStream::new(Arc::clone(&self.0) as Arc<dyn Carrier>, id);
        let answer = poll_fn(|cx| {
            let mut inner = locked(&self.0.inner);
            if let Some(answer) = inner.answers.remove(&id) {
                return Poll::Ready(match answer {
                    Resolved::Failed { transient: true } => {
                        Err(inner.refused(what.to_owned(), EndReason::RESOURCELIMIT))
                    }
                    Resolved::Failed { transient: false } => {
                        Err(inner.refused(what.to_owned(), EndReason::RESOLVEFAILED))
                    }
                    answer => Ok(answer),
                });
            }
            match (inner.failure, inner.streams.poll_connected(id, cx)) {
                (Some(failure), _) => Poll::Ready(Err(inner.error(failure))),
                // Answered and taken: this is not polled again.
                (None, Poll::Pending | Poll::Ready(Ok(()))) => Poll::Pending,
                (None, Poll::Ready(Err(reason))) => Poll::Ready(Err(inner.refused(what.to_owned(), reason))),
            }
        });
        let patience = self.0.patience;
        match timeout(patience, answer).await {
            Ok(answer) => answer,
            Err(_) => {
                stream.set_reason(EndReason::TIMEOUT);
                Err(Error::Timeout { what: format!("looking up {what}"), after: patience })
            }
        }
    }

    /// Finds out which hop no longer answers, when a circuit carries nothing any more and no relay has ended it: asks every hop for a
    /// sign of life, and waits for `patience`. The error names the first hop without an answer. It or the way to it is stuck; `None`
    /// if all answer, so that whatever is slow lies behind the last hop. A link over which nothing comes takes no circuits any more. If something comes and hop 1
    /// doesn't answer, its answer may wait behind what exits send to this client, and so may those of the hops behind it: then the circuit is well if it
    /// has brought a cell from behind hop 1 meanwhile, and otherwise nobody knows ([`Error::Late`]). Of several callers one asks, and the others take the answer, if the
    /// question was put after they came.
    pub async fn silent_hop(&self, patience: Duration) -> Option<Error> {
        let came = Instant::now();
        let mut asked = self.0.asked.lock().await;
        let silent = match *asked {
            Some((when, silent)) if when >= came => silent,
            _ => {
                let when = Instant::now();
                let silent = self.ask_all(patience).await;
                *asked = Some((when, silent));
                silent
            }
        };
        self.silence(silent, patience)
    }

    /// What is wrong with a circuit that is stuck there.
    fn silence(&self, stuck: Option<Stuck>, after: Duration) -> Option<Error> {
        let inner = locked(&self.0.inner);
        if let Some(failure) = inner.failure {
            return Some(inner.error(failure));
        }
        let relay = |hop: usize| inner.relays.get(hop).cloned().unwrap_or_default();
        Some(match stuck? {
            Stuck::At(hop) => Error::Silent { hop: hop + 1, relay: relay(hop), after },
            Stuck::Somewhere { others_came } => Error::Late { relay: relay(0), after, others_came },
        })
    }

    /// Where the circuit is stuck, if any hop gives no sign of life in time.
    async fn ask_all(&self, patience: Duration) -> Option<Stuck> {
        let (heard, carried) = (self.0.link.heard(), self.0.link.carried());
        let (hops, came) = self.0.with(|inner| {
            let hops = inner.machine.hops();
            // A question counts as a stream. A hop that has too many of ours to be asked one more is not taken for silent.
            inner.answered = (1..=hops).map(|hop| inner.machine.probe(hop).is_err()).collect();
            (hops, inner.machine.carried())
        });
        let all = poll_fn(|cx| {
            let mut inner = locked(&self.0.inner);
            if inner.failure.is_some() || inner.answered.iter().all(|answered| *answered) {
                return Poll::Ready(());
            }
            inner.builder = Some(cx.waker().clone());
            Poll::Pending
        });
        let is_late = timeout(patience, all).await.is_err();
        let is_dead = self.0.link.heard() == heard;
        if is_dead && is_late {
            self.0.link.retire();
        }
        let inner = locked(&self.0.inner);
        match (0..hops).find(|hop| !inner.answered[*hop])? {
            // A guard that would have others wait can't make such cells itself.
            0 if inner.machine.carried() > came => None,
            0 if !is_dead => Some(Stuck::Somewhere { others_came: self.0.link.carried() > carried }),
            hop => Some(Stuck::At(hop)),
        }
    }

    /// How many hops there are.
    pub fn hops(&self) -> usize {
        locked(&self.0.inner).machine.hops()
    }

    /// Whether its link takes no circuits any more.
    pub(crate) fn is_retired(&self) -> bool {
        self.0.link.is_retired()
    }

    /// Why the circuit is over, if it is.
    pub fn failure(&self) -> Option<Error> {
        let inner = locked(&self.0.inner);
        inner.failure.map(|failure| inner.error(failure))
    }
}

impl Drop for Circuit {
    fn drop(&mut self) {
        self.0.with(|inner| inner.machine.close());
    }
}

impl fmt::Debug for Circuit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Circuit({} hops)", self.hops())
    }
}

impl State {
    pub(super) fn new(
        link: Arc<ClientLink>,
        options: &ClientOptions,
        budget: &Arc<Budget>,
    ) -> Result<Arc<Self>, Error> {
        let inner = Inner {
            machine: ClientCircuit::new(options.limits, link.wide),
            streams: Ends::new(Arc::clone(budget)),
            failure: None,
            overflowed: false,
            relays: Vec::new(),
            answered: Vec::new(),
            builder: None,
            answers: HashMap::new(),
        };
        let (crypto, patience) = (options.crypto, options.stream);
        let state = Arc::new(Self {
            link,
            number: OnceLock::new(),
            crypto,
            patience,
            inner: Mutex::new(inner),
            asked: AsyncMutex::new(None),
        });
        // Held until the number is known, since from `open` on the other side can send for it.
        let held = locked(&state.inner);
        let number = state.link.open(Arc::clone(&state));
        let number = number.map_err(|reason| Error::Internal(format!("no circuit on this link: {reason}")))?;
        let _ = state.number.set(number);
        drop(held);
        Ok(state)
    }

    /// What to ask a relay for. Post-quantum onionskins need fragments, which only our relays know; a relay of Tor's would refuse the
    /// handshake. So fragments are asked for only where the relay offers a post-quantum handshake.
    fn options(&self, relay: &ListedRelay, upgrade: bool) -> HopOptions {
        HopOptions { crypto: self.crypto, fragments: relay.handshakes().any(HandshakeType::is_post_quantum), upgrade }
    }

    /// Asks for another hop, and says how many there are.
    fn ask(
        &self,
        relay: &ListedRelay,
        start: impl FnOnce(&mut ClientCircuit) -> Result<(), candor_onion::Error>,
    ) -> Result<usize, Error> {
        self.with(|inner| {
            if let Some(failure) = inner.failure {
                return Err(inner.error(failure));
            }
            let hops = inner.machine.hops();
            inner.relays.truncate(hops);
            inner.relays.push(relay.to_string());
            let started = start(&mut inner.machine);
            started
                .map(|()| hops)
                .map_err(|error| inner.error(Failure { hop: Some(hops + 1), cause: Cause::Handshake(error) }))
        })
    }

    /// Begins a stream, or what counts as one.
    fn start(
        &self,
        begin: impl FnOnce(&mut ClientCircuit) -> Result<StreamId, candor_onion::Error>,
    ) -> Result<StreamId, Error> {
        self.with(|inner| match (begin(&mut inner.machine), inner.failure) {
            (Ok(id), _) => {
                inner.streams.open(id);
                Ok(id)
            }
            (Err(_), Some(failure)) => Err(inner.error(failure)),
            (Err(candor_onion::Error::NotNow(_)), None) if inner.machine.hops() > 0 => Err(Error::TooManyStreams),
            (Err(error), None) => Err(Error::Internal(error.to_string())),
        })
    }

    fn number(&self) -> u32 {
        *self.number.get().expect("a circuit is given its number before anybody has it")
    }

    pub(super) fn receive(&self, message: Message) {
        self.with(|inner| {
            let before = inner.machine.carried();
            inner.machine.receive(message, Instant::now());
            self.link.carry(inner.machine.carried() - before);
        });
    }

    pub(super) fn link_closed(&self) {
        self.with(|inner| inner.machine.link_closed());
    }

    /// Lets `work` change the circuit, and does what it then wants done.
    fn with<T>(&self, work: impl FnOnce(&mut Inner) -> T) -> T {
        let mut inner = locked(&self.inner);
        let result = work(&mut inner);
        while let Some(action) = inner.machine.poll() {
            self.act(&mut inner, action);
        }
        result
    }

    fn act(&self, inner: &mut Inner, action: ClientAction) {
        match action {
            ClientAction::Send(Message::Relay(_) | Message::RelayEarly(_)) if inner.overflowed => {}
            ClientAction::Send(message) => match self.link.outbox.push(self.number(), message) {
                Ok(queued) => inner.machine.set_blocked(queued >= SHORT),
                Err(Full) => {
                    self.link.outbox.clear(self.number());
                    inner.overflowed = true;
                    inner.machine.overflow();
                }
            },
            ClientAction::Extended { .. } | ClientAction::Upgraded { .. } => inner.wake_builder(),
            ClientAction::Answered { hop } => {
                if let Some(answered) = inner.answered.get_mut(hop - 1) {
                    *answered = true;
                }
                inner.wake_builder();
            }
            ClientAction::Connected { stream, .. } => inner.streams.connected(stream),
            ClientAction::Resolved { stream, answer } => {
                inner.answers.insert(stream, answer);
                inner.streams.connected(stream);
            }
            ClientAction::Data { stream, bytes } => match inner.streams.data(stream, bytes) {
                Ok(nobodys) => inner.machine.consumed(stream, nobodys),
                Err(Full) => inner.machine.overflow(),
            },
            ClientAction::Ended { stream, reason } => inner.streams.over(stream, reason),
            ClientAction::Writable { stream } => inner.streams.writable(stream),
            ClientAction::Closed(failure) => {
                self.link.forget(self.number());
                inner.failure = Some(failure);
                inner.streams.clear();
                inner.answers.clear();
                inner.wake_builder();
            }
            _ => {}
        }
    }
}

impl Inner {
    fn wake_builder(&mut self) {
        if let Some(waker) = self.builder.take() {
            waker.wake();
        }
    }

    fn error(&self, failure: Failure) -> Error {
        let relay = failure.hop.and_then(|hop| self.relays.get(hop.wrapping_sub(1)));
        Error::Circuit { failure, relay: relay.cloned() }
    }

    /// The last hop did not open a stream.
    fn refused(&self, target: String, reason: EndReason) -> Error {
        let hop = self.machine.hops();
        let relay = self.relays.get(hop.wrapping_sub(1)).cloned().unwrap_or_default();
        Error::Stream { target, hop, relay, reason }
    }

    /// What a stream's user sees when the circuit is over, or the stream.
    fn gone(&self, reason: Option<EndReason>) -> io::Error {
        match (self.failure, reason) {
            (Some(failure), _) => io::Error::new(io::ErrorKind::ConnectionAborted, self.error(failure)),
            (None, Some(reason)) => io::Error::new(io::ErrorKind::ConnectionReset, reason.to_string()),
            (None, None) => io::ErrorKind::BrokenPipe.into(),
        }
    }
}

impl State {
    /// How many bytes of the stream the machine takes, at least one; it is asked once the link's queue is short.
    fn poll_room(
        &self,
        stream: StreamId,
        cx: &mut Context<'_>,
        takes: impl FnOnce(&mut ClientCircuit) -> Result<usize, candor_onion::Error>,
    ) -> Poll<io::Result<usize>> {
        ready!(self.link.outbox.poll_room(self.number(), cx));
        self.with(|inner| match takes(&mut inner.machine) {
            Ok(0) => {
                inner.streams.wait_writable(stream, cx);
                Poll::Pending
            }
            Ok(length) => Poll::Ready(Ok(length)),
            Err(_) => Poll::Ready(Err(inner.gone(inner.streams.reason(stream)))),
        })
    }
}

impl Carrier for State {
    fn poll_receive(&self, stream: StreamId, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        self.with(|inner| match inner.streams.read(stream, cx, buffer) {
            Read::Bytes(length) => {
                inner.machine.consumed(stream, length);
                Poll::Ready(Ok(()))
            }
            Read::Wait => Poll::Pending,
            Read::Over(EndReason::DONE) => Poll::Ready(Ok(())),
            Read::Over(reason) => Poll::Ready(Err(inner.gone(Some(reason)))),
            Read::Gone => Poll::Ready(Err(inner.gone(None))),
        })
    }

    fn poll_send(&self, stream: StreamId, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        self.poll_room(stream, cx, |machine| machine.send(stream, bytes, Instant::now()))
    }

    fn poll_sendable(&self, stream: StreamId, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        self.poll_room(stream, cx, |machine| machine.sendable(stream))
    }

    fn poll_gone(&self, stream: StreamId, cx: &mut Context<'_>) -> Poll<()> {
        locked(&self.inner).streams.poll_gone(stream, cx)
    }

    fn end(&self, stream: StreamId, reason: EndReason) {
        self.with(|inner| {
            let unread = inner.streams.forget(stream);
            inner.answers.remove(&stream);
            // It may have been ended from the other side.
            let _ = inner.machine.end_stream(stream, reason);
            inner.machine.consumed(stream, unread);
        });
    }
}
