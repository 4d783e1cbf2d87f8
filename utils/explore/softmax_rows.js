import { bars, explorer, fixed, short, softmax } from "../show/page.js";

const [FACTOR, SHIFT] = [20, 10]; // the largest values of the sliders

/** Return the new scores, their weights, the largest weight before and after, and the change due to the shift. */
function numbers({ scores }, { factor, shift }) {
  const moved = scores.map((score) => score * factor + shift);
  const weights = softmax(moved);
  const unshifted = softmax(scores.map((score) => score * factor));
  return {
    scores: moved,
    weights,
    largest: Math.max(...weights),
    before: Math.max(...softmax(scores)),
    changed: Math.max(...weights.map((weight, i) => Math.abs(weight - unshifted[i]))),
  };
}

function say(_, { factor, shift }, { largest, before, changed }) {
  const sign = shift < 0 ? "−" : "+";
  return {
    title: `Scores × ${short(factor)} ${sign} ${short(Math.abs(shift))}: largest weight ${fixed(largest)}`,
    facts: {
      "largest weight": fixed(largest),
      "with unchanged scores": fixed(before),
      "changed by the shift": fixed(changed, 4),
    },
    remark: "Softmax depends on differences between scores: a factor stretches them, a shift keeps them.",
  };
}

export default explorer({
  name: "Softmax of a row of scores",
  numbers,
  say,
  controls: () => [
    { kind: "slider", name: "factor", label: "multiply by", min: 0, max: FACTOR, step: 0.5 },
    { kind: "slider", name: "shift", label: "then add", min: -SHIFT, max: SHIFT, step: 0.5 },
  ],
  draw(picture, { labels, scores: given }, _, { scores, weights }) {
    const most = -(FACTOR * Math.max(...given.map(Math.abs)) + SHIFT);
    const groups = [{ name: "scores", values: scores, even: true, most }, { name: "weights", values: weights }];
    return bars(picture, { groups, labels, limit: 1, reference: { at: 1 / labels.length, name: "uniform" } });
  },
});
