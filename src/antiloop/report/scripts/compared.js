// A run beside the one with the same name in the other recordings.

const CHANGE_WORDS = {
  better: "better than before", worse: "worse than before", same: "as before",
  new: "not there before", gone: "not there any more",
};

/** Say in a cell how a run changed. */
function changeText(one) {
  const before = one.other === undefined ? undefined : aboutOf(one.other);
  return before && one.change !== "same"
    ? `${one.change}: ${count(before.wasted_calls)} \u2192 ${count(one.wasted_calls)}` : one.change;
}

/** Show both runs side by side: before on the left, now on the right. */
function drawCompared(one) {
  if (!one.change) return [];
  const other = one.other === undefined ? undefined : aboutOf(one.other);
  const words = el("p", `change is-${one.change}`, CHANGE_WORDS[one.change]);
  if (!other) return [words];
  const [before, now] = one.side === "b" ? [one, other] : [other, one];
  const side = (title, each) => el("div", "", el("h3", "", title, " ",
    each === one ? "" : link(hashOf(each.number), "", "show")),
  el("p", state(each.status), `${each.status}, score ${count(each.score)}`),
  drawMiniature(each.picture),
  el("p", "quiet", `${plural(each.calls, "call")}, ${count(each.wasted_calls)} wasted`),
  el("ul", "", ...each.loops.map((label) => el("li", "", label))));
  return [words, el("div", "beside", side("Before", before), side("Now", now))];
}
