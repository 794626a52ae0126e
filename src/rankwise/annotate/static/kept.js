"use strict";
// Answers that the server has not taken yet. Each is kept in the browser under its project and rater until the server
// has taken it, and goes there in the order in which it was given. Ids make it harmless that one is sent twice, as by two
// tabs. An answer that the server refuses stays, with the reason, until its rater sends it again or discards it.
const KEPT = "rankwise-kept|", FORMER = "rankwise-pending", MOST_KEPT = 200;
let sending = false, isAway = false, spares = [], keptAt = 0;

const keptUnder = (name) => `${KEPT}${project.project}|${name}|`;

function keptOf(name) {
  const under = keptUnder(name);
  return lasting.keys().filter((key) => key.startsWith(under)).map((key) => ({ key, ...JSON.parse(lasting.get(key)) }))
    .sort((a, b) => a.at - b.at);
}

const ownKept = () => keptOf(rater);
const waiting = () => ownKept().filter((one) => one.refused === undefined);
const isKept = (entry) => lasting.get(entry.key) !== null;

function write({ key, ...entry }) {
  lasting.set(key, JSON.stringify(entry));
  showKept();
}

function keep(path, body) {
  keptAt = Math.max(Date.now(), keptAt + 1);
  const entry = { key: keptUnder(rater) + body.id, path, body, at: keptAt };
  write(entry);
  return entry;
}

function discard(entry) {
  lasting.remove(entry.key);
  showKept();
}

// An earlier version kept one answer for all raters and projects: its rater says whether it belongs here.
function adoptFormer() {
  const former = JSON.parse(lasting.get(FORMER) ?? "null");
  if (former === null || former[0] !== rater) return;
  lasting.remove(FORMER);
  write({ ...keep("answers", former[1]), refused: t("kept-former") });
}

// -- sending ---------------------------------------------------------------------------------------------------------

const isForNow = (status) => status === undefined || status >= 500 || [401, 403, 408, 412, 425, 429].includes(status);
const isOver = (error) => [401, 403, 412].includes(error.status);  // nothing more can be sent by this page as it is

async function sendKept() {
  if (sending) return;
  sending = true;
  try {
    for (let wait = 300, entry; (entry = waiting()[0]) !== undefined;) {
      try {
        const found = await post(entry.path, { ...entry.body, holding: holding(entry) });
        discard(entry);
        isAway = false;
        wait = 300;
        taken(entry, found);
      } catch (error) {
        if (!isForNow(error.status)) await refused(entry, error);
        else {
          isAway = true;
          if (error.status === 412) say(t("moved"), true);
          if (isOver(error)) return;
          say(t("kept"), true);
          await goOn();
          await rest(wait);
          wait = Math.min(2 * wait, 5000);
        }
      }
    }
    if (busy) { busy = false; await next(); }  // another tab has sent what this one waited for
  } finally {
    sending = false;
    showKept();
  }
}

// Items whose answers are kept: the server is to ask about others meanwhile.
const holding = (without) => waiting().filter((one) => one.key !== without?.key).map((one) => one.body.item);

function taken(entry, found) {
  if (question !== null && question.id !== entry.body.id) {  // the rater has gone on
    update(found);
    if (entry.path === "decisions" && $("agreement").open) showAgreement();
    if (!waiting().length) say(t("saved"));
    return;
  }
  busy = false;
  if (entry.path === "decisions") { afterDecision(found); return; }
  show(found);
  sayGuess(found.guess);
}

async function refused(entry, error) {
  if (isKept(entry)) write({ ...entry, refused: error.message });
  if (question !== null && question.id !== entry.body.id) return;
  busy = false;
  await next();
  say(error.status === 409 ? t("answered") : t("refused", { reason: error.message }), true);
}

// The server cannot take answers now: go on with what it asks nevertheless, or with what it gave in advance.
async function goOn() {
  const kept = holding();
  if (!busy || question === null || !kept.includes(question.item) || kept.length >= MOST_KEPT) return;
  let found = null;
  try { found = await post("next", { holding: kept }); } catch { /* it is away */ }
  if (!busy) return;  // it came back meanwhile
  const spare = spares.find((one) => !kept.includes(one.item));
  if (found?.question && !kept.includes(found.question.item)) { busy = false; show(found); }
  else if (spare !== undefined) {
    busy = false;
    show({ question: spare, last, mine: own, all: totals, spare: spares.filter((one) => one !== spare) });
  }
}

// -- the list --------------------------------------------------------------------------------------------------------

function showKept() {
  if (project === null || rater === null) return;
  const kept = ownKept(), lost = kept.filter((one) => one.refused !== undefined).length;
  const all = lasting.keys().filter((key) => key.startsWith(KEPT)).length;
  $("kept").hidden = all === 0;
  const words = [];
  if (kept.length > lost) words.push(t("kept-waiting", { n: kept.length - lost }));
  if (lost) words.push(t("kept-refused", { n: lost }));
  if (all > kept.length) words.push(t("kept-others", { n: all - kept.length }));
  $("kept-count").textContent = words.join(" ");
  $("kept-warning").hidden = kept.every((one) => lasting.isLasting(one.key));
  $("kept-list").replaceChildren(...kept.map((one) => {
    const line = made("li", { textContent: `${t("item", { item: one.body.item })}: ${saidOf(new Set(one.body.admitted))}` });
    if (one.refused !== undefined) {
      const again = made("button", { type: "button", className: "link", textContent: t("send-again") });
      const away = made("button", { type: "button", className: "link", textContent: t("discard") });
      again.addEventListener("click", () => { const { refused: _, ...entry } = one; write(entry); sendKept(); });
      away.addEventListener("click", () => discard(one));
      line.append(" ", made("span", { className: "bad", textContent: one.refused }), " ", again, away);
    }
    return line;
  }));
}

addEventListener("storage", (event) => { if (event.key === null || event.key.startsWith(KEPT)) showKept(); });
addEventListener("beforeunload", (event) => {
  if (rater !== null && ownKept().some((one) => !lasting.isLasting(one.key))) event.preventDefault();
});
