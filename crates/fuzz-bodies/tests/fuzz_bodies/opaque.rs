use candor_fuzz_bodies::opaque as fuzz;
use candor_test_support::back_ends::system;
use candor_test_support::corpus::{Corpus, write};

type Body = fn(&[u8]);

const BODIES: [(&str, Body); 5] = [
    ("opaque_ke1", fuzz::ke1),
    ("opaque_ke2", fuzz::ke2),
    ("opaque_stored", fuzz::stored),
    ("opaque_registration_response", fuzz::registration_response),
    ("opaque_password_text", fuzz::password_text),
];

/// Mutations of each file of a corpus.
const MUTATIONS: usize = 40;

#[test]
fn bodies_hold_over_their_corpora_and_mutations_of_them() {
    for (target, body) in BODIES {
        Corpus::of(target).run(MUTATIONS, body);
    }
}

/// A corpus of nothing but refusals would test nothing.
#[test]
fn the_corpus_has_messages_that_are_answered() {
    use candor_opaque::{KsfParams, Parties, Rfc9807, Server, Suite};
    let mut key = [0; 32];
    key[0] = 3;
    let server = Server::from_keys(Rfc9807, KsfParams::Identity, &[5; 64], &key).unwrap();
    let answered = Corpus::of("opaque_ke1")
        .inputs()
        .filter(|ke1| ke1.len() == Rfc9807::KE1)
        .filter(|ke1| server.respond(&mut system(), ke1, b"account 17", None, &Parties::default()).is_ok())
        .count();
    assert_eq!(answered, 1);
}

#[test]
#[ignore = "writes the corpora; run it by name after a change of the message formats"]
fn write_corpora() {
    for (number, (name, data)) in fuzz::honest().into_iter().enumerate() {
        write(name, &format!("honest-{number}"), &data);
        write(name, &format!("cut-{number}"), &data[..data.len() - 1]);
    }
}
