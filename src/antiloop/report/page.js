// What is shown: a run, its steps, and which of them the search leaves over.

const CHUNK = 50; // steps that are drawn together when they come near, and dropped when they are far
const [list, search, bar, map] = ["steps", "search", "bar", "map"].map(byId);
const runs = read("index"); // worst first
let run; // the run that is shown
let shown = []; // those of its steps that the search leaves over
let place = new Map(); // step -> where it stands in `shown`
let current = -1; // the step that keys act on
let stop; // the one step at which the Tab key stops: the current one, or the first
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
  run.saidAt = saidAt(run);
  const { style } = document.documentElement;
  style.setProperty("--lanes", run.lanes);
  style.setProperty("--digits", Math.max(2, String(run.steps.length).length));
  opened.clear();
  [current, search.value, byId("run").hidden] = [-1, "", false];
  drawAbout(runs.find((one) => one.number === number));
  drawWarnings(run);
  filter();
  for (const item of document.querySelectorAll("a.run")) {
    const isShown = item.hash === hashOf(number);
    item.setAttribute("aria-current", isShown);
    item.tabIndex = isShown ? 0 : -1; // the list is one stop of the Tab key, arrows go on
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
    else if (!target.querySelector(".open, .current, .row[tabindex='0']")) target.replaceChildren();
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
  stop = place.has(current) ? current : shown[0];
  if (shown.length) fill(list.firstChild);
  else list.append(el("p", "quiet", words ? "Nothing found." : "No calls."));
  drawMap(run, shown);
  measure();
  follow();
}

function fill(chunk) {
  if (chunk.firstChild) return;
  chunk.append(...chunk.steps.map((step) => drawStep(run, step)));
  for (const step of chunk.steps) {
    elementOf(step).classList.toggle("current", step === current);
    elementOf(step).firstChild.tabIndex = step === stop ? 0 : -1;
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
  if (isOpen && !details) {
    element.append(drawDetails(run, step));
    for (const text of element.querySelectorAll("pre")) {
      if (text.scrollHeight > text.clientHeight) text.tabIndex = 0; // so that keys can scroll it
    }
  }
  if (!isOpen && details) details.remove();
}

/** Tell the style how much of the screen the bar covers. */
const measure = () => document.documentElement.style.setProperty(
  "--bar", `${getComputedStyle(bar).position === "sticky" ? bar.offsetHeight : 0}px`);

/** Show in the map which part of the run is on the screen. */
function follow() {
  const { left, bottom } = bar.getBoundingClientRect();
  const at = (y) => document.elementFromPoint(left + 24, y)?.closest(".step");
  const [first, last] = [at(bottom + 4), at(innerHeight - 4)];
  const share = (element, none) => (element ? place.get(stepOf(element)) / shown.length : none);
  map.lastChild.hidden = !first && !last;
  map.lastChild.style.setProperty("--from", share(first, 0));
  map.lastChild.style.setProperty("--to", share(last, 1));
}
