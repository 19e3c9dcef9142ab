// Branches of a recorded run: a menu beside the tools, and rings on the time bar, switch to another branch's frames.

import { element } from "./ink.js";
import { countText } from "./numbers.js";
import { pageExtras } from "./page.js";

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
    const { places, edits, named, bars, until } = line;
    if (!this.runs.has(number)) this.runs.set(number, this.first.taken(places, { edits, named, bars, until }));
    const run = this.runs.get(number);
    this.choice.value = String(number);
    page.take(run);
    this.choice.title = `steps ${countText(run.steps[0])} to ${countText(run.steps.at(-1))}`;
  }
}

pageExtras.push(page => new BranchChoice(page));
