//! `candor key`, `candor sign` and `candor verify`, beside OpenSSL.

use super::folder::Folder;
use std::os::unix::fs::PermissionsExt;

const KINDS: [&str; 12] = [
    "p256",
    "p384",
    "secp256k1",
    "sm2",
    "ed25519",
    "x25519",
    "ml-kem-512",
    "ml-kem-768",
    "ml-kem-1024",
    "rsa-2048",
    "rsa-3072",
    "rsa-4096",
];

#[test]
fn keys_are_their_owners_and_never_replace_a_file() {
    let folder = Folder::new();
    folder.out("candor key make ed25519 -o key.pem --public key.pub");
    let mode = |name: &str| folder.path(name).metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode("key.pem"), 0o600);
    assert_eq!(mode("key.pub") & 0o600, 0o600);
    let before = folder.read("key.pem");
    assert!(folder.refusal("candor key make ed25519 -o key.pem", 2).contains("key.pem exists"));
    assert!(folder.refusal("candor key make ed25519 -o other --public key.pub", 2).contains("key.pub exists"));
    folder.refusal("candor key convert key.pem -o key.pub", 2);
    folder.refusal("candor key make ed25519 -o nowhere/key.pem", 2);
    std::os::unix::fs::symlink("dangling", folder.path("link")).unwrap();
    folder.refusal("candor key make ed25519 -o link", 2);
    assert!(folder.refusal("candor key make ed25519 -o both --public both", 2).contains("name the same file"));
    folder.refusal("candor key make ed25519 -o /dev/null", 2);
    assert_eq!(folder.read("key.pem"), before);
    assert_eq!(folder.names(), ["key.pem", "key.pub", "link"], "nothing half done is left");
    folder.out("candor key convert key.pem --encoding der -o key.der");
    assert_eq!(mode("key.der"), 0o600);
}

#[test]
fn every_kind_is_shown_and_converted() {
    let folder = Folder::new();
    for kind in KINDS {
        folder.out(&format!("candor key make {kind} -o {kind}.pem --public {kind}.pub"));
        let shown = folder.out(&format!("candor key show {kind}.pem --format json"));
        let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
        assert_eq!((shown["kind"].as_str(), shown["secret"].as_bool()), (Some(kind), Some(true)));
        let public: serde_json::Value =
            serde_json::from_str(&folder.out(&format!("candor key show {kind}.pub --format json"))).unwrap();
        assert_eq!((public["secret"].as_bool(), &public["fingerprint"]), (Some(false), &shown["fingerprint"]));
        assert!(folder.out(&format!("candor key show {kind}.pub")).starts_with("public key of "));
        let pem = folder.out(&format!("candor key convert {kind}.pem --public"));
        assert_eq!(pem.as_bytes(), folder.read(&format!("{kind}.pub")));
        folder.out(&format!("candor key convert {kind}.pem --encoding der -o {kind}.der"));
        folder.out(&format!("candor key convert {kind}.der -o {kind}.again"));
        assert_eq!(folder.read(&format!("{kind}.again")), folder.read(&format!("{kind}.pem")));
    }
    folder.refusal("candor key convert p256.pem", 2);
    folder.refusal("candor key convert ed25519.pem --form sec1 -o x", 2);
    assert!(folder.refusal("candor key convert p256.pub --form sec1", 2).contains("holds a public key"));
    folder.out("candor key convert p256.pem --form sec1 -o p256.sec1");
    folder.out("candor key convert rsa-2048.pem --form pkcs1 -o rsa.pkcs1");
    assert_eq!(folder.out("candor key show rsa.pkcs1"), folder.out("candor key show rsa-2048.pem"));
    folder.out("candor key convert ml-kem-768.pem --form both -o ml-kem.both");
    folder.out("candor key convert ml-kem-768.pem --form expanded -o ml-kem.expanded");
    assert_eq!(folder.out("candor key show ml-kem.expanded"), folder.out("candor key show ml-kem-768.pem"));
    folder.write("text", "no key");
    assert!(folder.refusal("candor key show text", 2).contains("text: file holds no key"));
}

#[test]
fn what_is_signed_verifies_and_nothing_else() {
    let folder = Folder::new();
    folder.write("file", vec![5; 1_000_000]);
    folder.write("other", vec![6; 1_000_000]);
    for kind in ["p256", "p384", "secp256k1", "sm2", "ed25519", "rsa-2048"] {
        folder.out(&format!("candor key make {kind} -o {kind}.pem --public {kind}.pub"));
        folder.out(&format!("candor sign file --key {kind}.pem -o {kind}.sig"));
        folder.out(&format!("candor verify file --signature {kind}.sig --key {kind}.pub"));
        let refused = folder.refusal(&format!("candor verify other --signature {kind}.sig --key {kind}.pub"), 1);
        assert!(refused.contains("does not match"), "{refused}");
        let (status, signature, _) = folder.run(&format!("candor sign --key {kind}.pem"), b"from a pipe");
        assert_eq!(status, Some(0));
        folder.write("piped.sig", signature);
        let verify = format!("candor verify - --signature piped.sig --key {kind}.pub");
        assert_eq!(folder.run(&verify, b"from a pipe").0, Some(0));
        assert_eq!(folder.run(&verify, b"from a pope").0, Some(1));
    }
    folder.out("candor sign file --key sm2.pem --id alice -o alice.sig");
    folder.out("candor verify file --signature alice.sig --key sm2.pub --id alice");
    folder.refusal("candor verify file --signature alice.sig --key sm2.pub", 1);
    folder.out("candor sign file --key p256.pem --hash sha512 -o sha512.sig");
    folder.out("candor verify file --signature sha512.sig --key p256.pub --hash sha512");
    folder.refusal("candor verify file --signature sha512.sig --key p256.pub", 1);
    folder.out("candor sign file --key rsa-2048.pem --padding pkcs1v15 -o old.sig");
    folder.out("candor verify file --signature old.sig --key rsa-2048.pub --padding pkcs1v15");
    folder.refusal("candor verify file --signature old.sig --key rsa-2048.pub", 1);
    folder.refusal("candor sign file --key p256.pem --padding pss -o x", 2);
    folder.refusal("candor sign file --key p256.pem -o p256.sig", 2);
    folder.out("candor sign file --key p256.pem -o p256.sig --force");
    folder.refusal("candor sign file --key p256.pub", 2);
    folder.refusal("candor verify file --signature p256.sig", 2);
    folder.out("candor key make x25519 -o x.pem");
    assert!(folder.refusal("candor sign file --key x.pem", 2).contains("X25519 keys do not sign"));
}

