//! What a case is, and when it has passed.

use crate::judge::Left;
use crate::probe::Probe;
use candor_cpu::Cpu;

/// One thing to look at.
pub(crate) struct Case {
    /// `<room>/<what>@<tier>`, or `control/<what>`.
    pub(crate) name: String,
    /// The tier that it runs on; the case is skipped where the CPU lacks it.
    pub(crate) tier: &'static str,
    pub(crate) expect: Expect,
    /// Steps after which secrets may be left.
    pub(crate) leaves: &'static [Leaves],
    pub(crate) run: fn(&mut Probe, Cpu),
}

/// What must come of a case.
#[derive(Clone, Copy)]
pub(crate) enum Expect {
    /// Nothing is left, except after the steps that say so.
    Nothing,
    /// Something is left on the stack: a control.
    OnTheStack,
    /// Something is left in freed memory: a control.
    OnTheHeap,
    /// It does not repeat itself and is refused: a control.
    Unrepeatable,
}

/// What a step leaves behind that we can't mend; SOUNDNESS.md lists it.
pub(crate) struct Leaves {
    /// The step, or `*` for all that have no entry of their own.
    pub(crate) step: &'static str,
    /// At most so many bytes.
    pub(crate) most: usize,
    pub(crate) why: &'static str,
}

impl Case {
    pub(crate) fn is_control(&self) -> bool {
        self.name.starts_with("control/")
    }

    /// What is right about a verdict, or wrong with it.
    pub(crate) fn judge(&self, verdict: &Result<Vec<Left>, String>) -> Result<String, String> {
        let steps = match (verdict, self.expect) {
            (Err(why), Expect::Unrepeatable) => return Ok(format!("is refused: {why}")),
            (Err(why), _) => return Err(why.clone()),
            (Ok(steps), _) => steps,
        };
        let (stack, heap) = steps.iter().fold((0, 0), |(stack, heap), left| (stack + left.stack, heap + left.heap));
        match self.expect {
            Expect::Nothing => self.nothing(steps),
            Expect::OnTheStack if stack > 0 && heap == 0 => Ok(format!("finds {stack} bytes on the stack")),
            Expect::OnTheHeap if heap > 0 => Ok(format!("finds {heap} bytes in freed memory")),
            Expect::Unrepeatable => Err("was not refused, though it does not repeat itself".to_owned()),
            Expect::OnTheStack | Expect::OnTheHeap => Err(format!(
                "a secret was left on purpose; found {stack} bytes on the stack and {heap} in freed memory"
            )),
        }
    }

    fn nothing(&self, steps: &[Left]) -> Result<String, String> {
        let mut wrong = Vec::new();
        let mut permitted = 0;
        for left in steps {
            let found = left.stack + left.heap;
            let of_step = |step: &str| self.leaves.iter().find(|leaves| leaves.step == step);
            let listed = of_step(left.step);
            let most = listed.or(of_step("*")).map(|leaves| leaves.most);
            match most {
                None if found > 0 => {
                    let places: Vec<String> = left.places.iter().take(4).map(ToString::to_string).collect();
                    wrong.push(format!(
                        "{}: {} bytes that depend on secrets stay on the stack and {} in freed memory: {}",
                        left.step,
                        left.stack,
                        left.heap,
                        places.join("; ")
                    ));
                }
                Some(most) if found > most => {
                    wrong.push(format!("{}: {found} bytes stay; at most {most} are permitted", left.step));
                }
                Some(_) if found == 0 && listed.is_some() => {
                    wrong.push(format!("{}: nothing stays any more; take it off the list", left.step));
                }
                _ => permitted += found,
            }
        }
        for leaves in self.leaves {
            match leaves.step {
                "*" if permitted == 0 => wrong.push("nothing stays any more; take it off the list".to_owned()),
                "*" => {}
                step if !steps.iter().any(|left| left.step == step) => wrong.push(format!("there is no step `{step}`")),
                _ => {}
            }
        }
        if !wrong.is_empty() {
            return Err(wrong.join(" | "));
        }
        let count = steps.len();
        Ok(if permitted == 0 {
            format!("{count} steps, nothing left")
        } else {
            format!("{count} steps, {permitted} known bytes left")
        })
    }
}
