// Branches of a recorded run: a menu beside the tools, and rings on the time bar, switch to another branch's frames.

import { element } from "./ink.js";
import { countText } from "./numbers.js";
import { pageExtras } from "./page.js";
import { RecordedRun } from "./recorded.js";

export class BranchChoice {
  constructor(page) {
    const { lines } = page.run.head.branches;
    Object.assign(this, { page, lines, first: page.run, runs: new Map() });
    const choice = this.choice = element("select", "branch");
    choice.setAttribute("aria-label", "branch of the run");
    lines.forEach((line, k) => {
      const option = choice.appendChild(element("option", "", `branch ${k + 1} of ${lines.length}${line.why ? `: ${line.why}` : ""}`));
      option.value = String(line.number);
    });
    this.runs.set(lines.find(line => line.places.at(-1) === page.run.frames - 1 && line.places.length === page.run.frames)?.number, page.run);
    choice.value = String([...this.runs.keys()][0]);
    choice.addEventListener("change", () => this.choose(Number(choice.value)));
    document.getElementById("tools").prepend(choice);
    page.bar.onRing = number => this.choose(number);
  }

  /** Go to the newest step of a branch; a branch without frames in the page stays a curve. */
  choose(number) {
    const { page } = this, line = this.lines.find(one => one.number === number);
    if (!line) return;
    if (!this.runs.has(number)) this.runs.set(number, this.made(line));
    const run = this.runs.get(number);
    page.stop();
    page.run = page.pictures.run = page.card.run = page.table.run = run;
    page.bar.take(run);
    this.choice.value = String(number);
    page.go(run.frames - 1);
    page.select(page.player.selected);
    this.choice.title = `steps ${countText(run.steps[0])} to ${countText(run.steps.at(-1))}`;
  }

  /** Return the run of a branch: its frames out of all in the page. */
  made({ places, edits, named, bars, until }) {
    const { head, tables, marks, beside, lists } = this.first, { rest } = head.branches;
    const gathered = (name) => places.map(k => [...head[name], ...rest[name]][k]);
    const rows = table => table && { ...table, frames: places.length, ...numbersAt(table, places) };
    const own = { ...head, places, edits, named, bars, until, branches: head.branches };
    for (const name of ["steps", "loss", "lr", "sample"]) own[name] = gathered(name);
    const found = Object.fromEntries(Object.entries(tables).map(([name, table]) => [name, rows(table)]));
    return new RecordedRun(own, found, marks && marks.frames > 1 ? rows(marks) : marks, rows(beside), lists);
  }
}

// Return rows of a table of numbers or bytes.
function numbersAt({ numbers, bytes, columns }, places) {
  const from = numbers ?? bytes, found = new from.constructor(places.length * columns);
  places.forEach((place, k) => found.set(from.subarray(place * columns, (place + 1) * columns), k * columns));
  return numbers ? { numbers: found } : { bytes: found };
}

pageExtras.push(page => new BranchChoice(page));
