//! The emulated computer: bochs, which starts Debian's kernel from an image of a CD and writes what comes over the serial port into a file.
//!
//! bochs is that of Debian 13, unpacked: the one of Debian 12, 2.7, has GFNI and SHA wrong (its successor's list of changes says so, and SM4 failed on
//! it). It runs with Debian 13's C library; the libraries of the display that it also wants come with the system's own bochs.

use super::archive::Archive;
use super::{Model, PACKAGES};
use crate::Failure;
use crate::install;
use crate::peers::debian::{Apt, Release, entries};
use crate::peers::{make_directory, quiet_step, write};
use crate::stage::{clock, program};
use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

/// The package that always depends on the newest kernel, in the form without drivers for real hardware.
const KERNEL: &str = "linux-image-cloud-amd64";
/// The release of Debian with the right bochs.
const RELEASE: Release<'_> = Release { suite: "trixie", architecture: "amd64", with_sources: false };
/// bochs, its display in a terminal, its BIOSes, and the libraries that it wants newer than the system's.
const UNPACKED: [&str; 12] = [
    "bochs",
    "bochs-term",
    "bochsbios",
    "vgabios",
    "libc6",
    "libgcc-s1",
    "libstdc++6",
    "libltdl7",
    "libreadline8t64",
    "libtinfo6",
    "libncurses6",
    "libncursesw6",
];
/// Where Debian has libraries.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
/// What the kernel is told: the serial port for its output, little to say, no waiting for randomness. The last line takes instructions from the kernel:
/// it dies at its start when it may use all of them (tried on bochs 2.7 and 3.0; which it is we don't know). Programs see what CPUID says.
const WORDS: &str = "console=ttyS0,115200 loglevel=1 panic=-1 nokaslr mitigations=off tsc=reliable random.trust_cpu=on \
    clearcpuid=pku,fsrm,umip,rdpid,la57,movdiri,movdir64b,sha_ni,gfni,vaes,vpclmulqdq";
/// So long may the machine be silent: the longest test prints nothing for some minutes.
const PATIENCE: Duration = Duration::from_secs(30 * 60);
/// After this long without a line the reader is told that the machine still runs.
const QUIET: Duration = Duration::from_secs(60);

/// What every machine is started with.
pub(super) struct Parts {
    at: PathBuf,
    /// Where bochs and the kernel are unpacked.
    root: PathBuf,
    kernel: PathBuf,
}

impl Parts {
    /// Installs what the emulator wants, and unpacks it and a kernel below `at`.
    pub(super) fn prepare(at: &Path) -> Result<Self, Failure> {
        install::packages(&PACKAGES)?;
        make_directory(at)?;
        let at = at.canonicalize().map_err(|error| format!("{}: {error}", at.display()))?;
        let root = at.join("root");
        let kernel = || entries(&root.join("boot"), |name| name.starts_with("vmlinuz-")).ok()?.pop();
        if kernel().is_none() {
            // Lists of their own, so that the kernel is that of the system's release.
            let newer = folder(&at, "bochs/packages")?;
            let apt = Apt::with(&newer, Some(RELEASE), &[])?;
            for package in UNPACKED {
                apt.unpack(&format!("{package}/{}", RELEASE.suite), &root)?;
            }
            let own = folder(&at, "kernel/packages")?;
            let apt = Apt::at(&own)?;
            let mut depends = apt.command("apt-cache");
            depends.args(["depends", "--important", KERNEL]);
            let said = quiet_step(&format!("asking which kernel {KERNEL} is"), depends)?;
            let name = said.lines().find_map(|line| line.trim().strip_prefix("Depends: "));
            apt.unpack(name.ok_or("Debian names no kernel")?, &root)?;
        }
        let kernel = kernel().ok_or("the kernel's package holds no kernel")?;
        Ok(Self { at, root, kernel })
    }

    /// Runs `script`, a shell's, in a machine with these files; gives its lines to `read_along`.
    pub(super) fn run(
        &self,
        model: Model,
        mut files: Archive,
        script: &str,
        read_along: &mut dyn FnMut(&str),
    ) -> Result<(), Failure> {
        let busybox = Path::new("/bin/busybox");
        files.file(busybox, &fs::read(busybox).map_err(|error| format!("{}: {error}", busybox.display()))?);
        ["/proc", "/dev", "/tmp"].iter().for_each(|folder| files.folder(Path::new(folder)));
        let init = format!(
            "#!/bin/busybox sh\nbusybox mount -t proc proc /proc\nbusybox mount -t devtmpfs dev /dev\n{script}\nbusybox poweroff -f\n"
        );
        files.file(Path::new("/init"), init.as_bytes());
        let folder = self.at.join(model.bochs);
        let _ = fs::remove_dir_all(&folder);
        let image = self.image(&folder, files)?;
        let serial = folder.join("serial");
        let bochs = self.start(&folder, model, &image, &serial)?;
        follow(bochs, &serial, read_along)
            .map_err(|why| format!("{why}; see bochs.log and serial in {}", folder.display()))
    }

