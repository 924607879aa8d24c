// A saved query's answer as a table that can be sorted.

import { timeElement } from "./times.js";
import { figures, formatValue } from "./units.js";

const INSTANT = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const COLLATOR = new Intl.Collator("en", { numeric: true });
const CAPITALS = {
  ...{ bios: "BIOS", cpu: "CPU", cpus: "CPUs", ipv4: "IPv4", iri: "IRI", mac: "MAC", nic: "NIC" },
  ...{ numa: "NUMA", os: "OS", pmu: "PMU" },
};

/** A table; IRIs are links, numbers are right-aligned with their units. */
export class Table {
  constructor(body, panel, context) {
    Object.assign(this, { panel, context, sorted: null, downwards: false });
    this.columns = shownColumns(panel.table, context.host);
    this.scroll = body.appendChild(document.createElement("div"));
    this.scroll.className = "table-scroll";
    this.scroll.tabIndex = 0;
    this.scroll.setAttribute("role", "region");
    this.scroll.setAttribute("aria-label", `${panel.title}: table`);
    const table = this.scroll.appendChild(document.createElement("table"));
    this.headers = this._head(table.createTHead().insertRow());
    this.rows = table.createTBody();
    this._fill(panel.table.rows);
  }

  update() {}

  highlight() {}

  resize() {}

  restyle() {}

  destroy() {
    this.scroll.remove();
  }

  _head(row) {
    return this.columns.map((column) => {
      const header = row.appendChild(document.createElement("th"));
      header.scope = "col";
      if (column.numeric) header.className = "number";
      const button = header.appendChild(document.createElement("button"));
      button.textContent = heading(column.name);
      button.addEventListener("click", () => this._sort(column));
      return header;
    });
  }

  _sort(column) {
    this.downwards = this.sorted === column && !this.downwards;
    this.sorted = column;
    const { index } = column;
    this.headers.forEach((header, i) => {
      if (this.columns[i] !== column) header.removeAttribute("aria-sort");
      else header.ariaSort = this.downwards ? "descending" : "ascending";
    });
    const sign = this.downwards ? -1 : 1;
    const rows = [...this.panel.table.rows];
    rows.sort((a, b) => compare(a[index], b[index], sign));
    this._fill(rows);
  }

  _fill(rows) {
    this.rows.replaceChildren(...rows.map((row) => this._row(row)));
  }

  _row(cells) {
    const row = document.createElement("tr");
    this.columns.forEach((column) => {
      const cell = cells[column.index];
      const place = row.insertCell();
      if (column.numeric) place.className = "number";
      place.append(this._cell(cell, column));
      if (typeof cell === "string" && cell.length > 20 && !INSTANT.test(cell)) place.title = cell;
    });
    return row;
  }

  _cell(cell, column) {
    if (cell === null) return "";
    if (typeof cell === "number") {
      if (column.numeric) return formatValue(cell, column.unit);
      return Number.isInteger(cell) ? String(cell) : figures(cell);
    }
    if (typeof cell === "boolean") return cell ? "yes" : "no";
    if (INSTANT.test(cell)) return timeElement(cell);
    return this.context.iri(cell) ?? cell;
  }
}

/** The columns with their indexes, without one that only repeats the chosen host. */
function shownColumns({ columns, rows }, host) {
  return columns
    .map((column, index) => ({ ...column, index }))
    .filter(({ name, index }) => {
      return !host || name !== "host" || rows.some((row) => row[index] !== host);
    });
}

/** Ascending; what is empty comes last in both directions. */
function compare(a, b, sign) {
  if (a === null || b === null) return (a === null) - (b === null);
  if (typeof a === "number" && typeof b === "number") return sign * (a - b);
  return sign * COLLATOR.compare(String(a), String(b));
}

/** A column's name as words: `cpuModel` is `CPU model`. */
function heading(name) {
  const words = name.replace(/([a-z0-9])([A-Z])/g, "$1 $2").toLowerCase().split(" ");
  const text = words.map((word) => CAPITALS[word] ?? word).join(" ");
  return text.charAt(0).toUpperCase() + text.slice(1);
}
