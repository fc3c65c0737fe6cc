// Filter, sort and search of the overview are in the address, as #list?status=Failed&sort=calls, so
// that the back button, a new tab and a colleague find the same rows.

const FILTERS = ["status", "change", "loop", "detector", "tool", "agent", "model", "since", "until"];
const IS_DAY = /^\d{4}-\d\d-\d\d$/;
let searched = ""; // the words that the texts were searched for last

/** Give the address of the overview as it is now. */
function listHash() {
  const told = new URLSearchParams();
  for (const key of FILTERS) if (chosen[key]) told.set(key, chosen[key]);
  if (sorting.by !== usual) told.set("sort", sorting.by);
  if (sorting.isTurned) told.set("turned", "1");
  if (chosen.words) told.set("search", chosen.words);
  const text = told.toString();
  return text ? `#list?${text}` : "#";
}

/** Write the overview's state into the address, in the place of the last. */
function keepAddress() {
  if (run || overview.hidden || location.hash === listHash() || !isStarted) return;
  history.replaceState(null, "", listHash());
}

/** Choose and sort the rows as an address says. */
function adopt(hash) {
  const told = new URLSearchParams(hash.startsWith("#list?") ? hash.slice(6) : "");
  const before = listHash();
  for (const key of FILTERS) chosen[key] = told.get(key) || "";
  for (const key of ["since", "until"]) if (!IS_DAY.test(chosen[key])) chosen[key] = "";
  chosen.words = (told.get("search") || "").toLowerCase();
  const by = told.get("sort");
  sorting.by = COLUMNS.some(([name]) => name === by) ? by : usual;
  sorting.isTurned = told.get("turned") === "1";
  const isRead = document.readyState !== "loading" || !chosen.words;
  if (listHash() === before && (searched === chosen.words || !isRead)) return;
  byId("words").value = chosen.words;
  drawFilters();
  if (isRead) searchRuns(chosen.words);
  else list();
}
