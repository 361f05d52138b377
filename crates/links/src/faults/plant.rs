//! Mistakes that are planted on purpose, each of which one invariant must notice.

/// A mistake, made as if a state machine or its driver made it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Plant {
    /// The client loses the second piece of a stream.
    Lose,
    /// The client gives a piece out twice.
    Repeat,
    /// The client changes a byte.
    Alter,
    /// The client gives out bytes that nobody has sent.
    Forge,
    /// The exit ends streams in good order before all is sent.
    EndEarly,
    /// The exit sends a stream's bytes as they are.
    Plaintext,
    /// The client never gives up.
    WaitForever,
    /// The exit looks at its target again and again.
    Spin,
    /// The client's errors name no hop.
    Nameless,
    /// The client acknowledges what its application has not read.
    Hoard,
    /// A relay takes any number of handshakes into its queue.
    LongQueue,
    /// A relay does not forget circuits that have ended.
    Forget,
    /// A relay whose queue of handshakes is full refuses whoever comes last.
    Unfair,
    /// A relay ends another circuit of the link with the one that is spoilt.
    Neighbours,
    /// Something depends on what no seed determines.
    Drift,
    /// A relay panics.
    Panic,
}

impl Plant {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::Lose,
        Self::Repeat,
        Self::Alter,
        Self::Forge,
        Self::EndEarly,
        Self::Plaintext,
        Self::WaitForever,
        Self::Spin,
        Self::Nameless,
        Self::Hoard,
        Self::LongQueue,
        Self::Forget,
        Self::Unfair,
        Self::Neighbours,
        Self::Drift,
        Self::Panic,
    ];
}
