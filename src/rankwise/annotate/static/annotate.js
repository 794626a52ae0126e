"use strict";
// The page of a rater: shows an item, takes a class, a range or candidates, and sends the answer until it is on the disk.
const base = "/v1/";
const IDLE = 180;  // seconds without any input after which the page pauses by itself
let texts = {}, language = "en";
let project = null, rater = null, question = null, last = null, state = null, own = null, totals = null;
let picked = new Set(), unknown = false, anchor = null, several = false;
let busy = false, spent = 0, since = null, inputAt = performance.now(), addresses = [], looking = null;

// -- words -----------------------------------------------------------------------------------------------------------

function t(key, values = {}) {
  const text = (texts[language] ?? {})[key] ?? (texts.en ?? {})[key] ?? key;
  return text.replace(/\{(\w+)\}/g, (whole, name) => name in values ? String(values[name]) : whole);
}

wordProblem = (detail, status) => status === 401 ? t("token-unknown") : detail;

const digits = (value, most) => value === null || value === undefined ? "–"
  : Number(value).toLocaleString(language, { maximumFractionDigits: most });

function speak(chosen) {
  language = chosen in texts ? chosen : "en";
  document.documentElement.lang = language;
  $("language").value = language;
  for (const element of document.querySelectorAll("[data-text]")) element.textContent = t(element.dataset.text);
  $("scale").setAttribute("aria-label", t("scale"));
  $("low").setAttribute("aria-label", t("handle-low"));
  $("high").setAttribute("aria-label", t("handle-high"));
  $("bar").setAttribute("aria-label", t("bar"));
  $("pause").textContent = t("pause");
  if (project !== null) showKeys();
  if (rater !== null) showRater();
  if (question !== null) { ask(); showPicked(); fit(); }
  if (state !== null) showState(state);
  showKept();
  drawAgreement();
}

$("language").addEventListener("change", () => {
  lasting.set("rankwise-language", $("language").value);
  speak($("language").value);
});

// -- the clock -------------------------------------------------------------------------------------------------------

const isRunning = () => since !== null;
function startClock() { if (!isRunning() && question !== null && !document.hidden && $("paused").hidden) since = performance.now(); }
function stopClock() { if (isRunning()) { spent += (performance.now() - since) / 1000; since = null; } }
const seconds = () => spent + (isRunning() ? (performance.now() - since) / 1000 : 0);

function pause(wanted) {
  if (question === null) return;
  if (wanted) stopClock();
  $("paused").hidden = !wanted;
  $("work").hidden = wanted;
  $("pause").hidden = wanted;
  if (wanted) $("go-on").focus(); else { fit(); startClock(); $("item-title").focus(); }
}

$("pause").addEventListener("click", () => pause(true));
$("go-on").addEventListener("click", () => pause(false));
document.addEventListener("visibilitychange", () => { if (document.hidden) stopClock(); else startClock(); });
for (const kind of ["pointerdown", "pointermove", "keydown", "scroll", "timeupdate"])
  document.addEventListener(kind, () => { inputAt = performance.now(); }, { capture: true, passive: true });
setInterval(() => { if (isRunning() && performance.now() - inputAt > IDLE * 1000) pause(true); }, 5000);
addEventListener("pagehide", () => {
  if (question !== null) ofTab.set("rankwise-spent", JSON.stringify([question.id, seconds()]));
});

// -- the item --------------------------------------------------------------------------------------------------------

function made(name, properties, ...children) {
  const element = Object.assign(document.createElement(name), properties);
  element.append(...children);
  return element;
}

