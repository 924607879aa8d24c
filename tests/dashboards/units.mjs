// Formats the numbers on stdin with what browsers are given: one JSON list, of one text each.

import { readFileSync } from "node:fs";

const source = readFileSync(process.argv[2], "utf8");
const { figures, formatValue } = await import(`data:text/javascript,${encodeURIComponent(source)}`);
const asked = JSON.parse(readFileSync(0, "utf8"));
const texts = asked.map(([number, unit]) => (unit ? formatValue(number, unit) : figures(number)));
process.stdout.write(JSON.stringify(texts));
