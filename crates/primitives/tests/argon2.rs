//! Argon2id: RFC 9106's vector, two other implementations, every tier, and what must be refused.

use candor_cpu::Cpu;
use candor_primitives::ksf::{Argon2id, KsfError, Memory, Params, Pool};
use proptest::prelude::*;

fn tiers() -> impl Iterator<Item = Cpu> {
    Cpu::tiers().map(|tier| Cpu::named(tier.name).expect("this machine can run it"))
}

fn derive(cpu: Cpu, params: Params, inputs: [&[u8]; 4], length: usize) -> Vec<u8> {
    let [password, salt, secret, associated] = inputs;
    let mut memory = Memory::new(params).expect("memory");
    let mut tag = vec![0; length];
    Argon2id::with_cpu(cpu, params)
        .derive_with(password, salt, secret, associated, &mut memory, &mut tag)
        .expect("good inputs");
    tag
}

fn rustcrypto(params: Params, inputs: [&[u8]; 4], length: usize) -> Vec<u8> {
    let [password, salt, secret, associated] = inputs;
    let mut builder = argon2::ParamsBuilder::new();
    builder.m_cost(params.memory()).t_cost(params.passes()).p_cost(params.lanes()).output_len(length);
    builder.data(argon2::AssociatedData::new(associated).expect("short data"));
    let theirs = builder.build().expect("good parameters");
    let mut tag = vec![0; length];
    argon2::Argon2::new_with_secret(secret, argon2::Algorithm::Argon2id, argon2::Version::V0x13, theirs)
        .expect("a short secret")
        .hash_password_into(password, salt, &mut tag)
        .expect("good inputs");
    tag
}

fn rust_argon2(params: Params, inputs: [&[u8]; 4], length: usize) -> Vec<u8> {
    let [password, salt, secret, associated] = inputs;
    let config = other_argon2::Config {
        ad: associated,
        hash_length: length as u32,
        lanes: params.lanes(),
        mem_cost: params.memory(),
        secret,
        thread_mode: other_argon2::ThreadMode::Sequential,
        time_cost: params.passes(),
        variant: other_argon2::Variant::Argon2id,
        version: other_argon2::Version::Version13,
    };
    other_argon2::hash_raw(password, salt, &config).expect("good inputs")
}

/// RFC 9106, section 5.3. The vectors of 5.1 and 5.2 are for Argon2d and Argon2i, which we don't have.
#[test]
fn gives_the_tag_of_the_rfc_on_every_tier() {
    let params = Params::new(32, 3, 4).expect("good parameters");
    let inputs: [&[u8]; 4] = [&[1; 32], &[2; 16], &[3; 8], &[4; 12]];
    let tag = [
        0x0d, 0x64, 0x0d, 0xf5, 0x8d, 0x78, 0x76, 0x6c, 0x08, 0xc0, 0x37, 0xa3, 0x4a, 0x8b, 0x53, 0xc9, 0xd0, 0x1e,
        0xf0, 0x45, 0x2d, 0x75, 0xb6, 0x5e, 0xb5, 0x25, 0x20, 0xe9, 0x6b, 0x01, 0xe6, 0x59,
    ];
    for cpu in tiers() {
        assert_eq!(derive(cpu, params, inputs, 32), tag, "{}", Argon2id::with_cpu(cpu, params).arm());
    }
}

