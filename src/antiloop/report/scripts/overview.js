// All runs: totals, filters, and one row a run, of which only those near the screen are drawn.

const STATES = isLive ? ["looping", "suspicious", "working", "idle", "ended"]
  : ["Failed", "Likely stuck", "Warning", "Healthy"]; // worst first
const SERVED = ["run", "calls", "wasted", "suspicion", "heard", "trouble"]; // the columns of a page that is served
const LOOPS_NOW = 1e12; // what loops now comes before all that looped earlier
const CHANGES = ["worse", "new", "better", "same", "gone"];
const MARGIN = 12; // rows that are drawn beyond the screen
const ROW_PX = 50; // height of a row, about
const TAIL = 14; // characters of the end of a long name that are never hidden
const overview = byId("overview");
const rows = byId("rows");
const hasOther = index.some((one) => one.change);
const hasTimes = index.some((one) => one.began_s !== null);
const hasCosts = index.some((one) => one.cost !== null);
const ranked = (list) => (one) => list.indexOf(one) + 1 || list.length + 1;

// name, title, what it is sorted by, whether the largest comes first
const COLUMNS = [
  ["run", "Run", (one) => one.id.toLowerCase(), false],
  ["change", "Change", ({ change }) => ranked(CHANGES)(change), false],
  ["calls", "Calls", (one) => one.calls, true],
  ["wasted", "Wasted calls", (one) => one.wasted_calls, true],
  ["tokens", "Wasted tokens", (one) => one.wasted_tokens, true],
  ["cost", "Wasted cost", (one) => one.wasted_cost ?? -1, true],
  ["score", "Score", (one) => one.score, false],
  ["began", "Began (UTC)", (one) => one.began_s ?? 0, true],
  ["suspicion", "Suspicion", (one) => one.suspicion, true],
  ["heard", "Last call", (one) => one.written_s, true],
  ["trouble", "Last trouble", (one) => (one.status === "looping" ? LOOPS_NOW : 0) + one.trouble_s, true],
].filter(([name]) => (isLive ? SERVED.includes(name) : (name !== "change" || hasOther)
  && (name !== "cost" || hasCosts) && (name !== "began" || hasTimes)
  && !["suspicion", "heard", "trouble"].includes(name)));

const usual = isLive ? "trouble" : hasOther ? "change" : "tokens";
const sorting = { by: usual, isTurned: false };
const chosen = {}; // filter -> value
let hits = new Set(); // runs in whose texts the words are found
let listed = []; // the runs that are left over, in the order of the rows
let active = 0; // the row at which the Tab key stops

const isOfOthers = (one) => one.side === "b" && one.change !== "gone";
const all = index.filter((one) => !isOfOthers(one));

function compareRuns(one, other) {
  const [, , key, isDown] = COLUMNS.find(([name]) => name === sorting.by);
  const [a, b] = [key(one), key(other)];
  const order = a < b ? -1 : a > b ? 1 : 0;
  return order * (isDown === sorting.isTurned ? 1 : -1) || other.wasted_tokens - one.wasted_tokens
    || (isLive && other.suspicion - one.suspicion)
    || other.wasted_calls - one.wasted_calls || one.place - other.place;
}
all.forEach((one, place) => { one.place = place; });

function matches(one) {
  const { words } = chosen;
  const names = [one.id, one.source, one.agent, one.model];
  return ["status", "agent", "model", "change"].every((key) => !chosen[key] || one[key] === chosen[key])
    && [["detector", one.detectors], ["tool", one.tools], ["loop", one.keys.map(([key]) => key)]]
      .every(([key, values]) => !chosen[key] || values.includes(chosen[key]))
    && isOfDays(one) && (!words || hits.has(one.number)
      || names.some((name) => name && name.toLowerCase().includes(words)));
}

/** Choose and sort the runs again, and show how many are left. */
function list() {
  const before = listed[active];
  const hadFocus = rows.contains(document.activeElement);
  listed = all.filter(matches).sort(compareRuns);
  active = Math.max(0, listed.indexOf(before));
  rows.style.setProperty("--count", Math.max(1, listed.length));
  byId("table").setAttribute("aria-rowcount", listed.length + 1);
  for (const head of document.querySelectorAll("#heads [data-by]")) {
    const [, , , isDown] = COLUMNS.find(([name]) => name === head.dataset.by);
    const isSorted = head.dataset.by === sorting.by;
    head.setAttribute("aria-sort", !isSorted ? "none"
      : isDown === sorting.isTurned ? "ascending" : "descending");
  }
  const isAll = listed.length === all.length;
  byId("listed").textContent = isAll ? "" : `${count(listed.length)} of ${plural(all.length, "run")}`;
  rows.replaceChildren();
  drawRows();
  keepAddress();
  if (hadFocus) rows.querySelector(`[data-at="${active}"] a`)?.focus();
}

const rowHeight = () => rows.offsetHeight / Math.max(1, listed.length);

let isFirst = true; // whether nothing is on the screen yet

/** Give the first of the rows near the screen, and the first after them. */
function near() {
  // To measure lays the page out. At first this would be done once without rows, and again with them.
  if (isFirst) return [0, Math.ceil(screen.height / ROW_PX)];
  const [height, { top }] = [rowHeight(), rows.getBoundingClientRect()];
  return [Math.max(0, Math.floor(-top / height) - MARGIN),
    Math.ceil((innerHeight - top) / height) + MARGIN];
}

