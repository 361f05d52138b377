//! Kernels with less, and with as much, cleared behind them as they use, compiled into this program, which reads itself.

use candor_scan::binary::Binary;
use candor_scan::frames::{self, Cleared};
use std::hint::black_box;

/// With the names that the kernels of the products have.
mod candor_planted {
    pub(super) mod low {
        pub(in super::super) mod arm {
            use std::hint::black_box;

            #[inline(never)]
            pub(in super::super::super) fn with_features() -> u8 {
                black_box([7; 1000])[black_box(3)]
            }
        }

        /// Of a room behind whose kernels the stack must be cleared.
        pub(in super::super) mod sm4 {
            use std::hint::black_box;

            #[inline(never)]
            pub(in super::super::super) fn with_features() -> u8 {
                black_box([7; 1000])[black_box(3)]
            }
        }

        pub(in super::super) mod through_memory {
            /// Calls what nobody knows, beside a copy by the C library.
            #[inline(never)]
            pub(in super::super::super) fn with_features(deeper: &dyn Fn() -> u8) -> u8 {
                let (mut to, from, length) = ([0; 900], std::hint::black_box([1; 900]), std::hint::black_box(900));
                to[..length].copy_from_slice(&from[..length]);
                deeper() ^ std::hint::black_box(to)[3]
            }
        }

        pub(in super::super) mod deep {
            /// Uses little itself, and much by what it calls.
            #[inline(never)]
            pub(in super::super::super) fn with_features() -> u8 {
                super::arm::with_features() ^ 1
            }
        }
    }

    #[inline(never)]
    pub(super) fn enough() -> u8 {
        let it = low::arm::with_features();
        zeroize::zeroize_stack::<4096>();
        it
    }

    #[inline(never)]
    pub(super) fn short() -> u8 {
        let it = low::arm::with_features();
        zeroize::zeroize_stack::<500>();
        it
    }

    #[inline(never)]
    pub(super) fn short_on_one_way(less: bool) -> u8 {
        let it = low::arm::with_features();
        if less {
            zeroize::zeroize_stack::<500>()
        } else {
            zeroize::zeroize_stack::<4096>()
        }
        it
    }

    #[inline(never)]
    pub(super) fn returns_without(clearing: bool) -> u8 {
        let it = low::arm::with_features();
        if clearing {
            zeroize::zeroize_stack::<4096>();
        }
        it
    }

    /// The clear is the last call, so it becomes a jump.
    #[inline(never)]
    pub(super) fn short_by_a_jump(to: &mut u8) {
        *to = low::arm::with_features();
        zeroize::zeroize_stack::<500>()
    }

    /// What is cleared behind the second kernel lies above what the first has used.
    #[inline(never)]
    pub(super) fn short_for_the_first() -> u8 {
        let it = low::arm::with_features() ^ low::deep::with_features();
        zeroize::zeroize_stack::<500>();
        it
    }

    #[inline(never)]
    pub(super) fn by_address() -> u8 {
        let kernel: fn() -> u8 = std::hint::black_box(low::arm::with_features);
        let it = kernel();
        zeroize::zeroize_stack::<4096>();
        it
    }

    #[inline(never)]
    pub(super) fn into_the_unknown(deeper: &dyn Fn() -> u8) -> u8 {
        let it = low::through_memory::with_features(deeper);
        zeroize::zeroize_stack::<4096>();
        it
    }

    /// The room's kernels are asked for though nothing clears.
    #[inline(never)]
    pub(super) fn nothing() -> u8 {
        low::sm4::with_features() ^ 1
    }

    #[inline(never)]
    pub(super) fn short_further_down() -> u8 {
        let it = low::deep::with_features();
        zeroize::zeroize_stack::<500>();
        it
    }

    /// What another kernel clears behind itself says nothing of this one.
    #[inline(never)]
    pub(super) fn no_claim() -> u8 {
        low::arm::with_features() ^ enough()
    }
}

fn found() -> Vec<Cleared> {
    let calls: [fn() -> u8; 11] = [
        candor_planted::enough,
        candor_planted::short,
        || candor_planted::short_on_one_way(black_box(true)),
        candor_planted::short_further_down,
        candor_planted::no_claim,
        || candor_planted::returns_without(black_box(true)),
        || {
            let mut to = 0;
            candor_planted::short_by_a_jump(black_box(&mut to));
            to
        },
        candor_planted::short_for_the_first,
        candor_planted::by_address,
        || candor_planted::into_the_unknown(black_box(&|| 3)),
        candor_planted::nothing,
    ];
    for call in calls {
        black_box(call)();
    }
    let path = std::env::current_exe().expect("a path");
    frames::all(&Binary::parse(&std::fs::read(path).expect("this program")).expect("an executable"))
}

#[test]
fn as_much_must_be_cleared_as_the_kernel_and_what_it_calls_use_on_each_way() {
    let found = found();
    let of = |caller: &str| {
        let mut of = found.iter().filter(|cleared| cleared.caller.ends_with(caller));
        let one = of.next().unwrap_or_else(|| panic!("{caller} is not found in {found:?}"));
        assert_eq!(of.next(), None);
        (one.is_enough(), one.needs.clone().expect("known"), one.clears)
    };
    let (enough, needs, clears) = of("::enough");
    assert!(enough && (1000..2000).contains(&needs) && clears >= 4096, "{needs} {clears}");
    for caller in ["::short", "::short_on_one_way"] {
        let (enough, same, clears) = of(caller);
        assert!(!enough && same == needs && (500..1000).contains(&clears), "{caller}: {same} {clears}");
    }
    let (enough, more, _) = of("::short_further_down");
    assert!(!enough && more > needs, "{more}");
    assert!(!found.iter().any(|cleared| cleared.caller.ends_with("no_claim")));
    let (enough, same, clears) = of("::returns_without");
    assert!(!enough && same == needs && clears == 0, "{same} {clears}");
    let (enough, same, clears) = of("::short_by_a_jump");
    assert!(!enough && same == needs && clears < 600, "{same} {clears}");
    let (enough, _, clears) = of("::nothing");
    assert!(!enough && clears == 0, "{clears}");
}

#[test]
fn each_kernel_before_a_clear_is_judged_by_it() {
    let found = found();
    let of: Vec<_> = found.iter().filter(|cleared| cleared.caller.ends_with("::short_for_the_first")).collect();
    assert_eq!(of.len(), 2, "{of:?}");
    assert!(of.iter().all(|cleared| !cleared.is_enough() && cleared.clears > 500), "{of:?}");
}

#[test]
fn what_cannot_be_followed_is_an_error() {
    let found = found();
    for (caller, why) in [("::by_address", "by its address"), ("::into_the_unknown", "a function that is not known")] {
        let of = found.iter().find(|cleared| cleared.caller.ends_with(caller)).expect(caller);
        assert!(of.needs.as_ref().is_err_and(|said| said.contains(why)), "{of:?}");
    }
}
