// Keyboard shortcuts and live updates. All pages also work without this script.
"use strict";
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const target = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (target) { event.preventDefault(); target.click(); }
});
const live = document.querySelector("[data-live]");
if (live) {
  const update = async () => {
    if (!document.hidden) {
      try {
        const response = await fetch(live.dataset.live);
        if (response.ok) {
          const fresh = new DOMParser().parseFromString(await response.text(), "text/html");
          for (const part of document.querySelectorAll("[data-part]")) {
            const now = fresh.getElementById(part.id);
            // Do not replace an element that has the focus: the user may be about to press it.
            if (now && !part.contains(document.activeElement) && now.innerHTML !== part.innerHTML) part.innerHTML = now.innerHTML;
          }
        }
      } catch { /* The server is not reachable; the next update tries again. */ }
    }
    setTimeout(update, interval());
  };
  // Update faster while a command or verdict of the user is pending.
  const interval = () => document.querySelector("[data-soon]") ? 300 : 1500;
  setTimeout(update, interval());
}
const again = document.querySelector("[data-reload]");
if (again) setTimeout(() => location.reload(), Number(again.dataset.reload));
for (const link of document.querySelectorAll("[data-back]")) {
  link.addEventListener("click", (event) => { if (history.length > 1) { event.preventDefault(); history.back(); } });
}
for (const input of document.querySelectorAll("input[data-upload]")) {
  input.addEventListener("change", async () => {
    const status = document.getElementById(input.dataset.status);
    if (!input.files.length) return;
    status.textContent = "Uploading…";
    try {
      const response = await fetch(input.dataset.upload, { method: "POST", body: input.files[0], headers: { "content-type": "application/octet-stream" } });
      status.textContent = await response.text();
    } catch { status.textContent = "The upload failed: the file is too large or the server is not reachable."; }
  });
}
