// Messages of the API as HTML: text between backticks is code.

/**
 * Show a text in place of what an element holds; the same text again changes nothing,
 * so that it is not read aloud twice.
 * @param {Element} place
 * @param {string} text
 */
export function showProse(place, text) {
  if (place.textContent !== text.replace(CODE, "$1")) place.replaceChildren(...prose(text));
}

/** The nodes of a text. */
export function prose(text) {
  // A pattern with a group splits into what is outside of it and what is within.
  return text.split(CODE).map((part, i) => (i % 2 ? coded(part) : part)).filter(Boolean);
}

const CODE = /`([^`\n]+)`/g;

function coded(text) {
  const code = document.createElement("code");
  code.textContent = text;
  return code;
}
