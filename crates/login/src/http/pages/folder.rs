//! Reads the folder of the pages.

use super::{CHANGE_PAGE, Form, Page};
use crate::http::routes::PATHS;
use axum::body::Bytes;
use axum::http::HeaderValue;
use candor_primitives::hash::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

/// The most files of a folder, compressed ones counted too.
const MOST_FILES: usize = 256;
/// The most bytes of all files together: they stay in memory.
const MOST_BYTES: u64 = 16 << 20;
/// How deep folders may lie in one another.
const MOST_DEPTH: usize = 4;
/// The extension of a file that is another one, compressed.
const GZIP: &str = "gz";

/// What there may be, by extension.
const TYPES: [(&str, &str); 9] = [
    ("html", "text/html; charset=utf-8"),
    ("css", "text/css; charset=utf-8"),
    ("js", "text/javascript; charset=utf-8"),
    ("wasm", "application/wasm"),
    ("svg", "image/svg+xml"),
    ("png", "image/png"),
    ("ico", "image/x-icon"),
    ("txt", "text/plain; charset=utf-8"),
    ("json", "application/json"),
];

/// Files by the paths that they are served at: `/` and a file's name, for a page without `.html`; `/` alone is `index.html`.
#[derive(Debug)]
pub(crate) struct Pages(BTreeMap<String, Page>);

/// What keeps a folder from being served.
#[derive(Debug)]
pub(crate) struct Unusable {
    pub(crate) path: PathBuf,
    pub(crate) why: String,
}

impl Pages {
    /// Reads all files of a folder. The folder itself may be a symbolic link; nothing in it may.
    pub(crate) fn read(folder: &Path) -> Result<Self, Unusable> {
        let mut reading = Reading { files: BTreeMap::new(), bytes: 0 };
        reading.folder(folder, "/", 0)?;
        let pages = reading.pages(folder)?;
        for needed in ["/", CHANGE_PAGE] {
            if pages.at(needed).is_none() {
                let name = if needed == "/" { "index" } else { &CHANGE_PAGE[1..] };
                return Err(unusable(
                    folder,
                    format!(
                        "no {name}.html in it; expected the folder that `cargo xtask wasm` writes, target/web/login"
                    ),
                ));
            }
        }
        Ok(pages)
    }

    /// The file at exactly this path.
    pub(super) fn at(&self, path: &str) -> Option<&Page> {
        self.0.get(path)
    }
}

/// Files that have been read so far, by their names below the folder.
struct Reading {
    files: BTreeMap<String, Vec<u8>>,
    bytes: u64,
}

impl Reading {
    /// Reads a folder whose files' names begin with `prefix`.
    fn folder(&mut self, folder: &Path, prefix: &str, depth: usize) -> Result<(), Unusable> {
        if depth > MOST_DEPTH {
            return Err(unusable(folder, format!("lies deeper than {MOST_DEPTH} folders")));
        }
        let failed = |error: std::io::Error| unusable(folder, error);
        for entry in fs::read_dir(folder).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let path = entry.path();
            let name = entry.file_name();
            let name = name.to_str().filter(|name| is_plain(name)).ok_or_else(|| {
                unusable(&path, "expected a name of letters, digits, `.`, `-` and `_` that does not begin with `.`")
            })?;
            // That of the entry itself: a symbolic link is not followed.
            let kind = entry.file_type().map_err(|error| unusable(&path, error))?;
            if kind.is_dir() {
                self.folder(&path, &format!("{prefix}{name}/"), depth + 1)?;
            } else if kind.is_file() {
                self.file(&path, format!("{prefix}{name}"))?;
            } else if kind.is_symlink() {
                return Err(unusable(&path, "is a symbolic link; expected a file or a folder"));
            } else {
                return Err(unusable(&path, "is no file; expected a file or a folder"));
            }
        }
        Ok(())
    }

    fn file(&mut self, path: &Path, name: String) -> Result<(), Unusable> {
        if self.files.len() == MOST_FILES {
            return Err(unusable(path, format!("is one more than the {MOST_FILES} files that there may be")));
        }
        let mut bytes = Vec::new();
        let room = MOST_BYTES - self.bytes;
        let file = File::open(path).map_err(|error| unusable(path, error))?;
        file.take(room + 1).read_to_end(&mut bytes).map_err(|error| unusable(path, error))?;
        self.bytes += bytes.len() as u64;
        if self.bytes > MOST_BYTES {
            return Err(unusable(
                path,
                format!("all files together have more than the {MOST_BYTES} bytes that they may have"),
            ));
        }
        self.files.insert(name, bytes);
        Ok(())
    }

    /// The files as they are served.
    fn pages(mut self, folder: &Path) -> Result<Pages, Unusable> {
        let at = |name: &str| folder.join(name.trim_start_matches('/'));
        let mut compressed = BTreeMap::new();
        for name in self.files.keys().filter(|name| extension(name) == GZIP).cloned().collect::<Vec<_>>() {
            let plain = name.strip_suffix(".gz").unwrap_or_default().to_owned();
            if !self.files.contains_key(&plain) {
                return Err(unusable(&at(&name), "is compressed, and the file without `.gz` is missing"));
            }
            compressed.extend(self.files.remove(&name).map(|bytes| (plain, bytes)));
        }
        let mut pages = BTreeMap::new();
        for (name, bytes) in self.files {
            let kind = TYPES.iter().find(|(known, _)| *known == extension(&name)).ok_or_else(|| {
                let known: Vec<_> = TYPES.iter().map(|(known, _)| format!(".{known}")).collect();
                unusable(&at(&name), format!("unknown kind of file; expected one of {} and .{GZIP}", known.join(", ")))
            })?;
            let path = served_at(&name);
            if is_taken(&path) {
                return Err(unusable(&at(&name), format!("would be at {path}, which belongs to the interface")));
            }
            let gzip = compressed.remove(&name).map(|bytes| Form::new(bytes, "-gzip"));
            pages.insert(path, Page { content_type: kind.1, plain: Form::new(bytes, ""), gzip });
        }
        Ok(Pages(pages))
    }
}