function show(found) {
  for (const address of addresses) URL.revokeObjectURL(address);
  addresses = [];
  question = found.question;
  update(found);
  spares = found.spare;
  $("save").disabled = false;
  clearTimeout(looking);
  $("work").hidden = question === null;
  $("pause").hidden = question === null;
  $("paused").hidden = true;
  $("done").hidden = question !== null;
  for (const id of ["undo", "undo-done"]) $(id).disabled = last === null;
  stopClock();
  spent = 0;
  if (question === null) {
    $("item-title").textContent = "";
    $("done-text").textContent = t(found.waits ? "wait" : "done");
    if (found.waits) looking = setTimeout(next, 5000);
    return;
  }
  const kept = JSON.parse(ofTab.get("rankwise-spent") ?? "null");
  if (kept !== null && kept[0] === question.id) spent = kept[1];
  ofTab.remove("rankwise-spent");
  const before = question.before ?? { admitted: [], note: "" };
  picked = new Set(before.admitted);
  anchor = before.admitted.length ? before.admitted[0] : null;
  unknown = false;
  several = false;
  typed = "";
  $("note").value = before.note;
  ask();
  showItem();
  fetchSpares();
  showPicked();
  fit();
  scrollTo(0, 0);
  $("item-title").focus({ preventScroll: true });
  inputAt = performance.now();
  startClock();
}

function update(found) {
  last = found.last;
  own = found.mine;
  showTotals(found.all);
}

function ask() {
  const { kind, code } = question;
  $("item-title").textContent = t("item", { item: question.item });
  $("question").textContent = t(`question-${kind}`, { name: code >= 0 ? project.classes[code].name : "" });
  $("hint").textContent = t(kind === "at_least" ? "hint-at_least" : "hint");
  showGiven();
  $("yes-no").hidden = kind !== "at_least";
}

function showItem() {
  const parts = [];
  document.body.classList.toggle("wide", question.image);
  if (question.image) parts.push(medium("image"));
  if (question.audio) parts.push(medium("audio"));
  if (question.text !== null) parts.push(made("p", { className: question.text ? "text" : "empty", textContent: question.text || t("empty"), tabIndex: 0 }));
  if (question.table.length) {
    const rows = question.table.map(([name, value]) => made("tr", {},
      made("th", { scope: "row", textContent: name }),
      made("td", { className: value ? "" : "empty", textContent: value || t("empty") })));
    parts.push(made("div", { className: "scroll", tabIndex: 0 }, made("table", {}, made("tbody", {}, ...rows))));
  }
  for (const part of parts.filter((one) => one.tabIndex === 0 && one.tagName !== "AUDIO")) {
    part.setAttribute("role", "group");
    part.setAttribute("aria-labelledby", "item-title");
  }
  $("shown").replaceChildren(...parts);
}

// Pictures and sounds of this item, and of those that are given in advance in case the server goes away.
const media = new Map();

function fetched(item, kind) {
  const key = `${item.number}/${kind}`;
  if (!media.has(key)) {
    const content = api(`items/${key}`).then((answer) => answer.blob());
    content.catch(() => media.delete(key));
    media.set(key, content);
  }
  return media.get(key);
}

function fetchSpares() {
  const wanted = [...spares, ...(question === null ? [] : [question])].flatMap((one) => ["image", "audio"].filter((kind) => one[kind]).map((kind) => [one, kind]));
  const keys = wanted.map(([one, kind]) => `${one.number}/${kind}`);
  for (const key of media.keys()) if (!keys.includes(key)) media.delete(key);
  for (const [one, kind] of wanted) fetched(one, kind).catch(() => {});
}

function medium(kind) {
  const place = made("div", { textContent: t("loading") }), item = question;
  const broken = (reason) => place.replaceChildren(made("p", { className: "bad", textContent: t(`${kind}-broken`, { reason }) }));
  fetched(item, kind).then((content) => {
    if (item !== question) return;
    addresses.push(URL.createObjectURL(content));
    const element = document.createElement(kind === "image" ? "img" : "audio");
    if (kind === "image") element.alt = t("image-alt", { item: item.item });
    else { element.controls = true; element.setAttribute("aria-label", t("audio-label", { item: item.item })); }
    element.addEventListener("error", () => broken(t("not-readable")));
    element.src = addresses[addresses.length - 1];
    place.replaceChildren(element);
  }, (error) => broken(error.message));
  return place;
}

// -- the scale -------------------------------------------------------------------------------------------------------

const highest = () => project.classes.length - 1;
const ends = () => [Math.min(...picked), Math.max(...picked)];
const isRange = () => picked.size > 0 && ends()[1] - ends()[0] + 1 === picked.size;

