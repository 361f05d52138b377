//! `candor onion fetch`.

use crate::Failure;
use crate::cli::{Cells, FetchArguments};
use crate::output::Talk;
use candor_network::http::{Url, get};
use candor_network::{Client, ClientOptions, Crypto, HandshakeType, ListedRelay, RelayList};
use std::fs::File;
use std::io::{self, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long the server may stand still.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn execute(arguments: &FetchArguments, talk: Talk) -> Result<(), Failure> {
    let url = Url::parse(&arguments.url)?;
    let handshake: HandshakeType = arguments.handshake.parse()?;
    let list = RelayList::load(&arguments.relays)?;
    let path = path(&list, arguments)?;
    let mut sink: Box<dyn Write> = match &arguments.output {
        Some(file) => {
            Box::new(File::create(file).map_err(|error| Failure::Error(format!("{}: {error}", file.display())))?)
        }
        None => Box::new(io::stdout().lock()),
    };
    let options = ClientOptions {
        crypto: match arguments.cells {
            Cells::Cgo => Crypto::Cgo,
            Cells::Tor1 => Crypto::Tor1,
        },
        not_post_quantum: Arc::new(move |relay, group| {
            talk.say(&format!("the link to {relay} has no post-quantum key exchange ({group})"));
        }),
        ..ClientOptions::default()
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let answer = runtime.block_on(async {
        let client = Client::new(options)?;
        let (start, mut laps) = (Instant::now(), Vec::new());
        let mut lap = |what: String| laps.push(format!("{what} at {}", milliseconds(start.elapsed())));
        client.connect(path[0]).await?;
        lap("link".to_owned());
        let mut circuit = client.first_hop(path[0], handshake).await?;
        lap("hop 1".to_owned());
        for (index, relay) in path.iter().enumerate().skip(1) {
            circuit.extend(relay, handshake).await?;
            lap(format!("hop {}", index + 1));
        }
        talk.say(&format!("circuit by {handshake}: {}", laps.join(", ")));
        let start = Instant::now();
        let stream = circuit.open(url.host(), url.port()).await?;
        let answer = get(stream, &url, PATIENCE, |bytes| sink.write_all(bytes)).await?;
        talk.say(&format!("{} bytes in {}", answer.length, milliseconds(start.elapsed())));
        Ok::<_, candor_network::Error>(answer)
    })?;
    sink.flush()?;
    match answer.status {
        200..=299 => Ok(()),
        status => Err(Failure::Condition(format!("{url}: the server answers with status {status}"))),
    }
}

fn path<'a>(list: &'a RelayList, arguments: &FetchArguments) -> Result<Vec<&'a ListedRelay>, Failure> {
    let file = arguments.relays.display();
    if arguments.path.is_empty() {
        let path: Vec<_> = list.relays().iter().take(arguments.hops.into()).collect();
        return match path.len() == usize::from(arguments.hops) {
            true => Ok(path),
            false => {
                Err(Failure::Error(format!("{file} lists {} relays, and {} are wanted", path.len(), arguments.hops)))
            }
        };
    }
    let find = |wanted: &String| {
        let mut found = list.relays().iter().filter(|relay| relay.is_called(wanted));
        match (found.next(), found.next()) {
            (Some(relay), None) => Ok(relay),
            (Some(_), Some(_)) => Err(Failure::Error(format!("{file} lists more than one relay `{wanted}`"))),
            (None, _) => Err(Failure::Error(format!("{file} lists no relay `{wanted}`"))),
        }
    };
    arguments.path.iter().map(find).collect()
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1} ms", time.as_secs_f64() * 1e3)
}
