// What is shown: the overview, or one run, its items, and which of them the search leaves over.

const CHUNK = 50; // items that are drawn together when they come near, and dropped when far
const [items, search, bar, map] = ["steps", "search", "bar", "map"].map(byId);
let run; // the run that is shown
let shown = []; // those of its items that the search leaves over
let place = new Map(); // name of an item -> its place in `shown`
let current = ""; // the item that keys act on
let stop; // the one item at which the Tab key stops: the current one, or the first
const opened = new Set();

const itemNamed = (name) => run.items.find((item) => item.name === name);

function showOverview() {
  [byId("run").hidden, overview.hidden, run] = [true, false, undefined];
  document.title = isLive ? "antiloop watch" : "antiloop report";
  drawMarks();
  drawRows();
}

function show(number) {
  if (run && run.number === number) return;
  if (!byId(`data-${number}`)) {
    showOverview();
    announce("The texts of this run are left out.");
    return;
  }
  [byId("run").hidden, overview.hidden, isFirst] = [false, true, false];
  run = readRun(number);
  const about_ = isLive ? reads.get(number) : aboutOf(number);
  const { style } = document.documentElement;
  style.setProperty("--lanes", run.lanes);
  style.setProperty("--strip", run.lanes + (run.curve.length ? CURVE : 0));
  style.setProperty("--digits", Math.max(2, String(run.steps.length).length));
  opened.clear();
  [current, search.value] = ["", hits.has(number) ? chosen.words : ""];
  drawAbout(about_);
  drawScore(run, about_.entries, about_.score);
  drawLoops(run);
  drawMarks();
  filter();
}

function drawAbout(one) {
  const title = el("h2", "", one.id);
  title.id = "run-id";
  title.tabIndex = -1; // where the focus goes when the run is chosen
  const from = [one.source, one.agent && `agent ${one.agent}`, one.model].filter(Boolean);
  const figures = [
    ["began, UTC", one.began_s && momentOf(one.began_s)], ["took", one.took_s && lengthOf(one.took_s)],
    ["calls", one.calls], ["wasted calls", one.wasted_calls],
    ["wasted tokens", one.wasted_calls ? about(one.wasted_tokens, one.is_estimate) : null],
    ["wasted cost", one.wasted_cost], ["tokens read", one.input_tokens],
    ["tokens written", one.output_tokens], ["cost", one.cost],
  ].filter(([, value]) => value !== null && value !== undefined);
  byId("about").replaceChildren(
    el("p", state(one.status), one.status), title, el("p", "quiet", from.join(" \u00b7 ")),
    el("dl", "", ...figures.map(([name, value]) => el("div", "", el("dt", "", name),
      el("dd", "", typeof value === "number" ? count(value) : value)))), ...drawCompared(one));
  const at = listed.findIndex(({ number }) => number === one.number);
  const beside = [[at - 1, "Previous"], [at + 1, "Next"]].map(([to, text]) => (
    at >= 0 && listed[to] && listed[to].has_text !== false ? link(hashOf(listed[to].number), "", text) : el("span", "quiet", text)));
  byId("crumbs").replaceChildren(...(all.length > 1 ? [link(listHash(), "", "All runs"),
    el("span", "quiet", at < 0 ? "" : `${count(at + 1)} of ${count(listed.length)}`), ...beside] : []));
}

// ---- items ----

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
  shown = run.items.filter(({ step, message }) => (message ? has(message.text)
    : calls[run.steps[step][0]] || results[run.steps[step][1]]));
  place = new Map(shown.map(({ name }, position) => [name, position]));
  byId("found").textContent = words
    ? `${count(shown.length)} of ${plural(run.items.length, "row")}` : "";
  watcher.disconnect();
  items.replaceChildren();
  for (let start = 0; start < shown.length; start += CHUNK) {
    const chunk = el("div", "chunk");
    chunk.items = shown.slice(start, start + CHUNK);
    chunk.style.setProperty("--steps", chunk.items.length);
    items.append(chunk);
    watcher.observe(chunk);
  }
  stop = place.has(current) ? current : shown[0]?.name;
  if (shown.length) fill(items.firstChild);
  else items.append(el("p", "quiet", words ? "Nothing found." : "No calls."));
  const steps = shown.filter(({ message }) => !message).map(({ step }) => step);
  map.replaceChildren(drawStrip(run, steps), el("div", "here"));
  measure();
  follow();
}

function fill(chunk) {
  if (chunk.firstChild) return;
  chunk.append(...chunk.items.map((item) => drawItem(run, item)));
  for (const { name } of chunk.items) {
    byId(name).classList.toggle("current", name === current);
    byId(name).firstChild.tabIndex = name === stop ? 0 : -1;
    setOpen(name, opened.has(name));
  }
}

function setOpen(name, isOpen) {
  const element = byId(name);
  if (isOpen) opened.add(name);
  else opened.delete(name);
  element.classList.toggle("open", isOpen);
  element.firstChild.setAttribute("aria-expanded", isOpen);
  const details = element.querySelector(".details");
  if (isOpen && !details) {
    element.append(drawDetails(run, itemNamed(name)));
    for (const text of element.querySelectorAll("pre")) {
      if (text.scrollHeight > text.clientHeight) text.tabIndex = 0; // so that keys can scroll it
    }
  }
  if (!isOpen && details) details.remove();
}

let covered = 0; // pixels of the screen that the bar covers, as the style knows it

/** Tell the style how much of the screen the bar covers; all of the page is styled again for it. */
function measure() {
  const height = getComputedStyle(bar).position === "sticky" ? bar.offsetHeight : 0;
  if (height === covered) return;
  covered = height;
  document.documentElement.style.setProperty("--bar", `${height}px`);
}

/** Show in the map which part of the run is on the screen. */
function follow() {
  if (!run || !map.lastChild) return;
  const { left, bottom } = bar.getBoundingClientRect();
  const at = (y) => document.elementFromPoint(left + 24, y)?.closest(".item");
  const [first, last] = [at(bottom + 4), at(innerHeight - 4)];
  const share = (element, none) => (element ? place.get(element.id) / shown.length : none);
  map.lastChild.hidden = !first && !last;
  map.lastChild.style.setProperty("--from", share(first, 0));
  map.lastChild.style.setProperty("--to", share(last, 1));
}
