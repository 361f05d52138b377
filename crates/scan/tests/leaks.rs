//! Planted leaks, compiled into this program, which reads itself. Each has a twin that does the same work without the leak.

use candor_scan::binary::{Binary, Function};
use candor_scan::digest::Digests;
use candor_scan::flow::{Interface, follow};
use candor_scan::{kernels, twins};
use std::collections::BTreeSet;
use std::hint::black_box;

mod planted {
    use std::hint::black_box;

    static TABLE: [u8; 256] = [7; 256];

    /// Stops at the first difference.
    #[inline(never)]
    pub(super) fn early_exit(ours: &[u8; 16], theirs: &[u8; 16]) -> bool {
        for at in 0..16 {
            if black_box(ours[at]) != theirs[at] {
                return false;
            }
        }
        true
    }

    #[inline(never)]
    pub(super) fn no_early_exit(ours: &[u8; 16], theirs: &[u8; 16]) -> u8 {
        let mut differs = 0;
        for at in 0..16 {
            differs |= black_box(ours[at]) ^ theirs[at];
        }
        differs
    }

    /// Looks a secret up in a table.
    #[inline(never)]
    pub(super) fn table(secret: &[u8; 16]) -> u8 {
        secret.iter().fold(0, |sum, byte| sum ^ TABLE[usize::from(*byte)])
    }

    #[inline(never)]
    pub(super) fn table_in_order(secret: &[u8; 16]) -> u8 {
        let mut sum = 0;
        for at in 0..16 {
            sum ^= secret[at] & TABLE[at];
        }
        sum
    }

    /// Branches on a bit instead of using it as a mask.
    #[inline(never)]
    pub(super) fn mask_to_branch(secret: &[u64; 4], out: &mut [u64; 4]) {
        if secret[0] & 1 == 1 {
            black_box(&mut *out)[1] = black_box(3);
        }
    }

    /// The same on a secret that comes in a register.
    #[inline(never)]
    pub(super) fn word_to_branch(secret: u64, out: &mut [u64; 4]) {
        if secret & 1 == 1 {
            black_box(&mut *out)[1] = black_box(3);
        }
    }

    #[inline(never)]
    pub(super) fn word(secret: u64, out: &mut [u64; 4]) {
        out[1] ^= black_box(3) & 0u64.wrapping_sub(secret & 1);
    }

    #[inline(never)]
    pub(super) fn mask(secret: &[u64; 4], out: &mut [u64; 4]) {
        out[1] ^= black_box(3) & 0u64.wrapping_sub(secret[0] & 1);
    }

    /// Divides secrets.
    #[inline(never)]
    pub(super) fn division(secret: &[u64; 2]) -> u64 {
        secret[0] / (secret[1] | 1)
    }

    #[inline(never)]
    pub(super) fn division_of_floats(secret: &[u64; 2]) -> f64 {
        let [above, below] = black_box(*secret).map(f64::from_bits);
        above / below
    }

    /// Divides lengths.
    #[inline(never)]
    pub(super) fn division_of_lengths(length: usize, by: usize) -> usize {
        length / (by | 1)
    }

    /// Goes on until the secret says stop.
    #[inline(never)]
    pub(super) fn secret_count(secret: &[u64; 2]) -> u64 {
        (0..secret[0]).fold(0, |sum, i| black_box(sum) ^ i)
    }

    #[inline(never)]
    pub(super) fn public_count(secret: &[u64]) -> u64 {
        secret.iter().fold(0, |sum, word| black_box(sum) ^ word)
    }

    /// Puts a secret onto the stack and branches on it later.
    #[inline(never)]
    pub(super) fn by_the_stack(secret: &[u64; 4]) -> u64 {
        let copy = black_box(*secret);
        if copy[2] > 5 { black_box(1) } else { 2 }
    }

    /// Gives a byte of the secret to a function that looks it up.
    #[inline(never)]
    pub(super) fn look_up_elsewhere(secret: &[u8; 16]) -> u8 {
        black_box(looked_up(secret[3])) ^ 1
    }

    /// The same as its last act, so the call is a jump.
    #[inline(never)]
    pub(super) fn look_up_at_last(secret: &[u8; 16]) -> u8 {
        looked_up(secret[3])
    }

    /// Gives the address of a secret to a function that looks it up.
    #[inline(never)]
    pub(super) fn look_up_behind(secret: &[u8; 16]) -> u8 {
        black_box(table(secret)) ^ 1
    }

    /// Gives the address to a function that doesn't mind.
    #[inline(never)]
    pub(super) fn mask_behind(secret: &[u8; 16]) -> u8 {
        black_box(table_in_order(secret)) ^ 1
    }

