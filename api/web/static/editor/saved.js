// The list of saved queries: narrowed by words, loaded into the field by a click.

const root = document.documentElement.dataset.root ?? "";

/**
 * @param {(text: string) => void} load puts a text into the field
 * @param {(text: string) => void} say shows what went wrong, or nothing
 */
export function watchSaved(load, say) {
  const search = document.getElementById("search");
  const items = [...document.querySelectorAll(".saved li")];
  const folders = [...document.querySelectorAll(".saved .folder")];

  search.addEventListener("input", () => {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const item of items) {
      const text = item.dataset.words.toLowerCase();
      item.hidden = !words.every((word) => text.includes(word));
    }
    for (const folder of folders) folder.hidden = !folder.querySelector("li:not([hidden])");
  });
  document.querySelector(".saved").addEventListener("click", async (event) => {
    const link = event.target.closest("a[data-name]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    try {
      load(await text(link.dataset.name));
      say("");
    } catch {
      say(`The query ${link.dataset.name} cannot be fetched; try again.`);
    }
  });
}

/** The SPARQL of a saved query, with its name in place of its long header. */
async function text(name) {
  const answer = await fetch(`${root}/queries/${name}.rq`);
  if (!answer.ok) throw new Error(String(answer.status));
  const lines = (await answer.text()).split("\n");
  return [`# ${name}`, ...lines.filter((line) => !line.startsWith("#+"))].join("\n");
}
