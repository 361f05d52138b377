// The monitor's page: asks for state.json again and again, and shows it. Everything that comes from there is put in as text, never as markup.
"use strict";

const SVG = "http://www.w3.org/2000/svg";
const STAGES = ["link", "hop 1", "hop 2", "hop 3"];
const byId = (id) => document.getElementById(id);

/** An element with attributes and children; text stays text. */
function element(tag, attributes = {}, ...children) {
  const made = ["svg", "g", "a", "rect", "text", "path", "polyline", "polygon"].includes(tag) && attributes.svg !== undefined
    ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (name !== "svg") made.setAttribute(name, value);
  made.append(...children);
  return made;
}
const drawn = (tag, attributes, ...children) => element(tag, { ...attributes, svg: "" }, ...children);

function setText(node, text) {
  if (node.textContent !== text) node.textContent = text;
}

/** Makes the children of `parent` those of `items`, in their order. One that stays is kept, with the focus that it may have. */
function keep(parent, items, key, make, update) {
  const there = new Map([...parent.children].map((child) => [child.dataset.key, child]));
  let last = null;
  for (const item of items) {
    const name = key(item);
    let child = there.get(name);
    there.delete(name);
    if (!child) {
      child = make(item);
      child.dataset.key = name;
    }
    update(child, item);
    const place = last ? last.nextSibling : parent.firstChild;
    if (place !== child) parent.insertBefore(child, place);
    last = child;
  }
  for (const child of there.values()) child.remove();
}

const number = (value) => (value === null ? "–" : Math.round(value).toLocaleString("en"));
const milliseconds = (seconds) => (seconds * 1000 < 10 ? (seconds * 1000).toFixed(2) : (seconds * 1000).toFixed(1)) + " ms";
const megabytes = (bytes) => (bytes === null ? "–" : (bytes / 1e6).toFixed(1) + " MB");
function duration(seconds) {
  const whole = Math.max(0, Math.floor(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${whole % 60} s`;
  return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
}
const plural = (count, one) => `${count} ${one}${count === 1 ? "" : "s"}`;

/* The map */

/** The column of each role: proxies, relays by their place in paths, targets. */
function columns(state) {
  const placed = [[], [], [], [], []];
  const place = new Map();
  for (const circuit of state.circuits) circuit.path.forEach((name, index) => place.set(name, Math.min(index + 1, 3)));
  const relays = state.roles.filter((role) => role.role === "relay" && !place.has(role.name));
  relays.forEach((role, index) => place.set(role.name, role.exit ? 3 : 1 + (index % 2)));
  for (const role of state.roles) {
    if (role.role === "proxy") placed[0].push(role);
    else if (role.role === "relay") placed[place.get(role.name)].push(role);
    else if (role.role === "target") placed[4].push(role);
  }
  return placed.filter((column) => column.length);
}

function layout(state, narrow) {
  const lanes = columns(state);
  const others = state.roles.filter((role) => !["proxy", "relay", "target"].includes(role.role));
  const [width, height, gap, side] = narrow ? [120, 46, 18, 12] : [124, 58, 40, 24];
  const deepest = Math.max(1, others.length, ...lanes.map((lane) => lane.length));
  const rows = lanes.length + (others.length ? 1 : 0);
  const spots = new Map();
  const across = deepest * (narrow ? width + side : height + side) - side;
  const put = (lane, index, row, length) => {
    const along = narrow ? row * (height + gap) : row * (width + gap);
    const used = length * (narrow ? width + side : height + side) - side;
    const aside = (across - used) / 2 + index * (narrow ? width + side : height + side);
    spots.set(lane.name, narrow ? { x: aside, y: along } : { x: along, y: aside });
  };
  if (narrow) {
    others.forEach((role, index) => put(role, index, 0, others.length));
    lanes.forEach((lane, row) => lane.forEach((role, index) => put(role, index, row + (others.length ? 1 : 0), lane.length)));
    return { spots, width, height, whole: [across, rows * (height + gap) - gap] };
  }
  // Wide: the others stand above the lanes.
  const top = others.length ? height + gap : 0;
  lanes.forEach((lane, row) => lane.forEach((role, index) => put(role, index, row, lane.length)));
  for (const spot of spots.values()) spot.y += top;
  const whole = [Math.max(lanes.length, others.length, 1) * (width + gap) - gap, top + across];
  others.forEach((role, index) => {
    const used = others.length * (width + gap) - gap;
    spots.set(role.name, { x: (whole[0] - used) / 2 + index * (width + gap), y: 0 });
  });
  return { spots, width, height, whole };
}

function edges(state) {
  const found = new Map();
  const join = (from, to, kind) => {
    const key = `${from}\n${to}`;
    const edge = found.get(key) ?? { key, from, to, kind };
    if (kind === "used") edge.kind = kind;
    found.set(key, edge);
  };
  const targets = state.roles.filter((role) => role.role === "target");
  for (const directory of state.roles.filter((role) => role.role === "directory"))
    for (const role of state.roles) if (["proxy", "relay"].includes(role.role)) join(role.name, directory.name, "asks");
  for (const circuit of state.circuits) {
    const kind = circuit.streams > 0 ? "used" : "ready";
    [circuit.proxy, ...circuit.path].reduce((from, to) => (join(from, to, kind), to));
    if (targets.length === 1 && circuit.used) join(circuit.path.at(-1), targets[0].name, kind);
  }
  return [...found.values()];
}

function route(from, to, { width, height }) {
  const [a, b] = [from, to].map(({ x, y }) => ({ x: x + width / 2, y: y + height / 2 }));
  const across = Math.abs(a.y - b.y) < height;
  const [start, end] = across
    ? [{ x: a.x + (Math.sign(b.x - a.x) * width) / 2, y: a.y }, { x: b.x - (Math.sign(b.x - a.x) * width) / 2, y: b.y }]
    : [{ x: a.x, y: a.y + (Math.sign(b.y - a.y) * height) / 2 }, { x: b.x, y: b.y - (Math.sign(b.y - a.y) * height) / 2 }];
  return `M ${start.x} ${start.y} L ${end.x} ${end.y}`;
}

function fact(role) {
  if (role.silent) return "no answer";
  if (role.role === "relay") return `${number(role.cells)} cells/s`;
  if (role.role === "proxy") return plural(role.streams ?? 0, "stream");
  return role.role === role.name ? "answers" : role.role ?? "unknown";
}

const narrow = window.matchMedia("(max-width: 40rem)");

function showMap(state) {
  const map = byId("map");
  const plan = layout(state, narrow.matches);
  const [width, height] = plan.whole;
  // A small map is not blown up.
  const room = Math.max(width, narrow.matches ? 320 : 640);
  map.setAttribute("viewBox", `${(width - room) / 2 - 4} -4 ${room + 8} ${height + 8}`);
  if (!map.firstChild) map.append(drawn("g", {}), drawn("g", {}));
  const [lines, nodes] = map.children;
  const seen = edges(state).filter((edge) => plan.spots.has(edge.from) && plan.spots.has(edge.to));
  keep(lines, seen, (edge) => edge.key, () => drawn("path", {}), (path, edge) => {
    path.setAttribute("class", edge.kind);
    path.setAttribute("d", route(plan.spots.get(edge.from), plan.spots.get(edge.to), plan));
  });
  const order = [...columns(state).flat(), ...state.roles].filter((role, index, all) => all.indexOf(role) === index);
  const shown = order.filter((role) => plan.spots.has(role.name));
  keep(nodes, shown, (role) => role.name, (role) => drawn("a", { href: `#role-${encodeURIComponent(role.name)}` },
    drawn("rect", { rx: 8 }), drawn("text", { class: "name" }), drawn("text", { class: "fact" })), (node, role) => {
    const { x, y } = plan.spots.get(role.name);
    const [box, name, line] = node.children;
    node.setAttribute("class", role.silent ? "silent" : "answers");
    node.setAttribute("aria-label", `${role.name}, ${role.role ?? "unknown"}: ${fact(role)}`);
    for (const [key, value] of Object.entries({ x, y, width: plan.width, height: plan.height })) box.setAttribute(key, value);
    name.setAttribute("x", x + plan.width / 2);
    name.setAttribute("y", y + plan.height / 2 - 3);
    line.setAttribute("x", x + plan.width / 2);
    line.setAttribute("y", y + plan.height / 2 + 16);
    setText(name, role.name.length > 14 ? role.name.slice(0, 13) + "…" : role.name);
    setText(line, fact(role));
  });
}

