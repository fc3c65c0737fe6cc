"use strict";
// From data to elements. What comes from a trace enters the page as a text node, made in el(), and
// is never parsed as HTML.

const INVISIBLE =
  /[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]/g;
const PREVIEW = 300; // characters of a text that a closed step shows at most
const BEFORE_MATCH = 16; // characters of it that stand before what was searched
const NEIGHBOURS = 6; // links to the same call before and after a step
const MAP_COLUMNS = 400;
const STATES = ["Failed", "Likely stuck", "Warning", "Healthy"]; // worst first
const SHAPES = [[[0.1, 0.8]], [[0.1, 0.3], [0.6, 0.3]], [[0.35, 0.3]]]; // top and height of lines

const byId = (id) => document.getElementById(id);
const read = (id) => JSON.parse(byId(id).textContent);
const plural = (number, noun) => `${number.toLocaleString("en")} ${noun}${number === 1 ? "" : "s"}`;
const oneLine = (text) => text.slice(0, PREVIEW).replace(/\s+/g, " ");
const state = (status) => "status is-" + status.toLowerCase().replace(/\W+/g, "-");

/** Show what cannot be seen, such as marks that reverse the direction of a line, as escapes. */
function visible(text) {
  return String(text).replace(INVISIBLE,
    (char) => "\\u" + char.charCodeAt(0).toString(16).padStart(4, "0"));
}

function el(tag, name, ...children) {
  const made = document.createElement(tag);
  if (name) made.className = name;
  made.append(...children.map((child) => (child instanceof Node ? child : visible(child))));
  return made;
}

function svg(tag, attributes) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const name in attributes) made.setAttribute(name, attributes[name]);
  return made;
}

const hashOf = (run, step) => `#run-${run}` + (step === undefined ? "" : `-step-${step}`);

function link(hash, name, ...children) {
  const made = el("a", name, ...children);
  made.href = hash;
  return made;
}

// ---- runs ----

function drawRuns(runs) {
  const states = STATES.map((state) => [state, runs.filter(({ status }) => status === state).length])
    .filter(([, number]) => number).map(([state, number]) => `${number} ${state.toLowerCase()}`);
  byId("summary").textContent = [plural(runs.length, "run"), ...states].join(" \u00b7 ");
  const items = runs.map((one) => el("li", "", link(hashOf(one.number), "run",
    el("span", "id", one.id), el("span", state(one.status), `${one.status}, ${one.score}/100`),
    el("span", "quiet", `${plural(one.calls, "call")}, ${plural(one.warnings, "warning")}`))));
  const all = el("details", "", el("summary", "", plural(runs.length, "run") + ", worst first"),
    el("ol", "", ...items));
  byId("runs").append(all);
  byId("runs").hidden = runs.length < 2;
  all.open = isBeside(byId("runs"));
}

/** Tell whether the list of runs stands beside the run, not above it. */
const isBeside = (nav) => getComputedStyle(nav).position === "sticky";

function drawAbout(about) {
  const title = el("h2", "", about.id);
  title.id = "run-id";
  title.tabIndex = -1; // where the focus goes when the run is chosen
  const from = [about.source, about.agent && `agent ${about.agent}`, about.model].filter(Boolean);
  const figures = [
    ["health", `${about.score}/100`], ["calls", about.calls], ["wasted calls", about.wasted_calls],
    ["wasted tokens", about.wasted_tokens], ["tokens read", about.input_tokens],
    ["tokens written", about.output_tokens], ["cost", about.cost],
  ].filter(([, value]) => value !== null);
  byId("about").replaceChildren(
    el("p", state(about.status), about.status), title, el("p", "quiet", from.join(" \u00b7 ")),
    el("dl", "", ...figures.map(([name, value]) => el("div", "", el("dt", "", name),
      el("dd", "", value.toLocaleString("en", { maximumFractionDigits: 4 }))))));
}

