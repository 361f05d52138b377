//! Every arm of this machine against the schoolbook, bit by bit.

use crate::low::kernel::LEAVES;
use crate::plan::{ARMS, Plans, Scheme};
use crate::recursion::Recursion;
use crate::{Multiplier, reference};
use candor_cpu::arms::Routine;
use candor_cpu::{Cpu, Microarchitecture};

/// One multiplier an arm, with the CPU value that gives it.
fn arms() -> Vec<(Cpu, Multiplier)> {
    let mut arms: Vec<(Cpu, Multiplier)> = Vec::new();
    for tier in Cpu::tiers() {
        let cpu = Cpu::named(tier.name).unwrap();
        let multiplier = Multiplier::with_cpu(cpu);
        if arms.iter().all(|(_, known)| known.arm() != multiplier.arm()) {
            arms.push((cpu, multiplier));
        }
    }
    arms
}

/// All arms on one pair of factors, by `mul` and with the caller's scratch.
fn check(a: &[u64], b: &[u64]) {
    let expected = reference::product(a, b);
    for (_, m) in arms() {
        let mut out = vec![u64::MAX; expected.len()];
        m.mul(&mut out, a, b);
        assert!(out == expected, "{} {} by {} words", m.arm(), a.len(), b.len());
        let mut scratch = vec![u64::MAX; m.scratch_words(a.len(), b.len())];
        out.fill(u64::MAX);
        m.mul_with_scratch(&mut out, a, b, &mut scratch);
        assert!(out == expected, "{} {} by {} words with scratch", m.arm(), a.len(), b.len());
    }
}

#[test]
fn every_length_up_to_128_words() {
    for n in 0..=128 {
        check(&reference::words(n as u64, n), &reference::words(1000 + n as u64, n));
    }
}

#[test]
fn every_pair_of_lengths_up_to_24_words() {
    for (n, k) in (0..=24).flat_map(|n| (0..=24).map(move |k| (n, k))) {
        check(&reference::words(7 + n as u64, n), &reference::words(70 + k as u64, k));
    }
}

#[test]
fn lengths_at_random_up_to_1200_words_and_beyond_the_tables() {
    let mut lengths: Vec<(usize, usize)> =
        reference::words(5, 12).into_iter().map(|x| ((x % 1200) as usize, (x >> 32) as usize % 1200)).collect();
    lengths.extend([(277, 277), (561, 561), (901, 901), (1280, 1280), (1281, 1281), (1300, 3), (2, 1299), (700, 1290)]);
    for (n, k) in lengths {
        check(&reference::words(n as u64, n), &reference::words(k as u64 + 1, k));
    }
}

#[test]
fn boundary_patterns() {
    for n in (1..=34).chain([48, 65]) {
        let ones = vec![u64::MAX; n];
        let single = |bit: usize| {
            let mut words = vec![0; n];
            words[bit / 64] = 1 << (bit % 64);
            words
        };
        let (lowest, highest) = (single(0), single(64 * n - 1));
        let tops = vec![1 << 63; n];
        for a in [&ones, &lowest, &highest, &tops, &vec![0; n]] {
            for b in [&ones, &lowest, &highest, &tops] {
                check(a, b);
            }
        }
    }
}

#[test]
fn every_scheme_at_every_length_that_it_fits() {
    for (cpu, m) in arms() {
        let leaf_words = m.plans().leaf_words();
        for n in 1..=48 {
            let (a, b) = (reference::words(n as u64, n), reference::words(99 + n as u64, n));
            let expected = reference::product(&a, &b);
            let parts = 1..n;
            let schemes = parts.flat_map(|part| {
                [
                    Scheme::Split { low: part },
                    Scheme::Karatsuba2 { low: part },
                    Scheme::Karatsuba3 { part },
                    Scheme::Toom3 { part },
                ]
            });
            for scheme in schemes.filter(|scheme| scheme.fits(n, leaf_words)) {
                let plans = m.plans().clone().with(n, scheme).unwrap();
                let mut scratch = vec![u64::MAX; plans.scratch_words(n)];
                let mut out = vec![u64::MAX; 2 * n];
                let kernel = crate::arm::Arm::choose(cpu, Routine::Gf2Mul).kernel();
                Recursion { kernel, plans: &plans }.balanced(&mut out, &a, &b, &mut scratch);
                assert!(out == expected, "{} {n} words by {scheme}", m.arm());
            }
        }
    }
}

