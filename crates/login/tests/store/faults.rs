//! A database that is locked, full, gone, damaged or from the future.

use crate::databases::Empty;
use crate::people::{NOW, People, name};
use candor_login::store::{Actor, Event, StoreError};
use candor_login::{MasterKey, Store};
use candor_test_support::postgres::{Postgres, skipped};
use candor_test_support::small_disk;
use std::fs;
use std::time::Duration;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::time::timeout;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_another_process_holds_is_unavailable_until_it_lets_go() {
    let empty = Empty::sqlite();
    let people = People::of(empty.open().await).await;
    people.join("alice").await;
    let other = rusqlite::Connection::open(empty.url.strip_prefix("sqlite:").unwrap()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    let error = people.store.register(people.newcomer("bob"), NOW).await.unwrap_err();
    assert!(matches!(error, StoreError::Unavailable(_)) && error.is_transient(), "{error}");
    // Reading goes on.
    assert!(people.store.account(&name("alice")).await.unwrap().is_some());
    assert!(people.store.account(&name("bob")).await.unwrap().is_none());
    other.execute_batch("ROLLBACK").unwrap();
    people.join("bob").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_went_away_is_unavailable_until_it_is_back() {
    let mut server = match Postgres::start() {
        Ok(server) => server,
        Err(why) => return skipped("a_server_that_went_away_is_unavailable_until_it_is_back", &why),
    };
    let url = server.database();
    let people = People::of(Store::open(&url, &MasterKey::from_bytes([1; 32])).await.unwrap()).await;
    people.join("alice").await;
    server.pause();
    for error in [
        people.store.account(&name("alice")).await.map(drop).unwrap_err(),
        people.store.register(people.newcomer("bob"), NOW).await.map(drop).unwrap_err(),
        people.store.ping().await.unwrap_err(),
        Store::open(&url, &MasterKey::from_bytes([1; 32])).await.map(drop).unwrap_err(),
    ] {
        assert!(matches!(error, StoreError::Unavailable(_)), "{error}");
    }
    server.resume();
    assert!(people.store.account(&name("alice")).await.unwrap().is_some());
    people.join("bob").await;
    // Connections that were broken while nobody looked.
    server.pause();
    server.resume();
    people.join("carol").await;
}

/// Passes bytes on to a port of this machine and back, until it is told to stop: then it reads nothing more, and closes nothing.
async fn relay(to: u16, frozen: watch::Receiver<bool>) -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let server = TcpStream::connect(("127.0.0.1", to)).await.unwrap();
            let ((from_client, to_client), (from_server, to_server)) = (client.into_split(), server.into_split());
            tokio::spawn(pass_on(from_client, to_server, frozen.clone()));
            tokio::spawn(pass_on(from_server, to_client, frozen.clone()));
        }
    });
    port
}

async fn pass_on(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, mut frozen: watch::Receiver<bool>) {
    let mut bytes = [0; 4096];
    while let Ok(read @ 1..) = from.read(&mut bytes).await {
        let _ = frozen.wait_for(|frozen| !*frozen).await;
        if to.write_all(&bytes[..read]).await.is_err() {
            break;
        }
    }
}

