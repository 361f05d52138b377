//! Hashes that other programs have made are read, and come out again of their passwords.

use candor_old_hashes::{OldHash, OldScheme, ReadError, SchemeError, Template};
use proptest::prelude::*;

const PASSWORD: &str = "p\u{e4}ssword";
/// Longer than what bcrypt looks at.
const LONG: &str =
    "long long long long long long long long long long long long long long long long long long long long ";

/// The program that made it, of what, and the hash. Salts are random, costs as low as the programs allow.
#[rustfmt::skip]
const MADE: &[(&str, &str, &str)] = &[
    ("passlib 1.7.4", PASSWORD, "$2b$04$zFsZFvyyJlcvaoRhs5JwO.Mu8vD2sIWAzTGS1OYr07hRJMc1cIRWq"),
    ("passlib 1.7.4", PASSWORD, "$2y$05$2Uv9hSFQ8i4MNYQLJoMcC.q9U4WSpLvZK7ntnI5AfFE9hqWiqmGxK"),
    ("passlib 1.7.4", PASSWORD, "$2a$04$Wj6mQfPAn1YlqI6buZJu9eW.VkuWPoRYwRCrUEyl6jqjcZQ71dldu"),
    ("passlib 1.7.4", PASSWORD, "$bcrypt-sha256$v=2,t=2b,r=4$RDB1OQCYfXdWwsFR/OZ4au$salKPG90yp1oDZj/firugC8qc12tHFO"),
    ("passlib 1.7.4", PASSWORD, "$bcrypt-sha256$2b,4$4vLrn1l0GajV8CJOlMi2HO$lLnd9DZXYXgk9o4J.PXzK/1FAoZLGf2"),
    ("passlib 1.7.4", PASSWORD, "$scrypt$ln=4,r=8,p=1$DsFYC6F07n0vxRgjZIwxpg$E0fvgBGfKgRh/8aNOMJzjoORkAgtS4F04HfDi9Ak8QU"),
    ("passlib 1.7.4", PASSWORD, "$pbkdf2$3$sPY.p1QKgVBqjTEGoHSOUQ$7jnzmqCrmX9lo7U7lFvIeTNm5UA"),
    ("passlib 1.7.4", PASSWORD, "$pbkdf2-sha256$3$gHBOae09JyQkhHBurTXGOA$OE.8XTVFACfC0Rl5N8zZMi0eeX88vQzEe8wwYwnqAcg"),
    ("passlib 1.7.4", PASSWORD, "$pbkdf2-sha512$3$7T0HwFhLae2dcy4FIOTc2w$fR.clzmimV5XalGOsxQgEc85a1deDnKcWQHnKLCzzU0R1JJv1e.bIb2NU.BS8EH1yLdi//Z1WMhFQKg8GB7sgA"),
    ("argon2-cffi 25.1", PASSWORD, "$argon2d$v=19$m=32,t=2,p=2$U19l7hygk97R/Ovd0zx4bA$ZUZKbRXefW6aWjqbV9t7urR8atM3FVxH3fUKujolUvI"),
    ("argon2-cffi 25.1", PASSWORD, "$argon2i$v=19$m=32,t=2,p=2$+29F7ENYOIo4uBtHcmlrkQ$mZzwXTEz3yFq2Fb4AqtMSSXlhIMONsBsyRJeDcpcbNM"),
    ("argon2-cffi 25.1", PASSWORD, "$argon2id$v=19$m=32,t=2,p=2$3aqY6097iHm8HKbo6fnN2Q$Srbnd7cbb+O3J62w/oPD7EfXIA6i3FLsBBNrcYf5DXQ"),
    ("bcrypt 4.0.1", LONG, "$2b$04$peh9fYhCW/099o/pNa8KsetTU1J3uVHKuBlBQqOllWFayNft0.FG2"),
    ("argon2-cffi 25.1", PASSWORD, "$argon2i$v=16$m=64,t=2,p=1$c29tZXNhbHQ$dL7y4LBt/HbKBtDbyISTda+WWxATyuUa"),
    ("Django 5.2", PASSWORD, "pbkdf2_sha256$3$JXblGcxJxMP3CN0YAsRlmU$ynON9duU6dpvgEEDDuk8KssKtOu+/uW18X0WOdFVveA="),
    ("Django 5.2", PASSWORD, "pbkdf2_sha1$3$u9j0ybH7tucKyYW1CorKtz$wgAwhbn6Ip2Ui09UAO3HXn9rwiU="),
    ("Django 5.2", PASSWORD, "argon2$argon2id$v=19$m=64,t=1,p=1$MmZYT21mcE9CV1BPSVF1ZUUzekNJUQ$Rd6HjVu882mYPpOnIGk8gSngZ1b2yrsYFi/SzUWE9G4"),
    ("Django 5.2", PASSWORD, "bcrypt$$2b$04$tRt0g0XijvBg1MPb6YfVjuFpPpA0rPtNRcUJGB/8I1I0SEQqXDbxu"),
    ("Django 5.2", PASSWORD, "bcrypt_sha256$$2b$04$3Y5L4UVz3/uMofkLlT/AcOZZjbJbPdnLUnE/LQ7qbGAfYm0XYevli"),
    ("Django 5.2", PASSWORD, "scrypt$16$8gg1oClSBRzMsyFA2EPjGV$8$5$k6FZXFMja0kF9iKegVWtUg5y0QgwCLg6rLi94ZpVHrqK/Uluoro5f24kgIF0N2RThZ3REMQxO5RrAyVxDewSgA=="),
];