    /// Gives a secret to a function that doesn't mind.
    #[inline(never)]
    pub(super) fn mask_elsewhere(secret: &[u8; 16]) -> u8 {
        black_box(masked(secret[3])) ^ 1
    }

    /// Looks up what anyone may know.
    #[inline(never)]
    pub(super) fn look_up_a_length(secret: &[u8; 16], length: u8) -> u8 {
        black_box(looked_up(length)) ^ secret[3]
    }

    #[inline(never)]
    fn looked_up(byte: u8) -> u8 {
        black_box(&TABLE)[usize::from(byte)]
    }

    #[inline(never)]
    fn masked(byte: u8) -> u8 {
        black_box(byte) & TABLE[1]
    }

    /// The same slices as an array of them: lengths are public, contents are not. Loops by hand, since no call stands in them at any optimisation.
    #[inline(never)]
    pub(super) fn many(secrets: [&[u8]; 3]) -> u8 {
        let (mut sum, mut at) = (0, 0);
        while at < 3 {
            let mut i = 0;
            while i < secrets[at].len() {
                sum = black_box(sum) ^ secrets[at][i];
                i += 1;
            }
            at += 1;
        }
        sum
    }

    #[inline(never)]
    pub(super) fn many_with_a_leak(secrets: [&[u8]; 3]) -> u8 {
        let (mut sum, mut at) = (0, 0);
        while at < 3 {
            let mut i = 0;
            while i < secrets[at].len() {
                sum = black_box(sum) ^ TABLE[usize::from(secrets[at][i])];
                i += 1;
            }
            at += 1;
        }
        sum
    }
}

fn this_program() -> Binary {
    // So that nothing is thrown away as unused.
    use planted::*;
    let (bytes, words) = (black_box([1; 16]), black_box([9; 4]));
    let mut out = [0; 4];
    black_box((early_exit(&bytes, &bytes), no_early_exit(&bytes, &bytes), table(&bytes), table_in_order(&bytes)));
    mask_to_branch(&words, &mut out);
    mask(&words, &mut out);
    word_to_branch(black_box(3), &mut out);
    word(black_box(3), &mut out);
    let two = black_box([8, 3]);
    black_box((
        division(&two),
        division_of_floats(&two),
        division_of_lengths(9, 2),
        secret_count(&two),
        public_count(&words),
        by_the_stack(&words),
    ));
    black_box((
        look_up_elsewhere(&bytes),
        look_up_at_last(&bytes),
        look_up_behind(&bytes),
        mask_behind(&bytes),
        mask_elsewhere(&bytes),
        look_up_a_length(&bytes, 5),
    ));
    black_box((many([&bytes; 3]), many_with_a_leak([&bytes; 3])));
    Binary::parse(&std::fs::read(std::env::current_exe().unwrap()).unwrap()).unwrap()
}

/// What is found in a function of `planted`.
fn findings(binary: &Binary, name: &str, interface: Interface) -> BTreeSet<String> {
    let wanted = format!("planted::{name}");
    let function = binary.functions().find(|function| function.name.ends_with(&wanted)).expect("it is compiled");
    let report = follow(binary, function, interface);
    assert!(report.followed > 3, "{name}: {report:?}");
    report.findings.into_iter().map(|finding| finding.what).collect()
}

fn leaks(name: &str, what: &str) {
    let found = findings(&this_program(), name, Interface::default());
    assert!(found.iter().any(|finding| finding.contains(what)), "{name}: {found:?}");
}

fn is_clean(name: &str) {
    assert_eq!(findings(&this_program(), name, Interface::default()), BTreeSet::new(), "{name}");
}

#[test]
fn an_early_exit_is_found() {
    leaks("early_exit", "depends on data");
    is_clean("no_early_exit");
}

#[test]
fn a_table_lookup_is_found() {
    leaks("table", "at an address that depends on data");
    is_clean("table_in_order");
}

#[test]
fn a_mask_that_became_a_branch_is_found() {
    leaks("mask_to_branch", "depends on data");
    is_clean("mask");
}

#[test]
fn a_division_is_found() {
    leaks("division", "div of data");
    leaks("division_of_floats", "divsd of data");
    is_clean("division_of_lengths");
}

#[test]
fn a_loop_that_a_secret_counts_is_found() {
    leaks("secret_count", "depends on data");
    is_clean("public_count");
}

#[test]
fn a_secret_is_followed_through_the_stack() {
    leaks("by_the_stack", "depends on data");
}

