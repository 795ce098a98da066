// Live updates of a collection: the server sends only the parts that have changed. Unchanged nodes stay in the page, so
// that the focus, the selection and the scroll position stay too.
"use strict";
const watched = document.querySelector("[data-events]");
const offline = document.getElementById("offline");
const icon = document.querySelector("link[rel=icon]");
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

let chart = null;
const figure = document.getElementById("curve");
const drawCurve = (points) => {
  const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name).trim();
  const data = [points.map(([x]) => x), points.map(([, y]) => y), points.map(([x]) => x)];
  if (chart) return chart.setData(data);
  const axis = (label) => ({ label, stroke: colour("--quiet"), grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line") } });
  chart = new uPlot({
    width: figure.clientWidth, height: 260, scales: { x: { time: false }, y: { range: (u, low, high) => [0, Math.max(1, points.at(-1)[1] * 1.1, u.data[1].at(-1) * 1.1)] } },
    axes: [axis("Fetches"), axis("Relevant pages")],
    series: [{ label: "Fetches" }, { label: "Relevant pages", stroke: colour("--main"), width: 2 }, { label: "If every page were relevant", stroke: colour("--quiet"), dash: [4, 4] }],
  }, data, figure);
  new ResizeObserver(() => chart.setSize({ width: figure.clientWidth, height: 260 })).observe(figure);
};
if (figure) drawCurve(JSON.parse(figure.dataset.points));

const apply = (changes) => {
  for (const [id, html] of Object.entries(changes.parts ?? {})) {
    const part = document.getElementById(id);
    const fresh = parse(html);
    if (!part) continue;
    if (id === "heeded") morph(part, fresh.firstElementChild); else morphChildren(part, fresh);
  }
  if (changes.curve && figure) {
    drawCurve(changes.curve);
    const [fetches, found] = changes.curve.at(-1);
    figure.setAttribute("aria-label", `${found.toLocaleString("en")} relevant pages among ${fetches.toLocaleString("en")} fetches`);
  }
  if (changes.state) {
    document.title = `${changes.state.on ? "▶" : "■"} ${changes.state.pages.toLocaleString("en")} ${changes.state.words} – ${baseTitle}`;
    icon.href = changes.state.on ? watched.dataset.iconOn : watched.dataset.iconOff;
  }
};
const source = new EventSource(watched.dataset.events);
source.addEventListener("open", () => { offline.hidden = true; });
source.addEventListener("message", (event) => { offline.hidden = true; apply(JSON.parse(event.data)); });
source.addEventListener("error", () => {
  if (offline.hidden) document.getElementById("offline-since").textContent = new Date().toLocaleTimeString();
  offline.hidden = false;
  document.title = `⚠ server not reachable – ${baseTitle}`;
});
// Pause, resume and stop are acknowledged before the server answers.
addEventListener("submit", (event) => {
  if (!event.target.closest("#now")) return;
  const state = document.querySelector("#now .state"), text = event.submitter?.textContent;
  if (state && text) state.textContent = { Pause: "pausing…", Resume: "resuming…", Stop: "stopping…", Continue: "starting…" }[text] ?? state.textContent;
});
