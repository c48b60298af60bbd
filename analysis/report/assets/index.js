// Filters of the list of sessions. The address contains the choices, so that a filtered list can be linked.
(function () {
  "use strict";
  const filters = document.querySelector(".filters");
  if (!filters) return;
  const SETTLE_MS = 120; // delay after the last key, so that typing is one change and is announced once
  const fields = Object.fromEntries(["words", "suite", "tag", "verdict"].map((name) =>
    [name, filters.querySelector(`[name=${name}]`)]));
  const shown = document.querySelector(".shown");
  const none = document.querySelector(".none-shown");
  const rows = [...document.querySelectorAll(".sessions tbody tr")].map((row) => ({
    row: row,
    words: (row.textContent + " " + row.dataset.suite).toLowerCase(),
    suite: row.dataset.suite,
    verdict: row.dataset.verdict,
    tags: new Set([...row.querySelectorAll(".tag:not(.quick)")].map((tag) => tag.dataset.tag ?? tag.textContent)),
  }));

  function matches(entry, wanted, words) {
    return (!wanted.suite || entry.suite === wanted.suite)
      && (!wanted.tag || entry.tags.has(wanted.tag))
      && (!wanted.verdict || entry.verdict === wanted.verdict)
      && words.every((word) => entry.words.includes(word));
  }

  function apply() {
    const wanted = Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, field.value]));
    const words = wanted.words.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const entry of rows) {
      const fits = matches(entry, wanted, words);
      if (entry.row.hidden === fits) entry.row.hidden = !fits;
      count += fits ? 1 : 0;
    }
    const all = rows.length.toLocaleString("en");
    shown.textContent = count === rows.length ? `All ${all} sessions` : `${count.toLocaleString("en")} of ${all} sessions`;
    none.hidden = count > 0;
    return wanted;
  }

  function keep(wanted) {
    const chosen = new URLSearchParams(Object.entries(wanted).filter(([, value]) => value));
    const hash = chosen.size ? "#" + chosen : "";
    if (location.hash !== hash) history.replaceState(null, "", hash || location.pathname + location.search);
  }

  function restore() {
    const chosen = new URLSearchParams(location.hash.slice(1));
    for (const [name, field] of Object.entries(fields)) {
      field.value = chosen.get(name) ?? "";
      if (field.selectedIndex === -1) field.value = ""; // the list no longer has such a session
    }
    apply();
  }

  let timer = 0;
  function settle() {
    clearTimeout(timer);
    timer = setTimeout(() => keep(apply()), SETTLE_MS);
  }
  filters.addEventListener("input", settle);
  filters.addEventListener("change", settle); // not every browser fires `input` for a choice
  for (const button of document.querySelectorAll(".clear")) {
    button.addEventListener("click", () => {
      Object.values(fields).forEach((field) => { field.value = ""; });
      keep(apply());
      fields.words.focus();
    });
  }
  window.addEventListener("hashchange", restore);
  restore();
})();
