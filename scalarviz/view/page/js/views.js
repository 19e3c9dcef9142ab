// Three pictures with one camera: what two recordings are, and how far they are apart. To a page it is one player.

import { Player } from "./player.js";

/** Players of one document in three elements. */
export class Views {
  /**
   * @param {HTMLElement[]} roots of a, of b and of the difference
   * @param {object} third what is another in that of the difference
   */
  constructor(roots, document, third, options) {
    this.players = [];
    this.listeners = [];
    this.following = false;
    try {
      for (const [k, root] of roots.entries()) {
        this.players.push(new Player(root, k < 2 ? document : { ...document, ...third }, { ...options, legends: "none" }));
      }
    } catch (error) {
      this.dispose();
      throw error;
    }
    for (const player of this.players) {
      player.on("pose", pose => this.#follow(player, pose));
      player.on("hover", () => this.#point(player));
      player.on("select", which => this.#select(player, which));
    }
  }

  #others(player) {
    return this.players.filter(one => one !== player);
  }

  // One is looked at from elsewhere: all are.
  #follow(player, pose) {
    if (this.following) return;
    this.following = true;
    for (const other of this.#others(player)) other.pose = pose;
    this.following = false;
  }

  // The cube that is pointed at in one is marked in all.
  #point(player) {
    for (const other of this.#others(player)) {
      const same = other.pointed?.plate === player.hit?.plate && other.pointed?.element === player.hit?.element;
      if (same) continue;
      other.pointed = player.hit;
      other.pace.ask();
    }
  }

  #select(player, which) {
    for (const other of this.#others(player)) other.selected = which;
    for (const [name, listener] of this.listeners) if (name === "select") listener(which);
  }

  /** Call `listener` when something happens: "select", or "drawn" of any of the three. */
  on(name, listener) {
    if (name === "select") this.listeners.push([name, listener]);
    else for (const player of this.players) player.on(name, listener);
  }

  /** Show a frame of each. */
  show(frames) {
    this.players.forEach((player, k) => player.show(frames[k]));
  }

  /** Whether one of them does not show its frame yet. */
  get outdated() {
    return this.players.some(player => player.outdated);
  }

  draw() {
    for (const player of this.players) player.draw();
  }

  fit() {
    this.players[0].fit(); // the others follow
  }

  dispose() {
    for (const player of this.players) player.dispose();
  }
}

// What is one of them is so of all.
for (const name of ["quantity", "theme", "pose", "selected"]) {
  Object.defineProperty(Views.prototype, name, {
    get() {
      return this.players[0][name];
    },
    set(value) {
      for (const player of this.players) player[name] = value;
    },
  });
}
