// A live graph: the picture that Python draws, anew whenever its numbers change.

/** What anywidget calls for each place that shows a graph. */
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
