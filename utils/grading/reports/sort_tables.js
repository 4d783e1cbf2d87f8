// A click on a column heading sorts the table by that column; a second click reverses the order. A cell with data-value
// is sorted by this number.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells], body = table.tBodies[0];
  heads.forEach((head, column) => head.querySelector("button")?.addEventListener("click", () => {
    const down = head.getAttribute("aria-sort") === "descending";
    heads.forEach(other => other.removeAttribute("aria-sort"));
    head.setAttribute("aria-sort", down ? "ascending" : "descending");
    const text = row => row.cells[column].dataset.value ?? row.cells[column].textContent.trim();
    const rows = [...body.rows].sort((a, b) => text(b).localeCompare(text(a), "en", {numeric: true}));
    body.append(...(down ? rows.reverse() : rows));
  }));
}
