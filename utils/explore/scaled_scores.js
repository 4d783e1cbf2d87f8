import { bars, entropy, explorer, fixed, softmax, sum } from "../show/page.js";

/** Return the scores, their weights, how sharp these weights are, and how sharp uniform weights would be. */
function numbers({ widths, first, seed }, { d_k, divide, draw }) {
  const seq = first[0].length;
  const products = draw ? drawnScores(seq, d_k, widths.at(-1), seed + draw) : first[widths.indexOf(d_k)];
  const scores = products.map((product) => (divide ? product / Math.sqrt(d_k) : product));
  const weights = softmax(scores);
  const mean = sum(scores) / seq;
  const spread = Math.sqrt(sum(scores.map((score) => (score - mean) ** 2)) / seq);
  return { scores, weights, spread, ...sharpness(weights), uniform: sharpness(Array(seq).fill(1 / seq)) };
}

/** Measure weights; `gradient` is the Frobenius norm of softmax's Jacobian, diag(w) − w wᵀ. */
function sharpness(weights) {
  const squares = sum(weights.map((w) => w * w));
  const gradient = Math.sqrt(Math.max(0, squares - 2 * sum(weights.map((w) => w ** 3)) + squares ** 2));
  return { largest: Math.max(...weights), entropy: entropy(weights), gradient };
}

/** Return dot products of a normal query with normal keys of width `most`, over their first `d_k` entries. */
function drawnScores(seq, d_k, most, seed) {
  const next = normals(seed);
  const row = () => Array.from({ length: most }, next);
  const query = row();
  return Array.from({ length: seq }, () => sum(row().slice(0, d_k).map((x, i) => x * query[i])));
}

/** Return a generator of standard normal numbers, by Box and Muller from uniform numbers of mulberry32. */
function normals(seed) {
  let at = Math.imul(seed, 0x9e3779b1);
  const uniform = () => {
    at = (at + 0x6d2b79f5) | 0;
    let mixed = Math.imul(at ^ (at >>> 15), at | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
  return () => Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

const inWords = ({ largest, entropy: spread, gradient }) => ({
  "largest weight": fixed(largest),
  entropy: fixed(spread),
  "size of the gradient": fixed(gradient),
});

function say(_, { d_k, divide }, found) {
  const how = divide ? "divided by √d_k" : "not scaled";
  const beside = Object.entries(inWords(found.uniform)).map((fact) => fact.join(" ")).join(", ");
  return {
    title: `d_k = ${d_k}, ${how}: largest weight ${fixed(found.largest)}`,
    facts: inWords(found),
    remark: `Uniform weights would have ${beside}. The scores, ${how}, have a standard deviation of ${fixed(found.spread)}.`,
  };
}

export default explorer({
  name: "Softmax of random scores for narrow and wide keys",
  numbers,
  say,
  controls: ({ widths }, ui) => [
    { kind: "choice", name: "d_k", label: "d_k", options: widths.map((width) => [String(width), width]) },
    { kind: "switch", name: "divide", label: "divide by √d_k" },
    { kind: "button", name: "again", label: "New sample", press: () => { ui.state.draw += 1; } },
  ],
  draw(picture, start, state, { weights }) {
    const labels = weights.map((_, i) => `key ${i}`);
    const reference = { at: 1 / labels.length, name: "uniform" };
    return bars(picture, { groups: [{ values: weights }], labels, limit: 1, reference });
  },
});
