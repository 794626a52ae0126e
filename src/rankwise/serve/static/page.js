"use strict";
// The page of a model that is served: state by server-sent events, a form to try a row, versions to go back to.
const model = document.body.dataset.model;
const base = `/v1/models/${model}/`;
let columns = null, lastRow = null, lastId = null, classes = [];

const clock = (seconds) => new Date(seconds * 1000).toLocaleTimeString();
const range = (low, high) => number(low) === number(high) ? number(low) : `${number(low)} to ${number(high)}`;

// -- drawing ---------------------------------------------------------------------------------------------------------

function drawCurve(curve) {
  const picture = $("curve");
  if (!curve.length) { redraw(picture, []).textContent = "Progressive error: no feedback yet"; return; }
  if (curve.length === 1) curve = [[curve[0][0] - 1, curve[0][1], curve[0][2]], curve[0]];
  const first = curve[0][0], last = curve[curve.length - 1][0];
  const top = Math.max(...curve.map((point) => point[2])) * 1.05 || 1;
  const x = (seq) => 1000 * (seq - first) / (last - first || 1), y = (error) => 300 - 300 * error / top;
  const low = curve.map(([seq, error]) => `${x(seq).toFixed(1)},${y(error).toFixed(1)}`);
  const high = curve.map(([seq, , error]) => `${x(seq).toFixed(1)},${y(error).toFixed(1)}`);
  const title = redraw(picture, [
    svg("polygon", { class: "band", points: [...low, ...high.slice().reverse()].join(" ") }),
    svg("polyline", { class: "edge", points: low.join(" ") }),
    svg("polyline", { class: "edge", points: high.join(" ") }),
  ]);
  const end = curve[curve.length - 1];
  title.textContent = `Progressive error from event ${first} to ${last}; now between ${number(end[1])} and ${number(end[2])} ranks, the axis ends at ${number(top)}`;
  const ends = [`event ${number(first, 0)}`, `0 to ${number(top)} ranks`, `event ${number(last, 0)}`];
  $("curve-axis").replaceChildren(...ends.map((text) => Object.assign(document.createElement("span"), { textContent: text })));
}

function drawThresholds(thresholds) {
  $("thresholds-section").hidden = !thresholds || !thresholds.length;
  if (!thresholds || !thresholds.length) return;
  const low = thresholds[0], high = thresholds[thresholds.length - 1], room = (high - low) * 0.2 || 1;
  const x = (t) => 1000 * (t - low + room) / (high - low + 2 * room);
  const title = redraw($("thresholds"), thresholds.map((t) => svg("line", { class: "mark", x1: x(t), x2: x(t), y1: 8, y2: 52 })));
  const text = classes.map((name, k) => k < thresholds.length ? `${name} | ${number(thresholds[k])} | ` : name).join("");
  title.textContent = `Thresholds on the axis of scores: ${text}`;
  $("thresholds-text").textContent = text;
}

function fill(id, lines) {
  const rows = lines.map((cells) => {
    const row = document.createElement("tr");
    cells.forEach((cell, k) => {
      const element = document.createElement(k === 0 ? "th" : "td");
      if (k === 0) element.scope = "row";
      if (cell instanceof Node) element.append(cell); else element.textContent = cell;
      row.append(element);
    });
    return row;
  });
  $(id).tBodies[0].replaceChildren(...rows);
}

function bar(count, total) {
  const cell = document.createDocumentFragment();
  const picture = svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" });
  picture.append(svg("rect", { width: total ? 100 * count / total : 0, height: 10 }));
  cell.append(`${number(count, 0)}${total ? ` (${number(100 * count / total, 0)} %)` : ""}`, picture);
  return cell;
}

// -- the state -------------------------------------------------------------------------------------------------------