function drawWarnings(run) {
  const title = el("h3", "", run.warnings.length ? "Warnings" : "No warnings");
  title.id = "warnings-title";
  const advised = new Set(); // what several warnings advise is said once
  const items = run.warnings.map((one) => {
    const parts = warningParts(one, run.steps.length ? `step ${one.step}` : "");
    if (advised.has(one.suggestion)) parts.pop();
    advised.add(one.suggestion);
    return el("li", "", run.steps.length
      ? link(hashOf(run.number, one.step), "warning", ...parts) : el("div", "warning", ...parts));
  });
  const said = run.steps.length ? [] : drawSaid(run.messages, "");
  byId("warnings").replaceChildren(title, el("ol", "", ...items), ...said);
}

function warningParts({ message, why, suggestion, penalty, is_open }, where) {
  const cost = penalty ? `\u2212${penalty.toLocaleString("en")}` : "";
  const at = [is_open ? "" : "ended", cost, where].filter(Boolean).join(" \u00b7 ");
  return [el("b", "", message), el("span", "at", at),
    el("span", "advice", el("span", "quiet", why), " ", suggestion)];
}

// ---- steps ----

/** Give the line of a text for a closed step: its start, or where what was searched is found. */
function preview(text, words) {
  const at = words ? text.toLowerCase().indexOf(words) : -1;
  if (at < 0) return [oneLine(text)];
  const [start, end] = [at > BEFORE_MATCH ? at - BEFORE_MATCH : 0, at + words.length];
  return [(start ? "\u2026" : "") + oneLine(text.slice(start, at)),
    el("mark", "", oneLine(text.slice(at, end))), oneLine(text.slice(end))];
}

/** Give a whole text with all that was searched marked. */
function marked(text, words) {
  if (!words) return [text];
  const [parts, lower] = [[], text.toLowerCase()];
  let end = 0;
  for (let at = lower.indexOf(words); at >= 0; at = lower.indexOf(words, end)) {
    parts.push(text.slice(end, at), el("mark", "", text.slice(at, at + words.length)));
    end = at + words.length;
  }
  return [...parts, text.slice(end)];
}

const look = ({ tone, shape }) => `tone-${tone} shape-${shape}`;

const mark = (call, isSeen) => (call.mark
  ? el("i", `chip ${look(call)}${isSeen ? " seen" : ""}`, call.mark) : el("i", "dot"));

const flagText = ([first, ...others]) => first.name + (others.length ? ` +${others.length}` : "");

const resultText = (result) => (result ? result.text || "(nothing)" : "(not recorded)");

function drawStep(run, step) {
  const [number, answer, lane, isSeen] = run.steps[step];
  const [call, result] = [run.calls[number], run.results[answer]];
  const warnings = run.warningsAt.get(step) || [];
  const row = el("button", "row", el("span", "number", step),
    el("span", "lanes", mark(call, isSeen)),
    el("span", "asked", el("b", "", ...marked(call.tool, run.words)), " ",
      ...preview(call.text, run.words)),
    el("span", "nth", call.mark ? `\u00d7${run.nth[step]}` : ""),
    el("span", "answered" + (result && result.is_failure ? " failure" : ""),
      ...preview(resultText(result), run.words)));
  row.type = "button";
  row.style.setProperty("--lane", lane);
  const notes = el("span", "notes");
  if (run.saidAt.has(step)) notes.append(el("span", "lap", "said"));
  if (run.laps.has(step)) notes.append(el("span", "lap", `lap ${run.laps.get(step)}`));
  if (warnings.length) notes.append(el("span", "flag", flagText(warnings)));
  row.append(notes);
  const made = el("div", "step", row);
  made.id = `step-${step}`;
  made.classList.toggle("concerned", run.concerned.has(step));
  made.classList.toggle("sibling", !run.rounds.has(step));
  made.classList.toggle("turn", run.turns.has(step) && step > 0);
  return made;
}

