// Headers of the table of results that sort it.

const table = document.getElementById("rows");
const order = new Intl.Collator("en", { numeric: true });

if (table) for (const header of table.tHead.rows[0].cells) makeSortable(header);

function makeSortable(header) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = header.textContent;
  header.replaceChildren(button);
  button.addEventListener("click", () => {
    const up = header.getAttribute("aria-sort") !== "ascending";
    for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", up ? "ascending" : "descending");
    sort(header.cellIndex, header.classList.contains("number"), up);
  });
}

function sort(column, numeric, up) {
  const rows = [...table.tBodies[0].rows].map((row) => ({
    row,
    // A number may have a suitable unit.
    text: row.cells[column].dataset.value ?? row.cells[column].textContent.trim(),
  }));
  const sign = up ? 1 : -1;
  rows.sort((a, b) => {
    // Cells without a value come last in both directions.
    if (!a.text || !b.text) return Number(!a.text) - Number(!b.text);
    return sign * (numeric ? Number(a.text) - Number(b.text) : order.compare(a.text, b.text));
  });
  table.tBodies[0].append(...rows.map(({ row }) => row));
}
