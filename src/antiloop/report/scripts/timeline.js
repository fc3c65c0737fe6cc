// What happened in a run, one row each: calls, and what was said between them.

const SLOW_S = 1; // seconds from which a row says how long its call took
const NEIGHBORS = 6; // links to the same call before and after a step
const SPEAKERS = { user: "User", assistant: "Model", system: "System", tool: "Tool" };

const mark = (call, isSeen) => (call.mark
  ? el("i", `chip ${look(call)}${isSeen ? " seen" : ""}`, call.mark) : el("i", "dot"));

const resultText = (result) => (result ? result.text || "(nothing)" : "(not recorded)");

function drawItem(run, item) {
  const made = item.message ? drawMessage(run, item) : drawStep(run, item.step);
  made.id = item.name;
  return made;
}

function drawRow(name, ...children) {
  const row = el("button", name, ...children);
  row.type = "button";
  return row;
}

function drawMessage(run, { message: { role, text, length, is_thought: isThought } }) {
  const size = role === "system" || isThought || text.length > PREVIEW
    ? el("span", "notes", plural(length || text.length, "character")) : "";
  const [name, speaker] = isThought ? ["thoughts", "Thoughts"] : [`by-${role}`, SPEAKERS[role] || role];
  return el("div", `item said ${name}`, drawRow("row", el("b", "speaker", speaker),
    el("span", "words", ...preview(text || "(nothing that is known)", run.words)), size));
}

function drawStep(run, step) {
  const [number, answer, lane, isSeen] = run.steps[step];
  const [call, result] = [run.calls[number], run.results[answer]];
  const row = drawRow("row", el("span", "number", step), el("span", "lanes", mark(call, isSeen)),
    el("span", "asked", el("b", "", ...marked(call.tool, run.words)), " ",
      ...preview(call.text, run.words)),
    el("span", "nth", call.mark ? `\u00d7${run.nth[step]}` : ""),
    el("span", "answered" + (result && result.is_failure ? " failure" : ""),
      ...preview(resultText(result), run.words)));
  row.style.setProperty("--lane", lane);
  const notes = el("span", "notes");
  if (run.laps.has(step)) notes.append(el("span", "lap", `lap ${run.laps.get(step)}`));
  const acts = (run.actionsAt.get(step) || []).map(([action]) => ACTIONS[action]);
  if (acts.length) notes.append(el("span", "flag", [...new Set(acts)].join(", ")));
  const [, took] = run.clock[step] || [];
  if (took >= SLOW_S) notes.append(el("span", "took", lengthOf(took)));
  row.append(notes);
  const made = el("div", "item step", row);
  made.classList.toggle("concerned", run.concerned.has(step));
  made.classList.toggle("sibling", run.siblings.has(step));
  made.classList.toggle("turn", run.turns.has(step) && step > 0);
  return made;
}

function drawDetails(run, item) {
  if (item.message) {
    const { text, length } = item.message;
    return el("div", "details", ...drawText({ text, length }, "(nothing that is known)", run.words));
  }
  const [number, answer, , isSeen] = run.steps[item.step];
  const [call, result] = [run.calls[number], run.results[answer]];
  const made = el("div", "details");
  for (const [action, loop] of run.actionsAt.get(item.step) || []) {
    made.append(el("p", "acted", el("b", "", `Here the ${ACTIONS[action]} would have come: `),
      link(`#run-${run.number}-loop-${run.loops.indexOf(loop)}`, "", loop.label)));
  }
  made.append(el("h4", "", `Call of ${call.tool}`), ...drawText(call, "(no arguments)", run.words),
    el("h4", "", result && result.is_failure ? "Result, a failure" : "Result"),
    ...drawText(result || { text: "" }, resultText(result), run.words));
  const times = run.times.get(number);
  const when = whenOf(run, item.step);
  if (when) made.append(el("p", "quiet", when));
  if (times.length > 1) made.append(drawTimes(run, item.step, times, isSeen));
  return made;
}

/** Say when a call began and how long it took, as far as it is recorded. */
function whenOf(run, step) {
  const [at, took] = run.clock[step] || [null, null];
  const began = aboutOf(run.number).began_s;
  return [at !== null && began !== null && `Called at ${momentOf(began + at)}:${timeOf(began + at).slice(6)} UTC`,
    took !== null && `took ${lengthOf(took)}`].filter(Boolean).join(", ");
}

function drawTimes(run, step, times, isSeen) {
  const here = run.nth[step] - 1;
  const near = times.slice(Math.max(0, here - NEIGHBORS), here + NEIGHBORS + 1);
  const links = near.map((other) => (other === step
    ? el("b", "", step) : link(hashOf(run.number, `step-${other}`), "", other)));
  const looped = times.filter((other) => run.concerned.has(other)).length;
  const share = !looped || looped === times.length ? "" : `, ${looped} of them in a loop`;
  return el("p", "quiet", isSeen ? "Nothing new came back. " : "",
    `In the whole run this call was made ${plural(times.length, "time")}${share}: at step `,
    ...links.flatMap((one) => [one, " "]), near.length < times.length ? "and others." : "");
}
