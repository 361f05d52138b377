use candor_fuzz_bodies::network as fuzz;
use candor_network::{HandshakeType, RelayKeys};
use candor_test_support::corpus::Corpus;

/// Mutations of each file of a corpus.
const MUTATIONS: usize = 300;

#[test]
fn relay_lists() {
    let line = RelayKeys::generate()
        .unwrap()
        .listed(None, "127.0.0.1:1".parse().unwrap(), &HandshakeType::ALL)
        .unwrap()
        .to_line();
    let corpus = Corpus::of("network_relay_list").with("a line that was just made", line.into_bytes());
    corpus.run(MUTATIONS, fuzz::relay_list);
}

#[test]
fn policies() {
    Corpus::of("network_policy").run(MUTATIONS, fuzz::policy);
}

#[test]
fn key_files() {
    Corpus::of("network_key_file").run(MUTATIONS, fuzz::key_file);
}

#[test]
fn keys_of_authorities() {
    Corpus::of("network_authority_keys").run(MUTATIONS, fuzz::authority_keys);
}

#[test]
fn addresses_of_directories() {
    Corpus::of("network_directory_address").run(MUTATIONS, fuzz::directory_address);
}

#[test]
fn metrics_of_roles() {
    Corpus::of("network_role_metrics").run(MUTATIONS, fuzz::role_metrics);
}

#[test]
fn http_answers() {
    Corpus::of("network_http_answer").run(MUTATIONS, fuzz::http_answer);
}

#[test]
fn clients_of_socks_say_anything() {
    Corpus::of("network_socks").run(MUTATIONS, fuzz::socks);
}

#[test]
fn clients_of_http_connect_name_anything() {
    Corpus::of("network_connect").run(MUTATIONS, fuzz::connect);
}

#[test]
fn network_files_are_anything() {
    Corpus::of("network_file").run(MUTATIONS, fuzz::network_file);
}

#[test]
fn lists_of_guards_are_anything() {
    Corpus::of("network_guards").run(MUTATIONS, fuzz::guards);
}

#[test]
fn circuits_of_a_proxy_are_anything() {
    Corpus::of("network_circuits").run(MUTATIONS, fuzz::circuits);
}
