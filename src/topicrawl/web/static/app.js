// Keys for whoever reviews, and figures that keep moving. Everything works without it, by hand.
"use strict";
addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select")) return;
  const target = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (target) { event.preventDefault(); target.click(); }
});
const live = document.querySelector("[data-live]");
if (live) {
  const look = async () => {
    if (!document.hidden) {
      try {
        const answer = await fetch(live.dataset.live);
        if (answer.ok) {
          const fresh = new DOMParser().parseFromString(await answer.text(), "text/html");
          for (const part of document.querySelectorAll("[data-part]")) {
            const now = fresh.getElementById(part.id);
            // What someone is about to press must not move away.
            if (now && !part.contains(document.activeElement) && now.innerHTML !== part.innerHTML) part.innerHTML = now.innerHTML;
          }
        }
      } catch { /* The server is gone for a moment: the next look will tell. */ }
    }
    setTimeout(look, pause());
  };
  // Whoever has just said something wants to see that it was heard.
  const pause = () => document.querySelector("[data-soon]") ? 300 : 1500;
  setTimeout(look, pause());
}
const again = document.querySelector("[data-reload]");
if (again) setTimeout(() => location.reload(), Number(again.dataset.reload));
for (const link of document.querySelectorAll("[data-back]")) {
  link.addEventListener("click", (event) => { if (history.length > 1) { event.preventDefault(); history.back(); } });
}
for (const input of document.querySelectorAll("input[data-upload]")) {
  input.addEventListener("change", async () => {
    const told = document.getElementById(input.dataset.told);
    if (!input.files.length) return;
    told.textContent = "Reading…";
    try {
      const answer = await fetch(input.dataset.upload, { method: "POST", body: input.files[0], headers: { "content-type": "application/octet-stream" } });
      told.textContent = await answer.text();
    } catch { told.textContent = "The file could not be sent: is it too large, or the server gone?"; }
  });
}
