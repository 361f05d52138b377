//! A TUN device: what the kernel routes to it can be read here, and what is written here the kernel receives from it.
#![allow(unsafe_code)]

mod idle;

pub(crate) use idle::become_idle;

use crate::Error;
use nix::libc;
use std::ffi::c_short;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::os::unix::fs::OpenOptionsExt;

/// The device's name, the same in each namespace.
pub(crate) const NAME: &str = "tun0";
const _: () = assert!(NAME.len() < libc::IFNAMSIZ);

const PATH: &str = "/dev/net/tun";

// linux/if_tun.h: _IOW('T', 202, int), though what it points to is a `struct ifreq`.
nix::ioctl_readwrite_bad!(tunsetiff, nix::request_code_write!(b'T', 202, size_of::<libc::c_int>()), libc::ifreq);

/// A TUN device. It is gone when this is dropped.
pub(crate) struct Device(File);

impl Device {
    /// Makes one in the network namespace of this thread; it is down, and has no address.
    pub(crate) fn new() -> Result<Self, Error> {
        let file = File::options().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(PATH);
        let file = file.map_err(|error| match error.kind() {
            // ENXIO and ENODEV: the file is there, and nothing in the kernel belongs to it.
            ErrorKind::NotFound => Error::NoDevice,
            _ if matches!(error.raw_os_error(), Some(libc::ENXIO | libc::ENODEV)) => Error::NoDevice,
            ErrorKind::PermissionDenied => Error::Device,
            _ => Error::System { what: "open /dev/net/tun", why: error },
        })?;
        let mut name = [0; libc::IFNAMSIZ];
        for (to, from) in name.iter_mut().zip(NAME.bytes()) {
            *to = from as libc::c_char;
        }
        // Packets as they are, without four bytes of their own in front.
        let ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as c_short;
        let mut request = libc::ifreq { ifr_name: name, ifr_ifru: libc::__c_anonymous_ifr_ifru { ifru_flags } };
        // SAFETY: the file is open during the call, and `request` is a whole `struct ifreq` of ours, which TUNSETIFF reads and writes back. It has a name that
        // ends with a zero, and flags, which are all that TUNSETIFF looks at.
        let made = unsafe { tunsetiff(file.as_raw_fd(), &raw mut request) };
        match made {
            Ok(_) => Ok(Self(file)),
            Err(nix::errno::Errno::EPERM) => Err(Error::Device),
            Err(error) => Err(Error::System { what: "make a TUN device", why: error.into() }),
        }
    }

    /// Something that gives packets likewise.
    #[cfg(test)]
    pub(crate) fn of(file: File) -> Self {
        Self(file)
    }

    /// Reads a packet; `None` if there is none.
    pub(crate) fn read<'a>(&self, buffer: &'a mut [u8]) -> io::Result<Option<&'a [u8]>> {
        match (&self.0).read(buffer) {
            Ok(length) => Ok(Some(&buffer[..length])),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::Interrupted) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Writes a packet.
    pub(crate) fn write(&self, packet: &[u8]) -> io::Result<()> {
        (&self.0).write(packet).map(drop)
    }
}

impl AsFd for Device {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}
