// The search box above the saved queries.

const search = document.getElementById("search");
const found = document.getElementById("found");
const queries = [...document.querySelectorAll(".query")];
const folders = [...document.querySelectorAll(".folder")];

function narrow() {
  const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
  for (const query of queries) {
    const text = query.dataset.words.toLowerCase();
    query.hidden = !words.every((word) => text.includes(word));
  }
  for (const folder of folders) {
    folder.hidden = !folder.querySelector(".query:not([hidden])");
  }
  const count = queries.filter((query) => !query.hidden).length;
  found.textContent = words.length ? `${count} of ${queries.length}` : "";
}

search.hidden = false;
search.addEventListener("input", narrow);
narrow();
