// Keys: the name that the table of actions has for the key of an event.

const KEY_NAMES = {
  " ": "Space", ArrowLeft: "Left", ArrowRight: "Right", ArrowUp: "Up", ArrowDown: "Down", "+": "=",
};

/** The name of a key as view/watch/actions.py writes it, such as "Space", "Left", "G" or "Ctrl+Z". */
export function keyName(event) {
  const key = KEY_NAMES[event.key] ?? (event.key.length === 1 ? event.key.toUpperCase() : event.key);
  return event.ctrlKey || event.metaKey ? `Ctrl+${event.shiftKey ? "Shift+" : ""}${key}` : key;
}

/**
 * The action of each key.
 * @param {Array<{name: string, keys: string[], does: string}>} table
 * @returns {Map<string, string>} Names of actions by names of keys.
 */
export function actionsByKey(table) {
  return new Map(table.flatMap(action => action.keys.map(key => [key, action.name])));
}
