//! Registration, change of records, logins, deletion.

use crate::databases::{Empty, on_both_databases};
use crate::people::{NOW, People, name, session, token};
use candor_login::store::{Actor, Conflict, NewAccount, NewDevice, NewSession, StoreError};
use candor_login::{AccountId, DeviceId, KeyId, Purpose, UnixTime};

on_both_databases! {
    an_account_is_found_by_every_form_of_its_name
    a_name_is_given_once
    of_many_who_want_one_name_at_the_same_time_one_gets_it
    a_registration_token_permits_one_registration
    a_registration_that_is_refused_leaves_nothing
    a_record_is_replaced_only_in_place_of_the_one_that_is_there
    a_new_record_ends_the_other_sessions
    of_many_changes_at_the_same_time_one_is_made
    a_login_opens_one_session
    a_login_before_a_change_of_the_record_opens_no_session
    a_disabled_account_has_no_sessions_and_gets_none
    a_deleted_account_is_gone_and_its_name_is_free
    accounts_are_listed_in_pages
}

async fn an_account_is_found_by_every_form_of_its_name(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (id, record) = people.join("Jose\u{301}").await;
    for form in ["Jose\u{301}", "jos\u{e9}", "JOS\u{c9}"] {
        let account = people.store.account(&name(form)).await.unwrap().unwrap();
        assert_eq!((account.id, account.name.shown(), account.key), (id, "Jos\u{e9}", people.key()), "{form:?}");
        assert_eq!(account.record.to_bytes(), record.to_bytes());
        assert_eq!((account.created, account.disabled, account.old_hash), (NOW, false, None));
    }
    assert!(people.store.account(&name("jose")).await.unwrap().is_none());
    assert_eq!(people.store.account_by_id(id).await.unwrap().unwrap().name, name("Jos\u{e9}"));
    assert!(people.store.account_by_id(AccountId([0; 16])).await.unwrap().is_none());
}

async fn a_name_is_given_once(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (id, _) = people.join("alice").await;
    for form in ["alice", "ALICE", "\u{ff41}lice"] {
        assert_eq!(refused(people.store.register(people.newcomer(form), NOW).await), Conflict::NameTaken, "{form:?}");
    }
    assert_eq!(people.store.account(&name("alice")).await.unwrap().unwrap().id, id);
    people.join("alicia").await;
}

async fn of_many_who_want_one_name_at_the_same_time_one_gets_it(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    // Two stores, as two processes have.
    let other = empty.open().await;
    let mut tasks = Vec::new();
    for turn in 0..24 {
        let (store, new) = (if turn % 2 == 0 { &people.store } else { &other }.clone(), people.newcomer("Alice"));
        tasks.push(tokio::spawn(async move { store.register(new, NOW).await }));
    }
    let mut winners = Vec::new();
    for task in tasks {
        match task.await.unwrap() {
            Ok(id) => winners.push(id),
            Err(error) => assert_eq!(error, StoreError::Conflict(Conflict::NameTaken)),
        }
    }
    assert_eq!(winners, [people.store.account(&name("alice")).await.unwrap().unwrap().id]);
    let entries = people.store.latest_audit_entries(None, 100).await.unwrap();
    assert_eq!(entries.iter().filter(|entry| entry.event == "registered").count(), 1);
}

async fn a_registration_token_permits_one_registration(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (good, late) = (token(Purpose::Registration), token(Purpose::Registration));
    let actor = || Actor::Operator("root".to_owned());
    people.store.add_registration_token(good, "for alice".to_owned(), NOW.plus(60), actor(), NOW).await.unwrap();
    people.store.add_registration_token(late, "late".to_owned(), NOW.plus(-1), actor(), NOW).await.unwrap();
    let with = |text: &str, token| NewAccount { token: Some(token), ..people.newcomer(text) };
    assert!(people.store.has_registration_token(good, NOW).await.unwrap());
    assert!(!people.store.has_registration_token(late, NOW).await.unwrap());

    for bad in [token(Purpose::Registration), late] {
        assert_eq!(refused(people.store.register(with("alice", bad), NOW).await), Conflict::NoRegistrationToken);
    }
    let id = people.store.register(with("alice", good), NOW).await.unwrap();
    assert_eq!(refused(people.store.register(with("bob", good), NOW).await), Conflict::NoRegistrationToken);
    assert!(people.store.account(&name("bob")).await.unwrap().is_none());
    let entries = people.store.latest_audit_entries(Some(id.to_string()), 10).await.unwrap();
    assert_eq!((entries.len(), entries[0].detail.as_str()), (1, "for alice"));
    let left: Vec<String> =
        people.store.registration_tokens().await.unwrap().into_iter().map(|token| token.label).collect();
    assert_eq!(left, ["late"]);
}

