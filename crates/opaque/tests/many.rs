//! Several logins answered at once: each gets what it would get alone.

use candor_opaque::suite::Slot;
use candor_opaque::{Answer, Error, KsfParams, LoginStart, NoStretching, Password, ServerLogin, Suite};
use candor_test_support::Random;
use candor_test_support::back_ends::{Script, system};
use world::{Make, PARTIES, USER, World, every_suite};

mod world;

/// What a server draws for a login: for itself, and the coins of the KEM.
const OWN: usize = 96;
const COINS: usize = 32;

/// KE2 and the server's state.
type Bytes = Result<(Vec<u8>, Vec<u8>), Error>;

fn bytes<S: Suite>(answer: Result<Answer<S>, Error>) -> Bytes {
    answer.map(|answer| (answer.ke2, answer.state.to_bytes().to_vec()))
}

fn together<S: Suite>(world: &World<S>, script: &mut Script, logins: &[LoginStart<'_>]) -> Vec<Bytes> {
    let mut answers = vec![None; logins.len()];
    world.server.respond_many(script, logins, |at, answer| {
        assert!(answers[at].replace(bytes(answer)).is_none(), "login {at} is answered twice");
    });
    answers.into_iter().map(|answer| answer.expect("each is answered")).collect()
}

fn one_by_one<S: Suite>(world: &World<S>, script: &mut Script, logins: &[LoginStart<'_>]) -> Vec<Bytes> {
    let alone = |login: &LoginStart<'_>| {
        bytes(world.server.respond(script, login.ke1, login.name, login.record, login.parties))
    };
    logins.iter().map(alone).collect()
}

/// The same randomness for logins one by one and for all together, in the order in which each takes it.
fn scripts(count: usize, coins: usize) -> (Script, Script) {
    let random = Random::default().bytes(count * (OWN + coins));
    let each: Vec<_> = random.chunks(OWN + coins).collect();
    let all = [
        each.iter().map(|part| &part[..OWN]).collect::<Vec<_>>().concat(),
        each.iter().map(|part| &part[OWN..]).collect::<Vec<_>>().concat(),
    ];
    (Script::of([&random]), Script::of([&all[0], &all[1]]))
}

fn any_number<S: Make>() {
    let world = S::world();
    let coins = if S::Ephemeral::CIPHERTEXT == 0 { 0 } else { COINS };
    let password = Password::from_bytes(world::PASSWORD).unwrap();
    let (clients, mut ke1s): (Vec<_>, Vec<_>) =
        (0..17).map(|_| world.client.start_login(&mut system(), &password).unwrap()).unzip();
    for (count, bad) in [(0, None), (1, None), (2, Some(0)), (8, Some(3)), (9, Some(8)), (17, None)] {
        let good = ke1s.clone();
        if let Some(bad) = bad {
            // The blinded element, which is no point then.
            ke1s[bad][..32].fill(0xff);
        }
        let login = |at: usize| LoginStart {
            ke1: &ke1s[at],
            name: USER,
            // Every third has no account.
            record: (at % 3 < 2).then_some(&world.record),
            parties: &PARTIES,
        };
        let logins: Vec<_> = (0..count).map(login).collect();
        let (mut alone, mut all) = scripts(count - usize::from(bad.is_some()), coins);
        let expected = one_by_one(&world, &mut alone, &logins);
        assert_eq!(together(&world, &mut all, &logins), expected, "{}: {count} logins", S::NAME);
        assert!(alone.used_up() && all.used_up());
        assert!((0..count).all(|at| expected[at].is_err() == (bad == Some(at))), "{}", S::NAME);
        ke1s = good;
    }
    // Clients log in by such answers.
    let logins: Vec<_> =
        ke1s.iter().map(|ke1| LoginStart { ke1, name: USER, record: Some(&world.record), parties: &PARTIES }).collect();
    let answers = together(&world, &mut scripts(17, coins).1, &logins);
    for (client, answer) in clients.into_iter().zip(answers).take(3) {
        let (ke2, state) = answer.unwrap();
        let done = client.finish(&ke2, &KsfParams::Identity, &mut NoStretching, &PARTIES).unwrap();
        let session = ServerLogin::<S>::from_bytes(&state).unwrap().finish(&done.ke3, Some(&world.record)).unwrap();
        assert!(session.session_key == done.session_key);
    }
}

#[test]
fn any_number_of_logins_is_answered_as_one_by_one_and_a_bad_one_fails_alone() {
    every_suite!(any_number);
}
