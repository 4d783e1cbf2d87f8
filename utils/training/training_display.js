import { drawn, explorer, fixed, label, lineAxes } from "../show/page.js";

const SILENCE = 20_000; // milliseconds without a step after which the kernel may be gone
const [ROW, COLUMN] = [20, 230]; // pixels

/** Return the highest loss so far, and the share of the steps that are done. */
function numbers({ steps, first }, { done, losses }) {
  return { highest: Math.max(0, ...losses.map(([, loss]) => loss)), share: (done - first) / (steps - first) };
}

function say({ title, steps }, state) {
  const { done, loss, running, left, silent } = state;
  const facts = { step: `${done} of ${steps}` };
  if (loss !== null) facts.loss = typeof loss === "number" ? fixed(loss, 4) : "not a number";
  if (running && !silent && left >= 1) facts["time left"] = `about ${Math.round(left)} s`;
  return { title: title[0].toUpperCase() + title.slice(1), facts, remark: remark(steps, state) };
}

function remark(steps, { done, loss, running, silent }) {
  if (typeof loss === "string") return "The loss is no longer a number. A smaller learning rate often helps.";
  if (done === steps) return "Trained: all steps are done.";
  if (!running) return `Stopped after ${done} of ${steps} steps: the model is only partly trained. Run the cell again to train it.`;
  if (silent) return "There has been no step for a while. If the kernel was stopped, the model is only partly trained: run the cell again.";
  return "The training is running. ■ in the toolbar stops it.";
}

function draw({ svg, width }, start, state, found) {
  const beside = start.prompt && width >= 540;
  const chart = state.losses.length ? curve : progressBar;
  const high = chart({ svg, width: beside ? width - COLUMN : width }, start, state, found);
  if (!start.prompt) return high;
  const holder = drawn("g", { transform: beside ? `translate(${width - COLUMN + 24} 0)` : `translate(0 ${high + 8})` });
  svg.append(holder);
  const below = written(holder, start, state);
  return beside ? Math.max(high, below) : high + 8 + below;
}

function curve(picture, { first, steps }, { done, losses }, { highest }) {
  const axes = lineAxes(picture, {
    x: [first, steps], y: [0, highest * 1.05 || 1], xname: "step", yname: "loss", high: 216,
  });
  const low = axes.y(0) + 2;
  picture.svg.append(
    drawn("line", { // the progress bar, below the axis
      x1: axes.x(first), x2: axes.x(done), y1: low, y2: low, stroke: "var(--muted)", "stroke-width": 4,
    }),
    drawn("path", { d: axes.line(losses), fill: "none", stroke: "var(--blue)", "stroke-width": 2 }),
  );
  return axes.height;
}

function progressBar({ svg, width }, start, state, { share }) {
  svg.append(
    drawn("rect", { x: 0, y: 4, width, height: 12, fill: "var(--faint)" }),
    drawn("rect", { x: 0, y: 4, width: width * share, height: 12, fill: "var(--control)" }),
  );
  return 24;
}

/** Write the model's answers line by line, with right letters in blue. */
function written(svg, { prompt, right, lines: expected }, { lines }) {
  label(svg, "step", 40, 14, { class: "muted", "text-anchor": "end" });
  label(svg, `${prompt} →`, 56, 14, { class: "muted" });
  lines.forEach(([done, text], row) => {
    const y = 38 + row * ROW;
    label(svg, String(done), 40, y, { class: "muted", "text-anchor": "end" });
    const letters = [...text.trimStart()].map((letter, i) => drawn("tspan", {
      style: letter === right[i] ? "fill:var(--blue)" : "fill:var(--vermilion);text-decoration:underline",
    }, letter === " " ? "␣" : letter));
    svg.append(drawn("text", {
      x: 56, y, "font-weight": text.trimStart() === right ? 700 : 400, style: "font-family:monospace;font-size:15px",
    }, ...letters));
  });
  const below = 38 + Math.max(expected, lines.length) * ROW;
  label(svg, "blue: right · underlined: wrong", 0, below, { class: "muted" });
  return below + 10;
}

/** Show every new state from the kernel, and notice when no more states come. */
function follow(ui) {
  let timer;
  const wait = () => {
    clearTimeout(timer);
    if (!ui.state.running) return;
    timer = setTimeout(() => {
      ui.state.silent = true;
      ui.redraw();
    }, SILENCE);
  };
  const told = () => {
    ui.state = structuredClone(ui.model.get("state"));
    ui.root.coginst.state = ui.state;
    ui.redraw();
    if (!ui.state.running) ui.announce(ui.said);
    wait();
  };
  ui.model.on("change:state", told);
  wait();
  return () => {
    clearTimeout(timer);
    ui.model.off("change:state", told);
  };
}

export default explorer({ name: "Training", numbers, say, draw, controls: () => [], extra: follow });
