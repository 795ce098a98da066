// Live updates: the server sends only the parts of a page that have changed. Unchanged nodes stay in the page, so that
// the focus, the selection and the scroll position stay too. Other scripts get the changes as the event "livechange".
"use strict";
const watched = document.querySelector("[data-events]");
const offline = document.getElementById("offline");
const baseTitle = document.title;

const morph = (before, after) => {
  if (before.nodeType !== after.nodeType || before.nodeName !== after.nodeName) return before.replaceWith(after);
  if (before.nodeType !== Node.ELEMENT_NODE) { if (before.data !== after.data) before.data = after.data; return; }
  for (const { name } of [...before.attributes]) if (!after.hasAttribute(name)) before.removeAttribute(name);
  for (const { name, value } of after.attributes) if (before.getAttribute(name) !== value) before.setAttribute(name, value);
  morphChildren(before, after);
};
const morphChildren = (before, after) => {
  const old = [...before.childNodes], fresh = [...after.childNodes];
  fresh.forEach((node, number) => { if (old[number]) morph(old[number], node); else before.append(node); });
  for (const node of old.slice(fresh.length)) node.remove();
};
const parse = (html) => { const holder = document.createElement("template"); holder.innerHTML = html; return holder.content; };

const apply = (changes) => {
  if (document.title.startsWith("⚠")) document.title = baseTitle; // the server is reachable again
  for (const [id, html] of Object.entries(changes.parts ?? {})) {
    const part = document.getElementById(id), fresh = parse(html);
    if (!part) continue;
    if (fresh.firstElementChild?.id === id) morph(part, fresh.firstElementChild); else morphChildren(part, fresh);
  }
  dispatchEvent(new CustomEvent("livechange", { detail: changes }));
};
let source = null;
const connect = () => {
  source = new EventSource(watched.dataset.events);
  source.addEventListener("open", () => { offline.hidden = true; });
  source.addEventListener("message", (event) => { offline.hidden = true; apply(JSON.parse(event.data)); });
  source.addEventListener("error", () => {
    if (offline.hidden) document.getElementById("offline-since").textContent = new Date().toLocaleTimeString();
    offline.hidden = false;
    document.title = `⚠ server not reachable – ${baseTitle}`;
  });
};
connect();
// A browser opens few connections to a server. Hidden tabs keep theirs only if their title shows the state of a crawl.
if ("visibleOnly" in watched.dataset) {
  document.addEventListener("visibilitychange", () => { if (document.hidden) source.close(); else connect(); });
}