function makeScale() {
  $("scale").replaceChildren(...project.classes.map(({ name, description, key }, code) => {
    const button = made("button", { type: "button" }, made("span", { textContent: name }));
    if (key !== name) button.prepend(made("kbd", { textContent: key, ariaHidden: "true" }));
    if (description) button.append(made("small", { textContent: description }));
    button.dataset.code = code;
    return button;
  }));
}

const LONG = 32;  // characters of a name that make the classes a list

// As many classes beside each other as have room for their longest word, in rows of about the same length.
function fitScale() {
  const scale = $("scale"), n = project.classes.length;
  scale.style.gridTemplateColumns = "min-content";
  const width = scale.firstElementChild.offsetWidth, gap = parseFloat(getComputedStyle(scale).columnGap);
  const isList = project.classes.some(({ name, description }) => description || name.length > LONG);
  const most = isList ? 1 : Math.max(1, Math.min(n, Math.floor((scale.clientWidth + gap) / (width + gap))));
  const columns = Math.ceil(n / Math.ceil(n / most));
  scale.style.gridTemplateColumns = `repeat(${columns}, minmax(0, 1fr))`;
  scale.classList.toggle("list", columns === 1);
  scale.classList.toggle("dense", n / columns > 4);
  $("track").style.marginInline = columns === n ? `${50 / n}%` : "";  // ends below the middles of their classes
}

const LEAST_ROOM = 90, LEAST_ROOM_WIDE = 180, WIDE = 640;  // pixels of an item that can be read, and of a wide window

// What is left of the window for the item, so that the classes and Save are seen without scrolling.
function fit() {
  if (question === null || $("work").hidden) return;
  fitScale();
  const work = $("work"), shown = $("shown");
  work.style.setProperty("--room", "0px");
  const isBeside = getComputedStyle(work).display === "grid";
  const below = isBeside ? shown.getBoundingClientRect().bottom : $("bar-below").getBoundingClientRect().bottom;
  const room = innerHeight - (below + scrollY) - 8;
  work.style.setProperty("--room", `${Math.max(innerWidth > WIDE ? LEAST_ROOM_WIDE : LEAST_ROOM, Math.floor(room))}px`);
}

addEventListener("resize", fit);

function showKeys() {
  const keys = typedKeys(), last = keys.length - 1;
  $("key-number").textContent = t(project.classes.every(({ name, key }) => name.includes(key)) ? "key-number" : "key-place");
  $("range-low").textContent = $("least").textContent = keys[Math.max(0, last - 1)];
  $("range-high").textContent = keys[last];
}

function showPicked() {
  for (const button of $("scale").children) button.setAttribute("aria-pressed", picked.has(Number(button.dataset.code)));
  $("several").setAttribute("aria-pressed", several);
  $("cannot").setAttribute("aria-pressed", unknown);
  const name = (code) => project.classes[code].name;
  const [low, high] = picked.size ? ends() : [0, highest()];
  for (const [id, code, sign, value] of [["low", low, "≥", low > 0], ["high", high, "≤", high < highest()]]) {
    const handle = $(id);
    handle.style.left = `${100 * code / highest()}%`;
    handle.textContent = `${sign} ${name(code)}`;
    handle.classList.toggle("set", picked.size > 0 && value);
    handle.classList.toggle("joined", low === high);
    handle.setAttribute("aria-valuemin", 1);
    handle.setAttribute("aria-valuemax", highest() + 1);
    handle.setAttribute("aria-valuenow", code + 1);
    handle.setAttribute("aria-valuetext", name(code));
  }
  showTyped();
  $("said").textContent = unknown ? t("said-unknown") : picked.size ? saidOf(picked) : t("said-nothing");
}

function saidOf(codes) {
  const name = (code) => project.classes[code].name;
  const [low, high] = [Math.min(...codes), Math.max(...codes)];
  if (high - low + 1 !== codes.size) return t("said-set", { names: [...codes].sort((a, b) => a - b).map(name).join(", ") });
  if (codes.size === highest() + 1) return t("said-unknown");
  const key = low === high ? "exact" : high === highest() ? "low" : low === 0 ? "high" : "range";
  return t(`said-${key}`, { low: name(low), high: name(high) });
}

