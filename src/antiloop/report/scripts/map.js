// Pictures of a run: the map with the curve of the suspicion above it, and the miniature of a row.

const MAP_COLUMNS = 400;
const CURVE = 3; // height of the curve, in lanes
const SHAPES = [[[0.1, 0.8]], [[0.1, 0.3], [0.6, 0.3]], [[0.35, 0.3]]]; // top and height of lines
const LEVELS = [[0.4, 0.2], [0.3, 0.4], [0.15, 0.7], [0, 1]]; // of a miniature: top and height

const look = ({ tone, shape }) => `tone-${tone} shape-${shape}`;

/** Draw these steps of a run in one strip, lanes below the curve of the suspicion. */
function drawStrip(run, steps) {
  const columns = Math.max(1, Math.min(MAP_COLUMNS, steps.length));
  const top = run.curve.length ? CURVE : 0;
  const all = svg("svg", {
    viewBox: `0 0 ${columns} ${top + run.lanes + 1}`, preserveAspectRatio: "none", class: "strip",
  });
  if (top) all.append(drawCurve(run, steps, columns));
  const cells = new Map(); // of the steps that share one, one with nothing new is shown
  const rect = (x, y, height, name) => all.append(
    svg("rect", { x, y: top + y, width: 1, height, class: name }));
  steps.forEach((step, position) => {
    const [number, , lane, isSeen] = run.steps[step];
    const x = Math.floor((position * columns) / steps.length);
    const call = run.calls[number];
    const [key, rank] = [x * run.lanes + lane, call.mark ? isSeen : -1];
    if (!(cells.get(key)?.rank >= rank)) cells.set(key, { x, lane, rank, call });
    if (run.actionsAt.has(step)) rect(x, run.lanes + 0.2, 0.8, "flag");
    else if (run.concerned.has(step)) rect(x, run.lanes + 0.4, 0.4, "looped");
  });
  for (const { x, lane, rank, call } of cells.values()) {
    const name = call.mark ? look(call) + (rank ? " seen" : "") : "once";
    for (const [at, height] of SHAPES[call.shape || 0]) rect(x, lane + at, height, name);
  }
  return all;
}

function drawCurve(run, steps, columns) {
  const highest = new Array(columns).fill(0);
  steps.forEach((step, position) => {
    const x = Math.floor((position * columns) / steps.length);
    highest[x] = Math.max(highest[x], run.suspicion[step]);
  });
  const height = (value) => (CURVE - 0.3) * (1 - value / 100) + 0.1;
  const path = highest.map((value, x) => `L${x} ${height(value)}H${x + 1}`).join("");
  return svg("g", { class: "curve" },
    svg("path", { d: `M0 ${height(0)}${path}V${height(0)}Z` }));
}

/** Draw a run as small as a word; a step of a loop stands as high as the line. */
function drawMiniature(picture) {
  const all = svg("svg", {
    viewBox: `0 0 ${Math.max(12, picture.length)} 1`, preserveAspectRatio: "none", class: "miniature",
    "aria-hidden": true,
  });
  LEVELS.forEach(([top, height], level) => {
    const runs = [...picture.matchAll(new RegExp(`${level}+`, "g"))];
    const path = runs.map(({ index, 0: { length } }) => `M${index} ${top}h${length}v${height}h-${length}z`);
    if (runs.length) all.append(svg("path", { d: path.join(""), class: `level-${level}` }));
  });
  return all;
}
