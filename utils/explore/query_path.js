import { arrow, bars, dot, drawn, explorer, fixed, handle, label, plane, SERIES, softmax, sum } from "../show/page.js";

const INK = "var(--ink)";
const colourOf = (i) => SERIES[i]; // there are at most eight tokens; the query and the mix are drawn in INK
const ROOT = Math.SQRT2; // √d_k, where d_k = 2

/** Return the query's scores with all keys, the weights, and the mix of the values. */
function numbers({ keys, values }, { x, y, scaled }) {
  const scores = keys.map((key) => dot(key, [x, y]));
  const weights = softmax(scores.map((score) => (scaled ? score / ROOT : score)));
  return { scores, weights, context: [0, 1].map((d) => sum(values.map((value, i) => value[d] * weights[i]))) };
}

const pair = (point) => `(${point.map((x) => fixed(x)).join(", ")})`;

function say({ tokens, queries }, { asks, x, y, scaled }, { weights, context }) {
  const most = weights.indexOf(Math.max(...weights));
  const largest = fixed(weights[most]);
  return {
    title: x || y ? `“${cut(tokens[most])}” gets the largest weight, ${largest}` : `Each token gets the same weight, ${largest}`,
    facts: { query: pair([x, y]), "mix of the values": pair(context) },
    remark: remark(cut(tokens[asks]), queries[asks], [x, y], scaled, weights[most]),
  };
}

function remark(token, own, at, scaled, largest) {
  if (Math.hypot(...at) === 0) return "A query of length 0 asks for nothing: all scores are 0, so all weights are equal.";
  if (largest > 0.9) return "Nearly all the weight is on one token: the mix is almost the value of this token.";
  if (!scaled) return `Without the division, scores are ${fixed(ROOT)} times as far apart: the weights differ more.`;
  if (own.every((x, d) => x === at[d])) return `This is the query of “${token}”. Drag it: the mix never leaves the shaded area.`;
  return "A longer query spreads the scores; another direction favours other keys.";
}

// ---------------------------------------------------------------- the two planes

/** Write the tokens' names in columns on the left (side -1) or right (1) of their places, each with a thin line to its
 * place. No name may cover the horizontal axis. */
function names(svg, tokens, places, axis, sideOf) {
  for (const side of [-1, 1]) {
    const here = places.map((_, i) => i).filter((i) => sideOf(places[i]) === side);
    const x = side * Math.max(...here.map((i) => side * places[i][0])) + side * 26;
    const ys = beside(axis, here.map((i) => places[i][1]));
    here.forEach((i, k) => {
      const [from, y] = places[i];
      const style = `fill:${colourOf(i)};paint-order:stroke;stroke:var(--paper);stroke-width:3px`;
      svg.append(drawn("line", { x1: from, y1: y, x2: x - side * 3, y2: ys[k], stroke: colourOf(i), opacity: 0.5 }));
      label(svg, cut(tokens[i]), x, ys[k] + 4, { "text-anchor": side < 0 ? "end" : "start", style });
    });
  }
}

const dots = (svg, places) =>
  places.forEach(([cx, cy], i) => svg.append(drawn("circle", { cx, cy, r: 4, fill: colourOf(i) })));

const cut = (text) => (text.length > 12 ? `${text.slice(0, 11)}…` : text);

/** Return heights for names, as near to the wanted heights as possible, without moving a name across the axis. */
function beside(axis, wanted) {
  const found = [];
  for (const above of [true, false]) {
    const here = wanted.map((_, i) => i).filter((i) => wanted[i] < axis === above);
    const ys = spread(here.map((i) => wanted[i]), 17);
    const over = above ? Math.max(0, ...ys.map((y) => y - axis + 10)) : Math.min(0, ...ys.map((y) => y - axis - 10));
    here.forEach((i, k) => { found[i] = ys[k] - over; });
  }
  return found;
}

/** Return places as near to the wanted places as possible, at least `gap` apart. */
function spread(wanted, gap) {
  const order = wanted.map((_, i) => i).sort((a, b) => wanted[a] - wanted[b]);
  const placed = [];
  order.forEach((i, k) => { placed[i] = k ? Math.max(wanted[i], placed[order[k - 1]] + gap) : wanted[i]; });
  const shift = (sum(placed) - sum(wanted)) / wanted.length;
  return placed.map((y) => y - shift);
}

/** Draw the keys as points, their projections on the query's line, and the query, which can be dragged. */
function asked(svg, [left, top, side], { tokens, keys, reach }, state, ui) {
  label(svg, "query and keys", left, top - 8, { class: "muted" });
  const area = plane(svg, { left, top, side, low: [-reach, -reach], high: [reach, reach] });
  const { to, from } = area;
  const zero = to([0, 0]);
  const at = [state.x, state.y];
  if (Math.hypot(...at)) shadows(svg, area, keys, at, reach);
  dots(svg, keys.map(to));
  names(svg, tokens, keys.map(to), zero[1], () => (state.x < 0 ? 1 : -1)); // on the side without the query
  const [x, y] = to(at);
  arrow(svg, ...zero, x, y, INK, 3.5);
  const below = state.y < 0;
  label(svg, "query", Math.max(left + 20, Math.min(left + side - 20, x)), below ? y + 30 : y - 20, { "text-anchor": "middle", "font-weight": 700 });
  handle(svg, x, y, (place, rests) => {
    const inside = (d) => Math.max(-reach, Math.min(reach, d)) / reach;
    [state.x, state.y] = from(place).map((d) => Math.round(inside(d) * 100) * (reach / 100));
    ui.moved(rests);
  });
}

