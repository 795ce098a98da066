// Keep the text of a form in this browser, also when the user leaves the page or starts a crawl.
"use strict";
for (const form of document.querySelectorAll("form[data-draft]")) {
  const key = `topicrawl-${form.dataset.draft}`, button = form.querySelector("[data-clear]");
  const fields = [...form.elements].filter((field) => field.name);
  const isGiven = fields.some((field) => field.defaultValue && field.localName === "textarea"); // the server filled in the form
  const draft = JSON.parse(localStorage.getItem(key) ?? "{}");
  if (!isGiven) for (const field of fields) if (field.name in draft) field.value = draft[field.name];
  const save = () => { localStorage.setItem(key, JSON.stringify(Object.fromEntries(fields.map((field) => [field.name, field.value])))); };
  form.addEventListener("input", save);
  form.addEventListener("submit", save);
  button.hidden = false;
  button.addEventListener("click", () => {
    localStorage.removeItem(key);
    for (const field of fields) field.value = field.localName === "select" ? [...field.options].find((one) => one.defaultSelected)?.value ?? field.options[0].value : field.name === "pages" ? "1000" : "";
    fields[0].focus();
  });
}
