"use strict";
// Sorting: the head of a column is a button; pressed again it turns the order round. Cells without a number come last.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  heads.forEach((head, column) => head.querySelector("button").addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "ascending";
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "descending" : "ascending");
    const key = (row) => row.cells[column].dataset.sort ?? row.cells[column].textContent.trim();
    const order = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === "" || y === "") return (x === "") - (y === "");
      const [m, n] = [Number(x), Number(y)];
      const by = Number.isNaN(m) || Number.isNaN(n) ? x.localeCompare(y) : m - n;
      return down ? -by : by;
    };
    table.tBodies[0].append(...[...table.tBodies[0].rows].sort(order));
  }));
}
// A table that is wider than its place says so.
const boxes = [...document.querySelectorAll(".scroll")];
const mark = () => boxes.forEach((box) => { box.querySelector(".more").hidden = box.scrollWidth <= box.clientWidth + 1; });
addEventListener("resize", mark);
document.addEventListener("toggle", mark, true);
mark();
// The colour scheme: that of the system, or the one chosen here for as long as the page is open.
const root = document.documentElement, button = document.getElementById("scheme");
const schemes = ["auto", "light", "dark"];
button.hidden = false;
button.addEventListener("click", () => {
  const next = schemes[(schemes.indexOf(root.dataset.theme ?? "auto") + 1) % schemes.length];
  if (next === "auto") delete root.dataset.theme; else root.dataset.theme = next;
  button.textContent = `colours: ${next}`;
});
// On paper everything is shown and the colours are light.
let before;
addEventListener("beforeprint", () => {
  before = root.dataset.theme;
  root.dataset.theme = "light";
  for (const fold of document.querySelectorAll("details:not([open])")) { fold.open = true; fold.dataset.closed = ""; }
});
addEventListener("afterprint", () => {
  if (before === undefined) delete root.dataset.theme; else root.dataset.theme = before;
  for (const fold of document.querySelectorAll("details[data-closed]")) { fold.open = false; delete fold.dataset.closed; }
});
