// A page that is served: rows come as server-sent events, a run is read when it is opened.

const PAUSE_MS = 5000; // between two readings of a run that goes on
const AGO_MS = 5000;
const reads = new Map(); // number of the run that was read -> what is known of it as a whole
let isConnected = true;
let readAt = 0;
let filtered; // the detectors that can be chosen
let waiting = 0; // the timer of the next reading

/** Keep a block of text in the page, where the rest of the script finds it. */
function keep(tag, id, text) {
  const block = byId(id) || document.body.appendChild(elWith(tag, "", { id }));
  if (tag === "script") block.type = "application/json";
  block.textContent = text;
}

async function read(number) {
  const answer = await fetch(`runs/${number}`);
  if (!answer.ok) throw new Error(answer.status);
  const { about: known, data, plain } = await answer.json();
  for (const other of reads.keys()) {
    if (other !== number) for (const kind of ["data", "plain"]) byId(`${kind}-${other}`).remove();
  }
  reads.clear();
  keep("script", `data-${number}`, data);
  keep("noscript", `plain-${number}`, plain);
  reads.set(number, known);
  readAt = performance.now();
}

/** Read a run and go where an address leads in it. */
async function openRun(number, hash) {
  try {
    await read(number);
  } catch {
    announce("The recording of this run cannot be read now.");
    byId("listed").textContent = "The recording of this run cannot be read now.";
    return;
  }
  run = undefined;
  if (location.hash === hash) lead(hash);
}

/** Read the run that is shown again, and stay at the same place. */
async function renew() {
  waiting = 0;
  if (!run) return;
  const { number } = run;
  try {
    await read(number);
  } catch {
    return; // what is shown stays
  }
  if (!run || run.number !== number) return;
  const y = scrollY;
  run = undefined;
  show(number);
  scrollTo(0, y);
}

/** Show what a run has more, at once or, where somebody reads in it, when that is asked for. */
function offer(one) {
  if (!run || run.number !== one.number || one.calls <= run.steps.length || waiting) return;
  if (current || search.value) {
    if (byId("about").querySelector(".more")) return;
    const button = elWith("button", "more", { type: "button" }, "Show new steps");
    button.addEventListener("click", renew);
    byId("about").append(button);
  } else {
    waiting = setTimeout(renew, Math.max(0, PAUSE_MS - (performance.now() - readAt)));
  }
}

function remove(number) {
  for (const list_ of [index, all]) {
    const at = list_.findIndex((one) => one.number === number);
    if (at >= 0) list_.splice(at, 1);
  }
}

/** Take the rows that changed; a whole update names all that there are. */
function take({ rows: changed, gone, is_whole }) {
  const kept = new Set(changed.map(({ number }) => number));
  const dropped = is_whole ? index.map(({ number }) => number).filter((one) => !kept.has(one)) : gone;
  dropped.forEach(remove);
  const troubled = [];
  for (const row of changed) {
    const known = aboutOf(row.number);
    if (row.trouble_s > (known?.trouble_s ?? 0)) troubled.push(row);
    if (known) Object.assign(known, row);
    else for (const list_ of [index, all]) list_.push(row);
    row.place = row.number;
  }
  if (troubled.length) {
    announce(troubled.map(({ id, loops }) => `${id}: ${loops[0]}`).slice(0, 3).join("; "));
  }
  drawLive();
  changed.forEach(offer);
}

/** Draw the overview anew; its filters only where there is another choice, as one may be open. */
function drawLive() {
  const known = [...new Set(all.flatMap(({ detectors }) => detectors))].sort().join();
  if (known !== filtered) drawFilters();
  filtered = known;
  drawTotals();
  if (!run && byId("marks").hidden) drawMarks();
  list();
}

/** Say anew how long ago the sessions were heard of. */
function drawAgo() {
  for (const figure of rows.querySelectorAll(".is-heard")) {
    figure.textContent = agoOf(listed[figure.parentElement.dataset.at].written_s);
  }
}
setInterval(drawAgo, AGO_MS);

/** Give the totals of sessions, of which the tokens are not known. */
function totalsOfSessions(sessions) {
  const sum = (key) => sessions.reduce((total, one) => total + one[key], 0);
  const looping = sessions.filter(({ status }) => status === "looping").length;
  const found = sessions.filter(({ loops }) => loops.length).length;
  return [["runs", sessions.length], ["looping now", looping], ["with loops", found],
    ["calls", sum("calls")], ["calls wasted", sum("wasted_calls")]]
    .map(([name, value]) => [name, count(value)]);
}

addEventListener("DOMContentLoaded", () => {
  byId("words").placeholder = "Search the names of all runs";
  const events = new EventSource("events");
  events.addEventListener("rows", ({ data }) => take(JSON.parse(data)));
  const tell = (isOpen) => () => {
    if (isConnected === isOpen) return;
    isConnected = isOpen;
    announce(isOpen ? "Connected again." : "The connection is lost.");
    drawTotals();
  };
  events.addEventListener("open", tell(true));
  events.addEventListener("error", tell(false));
});
