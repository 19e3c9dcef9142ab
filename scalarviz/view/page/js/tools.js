// Buttons and keys: time, quantities, and everything that opens over the page. Each button shows its name and key.

import { element } from "./ink.js";

export const SPEEDS = [1, 2, 4, 8, 15, 30, 60, 120];   // frames a second
export const USUAL_SPEED = 30;

const SIGNS = {   // in a box of 20 x 16
  first: "M10 2 L3 8 L10 14 Z M17 2 L10 8 L17 14 Z M1 2 H3 V14 H1 Z",
  back: "M13 2 L6 8 L13 14 Z M3 2 H5 V14 H3 Z",
  play: "M6 1 L16 8 L6 15 Z",
  pause: "M5 2 H8.5 V14 H5 Z M11.5 2 H15 V14 H11.5 Z",
  step: "M7 2 L14 8 L7 14 Z M15 2 H17 V14 H15 Z",
  newest: "M10 2 L17 8 L10 14 Z M3 2 L10 8 L3 14 Z M17 2 H19 V14 H17 Z",
};

/** Return a button for an action of the page's table; its title has the key. */
export function actionButton(page, name, words) {
  const button = element("button", "", words), told = page.run.keys.find(action => action.name === name);
  button.title = `${told.does} (${told.keys[0]})`;
  button.addEventListener("click", () => page.actions[name](1));
  return button;
}

/** Draw a sign on a button, by its name or its path, in place of what it shows. */
export function drawSign(button, name) {
  const space = "http://www.w3.org/2000/svg", picture = document.createElementNS(space, "svg");
  picture.setAttribute("viewBox", "0 0 20 16");
  picture.setAttribute("aria-hidden", "true");
  picture.appendChild(document.createElementNS(space, "path")).setAttribute("d", SIGNS[name] ?? name);
  button.replaceChildren(picture);
}

/** Create the buttons of time, and the menu of speeds in `aside`; return the function that shows their state. */
export function makeButtons(root, aside, page) {
  let middle = null;
  for (const name of ["first", "back", "toggle_run", "step", "newest"]) {
    const button = root.appendChild(actionButton(page, name, ""));
    button.setAttribute("aria-label", page.run.keys.find(action => action.name === name).does);
    drawSign(button, name === "toggle_run" ? "play" : name);
    if (name === "toggle_run") middle = button;
  }
  const choice = aside.appendChild(element("select"));
  choice.setAttribute("aria-label", "recorded steps a second");
  for (const speed of SPEEDS) {
    const option = choice.appendChild(element("option", "", `${speed}/s`));
    option.value = String(speed);
  }
  choice.value = String(USUAL_SPEED);
  choice.addEventListener("change", () => page.pace(Number(choice.value)));
  return {
    playing(now) {
      middle.setAttribute("aria-label", now ? "pause" : "play");
      drawSign(middle, now ? "pause" : "play");
    },
    pace(speed) {
      choice.value = String(speed);
    },
  };
}

/** Create buttons for the recorded quantities, if there are several. */
export function makeQuantities(root, page) {
  const words = { weight: "value", gradient: "gradient", update: "update" }, made = {};
  for (const [name, action] of [["weight", "show_weights"], ["gradient", "show_gradients"], ["update", "show_updates"]]) {
    if (page.run.has(name)) made[name] = actionButton(page, action, words[name]);
  }
  const buttons = Object.entries(made);
  if (buttons.length > 1) root.append(element("span", "", "cubes show"), ...Object.values(made));
  return {
    show(quantity) {
      for (const [name, button] of buttons) {
        button.setAttribute("aria-pressed", String(quantity === name || (name === "gradient" && quantity === "|gradient|")));
      }
    },
  };
}

/** Create the line of keys, the buttons at its end, and the list of all keys. */
export function makeTools(page, { line, tools, help, table }) {
  for (const name of ["toggle_run", "step", "back", "fit", "toggle_help"]) {
    const told = page.run.keys.find(action => action.name === name);
    line.append(element("b", "", told.keys[0]), `\u00a0${(told.words || told.does).replaceAll(" ", "\u00a0")}\u2003`);
  }
  tools.append(actionButton(page, "fit", "fit"), actionButton(page, "toggle_theme", "theme"));
  const numbers = tools.appendChild(element("button", "", "numbers"));
  numbers.title = "all numbers of this step, as a table";
  numbers.addEventListener("click", () => page.open("table"));
  const keys = tools.appendChild(actionButton(page, "toggle_help", "?"));
  keys.setAttribute("aria-label", "all keys");
  for (const sheet of [help, table]) {
    const button = element("button", "close", "close");
    button.addEventListener("click", () => page.close());
    sheet.prepend(button);
  }
  help.appendChild(element("h2", "", "keys"));
  const rows = help.appendChild(element("table")).appendChild(element("tbody"));
  const lines = [...page.run.keys.map(action => [action.keys.join(" or "), action.does]), ...page.run.about.gestures];
  for (const [first, does] of lines) {
    const row = rows.appendChild(element("tr"));
    row.append(element("th", "", first), element("td", "", does));
  }
}

const KEY_NAMES = { " ": "Space", ArrowLeft: "Left", ArrowRight: "Right", ArrowUp: "Up", ArrowDown: "Down", "+": "=" };

/** Return the name of a key as in view/watch/actions.py, such as "Space", "Left", "G" or "Ctrl+Z". */
export function keyName(event) {
  const key = KEY_NAMES[event.key] ?? (event.key.length === 1 ? event.key.toUpperCase() : event.key);
  return event.ctrlKey || event.metaKey ? `Ctrl+${event.shiftKey ? "Shift+" : ""}${key}` : key;
}

export function actionsByKey(table) {
  return new Map(table.flatMap(action => action.keys.map(key => [key, action.name])));
}
