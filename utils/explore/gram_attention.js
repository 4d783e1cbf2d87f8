import { arrow, dot, drawn, explorer, fixed, handle, label, SERIES, sum, textWidth } from "../show/page.js";

const NAMES = ["query", "key", "reference"];
const COLOURS = [SERIES[0], SERIES[1], SERIES[2]];
const UNITS = 4; // the width of the picture, in lengths of the query
const MIDDLE = [1.45, 0, 0.45]; // the point at the centre of the picture
const radians = (degrees) => (degrees / 180) * Math.PI;
/** Round to twelve decimals: in floating point, cos 90° is 6e-17. */
const clean = (x) => Math.round(x * 1e12) / 1e12 + 0;
const plus = (...vectors) => [0, 1, 2].map((i) => vectors.reduce((total, vector) => total + vector[i], 0));
const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];

/** Return the vectors (x halves the angle between query and reference), their Gram matrix, and its results. */
function numbers(_, { rise, length, angle }) {
  const [up, half] = [radians(rise), radians(angle / 2)];
  const vectors = [
    [Math.cos(half), -Math.sin(half), 0],
    [length * Math.cos(up), 0, length * Math.sin(up)],
    [Math.cos(half), Math.sin(half), 0],
  ].map((vector) => vector.map(clean));
  const area = clean(Math.sin(radians(angle)));
  const height = vectors[1][2];
  const gram = vectors.map((a) => vectors.map((b) => clean(dot(a, b))));
  return { vectors, gram, area, height, volume: area * height, score: -((area * height) ** 2) + 0 };
}

function say(_, state, { gram, volume, score }) {
  return {
    title: volume > 0
      ? `Volume ${fixed(volume)}, score ${fixed(score)}`
      : "Flat: the volume is 0, and so is the score, its maximum",
    facts: { volume: fixed(volume), score: fixed(score), "dot product of query and key": fixed(gram[0][1]) },
    remark: remark(state, score),
  };
}

function remark({ rise, length, angle }, score) {
  if (length === 0)
    return "A key of length 0 spans no volume, so it gets the highest possible score, 0.";
  if (angle === 0)
    return "Query and reference point the same way: they span no plane, so every key scores 0.";
  if (rise === 0)
    return "A key in the plane of query and reference spans no volume: it scores 0 at any length.";
  return `A key twice as long would give twice the volume and four times the score: ${fixed(4 * score)}.`;
}

// ---------------------------------------------------------------- the body and the view

/** Return the view: {to: point -> place in the picture, faces: normal of a face -> whether the face is visible}. */
function eye(turn, tilt, side, high) {
  const [a, b] = [radians(turn - 90), radians(tilt)];
  const right = [-Math.sin(a), Math.cos(a), 0];
  const up = [-Math.sin(b) * Math.cos(a), -Math.sin(b) * Math.sin(a), Math.cos(b)];
  const towards = cross(right, up);
  const unit = side / UNITS;
  const at = (point) => [dot(point, right) * unit, -dot(point, up) * unit];
  const [x0, y0] = at(MIDDLE);
  return {
    to: (point) => [side / 2 + at(point)[0] - x0, high / 2 + at(point)[1] - y0],
    faces: (normal) => dot(normal, towards) > 0,
  };
}

const corners = (start, a, b) => [start, plus(start, a), plus(start, a, b), plus(start, b)];
const edgeName = (from, to) => [from, to].map((point) => point.map((x) => x.toFixed(6) * 1).join()).sort().join(" ");

function body(svg, { to, faces }, [query, key, reference], solid) {
  const shape = (points, attributes) =>
    svg.append(drawn("polygon", { points: points.map((point) => to(point).join()).join(" "), ...attributes }));
  const floor = corners([0, 0, 0], query, reference);
  shape(floor, { fill: "var(--green)", "fill-opacity": 0.18, stroke: "var(--green)" });
  if (!solid) return;
  const sides = [[key, query, reference], [reference, query, key], [query, key, reference]].flatMap(([away, a, b]) => {
    const normal = cross(a, b);
    const outward = dot(normal, away) > 0 ? normal : normal.map((x) => -x);
    return [
      { points: corners([0, 0, 0], a, b), front: faces(outward.map((x) => -x)) },
      { points: corners(away, a, b), front: faces(outward) },
    ];
  });
  const edges = new Map();
  for (const { points, front } of sides) {
    if (front) shape(points, { fill: "var(--blue)", "fill-opacity": 0.12 });
    points.forEach((from, i) => {
      const end = points[(i + 1) % 4];
      const name = edgeName(from, end);
      edges.set(name, { ends: [from, end], front: front || (edges.get(name)?.front ?? false) });
    });
  }
  for (const { ends: [from, end], front } of edges.values()) {
    const [[x1, y1], [x2, y2]] = [to(from), to(end)];
    svg.append(drawn("line", { x1, y1, x2, y2, stroke: "var(--muted)", "stroke-dasharray": front ? null : "3 3" }));
  }
  const [[x1, y1], [x2, y2]] = [to(key), to([key[0], key[1], 0])];
  svg.append(
    drawn("line", { x1, y1, x2, y2, stroke: "var(--vermilion)", "stroke-width": 1.5, "stroke-dasharray": "1.5 2.5" }),
    drawn("circle", { cx: x2, cy: y2, r: 2.5, fill: "var(--vermilion)" }),
  );
}

