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
    let names_one = |words: &str| {
        let said = folder.refusal(&format!("candor key make ed25519 {words}"), 2);
        assert!(said.contains("name the same file"), "{words}: {said}");
    };
    names_one("-o both --public both");
    names_one("-o both --public ./both");
    names_one(&format!("-o both --public {}", folder.path("both").display()));
    assert!(folder.refusal("candor key make ed25519 -o -", 2).contains("a secret key goes into a file"));
    assert!(folder.refusal("candor key convert key.pem -o -", 2).contains("a secret key goes into a file"));
    assert_eq!(folder.out("candor key convert key.pem --public -o -").as_bytes(), folder.read("key.pub"));
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
        folder.out("candor encrypt short --to their-rsa.pem --no-container -o ours.rsa --force");
        assert_eq!(folder.out("candor decrypt ours.rsa --key their-rsa.pem"), "a message");
        let back = folder.out(&format!("openssl pkeyutl -decrypt -inkey their-rsa.pem {OAEP} -in ours.rsa"));
        assert_eq!(back, "a message");
        for name in ["rsa.pem", "rsa.pub"] {
            std::fs::remove_file(folder.path(name)).unwrap();
        }
    }
    folder.write("short", "a message");
    folder.out("openssl pkeyutl -encrypt -pubin -inkey sm2.pub -in short -out short.sm2");
    assert_eq!(folder.out("candor decrypt short.sm2 --key sm2.pem"), "a message");
    folder.out("candor encrypt short --to sm2.pub --no-container -o ours.sm2");
    assert_eq!(folder.out("candor decrypt ours.sm2 --key sm2.pem"), "a message");
    assert_eq!(folder.out("openssl pkeyutl -decrypt -inkey sm2.pem -in ours.sm2"), "a message");
}

/// The kinds whose keys agree, and how OpenSSL makes them.
const AGREEING: [(&str, &str); 4] = [
    ("p256", "EC -pkeyopt ec_paramgen_curve:P-256"),
    ("p384", "EC -pkeyopt ec_paramgen_curve:P-384"),
    ("secp256k1", "EC -pkeyopt ec_paramgen_curve:secp256k1"),
    ("x25519", "X25519"),
];

/// X25519's public key in DER, before its 32 bytes (RFC 8410 §4).
const X25519_DER: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x6e, 0x03, 0x21, 0x00];

#[test]
fn both_sides_agree_on_one_secret_which_is_their_owners() {
    let folder = Folder::new();
    for (kind, _) in AGREEING {
        for name in ["a", "b", "c"] {
            folder.out(&format!("candor key make {kind} -o {kind}-{name}.pem --public {kind}-{name}.pub"));
        }
        folder.out(&format!("candor key agree --key {kind}-a.pem --with {kind}-b.pub -o {kind}.secret"));
        assert_eq!(folder.path(&format!("{kind}.secret")).metadata().unwrap().permissions().mode() & 0o777, 0o600);
        let secret = folder.read(&format!("{kind}.secret"));
        assert_eq!(secret.len(), if kind == "p384" { 48 } else { 32 });
        let with = |key: &str, with: &str| {
            let agreed = folder.run(&format!("candor key agree --key {kind}-{key}.pem --with {kind}-{with}"), b"");
            assert_eq!(agreed.0, Some(0), "{}", agreed.2);
            agreed.1
        };
        assert_eq!((with("b", "a.pub"), with("b", "a.pem")), (secret.clone(), secret.clone()), "{kind}");
        assert_ne!(with("c", "a.pub"), secret, "{kind}: another's key, another secret");
    }
    let before = folder.read("p256.secret");
    let taken = folder.refusal("candor key agree --key p256-a.pem --with p256-c.pub -o p256.secret", 2);
    assert!(taken.contains("p256.secret exists") && folder.read("p256.secret") == before, "{taken}");
}

