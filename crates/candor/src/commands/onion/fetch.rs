//! `candor onion fetch`.

use super::{can_be_upgraded, directory};
use crate::Failure;
use crate::cli::{Cells, FetchArguments};
use crate::output::Talk;
use candor_network::directory::Directory;
use candor_network::http::{Url, get};
use candor_network::{Client, ClientOptions, Crypto, HandshakeType, ListedRelay, RelayList};
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long each hop has for a sign of life, once a fetch has stalled.
const SIGN_OF_LIFE: Duration = Duration::from_secs(5);

pub(super) fn execute(arguments: &FetchArguments, talk: Talk) -> Result<(), Failure> {
    let url = Url::parse(&arguments.url)?;
    let handshake: HandshakeType = arguments.handshake.parse()?;
    let deadline = Instant::now() + Duration::from_secs(arguments.wait.into());
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let directory = directory::open(&arguments.directories, talk)?;
    let mut source = Source { arguments, directory, known: false };
    let list = loop {
        let suitable = |list: RelayList| match path(&list, arguments, &url, handshake) {
            Ok(_) => Ok(list),
            Err(failure) => Err(failure),
        };
        let start = Instant::now();
        match runtime.block_on(source.list(handshake)).and_then(suitable) {
            Ok(list) => {
                if source.directory.is_some() {
                    talk.say(&format!(
                        "consensus: {} relays offer {handshake}, {}",
                        list.relays().len(),
                        milliseconds(start.elapsed())
                    ));
                }
                break list;
            }
            // A consensus that was known may lack relays that a newer one has.
            Err(_) if source.known => {}
            Err(_) if Instant::now() < deadline => std::thread::sleep(Duration::from_millis(100)),
            Err(failure) => return Err(failure),
        }
    };
    let path = path(&list, arguments, &url, handshake)?;
    if arguments.upgrade {
        can_be_upgraded(path.len(), handshake)?;
    }
    let mut page = Page::new(arguments.output.as_deref())?;
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
    let patience = Duration::from_secs(arguments.patience.into());
    let fetched = runtime.block_on(async {
        let client = Client::new(options)?;
        let (start, mut laps) = (Instant::now(), Vec::new());
        let mut lap = |what: String| laps.push(format!("{what} at {}", milliseconds(start.elapsed())));
        client.connect(path[0]).await?;
        lap("link".to_owned());
        let mut circuit = client.first_hop(path[0], handshake).await?;
        lap("hop 1".to_owned());
        for (index, relay) in path.iter().enumerate().skip(1) {
            match arguments.upgrade && index + 1 == path.len() {
                true => circuit.extend_and_upgrade(relay, handshake).await?,
                false => circuit.extend(relay, handshake).await?,
            }
            lap(format!("hop {}", index + 1));
        }
        talk.say(&format!("circuit by {handshake}: {}", laps.join(", ")));
        if arguments.upgrade {
            talk.say("experimental: the layer of the last relay has post-quantum keys; the layers before it, and the route, do not");
        }
        let start = Instant::now();
        let stream = circuit.open(url.host(), url.port()).await?;
        let answer = match get(stream, &url, patience, |bytes| page.write(bytes)).await {
            // Perhaps it isn't the server that stalls.
            Err(stalled @ candor_network::Error::Timeout { .. }) => {
                return Err(circuit.silent_hop(SIGN_OF_LIFE).await.unwrap_or(stalled));
            }
            answer => answer?,
        };
        talk.say(&format!("{} bytes in {}", answer.length, milliseconds(start.elapsed())));
        Ok::<_, candor_network::Error>(answer)
    });
    if page.reader_is_gone {
        return Ok(());
    }
    let answer = fetched?;
    page.finish()?;
    match answer.status {
        200..=299 => Ok(()),
        status => Err(Failure::Condition(format!("{url}: the server answers with status {status}"))),
    }
}

/// Where the relays come from.
struct Source<'a> {
    arguments: &'a FetchArguments,
    directory: Option<Directory>,
    /// The last list was of a consensus that no directory was asked about.
    known: bool,
}

impl Source<'_> {
    async fn list(&mut self, handshake: HandshakeType) -> Result<RelayList, Failure> {
        let Some(directory) = &self.directory else {
            let path = self.arguments.relays.as_ref().ok_or_else(|| Failure::Error("expected --relays".to_owned()))?;
            return Ok(RelayList::load(path)?);
        };
        let again = std::mem::replace(&mut self.known, false);
        let fetched = if again { directory.refresh().await } else { directory.consensus().await }?;
        self.known = fetched.was_known && !again;
        Ok(directory.relays(&fetched.consensus, handshake).await?)
    }
}

/// Where the page goes. A file keeps what it had until the whole page is there.
struct Page {
    sink: Box<dyn Write>,
    /// The file that the page is in until it is whole, and the one that it is for.
    files: Option<(PathBuf, PathBuf)>,
    /// The reader of our output has gone, as `head` does. That is not an error.
    reader_is_gone: bool,
}

impl Page {
    fn new(output: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = output else { return Ok(Self::of(Box::new(io::stdout().lock()), None)) };
        let failed = |error: io::Error| Failure::Error(format!("{}: {error}", path.display()));
        // A link stays one; a pipe or a device can't be replaced.
        let path = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if path.metadata().is_ok_and(|metadata| !metadata.is_file()) {
            let file = File::options().write(true).open(&path).map_err(failed)?;
            return Ok(Self::of(Box::new(file), None));
        }
        let mut partial = path.clone().into_os_string();
        partial.push(".partial");
        let file = File::create(&partial).map_err(failed)?;
        Ok(Self::of(Box::new(file), Some((partial.into(), path))))
    }

    fn of(sink: Box<dyn Write>, files: Option<(PathBuf, PathBuf)>) -> Self {
        Self { sink, files, reader_is_gone: false }
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let written = self.sink.write_all(bytes);
        self.reader_is_gone = written.as_ref().is_err_and(|error| error.kind() == ErrorKind::BrokenPipe);
        written
    }

    /// The page is whole.
    fn finish(mut self) -> Result<(), Failure> {
        self.sink.flush()?;
        if let Some((partial, path)) = self.files.take() {
            std::fs::rename(&partial, &path).map_err(|error| Failure::Error(format!("{}: {error}", path.display())))?;
        }
        Ok(())
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        if let Some((partial, _)) = &self.files {
            // Nothing else can be done about it.
            let _ = std::fs::remove_file(partial);
        }
    }
}

fn path<'a>(
    list: &'a RelayList,
    arguments: &FetchArguments,
    url: &Url,
    handshake: HandshakeType,
) -> Result<Vec<&'a ListedRelay>, Failure> {
    let file = match &arguments.relays {
        Some(path) => path.display().to_string(),
        None => "consensus".to_owned(),
    };
    if arguments.path.is_empty() {
        let path = list.path(arguments.hops.into(), handshake, url.host(), url.port());
        return path.map_err(|error| Failure::Error(format!("{file}: {error}")));
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
