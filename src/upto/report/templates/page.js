"use strict";
(() => {
  const all = (selector, root = document) => [...root.querySelectorAll(selector)];
  const tip = document.getElementById("tip");

  // Tooltips: text only, never markup; each line is isolated so that text direction does not leak.
  let anchor = null;
  const placeTip = ({ x, y }) => {
    const { width, height } = tip.getBoundingClientRect();
    const left = Math.max(8, Math.min(x + 14, innerWidth - width - 8));
    const above = y - height - 14;
    tip.style.left = `${left}px`;
    tip.style.top = `${above < 8 ? Math.min(y + 18, innerHeight - height - 8) : above}px`;
  };
  const showTip = (text, x, y) => {
    anchor = null;
    tip.replaceChildren(
      ...text.split("\n").map((line) => {
        const row = document.createElement("div");
        row.dir = "auto";
        row.textContent = line;
        return row;
      }),
    );
    tip.hidden = false;
    placeTip({ x, y });
  };
  const hideTip = () => { tip.hidden = true; };
  const tipOf = (node) => node instanceof Element && node.closest("[data-tip]");
  // An element focused by keyboard keeps its tooltip while the page scrolls to it.
  const showAt = (node, text, share = 0.5) => {
    const top = () => {
      const box = node.getBoundingClientRect();
      return { x: box.left + share * box.width, y: box.top };
    };
    const { x, y } = top();
    showTip(text, x, y);
    anchor = top;
  };
  document.addEventListener("pointermove", (event) => {
    const node = tipOf(event.target);
    if (node) showTip(node.dataset.tip, event.clientX, event.clientY);
    else if (!event.target.closest?.(".scatter, .heat, .plane")) hideTip();
  });
  document.addEventListener("focusin", (event) => {
    const node = tipOf(event.target);
    if (node?.matches(":focus-visible")) showAt(node, node.dataset.tip);
  });
  document.addEventListener("focusout", hideTip);
  document.addEventListener(
    "scroll", () => (anchor ? placeTip(anchor()) : hideTip()), { capture: true, passive: true },
  );
  document.addEventListener("keydown", (event) => { if (event.key === "Escape") hideTip(); });

  // Tables: clicking a heading sorts its column; missing numbers stay last in both directions.
  const keyOf = (cell) => {
    const raw = cell.dataset.sort;
    if (raw === undefined) return cell.textContent.trim();
    return raw === "" ? null : Number(raw);
  };
  const sort = (table, index, direction) => {
    const sign = direction === "ascending" ? 1 : -1;
    const rows = all("tbody tr", table).map((row) => [keyOf(row.cells[index]), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);
      if (typeof a === "number" && typeof b === "number") return sign * (a - b);
      return sign * String(a).localeCompare(String(b), undefined, { numeric: true });
    });
    table.tBodies[0].append(...rows.map(([, row]) => row));
  };
  for (const table of all("table.sortable")) {
    all("thead th", table).forEach((head, index) => {
      head.firstElementChild.addEventListener("click", () => {
        const ascending = head.getAttribute("aria-sort") === "ascending";
        const direction = ascending ? "descending" : "ascending";
        all("thead th", table).forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", direction);
        sort(table, index, direction);
      });
    });
  }

  // Selects for axis and group.
  for (const button of all("[data-axis]")) {
    button.addEventListener("click", () => {
      const section = button.closest("section");
      section.querySelector(".errors").dataset.scale = button.dataset.axis;
      all("[data-axis]", section).forEach((other) => {
        other.setAttribute("aria-pressed", String(other === button));
      });
    });
  }
  for (const select of all("select[data-panels]")) {
    const panels = select.dataset.panels.split(" ").flatMap(
      (id) => all("[data-panel]", document.getElementById(id)),
    );
    const update = () => {
      panels.forEach((panel) => { panel.hidden = panel.dataset.panel !== select.value; });
    };
    select.addEventListener("change", update);
    update(); // a browser may have kept the choice of an earlier visit
  }

  // Scatter plot: hovering shows the label and the pair of the nearest row.
  const connectScatter = (svg, { points, labels }) => {
    const pair = svg.querySelector(".pair");
    const [line, start, end] = pair.children;
    let only = null;
    const place = (node, values) => {
      for (const [name, value] of Object.entries(values)) node.setAttribute(name, value);
    };
    const clear = () => { pair.classList.remove("shown"); hideTip(); };
    svg.addEventListener("pointerleave", clear);
    svg.addEventListener("pointermove", (event) => {
      const box = svg.getBoundingClientRect();
      const unit = svg.viewBox.baseVal.width / box.width;
      const x = (event.clientX - box.left) * unit;
      const y = (event.clientY - box.top) * unit;
      let best = -1;
      let least = (24 * unit) ** 2;
      points.forEach(([tx, ty, ax, ay, colour], index) => {
        if (only !== null && colour !== only) return;
        const d = Math.min((tx - x) ** 2 + (ty - y) ** 2, (ax - x) ** 2 + (ay - y) ** 2);
        if (d < least) [best, least] = [index, d];
      });
      if (best < 0) { clear(); return; }
      const [tx, ty, ax, ay] = points[best];
      place(line, { x1: tx, y1: ty, x2: ax, y2: ay });
      place(start, { cx: tx, cy: ty });
      place(end, { cx: ax, cy: ay });
      pair.classList.add("shown");
      const head = labels.length ? labels[best] : "one row";
      showTip(`${head}\ntarget and aligned source`, event.clientX, event.clientY);
    });
    const legend = all(".legend button", svg.closest("section"));
    for (const button of legend) {
      button.addEventListener("click", () => {
        const colour = Number(button.dataset.colour);
        only = only === colour ? null : colour;
        for (const other of legend) {
          other.setAttribute("aria-pressed", String(Number(other.dataset.colour) === only));
        }
        for (const path of all("path", svg)) {
          path.classList.toggle("dim", only !== null && Number(path.dataset.colour) !== only);
        }
      });
    }
  };

  // Plots: hovering selects the nearest column on all planes; one tab stop, arrow keys move.
  const connectPlot = (plot, { at, tips }) => {
    const planes = all(".plane", plot);
    const cursors = all(".cursor", plot);
    let current = 0;
    const mark = (index) => {
      current = index;
      for (const cursor of cursors) {
        for (const end of ["x1", "x2"]) cursor.setAttribute(end, `${at[index]}%`);
        cursor.classList.add("shown");
      }
    };
    const clear = () => {
      cursors.forEach((cursor) => cursor.classList.remove("shown"));
      hideTip();
    };
    const nearest = (share) => at.reduce(
      (best, x, index) => (Math.abs(x - share) < Math.abs(at[best] - share) ? index : best), 0,
    );
    for (const plane of planes) {
      plane.addEventListener("pointermove", (event) => {
        const box = plane.getBoundingClientRect();
        mark(nearest((100 * (event.clientX - box.left)) / box.width));
        showTip(tips[current], event.clientX, event.clientY);
      });
      plane.addEventListener("pointerleave", clear);
    }
    const [stop] = planes;
    const walk = (index) => {
      mark(index);
      showAt(stop, tips[index], at[index] / 100);
    };
    stop.addEventListener("focus", () => { if (stop.matches(":focus-visible")) walk(current); });
    stop.addEventListener("blur", clear);
    stop.addEventListener("keydown", (event) => {
      const last = at.length - 1;
      const places = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: last };
      if (!(event.key in places)) return;
      event.preventDefault();
      walk(Math.max(0, Math.min(last, places[event.key])));
    });
  };

  // Heat map cells: hovering shows the tooltip; one tab stop, arrow keys move between cells.
  const answerCells = (table, tipFor) => {
    const place = (cell) => [cell.parentElement.sectionRowIndex, cell.cellIndex - 1];
    const cellOf = (event) => event.target.closest?.("tbody td");
    table.addEventListener("pointermove", (event) => {
      const cell = cellOf(event);
      if (cell) showTip(tipFor(...place(cell)), event.clientX, event.clientY);
      else hideTip();
    });
    table.addEventListener("pointerleave", hideTip);
    table.addEventListener("focusin", (event) => {
      const cell = cellOf(event);
      if (cell?.matches(":focus-visible")) showAt(cell, tipFor(...place(cell)));
    });
    table.addEventListener("keydown", (event) => {
      const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
      const step = steps[event.key];
      const cell = cellOf(event);
      if (!step || !cell) return;
      event.preventDefault();
      const [i, j] = place(cell);
      const next = table.tBodies[0].rows[i + step[0]]?.cells[j + step[1] + 1];
      if (!next || next.tagName !== "TD") return;
      cell.tabIndex = -1;
      next.tabIndex = 0;
      next.focus({ focusVisible: true });
    });
  };

  // Heat maps: selecting a group repaints.
  const connectHeat = (article, heat) => {
    const select = article.querySelector("select[data-heats]");
    const [errors, verdicts] = ["h", "g"].map((kind) => article.querySelector(`[data-heat=${kind}]`));
    const number = (value, digits) => (value === null ? "–" : value.toFixed(digits));
    const tipFor = (i, j) => {
      const { name, error, r2, p } = heat.groups[Number(select.value)];
      if (heat.upTo[i][j] === null && error[i][j] === null) return `${heat.names[i]}\nthe run itself`;
      const verdict = heat.upTo[i][j] === null ? "none" : heat.upTo[i][j];
      const words = heat.agreement[i][j];
      return [
        `${heat.names[i]} →`, heat.names[j], `up to ${name}`, `error ${number(error[i][j], 4)}`,
        `R² ${number(r2[i][j], 3)}`, `p ${p[i][j] === null ? "–" : p[i][j].toPrecision(2)}`,
        `verdict ${verdict}${words ? `, ${words}` : ""}`,
      ].join("\n");
    };
    const paint = () => {
      const { error } = heat.groups[Number(select.value)];
      all("tbody tr", errors).forEach((row, i) => {
        all("td", row).forEach((cell, j) => {
          const value = error[i][j];
          const share = heat.top > 0 ? Math.sqrt(value / heat.top) : 0;
          const level = Math.min(heat.levels - 1, Math.floor(heat.levels * share));
          cell.className = value === null ? "none" : `h${level}`;
          cell.textContent = number(value, 3);
        });
      });
    };
    select.addEventListener("change", paint);
    paint();
    for (const table of [errors, verdicts]) answerCells(table, tipFor);
  };

  // Layers: rows are those of the first run, columns those of the second.
  const connectLayers = (table, { rows, columns, runs, measure, value, limit, p }) => {
    const number = (cell, digits) => (cell === null ? "–" : cell.toFixed(digits));
    answerCells(table, (i, j) => {
      const head = [`${runs[0]}: ${rows[i]}`, `${runs[1]}: ${columns[j]}`];
      if (value[i][j] === null) return [...head, "not compared"].join("\n");
      const chance = p[i][j] === null ? "–" : p[i][j].toPrecision(2);
      return [
        ...head, `${measure} ${number(value[i][j], 3)}`, `limit of chance ${number(limit[i][j], 3)}`,
        `adjusted p ${chance}`,
      ].join("\n");
    });
  };

  // Similarities: rows and columns are runs, in the order of the measure.
  const connectMeasure = (table, { names, measure, joint, value, low, high, limit, calibrated, p }) => {
    const number = (cell) => (cell === null ? "–" : cell.toFixed(3));
    answerCells(table, (i, j) => {
      if (value[i][j] === null) return `${names[i]}\nthe run itself`;
      const interval = low[i][j] === null ? "" : ` [${number(low[i][j])}, ${number(high[i][j])}]`;
      return [
        `${names[i]} ${joint}`, names[j], `${measure} ${number(value[i][j])}${interval}`,
        `limit of chance ${number(limit[i][j])}`, `calibrated ${number(calibrated[i][j])}`,
        `adjusted p ${p[i][j].toPrecision(2)}`,
      ].join("\n");
    });
  };

  // Latents: rows are latents, columns are factors.
  const connectLatents = (table, { form, rows, columns, share }) => {
    answerCells(table, (i, j) => {
      const value = share[i][j];
      const cell = table.tBodies[0].rows[i].cells[j + 1];
      const told = value === null
        ? "this factor has no information"
        : `has ${value.toFixed(3)} of its information`;
      const matched = cell.classList.contains("closest") ? ["matched to this factor"] : [];
      return [columns[j], `${rows[i]}, ${form}`, told, ...matched].join("\n");
    });
  };

  // Points of a plot: hovering selects the nearest.
  const nearestPoint = (svg, event, places) => {
    const box = svg.getBoundingClientRect();
    const unit = svg.viewBox.baseVal.width / box.width;
    const x = (event.clientX - box.left) * unit;
    const y = (event.clientY - box.top) * unit;
    let best = -1;
    let least = (24 * unit) ** 2;
    places.forEach(([px, py], index) => {
      const d = (px - x) ** 2 + (py - y) ** 2;
      if (d < least) [best, least] = [index, d];
    });
    return best;
  };
  const ringAt = (svg, place) => {
    const ring = svg.querySelector(".ring-mark");
    ring.classList.toggle("shown", Boolean(place));
    if (place) { ring.setAttribute("cx", place[0]); ring.setAttribute("cy", place[1]); }
  };

  // Components: arrow keys move in their order.
  const connectCarried = (svg, points) => {
    const share = (name, value, q) => `share of ${name} ${value.toFixed(3)}${q === null ? "" : ` (q ${q.toPrecision(2)})`}`;
    let current = 0;
    const tell = (index) => {
      const [, , component, carries, batch, label, batchQ, labelQ] = points[index];
      current = index;
      ringAt(svg, points[index]);
      return [
        `component ${component}`, `carries ${carries}`, share("batch", batch, batchQ),
        share("label", label, labelQ),
      ].join("\n");
    };
    const clear = () => { ringAt(svg, null); hideTip(); };
    const walk = (index) => {
      const text = tell(index);
      showAt(svg.querySelector(".ring-mark"), text);
    };
    svg.addEventListener("pointermove", (event) => {
      const best = nearestPoint(svg, event, points);
      if (best < 0) clear();
      else showTip(tell(best), event.clientX, event.clientY);
    });
    svg.addEventListener("pointerleave", clear);
    svg.addEventListener("blur", clear);
    svg.addEventListener("focus", () => {
      if (points.length && svg.matches(":focus-visible")) walk(current);
    });
    svg.addEventListener("keydown", (event) => {
      const last = points.length - 1;
      const places = { ArrowLeft: current - 1, ArrowRight: current + 1, Home: 0, End: last };
      if (!(event.key in places) || last < 0) return;
      event.preventDefault();
      walk(Math.max(0, Math.min(last, places[event.key])));
    });
  };

  // Maps by batch and by label: one batch or label can be highlighted, in all maps at once.
  const connectMaps = (article, { names, columns, maps }) => {
    const places = maps.map(({ points }) => {
      const pairs = [];
      for (let i = 0; i < points.length; i += 2) pairs.push([points[i], points[i + 1]]);
      return pairs;
    });
    for (const group of all("[data-by-group]", article)) {
      const by = group.dataset.byGroup;
      const select = group.querySelector("select[data-alone]");
      const buttons = all(".legend button", group);
      const drawings = all("[data-map]", group).map((node) => [Number(node.dataset.map), node.firstElementChild]);
      const choose = (value) => {
        select.value = value;
        for (const button of buttons) {
          button.setAttribute("aria-pressed", String(button.dataset.number === value));
        }
        for (const [number, svg] of drawings) {
          const own = value === "" ? [] : places[number].filter((_, i) => String(maps[number][by][i]) === value);
          svg.classList.toggle("alone", value !== "");
          svg.querySelector(".lit").setAttribute("d", own.map(([x, y]) => `M${x} ${y}h0`).join(""));
        }
      };
      select.addEventListener("change", () => choose(select.value));
      for (const button of buttons) {
        button.addEventListener("click", () => {
          choose(select.value === button.dataset.number ? "" : button.dataset.number);
        });
      }
      for (const [number, svg] of drawings) {
        const clear = () => { ringAt(svg, null); hideTip(); };
        svg.addEventListener("pointerleave", clear);
        svg.addEventListener("pointermove", (event) => {
          const best = nearestPoint(svg, event, places[number]);
          if (best < 0) { clear(); return; }
          ringAt(svg, places[number][best]);
          const words = [by, by === "batch" ? "label" : "batch"].map(
            (kind) => `${columns[kind]}: ${names[kind][maps[number][kind][best]]}`,
          );
          showTip(words.join("\n"), event.clientX, event.clientY);
        });
        svg.addEventListener("click", (event) => {
          const best = nearestPoint(svg, event, places[number]);
          const value = best < 0 ? "" : String(maps[number][by][best]);
          choose(value === select.value ? "" : value);
        });
      }
      choose(select.value); // a browser may have kept the choice of an earlier visit
    }
  };

  for (const article of all("article")) {
    const data = JSON.parse(article.querySelector("script.data").textContent);
    if (data.scatter) connectScatter(article.querySelector("svg.scatter"), data.scatter);
    if (data.heat) connectHeat(article, data.heat);
    if (data.carried) connectCarried(article.querySelector("svg.carried"), data.carried);
    if (data.batches) connectMaps(article, data.batches);
    (data.layers ?? []).forEach((layers, number) => {
      connectLayers(article.querySelector(`[data-layers="${number}"]`), layers);
    });
    (data.similarities ?? []).forEach((measure, number) => {
      connectMeasure(article.querySelector(`[data-heat="${number}"]`), measure);
    });
    (data.latents ?? []).forEach((latents, number) => {
      connectLatents(article.querySelector(`[data-latents="${number}"]`), latents);
    });
    (data.plots ?? []).forEach((plot, number) => {
      connectPlot(article.querySelector(`[data-plot="${number}"]`), plot);
    });
  }

  // The theme follows the system until the button is pressed, and is not stored.
  document.getElementById("theme").addEventListener("click", () => {
    const root = document.documentElement;
    const dark = root.dataset.theme
      ? root.dataset.theme === "dark"
      : matchMedia("(prefers-color-scheme: dark)").matches;
    root.dataset.theme = dark ? "light" : "dark";
  });

  for (const button of all("[data-copy]")) {
    button.addEventListener("click", async () => {
      const block = document.getElementById(button.dataset.copy);
      try {
        await navigator.clipboard.writeText(block.textContent);
      } catch {
        // Pages opened from a file may lack clipboard access: select the text and use execCommand.
        getSelection().selectAllChildren(block);
        document.execCommand("copy");
      }
      button.textContent = "Copied";
      document.getElementById("status").textContent = "Copied";
      setTimeout(() => { button.textContent = "Copy"; }, 1600);
    });
  }

  let opened = [];
  addEventListener("beforeprint", () => {
    opened = all("details:not([open])");
    opened.forEach((node) => { node.open = true; });
  });
  addEventListener("afterprint", () => opened.forEach((node) => { node.open = false; }));
})();
