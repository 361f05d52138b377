//! Subjects that must not get a time.

use super::kernels::Mixer;
use candor_lab::{Mismatch, Provenance, Refusal, Subject, Witness};

/// A fault that is built into a subject.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    /// One bit of its answer.
    WrongAnswer,
    /// It panics when it is prepared.
    Panics,
    /// It says that it can't.
    Refuses,
    /// It aborts the process when it is prepared.
    Aborts,
}

/// The kernel, with a fault.
pub(super) struct Faulty {
    kernel: Mixer,
    fault: Fault,
}

impl Faulty {
    pub(super) fn new(fault: Fault) -> Self {
        Self { kernel: Mixer::new(0), fault }
    }
}

impl Subject for Faulty {
    fn prepare(&mut self, seed: u64) -> Result<Witness, Refusal> {
        let right = self.kernel.prepare(seed)?;
        match self.fault {
            Fault::WrongAnswer => {
                let mut answer = right.part("answer").map_err(|m| Refusal::failed(m.to_string()))?.to_vec();
                answer[0] ^= 1;
                Ok(Witness::bytes(answer))
            }
            Fault::Panics => panic!("this subject of the self-test panics on purpose"),
            Fault::Refuses => Err(Refusal::never("refuses on purpose (a self-test)")),
            Fault::Aborts => std::process::abort(),
        }
    }

    /// Finds nothing wrong with anyone: a broken subject is caught by the others, not by itself.
    fn check(&mut self, _other: &Witness) -> Result<(), Mismatch> {
        Ok(())
    }

    fn run(&mut self, iterations: u64) {
        self.kernel.run(iterations);
    }

    fn provenance(&self) -> Provenance {
        self.kernel.provenance()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_answer_is_caught_by_the_kernel() {
        let (mut kernel, mut wrong) = (Mixer::new(0), Faulty::new(Fault::WrongAnswer));
        kernel.prepare(3).unwrap();
        let caught = kernel.check(&wrong.prepare(3).unwrap()).unwrap_err();
        assert_eq!(caught.to_string(), "answer differs at byte 0");
    }

    #[test]
    fn one_refuses_and_one_panics() {
        assert!(Faulty::new(Fault::Refuses).prepare(3).is_err());
        assert!(std::panic::catch_unwind(|| Faulty::new(Fault::Panics).prepare(3)).is_err());
    }
}
