// One run, as it is read out of the page: its data from a block of JSON, its texts from the plain
// page for browsers without scripts.

const index = JSON.parse(byId("index").textContent); // as the overview shows them at first
const isLive = "live" in byId("index").dataset; // served, and kept up to date
const aboutOf = (number) => index.find((one) => one.number === number);

function textsOf(number) {
  const page = new DOMParser().parseFromString(byId(`plain-${number}`).textContent, "text/html");
  return [...page.querySelectorAll("pre")].map((block) => block.textContent);
}

function readRun(number) {
  const run = { ...JSON.parse(byId(`data-${number}`).textContent), number };
  const texts = textsOf(number);
  const withText = (one) => ({ ...one, length: run.cut[one.text], text: texts[one.text] });
  run.calls = run.calls.map(withText);
  run.results = run.results.map(withText);
  run.messages = run.messages.map(withText);
  run.siblings = new Set(run.siblings);
  run.turns = new Set(run.turns);
  run.items = itemsOf(run);
  run.concerned = new Set(run.loops.flatMap((loop) => loop.steps));
  run.times = new Map(run.calls.map((_, call) => [call, []])); // call -> its steps
  run.nth = run.steps.map(([call], step) => run.times.get(call).push(step));
  run.actionsAt = new Map(); // step -> what would have been done there, as [action, loop]
  run.laps = new Map(); // step -> the number of the lap of a cycle that begins with it
  for (const loop of run.loops) {
    for (const [step, action] of loop.actions) {
      run.actionsAt.set(step, [...(run.actionsAt.get(step) || []), [action, loop]]);
    }
    if (loop.period > 1) for (const [lap, [first]] of loop.laps) run.laps.set(first, lap);
  }
  run.suspicion = suspicionOf(run);
  return run;
}

/** Give what happened, in its order: steps and what was said between them, each with a name. */
function itemsOf({ steps, messages }) {
  const items = [];
  let said = 0;
  const say = (until) => {
    for (; said < messages.length && messages[said].position <= until; said += 1) {
      items.push({ name: `said-${said}`, message: messages[said] });
    }
  };
  steps.forEach((_, step) => {
    say(step);
    items.push({ name: `step-${step}`, step });
  });
  say(Infinity);
  return items;
}

/** Give the suspicion after each step in percent; calls of one round share it. */
function suspicionOf({ curve, steps, siblings }) {
  const found = new Map(curve);
  const values = steps.map((_, step) => found.get(step) || 0);
  for (let step = values.length - 1; step > 0; step -= 1) {
    if (siblings.has(step)) values[step - 1] = values[step];
  }
  return values;
}
