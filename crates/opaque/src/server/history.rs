//! The key stretching parameters that a deployment has used, from the first to today's.

use crate::Error;
use crate::error::{Input, KsfError};
use crate::ksf::KsfParams;
use alloc::vec;
use alloc::vec::Vec;
use candor_cpu::secret;
use subtle::{ConditionallySelectable, ConstantTimeLess};

/// Bytes of a step's encoding.
const STEP: usize = KsfParams::LENGTH + 2;
/// The most steps: their number is encoded in a byte.
const MOST: usize = 255;
const ALL: u16 = 1000;

/// Parameters, oldest first, each with the share of the accounts, per mille, that have moved to them. The list only grows.
///
/// An unknown user passes through it as real ones do: one draw at each step decides whether that name has moved. Draws are fixed by the
/// name, so a name's parameters change only when a step is added or its share grows, and only forwards.
#[derive(Clone)]
pub(super) struct KsfHistory(Vec<(KsfParams, u16)>);

impl KsfHistory {
    pub(super) fn new(first: KsfParams) -> Self {
        Self(vec![(first, ALL)])
    }

    /// Today's parameters, for registrations.
    pub(super) fn current(&self) -> KsfParams {
        self.0.last().map_or(KsfParams::BROWSER, |(params, _)| *params)
    }

    /// Adds a step, or raises the share of the last one.
    pub(super) fn adopt(&mut self, params: KsfParams, moved: u16) -> Result<(), Error> {
        let full = self.0.len() == MOST;
        match self.0.last_mut() {
            Some((last, share)) if *last == params && (*share..=ALL).contains(&moved) => *share = moved,
            Some((last, _)) if *last != params && moved <= ALL && !full => self.0.push((params, moved)),
            _ => return Err(Error::Ksf(KsfError::Share)),
        }
        Ok(())
    }

    /// The parameters of a name; `draw` gives a uniform number for each step.
    pub(super) fn draw(&self, draw: impl Fn(u8) -> u64) -> KsfParams {
        let mut chosen = [0; KsfParams::LENGTH];
        // All steps are looked at, so that the time does not tell which was chosen; a division's time would depend on the number.
        for (version, (params, share)) in self.0.iter().enumerate() {
            let point = ((u128::from(draw(version as u8)) * u128::from(ALL)) >> 64) as u16;
            let moved = point.ct_lt(share);
            for (byte, param) in chosen.iter_mut().zip(params.to_bytes()) {
                byte.conditional_assign(&param, moved);
            }
        }
        // They are sent to whoever asks.
        secret::declassify(&chosen, "opaque-ksf-params");
        KsfParams::from_bytes(&chosen).unwrap_or(KsfParams::BROWSER)
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = vec![self.0.len() as u8];
        for (params, share) in &self.0 {
            bytes.extend(params.to_bytes());
            bytes.extend(share.to_be_bytes());
        }
        bytes
    }

    /// Reads [`Self::to_bytes`] from the front of `bytes`; the rest is returned.
    pub(super) fn take(bytes: &[u8]) -> Result<(Self, &[u8]), Error> {
        let short = Error::Length { what: Input::ServerKeys, expected: 1 + STEP, got: bytes.len() };
        let (&count, rest) = bytes.split_first().ok_or(short)?;
        let (steps, rest) = rest.split_at_checked(usize::from(count) * STEP).ok_or(short)?;
        let mut history: Option<Self> = None;
        for step in steps.as_chunks::<STEP>().0 {
            let (params, share) = step.split_at(KsfParams::LENGTH);
            let (params, share) = (KsfParams::from_bytes(params)?, u16::from_be_bytes([share[0], share[1]]));
            match &mut history {
                Some(history) => history.adopt(params, share)?,
                None if share == ALL => history = Some(Self::new(params)),
                None => return Err(Error::Ksf(KsfError::Share)),
            }
        }
        Ok((history.ok_or(short)?, rest))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn history(steps: &[(KsfParams, u16)]) -> Result<KsfHistory, Error> {
        let mut history = KsfHistory::new(KsfParams::BROWSER);
        steps.iter().try_for_each(|&(params, moved)| history.adopt(params, moved)).map(|()| history)
    }

    #[test]
    fn a_history_only_grows() {
        assert!(history(&[(KsfParams::NATIVE, 0), (KsfParams::NATIVE, 10), (KsfParams::NATIVE, 1000)]).is_ok());
        assert!(history(&[(KsfParams::NATIVE, 10), (KsfParams::BROWSER, 10)]).is_ok());
        for shrinking in [&[(KsfParams::NATIVE, 10), (KsfParams::NATIVE, 9)][..], &[(KsfParams::BROWSER, 999)]] {
            assert_eq!(history(shrinking).map(|_| ()), Err(Error::Ksf(KsfError::Share)), "{shrinking:?}");
        }
        assert_eq!(history(&[(KsfParams::NATIVE, 1001)]).map(|_| ()), Err(Error::Ksf(KsfError::Share)));
    }

    #[test]
    fn each_step_has_a_draw_of_its_own() {
        let third = KsfParams::argon2id(128 << 10, 3, 1).unwrap();
        let history = history(&[(KsfParams::NATIVE, 500), (third, 500)]).unwrap();
        let draw = |moves: [bool; 3]| history.draw(|step| if moves[usize::from(step)] { 0 } else { u64::MAX });
        assert_eq!(draw([true, false, false]), KsfParams::BROWSER);
        assert_eq!(draw([true, true, false]), KsfParams::NATIVE);
        assert_eq!(draw([true, false, true]), third);
        assert_eq!(draw([true, true, true]), third);
    }

    /// Their number is encoded in a byte.
    #[test]
    fn a_history_has_255_steps_at_most() {
        let steps = [(KsfParams::NATIVE, 0), (KsfParams::BROWSER, 0)].repeat(128);
        let full = history(&steps[..MOST - 1]).unwrap();
        assert_eq!(KsfHistory::take(&full.to_bytes()).unwrap().0.0, full.0);
        assert_eq!(history(&steps[..MOST]).map(|_| ()), Err(Error::Ksf(KsfError::Share)));
    }

    #[test]
    fn a_history_comes_back_from_its_bytes() {
        let history = history(&[(KsfParams::NATIVE, 300)]).unwrap();
        let bytes = [&history.to_bytes()[..], b"rest"].concat();
        let (back, rest) = KsfHistory::take(&bytes).unwrap();
        assert_eq!((back.0, rest), (history.0, &b"rest"[..]));
        assert!(KsfHistory::take(&[]).is_err());
        assert!(KsfHistory::take(&[0]).is_err());
        assert!(KsfHistory::take(&bytes[..30]).is_err());
        let mut first_share = bytes;
        first_share[15] -= 1;
        assert!(KsfHistory::take(&first_share).is_err());
    }
}
