//! What our own kernels are seen to use, through the same requests that a run makes.

use candor_lab::worker::{Reply, Request, serve};
use candor_lab::{Kind, Used};
use std::collections::BTreeMap;

/// Those arms of a task, with their samples.
fn watched(task: &str, arms: &[&str]) -> BTreeMap<String, Used> {
    let mut tasks = candor_subjects::tasks_near(task);
    tasks.retain(|known| known.name == task);
    for task in &mut tasks {
        task.entries.retain(|entry| arms.contains(&entry.subject.as_str()));
    }
    let mut used = BTreeMap::new();
    let request =
        Request::Probe { task: task.into(), seed: 1, without: Vec::new(), watched: true, objects: Vec::new() };
    serve(&tasks, &request, &mut |reply| match reply {
        Reply::Used { subject, used: seen } => drop(used.insert(subject, seen)),
        Reply::Failed(why) => panic!("{why}"),
        _ => {}
    });
    used
}

fn share(used: &Used, kind: Kind) -> f64 {
    let samples = used.samples().unwrap_or_else(|| panic!("{used}"));
    samples.kinds.get(&kind).map_or(0.0, |&count| count as f64) / samples.samples as f64
}

#[test]
fn each_arm_is_seen_to_use_what_it_is_called_after() {
    for (task, arm, kind) in
        [("hash/sha256/64k", "candor@sha", Kind::Sha), ("hash/sha3-256/64k", "candor@avx512", Kind::Avx512)]
    {
        let used = watched(task, &["candor@portable", arm]);
        let Some(portable) = used.get("candor@portable") else {
            return eprintln!("skipped: subjects are watched on x86-64 Linux only");
        };
        assert!(share(portable, Kind::Scalar) + share(portable, Kind::Sse) > 0.9, "{task}: {portable}");
        let Some(used) = used.get(arm) else {
            eprintln!("skipped: this CPU has no {arm} for {task}");
            continue;
        };
        assert!(share(used, kind) > 0.5, "{task}: {used}");
        let (portable, used) = (portable.samples().unwrap(), used.samples().unwrap());
        assert!(portable.misses(used).is_some() && used.misses(portable).is_none(), "{task}: {portable:?} {used:?}");
    }
}