#[test]
fn what_others_have_made_comes_out_again() {
    for (program, password, text) in MADE {
        let hash: OldHash = text.parse().unwrap_or_else(|error| panic!("{program}: {text}: {error}"));
        let digest = |password: &str| hash.scheme().digest(password.as_bytes()).unwrap();
        assert_eq!(*digest(password), hash.digest(), "{program}: {text}");
        assert_ne!(*digest("another"), hash.digest(), "{program}: {text}");
        let opaque = hash.scheme().opaque_password(password.as_bytes()).unwrap();
        assert_eq!(opaque, hash.opaque_password());
        assert!(opaque.starts_with(b"candor-old-hash-1\0") && opaque.ends_with(hash.digest()));
    }
}

#[test]
fn schemes_and_templates_come_back_from_their_texts() {
    for (program, _, text) in MADE {
        let hash: OldHash = text.parse().unwrap();
        let scheme = hash.scheme().to_string();
        assert_eq!(scheme.parse::<OldScheme>().as_ref(), Ok(hash.scheme()), "{scheme}");
        let template = Template::of(hash.scheme());
        assert_eq!(template.to_string().parse(), Ok(template), "{template}");
        // A made-up scheme looks as if it came from the same program.
        let mut drawn = 0_u8;
        let made_up = template
            .scheme(|| {
                drawn = drawn.wrapping_mul(5).wrapping_add(131);
                drawn
            })
            .unwrap();
        assert_eq!(
            (made_up.algorithm(), made_up.salt().len()),
            (hash.scheme().algorithm(), hash.scheme().salt().len())
        );
        let letters = |scheme: &OldScheme| scheme.salt().iter().all(u8::is_ascii_alphanumeric);
        assert_eq!(letters(&made_up), letters(hash.scheme()), "{program} {template}");
        assert_ne!(made_up.salt(), hash.scheme().salt());
    }
}

#[test]
fn a_hash_that_was_cut_or_lengthened_is_not_taken_for_itself() {
    for (program, _, text) in MADE {
        let whole: OldHash = text.parse().unwrap();
        let same = |text: &str| text.parse::<OldHash>().is_ok_and(|hash| hash == whole);
        let bare = text.trim_end_matches('=');
        assert!(same(bare), "padding says nothing: {program}: {text}");
        for end in 0..bare.len() {
            assert!(!same(&bare[..end]), "{program}: {}", &bare[..end]);
        }
        for longer in [format!("{text}$"), format!("x{text}"), format!("{text}AA")] {
            assert!(!same(&longer), "{program}: {longer}");
        }
    }
}

