//! PostgreSQL by TLS: its certificate must be of the right authority and for the right name.

use candor_login::{MasterKey, Store, StoreError};
use candor_test_support::postgres::{self, Postgres};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use std::time::Duration;

/// A certificate authority, as PEM, and what it signs with.
fn authority() -> (String, Issuer<'static, KeyPair>) {
    let key = KeyPair::generate().unwrap();
    let mut params = CertificateParams::new(Vec::new()).unwrap();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    (params.self_signed(&key).unwrap().pem(), Issuer::new(params, key))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_by_tls_must_prove_its_name() {
    let server = match Postgres::start_on_tcp() {
        Ok(server) => server,
        Err(why) => return postgres::skipped("a_database_by_tls_must_prove_its_name", &why),
    };
    let folder = tempfile::tempdir().unwrap();
    let (right, issuer) = authority();
    let file = |name: &str, pem: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path.display().to_string()
    };
    let (right, wrong) = (file("right.pem", &right), file("wrong.pem", &authority().0));
    let url = server.database();
    let open = async |host: &str, parameters: &str| {
        let master = MasterKey::from_bytes([1; 32]);
        Store::open(&format!("{}?{parameters}", server.by_tcp(&url, host)), &master).await
    };
    let verified = format!("sslmode=verify-full&sslrootcert={right}");

    // It has no TLS yet.
    let refused = open("localhost", &verified).await.map(drop).unwrap_err();
    assert!(matches!(&refused, StoreError::Tls(why) if why.contains("does not support TLS")), "{refused}");
    drop(open("localhost", "sslmode=disable").await.unwrap());

    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["localhost".to_owned()]).unwrap().signed_by(&key, &issuer).unwrap();
    let certificate = server.private_file("server.crt", &certificate.pem()).display().to_string();
    let key = server.private_file("server.key", &key.serialize_pem()).display().to_string();
    for (setting, value) in [("ssl_cert_file", certificate.as_str()), ("ssl_key_file", &key), ("ssl", "on")] {
        server.run(&url, &format!("ALTER SYSTEM SET {setting} = '{value}'"));
    }
    server.run(&url, "SELECT pg_reload_conf()");
    let mut opened = open("localhost", &verified).await;
    for _ in 0..200 {
        // Until it has read its settings.
        if opened.is_ok() {
            break;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
        opened = open("localhost", &verified).await;
    }
    let store = opened.unwrap();
    store.ping().await.unwrap();
    let encrypted =
        "SELECT FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE ssl AND datname = current_database()";
    server.run(&url, &format!("DO $$ BEGIN IF NOT EXISTS ({encrypted}) THEN RAISE 'no TLS'; END IF; END $$"));
    drop(open("localhost", &format!("sslrootcert={right}")).await.expect("a file of authorities asks for TLS"));

    let other_authority = open("localhost", &format!("sslmode=verify-full&sslrootcert={wrong}")).await;
    let of_this_machine = open("localhost", "sslmode=verify-full").await;
    let other_name = open("127.0.0.1", &verified).await;
    for refused in [other_authority, of_this_machine, other_name] {
        let error = refused.map(drop).unwrap_err();
        assert!(matches!(&error, StoreError::Tls(why) if why.contains("certificate")), "{error}");
    }
}
