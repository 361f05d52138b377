//! Sessions, refresh tokens, recovery codes, devices.

use crate::accounts::refused;
use crate::databases::{Empty, on_both_databases};
use crate::people::{NOW, People, issued, refreshable, session, token};
use candor_login::store::{Actor, Conflict, NewAccount, NewDevice, NewSession, Refresh, Scope, Upkeep};
use candor_login::{Clock, DeviceId, IssuedRefresh, Purpose, SessionId, TokenHash};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

const HOUR: i64 = 3600;
const DAY: i64 = 24 * HOUR;
const YEAR: i64 = 365 * DAY;

on_both_databases! {
    an_access_token_opens_its_session_until_it_expires
    a_refresh_token_is_exchanged_once
    a_refresh_token_that_is_used_again_ends_the_session
    sessions_are_revoked_one_by_one_and_together
    an_account_keeps_its_latest_64_sessions
    a_recovery_code_opens_one_session
    devices_are_known_until_they_are_removed
    what_changes_nothing_leaves_no_entry_in_the_log
    a_login_by_a_wrong_clock_ends_no_session
    what_comes_from_the_future_is_refused_until_its_time_comes
    upkeep_removes_what_expired_by_a_clock_that_goes_on_evenly
}

async fn an_access_token_opens_its_session_until_it_expires(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, record) = people.join("Alice").await;
    let new = session();
    let access = new.access;
    let id = people.store.log_in([1; 32], NOW, alice, record.credential_hash(), new.clone(), NOW).await.unwrap();
    let found = people.store.session(access, NOW.plus(599)).await.unwrap().unwrap();
    assert_eq!((found.id, found.account, found.name.shown(), found.scope), (id, alice, "Alice", Scope::Full));
    assert_eq!((found.label.as_str(), found.created, found.ends), ("laptop", NOW, new.ends));
    assert!(people.store.session(access, NOW.plus(600)).await.unwrap().is_none());
    // A token of another kind with the same bytes has another hash.
    assert!(people.store.session(new.refresh, NOW).await.unwrap().is_none());
    // It was used within the last minute or so.
    assert_eq!(people.store.sessions(alice, NOW).await.unwrap()[0].used, NOW.plus(599));
}

async fn a_refresh_token_is_exchanged_once(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, record) = people.join("alice").await;
    let (first, token) = refreshable();
    let hash = record.credential_hash();
    let id = people.store.log_in([1; 32], NOW, alice, hash, first.clone(), NOW).await.unwrap();
    assert_eq!(people.store.is_current(token, NOW).await.unwrap(), Some(true));
    let (next, next_token) = fresh(id);
    let refreshed = people.store.refresh(token, next, NOW.plus(10)).await.unwrap();
    assert_eq!((refreshed.id, refreshed.account, refreshed.access_until), (id, alice, next.access_until));
    assert!(people.store.session(first.access, NOW).await.unwrap().is_none());
    assert!(people.store.session(next.access, NOW).await.unwrap().is_some());
    assert_eq!(people.store.is_current(token, NOW).await.unwrap(), Some(false));
    let nobody = SessionId([9; 16]);
    assert_eq!(people.store.is_current(issued(nobody), NOW).await.unwrap(), None);
    assert_eq!(refused(people.store.refresh(issued(nobody), fresh(nobody).0, NOW).await), Conflict::NoSession);
    // The session's end does not move.
    assert_eq!(refreshed.ends, first.ends);
    assert_eq!(people.store.is_current(next_token, first.ends.plus(-1)).await.unwrap(), Some(true));
    for ended in [next_token, token] {
        assert_eq!(people.store.is_current(ended, first.ends).await.unwrap(), None);
        assert_eq!(refused(people.store.refresh(ended, fresh(id).0, first.ends).await), Conflict::NoSession);
    }
}

