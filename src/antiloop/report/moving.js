// How one moves about. Where one is stands in the address, as #run-NUMBER-step-NUMBER, so that the
// back button works and a place can be handed on.

const SETTLED_MS = 200; // browsers refuse an address that changes with every repeat of a held key

let settling = 0; // the timer of an address that is not yet written

/** Put the current step into the address, if it is not there. */
function note() {
  if (!settling) return;
  forget();
  const here = hashOf(run.number, current);
  if (location.hash !== here) history.replaceState(null, "", here);
}

function forget() {
  clearTimeout(settling);
  settling = 0;
}

function clearSearch() {
  search.value = "";
  filter();
}

function select(step, block) {
  if (!place.has(step)) clearSearch();
  elementOf(current)?.classList.remove("current");
  if (elementOf(stop)) elementOf(stop).firstChild.tabIndex = -1;
  current = stop = step;
  fill(list.children[Math.floor(place.get(step) / CHUNK)]);
  const element = elementOf(step);
  element.classList.add("current");
  element.firstChild.tabIndex = 0;
  element.firstChild.focus({ preventScroll: true });
  element.scrollIntoView({ block });
  forget();
  settling = setTimeout(note, SETTLED_MS);
}

/** Go to the head of the run that was chosen; a list of runs that covers it is folded. */
function arrive() {
  const [nav, title] = ["runs", "run-id"].map(byId);
  if (!isBeside(nav)) nav.firstChild.open = false;
  title.focus({ preventScroll: true });
  byId("about").scrollIntoView({ block: "start" });
}

/** Show what an address names; tell whether that is a step. */
function go(hash) {
  forget();
  const [, number, step] = /^#run-(\d+)(?:-step-(\d+))?$/.exec(hash) || [];
  const wanted = runs.find((one) => one.number === Number(number)) || runs[0];
  if (!wanted) return false;
  show(wanted.number);
  if (!(Number(step) < run.steps.length)) return false;
  select(Number(step), "nearest");
  setOpen(current, true);
  elementOf(current).scrollIntoView({ block: "start" });
  return true;
}

function lead(hash) {
  if (!go(hash) && run) arrive();
}

function visit(hash) {
  note();
  if (location.hash !== hash) history.pushState(null, "", hash);
  lead(hash); // at once, so that the next key finds where this one led
}

function move(by) {
  const start = by > 0 ? -1 : shown.length;
  const to = (place.has(current) ? place.get(current) : start) + by;
  if (to >= 0 && to < shown.length) select(shown[to], "nearest");
}

function moveToWarning(by) {
  const steps = [...run.warningsAt.keys()].sort((one, other) => one - other);
  const before = steps.filter((step) => step < current);
  const next = by > 0 ? steps.find((step) => step > current) : before.pop();
  if (next !== undefined && next < run.steps.length) visit(hashOf(run.number, next));
}

function moveToRun(by) {
  const next = runs[runs.findIndex((one) => one.number === run.number) + by];
  if (next) visit(hashOf(next.number));
}

/** Move the focus in the list of runs; to go there is another matter. */
function moveInList(by) {
  const items = [...document.querySelectorAll("a.run")];
  const next = items[items.indexOf(document.activeElement) + by];
  if (!next) return;
  for (const item of items) item.tabIndex = item === next ? 0 : -1;
  next.focus();
}

function skipTo(target) {
  if (target === "search") search.focus();
  else if (place.has(stop)) select(stop, "nearest");
}

function leave() {
  if (search.value) clearSearch();
  else if (opened.has(current)) setOpen(current, false);
  search.blur();
}

const KEYS = {
  j: () => move(1), k: () => move(-1), ArrowDown: () => move(1), ArrowUp: () => move(-1),
  n: () => moveToWarning(1), p: () => moveToWarning(-1),
  "]": () => moveToRun(1), "[": () => moveToRun(-1),
  "/": () => search.focus(), Escape: leave,
};
const LISTED = { ...KEYS, ArrowDown: () => moveInList(1), ArrowUp: () => moveInList(-1) };
const TYPING = { Escape: leave, Enter: () => { filter(); move(1); } };

document.addEventListener("keydown", (event) => {
  const keys = event.target.closest("a.run") ? LISTED : KEYS;
  const act = (event.target === search ? TYPING : keys)[event.key];
  const isScrolled = event.target.tagName === "PRE" && event.key.startsWith("Arrow");
  if (!act || !run || isScrolled || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
});

document.addEventListener("click", (event) => {
  const [row, followed, skip] = ["button.row", "a", "button.skip"]
    .map((kind) => event.target.closest(kind));
  if (skip) skipTo(skip.value);
  if (followed) note();
  if (followed && followed.hash === location.hash) lead(followed.hash);
  if (!row) return;
  select(stepOf(row.parentElement), "nearest");
  setOpen(current, !opened.has(current));
});

document.addEventListener("focusin", ({ target }) => {
  const step = target.matches("button.row") ? stepOf(target.parentElement) : current;
  if (step !== current) select(step, "nearest");
});

map.addEventListener("click", (event) => {
  const box = map.getBoundingClientRect();
  const position = Math.floor(((event.clientX - box.left) / box.width) * shown.length);
  if (position in shown) select(shown[position], "start");
});

let waiting;
search.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(() => {
    filter();
    list.scrollIntoView();
  }, 100);
});
addEventListener("scroll", () => requestAnimationFrame(follow), { passive: true });
addEventListener("resize", follow);
new ResizeObserver(measure).observe(bar);
addEventListener("beforeprint", () => [...list.children].forEach(fill));
addEventListener("hashchange", () => lead(location.hash));

drawRuns(runs);
go(location.hash);
