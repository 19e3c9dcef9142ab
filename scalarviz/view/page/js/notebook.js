// The theme of the notebook around a cell, and the cell of a live graph.

/** Return "dark" or "light" from JupyterLab, VS Code, marimo, Colab or the system. */
export function notebookTheme() {
  const { documentElement: html, body } = document, said = body.dataset.jpThemeLight;
  if (said !== undefined) return said === "false" ? "dark" : "light";
  const names = `${html.className} ${body.className} ${html.getAttribute("theme") ?? ""} ${body.dataset.theme ?? ""}`;
  if (/\b(vscode-dark|dark|dark-theme)\b/.test(names)) return "dark";
  if (/\b(vscode-light|light|light-theme)\b/.test(names)) return "light";
  return window.matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
}

/** Call a function with the notebook's theme now and at every change; return the function that ends it. */
export function watchTheme(tell) {
  let now = "";
  const look = () => {
    const theme = notebookTheme();
    if (theme !== now) tell(now = theme);
  };
  const watcher = new MutationObserver(look), options = { attributes: true, attributeFilter: ["class", "data-jp-theme-light", "theme"] };
  for (const part of [document.documentElement, document.body]) watcher.observe(part, options);
  const system = window.matchMedia("(prefers-color-scheme: dark)");
  system.addEventListener("change", look);
  look();
  return () => {
    watcher.disconnect();
    system.removeEventListener("change", look);
  };
}

/** Called by anywidget for each place that shows a graph. */
export function renderGraph({ model, el }) {
  const hidden = document.head.appendChild(document.createElement("style"));
  const box = el.appendChild(document.createElement("div"));
  box.setAttribute("role", "img");
  box.setAttribute("aria-label", model.get("about").title);
  const hear = message => {
    if (message.kind !== "graph") return;
    const made = new DOMParser().parseFromString(message.svg, "image/svg+xml").documentElement;
    box.replaceChildren(document.importNode(made, true));
    hidden.textContent = `.${model.get("about").still} { display: none !important; }`;
  };
  model.on("msg:custom", hear);
  model.send({ kind: "ready", place: "graph" });
  return () => {
    model.off("msg:custom", hear);
    hidden.remove();
    box.remove();
  };
}