/// However many exchanges ago it was the current one: nobody makes the server forget it.
async fn a_refresh_token_that_is_used_again_ends_the_session(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, record) = people.join("alice").await;
    let hash = record.credential_hash();
    for (login, exchanges) in [1, 2, 100].into_iter().enumerate() {
        let ((stolen, first), (other, _)) = (refreshable(), refreshable());
        let login = login as u8 * 2;
        let id = people.store.log_in([login; 32], NOW, alice, hash, stolen, NOW).await.unwrap();
        people.store.log_in([login + 1; 32], NOW, alice, hash, other.clone(), NOW).await.unwrap();
        let (mut latest, mut token) = (None, first);
        for _ in 0..exchanges {
            let (next, next_token) = fresh(id);
            people.store.refresh(token, next, NOW).await.unwrap();
            (latest, token) = (Some(next), next_token);
        }
        let access = latest.unwrap().access;
        assert!(people.store.session(access, NOW).await.unwrap().is_some());
        assert_eq!(refused(people.store.refresh(first, fresh(id).0, NOW).await), Conflict::RefreshReused);
        assert!(people.store.session(access, NOW).await.unwrap().is_none(), "{exchanges}");
        assert_eq!(refused(people.store.refresh(token, fresh(id).0, NOW).await), Conflict::NoSession);
        assert!(people.store.session(other.access, NOW).await.unwrap().is_some());
        let last = people.store.latest_audit_entries(Some(alice.to_string()), 1).await.unwrap();
        assert_eq!(last[0].event, "refresh-reused");
    }
}

async fn sessions_are_revoked_one_by_one_and_together(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, record) = people.join("alice").await;
    let (bob, _) = people.join("bob").await;
    let mut ids = Vec::new();
    for login in 0..4 {
        let hash = record.credential_hash();
        ids.push(people.store.log_in([login; 32], NOW, alice, hash, session(), NOW).await.unwrap());
    }
    let revoke = |account, id| people.store.revoke_session(account, id, Actor::Account(account), NOW);
    assert_eq!(refused(revoke(bob, ids[0]).await), Conflict::NoSession);
    revoke(alice, ids[0]).await.unwrap();
    assert_eq!(refused(revoke(alice, ids[0]).await), Conflict::NoSession);
    assert_eq!(people.store.sessions(alice, NOW).await.unwrap().len(), 3);
    let all_but = |keep| people.store.revoke_sessions(alice, keep, Actor::Server, NOW);
    assert_eq!(all_but(Some(ids[2])).await.unwrap(), 2);
    assert_eq!(people.store.sessions(alice, NOW).await.unwrap()[0].id, ids[2]);
    assert_eq!(all_but(Some(SessionId([0xff; 16]))).await.unwrap(), 1);
    assert_eq!(all_but(None).await.unwrap(), 0);
}

async fn an_account_keeps_its_latest_64_sessions(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, record) = people.join("alice").await;
    let mut all: Vec<NewSession> = Vec::new();
    for login in 0..66_u8 {
        let (new, now) = (session(), NOW.plus(i64::from(login)));
        all.push(new.clone());
        people.store.log_in([login; 32], now, alice, record.credential_hash(), new, now).await.unwrap();
    }
    assert_eq!(people.store.sessions(alice, NOW).await.unwrap().len(), 64);
    for (number, session) in all.iter().enumerate() {
        let open = people.store.session(session.access, NOW).await.unwrap().is_some();
        assert_eq!(open, number >= 2, "session {number}");
    }
}

async fn a_recovery_code_opens_one_session(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let codes: Vec<TokenHash> = (0..3).map(|_| token(Purpose::Recovery)).collect();
    let new = NewAccount { recovery_codes: codes.clone(), ..people.newcomer("alice") };
    let record = new.record.clone();
    let alice = people.store.register(new, NOW).await.unwrap();
    let (bob, _) = people.join("bob").await;
    let recover = |account, code| {
        let limited = NewSession { scope: Scope::Recovery, ..session() };
        people.store.recover(account, code, limited, NOW)
    };
    assert_eq!(refused(recover(bob, codes[0]).await), Conflict::NoRecoveryCode);
    recover(alice, codes[0]).await.unwrap();
    assert_eq!(refused(recover(alice, codes[0]).await), Conflict::NoRecoveryCode);
    assert_eq!(people.store.sessions(alice, NOW).await.unwrap()[0].scope, Scope::Recovery);
    assert_eq!(people.store.recovery_codes_left(alice).await.unwrap(), 2);

    let new_codes = vec![token(Purpose::Recovery)];
    let mut change = people.change(alice, &record);
    change.recovery_codes = Some(new_codes.clone());
    people.store.replace_record(change, NOW).await.unwrap();
    assert_eq!(refused(recover(alice, codes[1]).await), Conflict::NoRecoveryCode);
    recover(alice, new_codes[0]).await.unwrap();

    let hash = people.store.account_by_id(alice).await.unwrap().unwrap().record.credential_hash();
    people.store.replace_recovery_codes(([9; 32], NOW.plus(60)), alice, hash, codes.clone(), NOW).await.unwrap();
    people.store.set_disabled(alice, true, Actor::Server, NOW).await.unwrap();
    assert_eq!(refused(recover(alice, codes[2]).await), Conflict::Disabled);
}