#[test]
fn a_secret_is_followed_into_a_function_that_is_given_it() {
    let binary = this_program();
    let found = |name: &str| {
        let wanted = format!("planted::{name}");
        let function = binary.functions().find(|function| function.name.ends_with(&wanted)).expect("it is compiled");
        let report = kernels::follow(&binary, function);
        (report.called, report.findings.into_iter().map(|finding| finding.what).collect::<Vec<_>>())
    };
    for (name, callee) in
        [("look_up_elsewhere", "looked_up"), ("look_up_at_last", "looked_up"), ("look_up_behind", "table")]
    {
        let (_, leaks) = found(name);
        assert!(leaks.iter().any(|leak| leak.contains(callee) && leak.contains("at an address")), "{leaks:?}");
    }
    for name in ["mask_elsewhere", "mask_behind"] {
        let (called, leaks) = found(name);
        assert!(called > 0, "{name}");
        assert_eq!(leaks, [""; 0], "{name}");
    }
    assert_eq!(found("look_up_a_length").1, [""; 0]);
}

#[test]
fn a_secret_that_is_given_to_a_function_without_code_is_found() {
    // movzx edi, byte [rdi]; call rsi; ret. The twin leaves rdi as it is.
    let call = [0xff, 0xd6, 0xc3];
    let secret: Vec<u8> = [0x0f, 0xb6, 0x3f].into_iter().chain(call).collect();
    let found = |code: &[u8]| {
        follow(&this_program(), Function { name: "caller", address: 0x1000, code }, Interface::default()).findings
    };
    assert!(found(&secret).iter().any(|finding| finding.what.contains("with data in a register of arguments")));
    assert!(found(&call).is_empty());
}

#[test]
fn an_array_of_slices_is_public_and_what_it_points_to_is_not() {
    // The array itself is passed by its address.
    let slices = Interface { structures: &[(0, 1)], ..Interface::default() };
    let binary = this_program();
    assert_eq!(findings(&binary, "many", slices), BTreeSet::new());
    assert!(!findings(&binary, "many", Interface::default()).is_empty());
    assert!(!findings(&binary, "many_with_a_leak", slices).is_empty());
}

#[test]
fn a_secret_in_a_register_of_arguments_is_one_where_the_interface_says_so() {
    let word = Interface { secrets: &[0], ..Interface::default() };
    let binary = this_program();
    assert!(!findings(&binary, "word_to_branch", word).is_empty());
    assert_eq!(findings(&binary, "word", word), BTreeSet::new());
    assert_eq!(findings(&binary, "word_to_branch", Interface::default()), BTreeSet::new());
}

#[test]
fn a_gather_at_secret_indices_is_found_and_one_at_public_ones_is_not() {
    // vmovdqu ymm1, [rdi]; vpcmpeqd ymm2, ymm2, ymm2; vpgatherdd ymm0, [rsi + 4·ymm1], ymm2; ret. The twin has vmovd xmm1, edi in front. With neither, ymm1
    // is an argument.
    let gather = [0xc5, 0xed, 0x76, 0xd2, 0xc4, 0xe2, 0x6d, 0x90, 0x04, 0x8e, 0xc3];
    let found = |before: &[u8]| {
        let code = [before, &gather].concat();
        follow(&this_program(), Function { name: "gather", address: 0x1000, code: &code }, Interface::default())
            .findings
    };
    for secret in [&[0xc5, 0xfe, 0x6f, 0x0f][..], &[]] {
        assert!(found(secret).iter().any(|finding| finding.what.contains("vpgatherdd at an address")), "{secret:x?}");
    }
    assert!(found(&[0xc5, 0xf9, 0x6e, 0xcf]).is_empty());
}

#[test]
fn what_lands_somewhere_in_an_array_stays_below_the_arguments_on_the_stack() {
    // mov rax, [rdi]; mov [rsp + 8·rsi − 64], rax; mov rcx, [rsp + 8]; test rcx, rcx; je; ret. The leak loads from rsp − 16.
    let found = |displacement: u8| {
        let code = [
            0x48,
            0x8b,
            0x07,
            0x48,
            0x89,
            0x44,
            0xf4,
            0xc0,
            0x48,
            0x8b,
            0x4c,
            0x24,
            displacement,
            0x48,
            0x85,
            0xc9,
            0x74,
            0,
            0xc3,
        ];
        let function = Function { name: "seventh", address: 0x1000, code: &code };
        follow(&this_program(), function, Interface::default()).findings
    };
    assert!(found(0xf0).iter().any(|finding| finding.what.contains("je depends on data")));
    assert!(found(8).is_empty());
}

