//! The C kernel of the self-test of code layout (`layout.c`), three times in this program: two static copies and one behind
//! `dlopen`. See `self_test`.

#![allow(unsafe_code)] // C functions, one of them in a library loaded at run time.

use candor_lab::Refusal;
use libloading::Library;
use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// Compiler and flags of all three, from build.rs.
pub(crate) const BUILD: &str = concat!(env!("CANDOR_LAYOUT_CC"), " ", env!("CANDOR_LAYOUT_FLAGS"));

/// The shared object, as build.rs compiled it; empty where it could not.
const SHARED_OBJECT: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/candor_layout.so"));

type Function = unsafe extern "C" fn(*const u64, usize, u32) -> u64;

unsafe extern "C" {
    fn candor_layout_a(words: *const u64, count: usize, rounds: u32) -> u64;
    fn candor_layout_b(words: *const u64, count: usize, rounds: u32) -> u64;
}

/// One copy of the kernel. All are called through a pointer, so that the call is the same.
pub(crate) struct Kernel {
    function: Function,
    /// Keeps the code mapped for as long as the pointer exists.
    _library: Option<Library>,
}

impl Kernel {
    /// The first static copy.
    pub(crate) fn first() -> Self {
        Self { function: candor_layout_a, _library: None }
    }

    /// The second static copy.
    pub(crate) fn second() -> Self {
        Self { function: candor_layout_b, _library: None }
    }

    /// The copy in the shared object, which goes into a file only to be loaded from it.
    pub(crate) fn shared() -> Result<Self, Refusal> {
        if SHARED_OBJECT.is_empty() {
            return Err(Refusal::new("was built without its shared object: the C compiler refused -shared"));
        }
        let file = File::with(SHARED_OBJECT).map_err(|error| Refusal::failed(format!("can't be written: {error}")))?;
        // SAFETY: build.rs made the object from layout.c, which has no constructors, and the file was made just now with
        // access for this user only.
        let library = unsafe { Library::new(&file.0) };
        let library = library.map_err(|error| Refusal::failed(format!("can't be loaded: {error}")))?;
        // SAFETY: layout.c gives the function this type, and the pointer is kept together with the library.
        let function = unsafe { library.get::<Function>("candor_layout_shared") };
        let function = *function.map_err(|error| Refusal::failed(format!("lacks its function: {error}")))?;
        Ok(Self { function, _library: Some(library) })
    }

    /// Mixes all words `rounds` times over.
    #[inline]
    pub(crate) fn mix(&self, words: &[u64], rounds: u32) -> u64 {
        // SAFETY: reads `words.len()` words and nothing else.
        unsafe { (self.function)(words.as_ptr(), words.len(), rounds) }
    }
}

/// A file of a name that did not exist before; removed when dropped. Code that is mapped from it stays.
struct File(PathBuf);

impl File {
    fn with(content: &[u8]) -> std::io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let number = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("candor-layout-{}-{number}.so", std::process::id()));
        let file = Self::create(&path)?;
        OpenOptions::new().write(true).open(&file.0)?.write_all(content)?;
        Ok(file)
    }

    /// `create_new` fails where the name is taken, by a link as well.
    fn create(path: &Path) -> std::io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o700);
        options.open(path)?;
        Ok(Self(path.to_owned()))
    }
}

impl Drop for File {
    fn drop(&mut self) {
        // A file that stays behind does no harm.
        let _ = fs::remove_file(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_three_copies_compute_the_same() {
        let words: Vec<u64> = (0..64).collect();
        let expected = Kernel::first().mix(&words, 3);
        assert_eq!(Kernel::second().mix(&words, 3), expected);
        assert_eq!(Kernel::shared().unwrap().mix(&words, 3), expected);
        assert_ne!(Kernel::first().mix(&words, 4), expected);
    }

    #[test]
    fn the_copies_are_three() {
        let (first, second, shared) = (Kernel::first(), Kernel::second(), Kernel::shared().unwrap());
        let addresses = [first.function as usize, second.function as usize, shared.function as usize];
        assert!(addresses[0] != addresses[1] && addresses[1] != addresses[2] && addresses[0] != addresses[2]);
    }
}
