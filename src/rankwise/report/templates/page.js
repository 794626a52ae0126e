"use strict";
(() => {
  document.documentElement.classList.add("js");
  const tip = document.getElementById("tip");
  const show = (text, x, y) => {
    tip.textContent = text;
    tip.hidden = false;
    const box = tip.getBoundingClientRect();
    tip.style.left = Math.max(4, Math.min(x + 14, innerWidth - box.width - 4)) + "px";
    tip.style.top = (y + 18 + box.height < innerHeight ? y + 18 : y - box.height - 10) + "px";
  };
  const hide = () => { tip.hidden = true; };
  const written = (value) => Number(value.toPrecision(4)).toLocaleString("en");
  addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });

  document.addEventListener("pointermove", (event) => {
    const target = event.target.closest && event.target.closest("[data-tip]");
    if (target) show(target.dataset.tip, event.clientX, event.clientY);
    else if (!(event.target.closest && event.target.closest(".plot"))) hide();
  });

  // Tables: a button in each heading sorts; a second press turns the order around.
  for (const table of document.querySelectorAll(".sortable")) {
    for (const head of table.querySelectorAll("th[data-sort]")) {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const up = head.getAttribute("aria-sort") === "descending" ||
          (head.dataset.sort !== "number" && !head.hasAttribute("aria-sort"));
        for (const other of table.querySelectorAll("th[aria-sort]")) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        const key = (row) => {
          if (head.dataset.sort === "order") return Number(row.dataset.order);
          const cell = row.cells[head.cellIndex];
          return head.dataset.sort === "text" ? cell.textContent : Number(cell.dataset.value);
        };
        const body = table.tBodies[0];
        const rows = [...body.rows].map((row) => [key(row), row]);
        rows.sort(([a], [b]) => {
          if (typeof a === "string") return up ? a.localeCompare(b) : b.localeCompare(a);
          if (Number.isNaN(a) || Number.isNaN(b)) return Number.isNaN(a) - Number.isNaN(b); // what is not there comes last
          return up ? a - b : b - a;
        });
        body.append(...rows.map(([, row]) => row));
      });
    }
  }

  // Confusion matrix: which way of counting is shown.
  for (const choice of document.querySelectorAll("input[name=counting]")) {
    choice.addEventListener("change", () => {
      for (const matrix of document.querySelectorAll(".matrix")) matrix.hidden = matrix.dataset.counting !== choice.value;
    });
  }

  const ticks = (low, high, about) => {
    let step = 10 ** Math.floor(Math.log10((high - low) / about));
    step *= [1, 2, 5, 10].find((factor) => (high - low) / (step * factor) <= about);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    const found = [];
    for (let i = Math.ceil(low / step - 1e-9); i <= Math.floor(high / step + 1e-9); i++) {
      const text = (i * step + 0).toLocaleString("en", { minimumFractionDigits: digits, maximumFractionDigits: digits });
      found.push([100 * (i * step - low) / (high - low), text]);
    }
    return found;
  };

  for (const chart of document.querySelectorAll(".chart")) {
    const all = [Number(chart.dataset.low), Number(chart.dataset.high)];
    const facts = JSON.parse(chart.querySelector("script").textContent);
    const plot = chart.querySelector(".plot");
    const svg = plot.querySelector("svg");
    const brush = plot.querySelector(".brush");
    const cursor = plot.querySelector(".cursor");
    const axis = chart.querySelector(".x-axis");
    const range = chart.querySelector(".range");
    const buttons = Object.fromEntries([...chart.querySelectorAll("button[data-do]")].map((b) => [b.dataset.do, b]));
    const least = (all[1] - all[0]) / 2000;
    let [low, high] = all;

    const view = (a, b) => {
      const width = Math.min(Math.max(b - a, least), all[1] - all[0]);
      low = Math.max(Math.min(a, all[1] - width), all[0]);
      high = low + width;
      const place = (x) => Number((1000 * x / (all[1] - all[0])).toFixed(4));
      svg.setAttribute("viewBox", `${place(low - all[0])} 0 ${place(width)} 1000`);
      axis.replaceChildren(...ticks(low, high, Math.max(2, Math.min(8, plot.clientWidth / 90))).map(([place, text]) => {
        const span = document.createElement("span");
        span.style.left = place + "%";
        span.style.visibility = "visible"; // as many as there is room for: none need be hidden
        span.textContent = text;
        return span;
      }));
      for (const band of chart.querySelectorAll(".bands span")) {
        const from = Math.max(Number(band.dataset.low), low);
        const to = Math.min(Number(band.dataset.high), high);
        band.hidden = to <= from;
        band.style.left = 100 * (from - low) / width + "%";
        band.style.width = 100 * (to - from) / width + "%";
        // A name that is cut after a letter or two says nothing.
        band.classList.toggle("tight", (to - from) / width * plot.clientWidth < 8 * Math.min(band.textContent.length, 4) + 4);
      }
      const whole = width > 0.9999 * (all[1] - all[0]);
      buttons.in.disabled = width <= least * 1.001;
      buttons.out.disabled = buttons.all.disabled = whole;
      buttons.left.disabled = low <= all[0] + 1e-9 * (all[1] - all[0]);
      buttons.right.disabled = high >= all[1] - 1e-9 * (all[1] - all[0]);
      range.textContent = whole ? "" : `${facts.name} ${written(low)} to ${written(high)}`;
    };
    const zoom = (factor, middle = (low + high) / 2) =>
      view(middle - (middle - low) * factor, middle + (high - middle) * factor);
    const actions = {
      in: () => zoom(0.5), out: () => zoom(2), all: () => view(...all),
      left: () => view(low - (high - low) / 4, high - (high - low) / 4),
      right: () => view(low + (high - low) / 4, high + (high - low) / 4),
    };
    for (const [name, button] of Object.entries(buttons)) {
      button.addEventListener("click", () => {
        actions[name]();
        if (button.disabled) plot.focus({ preventScroll: true }); // a disabled button would lose the focus to nowhere
      });
    }
    const keys = { "+": "in", "=": "in", "-": "out", "0": "all", ArrowLeft: "left", ArrowRight: "right" };
    plot.addEventListener("keydown", (event) => {
      if (!(event.key in keys) || event.ctrlKey || event.metaKey || event.altKey) return;
      event.preventDefault();
      actions[keys[event.key]]();
    });

    const at = (event) => {
      const box = plot.getBoundingClientRect();
      return Math.min(Math.max((event.clientX - box.left) / box.width, 0), 1);
    };
    let start = null;
    plot.addEventListener("pointerdown", (event) => {
      if (event.button !== 0) return;
      start = at(event);
      plot.setPointerCapture(event.pointerId);
    });
    plot.addEventListener("pointermove", (event) => {
      const place = at(event);
      if (start !== null) {
        brush.hidden = false;
        brush.style.left = 100 * Math.min(start, place) + "%";
        brush.style.width = 100 * Math.abs(place - start) + "%";
      }
      cursor.hidden = false;
      cursor.style.left = 100 * place + "%";
      if (!event.target.closest("[data-tip]")) show(said(low + place * (high - low)), event.clientX, event.clientY);
    });
    const end = (event, apply) => {
      if (start === null) return;
      const place = at(event), from = start, width = high - low;
      start = null;
      brush.hidden = true;
      if (apply && Math.abs(place - from) > 0.01) {
        view(low + Math.min(from, place) * width, low + Math.max(from, place) * width);
      }
    };
    plot.addEventListener("pointerup", (event) => end(event, true));
    plot.addEventListener("pointercancel", (event) => end(event, false));
    plot.addEventListener("pointerleave", () => { cursor.hidden = true; hide(); });
    plot.addEventListener("dblclick", () => view(...all));

    const said = (x) => {
      if (facts.kind === "bands") {
        const band = facts.bands.find(([from, to]) => from <= x && x < to) || facts.bands[facts.bands.length - 1];
        return `score ${written(x)}\npredicted ${band[2]}`;
      }
      const lines = facts.series.map((one) => {
        let i = one.x.findIndex((end) => end >= x);
        if (i < 0) i = one.x.length - 1;
        return `${one.name} ${written(one.y[i])}`;
      });
      return [`row ${Math.max(1, Math.round(x)).toLocaleString("en")}`, ...lines].join("\n");
    };
    view(...all);
    addEventListener("resize", () => view(low, high));
  }

  const copy = document.getElementById("copy");
  copy.addEventListener("click", async () => {
    const code = document.getElementById("command");
    try {
      await navigator.clipboard.writeText(code.textContent);
      copy.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(code); // a page without the right to copy: the text is marked, Ctrl+C does the rest
      copy.textContent = "Marked";
    }
    setTimeout(() => { copy.textContent = "Copy"; }, 2000);
  });
})();