#[test]
fn a_counter_that_was_put_aside_and_changed_there_is_none_of_the_arrays() {
    // mov [rsp − 8], rdx; and [rsp − 8], rcx; mov rax, [rdi]; mov [rsp + 8·rsi − 64], rax; mov rcx, [rsp − 8]; test rcx, rcx; je; ret.
    // The leak changes it by what it has read.
    let found = |public: bool| {
        let (put_aside, load): (&[u8], &[u8]) = (&[0x48, 0x89, 0x54, 0x24, 0xf8], &[0x48, 0x8b, 0x07]);
        // `and` with rcx, which is public, or with rax, which was loaded.
        let by = if public { 0x4c } else { 0x44 };
        let mut code = [put_aside, load].concat();
        code.extend([0x48, 0x21, by, 0x24, 0xf8]);
        code.extend([0x48, 0x89, 0x44, 0xf4, 0xc0, 0x48, 0x8b, 0x4c, 0x24, 0xf8, 0x48, 0x85, 0xc9, 0x74, 0, 0xc3]);
        let function = Function { name: "counter", address: 0x1000, code: &code };
        follow(&this_program(), function, Interface::default()).findings
    };
    assert!(found(true).is_empty());
    assert!(found(false).iter().any(|finding| finding.what.contains("je depends on data")));
}

#[test]
fn nothing_goes_on_behind_a_panic() {
    let binary = this_program();
    // call; test rax, rax; je; ret.
    let found = |wanted: &str| {
        let callee =
            binary.functions().find(|function| function.name.contains(wanted)).expect("it is compiled").address;
        let distance = (callee as u32).wrapping_sub(0x1005).to_le_bytes();
        let code: Vec<u8> = [0xe8].into_iter().chain(distance).chain([0x48, 0x85, 0xc0, 0x74, 0, 0xc3]).collect();
        follow(&binary, Function { name: "caller", address: 0x1000, code: &code }, Interface::default()).findings
    };
    assert!(found("planted::masked").iter().any(|finding| finding.what.contains("je depends on data")));
    assert!(found("core::panicking::panic_fmt").is_empty());
}

#[test]
fn bytes_that_are_no_instruction_are_found() {
    let function = Function { name: "broken", address: 0x1000, code: &[0x06, 0xc3] };
    assert_eq!(follow(&this_program(), function, Interface::default()).findings.len(), 1);
}

#[test]
fn a_program_has_the_kernels_that_it_has() {
    let binary = this_program();
    let compared = twins::compare(&binary, &binary);
    assert!(compared.different.is_empty() && compared.missing.is_empty());
}

#[test]
fn a_digest_knows_the_code_and_what_it_calls_but_not_where_it_stands() {
    let binary = this_program();
    let of = |name, address, code: &[u8]| Digests::new(&binary, &[]).of(Function { name, address, code });
    // mov eax, 1; jmp back to it. The other loads 2.
    let (one, two) = ([0xb8, 1, 0, 0, 0, 0xeb, 0xf9], [0xb8, 2, 0, 0, 0, 0xeb, 0xf9]);
    assert_eq!(of("leaks::a", 0x1000, &one), of("leaks::b", 0x2000, &one));
    assert_ne!(of("leaks::a", 0x1000, &one), of("leaks::a", 0x1000, &two));

    // call; ret. Functions of another crate than the caller's are known by their names alone.
    let callee =
        binary.functions().find(|function| function.name.ends_with("planted::masked")).expect("it is compiled");
    let call = |address: u64| {
        let distance = (callee.address as u32).wrapping_sub(address as u32 + 5).to_le_bytes();
        [&[0xe8], distance.as_slice(), &[0xc3]].concat()
    };
    let [here, there] = [0x1000, 0x2000].map(|address| of("leaks::caller", address, &call(address)));
    assert_eq!(here, there);
    assert_ne!(here, of("elsewhere::caller", 0x1000, &call(0x1000)));
}

#[test]
fn a_digest_knows_what_calls_the_code() {
    let binary = this_program();
    let ours: Vec<Function<'_>> = binary.functions().filter(|function| function.name.starts_with("leaks::")).collect();
    let (alone, among) = (Digests::new(&binary, &[]), Digests::new(&binary, &ours));
    let is_called = |function: &&Function<'_>| alone.of(**function) != among.of(**function);
    let called = ours.iter().filter(is_called).count();
    assert!(called > 0, "a test calls a planted function");
    assert!(called < ours.len(), "nobody calls a test by name");
}
