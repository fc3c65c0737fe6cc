// How a text is shown: its start, with what was searched marked, or laid out as what it is.

const PREVIEW = 300; // characters of a text that a closed row shows at most
const BEFORE_MATCH = 16; // characters of it before what was searched
const TABLE_ROWS = 200;
const SHORT = 60; // characters of JSON that can be read in one line

const oneLine = (text) => text.slice(0, PREVIEW).replace(/\s+/g, " ");

/** Give the line of a text for a closed row: its start, or where what was searched is found. */
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

/** Show a text: as a table, a diff or laid out JSON where it is one, else as it is. */
function drawText({ text, length }, otherwise, words) {
  if (!text) return [el("pre", "quiet", otherwise)];
  const shaped = drawTable(text, words) || drawDiff(text, words) || drawJson(text, words);
  const shown = shaped ? [shaped] : [el("pre", "", ...marked(text, words))];
  if (shaped && !shaped.classList.contains("diff")) {
    shown.push(el("details", "raw", el("summary", "", "As recorded"),
      el("pre", "", ...marked(text, words))));
  }
  if (length) {
    const [kept, all] = [text.length, length].map(count);
    shown.push(el("p", "quiet", `Shortened in the middle to ${kept} of ${all} characters.`));
  }
  return shown;
}

function parsed(text) {
  try {
    return /^\s*[[{]/.test(text) ? JSON.parse(text) : undefined;
  } catch {
    return undefined;
  }
}

function drawJson(text, words) {
  const lines = text.split("\n");
  const whole = parsed(text);
  if (whole !== undefined) {
    const laid = JSON.stringify(whole, null, 2);
    return laid === text || text.length < SHORT ? null : el("pre", "json", ...marked(laid, words));
  }
  // Arguments stand one line a field, those with a structure as JSON.
  let isLaid = false;
  const laid = lines.map((line) => {
    const [, name, value] = /^([\w.-]+): ([[{].*)$/.exec(line) || [];
    const field = value === undefined ? undefined : parsed(value);
    if (field === undefined || value.length < SHORT) return line;
    isLaid = true;
    return `${name}: ${JSON.stringify(field, null, 2)}`;
  });
  return isLaid ? el("pre", "json", ...marked(laid.join("\n"), words)) : null;
}

function drawDiff(text, words) {
  if (!/^@@ .*@@/m.test(text) || !/^[-+](?![-+])/m.test(text)) return null;
  const kinds = { "+": "added", "-": "removed", "@": "hunk" };
  return el("pre", "diff", ...text.split("\n").flatMap((line, number) => [
    ...(number ? ["\n"] : []),
    el("span", /^(---|\+\+\+)/.test(line) ? "hunk" : kinds[line[0]] || "", ...marked(line, words)),
  ]));
}

function drawTable(text, words) {
  const rows = rowsOf(text);
  if (!rows) return null;
  const [head, ...body] = rows;
  const cells = (tag, row) => head.map((_, at) => el(tag, "", ...marked(row[at] ?? "", words)));
  return elWith("div", "table", { tabindex: 0, role: "group", "aria-label": "Table" }, el("table", "",
    el("thead", "", el("tr", "", ...cells("th", head))),
    el("tbody", "", ...body.slice(0, TABLE_ROWS).map((row) => el("tr", "", ...cells("td", row))))));
}

/** Give the rows of a table, the head first; null where a text is none. */
function rowsOf(text) {
  const value = parsed(text);
  if (value !== undefined) return recordsOf(value);
  const lines = text.trim().split("\n");
  if (lines.length < 3) return null;
  if (lines.every((line) => /^\s*\|.*\|\s*$/.test(line)) && /^[\s|:-]+$/.test(lines[1])) {
    const rows = lines.map((line) => line.trim().slice(1, -1).split("|").map((cell) => cell.trim()));
    return [rows[0], ...rows.slice(2)];
  }
  for (const separator of ["\t", ","]) {
    const rows = lines.map((line) => line.split(separator));
    const isEven = rows[0].length > 1 && rows.every((row) => row.length === rows[0].length);
    if (isEven && rows.every((row) => row.every((cell) => !/^\s|\s$|"/.test(cell)))) return rows;
  }
  return null;
}

function recordsOf(value) {
  const isFlat = (one) => one && typeof one === "object" && !Array.isArray(one)
    && Object.values(one).every((field) => field === null || typeof field !== "object");
  if (!Array.isArray(value) || value.length < 2 || !value.every(isFlat)) return null;
  const names = [...new Set(value.flatMap(Object.keys))];
  if (!names.length || names.length > 12) return null;
  return [names, ...value.map((one) => names.map((name) => String(one[name] ?? "")))];
}
