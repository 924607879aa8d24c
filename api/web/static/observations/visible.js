// Text that came from anywhere, as it can be shown: nothing in it acts.

// Controls but tab and newline, and signs that turn the direction of what follows.
const ACTING = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/g;

/** With a picture in the place of each control character, such as ␛ for escape. */
export function visible(text) {
  return text.replace(ACTING, (sign) => {
    const code = sign.codePointAt(0);
    if (code < 0x20) return String.fromCodePoint(0x2400 + code);
    if (code === 0x7f) return "\u2421";
    return `\u27e8${code.toString(16).padStart(4, "0")}\u27e9`;
  });
}
