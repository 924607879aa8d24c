// The official parser's verdict on each file named on stdin, as a line of JSON:
//   {"file", "errors": ["…"], "elements", "ms", "rss"}
// One process for all of them: the parser takes a second to start.
import fs from "node:fs";
import readline from "node:readline";

const [, , folder] = process.argv;
const { parse } = await import(
  `${folder}/@digicatapult/dtdl-parser/build/interop/modelParser.js`
);

function errors(text) {
  try {
    return { elements: Object.keys(JSON.parse(parse(text))).length, errors: [] };
  } catch (error) {
    let said;
    try {
      said = JSON.parse(error.message);
    } catch {
      return { elements: 0, errors: [String(error.message)] };
    }
    const found = (said.Errors ?? []).map((one) => `${one.ValidationID}: ${one.Cause}`);
    const missing = (said.UndefinedIdentifiers ?? []).map((id) => `undefined: ${id}`);
    return { elements: 0, errors: [...found, ...missing, ...(found.length + missing.length ? [] : ["no reason"])] };
  }
}

for await (const file of readline.createInterface({ input: process.stdin })) {
  const start = performance.now();
  const verdict = errors(fs.readFileSync(file, "utf8"));
  const ms = Math.round(performance.now() - start);
  const rss = process.memoryUsage().rss;
  process.stdout.write(JSON.stringify({ file, ...verdict, ms, rss }) + "\n");
}
process.exit(0);
