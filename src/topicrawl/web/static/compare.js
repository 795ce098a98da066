// Compare: the curves with hover values, and a warning before too many strategies are sent.
"use strict";
const comparison = document.getElementById("comparison");
if (comparison) {
  const { names, data, targets } = JSON.parse(comparison.dataset.chart);
  const dashes = [[], [7, 3], [2, 3], [12, 4], [8, 3, 2, 3], [1, 4], [16, 3, 3, 3], [5, 5]]; // as in the style sheet
  const percent = (share) => (100 * share).toFixed(0);
  // The Wilson interval (95 %) of the share of the relevant pages, as in the table.
  const describe = (plot, found) => {
    if (found == null || !targets) return "–";
    const square = 1.96 ** 2, share = found / targets, middle = (share + square / (2 * targets)) / (1 + square / targets);
    const half = 1.96 * Math.sqrt(share * (1 - share) / targets + square / (4 * targets ** 2)) / (1 + square / targets);
    return `${found.toLocaleString("en")} = ${percent(share)} % (${percent(Math.max(0, middle - half))}–${percent(Math.min(1, middle + half))})`;
  };
  drawChart(comparison, {
    series: names.map((label, number) => ({ label, colour: `--h${number % 8}`, dash: dashes[number % 8], value: describe })),
    data, top: (rows) => Math.max(...rows.slice(1).flat().filter((value) => value !== null)),
  });
}
const choice = document.getElementById("choice");
if (choice) {
  const boxes = [...choice.querySelectorAll("[name=strategy]")], most = Number(choice.dataset.most);
  const note = document.getElementById("chosen-count"), button = choice.querySelector("button.main"), isRunning = button.disabled;
  const count = () => {
    const chosen = boxes.filter((box) => box.checked).length;
    note.textContent = chosen > most ? `${chosen} strategies are chosen: clear ${chosen - most} of them, because at most ${most} can be compared at a time.` : `${chosen} of at most ${most} strategies are chosen.`;
    note.classList.toggle("note", chosen > most);
    note.classList.toggle("bad", chosen > most);
    button.disabled = isRunning || chosen > most || chosen === 0;
  };
  choice.addEventListener("change", count);
  addEventListener("pageshow", count); // the browser restores the boxes when the user goes back
}
