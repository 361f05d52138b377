//! Calls of the C interface of OPAQUE, in any order, with any handles, numbers and lengths. Pointers are C's promise and so are not tried here; a test in C does.
//!
//! The data is a list of calls: a byte that names one, and its operands. An operand is a byte that chooses a handle, a number, or bytes: a length and as many of
//! those that follow, or, from `KEPT` on, what an earlier call has given out.

use candor_opaque::{Limits, Parties};
use candor_opaque_ffi::object::{free, keep, part};
use candor_opaque_ffi::status::Status;
use candor_opaque_ffi::{Handle, client, object::Object, server};

/// Lengths from here on stand for earlier outputs.
const KEPT: u8 = 200;
/// The operand that is the handle 0.
const NO_HANDLE: u8 = 255;
/// Stretching that a run can afford.
const LIMITS: Limits =
    Limits { identity: true, least_memory_kib: 0, least_work: 0, most_memory_kib: 64, most_work: 64 };
/// The number of the part that is KE3, and of a client's other messages.
const MESSAGE: u32 = 1;

/// Nobody panics; an object is found by its handle until it is freed and not after; and no session begins without a message that this run's client has sent.
pub fn calls(data: &[u8]) {
    made_and_given(data);
}

/// [`calls`], which says how many objects were made and how many outputs given.
pub fn made_and_given(data: &[u8]) -> (usize, usize) {
    let mut calls = Calls { data, handles: Vec::new(), freed: Vec::new(), given: Vec::new() };
    while let Some(call) = calls.byte() {
        calls.one(call);
    }
    let counts = (calls.handles.len() + calls.freed.len(), calls.given.len());
    for handle in &calls.freed {
        assert_eq!(part(*handle, MESSAGE), Err(Status::Handle));
    }
    for handle in calls.handles {
        assert_eq!(free(handle), Ok(()));
        assert_eq!(free(handle), Err(Status::Handle));
    }
    counts
}

struct Calls<'a> {
    data: &'a [u8],
    handles: Vec<Handle>,
    freed: Vec<Handle>,
    given: Vec<Vec<u8>>,
}

impl Calls<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.data.split_first()?;
        self.data = rest;
        Some(*first)
    }

    fn number(&mut self) -> u32 {
        self.byte().map_or(0, u32::from)
    }

    /// One that was made, or was freed, or never was, or 0.
    fn handle(&mut self) -> Handle {
        let choice = self.byte().map_or(0, usize::from);
        if choice == usize::from(NO_HANDLE) {
            return 0;
        }
        let freed = choice.checked_sub(usize::from(KEPT)).and_then(|at| self.freed.get(at));
        self.handles.get(choice).or(freed).copied().unwrap_or(choice as Handle)
    }

    fn bytes(&mut self) -> Vec<u8> {
        match self.byte() {
            Some(at @ KEPT..) => self.given.get(usize::from(at - KEPT)).cloned().unwrap_or_default(),
            length => {
                let (found, rest) = self.data.split_at(self.data.len().min(length.map_or(0, usize::from)));
                self.data = rest;
                found.to_vec()
            }
        }
    }

    fn made(&mut self, object: Result<Object, Status>) {
        let Ok(object) = object else { return };
        let handle = keep(object).expect("there is room");
        assert!(handle != 0 && !self.handles.contains(&handle) && !self.freed.contains(&handle));
        self.handles.push(handle);
    }

    fn one(&mut self, call: u8) {
        let parties = Parties::new(b"fuzz");
        match call {
            0 => {
                let (suite, key) = (self.number(), self.bytes());
                self.made(client::new(suite, &key, Some(LIMITS)));
            }
            1 => {
                let (suite, ksf) = (self.number(), self.bytes());
                self.made(server::generate(suite, Some(&ksf)));
            }
            2 => {
                let (suite, saved) = (self.number(), self.bytes());
                self.made(server::from_bytes(suite, &saved));
            }
            3 => {
                let (client, kind, password) = (self.handle(), self.number(), self.bytes());
                self.made(client::start_registration(client, kind, &password));
            }
            4 => {
                let (client, kind, password) = (self.handle(), self.number(), self.bytes());
                self.made(client::start_login(client, kind, &password));
            }
            5 => {
                let (client, saved, password) = (self.handle(), self.bytes(), self.bytes());
                self.made(client::resume_registration(client, &saved, 2, &password));
            }
            6 => {
                let (client, saved, password) = (self.handle(), self.bytes(), self.bytes());
                self.made(client::resume_login(client, &saved, 2, &password));
            }
            7 => {
                let (registration, response, ksf) = (self.handle(), self.bytes(), self.bytes());
                self.made(client::finish_registration(registration, &response, &ksf, &parties));
            }
            8 => {
                let (login, ke2, ksf) = (self.handle(), self.bytes(), self.bytes());
                self.made(client::finish_login(login, &ke2, &ksf, &parties));
            }
            9 => {
                let (server, session, request) = (self.handle(), self.handle(), self.bytes());
                self.made(match session {
                    0 => server::start_registration(server, &request),
                    _ => server::start_registration_again(server, session, &request),
                });
            }
            10 => {
                let (server, id, request) = (self.handle(), self.bytes(), self.bytes());
                self.made(server::start_registration_with_id(server, &id, &request));
            }
            11 => {
                let saved = self.bytes();
                self.made(server::resume_registration(&saved));
            }
            12 => {
                let (registration, upload) = (self.handle(), self.bytes());
                self.made(server::finish_registration(registration, &upload));
            }
            13 => {
                let (change, current) = (self.handle(), self.bytes());
                let _ = server::change_applies_to(change, (!current.is_empty()).then_some(&current[..]));
            }
            14 => {
                let (record, suite) = (self.bytes(), self.number());
                if let Ok(raised) = server::record_raise_minimum(&record, suite) {
                    assert_eq!(raised.len(), record.len());
                    self.given.push(raised.to_vec());
                }
            }
            15 => {
                let (upload, ksf, id, suite) = (self.bytes(), self.bytes(), self.bytes(), self.number());
                if let Ok(record) = server::record_from_upload(&upload, &ksf, &id, suite) {
                    self.given.push(record.to_vec());
                }
            }
            16 => {
                let (server, ke1, name, record) = (self.handle(), self.bytes(), self.bytes(), self.bytes());
                let record = (!record.is_empty()).then_some(&record[..]);
                self.made(server::start_login(server, &ke1, &name, record, &parties));
            }
            17 => {
                let (server, saved) = (self.handle(), self.bytes());
                self.made(server::resume_login(server, &saved));
            }
            18 => {
                let (login, ke3, record) = (self.handle(), self.bytes(), self.bytes());
                let session = server::finish_login(login, &ke3, (!record.is_empty()).then_some(&record[..]));
                assert!(session.is_err() || self.given.contains(&ke3), "a session by a KE3 that nobody sent");
                self.made(session);
            }
            19 => {
                let (object, number) = (self.handle(), self.number());
                if let Ok(bytes) = part(object, number) {
                    self.given.push(bytes.to_vec());
                }
            }
            20 => {
                let handle = self.handle();
                let known = self.handles.iter().position(|one| *one == handle);
                assert_eq!(free(handle).is_ok(), known.is_some() || handle == 0);
                if let Some(at) = known {
                    self.handles.remove(at);
                    self.freed.push(handle);
                }
            }
            21 => {
                let (server, suite) = (self.handle(), self.number());
                self.made(server::to_suite(server, suite));
            }
            _ => {
                let (server, ksf, share) = (self.handle(), self.bytes(), self.number());
                let _ = server::adopt_ksf(server, &ksf, share * 10);
            }
        }
    }
}