function pick(codes, from = null) {
  picked = new Set(codes);
  unknown = false;
  typed = "";
  if (from !== null) anchor = from;
  showPicked();
}

const between = (a, b) => Array.from({ length: Math.abs(a - b) + 1 }, (_, i) => Math.min(a, b) + i);
const pickOne = (code) => pick([code], code);
const pickTo = (code) => pick(between(anchor ?? code, code), anchor ?? code);

function toggle(code) {
  const codes = new Set(picked);
  if (!codes.delete(code)) codes.add(code);
  pick(codes, code);
}

function setEnd(isLow, code) {
  const [low, high] = picked.size ? ends() : [0, highest()];
  const wanted = Math.max(0, Math.min(highest(), code));
  pick(isLow ? between(wanted, Math.max(high, wanted)) : between(Math.min(low, wanted), wanted), wanted);
}

function cannotTell() {
  picked = new Set();
  unknown = !unknown;
  typed = "";
  showPicked();
}

let dragged = null;  // class at which a drag began, and whether it went on to others
const codeAt = (event) => {
  const button = document.elementFromPoint(event.clientX, event.clientY)?.closest("#scale button");
  return button ? Number(button.dataset.code) : null;
};
$("scale").addEventListener("pointerdown", (event) => {
  if (event.button !== 0 || event.shiftKey || event.ctrlKey || event.metaKey || several) return;
  const code = codeAt(event);
  dragged = code === null ? null : { from: code, moved: false };
});
document.addEventListener("pointermove", (event) => {
  if (dragged === null) return;
  const code = codeAt(event);
  if (code === null || (code === dragged.from && !dragged.moved)) return;
  dragged.moved = true;
  pick(between(dragged.from, code), dragged.from);
});
for (const kind of ["pointerup", "pointercancel"])
  document.addEventListener(kind, () => setTimeout(() => { dragged = null; }));  // after the click that follows
$("scale").addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (button === null || dragged?.moved) return;
  const code = Number(button.dataset.code);
  if (event.shiftKey) pickTo(code);
  else if (several || event.ctrlKey || event.metaKey) toggle(code);
  else pickOne(code);
});

for (const id of ["low", "high"]) {
  const handle = $(id), isLow = id === "low";
  handle.addEventListener("pointerdown", (event) => { handle.setPointerCapture(event.pointerId); event.preventDefault(); handle.focus(); });
  handle.addEventListener("pointermove", (event) => {
    if (!handle.hasPointerCapture(event.pointerId)) return;
    const box = $("line").getBoundingClientRect();
    setEnd(isLow, Math.round(highest() * (event.clientX - box.left) / box.width));
  });
  handle.addEventListener("keydown", (event) => {
    const step = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, Home: -highest(), End: highest() }[event.key];
    if (step === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    const [low, high] = picked.size ? ends() : [0, highest()];
    setEnd(isLow, (isLow ? low : high) + step);
  });
}

$("several").addEventListener("click", () => { several = !several; showPicked(); });
$("cannot").addEventListener("click", cannotTell);
$("yes").addEventListener("click", () => { pick(between(question.code, highest())); save(); });
$("no").addEventListener("click", () => { pick(between(0, question.code - 1)); save(); });
$("save").addEventListener("click", () => save());
for (const id of ["undo", "undo-done"]) $(id).addEventListener("click", () => undo());

// -- keys ------------------------------------------------------------------------------------------------------------