/* Cells */

function showCells(state) {
  const chart = byId("chart");
  const points = state.history;
  const now = points.at(-1)?.[1];
  setText(byId("rate"), now === undefined ? "–" : number(now));
  const most = Math.max(1, ...points.map(([, rate]) => rate));
  const x = (time) => 600 * (1 - (state.time - time) / 120);
  const line = points.map(([time, rate]) => `${x(time).toFixed(1)},${(156 - (150 * rate) / most).toFixed(1)}`);
  if (!chart.firstChild) chart.append(drawn("polygon", {}), drawn("polyline", {}));
  chart.children[1].setAttribute("points", line.join(" "));
  const ends = points.length ? [`${x(points[0][0]).toFixed(1)},158`, ...line, `${x(points.at(-1)[0]).toFixed(1)},158`] : [];
  chart.children[0].setAttribute("points", ends.join(" "));
  setText(byId("range"), points.length ? `the last two minutes; at most ${number(most)} in a second` : "no relay is watched");
}

/* Circuits */

const colour = (index) => `stage-${Math.min(index, 4)}`;
const stageName = (index) => STAGES[index] ?? `hop ${index}`;

function cells(row, texts) {
  texts.forEach((text, index) => text !== null && setText(row.children[index], text));
}

function showCircuits(state) {
  const legend = byId("stage-legend");
  if (!legend.firstChild) STAGES.forEach((name, index) => legend.append(element("span", { class: `swatch ${colour(index)}` }), name));
  const whole = (circuit) => circuit.stages.reduce((sum, stage) => sum + stage, 0);
  const longest = Math.max(1e-9, ...state.circuits.map(whole));
  const several = state.roles.filter((role) => role.role === "proxy").length > 1;
  const newest = [...state.circuits].sort((one, other) => one.age - other.age || other.number - one.number);
  keep(byId("circuit-rows"), newest, (circuit) => `${circuit.proxy}\n${circuit.number}`, () => element("tr", {},
    element("th", { scope: "row" }), element("td"), element("td", { class: "stages" }, element("div", { class: "bar", role: "img" })),
    element("td", { class: "number" }), element("td", { class: "number" }), element("td", { class: "number" })), (row, circuit) => {
    const name = several ? `${circuit.proxy} ${circuit.number}` : `${circuit.number}`;
    const streams = circuit.streams > 0 || circuit.used ? `${circuit.streams}` : "ready";
    cells(row, [name, circuit.path.join(" → "), null, milliseconds(whole(circuit)), streams, duration(circuit.age)]);
    const bar = row.children[2].firstChild;
    bar.setAttribute("aria-label", circuit.stages.map((stage, index) => `${stageName(index)} ${milliseconds(stage)}`).join(", "));
    bar.setAttribute("title", bar.getAttribute("aria-label"));
    bar.style.width = `${(100 * whole(circuit)) / longest}%`;
    const parts = circuit.stages.map((stage, index) => ({ stage, index }));
    keep(bar, parts, (part) => `${part.index}`, (part) => element("span", { class: colour(part.index) }), (span, part) => {
      span.style.width = `${(100 * part.stage) / Math.max(1e-9, whole(circuit))}%`;
    });
  });
  byId("no-circuits").hidden = state.circuits.length > 0;
  const measured = state.stages.filter((stage) => stage.count > 0);
  const made = () => element("tr", {}, element("th", { scope: "row" }), ...[1, 2, 3, 4].map(() => element("td", { class: "number" })));
  keep(byId("stage-rows"), measured, (stage) => `${stage.proxy}\n${stage.stage}`, made, (row, stage) => {
    const name = { link: "link to the guard", stream: "opening a stream" }[stage.stage] ?? stage.stage.replace("hop", "hop ");
    const times = [stage.mean ?? 0, stage.longest, stage.last].map(milliseconds);
    cells(row, [several ? `${stage.proxy}: ${name}` : name, number(stage.count), ...times]);
  });
}

