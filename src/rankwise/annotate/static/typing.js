"use strict";
// Classes that are typed: "3", "10", a range "3-5", at least "4+". There is no clock: the same keys give the same answer,
// however fast they come. What is typed is shown, and only what it says so far is chosen.
let typed = "";

const typedKeys = () => project.classes.map((one) => one.key);
const hasNegative = () => typedKeys().some((key) => key.startsWith("-"));
const codeTyped = (text) => /^-?\d+\.?\d*$/.test(text) ? typedKeys().findIndex((key) => Number(key) === Number(text)) : -1;
const beginsSo = (text) => typedKeys().filter((key) => key !== text && key.startsWith(text));

// What a text says: the classes, or null if it takes more to know; undefined if no answer begins so.
function classesTyped(text) {
  const parts = /^(-?[\d.]+)(?:(\+)|-(.*))?$/.exec(text);
  const low = parts === null ? -1 : codeTyped(parts[1]);
  if (parts?.[2] !== undefined) return low < 0 ? undefined : between(low, highest());
  if (parts?.[3] !== undefined) {
    const high = codeTyped(parts[3]);
    if (low < 0) return undefined;
    if (high >= 0) return between(low, high);
    return beginsSo(parts[3]).length ? null : undefined;
  }
  if (low >= 0) return [low];
  return text !== "" && beginsSo(text).length ? null : undefined;
}

function setTyped(text) {
  const codes = text === "" ? [] : classesTyped(text) ?? [];
  const from = codeTyped(/^-?[\d.]*/.exec(text)[0]);
  pick(codes, from < 0 ? null : from);
  typed = text;
  showTyped();
}

function typeSign(sign) {
  let start = typed;
  const goesOn = sign === "+" || (sign === "-" && !hasNegative());
  if (start === "" && goesOn && picked.size === 1) start = project.classes[[...picked][0]].key;
  const wanted = [start + sign, sign].find((text) => classesTyped(text) !== undefined);
  if (wanted === undefined) say(t("no-class", { typed: start === "" || goesOn ? start + sign : sign }), true);
  else { say(""); setTyped(wanted); }
}

// With Shift: the other end of a range that begins at the class chosen.
function typeEnd(digit) {
  const range = /^(-?[\d.]+)-(.*)$/.exec(typed);
  const low = range !== null ? range[1] : codeTyped(typed) >= 0 ? typed : anchor !== null && picked.size ? project.classes[anchor].key : null;
  if (low === null) { typeSign(digit); return; }
  const wanted = [`${low}-${range?.[2] ?? ""}${digit}`, `${low}-${digit}`].find((text) => classesTyped(text) !== undefined);
  if (wanted === undefined) say(t("no-class", { typed: digit }), true);
  else { say(""); setTyped(wanted); }
}

const isUnfinished = () => typed !== "" && classesTyped(typed) === null;

function showTyped() {
  const last = /^(?:-?[\d.]+-)?(.*)$/.exec(typed)[1], more = last === "" ? [] : beginsSo(last);
  const key = more.length ? "typed-more" : isUnfinished() ? "typed-range" : "typed";
  $("typed").textContent = typed === "" ? "" : t(key, { typed, more: more.slice(0, 4).join(", ") });
}

// Whether a key was for typing; letters and the keys of the page are not.
function typeKey(event) {
  const sign = event.key === "," ? "." : event.key;
  if (/^[0-9+.-]$/.test(sign)) typeSign(sign);
  else if (event.shiftKey && /^Digit[0-9]$/.test(event.code)) typeEnd(event.code.slice(5));
  else if (event.key === "Backspace" && typed !== "") setTyped(typed.slice(0, -1));
  else if (event.key === "Escape" && (typed !== "" || picked.size)) setTyped("");
  else return false;
  return true;
}
