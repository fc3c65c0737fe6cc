// What a person says of a finding: right or wrong. The browser keeps it; it is saved as a file of
// labels, which `antiloop calibrate --labels` reads. Such a file can be loaded again, on another day
// or by somebody else; a label of the file replaces one that is kept on the same loop.

const KEPT = "antiloop-labels";
// What was found is named by the key of its loop, and what a person adds by its steps, or null.
const markName = (runId, key) => JSON.stringify([runId, key]);
let marks = {}; // name of a loop of a run -> its label
const loaded = new Set(); // names of labels of the file, whose runs need not be on this page
let marksSaid = ""; // what came of loading a file

function readMarks() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEPT) || "{}");
    marks = kept && typeof kept === "object" ? kept : {};
  } catch {
    marks = {}; // the browser keeps nothing, or something else is there
  }
}

/** Keep a label, or drop it where it is undefined. */
function keepMark(runId, key, label) {
  readMarks(); // another tab may have kept more
  if (label) marks[markName(runId, key)] = label;
  else delete marks[markName(runId, key)];
  marksSaid = "";
  writeMarks();
  drawMarks();
}

function writeMarks() {
  try {
    localStorage.setItem(KEPT, JSON.stringify(marks));
  } catch {
    announce("The browser does not keep this label; save the labels before you close the page.");
  }
}

/** Draw the two buttons that say whether a finding is right. */
function drawVerdict(one, loop) {
  const buttons = [["Right", true], ["Wrong", false]].map(([name, isStuck]) => {
    const button = drawRow("verdict", name);
    button.addEventListener("click", () => {
      const isTaken = marks[markName(one.id, loop.key)]?.is_stuck === isStuck;
      keepMark(one.id, loop.key, isTaken ? undefined : {
        run_id: one.id, steps: [loop.steps[0], loop.steps[loop.steps.length - 1]],
        is_stuck: isStuck, loop: loop.key,
      });
      tell();
    });
    return [button, isStuck];
  });
  const tell = () => buttons.forEach(([button, isStuck]) => button.setAttribute("aria-pressed",
    marks[markName(one.id, loop.key)]?.is_stuck === isStuck));
  tell();
  return elWith("span", "verdicts", { role: "group", "aria-label": "Is this finding right?" },
    "Is this finding right? ", ...buttons.map(([button]) => button));
}

/** List the labels on runs of this page, and those of the file that was loaded. */
function marksHere() {
  const ids = new Set(index.map(({ id }) => id));
  return Object.entries(marks).filter(([name, label]) => ids.has(label?.run_id) || loaded.has(name))
    .map(([, label]) => label);
}

/** Say how many loops have a label, with buttons that save and load labels. */
function drawMarks() {
  const labels = marksHere();
  const line = byId("marks");
  const isFocused = line.contains(document.activeElement);
  byId(run ? "loops" : "listed").after(line);
  line.hidden = run ? !run.loops.length : !labels.length && !index.some(({ loops }) => loops.length);
  const wrong = labels.filter((label) => !label.is_stuck).length;
  const [save, load] = [["Save labels", saveMarks], ["Load labels", chooseMarks]].map(([name, act]) => {
    const button = drawRow("verdict", name);
    button.addEventListener("click", act);
    return button;
  });
  line.replaceChildren(...(labels.length
    ? [`${plural(labels.length, "finding")} marked, ${count(wrong)} of them wrong. `, save, " "] : []),
  load, marksSaid && ` ${marksSaid}`);
  if (isFocused) load.focus();
}

/** Ask for a file of labels. */
function chooseMarks() {
  const input = elWith("input", "", { type: "file", accept: ".jsonl,.json" });
  input.addEventListener("change", () => input.files[0]?.text().then(loadMarks));
  input.click();
}

/** Take the labels of a file, as a report or `antiloop label` wrote it. */
function loadMarks(text) {
  const lines = text.replace(/^\ufeff/, "").split("\n").map((line, at) => [line.trim(), at + 1]);
  const labels = lines.filter(([line]) => line).map(([line, number]) => [labelOf(line), number]);
  const wrong = labels.find(([label]) => !label);
  if (wrong) {
    marksSaid = `Line ${wrong[1]} of the file is no label; nothing was loaded.`;
  } else {
    readMarks();
    for (const [label] of labels) {
      const name = markName(label.run_id, label.loop ?? label.steps);
      loaded.add(name);
      marks[name] = label;
    }
    marksSaid = `${plural(labels.length, "label")} loaded.`;
    writeMarks();
  }
  announce(marksSaid);
  if (run) drawLoops(run);
  drawMarks();
}

/** Read a line of a file of labels; undefined if it is none. */
function labelOf(line) {
  let given;
  try {
    given = JSON.parse(line);
  } catch {
    return undefined;
  }
  const { run_id, is_stuck, steps = null, loop = "" } = given ?? {};
  const isSpan = Array.isArray(steps) && steps.length === 2 && steps.every(Number.isInteger)
    && steps[0] >= 0 && steps[0] <= steps[1];
  const isRight = typeof run_id === "string" && typeof is_stuck === "boolean"
    && typeof loop === "string" && (steps === null || isSpan);
  return isRight ? { run_id, steps, is_stuck, ...(loop && { loop }) } : undefined;
}

function saveMarks() {
  const lines = marksHere().map((label) => `${JSON.stringify(label)}\n`);
  const file = URL.createObjectURL(new Blob(lines, { type: "application/jsonl" }));
  const link_ = elWith("a", "", { href: file, download: "labels.jsonl" });
  link_.click();
  setTimeout(() => URL.revokeObjectURL(file));
  announce(`${plural(lines.length, "label")} saved as labels.jsonl`);
}