#[test]
fn batches_are_products_one_by_one() {
    fn batch<const N: usize>(m: Multiplier) {
        let words = reference::words(N as u64, 6 * N);
        let (a, b) = (words[..3 * N].as_chunks::<N>().0, words[3 * N..].as_chunks::<N>().0);
        let mut out = [[[0; N]; 2]; 3];
        m.mul_many(&mut out, a, b);
        for i in 0..3 {
            assert!(out[i].as_flattened() == reference::product(&a[i], &b[i]), "{} {N} words", m.arm());
        }
        m.mul_many::<N>(&mut [], &[], &[]);
    }
    for (_, m) in arms() {
        let _ = [batch::<1>, batch::<2>, batch::<3>, batch::<4>, batch::<5>, batch::<8>, batch::<9>].map(|run| run(m));
        let _ = [batch::<12>, batch::<16>, batch::<19>, batch::<24>, batch::<32>, batch::<33>].map(|run| run(m));
    }
}

#[test]
fn a_square_is_the_product_with_itself() {
    for (_, m) in arms() {
        for n in 0..=33 {
            let a = reference::words(n as u64, n);
            let mut out = vec![u64::MAX; 2 * n];
            m.square(&mut out, &a);
            assert!(out == reference::product(&a, &a), "{} {n} words", m.arm());
        }
    }
}

#[test]
fn the_arms_have_the_leaves_that_tables_count_on() {
    for (_, m) in arms() {
        let (_, leaf_words) = ARMS.into_iter().find(|(arm, _)| *arm == m.arm()).unwrap();
        assert_eq!(m.plans().leaf_words(), leaf_words, "{}", m.arm());
        assert!(leaf_words <= LEAVES);
        // A leaf of every length really exists: a table that said so otherwise would leave the product unwritten.
        assert_eq!(crate::low::portable::KERNEL.leaf_words(), 4);
    }
}

#[test]
fn a_table_is_taken_by_its_own_arm_only() {
    let text =
        if cfg!(target_arch = "aarch64") { "candor-gf2-plan 1\narm zbc\n" } else { "candor-gf2-plan 1\narm pmull\n" };
    let plans: &'static Plans = Box::leak(Box::new(Plans::parse(text).unwrap()));
    for (cpu, m) in arms() {
        assert!(Multiplier::with_plans(cpu, plans).is_none());
        assert_eq!(Multiplier::with_plans(cpu, m.plans()).map(|same| same.arm()), Some(m.arm()));
    }
}

#[test]
fn the_table_of_arms_is_asked_unless_a_tier_was_named() {
    let Ok(wide) = Cpu::named("avx512") else {
        eprintln!("skipped: no AVX-512 to be left out");
        return;
    };
    let zen4 = wide.choosing_as(Microarchitecture::named("zen4").unwrap());
    assert_eq!([wide, zen4].map(|cpu| Multiplier::with_cpu(cpu).arm()), ["avx512", "vpclmul"]);
}

#[test]
fn counts_are_those_of_the_literature() {
    let plans = Plans::parse("candor-gf2-plan 1\narm avx512\n").unwrap();
    // Three and four words are multiplied word by word, and so only by themselves: 8×8 words take 27 products.
    for (n, clmul) in [(1, 1), (2, 3), (3, 9), (4, 16), (6, 18), (8, 27), (16, 81), (32, 243), (64, 729), (128, 2187)] {
        assert_eq!(plans.counts(n).clmul, clmul, "{n} words");
    }
    // Schoolbook cross terms: 8×8 by Karatsuba, 8×1 twice, 1×1.
    assert_eq!(plans.counts(9).clmul, 27 + 17);
    let toom = Scheme::Toom3 { part: 16 };
    assert_eq!(plans.counts_of_scheme(47, toom).clmul, 2 * plans.counts(17).clmul + 2 * 81 + 81);
}

#[test]
#[should_panic(expected = "as long as both factors together")]
fn a_wrong_length_panics() {
    Multiplier::new().mul(&mut [0; 3], &[1], &[1]);
}