function drawRows(isWhole) {
  if (overview.hidden) return;
  if (!listed.length) {
    rows.replaceChildren(el("p", "quiet", all.length ? "No run is left." : "There are no runs."));
    return;
  }
  const [from, to] = isWhole ? [0, listed.length] : near();
  isFirst = false;
  const wanted = new Set(listed.slice(from, to).map((_, at) => from + at));
  if (rows.contains(document.activeElement)) wanted.add(active);
  for (const row of [...rows.children]) {
    if (!wanted.delete(Number(row.dataset.at))) row.remove();
  }
  const made = [...wanted].sort((one, other) => one - other).map((at) => drawRun(listed[at], at));
  rows.append(...made);
  if (made.length && rows.children.length > made.length) {
    rows.append(...[...rows.children].sort((one, other) => one.dataset.at - other.dataset.at)
      .filter((row) => !row.contains(document.activeElement)));
  }
}

/** Cut the end off a long name, so that it stays in sight: that is where names mostly differ. */
function inTwo(name) {
  const at = name.length > 3 * TAIL ? name.length - TAIL : name.length;
  return [name.slice(0, at), name.slice(at)].filter(Boolean).map((part) => el("span", "", part));
}

function drawRun(one, at) {
  const cell = (name, ...children) => elWith("span", name, { role: "cell" }, ...children);
  const others = one.loops.length > 1 ? `, +${one.loops.length - 1}` : "";
  const found = hits.has(one.number);
  const about_ = [one.loops.length ? `${one.loops[0]}${others}` : one.model || one.agent || "",
    found ? "found in its texts" : ""].filter(Boolean).join(" \u00b7 ");
  const name = one.has_text === false ? el("span", "id", ...inTwo(one.id))
    : link(hashOf(one.number), "id", ...inTwo(one.id));
  name.tabIndex = at === active ? 0 : -1;
  const change = one.change && cell(`figure change is-${one.change}`, changeText(one));
  const figures = {
    calls: count(one.calls), wasted: count(one.wasted_calls),
    tokens: about(one.wasted_tokens, one.is_estimate),
    cost: one.wasted_cost === null ? "" : count(one.wasted_cost), score: count(one.score ?? 0),
    began: one.began_s ? momentOf(one.began_s) : "", suspicion: `${one.suspicion} %`,
    heard: isLive && agoOf(one.written_s), trouble: one.last ? `${one.last[1]} at ${one.last[0]}` : "",
  };
  const row = elWith("div", "run", { role: "row", "aria-rowindex": at + 2 },
    cell("name", name, el("span", "line", el("span", state(one.status), one.status),
      el("span", "quiet", about_))),
    cell("picture", drawMiniature(one.picture)), ...(change ? [change] : []),
    ...COLUMNS.filter(([key]) => key in figures).map(([key, title]) => {
      const figure = cell(`figure is-${key}${figures[key] === "0" ? " none" : ""}`, figures[key]);
      figure.dataset.title = title[0].toLowerCase() + title.slice(1);
      return figure;
    }));
  row.dataset.at = at;
  row.style.setProperty("--at", at);
  return row;
}

// ---- totals and heads ----

function totalsOf(runs) {
  if (isLive) return totalsOfSessions(runs);
  const sum = (key) => runs.reduce((all, one) => all + (one[key] || 0), 0);
  const isEstimate = runs.some((one) => one.is_estimate && one.wasted_tokens);
  const stuck = runs.filter((one) => one.loops.length).length;
  const share = (part, whole) => (whole ? ` (${Math.round((100 * part) / whole)} %)` : "");
  return [
    ["runs", count(runs.length)], ["with loops", count(stuck) + share(stuck, runs.length)],
    ["calls wasted", count(sum("wasted_calls")) + share(sum("wasted_calls"), sum("calls"))],
    ["tokens wasted", about(sum("wasted_tokens"), isEstimate)],
    ...(hasCosts ? [["cost wasted", `${count(sum("wasted_cost"))} of ${count(sum("cost"))}`]] : []),
  ];
}

function drawTotals() {
  const sides = hasOther
    ? [index.filter((one) => one.side !== "b"), index.filter((one) => one.side === "b")] : [all];
  const [ours, others] = sides.map(totalsOf);
  byId("totals").replaceChildren(...ours.map(([name, value], at) => el("div", "",
    el("dt", "", name), el("dd", "", value, others ? el("small", "", `against ${others[at][1]}`) : ""))));
  const states = STATES.map((name) => [name, sides[0].filter(({ status }) => status === name).length])
    .filter(([, number]) => number).map(([name, number]) => `${count(number)} ${name.toLowerCase()}`);
  const textless = all.filter((one) => one.has_text === false).length;
  byId("left-out").textContent = textless ? `The texts of ${plural(textless, "run")} are left out; `
    + "antiloop report --only all keeps them." : "";
  byId("summary").textContent = [plural(sides[0].length, "run"), ...states,
    ...(isLive && !isConnected ? ["not connected"] : [])].join(" \u00b7 ");
}

function drawHeads() {
  byId("heads").append(...COLUMNS.map(([by, title]) => {
    const button = drawRow("sort", title);
    button.addEventListener("click", () => {
      sorting.isTurned = sorting.by === by && !sorting.isTurned;
      sorting.by = by;
      list();
    });
    const head = elWith("span", by === "run" ? "name" : `figure is-${by}`, { role: "columnheader" }, button);
    head.dataset.by = by;
    return head;
  }));
  byId("heads").firstChild.after(elWith("span", "picture", { role: "columnheader" }, isLive ? "Suspicion over time" : "The run in small"));
  rows.parentElement.style.setProperty("--figures", COLUMNS.length - 1);
}
