// Filters of the overview: by what the runs have, by day, and by a loop that several runs have.

const GROUPS_SHOWN = 5;
const LABEL = 60; // letters of a loop in the list of filters
const isOfDays = ({ began_s: began }) => (!chosen.since && !chosen.until)
  || (began !== null && (!chosen.since || dayOf(began) >= chosen.since)
    && (!chosen.until || dayOf(began) <= chosen.until));

/** Group equal loops of several runs, the most frequent first; Python does the same. */
function groupsOf(runs) {
  const groups = new Map();
  for (const one of runs) {
    for (const [key, name] of new Map(one.keys)) {
      const group = groups.get(key) || { key, name, runs: 0, wasted: 0 };
      groups.set(key, group);
      [group.runs, group.wasted] = [group.runs + 1, group.wasted + one.wasted_calls];
    }
  }
  return [...groups.values()].filter((group) => group.runs > 1)
    .sort((one, other) => other.runs - one.runs || other.wasted - one.wasted);
}

const groups = groupsOf(all);
const loopHash = (key) => `#list?${new URLSearchParams({ loop: key })}`;

/** Show the loops that several runs have, each with a link to these runs. */
function drawGroups() {
  const most = groups.slice(0, GROUPS_SHOWN);
  const more = groups.length - most.length;
  const lines = most.map(({ key, name, runs, wasted }) => el("li", "",
    link(loopHash(key), "", `${plural(runs, "run")}`), " ", el("span", "call", name),
    el("span", "quiet", `${plural(wasted, "call")} wasted in these runs`)));
  byId("groups").hidden = !groups.length;
  byId("groups").replaceChildren(el("h3", "", "The same loop in several runs"), el("ol", "", ...lines),
    more ? el("p", "quiet", `and ${count(more)} more; the filter below has all`) : "");
}

/** List the choices of a filter, each a value with its name. */
function choicesOf(key) {
  if (key === "loop") {
    return groups.map(({ key: value, name, runs }) => [value,
      `${name.length > LABEL ? `${name.slice(0, LABEL)}\u2026` : name} (${plural(runs, "run")})`]);
  }
  const known = { detector: "detectors", tool: "tools" };
  const ordered = { status: STATES, change: CHANGES }[key];
  const values = new Set(all.flatMap((one) => one[known[key] || key] || []));
  const listed_ = ordered ? ordered.filter((one) => values.has(one) || (isLive && key === "status"))
    : [...values].sort();
  return listed_.map((value) => [value, value]);
}

function drawFilters() {
  for (const field of document.querySelectorAll("#filters .filter")) field.remove();
  for (const key of FILTERS.filter((each) => each !== "since" && each !== "until")) {
    const choices = choicesOf(key);
    const isShort = choices.length < 2 && !(choices.length && ["detector", "loop"].includes(key));
    if (!choices.some(([value]) => value === chosen[key])) chosen[key] = "";
    if (!isShort) byId("filters").append(drawFilter(key, choices));
  }
  const days = all.map(({ began_s: began }) => began).filter(Boolean).map(dayOf).sort();
  if (!days.length || days[0] === days[days.length - 1]) return;
  byId("filters").append(drawDay("since", days), drawDay("until", days));
}

function drawFilter(key, choices) {
  const select = elWith("select", "filter", { name: key, "aria-label": `Filter by ${key}` },
    elWith("option", "", { value: "" }, `any ${key}`),
    ...choices.map(([value, name]) => {
      const option = el("option", "", name);
      option.value = value;
      return option;
    }));
  select.value = chosen[key];
  select.addEventListener("change", () => choose(key, select.value));
  return select;
}

function drawDay(key, days) {
  const field = elWith("input", "", { type: "date", name: key, min: days[0], max: days[days.length - 1] });
  field.value = chosen[key] || "";
  field.addEventListener("change", () => choose(key, field.value));
  return el("label", "filter day", `${key} `, field);
}

function choose(key, value) {
  chosen[key] = value;
  list();
  announce(`${count(listed.length)} of ${plural(all.length, "run")}`);
}
