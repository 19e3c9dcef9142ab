// The pictures of a page's frames: the window's display lists, for each quantity and each shape. Equal records are stored
// once, and a list says how it follows from the one before.

/** Return a list of record numbers from the one before, as `spliced` in view/page/lists.py made it. */
export function splicedList(before, steps, count) {
  const found = [];
  let end = 0;
  for (const step of steps) {
    if (!Array.isArray(step)) found.push(step ? step - 1 : count.next++);
    else {
      found.push(...before.slice(end + step[0], end + step[0] + step[1]));
      end += step[0] + step[1];
    }
  }
  return found.length === before.length && found.every((one, k) => one === before[k]) ? before : found;
}

export class PageLists {
  constructor({ quantities, lists, shapes, layouts, records }) {
    Object.assign(this, { quantities, records, layouts, shapes: shapes.map((number) => layouts[number]) });
    this.count = { next: 0 }; // of the records so far
    this.series = shapes.flatMap(() => quantities.map(() => [])); // for each shape and quantity: the list of each frame
    lists.forEach((changes, k) => {
      const series = this.series[k % this.series.length];
      series.push(splicedList(series.at(-1) ?? [], changes, this.count));
    });
  }

  /** Return the list of a frame for the lying picture (0) or the standing one (1). */
  at(frame, quantity, shape) {
    const series = this.series[shape * this.quantities.length + this.quantities.indexOf(quantity)];
    return series[Math.min(frame, series.length - 1)].map((number) => this.records[number]);
  }
}
