// The loops of a run, one card each, and the rules behind its score.

const AROUND = 4; // steps before and after a loop that its picture shows
const ACTIONS = { notify: "notice", block: "block", conclude: "last word", stop: "stop", raise: "exception" };

function drawLoops(run) {
  const title = el("h3", "", run.loops.length ? plural(run.loops.length, "loop") : "No loops");
  title.id = "loops-title";
  const cards = run.loops.map((loop, number) => el("li", "", drawCard(run, loop, number)));
  byId("loops").replaceChildren(title, el("ol", "", ...cards));
}

const span = (steps) => (steps.length > 1
  ? `steps ${steps[0]}\u2013${steps[steps.length - 1]}` : `step ${steps[0]}`);

function drawCard(run, loop, number) {
  const isOfCalls = run.steps.length > 0;
  const [first] = loop.actions[0];
  const name = loop.call || loop.label;
  const title = isOfCalls ? link(hashOf(run.number, `step-${first}`), "", name) : name;
  const others = (groups.find(({ key }) => key === loop.key)?.runs ?? 1) - 1;
  const wasted = [plural(loop.wasted, "call"), `${about(loop.tokens, loop.is_estimate)} tokens`];
  if (loop.cost !== null) wasted.push(count(loop.cost));
  const card = el("article", "card", el("h4", "", title, el("span", "at",
    [loop.times, span(loop.steps), spanOfTime(run, aboutOf(run.number).began_s, loop), loop.wasted ? `${wasted.join(", ")} wasted` : ""].filter(Boolean).join(" \u00b7 "))),
    el("p", "answer", loop.answer ? el("q", "", loop.answer) : el("span", "quiet", "The answer is not recorded.")),
    el("p", "advice", loop.advice));
  card.id = `loop-${number}`;
  if (isOfCalls) card.append(drawRegion(run, loop));
  card.append(el("p", "acts", ...loop.actions.flatMap(([step, action]) => [
    isOfCalls ? link(hashOf(run.number, `step-${step}`), `act is-${action}`,
      `${ACTIONS[action]} at step ${step}`) : el("span", `act is-${action}`, ACTIONS[action]), " "]),
    el("span", "quiet", `found by ${loop.detectors.join(", ")}`),
    others ? link(loopHash(loop.key), "same", `this loop in ${count(others + 1)} runs`) : ""));
  if (loop.summary) card.append(el("p", "quiet", loop.summary));
  card.append(drawVerdict(aboutOf(run.number), loop));
  if (loop.laps.length > 1) card.append(drawLaps(run, loop));
  return card;
}

/** Draw the part of the map in which a loop stands, with where it would have been acted on. */
function drawRegion(run, { steps, actions, label }) {
  const from = Math.max(0, steps[0] - AROUND);
  const to = Math.min(run.steps.length, steps[steps.length - 1] + AROUND + 1);
  const shown = Array.from({ length: to - from }, (_, at) => from + at);
  const flags = actions.map(([step, action]) => {
    const flag = elWith("span", `pin is-${action}`, { "aria-hidden": true }, ACTIONS[action]);
    flag.style.setProperty("--at", (step - from + 0.5) / shown.length);
    return flag;
  });
  const peak = Math.max(...shown.map((step) => run.suspicion[step]));
  const figure = elWith("div", "region", {
    role: "img", "aria-label": `Map of ${label}, steps ${from} to ${to - 1}; suspicion up to ${peak} %`,
  }, drawStrip(run, shown), ...flags);
  figure.style.setProperty("--lanes", run.lanes + (run.curve.length ? CURVE : 0));
  return figure;
}

// ---- laps ----

