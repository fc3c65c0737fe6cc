// Search through all runs: their names at once, their texts a few at a time, so that the page can
// be used meanwhile.

const SLICE_MS = 12;
const CONTENT = /<pre>\n([^<]*)<\/pre>|<h4>([^<]*)<\/h4>/g;
const ENTITIES = { amp: "&", lt: "<", gt: ">", quot: '"' };

/** Give what was called, said and answered in a run, in small letters. */
function contentOf(number) {
  const parts = [];
  for (const [, text, title] of (byId(`plain-${number}`)?.textContent ?? "").matchAll(CONTENT)) {
    parts.push(text ?? title);
  }
  return parts.join("\n").replace(/&(?:#(\d+)|(\w+));/g,
    (_, code, name) => (code ? String.fromCodePoint(code) : ENTITIES[name])).toLowerCase();
}

let searching = 0; // number of the search that goes on; an older one ends

async function searchRuns(words) {
  const mine = searching += 1;
  [hits, chosen.words, searched] = [new Set(), words, words];
  list();
  if (!words) return;
  let began = performance.now();
  for (const one of all) {
    if (contentOf(one.number).includes(words)) hits.add(one.number);
    if (performance.now() - began > SLICE_MS) {
      await new Promise((resume) => { setTimeout(resume); });
      if (mine !== searching) return;
      began = performance.now();
    }
  }
  list();
  announce(`${count(listed.length)} of ${plural(all.length, "run")}`);
}
