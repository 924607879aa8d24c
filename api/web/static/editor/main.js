// The SPARQL editor: a field, an answer, and the saved queries next to them.

import { completers } from "./complete.js";
import { makeAnswer } from "./answer.js";
import { watchSaved } from "./saved.js";
import { showProse } from "../prose.js";

const root = document.documentElement.dataset.root ?? "";
const start = JSON.parse(document.getElementById("start").textContent);
const run = document.getElementById("run");
const state = document.getElementById("state");
const problem = document.getElementById("problem");

if (window.Yasgui) begin();
else say("The editor's library did not load: run ./install.sh where SuperTwin is installed.");

function say(text) {
  problem.hidden = !text;
  showProse(problem, text);
}

async function begin() {
  const terms = await fetch(`${root}/editor/terms`).then((answer) => answer.json());
  const { Yasqe, Yasr } = window.Yasgui;
  const field = new Yasqe(document.getElementById("query"), {
    requestConfig: {
      endpoint: `${location.origin}${root}/sparql`,
      method: "POST",
      acceptHeaderSelect: "application/sparql-results+json",
      acceptHeaderGraph: "text/turtle",
    },
    autocompleters: completers(Yasqe, terms),
    value: start.example,
    persistenceId: "supertwin-editor",
    consumeShareLink: null,
    createShareableLink: null,
    showQueryButton: false,
    resizeable: true,
    editorHeight: "22rem",
    extraKeys: {
      "Ctrl-Enter": () => toggle(),
      "Cmd-Enter": () => toggle(),
      "Ctrl-Space": (editor) => editor.autocomplete(),
      Esc: () => run.focus(),
    },
  });
  field.getInputField().setAttribute("aria-label", "SPARQL query");
  const answer = makeAnswer(Yasr, document.getElementById("answer"), { ...start, root, terms });
  if (start.query) field.setValue(start.query);
  let running = false;

  function toggle() {
    if (running) field.abortQuery();
    else field.query().catch(() => {}); // The error is shown as the answer.
  }

  function show(now, text) {
    running = now;
    run.textContent = now ? "Stop" : "Run";
    state.textContent = text;
  }

  field.on("query", () => show(true, "Running …"));
  field.on("queryAbort", () => show(false, "Stopped."));
  field.on("queryResponse", (_field, response, milliseconds) => {
    show(false, "");
    document.getElementById("hint").hidden = true;
    answer.setResponse(response, milliseconds);
  });
  run.addEventListener("click", toggle);
  document.getElementById("example").addEventListener("click", () => load(start.example));
  document.getElementById("link").addEventListener("click", () => copyLink(field.getValue()));
  watchSaved(load, say);

  function load(text) {
    field.setValue(text);
    field.focus();
    field.refresh();
  }
}

async function copyLink(text) {
  const url = `${location.origin}${root}/editor?${new URLSearchParams({ query: text })}`;
  history.replaceState(null, "", url);
  try {
    await navigator.clipboard.writeText(url);
    state.textContent = "The link is copied.";
  } catch {
    state.textContent = "The link is in the address bar.";
  }
}
