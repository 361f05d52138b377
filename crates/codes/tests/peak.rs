//! How much memory key generation takes at most: an allocator counts.

use candor_codes::mceliece::{Mceliece, Mceliece348864f, Mceliece8192128f, ParameterSet};
use candor_primitives::kem::{DerandomizedKem, Kem};
use candor_test_support::counting::{Counting, most_held};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_key_pair_is_made_in_two_and_a_half_times_its_size() {
    fn check<S: ParameterSet>(kem: Mceliece<S>) {
        let pair = Mceliece::<S>::PUBLIC + Mceliece::<S>::SECRET;
        let (most, made) = most_held(|| kem.generate_from(&[1; 32]).unwrap());
        assert!(most >= pair, "the pair itself is counted");
        assert!(2 * most <= 5 * pair, "{kem:?} takes {most} bytes for {pair}");
        // The twin: a copy of the public key is seen.
        let (copied, _copy) = most_held(|| made.1.clone());
        assert_eq!(copied, Mceliece::<S>::PUBLIC);
        println!("{kem:?}: {:.2} times the key pair", most as f64 / pair as f64);
    }
    check(Mceliece348864f::new());
    check(Mceliece8192128f::new());
}