async fn devices_are_known_until_they_are_removed(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, record) = people.join("alice").await;
    let (bob, _) = people.join("bob").await;
    let proof = token(Purpose::Device);
    let mut logins = 0;
    let mut add = async |proof, label: &str, now| {
        logins += 1;
        let device = NewDevice { id: DeviceId::generate().unwrap(), proof };
        let id = device.id;
        let session = NewSession { label: label.to_owned(), device: Some(device), ..session() };
        people.store.log_in([logins; 32], NOW, alice, record.credential_hash(), session, now).await.unwrap();
        id
    };
    let phone = add(proof, "phone", NOW).await;
    assert_eq!(people.store.devices(alice).await.unwrap()[0].label, "phone");
    assert_eq!(people.store.device(alice, phone).await.unwrap().unwrap().proof, proof);
    assert!(people.store.device(bob, phone).await.unwrap().is_none());
    assert!(people.store.device(alice, DeviceId([0; 16])).await.unwrap().is_none());
    people.store.mark_device_used(phone, NOW.plus(500)).await.unwrap();
    // The least recently used goes when there are too many.
    let mut others = Vec::new();
    for number in 0..32 {
        let label = format!("device {number}");
        let now = NOW.plus(number);
        others.push(add(token(Purpose::Device), &label, now).await);
    }
    let left = people.store.devices(alice).await.unwrap();
    assert_eq!((left.len(), left[0].id), (32, phone));
    assert!(left.iter().all(|device| device.id != others[0]));
    assert_eq!(refused(people.store.remove_device(bob, phone).await), Conflict::NoDevice);
    people.store.remove_device(alice, phone).await.unwrap();
    assert!(people.store.device(alice, phone).await.unwrap().is_none());
}

async fn what_changes_nothing_leaves_no_entry_in_the_log(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, _) = people.join("alice").await;
    let entries = async || people.store.audit_head().await.unwrap().sequence;
    let codes = vec![token(Purpose::Recovery), token(Purpose::Recovery)];
    let hash = people.store.account_by_id(alice).await.unwrap().unwrap().record.credential_hash();
    let mut logins = 0;
    let mut replace = |codes: Vec<TokenHash>| {
        logins += 1;
        people.store.replace_recovery_codes(([logins; 32], NOW.plus(60)), alice, hash, codes, NOW)
    };
    let before = entries().await;
    replace(codes.clone()).await.unwrap();
    assert_eq!(entries().await, before + 1);
    replace(codes.iter().rev().copied().collect()).await.unwrap();
    assert_eq!(people.store.revoke_sessions(alice, None, Actor::Account(alice), NOW).await, Ok(0));
    assert_eq!(entries().await, before + 1, "nothing has changed");
    replace(codes[..1].to_vec()).await.unwrap();
    assert_eq!((entries().await, people.store.recovery_codes_left(alice).await.unwrap()), (before + 2, 1));
    let replay = people.store.replace_recovery_codes(([1; 32], NOW.plus(60)), alice, hash, codes, NOW).await;
    assert_eq!(refused(replay), Conflict::LoginUsed);
    assert_eq!(people.store.recovery_codes_left(alice).await.unwrap(), 1);
}

async fn a_login_by_a_wrong_clock_ends_no_session(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, record) = people.join("alice").await;
    let (hash, new) = (record.credential_hash(), session());
    let id = people.store.log_in([1; 32], NOW, alice, hash, new.clone(), NOW).await.unwrap();
    people.store.log_in([2; 32], NOW.plus(YEAR), alice, hash, session(), NOW.plus(YEAR)).await.unwrap();
    assert!(people.store.session(new.access, NOW.plus(YEAR)).await.unwrap().is_none());
    assert_eq!(people.store.session(new.access, NOW).await.unwrap().unwrap().id, id);
}

