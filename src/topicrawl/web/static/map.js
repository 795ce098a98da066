// The link map: choose a host by a click or a search, and zoom. Without this script, the lists below the map lead to hosts.
"use strict";
const map = document.getElementById("map");
if (map) {
  const hosts = new Map(JSON.parse(map.dataset.hosts).map((host) => [host.name, host]));
  const drawing = map.querySelector("svg"), nodes = [...map.querySelectorAll(".node")], ways = [...map.querySelectorAll(".way")];
  const panel = document.getElementById("chosen"), search = document.getElementById("find-host");
  const make = (name, text, attributes = {}) => Object.assign(document.createElement(name), { textContent: text ?? "", ...attributes });

  // Show only the given hosts and their links in full strength; none: show all.
  const emphasize = (names, isWayShown) => {
    for (const node of nodes) {
      node.classList.toggle("dim", names !== null && !names.has(node.dataset.host));
      node.classList.toggle("found", names !== null && names.has(node.dataset.host));
    }
    for (const way of ways) way.classList.toggle("dim", names !== null && !isWayShown(way.dataset.ends.split(" ")));
  };
  const choose = (name) => {
    const host = hosts.get(name);
    emphasize(new Set([name, ...host.links.map(([other]) => other)]), (ends) => ends.includes(name));
    const head = make("h2"), rows = make("ul", "", { className: "links" });
    head.append(make("a", name, { href: `${map.dataset.at}/host?${new URLSearchParams({ name })}` }));
    for (const [other, there, back] of host.links.slice(0, 12)) {
      const row = make("li"), link = make("button", other, { type: "button", className: "link" });
      link.addEventListener("click", () => choose(other));
      row.append(link, make("small", ` ${there.toLocaleString("en")} there, ${back.toLocaleString("en")} back`));
      rows.append(row);
    }
    const clear = make("button", "Show all hosts", { type: "button" });
    clear.addEventListener("click", () => { emphasize(null); panel.replaceChildren(); search.value = ""; });
    const known = host.links.length ? `. Links to and from ${host.links.length} of the hosts:` : ". No links to or from the other hosts.";
    panel.replaceChildren(head, make("p", `${host.pages.toLocaleString("en")} ${host.pages === 1 ? "page" : "pages"}${known}`), rows, clear);
  };
  for (const node of nodes) node.addEventListener("click", () => choose(node.dataset.host));
  search.addEventListener("input", () => {
    const text = search.value.trim().toLowerCase();
    const found = [...hosts.keys()].filter((name) => name.includes(text));
    panel.replaceChildren(make("p", text ? `${found.length} of ${hosts.size} hosts match` : ""));
    if (!text) return emphasize(null);
    if (found.length === 1 || hosts.has(text)) return choose(hosts.has(text) ? text : found[0]);
    emphasize(new Set(found), (ends) => ends.some((name) => found.includes(name)));
  });
  search.addEventListener("keydown", (event) => {
    const first = [...hosts.keys()].find((name) => name.includes(search.value.trim().toLowerCase()));
    if (event.key === "Enter" && first) choose(first);
  });
  const zoomer = Panzoom(drawing, { maxScale: 8, minScale: 1, contain: "outside", panOnlyWhenZoomed: true, cursor: "default", touchAction: "pan-y" });
  // At full size, a finger on the map scrolls the page; on a larger map, it moves the map.
  drawing.addEventListener("panzoomchange", ({ detail }) => { drawing.style.touchAction = detail.scale > 1.01 ? "none" : "pan-y"; });
  // A wheel without Ctrl scrolls the page.
  map.addEventListener("wheel", (event) => { if (event.ctrlKey) zoomer.zoomWithWheel(event); }, { passive: false });
  document.getElementById("zoom-in").addEventListener("click", () => zoomer.zoomIn({ animate: false }));
  document.getElementById("zoom-out").addEventListener("click", () => zoomer.zoomOut({ animate: false }));
  document.getElementById("zoom-reset").addEventListener("click", () => zoomer.reset({ animate: false }));
  document.getElementById("map-tools").hidden = document.getElementById("map-help").hidden = false;
}
