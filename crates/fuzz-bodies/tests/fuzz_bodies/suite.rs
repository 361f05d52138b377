use candor_fuzz_bodies::suite as fuzz;
use candor_suite::container::Header;
use candor_suite::key_file::read;
use candor_test_support::corpus::Corpus;

#[test]
fn no_bytes_make_a_container_open_that_was_not_sealed() {
    Corpus::of("suite_container").run(60, fuzz::container);
}

#[test]
fn no_line_is_read_as_another_than_it_is_written() {
    Corpus::of("suite_checksum").run(1500, fuzz::checksum);
}

#[test]
fn no_key_file_makes_the_reader_panic() {
    Corpus::of("suite_key_file").run(60, fuzz::key_file);
}

/// Corpora of nothing but refusals would test nothing. `crates/suite/docs/container.py` has made these, by OpenSSL: what opens here was sealed by another
/// implementation, to a key of each kind but the other sizes of ML-KEM and RSA, and to a password.
#[test]
fn the_corpora_have_containers_that_open_and_keys_that_are_read() {
    let opens = |data: &[u8]| {
        let length = Header::length(data).ok()?;
        let header = Header::parse(data.get(..length)?).ok()?;
        let mut opener = fuzz::container_opener(&header)?;
        let mut out = Vec::new();
        opener.push(&data[length..], &mut out).ok()?;
        opener.finish(&mut out).ok()?;
        Some(out.len())
    };
    let containers = Corpus::of("suite_container");
    let mut messages: Vec<_> = containers.inputs().filter_map(opens).collect();
    messages.sort_unstable();
    // To ML-KEM: none, 9, a chunk, and more; to a password 9; then "a message to" RSA, SM2, p256, p384, X25519 and secp256k1.
    assert_eq!(messages, [0, 9, 9, 16, 16, 17, 17, 19, 22, 65_536, 70_000]);
    assert!(Corpus::of("suite_key_file").inputs().all(|data| read(data).is_ok()));
}
