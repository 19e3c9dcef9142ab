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

const PASSING = "passing", COMING = "coming", OTHER = "other "; // marks of records that are not for every step
const MARKS = [PASSING, COMING, ...["rule", "bend"].flatMap(one => [one, OTHER + one])];
const DOT = "  \u00b7  "; // between the texts of a line

export class PageLists {
  constructor({ quantities, choices, lists, shapes, layouts, records, standing = {} }) {
    Object.assign(this, { quantities, choices, records, layouts, standing: new Map(Object.entries(standing)), shapes: shapes.map((number) => layouts[number]) });
    this.marks = records.map(record => record.splice(0, record.findIndex(part => !MARKS.includes(part))));
    this.count = { next: 0 }; // of the records so far
    this.each = quantities.length + choices; // series of a shape: pictures by quantity, then panels by choice
    this.series = Array.from({ length: shapes.length * this.each }, () => []); // each has the list of every frame
    lists.forEach((changes, k) => {
      const series = this.series[k % this.series.length];
      series.push(splicedList(series.at(-1) ?? [], changes, this.count));
    });
  }

  /** Return the records of a list of a recorded step. */
  recordedIn(list) {
    return list.flatMap(number => (this.marks[number].some(mark => mark === COMING || mark.startsWith(OTHER)) ? [] : [this.records[number]]));
  }

  /**
   * Return the records of a list that do not pass; a text behind one that passes takes its place. Of what the step does not
   * have as recorded, `others` has functions by mark that return a record as it is then; null: it goes.
   */
  lasting(list, others = {}) {
    let place = null; // of the text that passed: its own, or its gap behind another text
    return list.flatMap(number => {
      const marks = this.marks[number], own = this.records[number], record = marks.reduce((made, mark) => (made && mark in others ? others[mark](made) : made), own);
      const [name, x, ...rest] = record ?? own, follows = name.startsWith("next "), before = place;
      const gone = !record || marks.some(mark => mark === PASSING || (mark.startsWith(OTHER) && !(mark in others)));
      place = null;
      if (!gone) return [before && follows ? [before.gap ? name : name.slice(5), before.x, ...rest] : record];
      if (name === "text") place = { x, gap: false };
      else if (follows) place = before ?? { x, gap: true };
      return [];
    });
  }

  /** Return a list of a computed step: panels that no computed step paints say so; `words` are other texts in place of some. */
  standingIn(records, words = []) {
    const others = new Map([...this.standing, ...words]), said = part => others.get(part) ?? part;
    const now = part => (typeof part === "string" && part.includes(DOT) ? part.split(DOT).map(said).join(DOT) : said(part));
    const other = record => record?.some(part => now(part) !== part), behind = record => record[0] === "text" && record[3].startsWith("  ") && record.at(-1) === "left";
    return records.map((record, k) => (other(record) ? record.map(now) : other(records[k - 1]) && behind(record) ? ["next text", 0, ...record.slice(2)] : record));
  }

  /** Return the list of a frame for the lying picture (0) or the standing one (1); a panel may offer a choice. */
  at(frame, quantity, shape, choice = this.choices - 1) {
    const of = (series) => this.series[shape * this.each + series].at(frame).map((number) => this.records[number]);
    return of(this.quantities.indexOf(quantity)).flatMap((record) => (record[0] === "beside" ? of(this.quantities.length + choice) : [record]));
  }
}
