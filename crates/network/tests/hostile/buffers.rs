//! Clients that begin what they never end.

use crate::scene::{Scene, until_equal};
use candor_onion::cell::{CELL, Cell, MOST_CELL, MOST_VARIABLE, Message};
use candor_onion::circuit::Request;
use candor_onion::relay::RelayCommand;

/// A cell whose end never comes costs what has come of it, from the same budget as everything else; when that is used up, the link goes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unfinished_cells_take_their_room_from_the_budget() {
    // Fourteen whole cells and more, of the longest that a link takes.
    let mut unfinished = Vec::new();
    Cell::on_link(Message::Vpadding(MOST_VARIABLE)).encode(&mut unfinished);
    let last = unfinished.split_off(MOST_CELL - 1);
    let each = unfinished.len() / CELL;
    // Room for sixteen of those, with the eighth that is a reserve.
    let scene = Scene::new(|config| config.limits.cells = 215).await;
    let before = scene.relay(0).held().cells;
    let mut links = Vec::new();
    for from in 1..=16 {
        let mut raw = scene.raw(0, [127, 1, 1, from]).await;
        raw.send_bytes(&unfinished).await.unwrap();
        links.push(raw);
        until_equal(|| scene.relay(0).held().cells, before + links.len() * each).await;
    }
    let mut raw = scene.raw(0, [127, 1, 1, 17]).await;
    raw.send_bytes(&unfinished).await.unwrap();
    while raw.next().await.is_some() {}
    until_equal(|| scene.relay(0).held().cells, before + 16 * each).await;
    // One that finishes its cell gives the room back, and goes on.
    links[0].send_bytes(&last).await.unwrap();
    until_equal(|| scene.relay(0).held().cells, before + 15 * each).await;
    links[0].open(scene.listed(0)).await;
    drop(links);
    scene.is_as_before().await;
}

/// The same for a message in fragments.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn unfinished_messages_take_their_room_from_the_budget() {
    let scene = Scene::new(|_| {}).await;
    let before = scene.relay(0).held().cells;
    let mut raw = scene.raw(0, [127, 1, 1, 1]).await;
    let mut circuit = raw.open_with(scene.listed(0), Request { fragments: true, ..Request::NONE }).await;
    let first = circuit.part(RelayCommand::EXTEND2, 4000, &[0; 498]);
    raw.send([first]).await;
    // One cell has come: that is what it takes, not the eight that are announced.
    until_equal(|| scene.relay(0).held().cells, before + 1).await;
    let second = circuit.part(RelayCommand::EXTEND2, 4000 - 498, &[0; 498]);
    raw.send([second]).await;
    until_equal(|| scene.relay(0).held().cells, before + 2).await;
    raw.send([circuit.destroy()]).await;
    until_equal(|| scene.relay(0).held().cells, before).await;
    drop(raw);
    scene.is_as_before().await;
}
