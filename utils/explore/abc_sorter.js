import { affine, describe, drawn, explorer, fixed, float32Tables, label, onViridis, rescaled, softmax, viridis, visible } from "../show/page.js";

const SEPARATOR = 0;
const NEAR = 0.01; // results in float32 and float64 differ by about a thousandth of this
const [CELL, ROW, LEFT] = [38, 26, 56]; // pixels

// ---------------------------------------------------------------- the model

/** Return the parameters, and the products of their factors as rows for `affine`: {q: [head][d_head][embed_dim], …}. */
function prepared(start, data) {
  const tables = float32Tables(data, start.shapes);
  const made = {};
  for (const n of "qkv") {
    made[n] = tables[`attention.${n}A`].map((A, head) => {
      const B = transposed(tables[`attention.${n}B`][head]);
      const base = tables[`attention.${n}_base`]?.[head];
      return transposed(A.map((row, i) =>
        softmax(affine(B, row).map((x) => x / start.temp)).map((gate, j) => (base ? gate * base[i][j] : gate))));
    });
  }
  return { tables, made, start, sorted: {} };
}

const transposed = (rows) => Array.from(rows[0], (_, j) => Float64Array.from(rows, (row) => row[j]));

/** Return a function that reads a sequence id by id: {logits, weights: [head][seen]}. A head that is off gives 0. */
function reader({ tables, made, start }, on) {
  const kept = on.map(() => ({ keys: [], values: [] }));
  const norm = (name, x) => rescaled(x, tables[`${name}.weight`], tables[`${name}.bias`], start.eps[name]);
  const plus = (a, b) => a.map((value, i) => value + b[i]);
  let place = 0;

  return (id) => {
    let x = plus(Float64Array.from(tables["token_embed.weight"][id]), tables["pos_embed.weight"][place++]);
    const read = norm("norm1", x);
    const weights = kept.map(({ keys, values }, head) => {
      const query = affine(made.q[head], read);
      keys.push(affine(made.k[head], read));
      values.push(affine(made.v[head], read));
      return softmax([...affine(keys, query)].map((score) => score / Math.sqrt(query.length)));
    });
    const found = kept.flatMap(({ values }, head) =>
      [...affine(transposed(values), weights[head])].map((value) => (on[head] ? value : 0)));
    x = plus(x, affine(tables["attention.o.weight"], found));
    const hidden = affine(tables["mlp.0.weight"], norm("norm2", x)).map((value) => Math.max(0, value));
    x = plus(x, affine(tables["mlp.2.weight"], hidden));
    return { logits: [...affine(tables["token_embed.weight"], norm("final_norm", x))], weights };
  };
}

/** Return the three steps in which the model writes its answer: {seen, logits, probs, weights, chosen}, all in ids. */
function traced(model, on, letters) {
  const read = reader(model, on);
  const seen = [...letters, SEPARATOR];
  let latest;
  for (const id of seen) latest = read(id);
  return [0, 1, 2].map((step) => {
    if (step) latest = read(seen.at(-1));
    const probs = softmax(latest.logits.slice(1));
    const chosen = 1 + probs.indexOf(Math.max(...probs));
    const made = { ...latest, seen: [...seen], probs, chosen };
    seen.push(chosen);
    return made;
  });
}

/** Return the model in a page's bytes, and the largest difference between its logits and torch's. Computed once. */
function opened(start, data) {
  if (!opened.known.has(data)) {
    const model = prepared(start, data);
    const off = Math.max(...start.sequences.flatMap((ids, n) => {
      const read = reader(model, Array(start.heads).fill(true));
      return ids.flatMap((id, at) => read(id).logits.map((x, i) => Math.abs(x - model.tables.sample[n][at][i])));
    }));
    opened.known.set(data, { model, off });
  }
  return opened.known.get(data);
}
opened.known = new WeakMap();

// ---------------------------------------------------------------- the answer

const written = (start, ids) => ids.map((id) => start.vocab[id]).join("");

function problemWith({ vocab }, typed) {
  const wrong = [...typed].some((letter) => vocab.indexOf(letter) < 1);
  if (wrong || typed.length > 3) return `Type three letters from a, b and c, for example cab. You typed '${visible(typed, 12)}'.`;
  const missing = 3 - typed.length;
  return missing ? `Type ${missing} more letter${missing > 1 ? "s" : ""}: a, b or c.` : "";
}

/** Count the triples that are sorted correctly with these heads. Computed once for each choice of heads. */
function sortedOf(model, on) {
  const answers = (letters) => traced(model, on, letters).map((step) => step.chosen).join();
  const right = ([a, b, c]) => answers([a, b, c]) === [a, b, c].sort().join();
  return (model.sorted[on] ??= model.start.sequences.filter(right).length);
}

