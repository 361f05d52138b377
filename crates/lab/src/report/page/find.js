// Finds tasks and rows, and sorts them. Without it the page shows everything, in the order of the run.
"use strict";
{
  const form = document.getElementById("find");
  const { words, verdict, family, order } = form.elements;
  const said = form.querySelector("output");
  const figures = document.querySelectorAll("details.figure");
  const judged = ".faster, .slower, .same, .open, .refused";

  const tasks = [...document.querySelectorAll("section.task")].map((section, at) => {
    const name = section.querySelector("h2").textContent;
    const rows = [...section.querySelectorAll("table.rows > tbody > tr")].map((row) => ({
      row,
      text: `${name} ${row.cells[0].textContent}`.toLowerCase(),
      isJudged: row.querySelector(judged) !== null,
      ratio: Number(row.dataset.ratio ?? NaN),
    }));
    return { section, at, name, rows, found: rows };
  });

  /** Of the rows with a verdict or a refusal, those that are asked for; the others show what these are compared with. */
  function look() {
    const wanted = words.value.toLowerCase().split(/\s+/).filter(Boolean);
    const fits = ({ row, text, isJudged }) =>
      wanted.every((word) => text.includes(word)) && (!verdict.value || (isJudged && row.querySelector(`.${verdict.value}`) !== null));
    let [shown, count] = [0, 0];
    for (const task of tasks) {
      const inFamily = !family.value || task.name.startsWith(family.value);
      task.found = inFamily ? task.rows.filter(fits) : [];
      const isShown = task.found.length > 0;
      task.section.hidden = !isShown;
      const found = new Set(task.found);
      for (const one of task.rows) one.row.hidden = one.isJudged && !found.has(one);
      shown += isShown;
      count += task.found.filter(({ isJudged }) => isJudged).length;
    }
    // Between what was asked and what was found nothing should stand.
    for (const figure of figures) figure.hidden = Boolean(wanted.length || verdict.value || family.value);
    said.textContent = `${shown} of ${tasks.length} tasks, ${count} rows beside the baselines`;
  }

  /** Puts the tasks of each run into the order that is asked for; those without a ratio come last. */
  function arrange() {
    const ratios = ({ found }) => found.filter(({ isJudged, ratio }) => isJudged && !Number.isNaN(ratio)).map(({ ratio }) => ratio);
    const keys = {
      least: (task) => Math.min(...ratios(task)),
      most: (task) => -Math.max(...ratios(task)),
    };
    const key = keys[order?.value];
    const ordered = [...tasks].sort((one, other) => {
      if (order?.value === "name") return one.name.localeCompare(other.name, "en", { numeric: true });
      const difference = key ? key(one) - key(other) : 0;
      return difference || one.at - other.at;
    });
    for (const { section } of ordered) section.parentElement.append(section);
  }

  /** What is asked for stands in the address, so that it can be passed on. */
  const fields = [words, verdict, family, order].filter(Boolean);
  function remember() {
    const asked = new URLSearchParams(fields.filter(({ value }) => value).map(({ name, value }) => [name, value]));
    history.replaceState(null, "", asked.size ? `#${asked}` : location.pathname + location.search);
  }
  function recall() {
    const asked = new URLSearchParams(location.hash.slice(1));
    for (const field of fields) {
      field.value = asked.get(field.name) ?? "";
      if (field.selectedIndex === -1) field.value = "";
    }
    update();
  }
  function update() {
    look();
    arrange();
  }

  /** A click on a heading sorts its table by that column: up, down, and as it was. */
  function sortable(table) {
    const body = table.tBodies[0];
    const before = [...body.rows];
    const heads = [...table.tHead.rows[0].cells];
    // Rows of refusals have fewer cells: they stay last.
    const value = (row, column) => {
      if (row.cells.length !== heads.length) return undefined;
      const { dataset, textContent } = row.cells[column];
      return dataset.v === undefined ? textContent : Number(dataset.v);
    };
    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const next = { none: "ascending", ascending: "descending", descending: "none" }[head.ariaSort ?? "none"];
        for (const other of heads) other.ariaSort = null;
        if (next !== "none") head.ariaSort = next;
        const sign = next === "descending" ? -1 : 1;
        const sorted = next === "none" ? before : before.toSorted((one, other) => {
          const [a, b] = [value(one, column), value(other, column)];
          if (a === undefined || b === undefined) return (a === undefined) - (b === undefined);
          return sign * (typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", { numeric: true }));
        });
        body.append(...sorted);
      });
    });
  }

  document.querySelectorAll("table.rows:has(> thead)").forEach(sortable);
  form.addEventListener("submit", (event) => event.preventDefault());
  form.addEventListener("input", () => {
    update();
    remember();
  });
  addEventListener("hashchange", recall);
  form.hidden = false;
  recall();
}
