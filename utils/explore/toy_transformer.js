import { affine, describe, drawn, explorer, fixed, float32Tables, label, lines, rescaled, softmax, visible } from "../show/page.js";

const STOP = 0;
const NEAR = 0.01; // results in float32 and float64 differ by about a thousandth of this
const CELL = 18; // pixels from one character to the next
const LINE = 66;

// ---------------------------------------------------------------- the model

/** Return a function that reads a text token by token, caches keys and values, and returns the next logits. */
function reader({ layers, eps }, weights) {
  const kept = Array.from({ length: layers }, () => ({ keys: [], values: [] }));
  let place = 0;
  const norm = (name, x) => rescaled(x, weights[`${name}.w`], weights[`${name}.b`], eps[name]);
  const linear = (name, x) => affine(weights[`${name}.weight`], x, weights[`${name}.bias`]);

  return (id) => {
    const where = weights.places[place++];
    let x = Float64Array.from(weights["embed.weight"][id], (value, i) => value + where[i]);
    kept.forEach(({ keys, values }, layer) => {
      const query = linear(`layers.${layer}.self_attn.q_layer`, x);
      keys.push(linear(`layers.${layer}.self_attn.k_layer`, x));
      values.push(linear(`layers.${layer}.self_attn.v_layer`, x));
      const shares = softmax(affine(keys, query).map((score) => score / Math.sqrt(x.length)));
      const mixed = new Float64Array(x.length);
      values.forEach((value, at) => { for (let i = 0; i < mixed.length; i++) mixed[i] += shares[at] * value[i]; });
      const added = norm(`layers.${layer}.norm1`, mixed);
      x = x.map((value, i) => value + added[i]);
    });
    return linear("decoder", norm("norm", x));
  };
}

const highest = (values) => values.reduce((best, value, i) => (value > values[best] ? i : best), 0);

/** Return the tables in a page's bytes, and how far its logits are from the model's. Computed once. */
function opened(start, data) {
  if (!opened.known.has(data)) {
    const weights = float32Tables(data, start.shapes);
    const read = reader(start, weights);
    const off = Math.max(...start.sample.map((id, at) => {
      const logits = read(id);
      return Math.max(...logits.map((value, i) => Math.abs(value - weights.sample[at][i])));
    }));
    opened.known.set(data, { weights, off });
  }
  return opened.known.get(data);
}
opened.known = new WeakMap();

// ---------------------------------------------------------------- the answer

function problemWith({ characters, longest }, text) {
  if (!text) return "Type a word of 5 to 10 letters, a space, and echo or upper.";
  const odd = [...new Set(text)].filter((character) => !characters.includes(character)).sort();
  if (odd.length) {
    const some = odd.slice(0, 3).map((character) => `'${visible(character)}'`).join(", ");
    return "This model knows only the letters a–z and A–Z, the space and the full stop, not " +
      `${some}${odd.length > 3 ? " and others" : ""}.`;
  }
  if (text.length > longest)
    return `The text has ${text.length} characters, but this model has only ${longest} positions.`;
  return "";
}

/** Return the right answer to a prompt, or null if the prompt has no right answer. */
function wanted({ commands }, text) {
  const [word, ...rest] = text.split(" ");
  const command = rest.join(" ");
  if (!commands.includes(command)) return null;
  return ` ${command === "upper" ? word.toUpperCase() : word}.`;
}

/** Return {problem}, or {text, written, chances, logits, right, off}.
 *
 * `logits` and `chances` have one entry for each new token, including the stop.
 */
function numbers(start, { prompt }, data) {
  const text = prompt.trim();
  const { weights, off } = opened(start, data);
  const found = { text, off, problem: problemWith(start, text), written: "", chances: [], logits: [], right: null };
  if (!(off < NEAR)) {
    found.problem = "This model does not compute what lesson 08's model computes with the same parameters: " +
      `on a sample, its scores differ by up to ${fixed(off, 2)}. What does \`check(CogModel)\` say?`;
  }
  if (found.problem) return found;
  const read = reader(start, weights);
  let logits;
  for (const character of text) logits = read(start.characters.indexOf(character));
  for (let i = 0; i < start.most; i++) {
    const id = highest(logits);
    found.logits.push([...logits]);
    found.chances.push(softmax(logits)[id]);
    if (id === STOP) break;
    found.written += start.characters[id];
    if (i < start.most - 1) logits = read(id);
  }
  found.right = wanted(start, text);
  return found;
}

// ---------------------------------------------------------------- the picture

const name = (character) => (character === " " ? "the space" : character === undefined ? "stop" : `“${character}”`);

function say(start, state, { problem, text, written, chances, right }) {
  const title = "How sure the model is of each letter";
  if (problem) return { title, facts: {}, remark: problem };
  const least = chances.indexOf(Math.min(...chances));
  return {
    title,
    facts: { "least sure of": `${name(written[least])}, ${fixed(chances[least], 3)}` },
    remark: `\`${text}${written}\`\n${remark(text, written, chances.length > written.length, right)}`,
  };
}

function remark(text, written, stopped, right) {
  if (right === null) return "Type one word, a space, and `echo` or `upper` to see whether the answer is right.";
  if (written !== right) return `The right answer is: \`${text}${right}\``;
  return stopped ? "Every letter is right, and the model stops." : "Every letter is right, but the model does not stop there.";
}

/** Draw the new characters in cells, above the model's probability of each and, below a wrong one, the right one.
 *
 * The picture always has the height of the longest answer.
 */
function draw({ svg, width }, { most }, state, { written, chances, right }) {
  const legend = "bar: the model's probability of this letter · ␣ space · ■ stop";
  const top = 18 * lines(svg, legend, 12, width, { class: "muted" });
  if (chances.length) describe(svg, "probabilities", chances.map((_, i) => name(written[i])), chances.map((p) => fixed(p, 3)));
  const across = Math.floor((width - 4) / CELL);
  chances.forEach((chance, i) => {
    const [x, y] = [(i % across) * CELL + CELL / 2, top + Math.floor(i / across) * LINE + 22];
    const expected = right === null ? written[i] : right[i];
    const colour = expected === written[i] ? "var(--blue)" : "var(--vermilion)";
    letter(svg, written[i], x, y, `font-size:17px;font-weight:700;fill:${colour}`);
    svg.append(
      drawn("rect", { x: x - 6, y: y + 6, width: 12, height: 24, fill: "var(--faint)" }),
      drawn("rect", { x: x - 6, y: y + 30 - 24 * chance, width: 12, height: 24 * chance, fill: colour }),
    );
    if (expected !== written[i] && i <= right.length) letter(svg, expected, x, y + 44, "fill:var(--muted)");
  });
  return top + Math.ceil(most / across) * LINE + 8;
}

function letter(svg, character, x, y, style) {
  const shown = character === undefined ? "■" : character === " " ? "␣" : character;
  label(svg, shown, x, y, { "text-anchor": "middle", style: `font-family:monospace;${style}` });
}

export default explorer({
  name: "A model that continues a word",
  numbers,
  say,
  longest: ({ longest, most }) => `\`${"m".repeat(longest + most)}\`\n${remark("", "", false, null)}`,
  draw,
  controls: () => [{ kind: "text", name: "prompt", label: "prompt", placeholder: "minecraft upper", size: 30 }],
});