#[test]
fn openssl_verifies_what_we_sign_and_we_what_it_signs() {
    let folder = Folder::new();
    if !folder.has("openssl") {
        return;
    }
    folder.write("file", vec![5; 100_000]);
    const SM2: &str = "openssl pkeyutl -rawin -digest sm3 -pkeyopt distid:1234567812345678 -in file";
    let ed25519 = "openssl pkeyutl -rawin -in file";
    for (kind, make, sign, verify) in [
        (
            "p256",
            "EC -pkeyopt ec_paramgen_curve:P-256",
            "openssl dgst -sha256 -sign KEY -out SIG file",
            "openssl dgst -sha256 -verify KEY -signature SIG file",
        ),
        (
            "p384",
            "EC -pkeyopt ec_paramgen_curve:P-384",
            "openssl dgst -sha384 -sign KEY -out SIG file",
            "openssl dgst -sha384 -verify KEY -signature SIG file",
        ),
        (
            "sm2",
            "SM2",
            &format!("{SM2} -sign -inkey KEY -out SIG"),
            &format!("{SM2} -verify -pubin -inkey KEY -sigfile SIG"),
        ),
        (
            "ed25519",
            "ED25519",
            &format!("{ed25519} -sign -inkey KEY -out SIG"),
            &format!("{ed25519} -verify -pubin -inkey KEY -sigfile SIG"),
        ),
    ] {
        folder.out(&format!("candor key make {kind} -o {kind}.pem --public {kind}.pub"));
        folder.out(&format!("candor sign file --key {kind}.pem -o {kind}.sig"));
        folder.out(&verify.replace("KEY", &format!("{kind}.pub")).replace("SIG", &format!("{kind}.sig")));
        folder.out(&format!("openssl genpkey -algorithm {make} -out their-{kind}.pem"));
        folder.out(&sign.replace("KEY", &format!("their-{kind}.pem")).replace("SIG", &format!("their-{kind}.sig")));
        folder.out(&format!("candor verify file --signature their-{kind}.sig --key their-{kind}.pem"));
    }
    // RSA, by both paddings and every size.
    for bits in [2048, 3072, 4096] {
        folder.out(&format!("candor key make rsa-{bits} -o rsa.pem --public rsa.pub"));
        folder.out("openssl pkey -in rsa.pem -check -noout");
        folder.out(&format!("openssl genrsa -out their-rsa.pem {bits}"));
        for (padding, options) in [
            ("pss", "-sigopt rsa_padding_mode:pss -sigopt rsa_pss_saltlen:digest"),
            ("pkcs1v15", "-sigopt rsa_padding_mode:pkcs1"),
        ] {
            folder.out(&format!("candor sign file --key rsa.pem --padding {padding} --hash sha384 -o rsa.sig --force"));
            folder.out(&format!("openssl dgst -sha384 {options} -verify rsa.pub -signature rsa.sig file"));
            folder.out(&format!("openssl dgst -sha256 {options} -sign their-rsa.pem -out their-rsa.sig file"));
            folder
                .out(&format!("candor verify file --signature their-rsa.sig --key their-rsa.pem --padding {padding}"));
        }
        const OAEP: &str = "-pkeyopt rsa_padding_mode:oaep -pkeyopt rsa_oaep_md:sha256";
        folder.write("short", "a message");
        folder.out(&format!("openssl pkeyutl -encrypt -pubin -inkey rsa.pub {OAEP} -in short -out short.rsa"));
        assert_eq!(folder.out("candor decrypt short.rsa --key rsa.pem"), "a message");
        folder.out("candor encrypt short --to their-rsa.pem -o ours.rsa --force");
        let back = folder.out(&format!("openssl pkeyutl -decrypt -inkey their-rsa.pem {OAEP} -in ours.rsa"));
        assert_eq!(back, "a message");
        for name in ["rsa.pem", "rsa.pub"] {
            std::fs::remove_file(folder.path(name)).unwrap();
        }
    }
    folder.write("short", "a message");
    folder.out("openssl pkeyutl -encrypt -pubin -inkey sm2.pub -in short -out short.sm2");
    assert_eq!(folder.out("candor decrypt short.sm2 --key sm2.pem"), "a message");
    folder.out("candor encrypt short --to sm2.pub -o ours.sm2");
    assert_eq!(folder.out("openssl pkeyutl -decrypt -inkey sm2.pem -in ours.sm2"), "a message");
}
