// The page of a collection: its curve, the state in the title and icon of the tab, and immediate acknowledgements.
"use strict";
const icon = document.querySelector("link[rel=icon]");
const figure = document.getElementById("curve");
const arrange = (points) => [points.map(([x]) => x), points.map(([, y]) => y), points.map(([x]) => x)];
const curve = drawChart(figure, {
  series: [{ label: "Relevant pages", colour: "--main" }, { label: "If every page were relevant", colour: "--quiet", dash: [4, 4] }],
  data: arrange(JSON.parse(figure.dataset.points)),
  top: (data) => data[1].at(-1),
});
addEventListener("livechange", ({ detail: changes }) => {
  if (changes.curve) {
    curve.update(arrange(changes.curve));
    const [fetches, found] = changes.curve.at(-1);
    figure.setAttribute("aria-label", `${found.toLocaleString("en")} relevant pages among ${fetches.toLocaleString("en")} fetches`);
  }
  if (changes.state) {
    document.title = `${changes.state.on ? "▶" : "■"} ${changes.state.pages.toLocaleString("en")} ${changes.state.words} – ${baseTitle}`;
    icon.href = changes.state.on ? watched.dataset.iconOn : watched.dataset.iconOff;
  }
});
// Pause, resume and stop are acknowledged before the server answers.
addEventListener("submit", (event) => {
  if (!event.target.closest("#now")) return;
  const state = document.querySelector("#now .state"), text = event.submitter?.textContent;
  if (state && text) state.textContent = { Pause: "pausing…", Resume: "resuming…", Stop: "stopping…", Continue: "starting…" }[text] ?? state.textContent;
});
