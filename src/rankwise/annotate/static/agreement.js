"use strict";
// How far raters agree, who differs from whom on what, and decisions about such items, for those who may decide.
let agreement = null;

$("agreement").addEventListener("toggle", () => { if ($("agreement").open) showAgreement(); });
$("leave").addEventListener("click", () => { question = null; next(); });

async function showAgreement() {
  try {
    agreement = await (await api("agreement")).json();
  } catch (error) { say(t("refused", { reason: error.message }), true); return; }
  drawAgreement();
}

function drawAgreement() {
  if (agreement === null) return;
  const { alpha, overlap, pairs, differences } = agreement;
  const open = differences.filter((line) => line.decision === null).length;
  $("agreement-now").textContent = overlap === null ? t("agreement-none")
    : t("agreement-now", { alpha: digits(alpha, 3), overlap: digits(100 * overlap, 0), open: digits(open), decided: digits(differences.length - open) });
  $("pairs").hidden = !pairs.length;
  const cells = (kind, values) => values.map((value) => made(kind, { textContent: value }));
  $("pairs").replaceChildren(
    made("thead", {}, made("tr", {}, ...cells("th", ["pair", "items", "overlap", "alpha", "kappa"].map((name) => t(`pair-${name}`))))),
    made("tbody", {}, ...pairs.map((pair) => made("tr", {}, made("th", { scope: "row", textContent: `${pair.first} · ${pair.second}` }),
      ...cells("td", [digits(pair.items), pair.overlap === null ? "–" : `${digits(100 * pair.overlap, 0)} %`, digits(pair.alpha, 3), digits(pair.kappa, 3)])))));
  $("differences").replaceChildren(...differences.map((line) => {
    const said = line.answers.map(({ rater: name, label }) => `${name}: ${label}`).join(", ");
    const shown = made("li", {}, made("strong", { textContent: t("item", { item: line.item }) }), ` ${said}. `);
    const act = made("button", { type: "button", className: "link", textContent: t(line.decision === null ? "decide" : "undo-decision") });
    act.setAttribute("aria-label", `${act.textContent}: ${t("item", { item: line.item })}`);
    if (line.decision === null) act.addEventListener("click", () => openDifference(line.number));
    else {
      shown.append(`${t("decided-by", { rater: line.decision.rater, label: line.decision.label })} `);
      act.addEventListener("click", () => undoDecision(line.decision.id));
    }
    shown.append(act);
    return shown;
  }));
}

async function openDifference(number) {
  if (busy) return;
  try {
    const wanted = await (await api(`decisions/${number}`)).json();
    show({ question: wanted, last, mine: own, all: totals, spare: spares, waits: false });
  } catch (error) { say(t("refused", { reason: error.message }), true); }
}

function showGiven() {
  const isDecision = question.kind === "decision";
  $("given").hidden = $("leave").hidden = !isDecision;
  $("undo").hidden = isDecision;
  $("given").replaceChildren(...(isDecision ? question.answers : []).map(({ rater: name, label, note }) =>
    made("li", { textContent: `${name}: ${label}${note ? ` (${note})` : ""}` })));
}

// After a decision: the next item on which raters differ, else what the rater was doing.
async function afterDecision(found) {
  await showAgreement();
  const line = agreement?.differences.find((one) => one.decision === null);
  if (line === undefined) show(found);
  else { update(found); await openDifference(line.number); }
  say(t("decided"));
}

async function undoDecision(id) {
  try {
    await insist("decisions/undo", { id });
    say(t("decision-undone"));
  } catch (error) { say(t("refused", { reason: error.message }), true); }
  await showAgreement();
}
