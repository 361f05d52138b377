//! What `CANDOR_CPU=portable` does to the list of tasks. A process of its own: the default tier is set once a process.

use candor_cpu::Cpu;

#[test]
fn the_baseline_is_the_tier_that_the_process_was_given() {
    Cpu::portable().set_default();
    let tasks = candor_subjects::tasks();
    let hash = tasks.iter().find(|task| task.name == "hash/sha256/1k").unwrap();
    assert_eq!(hash.entries[0].subject, "candor@portable");
    let baseline = hash.entries[0].make().unwrap();
    assert_eq!(baseline.provenance().arm.as_deref(), Some("portable"));

    // The machine's better arms stay in the table, as further subjects.
    let ours: Vec<_> = hash.entries.iter().filter(|entry| entry.subject.starts_with("candor@")).collect();
    for entry in &ours[1..] {
        assert_eq!(entry.subject, format!("candor@{}", entry.make().unwrap().provenance().arm.unwrap()));
    }
    if Cpu::named("sha").is_ok() || Cpu::named("arm-sha2").is_ok() {
        assert_eq!(ours.len(), 2);
    }
}
