//! Where roles serve their metrics, and the monitor that reads them.

use super::{Stop, runtime};
use crate::Failure;
use crate::cli::MonitorArguments;
use crate::output::{Talk, print};
use candor_network::metrics::{Identity, MetricsServer, Readings};
use candor_network::{Monitor, MonitorConfig};
use serde_json::json;
use std::net::SocketAddr;

/// Serves a role's metrics, if that is wanted, and prints where.
pub(super) async fn serve(
    listen: Option<SocketAddr>,
    role: &'static str,
    name: String,
    readings: Readings,
    talk: Talk,
) -> Result<Option<MetricsServer>, Failure> {
    let Some(listen) = listen else { return Ok(None) };
    let server = MetricsServer::start(listen, Identity { role, name }, readings).await?;
    announced(server, talk).map(Some)
}

/// Prints where metrics are served.
pub(super) fn announced(server: MetricsServer, talk: Talk) -> Result<MetricsServer, Failure> {
    print(&format!("{}\n", json!({ "metrics": format!("http://{}/metrics", server.address()) })))?;
    warn(server.address(), talk);
    Ok(server)
}

/// Runs the monitor.
pub(super) fn monitor(arguments: &MonitorArguments, talk: Talk) -> Result<(), Failure> {
    let watched = arguments.watch.iter().map(|text| text.parse()).collect::<Result<Vec<_>, _>>()?;
    runtime()?.block_on(async {
        let mut stop = Stop::new()?;
        let monitor = Monitor::start(MonitorConfig::new(arguments.listen, watched)).await?;
        print(&format!("{}\n", json!({ "monitor": format!("http://{}/", monitor.address()) })))?;
        warn(monitor.address(), talk);
        stop.asked().await;
        Ok(())
    })
}

fn warn(address: SocketAddr, talk: Talk) {
    if !address.ip().is_loopback() {
        talk.say(&format!("warning: {address} shows how this network works to whoever reaches it"));
    }
}
