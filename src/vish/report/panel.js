// The what-if panel: controls to values, values to a prediction, and a curve along one column.

(function () {
  const { model: stored, columns, task, classes, target, span, usual } = JSON.parse(
    document.getElementById("model").textContent);
  const model = new Model(stored);
  const values = columns.map((column) => column.start);
  const find = (id) => document.getElementById(id);
  const answer = find("answer"), curve = find("curve"), along = find("along");
  const COLOURS = ["--blue", "--orange", "--green", "--purple", "--vermillion", "--sky", "--ink"];

  function predict(row) {
    return LINKS[stored.link.name](stored.link, model.latent(encoded(columns, row)));
  }

  // Each value may be usual, and their combination unlike any row.
  const root = unpacked(usual.root);
  function unlike(row) {
    const away = encoded(columns, row).map((v, i) => v - usual.centre[i]);
    let square = 0;
    for (let k = 0; k < root.length; k += away.length) square += dot(root, away, k) ** 2;
    return Math.sqrt(square) > usual.limit * (1 + 1e-9);
  }

  // ---- words

  function shown(x) {
    if (!Number.isFinite(x)) return "–";
    if (x === 0) return "0"; // -0 too
    if (x !== 0 && (Math.abs(x) >= 1e7 || Math.abs(x) < 1e-4)) return x.toExponential(3);
    const digits = Math.max(0, 4 - Math.floor(Math.log10(Math.max(Math.abs(x), 1e-4))) - 1);
    return x.toLocaleString("en", { maximumFractionDigits: Math.min(digits, 7) });
  }

  const percent = (p) => (100 * p).toFixed(1) + " %";

  function label(column, value) {
    if (value === null) return "missing";
    if (column.kind === "date") {
      const text = new Date(value * 1000).toISOString();
      return column.step % 86400 === 0 ? text.slice(0, 10) : text.slice(0, 16).replace("T", " ");
    }
    if (column.kind === "time") return new Date(value * 1000).toISOString().slice(11, 16);
    return shown(value);
  }

  function say(found) {
    Object.assign(answer.dataset, { mean: found.mean, low: found.low, high: found.high });
    answer.dataset.chances = JSON.stringify(found.chances || null);
    const value = answer.querySelector(".value"), band = answer.querySelector(".band");
    if (task === "classification") {
      const best = found.chances.indexOf(Math.max(...found.chances));
      value.textContent = classes[best];
      band.textContent = classes.length > 2
        ? percent(found.chances[best]) + " probable"
        : `${percent(found.chances[best])} probable; ${classes[1]}: ${percent(found.mean)}` +
          (stored.variance ? `, 95 % sure that it is between ${percent(found.low)} and ${percent(found.high)}` : "");
      answer.querySelectorAll(".classes div").forEach((row, k) => {
        row.querySelector("i").style.width = 100 * found.chances[k] + "%";
        row.querySelector("output").textContent = percent(found.chances[k]);
      });
      return;
    }
    value.textContent = shown(found.mean);
    const what = stored.link.name === "latent" ? "the function itself" : "new observations";
    band.textContent = Number.isFinite(found.low)
      ? `95 % band of ${what}: ${shown(found.low)} to ${shown(found.high)}`
      : "no band here: too far from the data to count it out";
  }

  // ---- the curve

  const NS = "http://www.w3.org/2000/svg", H = 270;
  let W = 560; // as many units as pixels: letters keep their size on a phone
  const FRAME = { left: 62, right: 12, top: 10, bottom: 40 };

  function draw(kind, attributes, text) {
    const element = document.createElementNS(NS, kind);
    for (const name in attributes) element.setAttribute(name, attributes[name]);
    if (text !== undefined) element.textContent = text;
    curve.append(element);
  }

  function ticks(low, high, most) {
    const raw = (high - low) / most, power = 10 ** Math.floor(Math.log10(raw));
    const step = [1, 2, 5, 10].map((f) => f * power).find((s) => s >= raw);
    const first = Math.ceil(low / step - 1e-9), found = [];
    for (let k = first; k * step <= high + 1e-9 * step; k++) found.push(k * step);
    return found;
  }

  const spread = (low, high, n) => Array.from({ length: n }, (_, i) => low + ((high - low) * i) / (n - 1));

  const isChoice = (column) => column.kind === "category" || column.kind === "boolean";

  function gridOf(column) {
    if (column.kind === "category") return column.levels.map((_, i) => i).slice(0, 40);
    if (column.kind === "boolean") return [0, 1];
    return spread(column.low, column.high, stored.link.nodes ? 31 : 61); // integrals take longer
  }

  function plot() {
    W = Math.max(260, Math.round(curve.clientWidth || 560));
    const place = Number(along.value), column = columns[place], grid = gridOf(column);
    const found = grid.map((v) => predict(Object.assign([...values], { [place]: v })));
    const several = task === "classification" && classes.length > 2;
    const series = several ? classes.slice(0, 7).map((_, k) => found.map((f) => f.chances[k])) : [found.map((f) => f.mean)];
    let low = 0, high = 1;
    if (task !== "classification") {
      const all = [...span, ...found.flatMap((f) => [f.low, f.high, f.mean])].filter(Number.isFinite);
      low = Math.min(...all); high = Math.max(...all);
      const margin = 0.04 * (high - low) || 1;
      low -= margin; high += margin;
    }
    const choice = isChoice(column), first = grid[0], last = grid[grid.length - 1];
    const pad = choice ? 0.5 : 0;
    const x = (v) => FRAME.left + ((v - first + pad) / (last - first + 2 * pad || 1)) * (W - FRAME.left - FRAME.right);
    const y = (v) => H - FRAME.bottom - ((v - low) / (high - low)) * (H - FRAME.top - FRAME.bottom);
    curve.replaceChildren();
    curve.setAttribute("viewBox", `0 0 ${W} ${H}`);
    for (const v of ticks(low, high, 5)) {
      draw("line", { class: "grid", x1: FRAME.left, x2: W - FRAME.right, y1: y(v), y2: y(v) });
      draw("text", { x: FRAME.left - 8, y: y(v) + 4, "text-anchor": "end" },
        task === "classification" ? Math.round(100 * v) + " %" : shown(v));
    }
    const marks = choice ? grid.filter((_, i) => i % Math.ceil(grid.length / 6) === 0)
      : column.kind === "number" ? ticks(first, last, 5) : spread(first, last, Math.min(4, Math.max(2, Math.floor((W - FRAME.left) / 110))));
    for (const v of marks) {
      const name = column.kind === "boolean" ? ["false", "true"][v]
        : column.kind === "category" ? String(column.levels[v] ?? "missing") : label(column, v);
      const room = Math.floor((W - FRAME.left) / marks.length / 7);
      const end = v === last && !choice ? "end" : v === first && !choice ? "start" : "middle";
      draw("text", { x: x(v), y: H - FRAME.bottom + 18, "text-anchor": end },
        name.length > room ? name.slice(0, Math.max(room - 1, 1)) + "…" : name);
    }
    draw("text", { x: (FRAME.left + W - FRAME.right) / 2, y: H - 4, "text-anchor": "middle" },
      column.name.length > 60 ? column.name.slice(0, 59) + "…" : column.name);
    const banded = !several && stored.variance && found.every((f) => Number.isFinite(f.low));
    if (choice) {
      grid.forEach((v, i) => {
        if (banded) draw("line", { x1: x(v), x2: x(v), y1: y(found[i].low), y2: y(found[i].high), stroke: "var(--blue)", "stroke-width": 6, opacity: 0.3 });
        series.forEach((s, k) => draw("circle", { cx: x(v), cy: y(s[i]), r: 4, fill: `var(${COLOURS[k % 7]})` }));
      });
    } else {
      const path = (s) => s.map((v, i) => `${i ? "L" : "M"}${x(grid[i]).toFixed(1)},${y(v).toFixed(1)}`).join("");
      if (banded) {
        const back = found.map((f, i) => `L${x(grid[i]).toFixed(1)},${y(f.low).toFixed(1)}`).reverse().join("");
        draw("path", { class: "fill", d: path(found.map((f) => f.high)) + back + "Z" });
      }
      series.forEach((s, k) => draw("path", { class: "line", d: path(s), style: `stroke: var(${COLOURS[k % 7]})` }));
    }
    if (!choice) { // pale where the combination is unlike the rows
      const far = grid.map((v) => unlike(Object.assign([...values], { [place]: v })));
      for (let i = 1; i < grid.length; i++) {
        if (!(far[i - 1] && far[i])) continue;
        const left = x(grid[i - 1]);
        draw("rect", { class: "far", x: left, width: x(grid[i]) - left, y: 0, height: H - FRAME.bottom });
      }
    }
    const now = values[place];
    if (now !== null && now >= first && now <= last) {
      const here = predict(values);
      draw("line", { class: "now", x1: x(now), x2: x(now), y1: FRAME.top, y2: H - FRAME.bottom });
      if (!several) draw("circle", { class: "dot", cx: x(now), cy: y(here.mean), r: 5.5 });
    }
    curve.setAttribute("aria-label", `prediction of ${target} along ${column.name}`);
  }

  let waiting = false;
  function update() {
    say(predict(values));
    answer.querySelector(".unlike").textContent = unlike(values)
      ? "No row of the data is like this combination: read it with care." : "";
    if (waiting) return;
    waiting = true; // the curve costs sixty predictions: once a frame is enough
    requestAnimationFrame(() => { waiting = false; plot(); });
  }

  // ---- controls

  columns.forEach((column, i) => {
    const box = find(`c${i}`), slider = find(`c${i}-slider`), gap = find(`c${i}-gap`);
    const unit = column.kind === "date" || column.kind === "time" ? 1000 : 1;
    const touched = () => { if (along.value !== String(i)) along.value = String(i); update(); };
    const warn = () => {
      const [low, high] = column.seen || [null, null], v = values[i];
      const beyond = v !== null && ((low !== null && v < low) || (high !== null && v > high));
      find(`c${i}-outside`).textContent = beyond
        ? `outside what the model has seen: ${label(column, low)} to ${label(column, high)}` : "";
    };
    if (isChoice(column)) {
      const choose = () => { values[i] = box.value === "" ? null : Number(box.value); };
      box.addEventListener("input", () => { choose(); touched(); });
      column.reset = () => { box.value = String(column.start); choose(); };
      column.reset();
      return;
    }
    const set = (v) => { values[i] = v; warn(); };
    const both = (v) => { box.valueAsNumber = v * unit; slider.value = v; set(v); };
    slider.addEventListener("input", () => { const v = Number(slider.value); box.valueAsNumber = v * unit; set(v); if (gap) gap.checked = false; touched(); });
    box.addEventListener("input", () => {
      const v = box.valueAsNumber / unit;
      if (Number.isNaN(v)) return; // half-typed
      slider.value = v; set(v); if (gap) gap.checked = false; touched();
    });
    if (gap) gap.addEventListener("input", () => { set(gap.checked ? null : box.valueAsNumber / unit); touched(); });
    column.reset = () => { both(column.start); if (gap) gap.checked = false; };
    column.reset();
  });
  along.addEventListener("input", plot);
  window.addEventListener("resize", () => requestAnimationFrame(plot));
  find("reset").addEventListener("click", () => { columns.forEach((column) => column.reset()); update(); });
  update();
})();