/** Return {off, problem, sorted: number of triples}, and if there is no problem also {typed, steps, answer, right}. */
function numbers(start, state, data) {
  const typed = state.letters.trim().toLowerCase();
  const { model, off } = opened(start, data);
  if (!(off < NEAR)) {
    return { off, sorted: 0, problem: `This model does not compute what lesson 09's model computes with the same ` +
      `parameters: its scores differ by up to ${fixed(off)}. What does \`check(DeepQKVAttention)\` say?` };
  }
  const on = Array.from({ length: start.heads }, (_, head) => state[`head_${head}`]);
  const found = { off, on, typed, problem: problemWith(start, typed), sorted: sortedOf(model, on) };
  if (found.problem) return found;
  const ids = [...typed].map((letter) => start.vocab.indexOf(letter));
  const steps = traced(model, on, ids);
  const answer = written(start, steps.map((step) => step.chosen));
  return { ...found, steps, answer, right: written(start, [...ids].sort()) };
}

// ---------------------------------------------------------------- the picture

function say({ sequences }, state, { problem, typed, answer, right, sorted, on = [] }) {
  const off = on.flatMap((is, head) => (is ? [] : [`head ${head}`]));
  const facts = { "triples sorted": `${sorted} of ${sequences.length}`, ...(off.length ? { without: off.join(" and ") } : {}) };
  if (problem) return { title: "One letter at a time", facts, remark: problem };
  const correction = answer === right ? "." : `; the right order is \`${right}\`.`;
  return { title: `${typed} becomes ${answer}, one letter at a time`, facts, remark: `\`${typed}\` becomes \`${answer}\`${correction}` };
}

/** Draw a row for each letter. The last result stays, faintly, while the learner types the next three letters. */
function draw({ svg, width, ui }, start, state, found) {
  const steps = found.steps ?? ui.drawnSteps ?? [];
  ui.drawnSteps = steps;
  const on = found.problem ? Array(start.heads).fill(false) : found.on;
  const narrow = width < LEFT + 6 * CELL + 228;
  const high = start.heads * ROW;
  const pitch = narrow ? 22 + high + 3 * 22 + 24 : 22 + Math.max(high, 66) + 20;
  steps.forEach((step, k) => {
    const top = k * pitch + 22;
    looks(svg, start, step, on, top);
    const place = narrow ? [LEFT, top + high + 6] : [LEFT + 6 * CELL + 30, top + (Math.max(high, 66) - 66) / 2];
    chances(svg, start, step, Boolean(found.problem), ...place);
  });
  return steps.length * pitch;
}

/** Draw a table of the weights that each head gives to the tokens it sees. */
function looks(svg, { vocab, heads }, { seen, weights }, on, top) {
  seen.forEach((id, i) =>
    label(svg, vocab[id], LEFT + (i + 0.5) * CELL, top - 6, { "text-anchor": "middle", "font-weight": 700 }));
  for (let head = 0; head < heads; head++) {
    const y = top + head * ROW;
    describe(svg, on[head] ? `head ${head}` : `head ${head}, off`, seen.map((id) => vocab[id]), [...weights[head]].map((weight) => fixed(weight)));
    label(svg, `head ${head}`, LEFT - 8, y + 18, { "text-anchor": "end", class: on[head] ? "" : "muted" });
    weights[head].forEach((weight, i) => {
      const x = LEFT + i * CELL;
      svg.append(drawn("rect", {
        x, y, width: CELL - 1, height: ROW - 1, fill: viridis(weight), opacity: on[head] ? 1 : 0.35,
      }));
      label(svg, fixed(weight), x + CELL / 2, y + 17, {
        "text-anchor": "middle", style: `fill:${on[head] ? onViridis(weight) : "var(--ink)"}`,
      });
    });
  }
}

/** Draw bars for the probabilities of the letters, and the letter that is written. */
function chances(svg, { vocab }, { probs, chosen }, faint, left, top) {
  describe(svg, "probabilities", vocab.slice(1), probs.map((p) => fixed(p, 3)));
  probs.forEach((p, i) => {
    const y = top + 22 * i;
    const colour = i + 1 === chosen && !faint ? "var(--vermilion)" : "var(--muted)";
    label(svg, `p(${vocab[i + 1]})`, left, y + 15);
    svg.append(drawn("rect", { x: left + 34, y: y + 4, width: 72 * p, height: 14, fill: colour, opacity: faint ? 0.35 : 1 }));
    label(svg, fixed(p, 3), left + 34 + 72 * p + 5, y + 15);
  });
  const ink = faint ? "var(--muted)" : "var(--vermilion)";
  label(svg, `→ ${vocab[chosen]}`, left + 162, top + 40, { style: `font-size:19px;font-weight:700;fill:${ink}` });
}

export default explorer({
  name: "A model that sorts three letters",
  numbers,
  say,
  draw,
  controls: ({ heads }) => [
    { kind: "text", name: "letters", label: "three letters", placeholder: "cab", size: 8 },
    ...Array.from({ length: heads }, (_, head) => ({ kind: "switch", name: `head_${head}`, label: `head ${head} on` })),
  ],
});
