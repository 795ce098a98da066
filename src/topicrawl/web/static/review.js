// Review in place: the next pages are loaded in advance, and verdicts are sent in the background, one after the other.
// A verdict applies to the page that is shown, and to each page once.
const root = document.getElementById("review");
const item = document.getElementById("item");
const verdictForm = document.getElementById("verdict");
const undoForm = document.getElementById("undo");
const message = document.getElementById("message");
const list = document.getElementById("queue-list");
const AHEAD = 12; // pages to load in advance
const words = { relevant: "relevant", irrelevant: "not relevant", unsure: "unsure" };
const queue = JSON.parse(root.dataset.pages); // pages in the order of the queue: { url, title }
const loaded = new Map(); // URL → HTML of a page
const loading = new Set();
const judged = new Map(); // URL → verdict that was given here
const actions = []; // verdicts given here that can be undone: { url, verdict, sent }
let shown = root.dataset.url; // URL of the page that is shown; "" while it loads
let wanted = shown;
let sending = Promise.resolve(); // verdicts are sent one after the other
let unsent = 0;

const send = async (path, fields) => {
  const response = await fetch(root.dataset.at + path, {
    method: "POST", headers: { "x-inline": "1" }, body: new URLSearchParams({ queue: root.dataset.queue, ...fields }),
  });
  if (!response.ok) throw new Error(`the server answered with status ${response.status}`);
  return response.json();
};

const showProgress = (progress) => {
  for (const part of document.querySelectorAll("[data-count]")) part.textContent = progress[part.dataset.count].toLocaleString("en");
  const bar = document.getElementById("progress");
  bar.max = Math.max(1, progress.left + progress.reviewed);
  bar.value = progress.reviewed;
};

const say = (text) => { message.textContent = text; };
const waiting = () => queue.filter((page) => !judged.has(page.url));

const load = async (url) => {
  if (loaded.has(url) || loading.has(url)) return;
  loading.add(url);
  try {
    const response = await fetch(`${root.dataset.at}/review/page?${new URLSearchParams({ url })}`);
    if (!response.ok) throw new Error(`status ${response.status}`);
    loaded.set(url, await response.text());
  } catch (error) {
    if (url === wanted) say(`The page cannot be loaded: ${error.message}. Press j or k to try again.`);
  } finally { loading.delete(url); }
  if (url === wanted && url !== shown && loaded.has(url)) show(url);
};

const prefetch = async () => {
  for (const page of waiting().slice(0, AHEAD)) await load(page.url);
  if (waiting().length < AHEAD) await extendQueue();
};

const extendQueue = async () => {
  const response = await fetch(`${root.dataset.at}/review/queue?queue=${root.dataset.queue}`).catch(() => null);
  if (!response?.ok) return;
  const known = new Set(queue.map((page) => page.url));
  const added = (await response.json()).pages.filter((page) => !known.has(page.url));
  queue.push(...added);
  if (added.length) prefetch();
};

const show = (url) => {
  wanted = url;
  if (!loaded.has(url)) {
    shown = "";
    item.innerHTML = "<p class='empty'>Loading…</p>";
    load(url);
  } else {
    shown = url;
    item.innerHTML = loaded.get(url);
    scrollTo(0, 0);
  }
  verdictForm.elements.url.value = shown;
  for (const button of verdictForm.querySelectorAll("button")) button.setAttribute("aria-pressed", String(judged.get(url) === button.value));
  renderQueue();
};

const renderQueue = () => {
  const start = Math.max(0, queue.findIndex((page) => page.url === wanted) - 2);
  list.start = start + 1;
  list.replaceChildren(...queue.slice(start, start + 12).map((page) => {
    const row = document.createElement("li"), link = document.createElement("a");
    link.href = `${root.dataset.at}/review?${new URLSearchParams({ queue: root.dataset.queue, url: page.url })}`;
    link.textContent = (page.title || page.url).slice(0, 60);
    link.addEventListener("click", (event) => { event.preventDefault(); show(page.url); });
    row.append(link);
    if (judged.has(page.url)) row.append(` ${words[judged.get(page.url)]}`);
    if (page.url === wanted) row.setAttribute("aria-current", "true");
    return row;
  }));
};

const move = (distance) => {
  const position = queue.findIndex((page) => page.url === wanted) + distance;
  if (queue[position]) show(queue[position].url);
};

const showNext = () => {
  const position = queue.findIndex((page) => page.url === wanted);
  const next = queue.slice(position + 1).find((page) => !judged.has(page.url)) ?? waiting()[0];
  if (next) return show(next.url);
  wanted = shown = "";
  item.innerHTML = "<p class='empty'>There are no pages left to review. New pages appear here as the crawl fetches them.</p>";
  renderQueue();
};

const judge = (verdict) => {
  const url = shown;
  if (!url || judged.has(url)) return; // nothing is shown, or the page has its verdict
  judged.set(url, verdict);
  const action = { url, verdict };
  actions.push(action);
  undoForm.hidden = false;
  document.getElementById("undone").textContent = words[verdict];
  unsent += 1;
  action.sent = sending = sending.then(() => send("/review", { url, verdict })).then((result) => {
    showProgress(result.progress);
    for (const one of result.decisions) say(`The sample of “${one.group}” is complete: ${one.pages.toLocaleString("en")} other pages are ${one.label === "relevant" ? "accepted" : "rejected"}.`);
    return result.action;
  }).catch((error) => {
    judged.delete(url);
    actions.splice(actions.indexOf(action), 1);
    say(`The verdict on ${url} was not stored (${error.message}). The page is back in the queue.`);
    renderQueue();
    return 0;
  }).finally(() => { unsent -= 1; });
  showNext();
  prefetch();
};

const undo = async () => {
  const action = actions.pop();
  if (!action) return undoForm.submit(); // an action of an earlier visit
  const number = await action.sent;
  if (!number) return;
  try {
    showProgress((await send("/undo", { action: number })).progress);
    judged.delete(action.url);
    loaded.delete(action.url);
    say("The verdict is undone.");
    undoForm.hidden = !actions.length;
    show(action.url);
  } catch (error) {
    actions.push(action);
    say(`The verdict was not undone: ${error.message}.`);
  }
};

if (verdictForm) {
  loaded.set(shown, item.innerHTML);
  verdictForm.addEventListener("submit", (event) => { event.preventDefault(); judge(event.submitter.value); });
  undoForm.addEventListener("submit", (event) => { if (actions.length) { event.preventDefault(); undo(); } });
  addEventListener("keydown", (event) => {
    if (event.repeat || event.ctrlKey || event.metaKey || event.altKey || event.target.closest("input, textarea, select, dialog[open]")) return;
    if (event.key === "j" || event.key === "k") move(event.key === "j" ? 1 : -1);
  });
  addEventListener("beforeunload", (event) => { if (unsent) event.preventDefault(); });
  renderQueue();
  prefetch().then(() => { root.dataset.ready = "yes"; });
}
const help = document.getElementById("help");
const helpButton = document.getElementById("help-button");
helpButton.hidden = false;
helpButton.addEventListener("click", () => help.showModal());