    /// An image of a CD with boot loader, kernel and files.
    fn image(&self, folder: &Path, files: Archive) -> Result<PathBuf, Failure> {
        let disc = folder.join("disc");
        make_directory(&disc)?;
        let copy = |from: &Path, name: &str| {
            fs::copy(from, disc.join(name))
                .map(drop)
                .map_err(|error| format!("cannot copy {}: {error}", from.display()))
        };
        copy(&self.kernel, "vmlinuz")?;
        copy(Path::new("/usr/lib/ISOLINUX/isolinux.bin"), "isolinux.bin")?;
        copy(Path::new("/usr/lib/syslinux/modules/bios/ldlinux.c32"), "ldlinux.c32")?;
        fs::write(disc.join("files"), files.finish()).map_err(|error| format!("{}: {error}", disc.display()))?;
        let menu = format!("default run\nprompt 0\nlabel run\n kernel vmlinuz\n append initrd=files {WORDS}\n");
        write(&disc.join("isolinux.cfg"), &menu)?;
        let image = folder.join("disc.iso");
        let mut xorriso = program("xorriso");
        xorriso.args(["-as", "mkisofs", "-quiet", "-b", "isolinux.bin", "-c", "boot.cat", "-no-emul-boot"]);
        xorriso.args(["-boot-load-size", "4", "-boot-info-table", "-o"]).arg(&image).arg(&disc);
        quiet_step("writing the image that the machine starts from", xorriso)?;
        Ok(image)
    }

    fn start(&self, folder: &Path, model: Model, image: &Path, serial: &Path) -> Result<Child, Failure> {
        let share = self.root.join("usr/share");
        let share = share.display();
        // Time passes by instructions, not by the clock, so a run is the same on a busy machine.
        let configuration = format!(
            "config_interface: textconfig\ndisplay_library: term\n\
             romimage: file=\"{share}/bochs/BIOS-bochs-latest\"\nvgaromimage: file=\"{share}/vgabios/vgabios.bin\"\n\
             cpu: model={}, count=1, ips=100000000, reset_on_triple_fault=0\nmemory: guest=1024, host=1024\nclock: sync=none\n\
             ata0-master: type=cdrom, path=\"{}\", status=inserted\nboot: cdrom\n\
             com1: enabled=1, mode=file, dev=\"{}\"\nlog: \"{}\"\npanic: action=fatal\nerror: action=report\ninfo: action=ignore\n",
            model.bochs,
            image.display(),
            serial.display(),
            folder.join("bochs.log").display(),
        );
        write(&folder.join("bochsrc"), &configuration)?;
        // Debian's bochs has its debugger compiled in and waits for a command.
        write(&folder.join("commands"), "c\nquit\n")?;
        let screen = folder.join("screen");
        let screen = File::create(&screen).map_err(|error| format!("{}: {error}", screen.display()))?;
        let other = screen.try_clone().map_err(|error| format!("cannot share a file: {error}"))?;
        let libraries = self.root.join(LIBRARIES);
        // Started by its own C library's loader; what is not unpacked is the system's.
        let mut bochs = program(libraries.join("ld-linux-x86-64.so.2"));
        bochs
            .arg("--library-path")
            .arg(format!("{}:/{LIBRARIES}", libraries.display()))
            .arg(self.root.join("usr/bin/bochs-bin"));
        bochs.args(["-q", "-f", "bochsrc", "-rc", "commands"]).current_dir(folder);
        bochs.env("TERM", "vt100").env("LTDL_LIBRARY_PATH", libraries.join("bochs/plugins"));
        bochs.stdin(Stdio::null()).stdout(screen).stderr(other);
        bochs.spawn().map_err(|error| format!("cannot start bochs: {error}"))
    }
}

fn folder(at: &Path, name: &str) -> Result<PathBuf, Failure> {
    let folder = at.join(name);
    make_directory(&folder)?;
    Ok(folder)
}

/// Reads the lines in the file until the machine is switched off.
fn follow(mut bochs: Child, serial: &Path, read_along: &mut dyn FnMut(&str)) -> Result<(), Failure> {
    let (mut reader, mut line) = (None, Vec::new());
    let (mut last, mut told) = (Instant::now(), Instant::now());
    loop {
        // Asked before the file is read, so that nothing is written after the last look.
        let ended = bochs.try_wait().map_err(|error| format!("cannot wait for bochs: {error}"))?.is_some();
        if reader.is_none() {
            reader = File::open(serial).ok().map(BufReader::new);
        }
        while let Some(reader) = &mut reader {
            let read = reader.read_until(b'\n', &mut line).map_err(|error| format!("{}: {error}", serial.display()))?;
            if read == 0 || line.last() != Some(&b'\n') {
                break;
            }
            read_along(String::from_utf8_lossy(&line).trim_end_matches(['\r', '\n']));
            line.clear();
            (last, told) = (Instant::now(), Instant::now());
        }
        if ended {
            return Ok(());
        }
        if last.elapsed() > PATIENCE {
            let _ = bochs.kill().and_then(|()| bochs.wait());
            return Err(format!("the machine has said nothing for {}", clock(PATIENCE)));
        }
        if told.elapsed() > QUIET {
            println!("(nothing new for {}; still running)", clock(last.elapsed()));
            told = Instant::now();
        }
        std::thread::sleep(Duration::from_millis(200));
    }
}
