// When something was, and how long it took. Times are shown in UTC, so that a page says the same
// wherever it is read.

const HOUR_S = 3600;
const DAY_S = 86400;

/** Give the date of a Unix time, as 2026-01-31. */
const dayOf = (seconds) => new Date(1000 * seconds).toISOString().slice(0, 10);
const timeOf = (seconds) => new Date(1000 * seconds).toISOString().slice(11, 19);
const momentOf = (seconds) => `${dayOf(seconds)} ${timeOf(seconds).slice(0, 5)}`;

/** Say how long something took, in the two largest units. */
function lengthOf(seconds) {
  if (seconds < 1) return `${Math.round(1000 * seconds)} ms`;
  if (seconds < 10) return `${count(Math.round(10 * seconds) / 10)} s`;
  const parts = [[DAY_S, "d"], [HOUR_S, "h"], [60, "min"], [1, "s"]];
  const at = parts.findIndex(([size]) => seconds >= size);
  const [[size, unit], smaller] = parts.slice(at, at + 2);
  const rest = smaller && Math.floor((seconds % size) / smaller[0]);
  return `${Math.floor(seconds / size)} ${unit}${rest ? ` ${rest} ${smaller[1]}` : ""}`;
}

/** Say how long ago something was. */
function agoOf(seconds) {
  const passed = Math.max(0, Date.now() / 1000 - seconds);
  if (passed < 10) return "now";
  const [size, noun] = [[DAY_S, "day"], [HOUR_S, "hour"], [60, "minute"], [1, "second"]]
    .find(([size_]) => passed >= size_);
  return `${plural(Math.floor(passed / size), noun)} ago`;
}

/** Say when a loop began and how long it went on; empty where that is not known. */
function spanOfTime(run, began, { steps }) {
  const known = steps.map((step) => run.clock[step]).filter((time) => time && time[0] !== null);
  if (!known.length || began === null) return "";
  const [from] = known[0];
  const until = Math.max(...known.map(([at, took]) => at + (took ?? 0)));
  return `${timeOf(began + from)} for ${lengthOf(until - from)}`;
}
