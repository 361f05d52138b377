//! SHAKE128 of four messages at once, by Keccak's designers (XKCP), which liboqs has for ML-KEM's matrix and keeps to itself: `cargo xtask peers liboqs`
//! compiles a small library that gives it away.

use crate::contract::hash::{self, BatchHash, Shape};
use crate::shared_object::built::Built;
use crate::shared_object::{CHOSEN_AT_RUN_TIME, Found, SharedObject, Which, function};
use candor_lab::{Entry, Habit, Provenance};
use libloading::Library;
use std::ffi::{CStr, c_char};
use std::sync::LazyLock;

static LIBRARY: Which = Which {
    name: "liboqs",
    file: "libcandor-oqs-shake",
    what: "liboqs's hash of four messages",
    how: "build it with `cargo xtask peers liboqs`",
    arm: CHOSEN_AT_RUN_TIME,
    needs: &[],
};

/// The messages of a call, and bytes of a digest.
const LANES: usize = 4;
const DIGEST: usize = 32;

struct Functions {
    hash: unsafe extern "C" fn(*mut u8, *const *const u8, usize),
    /// Keeps the code mapped for as long as the pointer above exists.
    _library: Library,
}

fn look_up(library: Library, _: &Built) -> Result<(String, Functions), String> {
    // SAFETY: the types are those of the shim, which our own recipe compiles. `OQS_init` must come first; the version is a constant.
    unsafe {
        let init = function::<unsafe extern "C" fn()>(&library, "candor_oqs_init")?;
        let version = function::<unsafe extern "C" fn() -> *const c_char>(&library, "candor_oqs_version")?;
        let hash = function(&library, "candor_oqs_shake128_x4")?;
        init();
        let version = CStr::from_ptr(version()).to_string_lossy().into_owned();
        Ok((version, Functions { hash, _library: library }))
    }
}

static FOUND: LazyLock<Found<Functions>> = LazyLock::new(|| Found::look_for(&LIBRARY, look_up));

/// The entries for a batch of four.
pub(super) fn entries(shape: Shape) -> Vec<Entry> {
    FOUND.each(|object| {
        let name = format!("{}+batch", object.name);
        hash::batch_entry::<_, LANES, DIGEST>(name, shape.bytes, move || Ok(Shake128(object)))
    })
}

struct Shake128(&'static SharedObject<Functions>);

impl BatchHash<LANES, DIGEST> for Shake128 {
    fn digests(&mut self, messages: [&[u8]; LANES]) -> [[u8; DIGEST]; LANES] {
        let bytes = messages[0].len();
        assert!(messages.iter().all(|message| message.len() == bytes), "the function takes one length");
        let (mut digests, starts) = ([[0; DIGEST]; LANES], messages.map(<[u8]>::as_ptr));
        // SAFETY: four messages of as many bytes as said, and room for four digests.
        unsafe { (self.0.functions.hash)(digests.as_mut_ptr().cast(), starts.as_ptr(), bytes) };
        digests
    }

    fn provenance(&self, timed: &str) -> Provenance {
        let allocates = (Habit::Allocates, "the call allocates its state");
        self.0.provenance(&format!("{timed}; the library's own function for its KEMs")).telling([allocates])
    }
}
