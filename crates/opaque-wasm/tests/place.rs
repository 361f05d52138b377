//! The module's work without a module: requests as JavaScript writes them, and a server of this process.

use candor_opaque::{DefaultSuite, KsfParams, Parties, Record, Server};
use candor_opaque_wasm::{Code, Page, Place, Random, Refusal};
use proptest::prelude::*;
use std::cell::{Cell, RefCell};
use unicode_normalization::UnicodeNormalization;
use zeroize::Zeroizing;

const PARTIES: Parties<'static> = Parties::new(b"test");

/// A page that writes down what it gives and hears.
#[derive(Default)]
struct Paper {
    state: Cell<u64>,
    drawn: RefCell<Vec<u8>>,
    progress: RefCell<Vec<(u64, u64)>>,
}

impl Page for Paper {
    fn random(&self, bytes: &mut [u8]) {
        for byte in &mut *bytes {
            // SplitMix64's step; the top byte.
            self.state.set(self.state.get().wrapping_add(0x9e37_79b9_7f4a_7c15));
            let mixed = (self.state.get() ^ self.state.get() >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            *byte = (mixed >> 56) as u8;
        }
        self.drawn.borrow_mut().extend_from_slice(bytes);
    }

    fn nfc(&self, text: &str) -> Zeroizing<String> {
        Zeroizing::new(text.nfc().collect())
    }

    fn progress(&self, done: u64, all: u64) {
        self.progress.borrow_mut().push((done, all));
    }
}

fn field(bytes: Option<&[u8]>) -> Vec<u8> {
    match bytes {
        Some(bytes) => [&(bytes.len() as u32).to_le_bytes(), bytes].concat(),
        None => u32::MAX.to_le_bytes().to_vec(),
    }
}

fn numbers(numbers: &[u64]) -> Vec<u8> {
    numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
}

const NO_LIMITS: [u64; 5] = [1, 0, 0, u64::MAX, u64::MAX];

fn start(operation: u8, password: &[u8], text: bool, limits: [u64; 5]) -> Vec<u8> {
    let head = [vec![operation, u8::from(text)], numbers(&limits)].concat();
    [head, field(Some(PARTIES.context)), field(None), field(None), field(Some(password))].concat()
}

fn finish(message: &[u8], ksf: &KsfParams) -> Vec<u8> {
    [vec![2], field(Some(message)), field(Some(&ksf.to_bytes()))].concat()
}

fn old_hash(scheme: &str, password: &[u8], limits: [u64; 7]) -> Vec<u8> {
    [vec![3], numbers(&limits), field(Some(scheme.as_bytes())), field(Some(password))].concat()
}

/// The fields of an answer.
fn split(mut answer: &[u8]) -> Vec<Vec<u8>> {
    let mut fields = Vec::new();
    while let Some((length, rest)) = answer.split_first_chunk() {
        let (field, after) = rest.split_at(u32::from_le_bytes(*length) as usize);
        fields.push(field.to_vec());
        answer = after;
    }
    fields
}

/// A place, its page, and a server that knows one account.
struct World {
    place: Place,
    page: Paper,
    server: Server<DefaultSuite>,
    /// What the server draws, apart from the page.
    paper: Paper,
    ksf: KsfParams,
}

impl World {
    fn new(ksf: KsfParams) -> Self {
        let paper = Paper::default();
        paper.state.set(1);
        let server = Server::generate(DefaultSuite::default(), ksf, &mut Random(&paper)).unwrap();
        Self { place: Place::new(), page: Paper::default(), server, paper, ksf }
    }

    fn work(&mut self, request: &[u8]) -> Result<Vec<Vec<u8>>, Refusal> {
        self.place.work(request, &self.page).map(|answer| split(&answer))
    }

    /// The record and the export key.
    fn register(&mut self, password: &str) -> Result<(Record, Vec<u8>), Refusal> {
        let request = self.work(&start(0, password.as_bytes(), true, NO_LIMITS))?.remove(0);
        let answer = self.server.register(&mut Random(&self.paper), &request).unwrap();
        let mut done = self.work(&finish(&answer.response, &answer.ksf))?;
        assert_eq!(done.iter().map(Vec::len).collect::<Vec<_>>(), [192, 64, 32]);
        Ok((answer.state.finish(&done[0]).unwrap().into_record(), done.swap_remove(1)))
    }

