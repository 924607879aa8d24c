// A command as its words, quoted as in a terminal. Nothing is expanded.

const HELD = '"\\$`';
// Characters that a shell would interpret; here they are ordinary.
const SHELL = "|&;<>$`*?";

/**
 * The words of a text.
 * @param {string} text
 * @returns {{words: string[], shell: string, problem: string}} `shell` holds the signs
 *   outside of quotes that only a shell would understand; `problem` says what is wrong
 */
export function splitWords(text) {
  const words = [];
  const shell = new Set();
  let [word, quote] = [null, ""];
  for (let i = 0; i < text.length; i++) {
    const sign = text[i];
    if (quote) {
      if (sign === quote) quote = "";
      else if (quote === '"' && sign === "\\" && i + 1 < text.length && HELD.includes(text[i + 1])) {
        word += text[++i];
      } else word += sign;
    } else if (/\s/.test(sign)) {
      if (word !== null) words.push(word);
      word = null;
    } else if (sign === "'" || sign === '"') {
      [word, quote] = [word ?? "", sign];
    } else if (sign === "\\") {
      if (i + 1 === text.length) return failed("it ends in a backslash: write \\\\, or quote it");
      // A line that goes on below.
      if (text[++i] !== "\n") word = (word ?? "") + text[i];
    } else {
      if (SHELL.includes(sign)) shell.add(sign);
      word = (word ?? "") + sign;
    }
  }
  if (quote) return failed(`a quote ${quote} is not closed`);
  if (word !== null) words.push(word);
  return { words, shell: [...shell].join(" "), problem: "" };
}

function failed(problem) {
  return { words: [], shell: "", problem };
}
