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
    let calls: [fn() -> u8; 5] = [
        candor_planted::enough,
        candor_planted::short,
        || candor_planted::short_on_one_way(black_box(true)),
        candor_planted::short_further_down,
        candor_planted::no_claim,
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
}
