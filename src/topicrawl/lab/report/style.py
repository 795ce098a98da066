"""CSS of the HTML report for screen and print. The report is self-contained and loads no external files."""

STYLE = """
:root { color-scheme: light; --ink: #1f2933; --soft: #52606d; --line: #d8dee4; --paper: #ffffff; --ground: #f5f7f9; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--ground); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", "Helvetica Neue", Arial, "DejaVu Sans", sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 27px; line-height: 1.2; margin: 0 0 6px; }
h2 { font-size: 19px; margin: 0 0 4px; }
p { max-width: 76ch; margin: 0 0 12px; }
.soft, .soft p { color: var(--soft); }
section { background: var(--paper); border: 1px solid var(--line); border-radius: 10px; padding: 20px 22px;
  margin: 18px 0; }
.wide { overflow-x: auto; margin: 0 0 14px; }
.wide figure svg { min-width: 760px; }
table { border-collapse: collapse; font-size: 13.5px; font-variant-numeric: tabular-nums; }
th { text-align: right; font-weight: 600; color: var(--soft); padding: 4px 7px; border-bottom: 1px solid var(--line);
  vertical-align: bottom; white-space: nowrap; }
td { text-align: right; padding: 3px 7px; border-bottom: 1px solid #eef1f4; white-space: nowrap; }
th:first-child, td:first-child, td.left, th.left { text-align: left; }
td.wrap { white-space: normal; text-align: left; }
tr.oracle td { color: var(--soft); font-style: italic; }
tr.base td { background: #f5f7f9; }
.swatch { display: inline-block; width: 11px; height: 11px; border-radius: 3px; margin-right: 7px;
  vertical-align: -1px; }
.keys { display: flex; flex-wrap: wrap; gap: 4px 20px; margin: 0 0 10px; padding: 0; list-style: none;
  font-size: 13.5px; }
.keys svg { vertical-align: -3px; margin-right: 6px; }
.panels { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(350px, 100%), 1fr)); gap: 14px 18px; }
figure { margin: 0; break-inside: avoid; }
svg { display: block; max-width: 100%; height: auto; overflow: visible; }
.keys svg, td svg { display: inline-block; max-width: none; }
svg text { font-size: 11.5px; fill: var(--ink); }
svg .tick { font-size: 11px; fill: var(--soft); }
svg .head { font-size: 13.5px; font-weight: 600; }
svg .sign { font-size: 13px; font-weight: 700; }
svg .label { paint-order: stroke; stroke: var(--paper); stroke-width: 3px; stroke-linejoin: round; }
svg .mid { text-anchor: middle; }
svg .end { text-anchor: end; }
svg .grid { stroke: #e4e7eb; fill: none; }
svg .axis { stroke: #9aa5b1; fill: none; }
code { font: 13px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; background: #eef1f4;
  padding: 1px 5px; border-radius: 4px; overflow-wrap: anywhere; }
@media print {
  @page { size: A4; margin: 14mm; }
  body { background: #fff; font-size: 10.5pt; }
  main { max-width: none; padding: 0; }
  section { border: 0; padding: 0; margin: 0 0 9mm; }
  section.whole, h2 + p { break-inside: avoid; }
  h2, h2 + p, .keys { break-after: avoid; }
  .wide { overflow: visible; }
  .wide figure svg { min-width: 0; }
  table { font-size: 8.2pt; }
  th, td { padding: 1.5px 5px; }
  tr { break-inside: avoid; }
  .panels { grid-template-columns: 1fr 1fr; gap: 4mm; }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
}
"""
