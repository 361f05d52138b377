//! A relay's end of the in-circuit upgrade (`docs/upgrade.md`).

use super::{Next, Open, RelayAction, RelayCircuit, to_client};
use crate::cell::DestroyReason;
use crate::handshake::{Chain, Confirmation, Upgrade, UpgradeAnswer};
use crate::layer::FreshKeys;
use crate::relay::RelayCommand;
use crate::{Error, circuit};
use candor_primitives::kem::{Kem, KemError};
use std::mem;

/// How far the circuit's upgrade has come.
#[derive(Default)]
pub(super) enum State {
    /// None was agreed on, or the one that was is done.
    #[default]
    None,
    Agreed(Chain),
    /// The encapsulation is under way.
    Working(Chain),
    /// Our UPGRADED has gone; the client's will prove itself by this, and what follows it has these keys.
    Switching(Confirmation, FreshKeys),
}

impl State {
    pub(super) fn is_under_way(&self) -> bool {
        matches!(self, Self::Working(_) | Self::Switching(..))
    }
}

/// The encapsulation to a client's key, which takes a relay some time. It can be sent to another thread; [`RelayCircuit::upgrade`] takes the result. It
/// holds no secret.
#[derive(Clone, Debug, PartialEq, Eq)]
#[must_use]
pub struct UpgradeJob {
    request: Vec<u8>,
}

impl UpgradeJob {
    /// The job for this UPGRADE.
    pub fn new(request: Vec<u8>) -> Self {
        Self { request }
    }

    /// Does it: some tens of microseconds of computation.
    ///
    /// # Errors
    /// Those of [`Upgrade::answer`].
    pub fn run<K: Kem + Clone>(&self, kem: &K) -> Result<UpgradeAnswer, Error> {
        Upgrade::new(kem.clone())?.answer(&self.request)
    }
}

impl RelayCircuit {
    /// Takes the result of the job of [`RelayAction::Upgrade`]. An error destroys the circuit.
    pub fn upgrade(&mut self, answer: Result<UpgradeAnswer, Error>) {
        let circuit::relay::State::Open(open) = &mut self.state else { return };
        let State::Working(chain) = mem::take(&mut open.upgrade) else { return };
        let done = answer.and_then(|answer| {
            let Open { layer, conversation, upgrade } = &mut **open;
            let (reply, upgraded) = answer.finish(chain);
            let [out, back] = layer.crypto().fresh(&upgraded.keys)?;
            let mut send = to_client(layer, &mut self.actions);
            conversation.long_message(RelayCommand::UPGRADED, &reply, false, 1, &mut send)?;
            drop(send);
            *upgrade = State::Switching(upgraded.confirmation, out);
            layer.replace(&back)
        });
        match done {
            Ok(()) => {}
            Err(Error::Randomness | Error::Kem(KemError::Randomness | KemError::BackEnd(_))) => {
                self.close(DestroyReason::INTERNAL);
            }
            Err(_) => self.close(DestroyReason::PROTOCOL),
        }
    }

    /// Handles UPGRADE, whose turn it is once, as long as the circuit goes no further than here.
    pub(super) fn on_upgrade(&mut self, request: Vec<u8>) {
        let is_last = matches!(self.next, Next::None | Next::Cut);
        let circuit::relay::State::Open(open) = &mut self.state else { return };
        match mem::take(&mut open.upgrade) {
            State::Agreed(chain) if is_last => {
                open.upgrade = State::Working(chain);
                self.actions.push_back(RelayAction::Upgrade(UpgradeJob::new(request)));
            }
            _ => self.close(DestroyReason::PROTOCOL),
        }
    }

    /// Handles the client's UPGRADED: that was its last cell under the old keys.
    pub(super) fn on_upgraded(&mut self, confirmation: &[u8]) {
        let circuit::relay::State::Open(open) = &mut self.state else { return };
        let done = match mem::take(&mut open.upgrade) {
            State::Switching(expected, out) => expected.check(confirmation).is_ok() && open.layer.replace(&out).is_ok(),
            _ => false,
        };
        if !done {
            self.close(DestroyReason::PROTOCOL);
        }
    }
}