/** Write the names beyond the arrows' tips, and move them apart if they would touch. */
function names(svg, tips, [, y0], side) {
  const middle = sum(tips.map(([x]) => x)) / tips.length;
  const sorted = tips
    .map(([x, y], i) => ({ i, x, left: x < middle - 1, y: y + (y > y0 + 4 ? 12 : -4) }))
    .sort((a, b) => a.y - b.y);
  sorted.forEach((name, k) => { if (k) name.y = Math.max(name.y, sorted[k - 1].y + 17); });
  for (const { i, x, y, left } of sorted) {
    const wide = textWidth(NAMES[i], 13, 700);
    const from = Math.max(0, Math.min(side - wide, left ? x - 8 - wide : x + 8));
    label(svg, NAMES[i], from, y, { style: `fill:${COLOURS[i]};font-weight:700`, class: "over" });
  }
}

function turned(svg, side, high, state, ui) {
  let before = null;
  const whole = drawn("rect", { x: 0, y: 0, width: side, height: high, fill: "transparent", class: "draggable" });
  handle(svg, 0, 0, (place, rests) => {
    if (before) {
      state.turn = ((((Math.round(state.turn - 0.6 * (place.x - before.x)) + 180) % 360) + 360) % 360) - 180;
      state.tilt = Math.max(0, Math.min(90, Math.round(state.tilt + 0.6 * (place.y - before.y))));
    }
    before = rests ? null : place;
    ui.moved(rests);
  }, whole);
}

// ---------------------------------------------------------------- the table of numbers

function table(svg, { gram, area, height, volume, score }, left, top) {
  const [pitch, row] = [58, 24];
  label(svg, "dot products", left, top, { class: "muted" });
  const letter = (text, i, x, y) =>
    label(svg, text, x, y, { "text-anchor": "middle", style: `fill:${COLOURS[i]};font-weight:700` });
  gram.forEach((values, i) => {
    letter("qkr"[i], i, left + 34 + pitch * (i + 0.5), top + row);
    letter("qkr"[i], i, left + 10, top + row * (i + 2));
    values.forEach((value, j) => label(svg, fixed(value), left + 34 + pitch * (j + 0.5), top + row * (i + 2), {
      "text-anchor": "middle", style: i === j ? `fill:${COLOURS[i]};font-weight:700` : null,
    }));
  });
  for (const x of [left + 28, left + 40 + 3 * pitch]) {
    const [y1, y2] = [top + row + 8, top + 4 * row + 8];
    svg.append(drawn("line", { x1: x, x2: x, y1, y2, stroke: "var(--faint)", "stroke-width": 1.5 }));
  }
  const results = [
    ["area of q and r", area], ["height of k", height], ["volume = area × height", volume], ["score = −volume²", score],
  ];
  results.forEach(([name, value], i) => {
    const y = top + row * (5.2 + i);
    label(svg, name, left, y, { class: i < 2 ? "muted" : null, "font-weight": i === 3 ? 700 : 400 });
    label(svg, fixed(value), left + 40 + 3 * pitch, y, { "text-anchor": "end", "font-weight": i === 3 ? 700 : 400 });
  });
  return top + row * 8.2 + 10;
}

export default explorer({
  name: "Volume of key, query and reference",
  numbers,
  say,
  longest: () => remark({ rise: 0, length: 1, angle: 90 }, 0),
  controls: ({ longest, widest }) => [
    { kind: "slider", name: "rise", label: "key rises by, °", min: 0, max: 90, step: 1 },
    { kind: "slider", name: "length", label: "length of key", min: 0, max: longest, step: 0.1 },
    { kind: "slider", name: "angle", label: "query to ref., °", min: 0, max: widest, step: 1 },
    { kind: "slider", name: "turn", label: "rotate view, °", min: -180, max: 180, step: 1 },
    { kind: "slider", name: "tilt", label: "tilt view, °", min: 0, max: 90, step: 1 },
  ],
  draw({ svg, width, ui }, _, state, found) {
    const beside = width >= 520;
    const side = beside ? width - 240 : Math.min(width, 400);
    const high = 0.8 * side;
    const view = eye(state.turn, state.tilt, side, high);
    const origin = view.to([0, 0, 0]);
    const tips = found.vectors.map((vector) => view.to(vector));
    body(svg, view, found.vectors, found.volume > 0);
    tips.forEach(([x, y], i) => arrow(svg, ...origin, x, y, COLOURS[i]));
    names(svg, tips, origin, side);
    turned(svg, side, high, state, ui);
    const below = table(svg, found, beside ? width - 220 : 8, beside ? 40 : high + 24);
    return Math.max(high, below);
  },
});
