// Completion from the ontology only, without other servers.

/**
 * Register completers made of the library's own, with other words.
 * @param {object} Yasqe the library's editor
 * @param {{prefixes: Record<string, string>, classes: string[], properties: string[]}} terms
 * @returns {string[]} the names of the completers to use
 */
export function completers(Yasqe, { prefixes, classes, properties }) {
  const declared = Object.entries(prefixes).map(([name, iri]) => `${name}: <${iri}>`);
  fork(Yasqe, "prefixes", "own-prefixes", () => declared.sort());
  fork(Yasqe, "class", "own-classes", beginning(classes));
  fork(Yasqe, "property", "own-properties", beginning(properties));
  return ["own-prefixes", "own-classes", "own-properties", "variables"];
}

function fork(Yasqe, from, name, get) {
  const config = { name, get: (_field, token) => Promise.resolve(get(token)), persistenceId: null };
  Yasqe.forkAutocompleter(from, config, false);
}

function beginning(words) {
  return (token) => {
    const typed = token?.autocompletionString ?? token?.string ?? "";
    return words.filter((word) => word.startsWith(typed));
  };
}
