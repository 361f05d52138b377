//! Debian's source packages and libraries, fetched without touching the system: apt with lists and caches of its own, which
//! checks signatures as it always does.

use super::{make_directory, quiet_step, write};
use crate::Failure;
use crate::stage::program;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// apt, working in a folder.
pub(crate) struct Apt<'a> {
    at: &'a Path,
    foreign: Vec<&'a str>,
}

impl<'a> Apt<'a> {
    /// apt in the folder `at`, with fresh lists of the system's own Debian sources.
    pub(super) fn at(at: &'a Path) -> Result<Self, Failure> {
        Self::with(at, "", &[])
    }

    /// The same with more sources, and with packages of other architectures beside the system's.
    pub(crate) fn with(at: &'a Path, more: &str, foreign: &[&'a str]) -> Result<Self, Failure> {
        for folder in ["apt/lists/partial", "apt/cache/archives/partial"] {
            make_directory(&at.join(folder))?;
        }
        write(&at.join("apt/debian.sources"), &format!("{}{more}", sources(&system_sources())?))?;
        let apt = Self { at, foreign: foreign.to_vec() };
        let mut update = apt.command("apt-get");
        update.arg("update");
        quiet_step("fetching Debian's lists", update)?;
        Ok(apt)
    }

    /// One of apt's tools.
    pub(crate) fn command(&self, tool: &str) -> Command {
        let mut command = program(tool);
        for (option, path) in [
            ("Dir::Etc::sourcelist", self.at.join("apt/debian.sources")),
            ("Dir::Etc::sourceparts", PathBuf::from("/dev/null")),
            ("Dir::State::lists", self.at.join("apt/lists")),
            ("Dir::Cache", self.at.join("apt/cache")),
        ] {
            command.arg("-o").arg(format!("{option}={}", path.display()));
        }
        for architecture in &self.foreign {
            command.args(["-o", &format!("APT::Architectures::={architecture}")]);
        }
        // The folder may not be open to the user that apt would otherwise fetch as.
        command.args(["-q", "-o", "APT::Sandbox::User=root", "-o", "Acquire::Retries=2"]).current_dir(self.at);
        command
    }

    /// Fetches a source package (`tor`, `gf2x=1.3.0-2`) into the folder.
    pub(super) fn source(&self, package: &str) -> Result<(), Failure> {
        let mut source = self.command("apt-get");
        source.args(["source", "--download-only", package]);
        quiet_step(&format!("fetching the source package {package}"), source).map(drop)
    }

    /// Fetches a binary package (`libgf2x3=1.3.0-2`, `libgf2x3:arm64`) into the folder and unpacks it below `root`.
    pub(crate) fn unpack(&self, package: &str, root: &Path) -> Result<(), Failure> {
        let mut download = self.command("apt-get");
        download.args(["download", package]);
        quiet_step(&format!("fetching {package}"), download)?;
        let package = package.split('=').next().unwrap_or(package);
        let (name, architecture) = package.split_once(':').unwrap_or((package, ""));
        let (start, end) = (format!("{name}_"), format!("{architecture}.deb"));
        let found = entries(self.at, |file| file.starts_with(&start) && file.ends_with(&end))?;
        let file = found.last().ok_or_else(|| format!("apt fetched no {start}…{end}"))?;
        let mut unpack = program("dpkg");
        unpack.arg("-x").arg(file).arg(root);
        quiet_step(&format!("unpacking {}", file.display()), unpack).map(drop)
    }
}

/// The files that name the system's package sources.
fn system_sources() -> Vec<(String, String)> {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    files.extend(entries(Path::new("/etc/apt/sources.list.d"), |_| true).unwrap_or_default());
    let read = |file: PathBuf| Some((file.display().to_string(), fs::read_to_string(file).ok()?));
    files.into_iter().filter_map(read).collect()
}

/// The system's Debian sources once more, with source packages.
fn sources(files: &[(String, String)]) -> Result<String, Failure> {
    let mut stanzas = Vec::new();
    for (name, text) in files {
        if name.ends_with(".sources") {
            let debian = text.split("\n\n").filter(|stanza| stanza.contains("debian.org"));
            stanzas.extend(debian.map(|stanza| {
                let lines = stanza.lines().filter(|line| !line.starts_with('#'));
                let line =
                    |line: &str| if line.starts_with("Types:") { "Types: deb deb-src".into() } else { line.to_owned() };
                lines.map(line).collect::<Vec<_>>().join("\n")
            }));
        } else if name.ends_with(".list") {
            // deb [options] URI suite component…
            for line in text.lines().filter(|line| line.starts_with("deb ") && line.contains("debian.org")) {
                let mut words = line.split_whitespace().skip(1).skip_while(|word| word.starts_with('['));
                let (Some(uri), Some(suite)) = (words.next(), words.next()) else { continue };
                let components: Vec<_> = words.collect();
                stanzas.push(format!(
                    "Types: deb deb-src\nURIs: {uri}\nSuites: {suite}\nComponents: {}\n\
                     Signed-By: /usr/share/keyrings/debian-archive-keyring.gpg",
                    components.join(" ")
                ));
            }
        }
    }
    match stanzas.is_empty() {
        true => {
            Err("this system has no Debian package sources, and the peer is built from Debian's source package: build it on a Debian".into())
        }
        false => Ok(format!("{}\n", stanzas.join("\n\n"))),
    }
}

/// Entries of a folder whose name `take` wants, sorted.
pub(super) fn entries(folder: &Path, take: impl Fn(&str) -> bool) -> Result<Vec<PathBuf>, Failure> {
    let listed = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let paths = listed.flatten().map(|entry| entry.path());
    let mut wanted: Vec<_> =
        paths.filter(|path| path.file_name().and_then(|name| name.to_str()).is_some_and(&take)).collect();
    wanted.sort();
    Ok(wanted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_package_sources_are_understood() {
        let deb822 = "Types: deb\n# a comment\nURIs: http://deb.debian.org/debian\nSuites: bookworm\nComponents: main\n\n\
            Types: deb\nURIs: https://deb.example.com/node\nSuites: nodistro\nComponents: main\n";
        let list = "deb http://deb.debian.org/debian trixie main contrib\ndeb-src http://deb.debian.org/debian trixie main\n\
            deb [arch=amd64] https://example.com/apt stable main\n";
        let files = [("a.sources".to_owned(), deb822.to_owned()), ("sources.list".to_owned(), list.to_owned())];
        let made = sources(&files).unwrap();
        assert_eq!(made.matches("Types: deb deb-src").count(), 2, "{made}");
        assert!(made.contains("Suites: trixie\nComponents: main contrib") && !made.contains("example.com"), "{made}");
        assert!(sources(&[]).is_err());
    }
}
