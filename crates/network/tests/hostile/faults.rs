//! Full disks, and more idle connections than a directory has places. `docs/faults.md` lists which test makes which fault.

use crate::directories::{ask, authority, client, register, there, until_number};
use crate::scene::until;
use crate::town::proxied::{self, serves};
use crate::town::{Town, drain, local};
use candor_network::directory::{AuthorityConfig, AuthorityEvent};
use candor_network::{HandshakeType, Prefix};
use candor_test_support::small_disk;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpSocket};

const HOME: [u8; 4] = [127, 0, 0, 1];
const FULL: &str = "No space left on device";

/// A file that leaves no room on its disk.
struct Full(PathBuf);

impl Full {
    fn fill(disk: &str) -> Self {
        let path = Path::new(disk).join("full");
        let mut file = File::create(&path).unwrap();
        while file.write_all(&[0; 4096]).is_ok() {}
        Self(path)
    }
}

impl Drop for Full {
    fn drop(&mut self) {
        fs::remove_file(&self.0).expect("the disk has room again");
    }
}

/// The files of a disk, without the folder that the test has there in its second process.
fn files(disk: &str) -> Vec<String> {
    let listed = fs::read_dir(disk).unwrap();
    let mut names: Vec<_> = listed.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.retain(|name| !name.starts_with(".tmp"));
    names.sort();
    names
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_costs_a_client_its_cache_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    let test = "faults::a_full_disk_costs_a_client_its_cache_and_nothing_else";
    let Some(disk) = small_disk::run(test, folder.path(), "served all the same") else { return };
    let cache = Path::new(&disk).join("consensus");
    let authority = authority(|config| config.interval = Duration::from_secs(1)).await;
    let addresses = [authority.directory().unwrap()];
    let (_relay, descriptor) = there().await;
    assert_eq!(register(HOME, authority.address(), &descriptor).await, 204);
    until(|| authority.held().relays == 1).await;
    until_number(&addresses[0], 0).await;

    let full = Full::fill(&disk);
    let (directory, told) = client(&addresses, Some(&cache));
    let fetched = directory.consensus().await.unwrap();
    assert!(!fetched.was_known);
    directory.relays(&fetched.consensus, HandshakeType::Hybrid768Auth).await.unwrap();
    let said = told.lock().unwrap().join("\n");
    assert!(said.contains(FULL) && said.contains("consensus"), "{said}");
    assert_eq!(files(&disk), ["full"], "no part of a file stays behind");
    drop(full);

    // The twin: there is room, and nothing to be told.
    let (directory, told) = client(&addresses, Some(&cache));
    let known = directory.consensus().await.unwrap().consensus;
    assert_eq!(*told.lock().unwrap(), [""; 0]);
    let kept = fs::read(&cache).unwrap();
    // An older consensus stays whole on a disk that has no room for the newer.
    let _full = Full::fill(&disk);
    until_number(&addresses[0], known.number()).await;
    let (directory, told) = client(&addresses, Some(&cache));
    let newer = directory.refresh().await.unwrap().consensus;
    assert!(newer.number() > known.number());
    assert!(told.lock().unwrap().join("\n").contains(FULL), "{told:?}");
    assert!(fs::read(&cache).unwrap() == kept && files(&disk) == ["consensus", "full"]);
    println!("served all the same");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_authority_whose_disk_is_full_serves_what_it_has_and_signs_again_when_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let test = "faults::an_authority_whose_disk_is_full_serves_what_it_has_and_signs_again_when_there_is_room";
    let Some(disk) = small_disk::run(test, folder.path(), "signs again") else { return };
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&told);
    let authority = authority(|config| {
        (config.interval, config.intervals_valid) = (Duration::from_secs(1), 600);
        config.state = Some(PathBuf::from(&disk));
        config.log = Arc::new(move |event: &AuthorityEvent| sink.lock().unwrap().push(event.to_string()));
    })
    .await;
    let addresses = [authority.directory().unwrap()];
    let newest = async || client(&addresses, None).0.consensus().await.unwrap().consensus;
    until_number(&addresses[0], 0).await;

    let full = Full::fill(&disk);
    until(|| told.lock().unwrap().iter().any(|said| said.contains("no consensus") && said.contains(FULL))).await;
    let last = newest().await;
    // A relay registers meanwhile, and is found to be there.
    let (_relay, descriptor) = there().await;
    assert_eq!(register(HOME, authority.address(), &descriptor).await, 204);
    until(|| authority.held().relays == 1).await;
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(newest().await.number(), last.number(), "nothing is signed that it could sign a second time");
    assert!(files(&disk).iter().all(|name| !name.ends_with(".partial")), "{:?}", files(&disk));
    drop(full);

    until_number(&addresses[0], last.number()).await;
    while newest().await.relays.is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let signed = || fs::read_to_string(Path::new(&disk).join("signed")).unwrap().trim().parse::<u64>().unwrap();
    assert!(signed() > last.number());
    println!("signs again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_proxy_whose_disk_is_full_carries_pages_and_keeps_its_guards_once_there_is_room() {
    let folder = tempfile::tempdir().unwrap();
    let test = "faults::a_proxy_whose_disk_is_full_carries_pages_and_keeps_its_guards_once_there_is_room";
    let Some(disk) = small_disk::run(test, folder.path(), "kept at last") else { return };
    let town = Town::new().await;
    let guards = Path::new(&disk).join("guards.json");
    let told: Arc<Mutex<Vec<String>>> = Arc::default();
    let sink = Arc::clone(&told);
    let full = Full::fill(&disk);
    let proxy = proxied::proxy(&town, |config| {
        config.state = Some(guards.clone());
        config.log = Arc::new(move |event| sink.lock().unwrap().push(event.to_string()));
    })
    .await;
    let at = proxy.addresses()[0];
    for login in ["a", "b"] {
        serves(&town, at, Some((login, ""))).await;
    }
    let said = told.lock().unwrap().join("\n");
    assert!(said.contains("can't keep the guards") && said.contains(FULL), "{said}");
    assert_eq!(files(&disk), ["full"]);
    drop(full);
    // The next circuit has the same guard, which is written all the same.
    serves(&town, at, Some(("c", ""))).await;
    until(|| guards.exists()).await;
    assert!(fs::read_to_string(&guards).unwrap().contains("identity"));
    println!("kept at last");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_closes_half_of_its_connection_gets_the_whole_page_or_an_error() {
    let town = Town::new().await;
    let proxy = proxied::proxy(&town, |_| {}).await;
    let (at, port) = (proxy.addresses()[0], town.target.address().port());
    let (mut tcp, reply) = proxied::ask(at, None, "127.0.0.1", port).await;
    assert_eq!(reply, 0);
    tcp.write_all(b"GET /bytes/500000000 HTTP/1.0\r\n\r\n").await.unwrap();
    tcp.read_exact(&mut vec![0; 100_000]).await.unwrap();
    tcp.shutdown().await.unwrap();
    let ended = tokio::time::timeout(Duration::from_secs(60), drain(tcp)).await.expect("it ends in time");
    assert!(ended.is_err_and(|error| error.kind() == ErrorKind::ConnectionReset), "not the end of a page");
    until(|| proxy.metrics().streams == 0).await;
    // The twin: a page that is there before the half is closed ends as it should.
    serves(&town, at, None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_idle_connections_take_a_directory_a_bounded_number_of_places() {
    let default = AuthorityConfig::new(local()).connections;
    let authority = authority(|config| {
        config.test_networks.clear();
        config.private_networks = Prefix::LOOPBACK.to_vec();
    })
    .await;
    let at = authority.address();
    let mut idle = Vec::new();
    for number in 1..=10_000_u32 {
        let [_, _, high, low] = number.to_be_bytes();
        let socket = TcpSocket::new_v4().unwrap();
        socket.bind(SocketAddr::from(([127, 32 + high % 40, low, 1], 0))).unwrap();
        let mut tcp = socket.connect(at).await.unwrap();
        // Every other one begins to ask.
        if number.is_multiple_of(2) {
            let _ = tcp.write_all(b"GET /consensus HT").await;
        }
        idle.push(tcp);
        // The first ones have been closed; the test keeps no more open than a system allows.
        if idle.len() > 2000 {
            idle.drain(..500);
        }
        if number.is_multiple_of(2500) {
            let answer = ask([127, 99, 1, 1], at, b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await;
            assert!(answer.starts_with(b"HTTP/1.1 200 OK"), "{number}: {}", String::from_utf8_lossy(&answer));
            let held = authority.held().connections;
            assert!((500..=default).contains(&held), "{number}: {held} of {default}");
        }
    }
    drop(idle);
    until(|| authority.held().connections == 0).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_directory_that_never_ends_its_answer_is_cut_off_at_the_bound() {
    let listener = TcpListener::bind(local()).await.unwrap();
    let endless = listener.local_addr().unwrap();
    let _server = tokio::spawn(async move {
        while let Ok((mut tcp, _)) = listener.accept().await {
            let _ = tcp.read(&mut [0; 1 << 12]).await;
            let _ = tcp.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await;
            while tcp.write_all(&[0; 1 << 16]).await.is_ok() {}
        }
    });
    let honest = authority(|_| {}).await;
    let address = honest.directory().unwrap();
    until_number(&address, 0).await;
    let liar: candor_network::directory::DirectoryAddress = format!("http://{endless}/").parse().unwrap();
    let (directory, told) = client(&[liar, address], None);
    // Directories are asked beginning with any.
    while told.lock().unwrap().is_empty() {
        directory.refresh().await.expect("the next one is asked");
    }
    assert!(told.lock().unwrap()[0].contains("more than 16777216 bytes"), "{told:?}");
}