#[test]
fn agrees_with_two_others_over_shapes() {
    for (memory, passes, lanes) in
        [(8, 1, 1), (9, 2, 1), (33, 1, 4), (64, 3, 2), (100, 2, 3), (1031, 1, 1), (4096, 3, 1)]
    {
        let params = Params::new(memory, passes, lanes).expect("good parameters");
        for length in [4, 31, 64, 65, 96, 97, 200] {
            let inputs: [&[u8]; 4] = [b"password", b"somesalt", b"", b"associated"];
            let expected = rustcrypto(params, inputs, length);
            assert_eq!(rust_argon2(params, inputs, length), expected, "the two oracles, {params:?}");
            for cpu in tiers() {
                let arm = Argon2id::with_cpu(cpu, params).arm();
                assert_eq!(derive(cpu, params, inputs, length), expected, "{params:?}, {length} bytes, {arm}");
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn agrees_with_rustcrypto(
        memory in 32u32..300, passes in 1u32..4, lanes in 1u32..5, length in 4usize..150,
        password: Vec<u8>, salt in proptest::collection::vec(any::<u8>(), 8..40),
        secret in proptest::collection::vec(any::<u8>(), 0..32), associated in proptest::collection::vec(any::<u8>(), 0..32),
    ) {
        let params = Params::new(memory, passes, lanes).expect("good parameters");
        let inputs: [&[u8]; 4] = [&password, &salt, &secret, &associated];
        let expected = rustcrypto(params, inputs, length);
        for cpu in tiers() {
            prop_assert_eq!(derive(cpu, params, inputs, length), expected.clone());
        }
    }
}

#[test]
fn a_used_memory_gives_the_same_as_a_fresh_one() {
    let (small, large) = (Params::new(40, 1, 1).expect("good"), Params::new(400, 2, 2).expect("good"));
    let mut memory = Memory::new(large).expect("memory");
    for params in [large, small, large, small] {
        let mut tag = [0; 32];
        Argon2id::new(params).derive(b"password", b"somesalt", &mut memory, &mut tag).expect("good inputs");
        assert_eq!(tag.to_vec(), derive(Cpu::portable(), params, [b"password", b"somesalt", b"", b""], 32));
    }
}

#[test]
fn a_pool_keeps_as_many_buffers_as_it_was_told() {
    let pool = Pool::new(Params::new(64, 1, 1).expect("good"), 2);
    let leases: Vec<_> = (0..3).map(|_| pool.take().expect("memory")).collect();
    assert_eq!(pool.waiting(), 0);
    drop(leases);
    assert_eq!(pool.waiting(), 2);
    let lease = pool.take().expect("memory");
    assert_eq!((pool.waiting(), lease.kib()), (1, 64));
}

#[test]
fn refuses_what_the_rfc_excludes_and_nothing_less() {
    assert_eq!(Params::new(64, 1, 0), Err(KsfError::Lanes(0)));
    assert_eq!(Params::new(u32::MAX, 1, 1 << 24), Err(KsfError::Lanes(1 << 24)));
    assert!(Params::new(u32::MAX, 1, (1 << 24) - 1).is_ok());
    assert_eq!(Params::new(15, 1, 2), Err(KsfError::MemoryTooSmall { memory: 15, lanes: 2 }));
    assert!(Params::new(16, 1, 2).is_ok());
    assert_eq!(Params::new(8, 0, 1), Err(KsfError::Passes));
    assert!(Params::new(8, 1, 1).is_ok());

    let params = Params::new(64, 1, 1).expect("good");
    let mut memory = Memory::new(Params::new(32, 1, 1).expect("good")).expect("memory");
    let argon2 = Argon2id::new(params);
    let mut tag = [0; 32];
    assert_eq!(argon2.derive(b"", b"7 bytes", &mut memory, &mut tag), Err(KsfError::Salt(7)));
    assert_eq!(argon2.derive(b"", b"somesalt", &mut memory, &mut tag[..3]), Err(KsfError::Output(3)));
    assert_eq!(
        argon2.derive(b"", b"somesalt", &mut memory, &mut tag),
        Err(KsfError::WrongMemory { has: 32, needs: 64 })
    );
    assert_eq!(tag, [0; 32]);
    let mut memory = Memory::new(params).expect("memory");
    assert_eq!(argon2.derive(b"", b"8 bytes!", &mut memory, &mut tag[..4]), Ok(()));
    assert_ne!(tag, [0; 32]);
}

#[test]
fn every_input_counts() {
    let params = Params::new(64, 1, 1).expect("good");
    let base: [&[u8]; 4] = [b"password", b"somesalt", b"k", b"x"];
    let mut tags = vec![derive(Cpu::default(), params, base, 32)];
    for at in 0..4 {
        let mut other = base;
        other[at] = b"otherwise";
        tags.push(derive(Cpu::default(), params, other, 32));
    }
    tags.push(derive(Cpu::default(), Params::new(64, 2, 1).expect("good"), base, 32));
    tags.push(derive(Cpu::default(), Params::new(65, 1, 1).expect("good"), base, 32));
    tags.push(derive(Cpu::default(), params, base, 33)[..32].to_vec());
    tags.sort();
    tags.dedup();
    assert_eq!(tags.len(), 8);
}
