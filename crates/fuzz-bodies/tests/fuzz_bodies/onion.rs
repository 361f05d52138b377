use candor_fuzz_bodies::onion as fuzz;
use candor_test_support::corpus::{Corpus, write};

type Body = fn(&[u8]);

const BODIES: [(&str, Body); 12] = [
    ("onion_directory", fuzz::directory),
    ("onion_onionskin", fuzz::onionskin),
    ("onion_reply", fuzz::reply),
    ("onion_edits", fuzz::edits),
    ("onion_cells", fuzz::cells),
    ("onion_relay_messages", fuzz::relay_messages),
    ("onion_certificates", fuzz::certificates),
    ("onion_extensions", fuzz::extensions),
    ("onion_link", fuzz::link),
    ("onion_relay_circuit", fuzz::relay_circuit),
    ("onion_client_circuit", fuzz::client_circuit),
    ("onion_upgrade", fuzz::upgrade),
];

/// Mutations of each file of a corpus.
const MUTATIONS: usize = 60;

#[test]
fn bodies_hold_over_their_corpora_and_mutations_of_them() {
    for (target, body) in BODIES {
        Corpus::of(target).run(MUTATIONS, body);
    }
}

/// Honest onionskins in the corpus are accepted, so the corpus reaches what lies behind the checks.
#[test]
fn the_corpus_gets_past_the_first_check() {
    use candor_onion::handshake::{Handshake, NtorV3Default};
    use candor_primitives::dh::{DiffieHellman, x25519::X25519};
    let handshake = NtorV3Default::default();
    let relay = handshake.relay([1; 32], X25519::new().secret_from_bytes(&[0x42; 32]).unwrap()).unwrap();
    let accepted = Corpus::of("onion_onionskin")
        .inputs()
        .filter(|data| handshake.accept(std::slice::from_ref(&relay), data).is_ok())
        .count();
    assert_eq!(accepted, 1);
}

#[test]
#[ignore = "writes the corpora; run it by name after a change of the message formats"]
fn write_corpora() {
    for (target, file, data) in fuzz::honest_wire() {
        write(target, &file, &data);
    }
    for (file, data) in fuzz::honest_directory() {
        write("onion_directory", file, &data);
    }
    for (number, onionskin) in fuzz::honest_onionskins().iter().enumerate() {
        write("onion_onionskin", &format!("honest-{number}"), onionskin);
        write("onion_onionskin", &format!("cut-{number}"), &onionskin[..onionskin.len() - 33]);
    }
    for (choice, length) in [64, 74, 832, 1152, 1642, 1152].into_iter().enumerate() {
        let data: Vec<u8> = std::iter::once(choice as u8).chain((0..length).map(|at| at as u8)).collect();
        write("onion_reply", &format!("length-{choice}"), &data);
    }
    for choice in 0..6 {
        write("onion_edits", &format!("nothing-{choice}"), &[choice, 0, 0]);
        write("onion_edits", &format!("onionskin-{choice}"), &[choice, 0, 0, 0, 40, 1]);
        write("onion_edits", &format!("reply-{choice}"), &[choice, 1, 0, 0, 40, 1]);
        write("onion_edits", &format!("shorter-{choice}"), &[choice, 1, 0xff]);
        write("onion_upgrade", &format!("nothing-{choice}"), &[choice, 0, 0]);
        write("onion_upgrade", &format!("edited-{choice}"), &[choice, 0, 0, 20, 1]);
    }
}
