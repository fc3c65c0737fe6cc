// What differs between two texts, word by word; line by line where they are long.

const MOST_PAIRS = 4000000; // words of the one times words of the other that are compared
const CONTEXT = 120; // characters of what is equal that are shown around a difference

const wordsOf = (text) => text.match(/\w+|\s+|[^\w\s]/gu) || [];
const linesOf = (text) => text.match(/.*\n|.+$/g) || [];

/** Give the texts in pieces: [text, isDifferent], once for each of the two. */
function difference(one, other, split = wordsOf) {
  const [left, right] = [one, other].map(split);
  let start = 0;
  while (start < left.length && left[start] === right[start]) start += 1;
  let end = 0;
  const shorter = Math.min(left.length, right.length) - start;
  while (end < shorter && left[left.length - 1 - end] === right[right.length - 1 - end]) end += 1;
  const middles = [left, right].map((words) => words.slice(start, words.length - end));
  const isLong = middles[0].length * middles[1].length > MOST_PAIRS;
  if (isLong && split === wordsOf) return difference(one, other, linesOf);
  const isKept = inBoth(...middles);
  return [left, right].map((words, side) => joined([
    ...words.slice(0, start).map((word) => [word, false]),
    ...middles[side].map((word, at) => [word, !isKept[side].has(at)]),
    ...words.slice(words.length - end).map((word) => [word, false]),
  ]));
}

/** Give the places of a longest common row of words in both; none where that takes too long. */
function inBoth(left, right) {
  const found = [new Set(), new Set()];
  if (!left.length || !right.length || left.length * right.length > MOST_PAIRS) return found;
  const width = right.length + 1;
  const longest = new Uint16Array((left.length + 1) * width);
  for (let i = left.length - 1; i >= 0; i -= 1) {
    for (let j = right.length - 1; j >= 0; j -= 1) {
      longest[i * width + j] = left[i] === right[j]
        ? longest[(i + 1) * width + j + 1] + 1
        : Math.max(longest[(i + 1) * width + j], longest[i * width + j + 1]);
    }
  }
  for (let i = 0, j = 0; i < left.length && j < right.length;) {
    if (left[i] === right[j]) {
      found[0].add(i);
      found[1].add(j);
      [i, j] = [i + 1, j + 1];
    } else if (longest[(i + 1) * width + j] >= longest[i * width + j + 1]) i += 1;
    else j += 1;
  }
  return found;
}

function joined(pieces) {
  const made = [];
  for (const [text, isDifferent] of pieces) {
    const last = made[made.length - 1];
    if (last && last[1] === isDifferent) last[0] += text;
    else made.push([text, isDifferent]);
  }
  return made;
}

/** Show one side: differences marked, the rest dimmed, and long stretches of it left out. */
function drawSide(pieces, tag) {
  return el("pre", "side", ...pieces.map(([text, isDifferent], at) => {
    if (isDifferent) return el(tag, "", text);
    if (text.length <= 3 * CONTEXT) return el("span", "same", text);
    const head = at ? text.slice(0, CONTEXT) : "";
    const tail = at < pieces.length - 1 || pieces.length === 1 ? text.slice(-CONTEXT) : "";
    const left = text.length - head.length - tail.length;
    return el("span", "same", head, el("i", "", `[${plural(left, "equal character")}]`), tail);
  }));
}