function shadows(svg, { to }, keys, at, reach) {
  const far = reach / Math.max(...at.map(Math.abs));
  const [[x1, y1], [x2, y2]] = [far, -far].map((times) => to(at.map((d) => d * times)));
  svg.append(drawn("line", { x1, y1, x2, y2, stroke: "var(--muted)", opacity: 0.5 }));
  keys.forEach((key, i) => {
    const times = dot(key, at) / dot(at, at);
    const [[tip_x, tip_y], [foot_x, foot_y]] = [to(key), to(at.map((d) => d * times))];
    svg.append(drawn("line", {
      x1: tip_x, y1: tip_y, x2: foot_x, y2: foot_y, stroke: colourOf(i), "stroke-dasharray": "3 3",
    }));
  });
}

/** Draw the weighted values tip to tail and their sum; a mix can reach every point of the shaded area. */
function mixed(svg, [left, top, side], { tokens, values }, { weights, context }) {
  label(svg, "weighted values, tip to tail", left, top - 8, { class: "muted" });
  const every = [[0, 0], ...values];
  const [low, high] = [Math.min, Math.max].map((end) => [0, 1].map((d) => end(...every.map((point) => point[d]))));
  const pad = 0.06 * (Math.max(high[0] - low[0], high[1] - low[1]) || 1);
  const { to } = plane(svg, { left, top, side, low: low.map((x) => x - pad), high: high.map((x) => x + pad) });
  const shape = hull(values).map((point) => to(point).join(" ")).join("L");
  svg.append(drawn("path", { d: `M${shape}Z`, fill: "var(--faint)", opacity: 0.5 }));
  arrow(svg, ...to([0, 0]), ...to(context), INK, 4.5);
  let tail = [0, 0];
  values.forEach((value, i) => {
    const tip = tail.map((x, d) => x + weights[i] * value[d]);
    arrow(svg, ...to(tail), ...to(tip), colourOf(i), 2);
    tail = tip;
  });
  dots(svg, values.map(to));
  names(svg, tokens, values.map(to), to([0, 0])[1], ([x]) => (x < to([0, 0])[0] ? -1 : 1));
  const [x, y] = to(context.map((d) => 0.35 * d));
  label(svg, "mix", x + 12, y + 8, { "font-weight": 700, class: "number" });
}

/** Return the corners of the convex hull of points, in order. */
function hull(points) {
  const sorted = [...points].sort((a, b) => a[0] - b[0] || a[1] - b[1]);
  const half = (ordered) => {
    const kept = [];
    for (const point of ordered) {
      while (kept.length > 1 && turn(kept.at(-2), kept.at(-1), point) <= 0) kept.pop();
      kept.push(point);
    }
    return kept.slice(0, -1);
  };
  return [...half(sorted), ...half(sorted.reverse())];
}

const turn = (a, b, c) => (b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]);

/** Draw the scores and weights, with a row for each token. */
function rows(svg, width, top, { tokens }, { asks }, { scores, weights }) {
  const colours = tokens.map((_, i) => colourOf(i));
  const groups = [{ name: "scores", values: scores, colours, even: true }, { name: "weights", values: weights, colours }];
  const inner = drawn("g", { transform: `translate(0 ${top})` });
  svg.append(inner);
  const reference = { at: 1 / tokens.length, name: "uniform" };
  return bars({ svg: inner, width }, { groups, labels: tokens, limit: 1, reference, strong: [asks] });
}

/** Set the query to that of the asking token whenever another token is chosen. */
function followAsker(ui) {
  const { moved } = ui;
  let last = ui.state.asks;
  ui.own = () => { [ui.state.x, ui.state.y] = ui.start.queries[ui.state.asks]; };
  ui.moved = (rests) => {
    if (ui.state.asks !== last) ui.own();
    last = ui.state.asks;
    moved(rests);
  };
}

export default explorer({
  name: "One query and its result",
  numbers,
  say,
  longest: ({ tokens }) => {
    const asking = tokens.map(cut).sort((a, b) => a.length - b.length);
    return remark(asking.at(-1), [1, 0], [1, 0], true, 0);
  },
  extra: followAsker,
  controls: ({ tokens, reach }, ui) => [
    { kind: "choice", name: "asks", label: "who asks", options: tokens.map((token, i) => [cut(token), i]) },
    { kind: "switch", name: "scaled", label: "divide by √d_k" },
    { kind: "slider", name: "x", label: "query, across", min: -reach, max: reach, step: reach / 100, written: fixed },
    { kind: "slider", name: "y", label: "query, up", min: -reach, max: reach, step: reach / 100, written: fixed },
    { kind: "button", name: "back", label: "Back to its own query", press: () => ui.own() },
  ],
  draw({ svg, width, ui }, start, state, found) {
    const wide = width >= 500;
    const side = wide ? (width - 24) / 2 : width;
    asked(svg, [0, 24, side], start, state, ui);
    const first = 24 + side + 30; // room for the query's name below the plane
    if (wide) mixed(svg, [side + 24, 24, side], start, found);
    const second = first + rows(svg, width, first, start, state, found);
    if (wide) return second;
    mixed(svg, [0, second + 24, side], start, found);
    return second + 24 + side;
  },
});
