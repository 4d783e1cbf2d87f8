import { drawn, explorer, fixed, handle, label, lineAxes, textWidth } from "../show/page.js";

const STEP = 0.05; // of μ

/** Return the parabola over μ for the `i`th w: {best: μ of the lowest error, least: this error, at: μ -> error}. */
function parabola({ constant, linear, square }, i) {
  const at = (mu) => constant - 2 * mu * linear[i] + mu * mu * square[i];
  const best = linear[i] / square[i];
  return { best, least: at(best), at };
}

const nearest = (values, x) =>
  values.reduce((best, value, i) => (Math.abs(value - x) < Math.abs(values[best] - x) ? i : best), 0);

function numbers(start, { w, mu }) {
  const { best, least, at } = parabola(start, nearest(start.w, w));
  const lowest = Math.min(...start.w.map((_, i) => parabola(start, i).least));
  return { error: at(mu), best, least, lowest, rate: 2 * w * mu };
}

function say(start, { mu }, { error, best, least, lowest, rate }) {
  return {
    title: "Two heads, ±w and ±μ",
    facts: {
      error: fixed(error, 3),
      "lowest for this w": `${fixed(least, 3)} at μ ${fixed(best)}`,
      "lowest of all": fixed(lowest, 3),
      "2wμ": fixed(rate),
    },
    remark: remark(error, mu, best, least, lowest),
  };
}

function remark(error, mu, best, least, lowest) {
  const isOnCurve = error < least + 0.02;
  if (isOnCurve && least < lowest + 0.01) return "On the curve, with a small w: this pair performs one step of gradient descent.";
  if (isOnCurve) return "On the curve. A smaller w with a larger μ would give a smaller error.";
  return mu > best ? "Above the curve: the answers are too large." : "Below the curve: the answers are too small.";
}

/** Return the curve of the best μ over w. Between two steps of the slider, w · μ is almost linear in w. */
function curve(start) {
  const rows = [];
  const products = start.w.map((w, i) => w * parabola(start, i).best);
  for (let i = 0; i < start.w.length - 1; i += 1) {
    for (let part = 0; part < 4; part += 1) {
      const [a, b] = [start.w[i], start.w[i + 1]];
      const w = a + ((b - a) * part) / 4;
      rows.push([w, (products[i] + ((products[i + 1] - products[i]) * part) / 4) / w]);
    }
  }
  return [...rows, [start.w.at(-1), products.at(-1) / start.w.at(-1)]];
}

export default explorer({
  name: "Error of a pair of heads",
  numbers,
  say,
  longest: () => remark(0, 0, 0, 0, 0),
  controls: ({ w, highest }) => [
    { kind: "slider", name: "w", label: "w", min: w[0], max: w.at(-1), step: 0.01, written: (x) => fixed(x) },
    { kind: "slider", name: "mu", label: "μ", min: 0, max: highest, step: STEP, written: (x) => fixed(x) },
  ],
  draw(picture, start, state, { best }) {
    const { svg, ui } = picture;
    const { w, highest } = start;
    const axes = lineAxes(picture, {
      x: [0, w.at(-1)], y: [0, highest], xname: "w", yname: "μ", high: 280, yticks: [0, 2, 4, 6, 8, 10],
    });
    const line = curve(start).filter(([, mu]) => mu <= highest);
    const [x, y] = [axes.x(state.w), axes.y(state.mu)];
    svg.append(drawn("path", { d: axes.line(line), fill: "none", stroke: "var(--muted)", "stroke-width": 2 }));
    if (best <= highest) {
      svg.append(drawn("line", { x1: x, x2: x, y1: y, y2: axes.y(best), stroke: "var(--vermilion)", "stroke-width": 1.5,
        "stroke-dasharray": "2 3" }));
    }
    const [near, high] = line.find(([, mu]) => mu <= 0.85 * highest);
    label(svg, "best μ for each w", axes.x(near) + 10, axes.y(high) + 4, { class: "muted over", "font-weight": 600 });
    svg.append(drawn("circle", { cx: x, cy: y, r: 6, fill: "var(--blue)" }));
    const words = "your pair";
    const end = x + 20 + textWidth(words, 13, 600) > picture.width;
    label(svg, words, end ? x - 20 : x + 20, y < 20 ? y + 24 : y - 10, {
      class: "over", style: "fill:var(--blue);font-weight:600", "text-anchor": end ? "end" : "start",
    });
    handle(svg, x, y, (place, rests) => {
      state.w = w[nearest(w, axes.toX(place.x))];
      state.mu = Math.min(highest, Math.max(0, Number((Math.round(axes.toY(place.y) / STEP) * STEP).toFixed(2))));
      ui.moved(rests);
    });
    return axes.height;
  },
});
