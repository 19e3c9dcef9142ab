// Digits in the columns of the classes that they are read as: of each column those read rightly lowest, as in the window.

/** Return a panel's list with each picture in the column of the class that it is `read` as. */
export function pilesOf({ piles: { labels, tile: [wide, high], columns: [first, apart], bottom, packings, words } }, list, read) {
  const order = Array.from(labels.keys()), wrong = k => Number(read[k] !== labels[k]), count = labels.length;
  const places = [...new Set(read)].flatMap(column => {
    const pile = order.filter(k => read[k] === column).sort((a, b) => wrong(a) - wrong(b)), [beside, cell, step] = packings[pile.length];
    return pile.map((k, at) => [first + apart * column + ((at % beside) - (beside - 1) / 2) * cell, bottom - cell / 2 - step * Math.floor(at / beside), 1 / beside, k]);
  }).sort((a, b) => b[1] - a[1] || a[3] - b[3]);
  const rects = places.flatMap(([x, y, share]) => [x - (share * wide) / 2, y - (share * high) / 2, share * wide, share * high]);
  const cells = places.flatMap(([, , , k]) => [k / count, wrong(k) / 2, 1 / count, 0.5]), counted = order.reduce((sum, k) => sum + wrong(k), 0);
  return list.map(one => (one[0] === "sprites" ? ["sprites", rects, cells, ...one.slice(3)] : one[0] === "text" && one[3].endsWith(words) ? one.with(3, `${counted}${words}`) : one));
}