/** Show two laps beside each other; which ones can be chosen. */
function drawLaps(run, loop) {
  const made = el("details", "laps", el("summary", "", `Compare ${plural(loop.lap_count, "lap")}`));
  made.addEventListener("toggle", () => {
    if (!made.open || made.children.length > 1) return;
    const isOther = ([, , calls, results]) => [calls, results].includes("another");
    const last = loop.laps.findLastIndex(isOther) > 0
      ? loop.laps.findLastIndex(isOther) : loop.laps.length - 1;
    const [one, other] = [last - 1, last].map((at) => drawChoice(loop, at));
    const view = el("div", "sides");
    const draw = () => view.replaceChildren(...drawPairs(run, loop, one.value, other.value));
    one.addEventListener("change", draw);
    other.addEventListener("change", draw);
    made.append(el("p", "choice", el("label", "", "Lap ", one), el("label", "", " beside lap ", other)),
      view);
    draw();
  });
  return made;
}

const LAP_NOTES = {
  "another": ["other calls", "other results"],
  "the same but for noise": ["", "results differ in noise only"],
  "unknown": ["", "results not known"],
};

/** Say how a lap compares with the one before. */
function lapNote([, , calls, results]) {
  if (!calls) return "";
  const notes = [calls, results].map((one, at) => LAP_NOTES[one]?.[at]).filter(Boolean);
  return `, ${notes.join(", ") || "the same as the one before"}`;
}

function drawChoice(loop, chosen) {
  const made = el("select", "", ...loop.laps.map((lap, at) => (
    elWith("option", "", { value: at }, `${lap[0]}, step ${lap[1][0]}${lapNote(lap)}`))));
  made.value = chosen;
  return made;
}

function drawPairs(run, loop, one, other) {
  const [left, right] = [one, other].map((at) => loop.laps[at][1]);
  const steps = Array.from({ length: Math.max(left.length, right.length) }, (_, at) => at);
  return steps.flatMap((at) => [
    ...drawPair(left[at], right[at], (step) => {
      const call = run.calls[run.steps[step][0]];
      return call.tool + (call.text && `\n${call.text}`);
    }, "Call"),
    ...drawPair(left[at], right[at], (step) => (
      run.results[run.steps[step][1]] || { text: "(not recorded)" }).text || "(nothing)", "Result"),
  ]);
}

function drawPair(one, other, textOf, what) {
  const texts = [one, other].map((step) => (step === undefined ? "" : textOf(step)));
  if (one !== undefined && other !== undefined && texts[0] === texts[1]) {
    // What keeps coming back is read once, whole; to compare it with itself shows nothing.
    return [el("h5", "", `${what}, the same in both`), el("pre", "side", texts[0])];
  }
  const sides = difference(...texts);
  const note = one === undefined || other === undefined ? "in one of the laps only" : "different";
  return [el("h5", "", `${what}, ${note}`),
    el("div", "pair", drawSide(sides[0], "del"), drawSide(sides[1], "ins"))];
}

// ---- the score ----

function drawScore(run, entries, score) {
  const floor = 100 + entries.reduce((sum, [, points]) => sum + points, 0) < 0 ? ["0 is the least"] : [];
  const lines = entries.map(([name, points]) => el("tr", "", el("td", "", name.replace(/_/g, " ")),
    el("td", "", count(points))));
  const rules = run.rules.map((rule) => {
    const where = run.steps.length
      ? link(hashOf(run.number, `step-${rule.step}`), "", `step ${rule.step}`) : "";
    return el("li", "rule", el("b", "", rule.message), el("span", "at", rule.is_open ? "" : "ended ",
      where), el("span", "advice", el("span", "quiet", rule.why), " ", rule.suggestion));
  });
  const made = el("details", "", el("summary", "", `Score ${count(score)}`),
    el("table", "ledger", el("tbody", "", el("tr", "", el("td", "", "to begin with"), el("td", "", "100")),
      ...lines, ...floor.map((text) => el("tr", "", el("td", "quiet", text), el("td", "")))), el("tfoot", "", el("tr", "", el("th", "", "score"), el("td", "", count(score))))),
    el("ol", "", ...rules));
  made.open = run.rules.length > 0 && !run.loops.length;
  byId("score").replaceChildren(...(entries.length || rules.length ? [made] : []));
}