async fn a_registration_that_is_refused_leaves_nothing(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    people.join("alice").await;
    let good = token(Purpose::Registration);
    people.store.add_registration_token(good, String::new(), NOW.plus(60), Actor::Server, NOW).await.unwrap();
    let head = people.store.audit_head().await.unwrap();

    let taken = NewAccount { token: Some(good), ..people.newcomer("alice") };
    assert_eq!(refused(people.store.register(taken, NOW).await), Conflict::NameTaken);
    let no_key = NewAccount { token: Some(good), key: KeyId([9; 16]), ..people.newcomer("bob") };
    assert_eq!(refused(people.store.register(no_key, NOW).await), Conflict::NoKey);
    assert_eq!(people.store.audit_head().await.unwrap(), head);
    assert!(people.store.has_registration_token(good, NOW).await.unwrap());
    // The token is still good.
    let fine = NewAccount { token: Some(good), ..people.newcomer("bob") };
    people.store.register(fine, NOW).await.unwrap();
}

async fn a_record_is_replaced_only_in_place_of_the_one_that_is_there(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, first) = people.join("alice").await;
    let (bob, _) = people.join("bob").await;
    let change = people.change(alice, &first);
    let second = change.record.clone();
    people.store.replace_record(change.clone(), NOW.plus(5)).await.unwrap();
    let stored = people.store.account_by_id(alice).await.unwrap().unwrap();
    assert_eq!((stored.record.to_bytes(), stored.changed), (second.to_bytes(), NOW.plus(5)));

    for (account, conflict) in
        [(alice, Conflict::RecordChanged), (bob, Conflict::RecordChanged), (AccountId([0; 16]), Conflict::NoAccount)]
    {
        let stale = people.change(account, &first);
        assert_eq!(refused(people.store.replace_record(stale, NOW).await), conflict, "{account}");
    }
    assert_eq!(people.store.account_by_id(alice).await.unwrap().unwrap().record.to_bytes(), second.to_bytes());
    people.store.replace_record(people.change(alice, &second), NOW).await.unwrap();
}

async fn a_new_record_ends_the_other_sessions(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, mut record) = people.join("alice").await;
    let (bob, of_bob) = people.join("bob").await;
    let mut opened = Vec::new();
    for (number, account, record) in [(1, alice, &record), (2, alice, &record), (3, bob, &of_bob)] {
        let hash = record.credential_hash();
        let session = session();
        opened.push(people.store.log_in([number; 32], NOW.plus(60), account, hash, session, NOW).await.unwrap());
    }
    let open = async |account| -> Vec<_> {
        people.store.sessions(account, NOW).await.unwrap().into_iter().map(|session| session.id).collect()
    };
    for (keep, left) in [(Some(opened[1]), vec![opened[1]]), (None, Vec::new())] {
        let mut change = people.change(alice, &record);
        change.keep = keep;
        record = change.record.clone();
        people.store.replace_record(change, NOW).await.unwrap();
        assert_eq!(open(alice).await, left);
    }
    assert_eq!(open(bob).await, [opened[2]]);
}

async fn of_many_changes_at_the_same_time_one_is_made(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let other = empty.open().await;
    let (alice, first) = people.join("alice").await;
    let changes: Vec<_> = (0..16).map(|_| people.change(alice, &first)).collect();
    let mut tasks = Vec::new();
    for (turn, change) in changes.iter().cloned().enumerate() {
        let store = if turn % 2 == 0 { &people.store } else { &other }.clone();
        tasks.push(tokio::spawn(async move { store.replace_record(change, NOW).await }));
    }
    let mut made = Vec::new();
    for (task, change) in tasks.into_iter().zip(&changes) {
        match task.await.unwrap() {
            Ok(()) => made.push(change.record.to_bytes()),
            Err(error) => assert_eq!(error, StoreError::Conflict(Conflict::RecordChanged)),
        }
    }
    assert_eq!(made, [people.store.account_by_id(alice).await.unwrap().unwrap().record.to_bytes()]);
}

