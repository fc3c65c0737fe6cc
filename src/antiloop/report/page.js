// What is shown, and how one moves about in it. Where one is stands in the address, as
// #run-NUMBER-step-NUMBER, so that the back button works and a place can be handed on.

const CHUNK = 50; // steps that are drawn together when they come near, and dropped when they are far
const [list, search, map] = ["steps", "search", "map"].map(byId);
const runs = read("index"); // worst first
let run; // the run that is shown
let shown = []; // those of its steps that the search leaves over
let place = new Map(); // step -> where it stands in `shown`
let current = -1; // the step that keys act on
const opened = new Set();

const elementOf = (step) => byId(`step-${step}`);
const stepOf = (element) => Number(element.id.slice("step-".length));

function show(number) {
  if (run && run.number === number) return;
  run = { ...read(`data-${number}`), number };
  run.concerned = new Set(run.warnings.flatMap((one) => one.steps));
  run.warningsAt = new Map(); // step -> the warnings that blame it
  for (const one of run.warnings) {
    run.warningsAt.set(one.step, [...(run.warningsAt.get(one.step) || []), one]);
  }
  run.times = new Map(run.calls.map((_, call) => [call, []])); // call -> its steps
  run.nth = run.steps.map(([call], step) => run.times.get(call).push(step));
  run.laps = new Map(run.laps);
  run.rounds = new Set(run.rounds);
  run.turns = new Set(run.turns);
  const { style } = document.documentElement;
  style.setProperty("--lanes", run.lanes);
  style.setProperty("--digits", Math.max(2, String(run.steps.length).length));
  opened.clear();
  [current, search.value, byId("run").hidden] = [-1, "", false];
  drawAbout(runs.find((one) => one.number === number));
  drawWarnings(run);
  filter();
  for (const item of document.querySelectorAll("a.run")) {
    item.setAttribute("aria-current", item.hash === hashOf(number));
  }
  showInList(document.querySelector("a.run[aria-current=true]"));
}

/** Scroll the list of runs, and only that, to a run that is out of its sight. */
function showInList(item) {
  const nav = byId("runs");
  const [inner, outer] = [item, nav].map((element) => element.getBoundingClientRect());
  const isOut = inner.bottom > outer.bottom || inner.top < outer.top;
  if (isOut) nav.scrollTop += inner.top - outer.top - nav.clientHeight / 2;
}

// ---- steps ----

const watcher = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) {
    if (isIntersecting) fill(target);
    else if (!target.querySelector(".open, .current")) target.replaceChildren();
  }
  follow();
}, { rootMargin: "1000px" });

function filter() {
  const words = run.words = search.value.toLowerCase().trim();
  const has = (text) => text.toLowerCase().includes(words);
  const calls = run.calls.map(({ tool, text }) => has(`${tool} ${text}`));
  const results = run.results.map(({ text }) => has(text));
  shown = [...run.steps.keys()].filter((step) => {
    const [call, result] = run.steps[step];
    return calls[call] || results[result];
  });
  place = new Map(shown.map((step, position) => [step, position]));
  const matches = shown.length.toLocaleString("en");
  byId("found").textContent = words ? `${matches} of ${plural(run.steps.length, "step")}` : "";
  watcher.disconnect();
  list.replaceChildren();
  for (let start = 0; start < shown.length; start += CHUNK) {
    const chunk = el("div", "chunk");
    chunk.steps = shown.slice(start, start + CHUNK);
    chunk.style.setProperty("--steps", chunk.steps.length);
    list.append(chunk);
    watcher.observe(chunk);
  }
  if (shown.length) fill(list.firstChild);
  else list.append(el("p", "quiet", words ? "Nothing found." : "No calls."));
  drawMap(run, shown);
  follow();
}

function fill(chunk) {
  if (chunk.firstChild) return;
  chunk.append(...chunk.steps.map((step) => drawStep(run, step)));
  for (const step of chunk.steps) {
    elementOf(step).classList.toggle("current", step === current);
    setOpen(step, opened.has(step));
  }
}

function setOpen(step, isOpen) {
  const element = elementOf(step);
  if (isOpen) opened.add(step);
  else opened.delete(step);
  element.classList.toggle("open", isOpen);
  element.firstChild.setAttribute("aria-expanded", isOpen);
  const details = element.querySelector(".details");
  if (isOpen && !details) element.append(drawDetails(run, step));
  if (!isOpen && details) details.remove();
}

/** Show in the map which part of the run is on the screen. */
function follow() {
  const bar = map.parentElement.getBoundingClientRect();
  const at = (y) => document.elementFromPoint(bar.left + 24, y)?.closest(".step");
  const [first, last] = [at(bar.bottom + 4), at(innerHeight - 4)];
  const share = (element, none) => (element ? place.get(stepOf(element)) / shown.length : none);
  map.lastChild.hidden = !first && !last;
  map.lastChild.style.setProperty("--from", share(first, 0));
  map.lastChild.style.setProperty("--to", share(last, 1));
}

// ---- moving ----

function clearSearch() {
  search.value = "";
  filter();
}

function select(step, block) {
  if (!place.has(step)) clearSearch();
  elementOf(current)?.classList.remove("current");
  current = step;
  fill(list.children[Math.floor(place.get(step) / CHUNK)]);
  const element = elementOf(step);
  element.classList.add("current");
  element.firstChild.focus({ preventScroll: true });
  element.scrollIntoView({ block });
}

function go(hash) {
  const [, number, step] = /^#run-(\d+)(?:-step-(\d+))?$/.exec(hash) || [];
  const wanted = runs.find((one) => one.number === Number(number)) || runs[0];
  if (!wanted) return;
  show(wanted.number);
  if (!(Number(step) < run.steps.length)) return;
  select(Number(step), "nearest");
  setOpen(current, true);
  elementOf(current).scrollIntoView({ block: "start" });
}

function visit(hash) {
  if (location.hash !== hash) history.pushState(null, "", hash);
  go(hash); // at once, so that the next key finds where this one led
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
const TYPING = { Escape: leave, Enter: () => { filter(); move(1); } };

document.addEventListener("keydown", (event) => {
  const act = (event.target === search ? TYPING : KEYS)[event.key];
  if (!act || !run || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  act();
});

document.addEventListener("click", (event) => {
  const [row, followed] = ["button.row", "a"].map((kind) => event.target.closest(kind));
  if (followed && followed.hash === location.hash) go(followed.hash);
  if (!row) return;
  select(stepOf(row.parentElement), "nearest");
  setOpen(current, !opened.has(current));
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
addEventListener("beforeprint", () => [...list.children].forEach(fill));
addEventListener("hashchange", () => go(location.hash));

drawRuns(runs);
go(location.hash);
