//! Published numbers beside the columns: those of one publication, of however many machines, and what each column has of the same work.

use super::{Comparison, unique};
use crate::claims::{Beside, Claim, Claims, Here};
use serde::Serialize;

/// A published number and what each column has of the same work.
#[derive(Clone, Debug, Serialize)]
pub struct Quoted {
    /// The publication's key.
    pub key: String,
    /// The citation.
    pub source: String,
    /// The number.
    pub claim: Claim,
    /// What each column has. All are `None` where the claim is about no work that was measured.
    pub here: Vec<Option<Here>>,
    /// Why the number can't be compared with those.
    pub lints: Vec<(&'static str, String)>,
}

impl Quoted {
    /// Whether any column has the same work.
    pub fn is_measured(&self) -> bool {
        self.here.iter().any(Option::is_some)
    }
}

impl Comparison {
    /// The publication's numbers in its own order. Those of work that no column has are left out, unless they are about none: what a publication
    /// concluded stands there with its doubt.
    pub fn quoted(&self, claims: &Claims) -> Vec<Quoted> {
        let of_reports: Vec<(usize, Vec<Beside>)> =
            self.reports().map(|(at, report)| (at, claims.beside(report))).collect();
        let quoted = claims.claims.iter().enumerate().map(|(number, claim)| {
            let mut here = vec![None; self.columns.len()];
            let mut lints = Vec::new();
            for (at, beside) in of_reports.iter().map(|(at, all)| (*at, &all[number])) {
                if beside.here.is_some() || claim.task.is_empty() {
                    here[at] = here[at].take().or(beside.here.clone());
                    lints.extend(beside.lints.iter().cloned());
                }
            }
            let lints = unique(lints.into_iter());
            Quoted { key: claims.key.clone(), source: claims.source.clone(), claim: claim.clone(), here, lints }
        });
        quoted
            .filter(|quoted| quoted.is_measured() || (quoted.claim.task.is_empty() && quoted.claim.doubt.is_some()))
            .collect()
    }
}
