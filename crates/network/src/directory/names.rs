//! The addresses of directories, by name. A name that has none just now keeps those that it had, for a day: after that they may be anybody's.

use super::DirectoryAddress;
use crate::clock::instant;
use std::collections::HashMap;
use std::net::IpAddr;
use std::time::{Duration, Instant};
use tokio::net::lookup_host;
use tokio::task::JoinSet;
use tokio::time::timeout;

/// How long a look-up may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How long addresses are good for.
const GOOD_FOR: Duration = Duration::from_secs(86_400);

/// The addresses that each name had when it had any, and when that was.
#[derive(Default)]
pub(super) struct Names(HashMap<String, (Instant, Vec<IpAddr>)>);

impl Names {
    /// Looks all names up at once. Says whether all were found.
    pub(super) async fn look_up(&mut self, directories: impl Iterator<Item = &DirectoryAddress>) -> bool {
        let hosts = directories.map(DirectoryAddress::url).map(|url| (url.bare_host().to_owned(), url.port()));
        let ask = |host: String, port| async move {
            let found = lookup_host((host.as_str(), port)).await.ok()?;
            Some(found.map(|address| address.ip()).collect())
        };
        self.ask_all(hosts, ask).await
    }

    async fn ask_all<F>(&mut self, hosts: impl Iterator<Item = (String, u16)>, ask: impl Fn(String, u16) -> F) -> bool
    where
        F: Future<Output = Option<Vec<IpAddr>>> + Send + 'static,
    {
        let mut lookups = JoinSet::new();
        for (host, port) in hosts {
            let asked = timeout(PATIENCE, ask(host.clone(), port));
            lookups.spawn(async move { (host, asked.await.ok().flatten()) });
        }
        self.found(lookups.join_all().await, instant())
    }

    /// Takes over what was found. No name waits for another.
    fn found(&mut self, found: Vec<(String, Option<Vec<IpAddr>>)>, now: Instant) -> bool {
        let mut all_found = true;
        for (host, addresses) in found {
            match addresses {
                Some(addresses) => drop(self.0.insert(host, (now, addresses))),
                None => all_found = false,
            }
        }
        self.0.retain(|_, (at, _)| now.saturating_duration_since(*at) < GOOD_FOR);
        all_found
    }

    pub(super) fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        self.0.values().flat_map(|(_, addresses)| addresses).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn names_whose_servers_say_nothing_hold_up_neither_each_other_nor_the_rest() {
        let live = IpAddr::from([192, 0, 2, 1]);
        let hosts = || ["mute", "live", "deaf"].into_iter().map(|host| (host.to_owned(), 80));
        let ask = |host: String, _| async move {
            if host != "live" {
                std::future::pending::<()>().await;
            }
            Some(vec![live])
        };
        let mut names = Names::default();
        // The clock goes on by itself when nothing else is to be done.
        let all_found = timeout(2 * PATIENCE, names.ask_all(hosts(), ask)).await;
        assert_eq!(all_found.ok(), Some(false), "they had their time, at once");
        assert_eq!(names.addresses().collect::<Vec<_>>(), [live]);
        // The twin.
        assert!(names.ask_all(hosts().skip(1).take(1), ask).await);
    }

    #[test]
    fn a_name_that_is_gone_holds_up_no_other_and_keeps_its_addresses_for_a_day() {
        let address = |text: &str| text.parse::<IpAddr>().unwrap();
        let found = |live: &str| (String::from("live"), Some(vec![address(live)]));
        let gone = || (String::from("gone"), None);
        let known = |names: &Names| names.addresses().collect::<Vec<_>>();
        let (mut names, start) = (Names::default(), Instant::now());
        // Before there is any look-up, then one that fails for ever while the other moves.
        assert!(!names.found(vec![(String::from("live"), None), gone()], start) && known(&names).is_empty());
        for live in ["192.0.2.1", "192.0.2.2"] {
            assert!(!names.found(vec![found(live), gone()], start));
            assert_eq!(known(&names), [address(live)]);
        }
        // The twin: one that fails for a moment keeps what it had, and no longer than that.
        assert!(names.found(vec![found("192.0.2.2")], start));
        for (seconds, kept) in [(0, 1), (86_399, 1), (86_400, 0)] {
            assert!(!names.found(vec![(String::from("live"), None)], start + Duration::from_secs(seconds)));
            assert_eq!(known(&names).len(), kept, "{seconds}");
        }
    }
}