async fn what_comes_from_the_future_is_refused_until_its_time_comes(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, record) = people.join("alice").await;
    let (new, first) = refreshable();
    // Ten minutes may lie between the clocks of two instances.
    let (early, later, made) = (NOW, NOW.plus(1), NOW.plus(601));
    let id = people.store.log_in([1; 32], made, alice, record.credential_hash(), new.clone(), made).await.unwrap();
    let invitation = token(Purpose::Registration);
    people.store.add_registration_token(invitation, String::new(), NOW.plus(DAY), Actor::Server, made).await.unwrap();
    let invited = || NewAccount { token: Some(invitation), ..people.newcomer("bob") };
    let (next, second) = fresh(id);

    assert!(people.store.session(new.access, early).await.unwrap().is_none());
    assert_eq!(people.store.is_current(first, early).await.unwrap(), None);
    for refresh in [first, second] {
        assert_eq!(refused(people.store.refresh(refresh, next, early).await), Conflict::NoSession);
    }
    assert!(!people.store.has_registration_token(invitation, early).await.unwrap());
    assert_eq!(refused(people.store.register(invited(), early).await), Conflict::NoRegistrationToken);
    assert_eq!(people.store.sessions(alice, early).await.unwrap()[0].id, id, "its owner can end it");

    assert_eq!(people.store.session(new.access, later).await.unwrap().unwrap().id, id);
    assert_eq!(people.store.is_current(first, later).await.unwrap(), Some(true));
    people.store.refresh(first, next, later).await.unwrap();
    assert_eq!(refused(people.store.refresh(first, next, later).await), Conflict::RefreshReused);
    assert!(people.store.has_registration_token(invitation, later).await.unwrap());
    people.store.register(invited(), later).await.unwrap();
}

async fn upkeep_removes_what_expired_by_a_clock_that_goes_on_evenly(empty: &Empty) {
    let people = People::of(empty.open().await).await;
    let (alice, record) = people.join("alice").await;
    let new = session();
    let id = people.store.log_in([1; 32], NOW, alice, record.credential_hash(), new.clone(), NOW).await.unwrap();
    let invitation = token(Purpose::Registration);
    people.store.add_registration_token(invitation, String::new(), NOW.plus(HOUR), Actor::Server, NOW).await.unwrap();

    let (ahead, passed) = (Arc::new(AtomicI64::new(0)), Arc::new(AtomicI64::new(0)));
    let (by, since, steady) = (Arc::clone(&ahead), Arc::clone(&passed), Arc::clone(&passed));
    let now = move || NOW.plus(since.load(Ordering::Relaxed) + by.load(Ordering::Relaxed));
    let clock = Clock::unsteady(now, move || steady.load(Ordering::Relaxed));
    let mut upkeep = Upkeep::new(people.store.clone(), clock);
    let mut removed = async |seconds, wrong_by| {
        passed.store(seconds, Ordering::Relaxed);
        ahead.store(wrong_by, Ordering::Relaxed);
        let removed = upkeep.run().await.unwrap();
        removed.map(|removed| (removed.sessions, removed.logins, removed.registration_tokens))
    };
    assert_eq!(removed(HOUR - 1, 0).await, None, "it has just started");
    assert_eq!(removed(HOUR, 0).await, Some((0, 0, 0)));
    for (start, wrong_by) in [(2, YEAR), (3, 0), (4, 31 * DAY), (5, -YEAR), (6, 0), (7, 601)] {
        assert_eq!(removed(start * HOUR, wrong_by).await, None, "{wrong_by}");
        assert_eq!(removed((start + 1) * HOUR - 1, wrong_by).await, None, "{wrong_by}");
    }
    assert_eq!(people.store.session(new.access, NOW).await.unwrap().unwrap().id, id);
    assert!(people.store.has_registration_token(invitation, NOW).await.unwrap());

    // The session expires after a day, and goes a day later.
    assert_eq!(removed(8 * HOUR, 0).await, None, "the clock is right again, but not for long");
    assert_eq!(removed(9 * HOUR, 600).await, Some((0, 0, 0)), "a clock may be set by a little");
    assert_eq!(removed(2 * DAY - 1, 0).await, Some((0, 1, 1)));
    assert_eq!(removed(2 * DAY, 0).await, Some((1, 0, 0)));
    assert!(people.store.session(new.access, NOW).await.unwrap().is_none());
    assert!(!people.store.has_registration_token(invitation, NOW).await.unwrap());
}

/// The next tokens of a session.
fn fresh(session: SessionId) -> (Refresh, IssuedRefresh) {
    let issued = issued(session);
    (Refresh { access: token(Purpose::Access), access_until: NOW.plus(1200), refresh: issued.hash() }, issued)
}