document.addEventListener("keydown", (event) => {
  const target = event.target, tag = target.tagName;
  if (event.isComposing || $("content").hidden) return;
  if (tag === "TEXTAREA") {
    if (event.key === "Escape") $("answer").focus();
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); save(); }
    return;
  }
  if (["INPUT", "SELECT", "AUDIO"].includes(tag)) return;
  const key = event.key.toLowerCase();
  if (key === "z" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); undo(); return; }
  if ((event.ctrlKey || event.metaKey || event.altKey) && !event.getModifierState("AltGraph")) return;
  if (key === "u") { undo(); return; }
  if (question === null) return;
  if (key === "p") { pause($("paused").hidden); return; }
  if (!$("paused").hidden) return;
  const middle = Math.floor(highest() / 2);
  const isPlain = tag !== "BUTTON" || target.closest("#scale") !== null;
  if (question.kind === "at_least" && key === t("yes-key")) $("yes").click();
  else if (question.kind === "at_least" && key === t("no-key")) $("no").click();
  else if ("[]<>".includes(event.key) && picked.size) setEnd("]<".includes(event.key), "]<".includes(event.key) ? 0 : highest());
  else if (event.key === "?") cannotTell();
  else if (typeKey(event)) { /* it has chosen */ }
  else if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    const step = event.key === "ArrowRight" ? 1 : -1;
    if (!picked.size) pickOne(middle);
    else if (event.shiftKey) {
      const [low, high] = ends();
      const moving = (low === anchor ? high : low) + step;
      if (moving >= 0 && moving <= highest()) pick(between(anchor, moving));
    } else pickOne(Math.max(0, Math.min(highest(), (step > 0 ? ends()[1] : ends()[0]) + step)));
  } else if (event.key === "Enter" && isPlain && tag !== "SUMMARY") save();
  else return;
  event.preventDefault();
});

// -- answers ---------------------------------------------------------------------------------------------------------

const post = async (path, body) =>
  (await api(path, { method: "POST", body: JSON.stringify({ rater, project: project.project, ...body }) })).json();
const rest = (time) => new Promise((resolve) => setTimeout(resolve, time));

// Ask until the server has answered: it does the same thing once, however often it comes.
async function insist(path, body) {
  for (let wait = 300; ; wait = Math.min(2 * wait, 5000)) {
    try {
      return await post(path, body);
    } catch (error) {
      if (error.status !== undefined && error.status < 500) throw error;
      say(t("lost"), true);
      await rest(wait);
    }
  }
}

function save() {
  if (busy || question === null || !$("paused").hidden) return;
  if (isUnfinished()) { say(t("unfinished", { typed }), true); return; }
  if (!picked.size && !unknown) { say(t("choose-first"), true); return; }
  stopClock();
  busy = true;
  $("save").disabled = true;
  say(t("saving"));
  keep(question.kind === "decision" ? "decisions" : "answers", { id: question.id, item: question.item, admitted: [...picked].sort((a, b) => a - b), seconds: Math.round(1000 * spent) / 1000, note: $("note").value });
  if (sending && isAway) { say(t("kept"), true); goOn(); } else sendKept();
}

function sayGuess(guess) {
  say(guessed(guess));
  fit();  // it may be long
  const said = $("status").textContent;
  if (!guess) setTimeout(() => { if ($("status").textContent === said) say(""); }, 4000);
}

function guessed(guess) {
  if (!guess) return t("saved");
  const name = (code) => project.classes[code].name;
  const [low, high] = guess.interval ?? [guess.code, guess.code];
  return t(low === high ? "guess-exact" : "guess-range", { best: name(guess.code), low: name(low), high: name(high) });
}

async function undo() {
  if (busy || question?.kind === "decision") return;
  if (waiting().length) { say(t("undo-later"), true); return; }
  if (last === null) { say(t("nothing-to-undo"), true); return; }
  busy = true;
  try {
    show(await insist("undo", { id: last }));
    say(t("undone"));
  } catch (error) { say(t("refused", { reason: error.message }), true); } finally { busy = false; }
}

async function next() {
  try {
    show(await insist("next", { holding: holding() }));
  } catch (error) {
    if (error.status !== 401) say(error.status === 412 ? t("moved") : t("refused", { reason: error.message }), true);
  }
}

// -- progress --------------------------------------------------------------------------------------------------------

function showTotals(all) {
  totals = all;
  $("bar").max = all.needed;
  $("bar").value = all.done;
  $("all").textContent = t("all", { done: digits(all.done), needed: digits(all.needed), minutes: digits(all.minutes, 1) });
  $("mine").textContent = t("mine", { answers: digits(own.answers), minutes: digits(own.minutes, 1) });
}