function show(state) {
  const facts = state.model, progress = facts.progress;
  classes = facts.classes;
  $("content").hidden = false;
  $("lede").textContent = `${facts.estimator}, ${classes.length} classes, model ${facts.version}`
    + (facts.correcting ? "; a correction is being replayed" : "") + (facts.learns ? "" : "; learns by refits");
  if (state.trouble) say(`Feedback cannot be written: ${state.trouble}`, true);
  const tiles = [
    ["error (ranks)", progress.error === undefined ? "–" : range(progress.error, progress.error_at_worst)],
    ["recently", progress.recent_error === undefined ? "–" : range(progress.recent_error, progress.recent_error_at_worst)],
    ["feedback", number(progress.rows + progress.unlabelled_rows, 0)],
    ["intervals that covered", progress.covered_at_least === undefined ? "–"
      : `${range(100 * progress.covered_at_least, 100 * progress.covered_at_most)} %`],
  ];
  $("tiles").replaceChildren(...tiles.map(([name, value]) => {
    const tile = document.createElement("li");
    for (const [kind, text] of [["name", name], ["value", value]])
      tile.append(Object.assign(document.createElement("span"), { className: kind, textContent: text }));
    return tile;
  }));
  drawCurve(state.curve);
  drawThresholds(facts.thresholds);
  const totals = [state.predicted, state.labels].map((counts) => counts.reduce((a, b) => a + b, 0));
  fill("classes", classes.map((name, k) => [String(name), bar(state.predicted[k], totals[0]), bar(state.labels[k], totals[1])]));
  fill("predictions", state.predictions.map(({ answer, at }) => [clock(at), String(answer.class),
    answer.interval ? `${answer.interval[0]} to ${answer.interval[1]}` : "–", answer.version]));
  fill("feedback", state.feedback.map(({ label, weight, seq, at }) => [clock(at), label === null ? "?" : String(label), number(weight), String(seq)]));
  showVersions(state.versions);
  if (columns === null) makeFields(facts.columns);
}

function showVersions(versions) {
  if ($("ask").open) return;  // the button that opened it must stay
  fill("versions", versions.map((line) => {
    const progress = line.progress;
    let action = "serving";
    if (!line.current) {
      action = Object.assign(document.createElement("button"), { className: "quiet", textContent: `Roll back to ${line.version}` });
      action.addEventListener("click", () => ask(line.version));
    }
    return [String(line.version), action,
      progress.error === undefined ? "–" : range(progress.error, progress.error_at_worst),
      line.change === null ? "–" : (line.change > 0 ? "+" : "") + number(line.change),
      number(progress.rows ?? 0, 0), line.reason, clock(line.at)];
  }));
}

function ask(version) {
  $("ask-text").textContent = `The model of version ${version} will answer from now on. Feedback that came after it stays in the log, and is left out of the model.`;
  $("ask").returnValue = "no";
  $("ask").showModal();
  $("ask").addEventListener("close", async () => {
    if ($("ask").returnValue !== "yes") return;
    say("Rolling back …");
    try {
      const answer = await (await api("versions/rollback", { method: "POST", body: JSON.stringify({ version }) })).json();
      say(`Version ${answer.version} serves the model of version ${version}.`);
    } catch (error) { say(`Not rolled back: ${error.message}`, true); }
  }, { once: true });
}

// -- trying a row ----------------------------------------------------------------------------------------------------

function makeFields(kinds) {
  columns = kinds;
  $("fields").replaceChildren(...Object.entries(kinds).map(([name, kind]) => {
    const label = document.createElement("label");
    const input = Object.assign(document.createElement("input"), { name, autocomplete: "off" });
    if (kind === "number") input.inputMode = "decimal";
    input.placeholder = kind === "boolean" ? "true or false" : kind;
    label.append(name, input);
    return label;
  }));
}

function valueOf(text, kind) {
  const trimmed = text.trim();
  if (trimmed === "") return null;
  if (kind === "boolean" && (trimmed === "true" || trimmed === "false")) return trimmed === "true";
  if (kind === "number" && Number.isFinite(Number(trimmed))) return Number(trimmed);
  return text;
}

$("try").addEventListener("submit", async (event) => {
  event.preventDefault();
  lastRow = {};
  for (const input of $("fields").querySelectorAll("input")) lastRow[input.name] = valueOf(input.value, columns[input.name]);
  try {
    const found = (await (await api("predict", { method: "POST", body: JSON.stringify({ rows: [lastRow] }) })).json()).rows[0];
    lastId = found.id;
    const parts = [`Class ${found.class}`];
    if (found.interval) parts.push(`interval ${found.interval[0]} to ${found.interval[1]}`);
    if (found.probabilities) parts.push(found.probabilities.map((p, k) => `P(${classes[k]}) ${number(p)}`).join(", "));
    $("answer").textContent = `${parts.join("; ")} (model ${found.version}).`;
    $("answer").className = "";
    $("tell").hidden = false;
  } catch (error) {
    $("answer").textContent = error.message;
    $("answer").className = "bad";
    $("tell").hidden = true;
  }
});

$("tell").addEventListener("submit", async (event) => {
  event.preventDefault();
  const row = { id: lastId, features: lastRow, label: $("label").value };
  try {
    const found = (await (await api("feedback", { method: "POST", body: JSON.stringify({ rows: [row] }) })).json()).rows[0];
    say(`Feedback is in the log as event ${found.seq}, and learnt.`);
    $("tell").hidden = true;
    $("label").value = "";
    $("predict").focus();
  } catch (error) { say(`No feedback was given: ${error.message}`, true); }
});

function begin() {
  follow(show, "The service does not answer; trying again.");
}

begin();
