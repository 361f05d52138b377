//! A thread without privileges, whose processes have none either.

use crate::Error;
use rustix::io::Errno;
use rustix::thread::{
    CapabilitySet, CapabilitySets, clear_ambient_capability_set, remove_capability_from_bounding_set, set_capabilities,
    set_no_new_privs,
};

/// Takes from this thread, and from all processes that it starts afterwards, what a namespace and its device were made by: all capabilities, and the right to
/// get any by starting a program. The user stays who it is. For root that means: its files as their owner, and otherwise what everybody may.
pub(crate) fn give_up() -> Result<(), Error> {
    let given_up = || {
        set_no_new_privs(true)?;
        match clear_ambient_capability_set() {
            // Older than Linux 4.3, which has no such set.
            Err(Errno::INVAL) => {}
            done => done?,
        }
        for number in 0..u64::BITS {
            match remove_capability_from_bounding_set(CapabilitySet::from_bits_retain(1 << number)) {
                // The kernel has no capability of this number, nor of any above. Or this thread may not; what follows it can give up all the same, and without
                // new privileges that is for good.
                Err(Errno::INVAL | Errno::PERM) => break,
                done => done?,
            }
        }
        let none = CapabilitySet::empty();
        set_capabilities(None, CapabilitySets { effective: none, permitted: none, inheritable: none })
    };
    given_up().map_err(|error: Errno| Error::system("give up this process's privileges")(error.into()))
}
