// How one moves about. The address holds where one is, as #run-NUMBER-step-NUMBER, so that the
// back button works and a place can be handed on; see address.js for the overview.

const SETTLED_MS = 200; // browsers refuse an address that changes with every repeat of a held key

let settling = 0; // the timer of an address that is not yet written
let written = ""; // the address that it is to replace

/** Put the current item into the address, if it is not there. */
function note() {
  if (!settling) return;
  forget();
  const here = hashOf(run.number, current);
  if (location.hash !== here && location.hash === written) history.replaceState(null, "", here);
}

function forget() {
  clearTimeout(settling);
  settling = 0;
}

function clearSearch() {
  search.value = "";
  filter();
}

function select(name, block) {
  if (!place.has(name)) clearSearch();
  byId(current)?.classList.remove("current");
  if (byId(stop)) byId(stop).firstChild.tabIndex = -1;
  current = stop = name;
  fill(items.children[Math.floor(place.get(name) / CHUNK)]);
  const element = byId(name);
  element.classList.add("current");
  element.firstChild.tabIndex = 0;
  element.firstChild.focus({ preventScroll: true });
  element.scrollIntoView({ block });
  forget();
  written = location.hash;
  settling = setTimeout(note, SETTLED_MS);
}

/** Go to the head of what was chosen. */
function arrive() {
  const title = run ? byId("run-id") : byId("overview-title");
  title.focus({ preventScroll: true });
  if (run) byId("run").scrollIntoView({ block: "start" });
}

/** Show what an address names; tell whether that is a part of a run. */
function go(hash) {
  forget();
  const [, number, part] = /^#run-(\d+)(?:-((?:step|said|loop)-\d+))?$/.exec(hash) || [];
  const wanted = aboutOf(Number(number)) || (all.length === 1 && !isLive ? all[0] : undefined);
  if (!wanted) {
    adopt(hash);
    showOverview();
    return false;
  }
  if (document.readyState === "loading") return true; // it is shown when it is there
  if (isLive && !reads.has(wanted.number)) {
    openRun(wanted.number, hash);
    return true;
  }
  show(wanted.number);
  if (part && part.startsWith("loop-") && byId(part)) {
    byId(part).querySelector("h4 a")?.focus({ preventScroll: true });
    byId(part).scrollIntoView({ block: "center" });
    return true;
  }
  if (!place.has(part) && !(part && itemNamed(part))) return false;
  select(part, "nearest");
  setOpen(current, true);
  byId(current).scrollIntoView({ block: "start" });
  return true;
}

function lead(hash) {
  const before = run;
  if (go(hash)) return;
  if (!run && before) showRow(before.number);
  else arrive();
}

function visit(hash) {
  note();
  if (location.hash !== hash) history.pushState(null, "", hash);
  lead(hash); // at once, so that the next key finds where this one led
}

/** Go back to the row of a run that was shown. */
function showRow(number) {
  const at = listed.findIndex((one) => one.number === number);
  if (at < 0) arrive();
  else focusRow(at);
}

function focusRow(at) {
  if (!listed[at]) return;
  active = at;
  const [height, { top }] = [rowHeight(), rows.getBoundingClientRect()];
  const y = top + at * height;
  if (y < 0 || y + 2 * height > innerHeight) scrollBy(0, y - innerHeight / 2);
  rows.replaceChildren();
  drawRows();
  rows.querySelector(`[data-at="${at}"] a`).focus({ preventScroll: true });
}

function move(by) {
  if (!run) {
    focusRow(rows.contains(document.activeElement) ? active + by : active);
    return;
  }
  const start = by > 0 ? -1 : shown.length;
  const to = (place.has(current) ? place.get(current) : start) + by;
  if (to >= 0 && to < shown.length) select(shown[to].name, "nearest");
}

function moveToLoop(by) {
  if (!run) return;
  const at = current.startsWith("step-") ? Number(current.slice(5)) : -1;
  const steps = [...run.actionsAt.keys()].sort((one, other) => one - other);
  const next = by > 0 ? steps.find((step) => step > at) : steps.filter((step) => step < at).pop();
  if (next !== undefined && next < run.steps.length) visit(hashOf(run.number, `step-${next}`));
}

