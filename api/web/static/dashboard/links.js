// From IRIs to links that work at the address the browser used.

/**
 * Makes links for one dashboard: `base` begins all IRIs, `root` all our paths, and
 * `host` is the one that it is about, '' for all.
 */
export class Links {
  constructor(base, root, host) {
    this.base = `${base.replace(/\/+$/, "")}/`;
    this.root = root;
    this.host = host;
  }

  /** The address of an IRI, '' where it has none that a browser should follow. */
  href(iri) {
    if (iri.startsWith(this.base)) {
      return `${this.root}/${iri.slice(this.base.length).replace(/^\/+/, "")}`;
    }
    return /^https?:\/\//.test(iri) ? iri : "";
  }

  /** A link with a series' label to its component, plain text where it has none. */
  link(series, name) {
    return this._made(series.label, this.href(series.component), name, series.label);
  }

  /** A link for a text that is an IRI, null for any other text. */
  iri(text) {
    const href = /^https?:\/\/\S+$/.test(text) ? this.href(text) : "";
    if (!href) return null;
    const own = text.startsWith(this.base);
    const short = own ? text.slice(this.base.length).replace(/^twin\//, "") : text;
    const below = this.host && short.startsWith(`${this.host}/`);
    return this._made(below ? short.slice(this.host.length + 1) : short, href, "", text);
  }

  _made(text, href, name, title) {
    const element = document.createElement(href ? "a" : "span");
    if (href) element.href = href;
    if (name) element.className = name;
    element.textContent = text;
    element.title = title;
    return element;
  }
}
