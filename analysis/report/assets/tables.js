// Actions of tables and commands: save as CSV, copy, take the keyboard's focus only if they scroll.
(function () {
  "use strict";
  const stem = document.querySelector("[data-stem]")?.dataset.stem ?? "scalebench";

  // RFC 4180. A spreadsheet takes text that begins with = + - @, a tab or a line end for a formula: such text gets an
  // apostrophe before it, unless it is a number.
  function field(value) {
    if (value === null || value === undefined) return "";
    if (typeof value !== "string") return String(value);
    const isNumber = /^[+-]?[0-9]+([.][0-9]+)?(e[+-]?[0-9]+)?$/i.test(value);
    const text = /^[=+\-@\t\r\n]/.test(value) && !isNumber ? "'" + value : value;
    return /[",\r\n]/.test(text) ? '"' + text.replaceAll('"', '""') + '"' : text;
  }

  function csv(table) {
    const names = Object.keys(table.columns);
    const columns = names.map((name) => window.listed(table.columns[name]));
    const lines = [names.map(field).join(",")];
    for (let index = 0; index < table.count; index += 1) {
      lines.push(columns.map((column) => field(column[index])).join(","));
    }
    return lines.join("\r\n") + "\r\n";
  }

  function save(name, table) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([csv(table)], { type: "text/csv;charset=utf-8" }));
    link.download = stem + "." + name + ".csv";
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(link.href), 60000);
  }

  function offer(button, name, script) {
    button.addEventListener("click", async () => save(name, await window.unpacked(script)));
  }

  for (const button of document.querySelectorAll("button[data-csv]")) {
    offer(button, button.dataset.csv, button.nextElementSibling);
  }
  for (const fold of document.querySelectorAll("figure.chart details.data")) {
    const figure = fold.closest("figure");
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = "CSV";
    button.setAttribute("aria-label", "CSV of the data of: " + (figure.querySelector("h3")?.textContent ?? figure.id));
    offer(button, figure.id, figure.querySelector("script[type='application/json']"));
    fold.querySelector("summary").after(button);
  }

  // Some browsers have no clipboard interface on pages opened as files, but the old command works there. If neither
  // works, the text stays selected.
  async function copied(element) {
    const range = document.createRange();
    range.selectNodeContents(element);
    getSelection().removeAllRanges();
    getSelection().addRange(range);
    if (document.execCommand("copy")) return true;
    try {
      await navigator.clipboard.writeText(element.textContent);
      return true;
    } catch {
      return false;
    }
  }

  for (const button of document.querySelectorAll("button[data-copy]")) {
    button.addEventListener("click", async () => {
      const done = await copied(document.getElementById(button.dataset.copy));
      button.nextElementSibling.textContent = done ? "Copied." : "Selected: press Ctrl+C or ⌘C.";
    });
  }

  // A region that does not scroll takes no keyboard focus.
  function settle(region) {
    const scrolls = region.scrollWidth > region.clientWidth || region.scrollHeight > region.clientHeight;
    if (scrolls) region.tabIndex = 0;
    else region.removeAttribute("tabindex");
  }
  const sizes = new ResizeObserver((entries) => entries.forEach(({ target }) => settle(target.closest(".scroll, pre"))));
  for (const region of document.querySelectorAll(".scroll, pre")) {
    for (const observed of [region, ...region.children]) sizes.observe(observed);
  }
})();
