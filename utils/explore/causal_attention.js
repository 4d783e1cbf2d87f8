import { bars, explorer, fixed, softmax, sum } from "../show/page.js";

/** Return {weights: of the position, free: its weights without a mask, seen: how many positions it sees}. */
function numbers({ scores }, { position, mask }) {
  const row = scores[position];
  const seen = mask ? position + 1 : row.length;
  return {
    seen,
    free: softmax(row),
    weights: softmax(row.map((score, i) => (i < seen ? score : -Infinity))),
  };
}

function say({ tokens }, { position, mask }, { weights, free, seen }) {
  const future = fixed(sum(weights.slice(position + 1)));
  return {
    title: `“${tokens[position]}” gives ${future} of its weight to the future`,
    facts: { position: tokens[position], "may use": `${seen} of ${tokens.length}`, "weight on the future": future },
    remark: remark(position === tokens.length - 1, mask, sum(free.slice(0, position + 1))),
  };
}

function remark(last, mask, left) {
  if (last) return "The last position has no future: the mask changes nothing.";
  if (!mask) return "Orange marks tokens that do not exist yet when a model writes. Switch the mask on.";
  if (left < 1e-3) return "The weight on the future goes to the other positions, in proportion. Before, they had almost nothing.";
  return `The weight on the future goes to the other positions: each now has ${fixed(1 / left)} times its earlier weight.`;
}

export default explorer({
  name: "Attention weights of one position, with and without the mask",
  numbers,
  say,
  longest: () => remark(false, true, 0.01),
  controls: ({ tokens }) => [
    { kind: "slider", name: "position", label: "position", min: 0, max: tokens.length - 1, step: 1 },
    { kind: "switch", name: "mask", label: "mask on" },
  ],
  draw(picture, { tokens }, { position, mask }, { weights, free }) {
    const future = tokens.map((_, i) => i).filter((i) => i > position);
    const group = { name: "weights", values: weights, ghosts: mask ? free : undefined };
    return bars(picture, { groups: [group], labels: tokens, limit: 1, shaded: mask ? [] : future, strong: [position] });
  },
});
