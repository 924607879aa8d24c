// Writes the JSON Schema of every type that a TypeScript file exports.
//
//   node make_schema.mjs MODULES TYPES.ts TSCONFIG > schema.json
//
// Each type is written out in full: Grafana calls the options of every kind of panel
// `Options`, and as definitions of one schema they would be taken for one another.
import { createRequire } from 'node:module';
import { readFileSync } from 'node:fs';

const [modules, path, tsconfig] = process.argv.slice(2);
const { createGenerator } = createRequire(`${modules}/`)('ts-json-schema-generator');

const generator = createGenerator({ path, tsconfig, expose: 'none', skipTypeCheck: true });
const names = [...readFileSync(path, 'utf8').matchAll(/^export (?:type|interface) (\w+)/gm)];
const schemas = names.map(([, name]) => [name, generator.createSchema(name)]);
process.stdout.write(JSON.stringify(Object.fromEntries(schemas)));