/// A good list of calls, to start corpora with: a registration and a login in the suite with this number, and the session's key.
pub fn honest(suite: u8) -> Vec<u8> {
    let mut list = Vec::new();
    let password = b"\x08password";
    let none = b"\x0d\0\0\0\0\0\0\0\0\0\0\0\0\0";
    list.extend([1, suite]);
    list.extend(none); // object 0: the server
    // Output 0: the static KEM key, or the parameters where there is none.
    list.extend([19, 0, if suite == 4 { 7 } else { 2 }]);
    list.extend([0, suite, if suite == 4 { KEPT } else { 0 }]); // object 1: the client
    list.extend([3, 1, 2]);
    list.extend(password); // object 2: its registration
    list.extend([19, 2, 1]); // output 1: the request
    list.extend([9, 0, NO_HANDLE, KEPT + 1]); // object 3: the server's registration
    list.extend([19, 3, 1, 19, 3, 2]); // outputs 2 and 3: response, parameters
    list.extend([7, 2, KEPT + 2, KEPT + 3]); // object 4: registered
    list.extend([19, 4, 1]); // output 4: the upload
    list.extend([12, 3, KEPT + 4]); // object 5: the change
    list.extend([19, 5, 8, 13, 5, 0]); // output 5: the record
    list.extend([4, 1, 2]);
    list.extend(password); // object 6: a login
    list.extend([19, 6, 1]); // output 6: KE1
    list.extend([16, 0, KEPT + 6, 3, b'y', b'o', b'u', KEPT + 5]); // object 7: the answer
    list.extend([19, 7, 1, 19, 7, 2, 19, 7, 3]); // outputs 7, 8, 9: KE2, parameters, state
    list.extend([8, 6, KEPT + 7, KEPT + 8]); // object 8: logged in
    list.extend([19, 8, 1]); // output 10: KE3
    list.extend([17, 0, KEPT + 9]); // object 9: the answer again
    list.extend([18, 9, KEPT + 10, KEPT + 5]); // object 10: the session
    list.extend([19, 10, 4]); // output 11: its key
    list.extend([14, KEPT + 5, 4]); // output 12: the record, for the pinned suite
    list.extend([10, 0, 3, b'i', b'd', b'7', KEPT + 1]); // object 11: a registration by an identifier
    list.extend([9, 0, 10, KEPT + 1]); // object 12: one with the session
    list.extend([20, 1]);
    list
}
