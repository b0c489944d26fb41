"use strict";
(() => {
  // A seed is a name, not a quantity: all its digits count, and numbers here have 53 bits.
  const exact = (key, value, context) => (key === "seed" && context && context.source ? context.source : value);
  const report = JSON.parse(document.getElementById("report").textContent, exact);
  const { job, totals, ranks, activity, latencies, links, timeline } = report;

  // ---- words and numbers ----

  const grouped = (number) => String(number).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
  const counted = (number, noun) => `${grouped(number)} ${noun}${number === 1 ? "" : "s"}`;
  const percent = (ppm) => `${(ppm / 1e4).toFixed(ppm < 1e5 ? 2 : 1)} %`;
  const TIMES = [["s", 1e12], ["ms", 1e9], ["µs", 1e6], ["ns", 1e3]];
  const BYTES = [["TiB", 2 ** 40], ["GiB", 2 ** 30], ["MiB", 2 ** 20], ["KiB", 2 ** 10]];

  function scaled(value, units, least) {
    const unit = units.find(([, size]) => value >= size);
    return unit ? `${(value / unit[1]).toFixed(3)} ${unit[0]}` : `${value} ${least}`;
  }
  const time = (ps) => scaled(ps, TIMES, "ps");
  const bytes = (count) => scaled(count, BYTES, "B");

  // ---- elements ----

  const byId = (id) => document.getElementById(id);

  function make(tag, attributes, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes || {})) {
      if (name === "style") element.style.cssText = value;
      else if (value !== undefined) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  function show(id, text) {
    byId(id).textContent = text;
    byId(id).hidden = false;
  }

  const color = (name) => `--color: var(--${name})`;

  // ---- what appears under the pointer ----

  const tip = byId("tip");

  function showTip(text, event) {
    tip.hidden = !text;
    if (!text) return;
    tip.textContent = text;
    const { width, height } = tip.getBoundingClientRect();
    const left = event.clientX + 14 + width > innerWidth ? event.clientX - width - 14 : event.clientX + 14;
    tip.style.left = `${Math.max(4, left)}px`;
    tip.style.top = `${Math.max(4, Math.min(event.clientY + 14, innerHeight - height - 4))}px`;
  }

  document.addEventListener("pointermove", (event) => {
    const owner = event.target.closest && event.target.closest("[data-tip], canvas");
    if (!owner) showTip("", event);
    else if (owner.dataset.tip) showTip(owner.dataset.tip, event);
  });

  // ---- tables ----

  // Each column: its title, the value that it sorts by, what a cell holds, and a class.
  function table(element, rows, columns, attributes) {
    const head = make("tr");
    const body = make("tbody");
    const lines = rows.map((row) => {
      const line = make("tr", attributes(row));
      line.append(...columns.map((column) => make("td", { class: column.class }, column.cell(row))));
      return { row, line };
    });
    for (const column of columns) {
      const button = make("button", { type: "button" }, column.title);
      const title = make("th", { scope: "col", class: column.class }, button);
      button.addEventListener("click", () => {
        const up = title.getAttribute("aria-sort") === "descending";
        head.querySelectorAll("th").forEach((other) => other.removeAttribute("aria-sort"));
        title.setAttribute("aria-sort", up ? "ascending" : "descending");
        const order = (a, b) => (a < b ? -1 : a > b ? 1 : 0);
        lines.sort((a, b) => order(column.value(a.row), column.value(b.row)) * (up ? 1 : -1));
        body.replaceChildren(...lines.map(({ line }) => line));
      });
      head.append(title);
    }
    body.append(...lines.map(({ line }) => line));
    element.replaceChildren(make("thead", {}, head), body);
  }

  function meter(parts, label) {
    const bar = make("div", { class: "meter", role: "img", "aria-label": label, "data-tip": label });
    bar.append(...parts.map(([name, share]) => make("i", { style: `${color(name)}; width: ${Math.min(100, share * 100)}%` })));
    return bar;
  }

  // ---- header ----

  function header() {
    document.title = `${job.program} on ${job.machine} · Pelago simulation`;
    byId("program").textContent = job.program;
    byId("machine").textContent = job.machine;
    byId("machine-source").textContent = job.machine_source;
    if (job.fault) show("fault", job.fault);
    const tile = (title, id, attributes, text, detail) => {
      const value = make("dd", { id, ...attributes }, text);
      if (detail) value.append(make("small", {}, detail));
      return make("div", {}, make("dt", {}, title), value);
    };
    const count = (title, id, number, detail) => tile(title, id, { "data-count": number }, grouped(number), detail);
    const trouble = [[totals.operations_failed, "failed"], [totals.operations_unfinished, "not completed"]];
    const troubles = trouble.filter(([number]) => number > 0).map(([number, what]) => `${grouped(number)} ${what}`);
    const { lost, repetitions, pauses, marked } = totals.disturbances || {};
    const disturbances = [["Packets lost", "lost", lost], ["Repetitions", "repetitions", repetitions], ["Pauses", "pauses", pauses],
      ["Packets marked", "marked", marked]].filter(([, , number]) => number > 0);
    byId("facts").append(
      tile("Simulated time", "end-time", { "data-ps": job.end_ps, "data-tip": `${grouped(job.end_ps)} ps` }, time(job.end_ps)),
      count("Ranks", "rank-count", job.ranks, `${grouped(job.per_node)} per node, ${counted(job.nodes, "node")}`),
      count("Operations", "operations", totals.operations,
        troubles.join(", ") || `${grouped(totals.operations_under_way_max)} under way at most`),
      tile("Bytes to move", "operations-bytes", { "data-bytes": totals.operations_bytes,
        "data-tip": `${grouped(totals.operations_bytes)} B` }, bytes(totals.operations_bytes)),
      count("Events", "events", totals.events),
      count("Packets", "packets", totals.packets),
      count("Packet-hops", "packet-hops", totals.packet_hops),
      ...disturbances.map(([title, id, number]) => count(title, id, number)),
      tile("Computing", "computing", {}, job.computing),
      tile("Seed", "seed", { "data-seed": job.seed }, String(job.seed)),
    );
  }

  // ---- latency ----

  // Where a time stands on the axis: an octave is as wide as any other, except below 16 ps.
  function place(ps) {
    if (ps < 8) return ps;
    const octave = Math.floor(Math.log2(ps));
    return 8 * (octave - 2) + (ps / 2 ** octave - 1) * 8;
  }

  function ticks(from, to) {
    const within = (mantissas) => {
      const found = [];
      for (let power = 1; power < 1e20; power *= 10) {
        for (const mantissa of mantissas) {
          const ps = mantissa * power;
          if (place(ps) >= from && place(ps) <= to) found.push(ps);
        }
      }
      return found;
    };
    const choices = [[1], [1, 2, 5], [1, 1.5, 2, 3, 4, 5, 6, 8]].map(within);
    return choices.find((choice) => choice.length >= 3) || choices[2];
  }

  function short(ps) {
    const [unit, size] = TIMES.find(([, size]) => ps >= size) || ["ps", 1];
    return `${ps / size} ${unit}`;
  }

  function chart(kind, end, title, distribution) {
    const { histogram, count } = distribution;
    const stats = make("dl", { class: "stats" });
    const named = [["median", "median_ps"], ["90 %", "p90_ps"], ["99 %", "p99_ps"], ["max", "max_ps"]];
    for (const [name, field] of named) {
      const value = make("dd", { [`data-${field.replace("_", "-")}`]: distribution[field] }, time(distribution[field]));
      stats.append(make("div", {}, make("dt", {}, name), value));
    }
    const figure = make("figure", { "data-latency": `${kind}-${end}`, "data-count": count },
      make("figcaption", {}, `From post to ${title}`), stats);
    if (count === 0) {
      stats.replaceChildren(make("div", {}, "none"));
      return figure;
    }
    let from = place(histogram[0].from_ps);
    let to = place(histogram[histogram.length - 1].to_ps + 1);
    const lacking = Math.max(0, 24 - (to - from));
    [from, to] = [Math.max(0, from - lacking / 2 - 1), to + lacking / 2 + 1];
    const at = (ps) => ((place(ps) - from) / (to - from)) * 100;
    const most = Math.max(...histogram.map((bucket) => bucket.count));
    const label = `${counted(count, kind)}: median ${time(distribution.median_ps)}, at most ${time(distribution.max_ps)}`;
    const plot = make("div", { class: "chart", role: "img", "aria-label": label, style: color(kind) });
    for (const bucket of histogram) {
      const [left, right] = [at(bucket.from_ps), at(bucket.to_ps + 1)];
      const share = ((bucket.count / count) * 100).toFixed(1);
      plot.append(make("div", {
        class: "bar", "data-from-ps": bucket.from_ps, "data-to-ps": bucket.to_ps, "data-count": bucket.count,
        "data-tip": `${time(bucket.from_ps)} to ${time(bucket.to_ps)}\n` +
          `${grouped(bucket.count)} of ${counted(count, kind)}, ${share} %`,
        style: `left: ${left}%; width: calc(${right - left}% - 1px); height: ${(bucket.count / most) * 84}%`,
      }));
    }
    const marks = [["median", distribution.median_ps]];
    if (at(distribution.p99_ps) - at(distribution.median_ps) > 12) marks.push(["99 %", distribution.p99_ps]);
    for (const [name, ps] of marks) {
      const side = at(ps) > 80 ? "mark left" : "mark";
      plot.append(make("div", { class: side, style: `left: ${at(ps)}%` }, make("span", {}, name)));
    }
    const shown = ticks(from, to).filter((ps) => at(ps) > 2 && at(ps) < 98);
    for (const ps of shown) plot.append(make("div", { class: "tick", style: `left: ${at(ps)}%` }, short(ps)));
    figure.append(plot);
    return figure;
  }

  function latency() {
    for (const entry of latencies) {
      const more = [[entry.failed, "failed"], [entry.unfinished, "not completed"]].filter(([number]) => number > 0);
      const troubles = more.map(([number, what]) => `${grouped(number)} ${what}`);
      const detail = [grouped(entry.operations), bytes(entry.bytes), ...troubles];
      const title = make("h3", { style: color(entry.kind) }, make("i"), entry.kind, make("span", {}, detail.join(" · ")));
      const pair = make("div", { class: "pair" },
        chart(entry.kind, "effect", "effect", entry.to_effect),
        chart(entry.kind, "completion", "completion", entry.to_completion));
      const attributes = { class: "kind", "data-kind": entry.kind, "data-operations": entry.operations };
      byId("latency").append(make("div", attributes, title, pair));
    }
    if (latencies.length === 0) byId("latency").append(make("p", { class: "note" }, "No operation was posted."));
  }

  // ---- links ----

  function linkTable(most) {
    const rows = links.busiest.map((row, index) => ({ ...row, index, name: `${row.from} → ${row.to}` }));
    table(byId("links"), rows, [
      { title: "Link", class: "left", value: (row) => row.name,
        cell: (row) => make("span", {}, row.from, make("span", { class: "arrow" }, "→"), row.to) },
      { title: "Sending", class: "left wide", value: (row) => row.busy_ps,
        cell: (row) => meter([["heat", most ? row.utilization_ppm / most : 0]], `${percent(row.utilization_ppm)} of the time`) },
      { title: "Utilization", value: (row) => row.utilization_ppm, cell: (row) => percent(row.utilization_ppm) },
      { title: "Busy", value: (row) => row.busy_ps, cell: (row) => time(row.busy_ps) },
      { title: "Bytes", value: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
      { title: "Longest queue", value: (row) => row.longest_queue, cell: (row) => grouped(row.longest_queue) },
    ], (row) => ({
      "data-link": row.name, "data-busy-ps": row.busy_ps, "data-utilization-ppm": row.utilization_ppm, "data-bytes": row.bytes,
      "data-longest-queue": row.longest_queue,
    }));
  }

  function shareChart() {
    const plot = byId("shares");
    const most = Math.max(1, ...links.shares.map((share) => share.count));
    const width = 100 / links.shares.length;
    links.shares.forEach((share, index) => {
      const next = links.shares[index + 1];
      const range = next ? `${share.from_ppm / 1e4} % to ${next.from_ppm / 1e4} %` : `${share.from_ppm / 1e4} % and more`;
      plot.append(make("div", {
        class: "bar", "data-from-ppm": share.from_ppm, "data-count": share.count,
        "data-tip": `${range} of the time:\n${counted(share.count, "link")}`,
        style: `left: ${index * width}%; width: calc(${width}% - 2px); height: ${(share.count / most) * 84}%; ` +
          (share.count ? "" : "opacity: 0.25"),
      }));
    });
    for (const tick of [0, 25, 50, 75, 100]) plot.append(make("div", { class: "tick", style: `left: ${tick}%` }, `${tick} %`));
    plot.append(make("div", { class: "peak" }, `highest bar: ${counted(most, "link")}`));
    plot.setAttribute("role", "img");
    plot.setAttribute("aria-label", "Histogram of utilization over all links");
  }

  // The color of a share of the largest utilization, between three colors of the page.
  function heat(share, style) {
    const [low, middle, high] = ["--waiting", "--put", "--heat"].map((name) => style.getPropertyValue(name));
    const [from, to, part] = share < 0.5 ? [low, middle, share * 2] : [middle, high, share * 2 - 1];
    return `color-mix(in srgb, ${to} ${(part * 100).toFixed(1)}%, ${from})`;
  }

  function strip(most) {
    const canvas = byId("strip");
    const cells = links.strip_utilization_ppm;
    const each = links.strip_links_per_cell;
    canvas.dataset.cells = cells.length;
    canvas.setAttribute("aria-label", `Utilization of ${counted(links.count, "link")}, at most ${percent(most)}`);
    byId("strip-max").textContent = percent(most);
    byId("strip-note").textContent = each > 1 ? `a cell is the busiest of ${each} links` : "a cell is a link";
    const draw = () => {
      const { context, width, height, style } = prepare(canvas);
      cells.forEach((ppm, index) => {
        const [left, right] = [(index / cells.length) * width, ((index + 1) / cells.length) * width];
        context.fillStyle = heat(most ? ppm / most : 0, style);
        context.fillRect(left, 0, Math.max(1, right - left - (right - left > 6 ? 1 : 0)), height);
      });
    };
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const index = Math.min(cells.length - 1, Math.max(0, Math.floor(((event.clientX - box.left) / box.width) * cells.length)));
      const last = Math.min(links.count, (index + 1) * each) - 1;
      const which = each > 1 ? `busiest of links ${grouped(index * each)} to ${grouped(last)}` : `link ${grouped(index)}`;
      showTip(`${which}\n${percent(cells[index])} of the time`, event);
    });
    return redrawn(canvas, draw);
  }

  function linkSection() {
    byId("links-summary").textContent = links.count === 0 ? "The machine has no links." :
      `${counted(links.count, "link")}, ${grouped(links.idle)} of them idle; ${bytes(links.bytes)} sent over all of them`;
    byId("links-summary").dataset.count = links.count;
    if (links.count === 0) {
      byId("links-content").hidden = true;
      return;
    }
    const most = Math.max(...links.strip_utilization_ppm);
    byId("links-scale").textContent = `(a full bar: ${percent(most)} of the time)`;
    strip(most);
    shareChart();
    linkTable(most);
  }

  // ---- ranks ----

  function rankSection() {
    const { computing, waiting } = ranks;
    const mean = (spread) => `${time(spread.mean_ps)} (${time(spread.min_ps)} to ${time(spread.max_ps)})`;
    byId("ranks-summary").textContent = `on average computing ${mean(computing)}, waiting ${mean(waiting)}` +
      (ranks.unfinished ? `; ${counted(ranks.unfinished, "rank")} did not end` : "");
    const end = Math.max(1, job.end_ps);
    const late = Number.MAX_VALUE;
    const ended = (row) => (row.ended_ps === null ? "never" : time(row.ended_ps));
    const columns = [
      { title: "Rank", value: (row) => row.rank, cell: (row) => grouped(row.rank) },
      { title: "Computing, waiting", class: "left wide", value: (row) => row.computing_ps + row.waiting_ps,
        cell: (row) => meter([["computing", row.computing_ps / end], ["waiting", row.waiting_ps / end]],
          `computing ${time(row.computing_ps)}\nwaiting ${time(row.waiting_ps)}`) },
      { title: "Computing", value: (row) => row.computing_ps, cell: (row) => time(row.computing_ps) },
      { title: "Waiting", value: (row) => row.waiting_ps, cell: (row) => time(row.waiting_ps) },
      { title: "Ended", value: (row) => row.ended_ps ?? late, cell: ended },
      { title: "Operations", value: (row) => row.operations, cell: (row) => grouped(row.operations) },
      { title: "Bytes", value: (row) => row.bytes, cell: (row) => bytes(row.bytes) },
    ];
    if (ranks.rows.some((row) => row.failed > 0)) {
      columns.splice(6, 0, { title: "Failed", value: (row) => row.failed, cell: (row) => grouped(row.failed) });
    }
    table(byId("ranks"), ranks.rows, columns, (row) => ({
      "data-rank": row.rank, "data-computing-ps": row.computing_ps, "data-waiting-ps": row.waiting_ps,
      "data-ended-ps": row.ended_ps ?? undefined, "data-operations": row.operations, "data-bytes": row.bytes,
    }));
  }

  function rankQuantiles() {
    const list = byId("ranks-quantiles");
    const named = [["least", "min_ps"], ["median", "median_ps"], ["90 %", "p90_ps"], ["99 %", "p99_ps"], ["most", "max_ps"]];
    for (const [what, spread] of [["computing", ranks.computing], ["waiting", ranks.waiting]]) {
      for (const [name, field] of named) {
        const value = make("dd", { "data-quantile": `${what}-${field}`, "data-ps": spread[field] }, time(spread[field]));
        list.append(make("div", {}, make("dt", {}, `${what}, ${name}`), value));
      }
    }
  }

  // ---- all ranks, where the time line does not show all that happened ----

  function activitySection() {
    const { columns, ranks_per_row: each, column_ps: long } = activity || {};
    const isWhole = timeline.ranks >= ranks.count && timeline.complete_until_ps === null;
    if (!columns || isWhole) return;
    byId("activity").hidden = false;
    const canvas = byId("activity-map");
    const [left, top] = [84, 20];
    const rows = activity.operations.length / columns;
    const kinds = {
      operations: { cells: activity.operations, text: (value) => counted(value, "operation") + " posted" },
      computing: { cells: activity.computing_ppm, text: (value) => `computing ${percent(value)} of the time` },
    };
    let kind = activity.computing_ppm.some((ppm) => ppm > 0) ? "computing" : "operations";
    const most = () => kinds[kind].cells.reduce((largest, value) => Math.max(largest, value), 0);
    canvas.dataset.rows = rows;
    canvas.dataset.columns = columns;
    byId("activity-summary").textContent = `${counted(ranks.count, "rank")} in ${counted(rows, "row")}, all of the time`;
    byId("activity-note").textContent = `a cell is ${counted(each, "rank")} for ${time(long)}`;
    const size = () => [(canvas.clientWidth - left) / columns, (canvas.clientHeight - top) / rows];
    const draw = () => {
      const { context, height, style } = prepare(canvas);
      const [largest, [wide, high]] = [most(), size()];
      byId("activity-max").textContent = kinds[kind].text(largest);
      canvas.dataset.kind = kind;
      canvas.dataset.most = largest;
      canvas.setAttribute("aria-label", `Heat map of ${kind} by ranks and time, at most ${kinds[kind].text(largest)}`);
      for (const other of Object.keys(kinds)) byId(`activity-${other}`).setAttribute("aria-pressed", String(other === kind));
      // A few colors, each of which is mixed once.
      const shades = Array.from({ length: 33 }, (_, shade) => heat(shade / 32, style));
      kinds[kind].cells.forEach((value, index) => {
        const [row, column] = [Math.floor(index / columns), index % columns];
        context.fillStyle = shades[largest ? Math.ceil((value / largest) * 32) : 0];
        context.fillRect(left + column * wide, top + row * high, Math.ceil(wide), Math.ceil(high));
      });
      context.fillStyle = style.getPropertyValue("--muted");
      context.font = "11px system-ui, sans-serif";
      context.textAlign = "right";
      const every = Math.max(1, Math.ceil(15 / high));
      for (let row = 0; row < rows; row += every) {
        const at = top + (row + 0.5) * high + 4;
        if (at < height) context.fillText(`rank ${grouped(row * each)}`, left - 8, at);
      }
      for (const part of [0, 0.25, 0.5, 0.75, 1]) {
        context.textAlign = part === 1 ? "right" : part ? "center" : "left";
        context.fillText(time(Math.round(part * job.end_ps)), left + (part * job.end_ps / long) * wide, top - 8);
      }
    };
    const soon = redrawn(canvas, draw);
    for (const other of Object.keys(kinds)) {
      byId(`activity-${other}`).addEventListener("click", () => { kind = other; soon(); });
    }
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      const [wide, high] = size();
      const column = Math.floor((event.clientX - box.left - left) / wide);
      const row = Math.floor((event.clientY - box.top - top) / high);
      if (column < 0 || row < 0 || column >= columns || row >= rows) return showTip("", event);
      const last = Math.min(ranks.count, (row + 1) * each) - 1;
      const which = each > 1 ? `ranks ${grouped(row * each)} to ${grouped(last)}` : `rank ${grouped(row)}`;
      const until = Math.min(job.end_ps, (column + 1) * long);
      showTip(`${which}\nfrom ${time(column * long)} to ${time(until)}\n${kinds[kind].text(kinds[kind].cells[row * columns + column])}`, event);
    });
  }

  // ---- what was left out ----

  function leftOut() {
    const shown = counted(timeline.ranks, "rank");
    const items = [
      ["ranks", ranks.left_out, `${counted(ranks.left_out, "rank")} of the list: those between the slowest and the fastest`],
      ["links", links.left_out, `${counted(links.left_out, "link")} of the list: those that are less busy`],
      ["spans", timeline.spans_left_out, `${counted(timeline.spans_left_out, "span")} of the time line`],
      ["messages", timeline.messages_left_out, `${counted(timeline.messages_left_out, "message")} of the time line`],
    ].filter(([, number]) => number > 0);
    const list = byId("left-out");
    list.append(...items.map(([what, number, text]) => make("li", { "data-left-out": what, "data-count": number }, text)));
    if (items.length === 0) {
      list.className = "nothing";
      list.append(make("li", {}, "Nothing: this page shows all that happened."));
    } else {
      list.after(make("p", { class: "note" }, "All totals, distributions and averages on this page count everything."));
    }
    const notes = [];
    if (timeline.ranks < ranks.count) notes.push(`It shows the first ${shown}.`);
    if (timeline.complete_until_ps !== null) {
      notes.push(`It is complete until ${time(timeline.complete_until_ps)}; from there on, hatched, parts are missing.`);
    }
    if (notes.length) show("timeline-note", notes.join(" "));
  }

  // ---- canvases ----

  function prepare(canvas) {
    const [width, height, ratio] = [canvas.clientWidth, canvas.clientHeight, window.devicePixelRatio || 1];
    [canvas.width, canvas.height] = [Math.round(width * ratio), Math.round(height * ratio)];
    const context = canvas.getContext("2d");
    context.scale(ratio, ratio);
    return { context, width, height, style: getComputedStyle(document.documentElement) };
  }

  // Draws now, and again when the size or the colors change; returns what has it drawn once more, soon.
  function redrawn(canvas, draw) {
    let due = false;
    const soon = () => {
      if (!due) requestAnimationFrame(() => { due = false; draw(); });
      due = true;
    };
    draw();
    new ResizeObserver(soon).observe(canvas);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", soon);
    return soon;
  }

  // ---- time line ----

  function timelineSection() {
    const GUTTER = 66;
    const AXIS = 24;
    const HEIGHT_MAX = 460;
    const LINES_MAX = 20000;
    const canvas = byId("canvas");
    const rows = Math.max(1, timeline.ranks);
    const end = Math.max(1, job.end_ps);
    const spans = Array.from({ length: timeline.ranks }, () => []);
    for (const [rank, state, from, to] of timeline.spans) if (spans[rank]) spans[rank].push({ rank, state, from, to });
    const messages = timeline.messages.map(([kind, from, to, size, posted, effective, completed, failed]) =>
      ({ kind, from, to, size, posted, effective, completed, failed, until: effective ?? completed ?? posted }));
    const kinds = ["put", "get", "atomic", "copy"].filter((kind) => messages.some((message) => message.kind === kind));
    const view = { from: 0, to: end, top: 0, row: 0 };

    canvas.dataset.spans = timeline.spans.length;
    canvas.dataset.messages = messages.length;
    const described = `${counted(timeline.spans.length, "span")} and ${counted(messages.length, "message")}`;
    canvas.setAttribute("aria-label", `Time line of ${counted(timeline.ranks, "rank")}: ${described}`);
    const legend = (name, thin) => make("li", { style: color(name) }, make("i", thin ? { class: "thin" } : {}), name);
    byId("legend").append(legend("computing"), legend("waiting"), ...kinds.map((kind) => legend(kind, true)));

    const bodyHeight = () => canvas.clientHeight - AXIS;
    const scale = () => (canvas.clientWidth - GUTTER) / (view.to - view.from);
    const x = (ps) => GUTTER + (ps - view.from) * scale();
    const y = (rank) => AXIS + rank * view.row - view.top;
    const middle = (rank) => y(rank) + view.row / 2;

    function fit() {
      view.row = Math.min(26, Math.max(2, Math.floor((HEIGHT_MAX - AXIS) / rows)));
      canvas.style.height = `${Math.min(HEIGHT_MAX, Math.max(90, AXIS + rows * view.row + 2))}px`;
      [view.from, view.to, view.top] = [0, end, 0];
    }

    function hold() {
      const width = Math.min(Math.max(view.to - view.from, 10), end * 1.02);
      view.from = Math.max(-0.01 * end, Math.min(view.from, 1.01 * end - width));
      view.to = view.from + width;
      view.top = Math.max(0, Math.min(view.top, rows * view.row - bodyHeight()));
    }

    function zoom(factor, pixel) {
      const at = view.from + (pixel - GUTTER) / scale();
      const width = Math.min(Math.max((view.to - view.from) * factor, 10), end);
      const share = (at - view.from) / (view.to - view.from);
      view.from = at - share * width;
      view.to = view.from + width;
      hold();
      soon();
    }

    function pan(pixels, rowsDown) {
      const shift = pixels / scale();
      view.from += shift;
      view.to += shift;
      view.top += rowsDown;
      hold();
      soon();
    }

    // The first span of a rank that ends after a time.
    function firstAfter(list, ps) {
      let [low, high] = [0, list.length];
      while (low < high) {
        const half = (low + high) >> 1;
        if (list[half].to > ps) high = half;
        else low = half + 1;
      }
      return low;
    }

    const visibleRanks = () => [
      Math.max(0, Math.floor(view.top / view.row)),
      Math.min(timeline.ranks, Math.ceil((view.top + bodyHeight()) / view.row)),
    ];

    function drawAxis(context, width, height, style) {
      const rough = (view.to - view.from) / Math.max(2, (width - GUTTER) / 110);
      const power = 10 ** Math.floor(Math.log10(rough));
      const step = Math.max(1, [1, 2, 5, 10].map((factor) => factor * power).find((each) => each >= rough));
      const [unit, size] = TIMES.find(([, each]) => Math.max(Math.abs(view.to), step) >= each) || ["ps", 1];
      const decimals = Math.max(0, -Math.floor(Math.log10(step / size) + 1e-9));
      context.font = "11px system-ui, sans-serif";
      context.textAlign = "center";
      for (let tick = Math.ceil(Math.max(0, view.from) / step) * step; tick <= Math.min(view.to, end); tick += step) {
        context.fillStyle = style.getPropertyValue("--line");
        context.fillRect(Math.round(x(tick)), AXIS - 5, 1, height);
        context.fillStyle = style.getPropertyValue("--muted");
        const label = `${(tick / size).toFixed(decimals)} ${unit}`;
        const half = context.measureText(label).width / 2;
        context.fillText(label, Math.min(Math.max(x(tick), GUTTER + half - 8), width - half), AXIS - 9);
      }
    }

    function drawRanks(context, height, style) {
      const [first, last] = visibleRanks();
      const every = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].find((each) => each * view.row >= 15) || 2000;
      context.textAlign = "right";
      context.fillStyle = style.getPropertyValue("--muted");
      for (let rank = Math.ceil(first / every) * every; rank < last; rank += every) {
        if (middle(rank) > AXIS - 2) context.fillText(`rank ${rank}`, GUTTER - 10, middle(rank) + 4);
      }
    }

    function drawSpans(context, style) {
      const colors = { computing: style.getPropertyValue("--computing"), waiting: style.getPropertyValue("--waiting") };
      const [first, last] = visibleRanks();
      const inset = view.row >= 12 ? Math.round(view.row * 0.18) : view.row >= 5 ? 1 : 0;
      for (let rank = first; rank < last; rank += 1) {
        const list = spans[rank];
        let drawn = -1;
        for (let index = firstAfter(list, view.from); index < list.length && list[index].from < view.to; index += 1) {
          const { state, from, to } = list[index];
          const [left, right] = [Math.max(GUTTER, x(from)), x(to)];
          if (right - left < 1 && Math.floor(right) === drawn) continue;
          drawn = Math.floor(right);
          context.fillStyle = colors[state];
          context.fillRect(left, y(rank) + inset, Math.max(1, right - left - (right - left > 3 ? 1 : 0)), view.row - 2 * inset);
        }
      }
    }

    // From here on something is missing: hatched, over what is there.
    function drawMissing(context, width, height, style) {
      if (timeline.complete_until_ps === null) return;
      const [left, right] = [Math.max(GUTTER, x(timeline.complete_until_ps)), Math.min(width, x(end))];
      if (left >= right) return;
      context.save();
      context.beginPath();
      context.rect(left, AXIS, right - left, height - AXIS);
      context.clip();
      context.globalAlpha = 0.35;
      context.strokeStyle = style.getPropertyValue("--muted");
      context.lineWidth = 1;
      context.beginPath();
      for (let start = left - height; start < right; start += 9) {
        context.moveTo(start, height);
        context.lineTo(start + height, 0);
      }
      context.stroke();
      context.restore();
      context.fillStyle = style.getPropertyValue("--put");
      context.fillRect(left, AXIS, 2, height - AXIS);
    }

    const inView = (message) => {
      if (message.until < view.from || message.posted > view.to) return false;
      const [low, high] = [Math.min(message.from, message.to), Math.max(message.from, message.to)];
      return middle(high) >= AXIS && middle(low) <= canvas.clientHeight;
    };

    function drawMessages(context, style) {
      const seen = messages.filter(inView);
      const drawn = seen.slice(0, LINES_MAX);
      canvas.dataset.lines = drawn.length;
      context.globalAlpha = Math.max(0.18, Math.min(0.95, 600 / Math.max(1, drawn.length)));
      context.lineWidth = 1.25;
      for (const kind of kinds) {
        context.strokeStyle = context.fillStyle = style.getPropertyValue(`--${kind}`);
        context.beginPath();
        for (const message of drawn) {
          if (message.kind !== kind || message.failed || message.effective === null) continue;
          context.moveTo(x(message.posted), middle(message.from));
          context.lineTo(x(message.effective), middle(message.to));
        }
        context.stroke();
        if (drawn.length > 2000) continue;
        for (const message of drawn) {
          if (message.kind !== kind || message.effective === null) continue;
          context.beginPath();
          context.arc(x(message.effective), middle(message.to), 2.2, 0, 7);
          context.fill();
        }
      }
      // What failed or never took effect: dashed, from its post to what is known of its end.
      context.strokeStyle = style.getPropertyValue("--bad");
      context.globalAlpha = 0.9;
      context.setLineDash([4, 3]);
      context.beginPath();
      for (const message of drawn) {
        if (!message.failed && message.effective !== null) continue;
        context.moveTo(x(message.posted), middle(message.from));
        context.lineTo(x(message.completed ?? end), middle(message.to));
      }
      context.stroke();
      context.setLineDash([]);
      context.globalAlpha = 1;
    }

    function draw() {
      hold();
      const { context, width, height, style } = prepare(canvas);
      drawAxis(context, width, height, style);
      context.save();
      context.beginPath();
      context.rect(GUTTER, AXIS, width - GUTTER, height - AXIS);
      context.clip();
      drawSpans(context, style);
      drawMessages(context, style);
      drawMissing(context, width, height, style);
      context.restore();
      drawRanks(context, height, style);
      if (rows * view.row > bodyHeight() + 1) {
        context.fillStyle = style.getPropertyValue("--muted");
        const share = bodyHeight() / (rows * view.row);
        context.fillRect(width - 4, AXIS + view.top * share, 4, Math.max(12, bodyHeight() * share));
      }
    }

    function distance(message, px, py) {
      const [ax, ay, bx, by] = [x(message.posted), middle(message.from), x(message.until), middle(message.to)];
      const length = (bx - ax) ** 2 + (by - ay) ** 2;
      const part = length ? Math.max(0, Math.min(1, ((px - ax) * (bx - ax) + (py - ay) * (by - ay)) / length)) : 0;
      return Math.hypot(px - ax - part * (bx - ax), py - ay - part * (by - ay));
    }

    function under(px, py) {
      if (px < GUTTER || py < AXIS) return "";
      let [best, nearest] = [null, 5];
      for (const message of messages) {
        if (!inView(message)) continue;
        const far = distance(message, px, py);
        if (far < nearest) [best, nearest] = [message, far];
      }
      if (best) return describe(best);
      const rank = Math.floor((py - AXIS + view.top) / view.row);
      const ps = view.from + (px - GUTTER) / scale();
      const list = spans[rank];
      const span = list && list[firstAfter(list, ps)];
      if (!span || span.from > ps) return "";
      return `rank ${rank} ${span.state} for ${time(span.to - span.from)}\nfrom ${time(span.from)} to ${time(span.to)}`;
    }

    function describe(message) {
      const { kind, from, to, size, posted, effective, completed, failed } = message;
      const after = (ps) => (ps === null ? "never" : `after ${time(ps - posted)}, at ${time(ps)}`);
      return `${kind} of ${bytes(size)}, rank ${from} → rank ${to}\nposted at ${time(posted)}\n` +
        `effective ${after(effective)}\n${failed ? "failed" : "completed"} ${after(completed)}`;
    }

    let drag = null;
    canvas.addEventListener("pointerdown", (event) => {
      drag = { x: event.clientX, y: event.clientY };
      canvas.setPointerCapture(event.pointerId);
      canvas.classList.add("dragging");
    });
    canvas.addEventListener("pointermove", (event) => {
      const box = canvas.getBoundingClientRect();
      if (!drag) return showTip(under(event.clientX - box.left, event.clientY - box.top), event);
      showTip("", event);
      pan(drag.x - event.clientX, drag.y - event.clientY);
      drag = { x: event.clientX, y: event.clientY };
    });
    for (const over of ["pointerup", "pointercancel"]) {
      canvas.addEventListener(over, () => { drag = null; canvas.classList.remove("dragging"); });
    }
    canvas.addEventListener("wheel", (event) => {
      event.preventDefault();
      const box = canvas.getBoundingClientRect();
      const turn = event.deltaY || event.deltaX;
      if (event.shiftKey) return pan(0, turn);
      if (!event.altKey) return zoom(Math.exp(turn / 400), Math.max(GUTTER, event.clientX - box.left));
      const rank = (event.clientY - box.top - AXIS + view.top) / view.row;
      view.row = Math.min(60, Math.max(1, view.row * Math.exp(-turn / 400)));
      view.top = rank * view.row - (event.clientY - box.top - AXIS);
      soon();
    }, { passive: false });
    const center = () => (canvas.clientWidth + GUTTER) / 2;
    const all = () => { fit(); soon(); };
    const keys = {
      ArrowLeft: () => pan(-80, 0), ArrowRight: () => pan(80, 0), ArrowUp: () => pan(0, -60), ArrowDown: () => pan(0, 60),
      "+": () => zoom(0.7, center()), "=": () => zoom(0.7, center()), "-": () => zoom(1 / 0.7, center()), Home: all,
    };
    canvas.addEventListener("keydown", (event) => {
      if (!keys[event.key] || event.ctrlKey || event.metaKey) return;
      event.preventDefault();
      keys[event.key]();
    });
    byId("zoom-in").addEventListener("click", () => zoom(0.5, center()));
    byId("zoom-out").addEventListener("click", () => zoom(2, center()));
    byId("zoom-fit").addEventListener("click", all);
    fit();
    const soon = redrawn(canvas, draw);
  }

  header();
  latency();
  linkSection();
  rankSection();
  rankQuantiles();
  activitySection();
  leftOut();
  timelineSection();
  document.documentElement.dataset.drawn = "true";
})();
