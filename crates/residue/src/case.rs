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
    /// A step may differ in so many bytes between runs with the same secrets: addresses that a library in C was given.
    pub(crate) unstable: usize,
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
    /// A secret is left where something may be, but not that secret: a control.
    Unnamed,
    /// It does not repeat itself and is refused: a control.
    Unrepeatable,
}

/// What a step leaves behind that we can't mend; SOUNDNESS.md lists it.
pub(crate) struct Leaves {
    /// The step, or `*` for all that have no entry of their own.
    pub(crate) step: &'static str,
    /// At most so many bytes on the stack.
    pub(crate) stack: usize,
    /// At most so many in freed memory.
    pub(crate) heap: usize,
    /// Secrets that stay as they are, by name. Without its name here none may, however few its bytes.
    pub(crate) names: &'static [&'static str],
    pub(crate) why: &'static str,
}

impl Leaves {
    /// What a step has left beyond this.
    fn exceeded(&self, left: &Left) -> Vec<String> {
        let mut wrong = Vec::new();
        for (found, most, place) in
            [(left.stack, self.stack, "on the stack"), (left.heap, self.heap, "in freed memory")]
        {
            if found > most {
                wrong.push(format!("{}: {found} bytes stay {place}; at most {most} are permitted", left.step));
            }
        }
        for place in &left.places {
            if let Some(name) = place.names.iter().find(|name| !self.names.contains(name)) {
                wrong.push(format!("{}: the {name} stays as it is, which the list doesn't permit: {place}", left.step));
            }
        }
        wrong
    }
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
        if let Some(left) = steps.iter().find(|left| left.unstable > self.unstable) {
            let why = format!("{}: {} bytes differ between two runs with the same secrets", left.step, left.unstable);
            return if matches!(self.expect, Expect::Unrepeatable) {
                Ok(format!("is refused: {why}"))
            } else {
                Err(why)
            };
        }
        let (stack, heap) = steps.iter().fold((0, 0), |(stack, heap), left| (stack + left.stack, heap + left.heap));
        match self.expect {
            Expect::Nothing => self.nothing(steps),
            Expect::Unnamed => match self.nothing(steps) {
                Err(why) if why.contains("stays as it is") => Ok(format!("is refused: {why}")),
                _ => Err("was not refused, though a secret stays that its entry does not name".to_owned()),
            },
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
            match listed.or(of_step("*")) {
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
                Some(_) if found == 0 && listed.is_some() => {
                    wrong.push(format!("{}: nothing stays any more; take it off the list", left.step));
                }
                Some(leaves) => {
                    wrong.extend(leaves.exceeded(left));
                    permitted += found;
                }
                None => {}
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
