//! Copies of a database that is in use.

use crate::databases::Empty;
use crate::people::{NOW, People};
use candor_login::Store;
use candor_login::audit::verify;
use candor_login::store::{Actor, Event, StoreError};
use std::os::unix::fs::MetadataExt;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_is_whole_although_others_write_meanwhile() {
    let empty = Empty::sqlite();
    let people = People::of(empty.open().await).await;
    let (alice, record) = people.join("alice").await;
    let busy = people.store.clone();
    let writer = tokio::spawn(async move {
        for number in 0.. {
            busy.record(Event::new(Actor::Server, "tested", number), NOW).await.unwrap();
        }
    });
    let folder = tempfile::tempdir().unwrap();
    let mut last = 0;
    for number in 0..5 {
        let copy = folder.path().join(format!("copy{number}"));
        people.store.back_up(&copy).await.unwrap();
        assert_eq!(std::fs::metadata(&copy).unwrap().mode() & 0o777, 0o600);
        let store = Store::open(&format!("sqlite:{}", copy.display()), &empty.master).await.unwrap();
        let head = verify(&store, None).await.unwrap().unwrap();
        assert!(head.sequence >= last, "{head:?}");
        last = head.sequence;
        let account = store.account_by_id(alice).await.unwrap().unwrap();
        assert_eq!(account.record.to_bytes(), record.to_bytes());
        // A copy is a database like any other.
        store.record(Event::new(Actor::Server, "restored", ""), NOW).await.unwrap();
    }
    writer.abort();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_copy_replaces_no_file_and_leaves_none_that_is_not_whole() {
    let empty = Empty::sqlite();
    let store = empty.open().await;
    let folder = tempfile::tempdir().unwrap();
    let there = folder.path().join("there");
    std::fs::write(&there, "precious").unwrap();
    assert!(store.back_up(&there).await.unwrap_err().to_string().contains("exists"));
    assert_eq!(std::fs::read(&there).unwrap(), b"precious");
    assert!(store.back_up(&folder.path().join("no/such/folder")).await.is_err());
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    store.back_up(&folder.path().join("copy")).await.unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_postgres_its_own_programs_make_copies() {
    let Some(empty) = Empty::postgres("of_postgres_its_own_programs_make_copies") else { return };
    let folder = tempfile::tempdir().unwrap();
    let error = empty.open().await.back_up(&folder.path().join("copy")).await.unwrap_err();
    assert!(matches!(error, StoreError::Unsupported(_)) && error.to_string().contains("pg_dump"), "{error}");
}