/* Roles and errors */

function showRoles(state) {
  const made = (role) => element("tr", { id: `role-${role.name}`, tabindex: "-1" }, element("th", { scope: "row" }), element("td"), element("td"),
    ...Array.from({ length: 7 }, () => element("td", { class: "number" })));
  keep(byId("role-rows"), state.roles, (role) => role.name, made, (row, role) => {
    const kind = role.exit ? "relay, exit" : role.role ?? "unknown";
    const gone = role.silent !== null;
    const counts = [role.cells, role.links, role.circuits, role.streams, role.troubles].map((value) => (gone ? "–" : number(value)));
    const age = gone || role.started === null ? "–" : duration(state.time - role.started);
    cells(row, [role.name, kind, role.silent ?? "answers", ...counts, gone ? "–" : megabytes(role.memory), age]);
    row.children[2].className = gone ? "state bad" : "state good";
  });
}

function showErrors(state) {
  const key = (event) => `${event.time}\n${event.role}\n${event.what}`;
  keep(byId("error-rows"), state.events, key, (event) => {
    const time = new Date(event.time * 1000);
    const clock = element("time", { datetime: time.toISOString() }, time.toTimeString().slice(0, 8));
    return element("li", {}, clock, element("strong", {}, event.role), ` ${event.what}`);
  }, () => {});
  byId("no-errors").hidden = state.events.length > 0;
}

function show(state) {
  showMap(state);
  showCells(state);
  showCircuits(state);
  showRoles(state);
  showErrors(state);
  const answering = state.roles.filter((role) => role.silent === null).length;
  setText(byId("status"), `${answering} of ${plural(state.roles.length, "role")} ${answering === 1 ? "answers" : "answer"}, ${plural(state.circuits.length, "circuit")}`);
}

/* Turns */

let paused = false;
let latest = null;

async function turn() {
  let wait = 1000;
  if (!paused) {
    const lost = byId("lost");
    try {
      const answer = await fetch("state.json", { cache: "no-store" });
      if (!answer.ok) throw new Error(`status ${answer.status}`);
      latest = await answer.json();
      wait = Math.max(200, latest.every * 1000);
      if (!paused) show(latest);
      lost.hidden = true;
      document.body.dataset.state = "shown";
    } catch (error) {
      setText(lost, `The monitor does not answer (${error.message}). What is below is what it said last.`);
      lost.hidden = false;
    }
  }
  setTimeout(turn, wait);
}

byId("pause").addEventListener("click", (event) => {
  paused = !paused;
  event.target.setAttribute("aria-pressed", `${paused}`);
});
narrow.addEventListener("change", () => latest && showMap(latest));
turn();
