// Runs queries as Grafana's SPARQL plugin does: through Comunica, every cell as text,
// columns in the order in which they are first bound.
//
//   node comunica.mjs MODULES ENDPOINT [USER:PASSWORD] < queries.json > answers.json
//
// queries.json is a list of SPARQL texts; each answer is {columns, rows} or {error}.
import Module, { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const [modules, source, account] = process.argv.slice(2);
const require = createRequire(`${modules}/`);

// What the browser gets of Comunica's way to fetch; the other one asks for Node.js 22.
const resolve = Module._resolveFilename;
Module._resolveFilename = (...request) =>
  resolve(...request).replace(/FetchInitPreprocessor\.js$/, 'FetchInitPreprocessor-browser.js');

const { QueryEngine } = require('@comunica/query-sparql');
const engine = new QueryEngine();
const context = {
  sources: [{ type: 'sparql', value: source }],
  fetch: (input, options = {}) => fetch(input, authorized(options)),
};

function authorized(options) {
  if (!account) return options;
  const headers = new Headers(options.headers);
  headers.set('authorization', `Basic ${Buffer.from(account).toString('base64')}`);
  return { ...options, headers };
}

async function answer(query) {
  try {
    const found = await (await engine.queryBindings(query, context)).toArray();
    const columns = [...new Set(found.flatMap((row) => [...row.keys()].map((k) => k.value)))];
    const rows = found.map((row) => columns.map((name) => row.get(name)?.value ?? null));
    return { columns, rows };
  } catch (error) {
    return { error: String(error.message ?? error) };
  }
}

const answers = [];
for (const query of JSON.parse(readFileSync(0, 'utf8'))) answers.push(await answer(query));
process.stdout.write(JSON.stringify(answers));
