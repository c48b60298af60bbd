// Draws the charts of a page. Wrapped in a function: Vega's bundle declares names of its own at the top level.
(function () {
  "use strict";
  const config = JSON.parse(document.getElementById("vega-config").textContent);
  const PANEL_PX = 240; // narrowest panel of a chart that has several
  const AXIS_PX = 78; // between panels, for an axis

  // Columns -> rows. Text that repeats comes as its distinct values and a code per row.
  function rowsOf(columns, count) {
    const names = Object.keys(columns);
    const read = names.map((name) => {
      const column = columns[name];
      if (Array.isArray(column)) return (index) => column[index];
      return (index) => (column.codes[index] === null ? null : column.values[column.codes[index]]);
    });
    return Array.from({ length: count }, (_, index) =>
      Object.fromEntries(names.map((name, place) => [name, read[place](index)])));
  }

  function fitted(chart, rows, width) {
    const spec = structuredClone(chart.spec);
    spec.datasets = { ...spec.datasets, rows: rows };
    if (spec.facet) {
      const panels = new Set(rows.map((row) => row[spec.facet.field])).size;
      spec.columns = Math.max(1, Math.min(panels, Math.floor(width / (PANEL_PX + AXIS_PX))));
      spec.spec.width = Math.floor(width / spec.columns) - AXIS_PX;
      spec.bounds = "flush"; // every panel on the same raster, whatever its labels measure
      spec.spacing = { column: AXIS_PX, row: 74 };
    } else {
      spec.width = width;
      spec.autosize = { type: "fit-x", contains: "padding" };
    }
    return spec;
  }

  // Vega does not break a legend's line by itself.
  function legendColumns(spec, width) {
    const lengths = [4];
    JSON.stringify(spec, (key, value) => {
      if (key === "domain" && Array.isArray(value)) lengths.push(...value.map((label) => String(label).length));
      return value;
    });
    const entry = 34 + 7 * Math.min(24, Math.max(...lengths));
    return Math.max(1, Math.floor((width - 130) / entry));
  }

  async function draw(figure, chart, rows) {
    const plot = figure.querySelector(".plot");
    const width = plot.clientWidth;
    if (width === 0 || figure.dataset.width === String(width)) return;
    figure.dataset.width = String(width);
    const settings = structuredClone(config);
    settings.axis.labelLimit = Math.min(260, Math.max(110, 0.38 * width));
    settings.legend.columns = legendColumns(chart.spec, width);
    const view = await window.vegaEmbed(plot, fitted(chart, rows, width), {
      mode: "vega-lite",
      config: settings,
      ast: true, // Vega's interpreter: nothing is compiled, so that the page needs no unsafe-eval
      actions: false,
      renderer: "svg",
      defaultStyle: false,
      tooltip: { disableDefaultStyle: true },
    });
    if (figure.view) figure.view.finalize();
    figure.view = view;
    figure.dataset.state = "drawn";
  }

  function dataTable(chart, rows) {
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    const names = Object.keys(chart.columns);
    for (const name of names) {
      const cell = document.createElement("th");
      cell.scope = "col";
      cell.textContent = name;
      head.append(cell);
    }
    const body = table.createTBody();
    for (const row of rows) {
      const line = body.insertRow();
      for (const name of names) {
        const cell = line.insertCell();
        cell.textContent = row[name] === null ? "–" : String(row[name]);
        if (typeof row[name] === "number") cell.className = "number";
      }
    }
    return table;
  }

  const redraws = [];
  async function begin(figure) {
    const chart = JSON.parse(figure.querySelector("script").textContent);
    const rows = rowsOf(chart.columns, chart.count);
    const data = figure.querySelector("details.data");
    data.addEventListener("toggle", () => data.querySelector(".scroll").replaceChildren(dataTable(chart, rows)),
      { once: true });
    const redraw = () => draw(figure, chart, rows).catch((error) => {
      figure.dataset.state = "failed";
      figure.querySelector(".plot").textContent = "This chart could not be drawn: " + error.message;
      console.error(error);
    });
    redraws.push(redraw);
    await redraw();
  }

  async function beginAll() {
    for (const figure of document.querySelectorAll("figure.chart")) await begin(figure);
    document.documentElement.dataset.state = "drawn";
  }

  let timer = 0;
  window.addEventListener("resize", () => {
    clearTimeout(timer);
    timer = setTimeout(() => redraws.forEach((redraw) => redraw()), 150);
  });
  beginAll();
})();
