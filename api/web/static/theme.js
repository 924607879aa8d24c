// Sets the theme before the first paint, and keeps what the reader chose.
// No module: a module would run after the page has been painted once.
(() => {
  const KEY = "supertwin-theme";
  const root = document.documentElement;

  function kept() {
    try {
      return localStorage.getItem(KEY) || "auto";
    } catch {
      return "auto"; // Storage can be forbidden.
    }
  }

  function apply(theme) {
    if (theme === "auto") delete root.dataset.theme;
    else root.dataset.theme = theme;
    document.dispatchEvent(new Event("themechange"));
  }

  function choose(theme) {
    try {
      localStorage.setItem(KEY, theme);
    } catch {
      // It then holds for this page only.
    }
    apply(theme);
  }

  apply(kept());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () =>
    apply(kept()),
  );
  document.addEventListener("DOMContentLoaded", () => {
    for (const input of document.querySelectorAll("input[name=theme]")) {
      input.checked = input.value === kept();
      input.addEventListener("change", () => choose(input.value));
    }
  });
})();
