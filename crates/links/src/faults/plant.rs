//! Mistakes that are planted on purpose, each of which one invariant must notice.

/// A mistake, made as if a state machine or its driver made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// An end loses the second piece that comes to it.
    Lose(End),
    /// An end gives a piece out twice.
    Repeat(End),
    /// An end changes a byte.
    Alter(End),
    /// An end gives out bytes that nobody has sent.
    Forge(End),
    /// The exit ends streams in good order before all of theirs has come to this end.
    EndEarly(End),
    /// An end sends a stream's bytes as they are.
    Plaintext(End),
    /// The client never gives up.
    WaitForever,
    /// The client gives up after forty seconds.
    GiveUpLate,
    /// The exit looks at its target again and again.
    Spin,
    /// Within one event, there is always something more to do.
    Churn(Work),
    /// The client's errors name no hop.
    Nameless,
    /// The client's errors name the hop behind the right one.
    Misname,
    /// An end acknowledges what nobody has read.
    Hoard(End),
    /// The exit queues each cell many times.
    Pile,
    /// A relay takes any number of handshakes into its queue.
    LongQueue,
    /// A link may have any number of circuits.
    ManyCircuits,
    /// The client reads bytes and doesn't look whether they make a cell.
    Unfinished,
    /// A relay keeps what is over.
    Forget(Kept),
    /// A relay whose queue of handshakes is full refuses whoever comes last.
    Unfair,
    /// A relay ends another circuit of the link with the one that is spoilt.
    Neighbours,
    /// A circuit ends although it need not.
    Hurt(Hurt),
    /// Something depends on what no seed determines.
    Drift,
    /// A relay panics.
    Panic,
}

/// An end of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The client, to which the target's bytes come.
    Client,
    /// The exit, to which the client's bytes come.
    Exit,
}

/// What goes on until there is nothing more to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Work {
    /// What a client's circuit wants.
    Client,
    /// What a relay's circuit wants.
    Relay,
    /// What is to be sent over links.
    Links,
}

/// What a relay has of a circuit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// The circuit, if it ends with streams.
    Streams,
    /// The circuit.
    Circuits,
    /// Its number on the link that it came over.
    Numbers,
    /// Handshakes that wait to be computed.
    Handshakes,
    /// Cells for a link that is gone.
    Cells,
}

/// For what a circuit ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hurt {
    /// Nothing at all.
    Nothing,
    /// Padding on the link.
    Padding,
    /// A client's application that reads again.
    ClientReads,
    /// A target that reads again.
    TargetReads,
    /// Two seconds in which nothing comes.
    Outage,
}

impl Plant {
    /// All of them.
    pub const ALL: [Self; 40] = [
        Self::Lose(End::Client),
        Self::Lose(End::Exit),
        Self::Repeat(End::Client),
        Self::Repeat(End::Exit),
        Self::Alter(End::Client),
        Self::Alter(End::Exit),
        Self::Forge(End::Client),
        Self::Forge(End::Exit),
        Self::EndEarly(End::Client),
        Self::EndEarly(End::Exit),
        Self::Plaintext(End::Client),
        Self::Plaintext(End::Exit),
        Self::WaitForever,
        Self::GiveUpLate,
        Self::Spin,
        Self::Churn(Work::Client),
        Self::Churn(Work::Relay),
        Self::Churn(Work::Links),
        Self::Nameless,
        Self::Misname,
        Self::Hoard(End::Client),
        Self::Hoard(End::Exit),
        Self::Pile,
        Self::LongQueue,
        Self::ManyCircuits,
        Self::Unfinished,
        Self::Forget(Kept::Streams),
        Self::Forget(Kept::Circuits),
        Self::Forget(Kept::Numbers),
        Self::Forget(Kept::Handshakes),
        Self::Forget(Kept::Cells),
        Self::Unfair,
        Self::Neighbours,
        Self::Hurt(Hurt::Nothing),
        Self::Hurt(Hurt::Padding),
        Self::Hurt(Hurt::ClientReads),
        Self::Hurt(Hurt::TargetReads),
        Self::Hurt(Hurt::Outage),
        Self::Drift,
        Self::Panic,
    ];
}
