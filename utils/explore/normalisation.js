import { bars, explorer, fixed, short, sum } from "../show/page.js";

const options = (...texts) => texts.map((text) => [text, Number(text)]);

/** Return the vector before and after the norm, with means and variances. */
function numbers({ vector }, { shift, scale, eps }) {
  const before = vector.map((x) => x * scale + shift);
  const [mean, variance] = moments(before);
  const after = before.map((x) => (x - mean) / Math.sqrt(variance + eps));
  return { before, after, mean, variance, mean_after: moments(after)[0], variance_after: moments(after)[1] };
}

function moments(values) {
  const mean = sum(values) / values.length;
  return [mean, sum(values.map((x) => (x - mean) ** 2)) / values.length];
}

function say(_, { shift, scale }, found) {
  const after = fixed(found.variance_after);
  return {
    title: `Multiplied by ${short(scale)}, plus ${short(shift)}: variance ${after} after the norm`,
    facts: {
      "mean before": fixed(found.mean),
      "variance before": short(found.variance, 2),
      "mean after": fixed(found.mean_after),
      "variance after": after,
    },
    remark: remark(found.variance_after),
  };
}

function remark(variance) {
  // The facts show a variance of at least 0.995 as 1.00.
  if (variance < 0.5) return "The variance is smaller than eps, so eps keeps the result small: such small noise is not amplified.";
  if (variance < 0.995) return "Compared with the variance, eps is not negligible: it keeps the variance after the norm below 1.";
  return "Whatever you add and multiply by, the result is the same: only the pattern of the numbers remains.";
}

export default explorer({
  name: "Layer norm of a vector",
  numbers,
  say,
  controls: () => [
    { kind: "slider", name: "shift", label: "add", min: -5, max: 5, step: 0.5 },
    { kind: "choice", name: "scale", label: "multiply by", options: options("0.0001", "0.001", "0.01", "0.1", "0.5", "1", "2", "3") },
    { kind: "choice", name: "eps", label: "eps", options: options("0.000001", "0.001", "0.1") },
  ],
  draw(picture, { vector }, state, { before, after }) {
    // No setting of the sliders gives a longer number.
    const most = -3 * (5 + Math.max(...vector.map(Math.abs)));
    const groups = [{ name: "before", values: before, most }, { name: "after", values: after }];
    return bars(picture, { groups, labels: vector.map((_, i) => `entry ${i}`), sameScale: true, limit: 3 });
  },
});