async fn a_login_opens_one_session(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, record) = people.join("alice").await;
    let hash = record.credential_hash();
    let log_in = |login: u8| people.store.log_in([login; 32], NOW.plus(60), alice, hash, session(), NOW);
    log_in(1).await.unwrap();
    assert_eq!(refused(log_in(1).await), Conflict::LoginUsed);
    assert!(people.store.spend_login([2; 32], NOW.plus(60)).await.unwrap());
    assert!(!people.store.spend_login([2; 32], NOW.plus(60)).await.unwrap());
    assert_eq!(refused(log_in(2).await), Conflict::LoginUsed);
    assert_eq!(people.store.sessions(alice, NOW).await.unwrap().len(), 1);
    // After their states have expired nobody needs the identifiers.
    assert_eq!(people.store.prune(NOW.plus(59)).await.unwrap().logins, 0);
    assert_eq!(people.store.prune(NOW.plus(60)).await.unwrap().logins, 2);
}

async fn a_login_before_a_change_of_the_record_opens_no_session(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, old) = people.join("alice").await;
    let change = people.change(alice, &old);
    let new = change.record.clone();
    people.store.replace_record(change, NOW).await.unwrap();
    let log_in = |login: u8, hash| people.store.log_in([login; 32], NOW.plus(60), alice, hash, session(), NOW);
    assert_eq!(refused(log_in(1, old.credential_hash()).await), Conflict::RecordChanged);
    log_in(2, new.credential_hash()).await.unwrap();
    assert_eq!(people.store.sessions(alice, NOW).await.unwrap().len(), 1);
}

async fn a_disabled_account_has_no_sessions_and_gets_none(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, record) = people.join("alice").await;
    let log_in =
        |login: u8, with| people.store.log_in([login; 32], NOW.plus(60), alice, record.credential_hash(), with, NOW);
    let first = session();
    let access = first.access;
    log_in(1, first).await.unwrap();
    assert!(people.store.session(access, NOW).await.unwrap().is_some());

    people.store.set_disabled(alice, true, Actor::Server, NOW).await.unwrap();
    assert!(people.store.session(access, NOW).await.unwrap().is_none());
    assert_eq!(refused(log_in(2, session()).await), Conflict::Disabled);
    assert_eq!(refused(people.store.replace_record(people.change(alice, &record), NOW).await), Conflict::Disabled);
    people.store.set_disabled(alice, false, Actor::Server, NOW).await.unwrap();
    log_in(3, session()).await.unwrap();
    let nobody = AccountId([0; 16]);
    assert_eq!(refused(people.store.set_disabled(nobody, true, Actor::Server, NOW).await), Conflict::NoAccount);
}

async fn a_deleted_account_is_gone_and_its_name_is_free(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, record) = people.join("alice").await;
    let device = NewDevice { id: DeviceId([1; 16]), proof: token(Purpose::Device) };
    let session = NewSession { device: Some(device), ..session() };
    people.store.log_in([1; 32], NOW, alice, record.credential_hash(), session, NOW).await.unwrap();
    assert_eq!(people.store.devices(alice).await.unwrap().len(), 1);
    people.store.delete_account(alice, Actor::Server, NOW).await.unwrap();
    assert!(people.store.account_by_id(alice).await.unwrap().is_none());
    assert!(people.store.sessions(alice, NOW).await.unwrap().is_empty());
    assert!(people.store.devices(alice).await.unwrap().is_empty());
    assert_eq!(refused(people.store.delete_account(alice, Actor::Server, NOW).await), Conflict::NoAccount);
    let (again, _) = people.join("alice").await;
    assert_ne!(again, alice);
}

async fn accounts_are_listed_in_pages(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    for text in ["dora", "Alice", "carol", "bob", "\u{e9}va"] {
        people.join(text).await;
    }
    let page = async |after: Option<&str>| -> Vec<String> {
        let accounts = people.store.accounts(after.map(str::to_owned), 2).await.unwrap();
        accounts.iter().map(|account| account.name.shown().to_owned()).collect()
    };
    assert_eq!(page(None).await, ["Alice", "bob"]);
    assert_eq!(page(Some("bob")).await, ["carol", "dora"]);
    assert_eq!(page(Some("dora")).await, ["\u{e9}va"]);
    assert!(page(Some("\u{e9}va")).await.is_empty());
    assert_eq!(people.store.accounts(None, 9).await.unwrap()[0].created, UnixTime(NOW.0));
}

pub(crate) fn refused<T: std::fmt::Debug>(answer: Result<T, StoreError>) -> Conflict {
    let error = answer.unwrap_err();
    error.conflict().unwrap_or_else(|| panic!("{error}"))
}