#[test]
fn each_mistake_in_a_table_is_named_with_its_line() {
    use crate::plan::{PlanError, PlanMistake::*};
    // Each text twice: with the mistake in line 3, and put right.
    for (mistake, wrong, right) in [
        (Arm, "arm nobody", "arm clmul"),
        (Scheme, "9 karatsuba4 5", "9 karatsuba2 5"),
        (Number, "9 karatsuba2 five", "9 karatsuba2 5"),
        (Number, "9 karatsuba2 5 6", "9 karatsuba2 6"),
        (Length, "0 leaf", "1 leaf"),
        (Length, "1281 karatsuba2 641", "1280 karatsuba2 640"),
        (Fit, "9 karatsuba2 4", "9 karatsuba2 5"),
        (Fit, "5 leaf", "4 leaf"),
        (Fit, "40 toom3 13", "40 toom3 14"),
    ] {
        let read = |line: &str| Plans::read(&std::format!("candor-gf2-plan 1\narm portable\n{line}\n")).map(|_| ());
        assert_eq!(read(wrong), Err(PlanError { line: 3, mistake }), "{wrong}");
        assert_eq!(read(right), Ok(()), "{right}");
    }
    let read = |text: &str| Plans::read(text).map(|_| ());
    assert_eq!(read("candor-gf2-plan 2\narm portable\n"), Err(PlanError { line: 1, mistake: Format }));
    assert_eq!(read("candor-gf2-plan 1\n9 karatsuba2 5\n"), Err(PlanError { line: 2, mistake: ArmMissing }));
    assert_eq!(read("candor-gf2-plan 1\narm portable\n9 karatsuba2 5\n"), Ok(()));
}

/// Any text as a table: it is refused with a line number, or it multiplies as the shipped table does.
fn plan_text(data: &[u8]) {
    let Ok(text) = core::str::from_utf8(data) else { return };
    match Plans::read(text) {
        Err(error) => assert!(error.line <= text.lines().count().max(1), "{error}"),
        Ok((plans, head)) => {
            assert!(text.is_char_boundary(head));
            let kernel = &crate::low::portable::KERNEL;
            if plans.arm() != kernel.arm {
                return;
            }
            for n in [5, 17, 40, 97] {
                let a: Vec<u64> = (1..=n).map(|i| 0x9e3779b97f4a7c15u64.wrapping_mul(i)).collect();
                let (mut x, mut y) = (vec![0; 2 * a.len()], vec![1; 2 * a.len()]);
                Multiplier::with_cpu(Cpu::portable()).mul(&mut x, &a, &a);
                let mut scratch = vec![u64::MAX; plans.scratch_words(a.len())];
                Recursion { kernel, plans: &plans }.balanced(&mut y, &a, &a, &mut scratch);
                assert!(x == y, "{n} words");
            }
        }
    }
}

#[test]
fn no_text_breaks_the_parser_and_no_table_breaks_a_product() {
    let arm = "candor-gf2-plan 1\narm portable\n";
    for entries in [
        "",
        "5 split 4\n",
        "17 toom3 7\n40 karatsuba3 16\n97 toom3 33",
        "40 toom3 13\n",
        "0 leaf\n",
        "5 leaf\n",
        "9 karatsuba2 4\n",
        "9 karatsuba2 8\n",
        "1281 karatsuba2 700\n",
        "9\n",
        "9 karatsuba2\n",
        "9 karatsuba2 5 6\n",
        "9 karatsuba2 99999999999\n",
        "arm nobody\n",
        "é\n17 karatsuba2 9\n",
        "# words\n\n17 karatsuba2 9\n",
        "arm portable\n5 split 3\n",
    ] {
        plan_text(format!("{arm}{entries}").as_bytes());
        plan_text(entries.as_bytes());
    }
    let shipped = include_bytes!("../plans/portable.plan");
    for at in (0..shipped.len()).step_by(7) {
        let mut changed = shipped.to_vec();
        changed[at] ^= 1;
        plan_text(&changed);
        plan_text(&shipped[..at]);
    }
}

#[test]
fn the_message_for_a_mistake_names_its_line() {
    let error = |text: &'static str| Plans::parse(text).err().map(|error| error.to_string()).unwrap_or_default();
    assert!(error("").starts_with("line 1: expected the line `candor-gf2-plan 1`"));
    assert!(error("candor-gf2-plan 1\n5 split 4\n").starts_with("line 2: expected the line `arm NAME`"));
    assert!(error("candor-gf2-plan 1\narm x\n").starts_with("line 2: unknown arm"));
    assert!(error("candor-gf2-plan 1\narm clmul\n\n20 toom5 7\n").starts_with("line 4: expected `WORDS SCHEME PART`"));
    assert!(error("candor-gf2-plan 1\narm clmul\n20 karatsuba2 9\n").starts_with("line 3: this scheme"));
    assert!(error("candor-gf2-plan 1\narm clmul\n20 leaf\n").starts_with("line 3: this scheme"));
}