impl Form {
    /// Tagged by a hash. What is compressed is tagged otherwise than what is not (RFC 9110, section 8.8.3.3).
    fn new(bytes: Vec<u8>, suffix: &str) -> Self {
        let hash = base16ct::lower::encode_string(&Sha256::digest(&bytes)[..16]);
        let tag = HeaderValue::from_str(&format!("\"{hash}{suffix}\"")).expect("digits and letters");
        Self { bytes: Bytes::from(bytes), tag }
    }
}

/// Whether a name stands in a URL as it is, and hides nothing.
fn is_plain(name: &str) -> bool {
    !name.starts_with('.') && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b".-_".contains(&byte))
}

fn extension(name: &str) -> &str {
    name.rsplit_once('.').map_or("", |(_, extension)| extension)
}

/// The path of a file: a page's is its name without `.html`.
fn served_at(name: &str) -> String {
    match name.strip_suffix(".html") {
        Some(page) => page.strip_suffix("/index").map_or(page.to_owned(), |folder| format!("{folder}/")),
        None => name.to_owned(),
    }
}

/// Whether the interface has the path, now or in a later version.
fn is_taken(path: &str) -> bool {
    path.starts_with("/v1/") || PATHS.contains(&path)
}

fn unusable(path: &Path, why: impl ToString) -> Unusable {
    Unusable { path: path.to_owned(), why: why.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;
    use tempfile::TempDir;

    /// A folder with the two pages that there must be, and these files.
    fn folder(files: &[(&str, &str)]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in [("index.html", "sign in"), ("change-password.html", "change")].iter().chain(files) {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        folder
    }

    fn paths(folder: &TempDir) -> Vec<String> {
        Pages::read(folder.path()).unwrap().0.into_keys().collect()
    }

    fn refused(folder: &TempDir) -> String {
        let Unusable { path, why } = Pages::read(folder.path()).unwrap_err();
        let name = path.strip_prefix(folder.path()).unwrap().display().to_string();
        format!("{name}: {why}")
    }

    #[test]
    fn a_page_is_served_at_its_name_and_any_other_file_at_its_own() {
        let there = folder(&[("style.css", ""), ("opaque/index.js", ""), ("help/index.html", ""), ("a-b_c.d.svg", "")]);
        let expected = ["/", "/a-b_c.d.svg", "/change-password", "/help/", "/opaque/index.js", "/style.css"];
        assert_eq!(paths(&there), expected);
        let pages = Pages::read(there.path()).unwrap();
        let page = pages.at("/").unwrap();
        assert_eq!((page.content_type, &page.plain.bytes[..]), ("text/html; charset=utf-8", &b"sign in"[..]));
        assert!(pages.at("/index.html").is_none() && pages.at("").is_none() && pages.at("/help").is_none());
    }

    #[test]
    fn a_compressed_file_belongs_to_its_twin_and_has_another_tag() {
        let there = folder(&[("a.js", "plain"), ("a.js.gz", "compressed")]);
        let pages = Pages::read(there.path()).unwrap();
        let page = pages.at("/a.js").unwrap();
        let gzip = page.gzip.as_ref().unwrap();
        assert_eq!((&page.plain.bytes[..], &gzip.bytes[..]), (&b"plain"[..], &b"compressed"[..]));
        assert_ne!(page.plain.tag, gzip.tag);
        assert!(pages.at("/a.js.gz").is_none() && pages.at("/").unwrap().gzip.is_none());
        assert!(refused(&folder(&[("a.js.gz", "")])).starts_with("a.js.gz: is compressed"));
    }

    #[test]
    fn a_folder_without_the_pages_is_refused_with_what_was_expected() {
        let there = folder(&[]);
        assert_eq!(paths(&there), ["/", "/change-password"]);
        fs::remove_file(there.path().join("change-password.html")).unwrap();
        assert!(refused(&there).contains("no change-password.html in it; expected the folder that `cargo xtask wasm`"));
        fs::remove_file(there.path().join("index.html")).unwrap();
        assert!(refused(&there).contains("no index.html in it"));
        let gone = there.path().join("gone");
        let error = Pages::read(&gone).unwrap_err();
        assert!(error.path == gone && error.why.contains("No such file"), "{error:?}");
    }

    #[test]
    fn links_within_the_folder_are_refused_and_the_folder_may_be_one() {
        let there = folder(&[("a.js", "")]);
        let outside = folder(&[]);
        let link = outside.path().join("link");
        symlink(there.path(), &link).unwrap();
        assert!(Pages::read(&link).unwrap().at("/a.js").is_some());
        for target in [Path::new("/etc/passwd"), there.path(), Path::new("a.js")] {
            let name = there.path().join("b.js");
            symlink(target, &name).unwrap();
            assert!(refused(&there).starts_with("b.js: is a symbolic link"), "{}", target.display());
            fs::remove_file(name).unwrap();
        }
        assert_eq!(paths(&there).len(), 3);
    }

    #[test]
    fn what_is_no_file_is_not_opened() {
        let there = folder(&[]);
        // Opening it would wait for ever.
        let made = std::process::Command::new("mkfifo").arg(there.path().join("pipe.js")).status().unwrap();
        assert!(made.success());
        assert!(refused(&there).starts_with("pipe.js: is no file"));
    }

    #[test]
    fn names_that_hide_or_need_encoding_and_unknown_kinds_are_refused() {
        for name in [".env", ".git/config", "a b.js", "a%2e.js", "ä.js", "a\\b.js"] {
            assert!(refused(&folder(&[(name, "")])).contains("expected a name of letters"), "{name}");
        }
        for name in ["login.sqlite", "key.pem", "noextension", "app.ts", "a.js.map"] {
            assert!(refused(&folder(&[(name, "")])).contains("unknown kind of file; expected one of .html,"), "{name}");
        }
        assert!(refused(&folder(&[("v1/config.json", "")])).contains("belongs to the interface"));
        for taken in ["openapi.json", "metrics.html"] {
            assert!(refused(&folder(&[(taken, "")])).contains("belongs to the interface"), "{taken}");
        }
        assert_eq!(paths(&folder(&[("v1.html", ""), ("openapi2.json", "")])).len(), 4);
    }

    #[test]
    fn files_are_bounded_in_number_in_size_and_in_depth() {
        let many: Vec<_> = (2..MOST_FILES).map(|number| format!("{number}.txt")).collect();
        let many: Vec<_> = many.iter().map(|name| (name.as_str(), "")).collect();
        let there = folder(&many);
        assert_eq!(paths(&there).len(), MOST_FILES);
        fs::write(there.path().join("one-more.txt"), "").unwrap();
        assert!(refused(&there).contains("one more than the 256 files"));

        let there = folder(&[]);
        let used = "sign inchange".len() as u64;
        let large = File::create(there.path().join("large.wasm")).unwrap();
        large.set_len(MOST_BYTES - used).unwrap();
        assert_eq!(paths(&there).len(), 3);
        large.set_len(MOST_BYTES - used + 1).unwrap();
        assert!(refused(&there).contains("more than the 16777216 bytes"));
        // One that is far too large is not read to its end.
        large.set_len(1 << 40).unwrap();
        assert!(refused(&there).contains("more than the 16777216 bytes"));

        assert_eq!(paths(&folder(&[("1/2/3/4/a.js", "")])).len(), 3);
        assert!(refused(&folder(&[("1/2/3/4/5/a.js", "")])).contains("deeper than 4 folders"));
    }
}