function showState(found) {
  state = found;
  showTotals(found.all);
  const error = found.error;
  const range = (triple, most) => ({ low: digits(triple[1], most), high: digits(triple[2], most) });
  let now = t("error-none"), advice = project.learns ? "" : t("no-features");
  if (error.controls === 1) now = t("error-one", { error: digits(error.error[0], 2) });
  if (error.controls > 1) now = t("error-now", { error: digits(error.error[0], 2), ...range(error.error, 2), controls: digits(error.controls) });
  if (error.controls >= error.enough) {
    const stop_at = digits(error.stop_at, 4);
    advice = `${t("worth", { ahead: digits(error.ahead), worth: digits(error.worth[0], 3), ...range(error.worth, 3) })} ${t(error.stop ? "stop" : "no-stop", { stop_at })}`;
  } else if (!advice) advice = t("worth-early", { enough: error.enough, controls: error.controls });
  $("error-now").textContent = now;
  $("advice").textContent = advice;
  $("picture").hidden = !error.curve.length;
  drawCurve(error.curve, now);
  if (found.trouble) say(t("refused", { reason: found.trouble }), true);
}

function drawCurve(curve, words) {
  const axis = document.querySelector("input[name=axis]:checked").value;
  if (!curve.length) return;
  const place = axis === "minutes" ? 0 : 1;
  const points = curve.map((point) => [point[place], point[2], point[3] ?? point[2], point[4] ?? point[2]]);
  const end = points[points.length - 1][0] || 1, height = Math.max(...points.map((point) => point[3])) * 1.05 || 1;
  const at = (value, error) => `${(1000 * value / end).toFixed(1)},${(300 - 300 * error / height).toFixed(1)}`;
  const low = points.map((point) => at(point[0], point[2])), high = points.map((point) => at(point[0], point[3]));
  redraw($("curve"), [
    svg("polygon", { class: "band", points: [...low, ...high.reverse()].join(" ") }),
    svg("polyline", { class: "middle", points: points.map((point) => at(point[0], point[1])).join(" ") }),
  ]).textContent = words;
  const words_of_axis = [t(`axis-${axis}`, { value: 0 }), t("axis-ranks", { value: digits(height, 2) }), t(`axis-${axis}`, { value: digits(end, 1) })];
  $("curve-axis").replaceChildren(...words_of_axis.map((text) => made("span", { textContent: text })));
}

for (const choice of document.querySelectorAll("input[name=axis]"))
  choice.addEventListener("change", () => { if (state !== null) showState(state); });

// -- beginning -------------------------------------------------------------------------------------------------------

$("name-form").addEventListener("submit", (event) => {
  event.preventDefault();
  const name = $("name").value.trim();
  if (!name) return;
  lasting.set("rankwise-rater", name);
  $("name-form").hidden = true;
  work(name);
});

function showRater() {
  $("lede").textContent = t("lede", { rater });
  if (project.name !== null) return;
  const change = made("button", { type: "button", className: "link", textContent: t("name-change") });
  change.addEventListener("click", () => { lasting.remove("rankwise-rater"); location.reload(); });
  $("lede").append(" ", change);
}

let following = false;

async function work(name) {
  rater = name;
  showRater();
  $("content").hidden = false;
  adoptFormer();
  showKept();
  sendKept();
  if (question === null) await next();
  if (!following) {
    following = true;
    follow(showState, t("lost"));
  }
}

async function begin() {
  if (!Object.keys(texts).length) {
    texts = await (await fetch("/texts.json")).json();
    $("language").replaceChildren(...Object.entries(texts).map(([key, words]) => made("option", { value: key, textContent: words.language })));
    speak(lasting.get("rankwise-language") ?? document.documentElement.lang);
  }
  try {
    project = await (await api("project")).json();
  } catch (error) {
    if (error.status === 401) { if (ofTab.get("rankwise-token")) say(error.message, true); return; }
    if (error.status === 403 && ofTab.get("rankwise-token")) { askForToken(); say(t("token-not-for-raters"), true); return; }
    say(t("lost"), true);
    await rest(1000);
    say("");
    return begin();
  }
  makeScale();
  showKeys();
  $("agreement").hidden = !project.decides;
  const known = project.name ?? lasting.get("rankwise-rater");
  if (known === null) { $("name-form").hidden = false; $("name").focus(); } else work(known);
}

begin();
