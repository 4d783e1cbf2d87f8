import { drawn, explorer, fixed, label, lineAxes, short, sum, textWidth } from "../show/page.js";

/** Return {likeness: for each distance, half: the first distance below one half or null, nearest, longest: wave}. */
function numbers({ positions }, { base, width }) {
  const speeds = Array.from({ length: width / 2 }, (_, i) => base ** (-2 * i / width));
  const likeness = Array.from({ length: positions }, (_, distance) =>
    sum(speeds.map((speed) => Math.cos(distance * speed))) / speeds.length);
  const half = likeness.findIndex((x) => x < 0.5);
  return {
    likeness,
    half: half < 0 ? null : half,
    nearest: Math.max(...likeness.slice(1)),
    longest: 2 * Math.PI / speeds.at(-1),
  };
}

function say(start, { base, width }, { likeness, half, nearest, longest }) {
  return {
    title: `Base ${base}, width ${width}: similarity of two positions`,
    facts: {
      "longest wave": `${Math.round(longest).toLocaleString("en-US")} positions`,
      "first distance below one half": half === null ? "none" : String(half),
      "highest at another position": fixed(nearest),
    },
    remark: remark(likeness),
  };
}

function remark(likeness) {
  if (repeats(likeness)) return "Far positions look like near ones again: with few or fast waves, the pattern repeats.";
  return Math.min(...likeness) > 0.45 ? STAYS : FADES;
}

const STAYS = "Even the farthest positions are quite similar: with so large a base, most waves are too slow to cancel out here.";

const FADES = "Near positions are similar, far ones are not: waves of many speeds cancel out with distance.";

const repeats = (likeness) =>
  likeness.some((x, i) => i > 1 && x > likeness[i - 1]) && Math.max(...likeness.slice(10)) > 0.75;

export default explorer({
  name: "Similarity of two positions' encodings",
  numbers,
  say,
  longest: () => STAYS,
  controls: ({ bases, widths }) => [
    { kind: "choice", name: "base", label: "base", options: bases.map((base) => [short(base), base]) },
    { kind: "choice", name: "width", label: "d_model", options: widths.map((width) => [short(width), width]) },
  ],
  draw(picture, { positions }, state, { likeness, half }) {
    const { svg } = picture;
    const last = positions - 1;
    const axes = lineAxes(picture, {
      x: [0, last], y: [-1, 1], xname: "distance in positions", yname: "dot product ÷ its maximum",
      xticks: Array.from({ length: Math.floor(last / 10) + 1 }, (_, i) => 10 * i), yticks: [-1, -0.5, 0, 0.5, 1],
    });
    const path = axes.line(likeness.map((x, distance) => [distance, x]));
    svg.append(
      drawn("line", { x1: axes.x(0), x2: axes.x(last), y1: axes.y(0.5), y2: axes.y(0.5), stroke: "var(--muted)",
        "stroke-dasharray": "4 3" }),
      drawn("path", { d: path, fill: "none", stroke: "var(--blue)", "stroke-width": 2, "stroke-linejoin": "round" }),
      ...likeness.map((x, distance) =>
        drawn("circle", { cx: axes.x(distance), cy: axes.y(x), r: 2.4, fill: "var(--blue)" })),
    );
    if (half !== null) {
      const [x, y] = [axes.x(half), axes.y(likeness[half])];
      svg.append(drawn("circle", { cx: x, cy: y, r: 5, fill: "none", stroke: "var(--vermilion)", "stroke-width": 2 }));
      const words = `below one half at ${half}`;
      const end = x + 10 + textWidth(words, 13, 600) > picture.width;
      label(svg, words, end ? x - 10 : x + 10, y - 8, {
        class: "over", style: "fill:var(--vermilion);font-weight:600", "text-anchor": end ? "end" : "start",
      });
    }
    return axes.height;
  },
});
