//! `http/circuit/{ttfb,bulk}`: pages through a circuit of three hops that is there, over HTTP/1.1.
//!
//! *ttfb*: from asking for a stream to the first byte of a page of one byte. *bulk*: ten million bytes, over one stream. In each table stand the
//! same with Tor's older relay cryptography (`candor@auto+tor1`), and the same page over a plain connection, without any relay
//! (`candor@auto+straight`), which is what the circuit costs.

use crate::ours::town::{Town, Way};
use crate::ours::{AUTO, on_links};
use candor_lab::{Entry, Mismatch, Outcomes, Provenance, Refusal, Subject, Task, Witness};
use candor_network::{Circuit, Crypto, Error, HandshakeType};

const TOR1: &str = "candor@auto+tor1";
const STRAIGHT: &str = "candor@auto+straight";
const HANDSHAKE: HandshakeType = HandshakeType::Hybrid768;

/// What is fetched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Page {
    FirstByte,
    Bulk,
}

impl Page {
    fn length(self) -> u64 {
        match self {
            Self::FirstByte => 1,
            Self::Bulk => 10_000_000,
        }
    }
}

/// Whether there is a circuit, and with which layers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Route {
    Circuit(Crypto),
    Straight,
}

/// Both tasks.
pub(super) fn tasks() -> Vec<Task> {
    let ttfb = "a page of one byte over HTTP/1.1 through three hops on 127.0.0.1, until that byte is there: BEGIN, the exit's connection, \
                request and answer; the circuit is there";
    let bulk = "a page of ten million bytes over HTTP/1.1 and one stream through three hops on 127.0.0.1, with congestion control; the circuit \
                is there";
    let length = Page::Bulk.length();
    vec![task("http/circuit/ttfb", ttfb, Page::FirstByte), task("http/circuit/bulk", bulk, Page::Bulk).bytes(length)]
}

fn task(name: &str, what: &str, page: Page) -> Task {
    let entry =
        |name, route| Entry::new(name, move || Ok(Fetches { page, route, ready: None, outcomes: Outcomes::default() }));
    Task::new(name, what)
        .entry(entry(AUTO, Route::Circuit(Crypto::Cgo)))
        .entry(entry(TOR1, Route::Circuit(Crypto::Tor1)))
        .entry(entry(STRAIGHT, Route::Straight))
}

/// Fetches pages.
struct Fetches {
    page: Page,
    route: Route,
    ready: Option<Ready>,
    outcomes: Outcomes,
}

struct Ready {
    /// Goes before the town does.
    circuit: Option<Circuit>,
    town: Town,
}

impl Ready {
    fn fetch(&self, length: u64, opened: impl FnOnce(), sink: impl FnMut(&[u8])) -> Result<(), Error> {
        let way = self.circuit.as_ref().map_or(Way::Straight, Way::Circuit);
        self.town.fetch_over(way, length, opened, sink)
    }

    fn page(&self, length: u64) -> Result<Vec<u8>, Error> {
        let mut page = Vec::new();
        self.fetch(length, || {}, |bytes| page.extend_from_slice(bytes))?;
        Ok(page)
    }
}

impl Fetches {
    fn once(&mut self, opened: impl FnOnce()) {
        let ready = self.ready.as_ref().expect("prepare comes before run");
        let mut length = 0;
        let fetched = ready.fetch(self.page.length(), opened, |bytes| length += bytes.len() as u64);
        self.outcomes.attempts += 1;
        self.outcomes.successes += u64::from(fetched.is_ok() && length == self.page.length());
    }
}

impl Subject for Fetches {
    /// A page whose length depends on the seed.
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let failed = |error: Error| Refusal::failed(error.to_string());
        let (crypto, hops) = match self.route {
            Route::Circuit(crypto) => (crypto, true),
            Route::Straight => (Crypto::Cgo, false),
        };
        let town = Town::new(crypto).map_err(failed)?;
        let circuit = hops.then(|| town.circuit(HANDSHAKE, |_| {})).transpose().map_err(failed)?;
        let ready = Ready { circuit, town };
        let page = ready.page(1000 + seed % 1000).map_err(failed)?;
        self.ready = Some(ready);
        Ok(Witness::default().with("page", page))
    }

    fn check(&mut self, other: &Witness) -> Result<(), Mismatch> {
        let ready = self.ready.as_ref().ok_or_else(|| Mismatch::new("was checked before it was prepared"))?;
        let theirs = other.part("page")?;
        let page = ready.page(theirs.len() as u64).map_err(|error| Mismatch::new(error.to_string()))?;
        Witness::default().with("page", page).same_as(other)
    }

    fn run(&mut self, iterations: u64) {
        for _ in 0..iterations {
            self.once(|| {});
        }
    }

    fn phases(&self) -> &'static [&'static str] {
        match self.page {
            Page::FirstByte => &["open", "answer"],
            Page::Bulk => &[],
        }
    }

    fn run_phased(&mut self, lap: &mut dyn FnMut()) {
        let mut laps = 0;
        self.once(|| {
            laps += 1;
            lap();
        });
        // A page that failed has its remaining phases all the same, or the epoch would not add up.
        (laps..self.phases().len()).for_each(|_| lap());
    }

    fn outcomes(&self) -> Option<Outcomes> {
        Some(self.outcomes)
    }

    fn provenance(&self) -> Provenance {
        let way = match self.route {
            Route::Circuit(crypto) => format!("through three relays in this process (layers: {})", crypto.name()),
            Route::Straight => "over a connection to the target".to_owned(),
        };
        let timed = format!(
            "a page {way}, read to its end; the target in this process makes its bytes and their SHA-256 before it answers, on a thread of \
             its own"
        );
        let mut provenance = on_links("candor_network::{Client, Relay, http}", &timed);
        provenance.threads = Some(7);
        if self.route == Route::Straight {
            provenance.different_operation = Some("no circuit: a connection of this machine's to the target".into());
        }
        provenance
    }
}