function drawDetails(run, step) {
  const [number, answer, , isSeen] = run.steps[step];
  const [call, result] = [run.calls[number], run.results[answer]];
  const made = el("div", "details");
  for (const one of run.warningsAt.get(step) || []) {
    made.append(el("div", "warning", ...warningParts(one, "")));
  }
  const said = run.saidAt.get(step) || [];
  made.append(...drawSaid(said.filter(({ position }) => position <= step), run.words));
  made.append(el("h4", "", `Call of ${call.tool}`), ...drawText(call, "(no arguments)", run.words),
    el("h4", "", result && result.is_failure ? "Result, a failure" : "Result"),
    ...drawText(result || { text: "", length: 0 }, resultText(result), run.words));
  const times = run.times.get(number);
  made.append(...drawSaid(said.filter(({ position }) => position > step), run.words));
  if (times.length > 1) made.append(drawTimes(run, step, times, isSeen));
  return made;
}

/** Give what was said by the step that it is shown with: the call after it, or the last one. */
function saidAt({ messages, steps }) {
  const found = new Map();
  for (const one of messages) {
    const step = Math.min(one.position, Math.max(0, steps.length - 1));
    if (!found.has(step)) found.set(step, []);
    found.get(step).push(one);
  }
  return found;
}

/** Show what was said as text; what is long is folded. */
function drawSaid(messages, words) {
  return messages.flatMap((one) => {
    const text = drawText(one, "", words);
    if (one.length <= PREVIEW) return [el("h4", "", `Said by the ${one.role}`), ...text];
    const line = el("summary", "", `Said by the ${one.role}: `, ...preview(one.text, words));
    return [el("details", "said", line, ...text)];
  });
}

function drawText({ text, length }, otherwise, words) {
  const shown = [el("pre", text ? "" : "quiet", ...marked(text || otherwise, words))];
  if (text.length < length) {
    const [kept, all] = [text.length, length].map((number) => number.toLocaleString("en"));
    shown.push(el("p", "quiet", `Shortened in the middle to ${kept} of ${all} characters.`));
  }
  return shown;
}

function drawTimes(run, step, times, isSeen) {
  const here = run.nth[step] - 1;
  const near = times.slice(Math.max(0, here - NEIGHBOURS), here + NEIGHBOURS + 1);
  const links = near.map((other) => (other === step
    ? el("b", "", step) : link(hashOf(run.number, other), "", other)));
  const warned = times.filter((other) => run.concerned.has(other)).length;
  const share = !warned || warned === times.length ? "" : `, ${warned} of them in what is warned of`;
  return el("p", "quiet", isSeen ? "Nothing new came back. " : "",
    `In the whole run this call was made ${plural(times.length, "time")}${share}: at step `,
    ...links.flatMap((one) => [one, " "]), near.length < times.length ? "and others." : "");
}

// ---- the map: the whole run in one strip ----

function drawMap(run, steps) {
  const columns = Math.max(1, Math.min(MAP_COLUMNS, steps.length));
  const all = svg("svg", { viewBox: `0 0 ${columns} ${run.lanes + 1}`, preserveAspectRatio: "none" });
  const cells = new Map(); // of the steps that share one, one with nothing new is shown
  const rect = (x, y, height, name) => all.append(
    svg("rect", { x, y, width: 1, height, class: name }));
  steps.forEach((step, position) => {
    const [number, , lane, isSeen] = run.steps[step];
    const x = Math.floor((position * columns) / steps.length);
    const call = run.calls[number];
    const [key, rank] = [x * run.lanes + lane, call.mark ? isSeen : -1];
    if (!(cells.get(key)?.rank >= rank)) cells.set(key, { x, lane, rank, call });
    if (run.warningsAt.has(step)) rect(x, run.lanes + 0.2, 0.8, "flag");
  });
  for (const { x, lane, rank, call } of cells.values()) {
    const name = call.mark ? look(call) + (rank ? " seen" : "") : "once";
    for (const [top, height] of SHAPES[call.shape]) rect(x, lane + top, height, name);
  }
  byId("map").replaceChildren(all, el("div", "here"));
}
