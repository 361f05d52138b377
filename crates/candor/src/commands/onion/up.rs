//! `candor onion up`: a whole test network on this machine.

use super::family::Family;
use super::{Stop, hosts, runtime};
use crate::Failure;
use crate::cli::{ListFormat, UpArguments};
use crate::output::{Talk, print};
use candor_network::http::{self, Url};
use candor_network::metrics;
use serde_json::{Value, json};
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

/// The relays, in the order in which circuits go through them.
const RELAYS: [&str; 3] = ["guard", "middle", "exit"];
/// How long the proxy may take to say how many circuits it has.
const PATIENCE: Duration = Duration::from_secs(2);

pub(super) fn execute(arguments: &UpArguments, talk: Talk) -> Result<(), Failure> {
    // What runs in `block_on` runs on the main thread, which children must be started on.
    runtime()?.block_on(async {
        let mut stop = Stop::new()?;
        let mut family = Family::new(talk);
        let outcome = tokio::select! {
            () = stop.asked() => Ok(()),
            outcome = run(&mut family, arguments) => outcome,
        };
        if outcome.is_ok() {
            talk.say("stopping; again to stop at once");
        }
        tokio::select! {
            () = family.stop("proxy") => {}
            () = stop.asked() => {}
        }
        outcome
    })
}

/// Starts the network and says so. Comes back when a part of it has ended.
async fn run(family: &mut Family, arguments: &UpArguments) -> Result<(), Failure> {
    let began = Instant::now();
    if let Some(file) = &arguments.network {
        return hosts::up(family, file, arguments).await;
    }
    let network = start(family, arguments).await?;
    print(&match arguments.format {
        ListFormat::Text => network.text(),
        ListFormat::Json => format!("{}\n", network.json(family, began.elapsed())),
    })?;
    Err(family.until_one_ends().await)
}

