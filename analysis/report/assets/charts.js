// Draws the charts of a page: visible ones first, the others when the browser is idle. The page itself reserves their
// space, so that nothing moves. Wrapped in a function, because Vega's bundle declares names at the top level.
(function () {
  "use strict";
  const config = JSON.parse(document.getElementById("vega-config").textContent);
  const AXIS_PX = 78; // between panels, for an axis
  const PANEL_MARGIN = 74; // drawing/: PANEL_MARGIN

  function rowsOf(columns, count) {
    const names = Object.keys(columns);
    const lists = names.map((name) => window.listed(columns[name]));
    return Array.from({ length: count }, (_, index) =>
      Object.fromEntries(names.map((name, place) => [name, lists[place][index]])));
  }

  const charts = new Map(); // figure -> its views and rows, read when they are first needed
  async function chartOf(figure) {
    if (!charts.has(figure)) {
      const chart = await window.unpacked(figure.querySelector("script"));
      chart.rows = rowsOf(chart.columns, chart.count);
      charts.set(figure, chart);
    }
    return charts.get(figure);
  }

  // As many panels in a row as the page's grid has columns.
  function columnsOf(plot) {
    const tracks = getComputedStyle(plot).gridTemplateColumns.split(" ").filter((track) => parseFloat(track) > 0);
    return Math.max(1, tracks.length);
  }

  function fitted(view, rows, plot) {
    const spec = structuredClone(view);
    spec.datasets = { ...spec.datasets, rows: rows };
    if (spec.facet) {
      spec.columns = columnsOf(plot);
      spec.spec.width = Math.floor(plot.clientWidth / spec.columns) - AXIS_PX;
      spec.bounds = "flush"; // all panels on the same grid, independent of their labels' sizes
      spec.spacing = { column: AXIS_PX, row: PANEL_MARGIN };
    } else {
      spec.width = plot.clientWidth;
      spec.autosize = { type: "fit", contains: "padding" };
    }
    return spec;
  }

  function clear(plot) {
    plot.querySelectorAll(".drawing").forEach((earlier) => earlier.remove());
  }

  async function draw(figure) {
    if (figure.closest("details.layer:not([open]):not(.printed)")) return; // drawn when the section opens
    const plot = figure.querySelector(".plot");
    const chosen = figure.querySelector(".choice input:checked");
    const state = `${plot.clientWidth} ${chosen ? chosen.value : 0}`;
    if (plot.clientWidth === 0 || figure.drawn === state) return;
    figure.drawn = state;
    const chart = await chartOf(figure);
    const shown = chart.views[chosen ? chosen.value : 0];
    const settings = structuredClone(config);
    settings.axis.labelLimit = Math.min(260, Math.max(110, 0.38 * plot.clientWidth));
    const target = document.createElement("div");
    target.className = "drawing";
    const view = await window.vegaEmbed(target, fitted(shown, chart.rows, plot), {
      mode: "vega-lite",
      config: settings,
      ast: true, // Vega's interpreter compiles nothing, so the page needs no unsafe-eval
      actions: false,
      renderer: "svg",
      defaultStyle: false,
      tooltip: { disableDefaultStyle: true },
    });
    if (figure.drawn !== state) return view.finalize(); // meanwhile the choice or the width has changed
    clear(plot);
    target.setAttribute("aria-hidden", "true"); // the plot is one named image; Vega's roles inside it have no names
    plot.append(target);
    if (figure.view) figure.view.finalize();
    figure.view = view;
    figure.dataset.state = "drawn";
  }

  function drawOrSay(figure) {
    return draw(figure).catch((error) => {
      figure.dataset.state = "failed";
      figure.drawn = null; // so that it is tried again
      clear(figure.querySelector(".plot"));
      const message = document.createElement("p");
      message.className = "drawing";
      message.textContent = "This chart could not be drawn: " + error.message;
      figure.querySelector(".plot").append(message);
      console.error(error);
    });
  }

  function dataTable(chart, caption) {
    const table = document.createElement("table");
    table.createCaption().textContent = caption;
    table.caption.className = "unseen";
    const head = table.createTHead().insertRow();
    const names = Object.keys(chart.columns);
    for (const name of names) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = name;
      head.append(cell);
    }
    const body = table.createTBody();
    for (const row of chart.rows) {
      const line = body.insertRow();
      for (const [place, name] of names.entries()) {
        const cell = place === 0 ? line.appendChild(document.createElement("th")) : line.insertCell();
        if (place === 0) cell.scope = "row";
        cell.textContent = row[name] === null ? "–" : String(row[name]);
        if (typeof row[name] === "number") cell.className = "number";
      }
    }
    return table;
  }

  const figures = [...document.querySelectorAll("figure.chart")];
  const waiting = new Set(figures);
  const inSight = new Set();
  const whenIdle = window.requestIdleCallback
    ? (work) => window.requestIdleCallback(work, { timeout: 300 })
    : (work) => setTimeout(work, 1);

  let isDrawing = false;
  async function drawNext() {
    const figure = [...inSight].find((candidate) => waiting.has(candidate)) || [...waiting][0];
    waiting.delete(figure);
    if (figure) await drawOrSay(figure);
    if (waiting.size > 0) return whenIdle(drawNext);
    isDrawing = false;
    document.documentElement.dataset.state = "drawn";
  }

  function begin() {
    if (isDrawing) return;
    isDrawing = true;
    whenIdle(drawNext);
  }

  const observer = new IntersectionObserver((entries) => {
    for (const entry of entries) inSight[entry.isIntersecting ? "add" : "delete"](entry.target);
  }, { rootMargin: "300px" });

  for (const figure of figures) {
    observer.observe(figure);
    const data = figure.querySelector("details.data");
    const region = data.querySelector(".scroll");
    data.addEventListener("toggle",
      async () => region.replaceChildren(dataTable(await chartOf(figure), region.getAttribute("aria-label"))), { once: true });
    figure.querySelectorAll(".choice input").forEach((input) =>
      input.addEventListener("change", () => drawOrSay(figure)));
  }

  let timer = 0;
  window.addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => {
      figures.forEach((figure) => waiting.add(figure));
      begin();
    }, 150);
  });
  window.addEventListener("beforeprint", () => figures.forEach(drawOrSay));
  // The event does not bubble, so it is caught on its way down.
  document.addEventListener("toggle", (event) => {
    if (event.target.open) event.target.querySelectorAll("figure.chart").forEach(drawOrSay);
  }, true);
  // Before the page counts as loaded, so that a screenshot or a reader finds the first charts.
  for (const figure of figures) {
    if (figure.getBoundingClientRect().top >= window.innerHeight) continue;
    waiting.delete(figure);
    drawOrSay(figure);
  }
  begin();
})();
