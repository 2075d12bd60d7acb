/** What remains of a space that is taken out, in pixels. */
const SQUEEZED = 2;

/**
 * Takes space out of one axis: the parts of the ranges `removable` that no range in `kept` covers.
 * Ranges are pairs of numbers. The result maps old to new positions and keeps their order.
 */
function squeeze(removable, kept) {
  const events = [];
  for (const [low, high] of removable) if (low < high) events.push([low, 1, 0], [high, -1, 0]);
  for (const [low, high] of kept) if (low < high) events.push([low, 0, 1], [high, 0, -1]);
  events.sort((a, b) => a[0] - b[0]);
  const ends = [];
  const removed = [];
  let total = 0;
  let [inside, covered, since] = [0, 0, 0];
  for (const [at, removes, keeps] of events) {
    const length = at - since;
    if (inside > 0 && covered === 0 && length > SQUEEZED) {
      ends.push([since, at]);
      removed.push(total);
      total += length - SQUEEZED;
    }
    inside += removes;
    covered += keeps;
    since = at;
  }
  return (position) => {
    let [first, last] = [0, ends.length];
    while (first < last) {
      const middle = (first + last) >> 1;
      if (ends[middle][0] < position) first = middle + 1;
      else last = middle;
    }
    if (first === 0) return position;
    const [low, high] = ends[first - 1];
    const part = Math.min(1, (position - low) / (high - low));
    return position - removed[first - 1] - part * (high - low - SQUEEZED);
  };
}
