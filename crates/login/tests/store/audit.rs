//! The audit log: every change of its entries is found.

use crate::databases::{Empty, on_both_databases};
use crate::people::{NOW, People};
use candor_login::audit::{Broken, verify};
use candor_login::store::{Actor, AuditHead, Event};
use candor_login::{Store, UnixTime};
use candor_test_support::postgres;

on_both_databases! {
    a_log_that_nobody_touched_verifies
    whatever_is_changed_in_an_entry_is_found
    removed_and_reordered_entries_are_found
    entries_before_the_first_are_found
    a_log_that_was_cut_off_is_found_by_a_head_that_was_kept
    instances_that_append_at_once_make_one_chain
}

async fn filled(empty: &Empty) -> Store {
    let people = People::of(empty.open().await).await;
    people.join("alice").await;
    for number in 0..8 {
        let event = Event::new(Actor::Operator("root".to_owned()), "tested", number).with("a detail");
        people.store.record(event, NOW.plus(number)).await.unwrap();
    }
    people.store
}

async fn a_log_that_nobody_touched_verifies(empty: &Empty) {
    let store = empty.open().await;
    assert_eq!(verify(&store, None).await.unwrap(), Ok(AuditHead { sequence: 0, hash: [0; 32] }));
    let store = filled(empty).await;
    let head = store.audit_head().await.unwrap();
    assert_eq!(head.sequence, 10);
    assert_eq!(verify(&store, None).await.unwrap(), Ok(head));
    let text = head.to_string();
    assert_eq!(text.parse(), Ok(head));
    for bad in [&text.replace(':', ""), &text[..text.len() - 1], &format!("{text}0"), &format!("-{text}")] {
        assert!(bad.parse::<AuditHead>().is_err(), "{bad}");
    }
    let entries = store.latest_audit_entries(None, 1).await.unwrap();
    assert_eq!((entries[0].sequence, entries[0].at, entries[0].actor.as_str()), (10, NOW.plus(7), "operator:root"));
    assert_eq!(verify(&store, Some(head)).await.unwrap(), Ok(head));
    let before = |byte| Some(AuditHead { sequence: 0, hash: [byte; 32] });
    assert_eq!(verify(&store, before(0)).await.unwrap(), Ok(head), "the head of the log when it was empty");
    assert_eq!(verify(&store, before(1)).await.unwrap(), Err(Broken::Rewritten(0)));
}

async fn whatever_is_changed_in_an_entry_is_found(empty: &Empty) {
    let store = filled(empty).await;
    for (column, value) in [
        ("at", "at + 1"),
        ("actor", "'operator:mallory'"),
        ("event", "'nothing'"),
        ("subject", "subject || '0'"),
        ("detail", "''"),
        ("hash", "(SELECT hash FROM audit WHERE sequence = 4)"),
    ] {
        let kept = "CREATE TABLE kept AS SELECT * FROM audit WHERE sequence = 5";
        tamper(empty, &format!("{kept}; UPDATE audit SET {column} = {value} WHERE sequence = 5"));
        assert_eq!(verify(&store, None).await.unwrap(), Err(Broken::Changed(5)), "{column}");
        let back = format!("UPDATE audit SET {column} = (SELECT {column} FROM kept) WHERE sequence = 5");
        tamper(empty, &format!("{back}; DROP TABLE kept"));
        assert!(verify(&store, None).await.unwrap().is_ok(), "{column}");
    }
}

async fn removed_and_reordered_entries_are_found(empty: &Empty) {
    let store = filled(empty).await;
    for expected in [Err(Broken::Changed(5)), Ok(store.audit_head().await.unwrap())] {
        for (from, to) in [(5, -1), (6, 5), (-1, 6)] {
            tamper(empty, &format!("UPDATE audit SET sequence = {to} WHERE sequence = {from}"));
        }
        assert_eq!(verify(&store, None).await.unwrap(), expected, "5 and 6 change places, and again");
    }
    tamper(empty, "DELETE FROM audit WHERE sequence = 5");
    assert_eq!(verify(&store, None).await.unwrap(), Err(Broken::Missing(5)));
    tamper(empty, "UPDATE audit SET sequence = 5 WHERE sequence = 6");
    assert_eq!(verify(&store, None).await.unwrap(), Err(Broken::Changed(5)));
}

async fn entries_before_the_first_are_found(empty: &Empty) {
    let store = filled(empty).await;
    for number in [0, -5] {
        let columns = "at, actor, event, subject, detail, hash";
        tamper(
            empty,
            &format!(
                "INSERT INTO audit (sequence, {columns}) SELECT {number}, {columns} FROM audit WHERE sequence = 3"
            ),
        );
        assert_eq!(verify(&store, None).await.unwrap(), Err(Broken::Inserted(number)));
        tamper(empty, &format!("DELETE FROM audit WHERE sequence = {number}"));
        assert!(verify(&store, None).await.unwrap().is_ok());
    }
}

async fn a_log_that_was_cut_off_is_found_by_a_head_that_was_kept(empty: &Empty) {
    let store = filled(empty).await;
    let kept = store.audit_head().await.unwrap();
    tamper(empty, "DELETE FROM audit WHERE sequence > 7");
    assert_eq!(verify(&store, None).await.unwrap(), Err(Broken::Missing(8)));
    tamper(empty, "UPDATE audit_head SET sequence = 7");
    assert_eq!(verify(&store, None).await.unwrap(), Err(Broken::Head(7)));
    // Whoever sets the head back with care is found only by a copy of it.
    tamper(empty, "UPDATE audit_head SET hash = (SELECT hash FROM audit WHERE sequence = 7)");
    assert!(verify(&store, None).await.unwrap().is_ok());
    assert_eq!(verify(&store, Some(kept)).await.unwrap(), Err(Broken::Rewritten(10)));
    // Also when others have been appended in their place.
    for number in 0..5 {
        store.record(Event::new(Actor::Server, "tested", number), UnixTime(9)).await.unwrap();
    }
    assert!(verify(&store, None).await.unwrap().is_ok());
    assert_eq!(verify(&store, Some(kept)).await.unwrap(), Err(Broken::Rewritten(10)));
    tamper(empty, "UPDATE audit_head SET sequence = 11, hash = (SELECT hash FROM audit WHERE sequence = 11)");
    assert_eq!(
        verify(&store, None).await.unwrap(),
        Err(Broken::Head(11)),
        "an entry and the head are written together"
    );
}

async fn instances_that_append_at_once_make_one_chain(empty: &Empty) {
    let mut tasks = Vec::new();
    for instance in 0..4 {
        let store = empty.open().await;
        tasks.push(tokio::spawn(async move {
            for number in 0..25 {
                let event = Event::new(Actor::Server, "tested", format_args!("{instance}-{number}"));
                store.record(event, NOW).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    let store = empty.open().await;
    assert_eq!(verify(&store, None).await.unwrap().unwrap().sequence, 100);
}

/// Changes the database behind the store's back, as somebody does who has the database and not the master key.
fn tamper(empty: &Empty, statements: &str) {
    match empty.url.strip_prefix("sqlite:") {
        Some(path) => rusqlite::Connection::open(path).unwrap().execute_batch(statements).unwrap(),
        None => postgres::shared().unwrap().run(&empty.url, statements),
    }
}