#[tokio::test]
async fn a_server_that_says_nothing_is_unavailable_until_it_answers() {
    let server = match Postgres::start_on_tcp() {
        Ok(server) => server,
        Err(why) => return skipped("a_server_that_says_nothing_is_unavailable_until_it_answers", &why),
    };
    let url = server.by_tcp(&server.database(), "127.0.0.1");
    let port = |url: &str| url.rsplit_once(':').unwrap().1.split_once('/').unwrap().0.to_owned();
    let (freeze, frozen) = watch::channel(false);
    let relayed = url.replace(&port(&url), &relay(port(&url).parse().unwrap(), frozen).await.to_string());
    let people = People::of(Store::open(&relayed, &MasterKey::from_bytes([1; 32])).await.unwrap()).await;
    people.join("alice").await;
    freeze.send_replace(true);
    // Nothing is ready from now on but timers, so their time passes at once.
    tokio::time::pause();
    // One that is asked over a connection that worked before, and those that need a new one.
    for _ in 0..3 {
        let minute = Duration::from_secs(60);
        let read = timeout(minute, people.store.account(&name("alice"))).await.expect("an answer").map(drop);
        let written = timeout(minute, people.store.register(people.newcomer("bob"), NOW)).await.expect("an answer");
        for error in [read.unwrap_err(), written.map(drop).unwrap_err()] {
            assert!(matches!(&error, StoreError::Unavailable(why) if why.contains("within")), "{error}");
        }
    }
    tokio::time::resume();
    freeze.send_replace(false);
    assert!(people.store.account(&name("alice")).await.unwrap().is_some());
    people.join("carol").await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_full_disk_is_said_and_loses_nothing_that_was_answered() {
    let folder = tempfile::tempdir().unwrap();
    let test = "faults::a_full_disk_is_said_and_loses_nothing_that_was_answered";
    if let Some(disk) = small_disk::run(test, folder.path(), "full and well") {
        fill(&disk).await;
    }
}

/// Writes to a database there until the disk is full, and says what the store said.
async fn fill(folder: &str) {
    let url = format!("sqlite:{folder}/login.db");
    let people = People::of(Store::open(&url, &MasterKey::from_bytes([1; 32])).await.unwrap()).await;
    let mut answered = 0;
    let error = loop {
        match people.store.register(people.newcomer(&format!("user{answered}")), NOW).await {
            Ok(_) => answered += 1,
            Err(error) => break error,
        }
    };
    assert_eq!(error, StoreError::Full);
    assert!(answered > 10, "{answered}");
    assert_eq!(people.store.ping().await, Err(StoreError::Full), "a balancer learns of it");
    // Reading goes on, and so does writing once there is room.
    assert_eq!(people.store.count_accounts().await.unwrap().0, answered);
    let head = people.store.audit_head().await.unwrap();
    assert_eq!(candor_login::audit::verify(&people.store, None).await.unwrap(), Ok(head));
    small_disk::grow(folder);
    people.store.ping().await.unwrap();
    people.store.register(people.newcomer("latecomer"), NOW).await.unwrap();
    drop(people);
    let again = Store::open(&url, &MasterKey::from_bytes([1; 32])).await.unwrap();
    assert_eq!(again.count_accounts().await.unwrap().0, answered + 1);
    println!("full and well");
}

#[tokio::test]
async fn a_file_that_is_no_database_or_is_damaged_is_refused() {
    let empty = Empty::sqlite();
    let path = empty.url.strip_prefix("sqlite:").unwrap();
    fs::write(path, "no database, but a text that is long enough to be looked at as one").unwrap();
    let open = async || Store::open(&empty.url, &empty.master).await.map(drop);
    assert!(matches!(open().await, Err(StoreError::Corrupt(_))));
    fs::remove_file(path).unwrap();
    assert_eq!(open().await, Ok(()));

    let rusqlite = rusqlite::Connection::open(path).unwrap();
    let version = |version| rusqlite.execute("UPDATE candor_login SET version = ?", [version]).unwrap();
    let ours: i64 = rusqlite.query_row("SELECT version FROM candor_login", [], |row| row.get(0)).unwrap();
    version(1000);
    assert!(matches!(open().await, Err(StoreError::Schema { found: 1000, .. })));
    version(ours);
    assert_eq!(open().await, Ok(()));
    assert!(matches!(
        Store::open("sqlite:/no/such/folder/login.db", &empty.master).await.map(drop),
        Err(StoreError::Unavailable(_))
    ));
}

#[tokio::test]
async fn a_damaged_record_is_said_to_be_one_and_harms_no_other() {
    let empty = Empty::sqlite();
    let people = People::of(empty.open().await).await;
    people.join("alice").await;
    people.join("bob").await;
    let rusqlite = rusqlite::Connection::open(empty.url.strip_prefix("sqlite:").unwrap()).unwrap();
    rusqlite.execute_batch("UPDATE account SET record = x'00' WHERE name_key = 'alice'").unwrap();
    assert!(matches!(people.store.account(&name("alice")).await, Err(StoreError::Corrupt(_))));
    assert!(people.store.account(&name("bob")).await.unwrap().is_some());
}

/// A client that goes away in the middle of a change leaves no half of it, and no connection that is not usable.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn changes_whose_callers_go_away_happen_whole_or_not_at_all() {
    let Some(empty) = Empty::postgres("changes_whose_callers_go_away_happen_whole_or_not_at_all") else { return };
    let people = People::of(empty.open().await).await;
    for number in 0..60 {
        let (store, new) = (people.store.clone(), people.newcomer(&format!("user{number}")));
        let task = tokio::spawn(async move { store.register(new, NOW).await });
        for _ in 0..number % 12 {
            tokio::task::yield_now().await;
        }
        task.abort();
        let _ = task.await;
    }
    people.store.record(Event::new(Actor::Server, "tested", ""), NOW).await.unwrap();
    candor_login::audit::verify(&people.store, None).await.unwrap().unwrap();
    let (accounts, _) = people.store.count_accounts().await.unwrap();
    let entries = people.store.latest_audit_entries(None, 1000).await.unwrap();
    assert_eq!(entries.iter().filter(|entry| entry.event == "registered").count() as u64, accounts);
}