/// Where everything is.
struct Network {
    socks: String,
    target: String,
    directory: String,
    monitor: String,
    /// By the role's name.
    metrics: Vec<(&'static str, String)>,
}

async fn start(family: &mut Family, arguments: &UpArguments) -> Result<Network, Failure> {
    let until = Instant::now() + Duration::from_secs(arguments.wait.into());
    let mut metrics = Vec::new();
    let (target, socks, page) =
        (arguments.target.to_string(), arguments.socks.to_string(), arguments.monitor.to_string());
    const ANY: [&str; 2] = ["--metrics", "127.0.0.1:0"];

    family.start("directory", &[&["onion", "directory"], &ANY[..]].concat())?;
    family.start("target", &[&["onion", "target", "--listen", &target], &ANY[..]].concat())?;
    let directory = said(family, "directory", "directory", until).await?;
    metrics.push(("directory", said(family, "directory", "metrics", until).await?));
    let target = said(family, "target", "address", until).await?;
    metrics.push(("target", said(family, "target", "metrics", until).await?));

    let policy = arguments.exit.iter().fold(target.clone(), |policy, more| format!("{policy},{more}"));
    for name in RELAYS {
        let exit = if name == "exit" { &policy[..] } else { "" };
        let relay = ["onion", "relay", "--name", name, "--directory", &directory, "--exit", exit, "--patience", "2"];
        family.start(name, &[&relay, &ANY[..]].concat())?;
    }
    let (wait, port) = (arguments.wait.to_string(), port_of(&target));
    let proxy = ["onion", "proxy", "--directory", &directory, "--listen", &socks, "--wait", &wait];
    let choices = ["--test-network", "--entries", RELAYS[0], "--ports", port];
    family.start("proxy", &[&proxy, &choices[..], &ANY[..]].concat())?;
    for name in RELAYS {
        said(family, name, "identity", until).await?;
        metrics.push((name, said(family, name, "metrics", until).await?));
    }
    let line = family.line("proxy", until).await?;
    let socks = text_of(&parsed("proxy", &line)?["addresses"][0], "proxy", &line)?;
    let circuits = said(family, "proxy", "metrics", until).await?;
    metrics.push(("proxy", circuits.clone()));

    let watched: Vec<String> = metrics.iter().map(|(name, url)| format!("{name}={url}")).collect();
    let watch = watched.iter().flat_map(|watched| ["--watch", watched]);
    let monitor: Vec<&str> = ["onion", "monitor", "--listen", &page].into_iter().chain(watch).collect();
    family.start("monitor", &monitor)?;
    let monitor = said(family, "monitor", "monitor", until).await?;
    metrics.push(("monitor", format!("{monitor}metrics")));

    tokio::select! {
        ready = circuit(&circuits, until) => ready?,
        failure = family.until_one_ends() => return Err(failure),
    }
    Ok(Network { socks, target, directory, monitor, metrics })
}

/// What a role says under `key` in the line of JSON that it prints next.
async fn said(family: &mut Family, name: &str, key: &str, until: Instant) -> Result<String, Failure> {
    let line = family.line(name, until).await?;
    text_of(&parsed(name, &line)?[key], name, &line)
}

fn parsed(name: &str, line: &str) -> Result<Value, Failure> {
    serde_json::from_str(line).map_err(|error| Failure::Error(format!("{name} printed `{line}`: {error}")))
}

fn text_of(value: &Value, name: &str, line: &str) -> Result<String, Failure> {
    let text = value.as_str().map(str::to_owned);
    text.ok_or_else(|| Failure::Error(format!("{name} printed `{line}`, which is not what it prints when it is ready")))
}

fn port_of(address: &str) -> &str {
    address.rsplit(':').next().unwrap_or_default()
}

/// Comes back when the proxy has a circuit.
async fn circuit(url: &str, until: Instant) -> Result<(), Failure> {
    let url = Url::parse(url)?;
    loop {
        // It has just said that it is there. Should it be slow, it is asked again.
        if timeout(PATIENCE, circuits(&url)).await.is_ok_and(|circuits| circuits.is_some_and(|circuits| circuits > 0.0))
        {
            return Ok(());
        }
        if Instant::now() >= until {
            return Err(Failure::Error("the proxy has built no circuit in time; --wait gives it more".to_owned()));
        }
        sleep(Duration::from_millis(20)).await;
    }
}

async fn circuits(url: &Url) -> Option<f64> {
    let tcp = TcpStream::connect((url.host(), url.port())).await.ok()?;
    let mut text = Vec::new();
    let answer = http::get(tcp, url, PATIENCE, |piece| {
        text.extend_from_slice(piece);
        Ok(())
    });
    answer.await.ok()?;
    let samples = metrics::parse(std::str::from_utf8(&text).ok()?).ok()?;
    samples.iter().find(|sample| sample.name == "candor_proxy_circuits").map(|sample| sample.value)
}

impl Network {
    fn text(&self) -> String {
        let Self { socks, target, monitor, .. } = self;
        format!(
            "a test network of seven processes is ready; all of it is on this machine, so it hides nothing\n\
             \x20 proxy    {socks}, for SOCKS and HTTP CONNECT\n\
             \x20 target   http://{target}/\n\
             \x20 monitor  {monitor}\n\
             try: curl --socks5-hostname {socks} http://{target}/bytes/1000000 -o page\n\
             Ctrl-C stops all of it\n"
        )
    }

    fn json(&self, family: &Family, after: Duration) -> Value {
        let roles: Vec<(&str, u32, Option<u64>)> =
            family.processes().map(|(name, process)| (name, process, memory(process))).collect();
        let parent = memory(std::process::id());
        let role = |(name, process, memory): &(&str, u32, Option<u64>)| {
            let metrics = self.metrics.iter().find(|(role, _)| role == name).map(|(_, url)| url);
            json!({ "name": name, "process": process, "metrics": metrics, "memory_kb": memory })
        };
        json!({
            "test_network": true,
            "socks": self.socks,
            "target": format!("http://{}/", self.target),
            "directory": self.directory,
            "monitor": self.monitor,
            "ready_ms": after.as_millis() as u64,
            "memory_kb": roles.iter().map(|(.., memory)| *memory).chain([parent]).sum::<Option<u64>>(),
            "roles": roles.iter().map(role).collect::<Vec<_>>(),
        })
    }
}

/// A process's share of the machine's memory in kB: pages that several processes have are divided among them (PSS). `None` where the system doesn't
/// tell.
fn memory(process: u32) -> Option<u64> {
    let text = std::fs::read_to_string(format!("/proc/{process}/smaps_rollup")).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("Pss:"))?;
    line.trim().trim_end_matches(" kB").parse().ok()
}