    /// The export key, if server and client then share a key.
    fn log_in(&mut self, password: &[u8], text: bool, record: &Record) -> Result<Vec<u8>, Refusal> {
        let ke1 = self.work(&start(1, password, text, NO_LIMITS))?.remove(0);
        let rng = &mut Random(&self.paper);
        let answer = self.server.respond(rng, &ke1, b"alice", Some(record), &PARTIES).unwrap();
        let mut done = self.work(&finish(&answer.ke2, &self.ksf.clone()))?;
        let session = answer.state.finish(&done[0], Some(record)).expect("KE3 is the client's");
        assert_eq!(session.session_key.as_bytes().as_slice(), done[1]);
        Ok(done.swap_remove(2))
    }
}

/// Quick.
fn weak() -> KsfParams {
    KsfParams::argon2id(64, 2, 1).expect("Argon2 has these")
}

fn code(outcome: Result<impl Sized, Refusal>) -> Option<Code> {
    outcome.err().map(|refusal| refusal.code)
}

#[test]
fn an_account_registers_and_logs_in_and_progress_is_told() {
    let mut world = World::new(weak());
    let (record, export_key) = world.register("correct horse").unwrap();
    let told = world.page.progress.take();
    assert_eq!(told, (1..=8).map(|done| (done, 8)).collect::<Vec<_>>());
    assert_eq!(world.log_in(b"correct horse", true, &record), Ok(export_key));
    let refused = world.log_in(b"correct cow", true, &record);
    assert_eq!(code(refused), Some(Code::Login));
}

#[test]
fn text_is_prepared_and_bytes_are_not() {
    let mut world = World::new(KsfParams::Identity);
    let (record, export_key) = world.register("cafe\u{301}\u{a0}noir").unwrap();
    assert_eq!(world.log_in("café noir".as_bytes(), true, &record), Ok(export_key.clone()));
    assert_eq!(world.log_in("café noir".as_bytes(), false, &record), Ok(export_key));
    let other = world.log_in("cafe\u{301} noir".as_bytes(), false, &record);
    assert_eq!(code(other), Some(Code::Login));
    for bad in [&b""[..], b"tab\t", b"\xff", "zero\u{200b}width".as_bytes()] {
        assert_eq!(code(world.work(&start(1, bad, true, NO_LIMITS))), Some(Code::Password), "{bad:?}");
    }
}

#[test]
fn stretching_beyond_the_limits_is_refused() {
    let mut world = World::new(weak());
    for (limits, expected) in [
        ([0, 64, 128, 64, 128], None),
        ([0, 65, 128, 64, 128], Some(Code::Limits)),
        ([0, 64, 129, 64, 128], Some(Code::Limits)),
        ([0, 64, 128, 63, 128], Some(Code::Limits)),
        ([0, 64, 128, 64, 127], Some(Code::Limits)),
    ] {
        let request = world.work(&start(0, b"pw", true, limits)).unwrap().remove(0);
        let answer = world.server.register(&mut Random(&world.paper), &request).unwrap();
        let (response, ksf) = (answer.response, answer.ksf);
        assert_eq!(code(world.work(&finish(&response, &ksf))), expected, "{limits:?}");
    }
}

#[test]
fn what_is_given_up_or_over_can_not_be_finished() {
    let mut world = World::new(KsfParams::Identity);
    let response = |world: &mut World| {
        let request = world.work(&start(0, b"pw", true, NO_LIMITS)).unwrap().remove(0);
        world.server.register(&mut Random(&world.paper), &request).unwrap().response
    };
    let end = |response: &[u8]| finish(response, &KsfParams::Identity);

    let first = response(&mut world);
    assert_eq!(code(world.work(&end(&first))), None);
    assert_eq!(code(world.work(&end(&first))), Some(Code::Input));
    let second = response(&mut world);
    assert_eq!(world.work(&[4]), Ok(Vec::new()));
    assert_eq!(code(world.work(&end(&second))), Some(Code::Input));
    let third = response(&mut world);
    assert_eq!(code(world.work(&end(&third[1..]))), Some(Code::Message));
    assert_eq!(code(world.work(&end(&third))), Some(Code::Input), "a refusal ends it");
}

/// bcrypt's own test vector, of the empty password: `$2a$06$DCq7YPn5Rq63x1Lad4cll.TV4S6ytwfsfvkgY8jIucDrjc8deX1s.`
#[test]
fn an_old_hash_is_computed_within_the_limits() {
    let mut world = World::new(weak());
    let digest = [
        0x55, 0x7e, 0x94, 0xf3, 0x4b, 0xf2, 0x86, 0xe8, 0x71, 0x9a, 0x26, 0xbe, 0x94, 0xac, 0x1e, 0x16, 0xd9, 0x5e,
        0xf9, 0xf8, 0x19, 0xde, 0xe0,
    ];
    let scheme = "$bcrypt$r=6$FEs9aRp7Ts85z3Ncf6ennA";
    let limits = |bcrypt: u64| [256 << 20, 1 << 20, 2 << 30, 4, bcrypt, 1000, 2_000_000];
    let computed = world.work(&old_hash(scheme, b"", limits(6))).unwrap();
    assert_eq!(computed, [[b"candor-old-hash-1\0", &digest[..]].concat()]);
    assert_eq!(code(world.work(&old_hash(scheme, b"", limits(5)))), Some(Code::OldHash));
    assert_eq!(code(world.work(&old_hash("$md5$$", b"", limits(6)))), Some(Code::OldHash));
}

/// What JavaScript's tests let both modules repeat: everything that goes in and comes out.
#[test]
fn the_transcript_for_the_modules_is_current() {
    let mut lines = vec!["{".to_owned()];
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut world = World::new(KsfParams::argon2id(1024, 2, 3).unwrap());
    let mut line = |name: &str, bytes: &[u8]| lines.push(format!("  \"{name}\": \"{}\",", hex(bytes)));

    let request = world.work(&start(0, "pässword".as_bytes(), true, NO_LIMITS)).unwrap().remove(0);
    let answer = world.server.register(&mut Random(&world.paper), &request).unwrap();
    let done = world.work(&finish(&answer.response, &answer.ksf)).unwrap();
    line("ksf", &answer.ksf.to_bytes());
    line("request", &request);
    line("response", &answer.response);
    line("upload", &done[0]);
    line("exportKey", &done[1]);
    let record = answer.state.finish(&done[0]).unwrap().into_record();

    let ke1 = world.work(&start(1, "pässword".as_bytes(), true, NO_LIMITS)).unwrap().remove(0);
    let rng = &mut Random(&world.paper);
    let answer = world.server.respond(rng, &ke1, b"alice", Some(&record), &PARTIES).unwrap();
    let done = world.work(&finish(&answer.ke2, &answer.ksf)).unwrap();
    line("ke1", &ke1);
    line("ke2", &answer.ke2);
    line("ke3", &done[0]);
    line("sessionKey", &done[1]);
    line("random", &world.page.drawn.borrow());

    // A login without key stretching, for the bench.
    let mut plain = World::new(KsfParams::Identity);
    let (record, _) = plain.register("pässword").unwrap();
    plain.page.drawn.take();
    let ke1 = plain.work(&start(1, "pässword".as_bytes(), true, NO_LIMITS)).unwrap().remove(0);
    let rng = &mut Random(&plain.paper);
    let answer = plain.server.respond(rng, &ke1, b"alice", Some(&record), &PARTIES).unwrap();
    plain.work(&finish(&answer.ke2, &answer.ksf)).unwrap();
    line("plainKe2", &answer.ke2);
    line("plainRandom", &plain.page.drawn.borrow());
    lines.push("  \"context\": \"test\",\n  \"password\": \"pässword\"\n}\n".to_owned());

    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/transcript.json");
    if std::env::var_os("CANDOR_WRITE").is_some() {
        std::fs::write(path, lines.join("\n")).unwrap();
    }
    let kept = std::fs::read_to_string(path).expect("run this test with CANDOR_WRITE=1 once");
    assert!(kept == lines.join("\n"), "the transcript has changed; run this test with CANDOR_WRITE=1");
}

proptest! {
    #[test]
    fn any_bytes_are_a_request_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..200), operation in 0u8..6) {
        let (mut place, page) = (Place::new(), Paper::default());
        let request = [&[operation], &bytes[..]].concat();
        let refused = code(place.work(&request, &page));
        prop_assert!(operation == 4 && bytes.is_empty() || refused.is_some());
    }

    #[test]
    fn a_request_that_is_cut_or_has_more_is_refused(at in 0usize..70) {
        let (mut place, page) = (Place::new(), Paper::default());
        let whole = start(0, b"password", true, NO_LIMITS);
        prop_assert_eq!(whole.len(), 70);
        let cut = &whole[..at];
        prop_assert_eq!(code(place.work(cut, &page)), Some(Code::Input));
        prop_assert_eq!(code(place.work(&[&whole[..], &[0]].concat(), &page)), Some(Code::Input));
        prop_assert_eq!(code(place.work(&whole, &page)), None);
    }
}