function moveToRun(by) {
  if (!run) return;
  const next = listed[listed.findIndex((one) => one.number === run.number) + by];
  if (next) visit(hashOf(next.number));
}

function skipTo(target) {
  if (!run) {
    if (target === "search") byId("words").focus();
    else focusRow(active);
  } else if (target === "search") search.focus();
  else if (place.has(stop)) select(stop, "nearest");
}

function leave() {
  const isTyping = document.activeElement === (run ? search : byId("words"));
  if (!run) {
    if (byId("words").value) {
      byId("words").value = "";
      searchRuns("");
    }
  } else if (search.value) clearSearch();
  else if (opened.has(current)) setOpen(current, false);
  else if (!isTyping && all.length > 1) visit(listHash());
  if (isTyping) document.activeElement.blur();
}

const KEYS = {
  j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1),
  n: () => moveToLoop(1), p: () => moveToLoop(-1),
  "]": () => moveToRun(1), "[": () => moveToRun(-1),
  "/": () => skipTo("search"), Escape: leave,
};
const TYPING = { Escape: leave, Enter: () => { if (run) filter(); move(1); } };

document.addEventListener("keydown", (event) => {
  const isTyping = event.target.matches("input");
  const act = (isTyping ? TYPING : KEYS)[event.key];
  const isOwn = event.target.matches("pre, select, .table") && event.key.startsWith("Arrow");
  if (!act || isOwn || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
});

document.addEventListener("click", (event) => {
  const [row, followed, skip] = [".item > .row", "a", "button.skip"]
    .map((kind) => event.target.closest(kind));
  if (skip) skipTo(skip.value);
  if (followed) note();
  if (followed && (followed.hash === location.hash || /^#(list|$)/.test(followed.getAttribute("href")))) {
    event.preventDefault();
    visit(followed.getAttribute("href"));
  }
  if (!row) return;
  select(row.parentElement.id, "nearest");
  setOpen(current, !opened.has(current));
});

document.addEventListener("focusin", ({ target }) => {
  const name = target.matches(".item > .row") ? target.parentElement.id : current;
  if (name !== current) select(name, "nearest");
  const row = target.closest("#rows .run");
  if (row) active = Number(row.dataset.at);
});

map.addEventListener("click", (event) => {
  const box = map.getBoundingClientRect();
  const position = Math.floor(((event.clientX - box.left) / box.width) * shown.length);
  if (position in shown) select(shown[position].name, "start");
});

/** Call a function when a field has not changed for a moment. */
function whenTyped(field, act) {
  let waiting;
  field.addEventListener("input", () => {
    clearTimeout(waiting);
    waiting = setTimeout(act, 100);
  });
}
whenTyped(search, () => {
  filter();
  items.scrollIntoView();
});
whenTyped(byId("words"), () => searchRuns(byId("words").value.toLowerCase().trim()));

addEventListener("scroll", () => requestAnimationFrame(() => (run ? follow() : drawRows())),
  { passive: true });
addEventListener("resize", () => (run ? follow() : drawRows()));
new ResizeObserver(measure).observe(bar);
addEventListener("beforeprint", () => (run ? [...items.children].forEach(fill) : drawRows(true)));
addEventListener("hashchange", () => lead(location.hash));

let isStarted = false;

/** Draw the overview, and go where the address leads. */
function start() {
  if (isStarted) return;
  isStarted = true;
  readMarks();
  drawTotals();
  drawMarks();
  drawGroups();
  drawFilters();
  drawHeads();
  adopt(location.hash);
  list();
  go(location.hash);
}

// The head of the page comes on the screen first, as it is there. A page that nobody sees yet has no
// frames; it is drawn when it is whole.
requestAnimationFrame(() => setTimeout(start));
addEventListener("DOMContentLoaded", () => {
  start();
  go(location.hash);
});
