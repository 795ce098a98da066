// Charts with axis titles and hover values, in the colours of the page. They follow its width and its colour scheme.
"use strict";
const charts = [];
const INTEGERS = [0, 1, 2, 3, 4, 5, 6, 7].flatMap((power) => [1, 2, 5].map((digit) => digit * 10 ** power)); // steps of the axes
// Draw curves into an element. `series` are { label, colour, dash, value }; the first row of `data` are the fetches.
const drawChart = (element, { series, data, top }) => {
  const chart = { element, series, data, top, plot: null };
  charts.push(chart);
  plotChart(chart);
  new ResizeObserver(() => chart.plot.setSize({ width: element.clientWidth, height: 280 })).observe(element);
  return { update: (fresh) => { chart.data = fresh; chart.plot.setData(fresh); } };
};
const plotChart = (chart) => {
  const style = getComputedStyle(document.documentElement), colour = (name) => style.getPropertyValue(name).trim();
  const format = (value) => value == null ? "–" : value.toLocaleString("en");
  const axis = (label) => ({
    label, incrs: INTEGERS, stroke: colour("--quiet"), font: "12px system-ui", labelFont: "13px system-ui", labelSize: 22,
    grid: { stroke: colour("--line"), width: 1 }, ticks: { stroke: colour("--line"), width: 1 },
    values: (plot, values) => values.map(format), size: label === "Fetches" ? 40 : 56,
  });
  chart.plot?.destroy();
  chart.plot = new uPlot({
    width: chart.element.clientWidth, height: 280, scales: { x: { time: false }, y: { range: () => [0, Math.max(1, chart.top(chart.data)) * 1.08] } },
    axes: [axis("Fetches"), axis("Relevant pages")],
    series: [{ label: "Fetches", value: (plot, value) => format(value) }, ...chart.series.map((one) => ({
      label: one.label, stroke: colour(one.colour), width: 2, dash: one.dash, points: { show: false },
      value: one.value ?? ((plot, value) => format(value)),
    }))],
  }, chart.data, chart.element);
};
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { for (const chart of charts) plotChart(chart); });