#[test]
fn what_is_no_hash_of_a_known_kind_is_refused_with_its_reason() {
    let refused = |text: &str| text.parse::<OldHash>().unwrap_err();
    for text in ["", "$", "$$", "password", "md5$salt$digest", "$1$salt$digest", "$6$salt$digest", "sha1$salt$digest"] {
        assert_eq!(refused(text), ReadError::Unknown, "{text}");
    }
    let faulty = MADE[0].2.replace("$2b$", "$2x$");
    assert_eq!(refused(&faulty), ReadError::FaultyBcrypt);
    assert_eq!(refused(&MADE[0].2.replace("$04$", "$4$")), ReadError::Damaged("bcrypt"));
    assert_eq!(refused(&MADE[0].2.replace("$04$", "$+4$")), ReadError::Damaged("bcrypt"));
    let cost = ReadError::Scheme(SchemeError::Cost);
    assert_eq!(refused(&MADE[0].2.replace("$04$", "$03$")), cost);
    assert_eq!(refused(&MADE[0].2.replace("$04$", "$31$")), cost);
    assert_eq!(refused(&MADE[5].2.replace("ln=4", "ln=30")), cost);
    assert_eq!(refused(&MADE[7].2.replace("$3$", "$0$")), cost);
    assert_eq!(refused(&MADE[7].2.replace("$3$", "$4000000000$")), cost);
    assert_eq!(refused(&MADE[11].2.replace("m=32", "m=3200000")), cost);
    assert_eq!(refused(&MADE[11].2.replace("v=19", "v=20")), cost);
    assert_eq!(refused("$pbkdf2-sha256$3$c2FsdA$c2hvcnQ"), ReadError::Scheme(SchemeError::Digest));
    let salt = "x".repeat(65);
    let long = format!("pbkdf2_sha256$3${salt}$cvTcqyCeeyspwEz3DfypP3m9d5d5wPgpmA2iRWv3rik=");
    assert_eq!(refused(&long), ReadError::Scheme(SchemeError::Salt));
    assert!(long.replace(&salt, &salt[1..]).parse::<OldHash>().is_ok());
}

#[test]
fn a_scheme_beyond_the_limits_is_refused_by_the_client_too() {
    for (good, bad) in [
        ("$bcrypt$r=10$AAAAAAAAAAAAAAAAAAAAAA", "$bcrypt$r=17$AAAAAAAAAAAAAAAAAAAAAA"),
        ("$bcrypt$r=10$AAAAAAAAAAAAAAAAAAAAAA", "$bcrypt$r=10$AAAAAAAAAAAAAAAAAAAA"),
        ("$scrypt$ln=14,r=8,p=1,l=32$AAAA", "$scrypt$ln=21,r=8,p=1,l=32$AAAA"),
        ("$scrypt$ln=14,r=8,p=1,l=32$AAAA", "$scrypt$ln=14,r=8,p=1,l=129$AAAA"),
        ("$pbkdf2-sha256$i=600000,l=32$AAAA", "$pbkdf2-sha256$i=10000001,l=32$AAAA"),
        ("$pbkdf2-sha256$i=600000,l=32$AAAA", "$pbkdf2-sha256$i=600000,l=32$AAA="),
        ("$pbkdf2-sha256$i=600000,l=32$AAAA", "$pbkdf2-sha256$i=0600000,l=32$AAAA"),
        ("$argon2id$v=19,m=65536,t=3,p=4,l=32$AAAAAAAAAAA", "$argon2id$v=19,m=1048577,t=3,p=4,l=32$AAAAAAAAAAA"),
        ("$argon2id$v=19,m=65536,t=3,p=4,l=32$AAAAAAAAAAA", "$argon2id$v=19,m=65536,t=3,p=4,l=32$AAAA"),
    ] {
        assert!(good.parse::<OldScheme>().is_ok(), "{good}");
        assert!(bad.parse::<OldScheme>().is_err(), "{bad}");
    }
}

proptest! {
    #[test]
    fn whatever_the_text_nothing_panics_and_what_is_read_has_one_text(index in 0..MADE.len(), at in 0..160_usize, with in "[$,=a-z0-9./+\\PC]{0,6}") {
        let mut text = MADE[index].2.to_owned();
        let at = text.floor_char_boundary(at);
        text.insert_str(at, &with);
        for text in [&text, &with] {
            let _ = text.parse::<Template>();
            if let Ok(scheme) = text.parse::<OldScheme>() {
                prop_assert_eq!(&scheme.to_string(), text);
            }
            if let Ok(hash) = text.parse::<OldHash>() {
                let back: Result<OldScheme, _> = hash.scheme().to_string().parse();
                prop_assert_eq!(back.as_ref(), Ok(hash.scheme()));
            }
        }
    }
}
