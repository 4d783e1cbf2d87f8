import { arrow, dot, drawn, explorer, fixed, handle, label, plane, SERIES } from "../show/page.js";

const LONGEST = 2;
const NAMES = ["a", "b"];
const radians = (degrees) => (degrees / 180) * Math.PI;
/** Round to nine decimals: in floating point, cos 90° is 6e-17. */
const clean = (x) => Math.round(x * 1e9) / 1e9 + 0;

/** Return the arrows' tips, their dot product, and their angle and its cosine (null if an arrow has length 0). */
function numbers(_, state) {
  const [a, b] = NAMES.map((name) => end(state[`angle_${name}`], state[`length_${name}`]));
  const between = Math.abs(((((state.angle_b - state.angle_a + 180) % 360) + 360) % 360) - 180);
  const flat = state.length_a === 0 || state.length_b === 0;
  const [angle, cosine] = flat ? [null, null] : [between, clean(Math.cos(radians(between)))];
  return { a, b, dot: clean(dot(a, b)), angle, cosine };
}

const end = (angle, length) => [length * Math.cos(radians(angle)), length * Math.sin(radians(angle))];

function say(_, state, found) {
  const flat = found.cosine === null;
  return {
    title: `a · b = ${fixed(found.dot)}`,
    facts: {
      "dot product": fixed(found.dot),
      cosine: flat ? "none" : fixed(found.cosine),
      angle: flat ? "none" : `${found.angle}°`,
    },
    remark: remark(flat, found.dot),
  };
}

function remark(flat, product) {
  if (flat) return "A vector of length 0 points nowhere: its dot product with any vector is 0.";
  if (product === 0) return "At a right angle, the dot product is 0, whatever the lengths.";
  return product > 0 ? "Positive: the angle is less than 90°." : "Negative: the angle is more than 90°.";
}

/** Draw the arc from a to b, with the angle. */
function arc(svg, { to, unit }, state, { angle }) {
  const turn = ((((state.angle_b - state.angle_a) % 360) + 540) % 360) - 180;
  const radius = Math.min(34, 0.6 * unit * Math.min(state.length_a, state.length_b));
  const at = (degrees, far = radius) => to(end(degrees, far / unit)).join(" ");
  const path = `M${at(state.angle_a)}A${radius} ${radius} 0 0 ${turn > 0 ? 0 : 1} ${at(state.angle_a + turn)}`;
  svg.append(drawn("path", { d: path, fill: "none", stroke: "var(--muted)" }));
  const far = Math.max(radius + 18, 18 / Math.sin(radians(Math.max(angle, 1)) / 2));
  if (far > 0.8 * unit * Math.max(state.length_a, state.length_b)) return; // the facts still show the angle
  const [x, y] = to(end(state.angle_a + turn / 2, far / unit));
  label(svg, `${angle}°`, x, y + 5, { "text-anchor": "middle", class: "muted over" });
}

/** Draw an arrow with its handle and its name, `aside` pixels counterclockwise of its line. */
function tip(svg, { to, from }, state, name, point, colour, aside, ui) {
  const [x, y] = to(point);
  arrow(svg, ...to([0, 0]), x, y, colour, 3);
  const [ux, uy] = end(state[`angle_${name}`], 1);
  label(svg, name, x + 24 * ux - aside * uy, y - 24 * uy - aside * ux + 5, {
    class: "over", "text-anchor": "middle", "font-weight": 700, style: `fill:${colour}`,
  });
  handle(svg, x, y, (place, rests) => {
    const [to_x, to_y] = from(place);
    const length = Math.min(LONGEST, Math.round(Math.hypot(to_x, to_y) * 20) / 20);
    if (length) state[`angle_${name}`] = Math.round((Math.atan2(to_y, to_x) / Math.PI) * 180);
    state[`length_${name}`] = length;
    ui.moved(rests);
  });
}

export default explorer({
  name: "Dot product of two arrows",
  numbers,
  say,
  longest: () => remark(true, 0),
  controls: () =>
    NAMES.flatMap((name) => [
      { kind: "slider", name: `angle_${name}`, label: `angle of ${name}, °`, min: -180, max: 180, step: 5 },
      { kind: "slider", name: `length_${name}`, label: `length of ${name}`, min: 0, max: LONGEST, step: 0.1 },
    ]),
  draw({ svg, width, ui }, _, state, found) {
    const side = Math.min(width, 380);
    const limit = 2.4;
    const area = plane(svg, { left: (width - side) / 2, top: 0, side, low: [-limit, -limit], high: [limit, limit] });
    if (found.angle !== null) arc(svg, area, state, found);
    const gap = area.unit * Math.hypot(found.a[0] - found.b[0], found.a[1] - found.b[1]);
    // Names of arrows that lie together move apart.
    const aside = gap < 24 ? Math.sign(found.a[1] * found.b[0] - found.a[0] * found.b[1] || 1) * 9 : 0;
    NAMES.forEach((name, i) => tip(svg, area, state, name, found[name], SERIES[i], i ? -aside : aside, ui));
    return side;
  },
});
