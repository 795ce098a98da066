// Keyboard shortcuts and live updates. All pages also work without this script.
"use strict";
addEventListener("keydown", (event) => {
  // A key that is held down repeats; only its first event counts.
  if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog[open]")) return;
  const target = document.querySelector(`[data-key="${CSS.escape(event.key)}"]`);
  if (target && !target.closest("[hidden]")) { event.preventDefault(); target.click(); }
});
// A form is sent once: a second click or key press before the next page is shown does nothing.
addEventListener("submit", (event) => {
  const form = event.target;
  if (event.defaultPrevented || form.method !== "post" || (form.hasAttribute("data-download") && !event.submitter?.formAction.endsWith("/verdict"))) return;
  if (form.dataset.sent) return event.preventDefault();
  if (!form.dataset.inline) { form.dataset.sent = "yes"; return; }
  event.preventDefault();
  sendInline(form, event.submitter);
});
addEventListener("pageshow", () => { for (const form of document.querySelectorAll("form[data-sent]")) delete form.dataset.sent; });
// Send a form in the background and replace the part of the page that it names with the response.
const sendInline = async (form, submitter) => {
  form.dataset.sent = "yes";
  form.setAttribute("aria-busy", "true");
  const fields = new URLSearchParams(new FormData(form, submitter));
  try {
    const response = await fetch(form.action, { method: "POST", body: fields, headers: { "x-inline": "1" } });
    const text = await response.text();
    if (!response.ok) throw new Error(new DOMParser().parseFromString(text, "text/html").querySelector("[role=alert]")?.textContent ?? `status ${response.status}`);
    const part = document.getElementById(form.dataset.inline);
    if (part) part.outerHTML = text;
  } catch (error) {
    const note = document.createElement("p");
    note.className = "note bad";
    note.setAttribute("role", "alert");
    note.textContent = error instanceof TypeError ? "The server is not reachable. Nothing was changed." : error.message;
    form.querySelector(".note")?.remove();
    form.append(note);
  } finally { delete form.dataset.sent; form.removeAttribute("aria-busy"); }
};
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
for (const box of document.querySelectorAll("[data-check-all]")) {
  box.addEventListener("change", () => { for (const other of box.form.querySelectorAll("[name=url]")) other.checked = box.checked; });
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
