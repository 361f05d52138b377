//! Bounds on what others may make a relay do and keep. `docs/threats.md` sets each beside the attack that it stops.

use candor_onion::circuit::Limits;
use std::time::Duration;

/// Bounds on what others may make a relay do and keep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RelayLimits {
    /// Threads for circuit handshakes. Defaults to half as many as the machine runs at a time, so that a flood of creations leaves
    /// the other half to cells.
    pub handshake_threads: usize,
    /// Handshakes that may wait. Over it, the link with the most waiting loses one, with RESOURCELIMIT.
    pub handshake_queue: usize,
    /// Links, in and out. An eighth of them is kept for links with relays of our list. When strangers have taken the rest, an idle link
    /// of the network with the most yields to a newcomer.
    pub links: usize,
    /// Incoming connections of strangers that have not finished the link handshake.
    pub half_open: usize,
    /// A stranger's link that has carried no cell for this long may be closed for a newcomer when all places are taken.
    pub idle_link: Duration,
    /// Links that one listed relay may make to us without being counted like a stranger.
    pub links_per_relay: usize,
    /// Links that are being made to other relays. A quarter of them is kept for relays of our list, at their listed addresses.
    pub attempts: usize,
    /// Of these, how many one asker may have under way at a time: the links of one network of strangers together, or a listed relay's
    /// link. A listed relay carries many clients, and may ask for a quarter of [`attempts`](Self::attempts). So may anyone for
    /// relays of our list.
    pub attempts_per_asker: usize,
    /// Of these, how many may be on their way to one network: a network that never answers holds no more.
    pub attempts_per_target: usize,
    /// Of these, how many one asker may have; a listed relay's link may have four times as many.
    pub attempts_per_asker_and_target: usize,
    /// Circuits on one link.
    pub circuits: usize,
    /// Circuits on all links.
    pub all_circuits: usize,
    /// What one /24 of IPv4 or /48 of IPv6 may take. Listed relays and [test networks](super::RelayConfig::test_networks) are exempt.
    pub network: NetworkLimits,
    /// Networks that are remembered at a time.
    pub networks: usize,
    /// Onionskins that are remembered, so that each makes one circuit only. A relay remembers at least so many, and at most twice as many.
    pub onionskins: usize,
    /// Connections of the exit at a time. When there are so many, the link and the circuit with the most make room for others.
    pub streams: usize,
    /// Directory requests (BEGIN_DIR) at a time. When there are so many, whoever has most makes room for others.
    pub directory_streams: usize,
    /// Of these, how many one network of strangers, or one circuit of a listed relay's link, may have.
    pub directory_streams_per_payer: usize,
    /// How long a directory request may take, from BEGIN_DIR to the last byte of the answer. A client that takes 42 kB a second has a consensus of the public network's length in that time.
    pub directory_stream: Duration,
    /// Cells in all queues and unread in all streams together; 100,000 are 53 MB.
    pub cells: usize,
    /// How long a link may take to come about.
    pub link: Duration,
    /// How long a neighbour may take nothing of what is queued for it, before its link is closed. A second is enough if all of
    /// [`cells`](Self::cells) are used up, the neighbour is a stranger, and its network holds most of them.
    pub stuck: Duration,
    /// How long a circuit without streams may carry nothing before it is closed. A minute is enough if three quarters of
    /// [`all_circuits`](Self::all_circuits) are used up.
    pub idle_circuit: Duration,
    /// How long an exit's connection may take to come about.
    pub connect: Duration,
    /// How long an exit's connection may carry nothing.
    pub idle_stream: Duration,
    /// Lines of the log for one kind of event in a minute; the rest is counted.
    pub log_lines: u32,
    /// A circuit's own bounds.
    pub circuit: Limits,
}

/// What strangers from one network may take: a /24 of IPv4, or a /48 of IPv6.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NetworkLimits {
    /// Connections at a time, with or without a finished handshake.
    pub connections: usize,
    /// Connections at a time that have not finished the link handshake.
    pub half_open: usize,
    /// Connections by rate.
    pub connects: Rate,
    /// Circuits at a time.
    pub circuits: usize,
    /// Circuit creations by rate.
    pub creations: Rate,
    /// Connections at a time from the address of a listed relay that have not yet proved to be that relay. These are counted for the
    /// address, not for its network.
    pub unproven: usize,
    /// Links that we have made to it, if its relays are not on our list.
    pub dialled: usize,
    /// Links that we have made to relays that are not on our list because its circuits asked for them. A listed relay's link may ask for
    /// four times as many.
    pub asked: usize,
}

/// So many at once, and then so many a second.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rate {
    /// How many may come at once after a pause.
    pub burst: u32,
    /// How many may come a second after that.
    pub per_second: u32,
}

impl Default for RelayLimits {
    fn default() -> Self {
        Self {
            handshake_threads: std::thread::available_parallelism().map_or(1, |threads| (threads.get() / 2).max(1)),
            handshake_queue: 256,
            links: 4096,
            half_open: 1024,
            idle_link: Duration::from_secs(60),
            links_per_relay: 8,
            attempts: 512,
            attempts_per_asker: 16,
            attempts_per_target: 64,
            attempts_per_asker_and_target: 4,
            circuits: 8192,
            all_circuits: 1 << 16,
            network: NetworkLimits::default(),
            networks: 1 << 16,
            onionskins: 1 << 16,
            streams: 4096,
            directory_streams: 64,
            // C tor's clients ask for several batches of microdescriptors at a time.
            directory_streams_per_payer: 8,
            directory_stream: Duration::from_secs(60),
            cells: 200_000,
            link: Duration::from_secs(10),
            stuck: Duration::from_secs(60),
            idle_circuit: Duration::from_secs(3600),
            connect: Duration::from_secs(15),
            idle_stream: Duration::from_secs(30 * 60),
            log_lines: 20,
            circuit: Limits::default(),
        }
    }
}

impl Default for NetworkLimits {
    fn default() -> Self {
        Self {
            connections: 128,
            half_open: 32,
            connects: Rate { burst: 128, per_second: 20 },
            circuits: 2048,
            creations: Rate { burst: 512, per_second: 32 },
            unproven: 8,
            dialled: 64,
            asked: 64,
        }
    }
}
