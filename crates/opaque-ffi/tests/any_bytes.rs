//! Bytes and handles from anywhere: each is refused with a status beside the one that is taken.

use candor_opaque::{Limits, Parties};
use candor_opaque_ffi::object::{Object, Part, free, keep, part};
use candor_opaque_ffi::status::Status;
use candor_opaque_ffi::{Handle, client, server};
use proptest::prelude::*;

const RFC9807: u32 = 1;
const BYTES: u32 = 2;
const PASSWORD: &[u8] = b"password";
const NO_STRETCHING: [u8; 13] = [0; 13];

fn made(object: Result<Object, Status>) -> Handle {
    object.and_then(keep).expect("a step that must succeed")
}

/// A client, a server, and what each of them has saved in the middle of a registration and of a login.
struct World {
    client: Handle,
    server: Handle,
    states: [Vec<u8>; 5],
}

impl World {
    fn new() -> Self {
        let client = made(client::new(RFC9807, &[], Some(Limits::NONE)));
        let server = made(server::generate(RFC9807, Some(&NO_STRETCHING)));
        let state = |object: &Handle| part(*object, Part::State as u32).unwrap().to_vec();
        let message = |object: &Handle| part(*object, Part::Message as u32).unwrap();
        let asked = made(client::start_registration(client, BYTES, PASSWORD));
        let registration = made(server::start_registration(server, &message(&asked)));
        let started = made(client::start_login(client, BYTES, PASSWORD));
        let login = made(server::start_login(server, &message(&started), b"alice", None, &Parties::new(b"test")));
        let all = [server, asked, registration, started, login];
        let states = all.each_ref().map(state);
        all[1..].iter().for_each(|object| free(*object).unwrap());
        Self { client, server, states }
    }

    /// Reads a state where that at `at` is expected.
    fn read(&self, at: usize, state: &[u8]) -> Result<Object, Status> {
        match at {
            0 => server::from_bytes(RFC9807, state),
            1 => client::resume_registration(self.client, state, BYTES, PASSWORD),
            2 => server::resume_registration(state),
            3 => client::resume_login(self.client, state, BYTES, PASSWORD),
            _ => server::resume_login(self.server, state),
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for handle in [self.client, self.server] {
            assert_eq!(free(handle), Ok(()));
        }
    }
}

#[test]
fn a_saved_state_is_read_whole_and_refused_if_it_is_cut_or_that_of_something_else() {
    let world = World::new();
    for (at, state) in world.states.iter().enumerate() {
        assert!(world.read(at, state).is_ok(), "state {at}");
        // That of a server's registration ends in an identifier of any length, and that of a client's has no end to be cut but its own.
        let least = if at == 2 { 48 } else { state.len() };
        for length in 0..least {
            assert!(world.read(at, &state[..length]).is_err(), "state {at} of {length} bytes");
        }
        for other in (0..5).filter(|other| *other != at) {
            assert!(world.read(other, state).is_err(), "state {at} as {other}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_bytes_are_read_or_refused_and_what_is_read_comes_back(at in 0..5_usize, state in proptest::collection::vec(any::<u8>(), 0..300)) {
        let world = World::new();
        if let Ok(object) = world.read(at, &state) {
            let handle = keep(object).unwrap();
            prop_assert_eq!(part(handle, Part::State as u32).unwrap().len(), state.len());
            prop_assert_eq!(free(handle), Ok(()));
        }
    }

    #[test]
    fn a_handle_that_was_never_made_is_refused_everywhere(place in any::<u32>(), generation in (1_u32 << 20).., number in 1..12_u32) {
        let handle = u64::from(generation) << 32 | u64::from(place);
        let world = World::new();
        prop_assert_eq!(part(handle, number), Err(Status::Handle));
        prop_assert_eq!(free(handle), Err(Status::Handle));
        let none = Parties::default();
        let refused = [
            client::start_registration(handle, BYTES, PASSWORD),
            client::start_login(handle, BYTES, PASSWORD),
            client::finish_registration(handle, &[], &NO_STRETCHING, &none),
            client::finish_login(handle, &[], &NO_STRETCHING, &none),
            server::start_registration(handle, &[]),
            server::start_registration_again(handle, 0, &[]),
            server::start_registration_again(world.server, handle, &[]),
            server::start_registration_again(world.server, 0, &[]),
            server::finish_registration(handle, &[]),
            server::start_login(handle, &[], &[], None, &none),
            server::finish_login(handle, &[], None),
            server::to_suite(handle, RFC9807),
        ];
        for object in refused {
            prop_assert_eq!(object.err(), Some(Status::Handle));
        }
        prop_assert_eq!(server::change_applies_to(handle, None), Err(Status::Handle));
        prop_assert_eq!(server::adopt_ksf(handle, &NO_STRETCHING, 0), Err(Status::Handle));
    }
}