#[test]
fn keys_that_share_no_secret_are_refused() {
    let folder = Folder::new();
    for (kind, _) in AGREEING {
        folder.out(&format!("candor key make {kind} -o {kind}.pem --public {kind}.pub"));
    }
    let refused = |key: &str, with: &str, why: &str| {
        let said = folder.refusal(&format!("candor key agree --key {key} --with {with} -o secret"), 2);
        assert!(said.contains(why) && !folder.path("secret").exists(), "{key} with {with}: {said}");
    };
    for (ours, _) in AGREEING {
        folder.out(&format!("candor key agree --key {ours}.pem --with {ours}.pub -o {ours}.secret"));
        for (theirs, _) in AGREEING.into_iter().filter(|(theirs, _)| *theirs != ours) {
            refused(&format!("{ours}.pem"), &format!("{theirs}.pub"), "keys are of different kinds");
        }
        refused(&format!("{ours}.pub"), &format!("{ours}.pub"), "holds a public key; expected a secret one");
    }
    for (kind, title) in [("sm2", "SM2"), ("ed25519", "Ed25519"), ("ml-kem-768", "ML-KEM-768")] {
        folder.out(&format!("candor key make {kind} -o {kind}.pem --public {kind}.pub"));
        refused(&format!("{kind}.pem"), &format!("{kind}.pub"), &format!("{title} keys do not agree on a secret"));
        refused("p256.pem", &format!("{kind}.pub"), "keys are of different kinds");
    }
    // Points of small order, by which everybody's secret would be zero; 9 is the base point.
    let point = |name: &str, lowest: u8| {
        let mut key = X25519_DER.to_vec();
        key.extend([lowest].into_iter().chain([0; 31]));
        folder.write(name, key);
    };
    for (name, lowest) in [("zero.der", 0), ("one.der", 1)] {
        point(name, lowest);
        refused("x25519.pem", name, "of small order");
    }
    point("nine.der", 9);
    folder.out("candor key agree --key x25519.pem --with nine.der -o secret");
    // A point that is not on the curve, and the same key undamaged.
    folder.out("candor key convert p256.pem --public --encoding der -o p256.der");
    let whole = folder.read("p256.der");
    let mut off = whole.clone();
    *off.last_mut().unwrap() ^= 1;
    folder.write("off.der", off);
    folder.refusal("candor key agree --key p256.pem --with off.der -o other", 2);
    assert!(!folder.path("other").exists());
    folder.out("candor key agree --key p256.pem --with p256.der -o other");
    assert_eq!(folder.read("other"), folder.read("p256.secret"));
}

#[test]
fn openssl_derives_what_we_agree_on() {
    let folder = Folder::new();
    if !folder.has("openssl") {
        return;
    }
    for (kind, make) in AGREEING {
        folder.out(&format!("candor key make {kind} -o {kind}.pem --public {kind}.pub"));
        folder.out(&format!("openssl genpkey -algorithm {make} -out their-{kind}.pem"));
        folder.out(&format!("openssl pkey -in their-{kind}.pem -pubout -out their-{kind}.pub"));
        folder.out(&format!("candor key agree --key {kind}.pem --with their-{kind}.pub -o {kind}.secret"));
        let derive = "openssl pkeyutl -derive -inkey";
        folder.out(&format!("{derive} their-{kind}.pem -peerkey {kind}.pub -out their-{kind}.secret"));
        assert_eq!(folder.read(&format!("{kind}.secret")), folder.read(&format!("their-{kind}.secret")), "{kind}");
        // Each side with the keys of the other's making.
        folder.out(&format!("candor key agree --key their-{kind}.pem --with {kind}.pub -o {kind}.again"));
        folder.out(&format!("{derive} {kind}.pem -peerkey their-{kind}.pub -out their-{kind}.again"));
        assert_eq!(folder.read(&format!("{kind}.again")), folder.read(&format!("their-{kind}.again")), "{kind}");
        assert_eq!(folder.read(&format!("{kind}.again")), folder.read(&format!("{kind}.secret")), "{kind}");
    }
}
