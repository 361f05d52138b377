//! The archive of files that Linux unpacks as its first file system: cpio's format "newc", as the kernel's
//! `Documentation/driver-api/early-userspace/buffer-format.rst` has it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// An archive in the making.
#[derive(Default)]
pub(super) struct Archive {
    bytes: Vec<u8>,
    files: u32,
    folders: BTreeSet<PathBuf>,
}

/// Type and permissions: anybody may read and execute.
const FOLDER: u32 = 0o040_755;
const FILE: u32 = 0o100_755;

impl Archive {
    /// Adds a folder and those around it, unless they are there. The path begins with `/`.
    pub(super) fn folder(&mut self, path: &Path) {
        if path.parent().is_none() || self.folders.contains(path) {
            return;
        }
        path.parent().into_iter().for_each(|around| self.folder(around));
        self.folders.insert(path.to_owned());
        self.entry(path, FOLDER, &[]);
    }

    /// Adds a file and the folders around it.
    pub(super) fn file(&mut self, path: &Path, content: &[u8]) {
        path.parent().into_iter().for_each(|around| self.folder(around));
        self.entry(path, FILE, content);
    }

    /// The archive, with its end.
    pub(super) fn finish(mut self) -> Vec<u8> {
        self.entry(Path::new("/TRAILER!!!"), 0, &[]);
        self.bytes
    }

    fn entry(&mut self, path: &Path, mode: u32, content: &[u8]) {
        self.files += 1;
        let path = path.to_string_lossy();
        let name = path.trim_start_matches('/');
        let length = u32::try_from(content.len()).expect("a file of less than 4 GB");
        let name_length = u32::try_from(name.len() + 1).expect("a short name");
        // Number, mode, owner, group, links, time, length, four numbers of devices, length of the name with its zero, checksum.
        let fields = [self.files, mode, 0, 0, 1, 0, length, 0, 0, 0, 0, name_length, 0];
        self.bytes.extend_from_slice(b"070701");
        fields.iter().for_each(|field| self.bytes.extend_from_slice(format!("{field:08x}").as_bytes()));
        self.bytes.extend_from_slice(name.as_bytes());
        self.bytes.push(0);
        self.fill();
        self.bytes.extend_from_slice(content);
        self.fill();
    }

    /// Everything begins at a multiple of four.
    fn fill(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_folder_comes_once_and_before_what_is_in_it() {
        let mut archive = Archive::default();
        archive.file(Path::new("/a/b/one"), b"1");
        archive.file(Path::new("/a/two"), b"22222");
        let bytes = archive.finish();
        assert_eq!(bytes.len() % 4, 0);
        let text = String::from_utf8(bytes).unwrap();
        let names: Vec<&str> =
            text.split("070701").skip(1).map(|entry| entry[104..].split('\0').next().unwrap()).collect();
        assert_eq!(names, ["a", "a/b", "a/b/one", "a/two", "TRAILER!!!"]);
        let two = text.split("070701").nth(4).unwrap();
        assert_eq!((&two[48..56], &two[88..96]), ("00000005", "00000006"));
        // 110 bytes of header and 6 of name end at a multiple of four.
        assert!(two.ends_with("a/two\x0022222\0\0\0"), "{two:?}");
    }
}
