"use strict";
// What all pages of a service share: requests with a token, drawing, events. A page says what its `base` is, and how to `begin`.
const $ = (id) => document.getElementById(id);

const number = (value, digits = 3) => value === null || value === undefined ? "–"
  : Number(value).toLocaleString("en", { maximumFractionDigits: digits });

// Storage of the browser; where the browser refuses it, in private windows or when it is full, of this page alone.
function storageOf(name) {
  const instead = new Map();
  const ask = (action, otherwise) => { try { return action(window[name]); } catch { return otherwise; } };
  return {
    get: (key) => instead.get(key) ?? ask((storage) => storage.getItem(key), null),
    set: (key, value) => ask((storage) => { storage.setItem(key, value); return true; }, false) ? instead.delete(key) : instead.set(key, value),
    remove: (key) => { instead.delete(key); ask((storage) => storage.removeItem(key)); },
    keys: () => [...new Set([...ask((storage) => Object.keys(storage), []), ...instead.keys()])],
    isLasting: (key) => !instead.has(key),
  };
}
const lasting = storageOf("localStorage"), ofTab = storageOf("sessionStorage");

function say(text, bad = false) {
  $("status").textContent = text;
  $("status").className = bad ? "bad" : "";
}

let wordProblem = (detail, status) => detail;  // a page for other readers may have words of its own

async function api(path, options = {}) {
  const token = ofTab.get("rankwise-token");
  const headers = { ...(options.body ? { "Content-Type": "application/json" } : {}), ...options.headers };
  if (token) headers.Authorization = `Bearer ${token}`;
  const answer = await fetch(base + path, { ...options, headers });
  if (answer.status === 401) askForToken();
  if (!answer.ok) {
    const problem = await answer.json().catch(() => ({ detail: answer.statusText }));
    throw Object.assign(new Error(wordProblem(problem.detail, answer.status)), { status: answer.status });
  }
  return answer;
}

function askForToken() {
  $("token-form").hidden = false;
  $("content").hidden = true;
  $("lede").textContent = "";
  $("token").focus();
}

$("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  ofTab.set("rankwise-token", $("token").value);
  $("token").value = "";
  $("token-form").hidden = true;
  say("");
  begin();
});

// -- drawing ---------------------------------------------------------------------------------------------------------

function svg(name, attributes) {
  const element = document.createElementNS("http://www.w3.org/2000/svg", name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

function redraw(picture, parts) {
  const title = picture.querySelector("title");
  picture.replaceChildren(title, ...parts);
  return title;
}

// -- events ----------------------------------------------------------------------------------------------------------

async function follow(show, lost) {
  for (let wait = 500; ; wait = Math.min(2 * wait, 15000)) {
    try {
      const reader = (await api("events")).body.pipeThrough(new TextDecoderStream()).getReader();
      for (let text = ""; ;) {
        const { value, done } = await reader.read();
        if (done) break;
        text += value;
        for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2))
          if (text.startsWith("data: ")) { show(JSON.parse(text.slice(6, end))); wait = 500; }
      }
    } catch (error) {
      if (!$("token-form").hidden) { say(error.message, true); return; }
    }
    say(lost, true);
    await new Promise((resolve) => setTimeout(resolve, wait));
    say("");
  }
}
