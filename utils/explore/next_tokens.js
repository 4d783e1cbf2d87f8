import { bars, chips, element, explorer, fixed, onlyRead } from "../show/page.js";

const BARS = 10;
const RARE = "a rare token"; // only the kernel knows its name
const PATIENCE = 3000; // milliseconds after which the page says that the kernel has not answered

// ---------------------------------------------------------------- logits and probabilities

/** Read the result of Python's `pack_descending`: {logits: the highest first, own: the softmax of the first few}. */
function unpacked(text) {
  if (unpacked.text !== text) {
    const logits = read(Uint8Array.from(atob(text), (char) => char.charCodeAt(0)));
    const own = [...distribution(logits, 1, logits.length).slice(0, BARS)];
    Object.assign(unpacked, { text, kept: { logits, own } });
  }
  return unpacked.kept;
}

function read(bytes) {
  const ordered = [];
  let at = 0;
  const number = () => {
    let [value, unit] = [0, 1];
    for (;; unit *= 128) {
      const byte = bytes[at];
      at += 1;
      value += (byte & 127) * unit;
      if (byte < 128) return value;
    }
  };
  let last = 2 ** 31;
  while (at < bytes.length) {
    const step = number();
    const count = step ? 1 : number();
    last -= step;
    for (let i = 0; i < count; i += 1) ordered.push(last);
  }
  const bits = Int32Array.from(ordered, (key) => (key < 0 ? key ^ 0x7fffffff : key));
  return new Float32Array(bits.buffer);
}

/** Return the softmax of the first k descending logits at a temperature; at 0, the first gets probability 1. */
function distribution(logits, temperature, k) {
  const probs = new Float64Array(temperature === 0 ? 1 : k);
  let total = 0;
  for (let i = 0; i < probs.length; i += 1) total += probs[i] = Math.exp((logits[i] - logits[0]) / (temperature || 1));
  for (let i = 0; i < probs.length; i += 1) probs[i] /= total;
  return probs;
}

const shownPass = ({ first }, { now, base }) => now ?? base ?? first;

/** Return {probs: the likeliest first, own: the model's first few, entropy, carriers: how many tokens carry 90 %}. */
function numbers(start, state) {
  const pass = shownPass(start, state);
  const { logits, own } = unpacked(pass.values);
  const probs = distribution(logits, state.temperature, Math.min(state.k, logits.length));
  let [entropy, carried, carriers] = [0, 0, 0];
  for (const p of probs) {
    if (p > 0) entropy -= p * Math.log(p);
    if (carried < 0.9 - 1e-12) carriers += 1;
    carried += p;
  }
  return { probs, entropy, carriers, own };
}

/** Return the rank of a sampled token. The same seed gives the same ranks for the same probabilities. */
function drawnRank(probs, seed, draws) {
  let left = uniform(seed, draws);
  for (let rank = 0; rank < probs.length; rank += 1) {
    left -= probs[rank];
    if (left < 0) return rank;
  }
  return probs.findLastIndex((p) => p > 0);
}

/** Return the n-th random number from 0 to 1 for a seed (mulberry32). */
function uniform(seed, n) {
  let x = (seed + Math.imul(n + 1, 0x6d2b79f5)) | 0;
  x = Math.imul(x ^ (x >>> 15), x | 1);
  x ^= x + Math.imul(x ^ (x >>> 7), x | 61);
  return ((x ^ (x >>> 14)) >>> 0) / 2 ** 32;
}

// ---------------------------------------------------------------- texts

function say(start, state, { probs, entropy, carriers }) {
  const [[, likeliest]] = shownPass(start, state).names;
  return {
    title: `Likeliest next token: ${likeliest} with probability ${fixed(probs[0])}`,
    facts: {
      likeliest: fixed(probs[0]),
      entropy: fixed(entropy),
      "tokens needed for 90 %": carriers.toLocaleString("en"),
    },
    remark: remark(start, state),
  };
}

function remark({ ks }, { temperature, k, told }) {
  const still = told && told.temperature === temperature && told.k === k;
  const text = still ? told.text : advice(temperature, k, ks.at(-1));
  return told?.waits ? `${text} ${told.waits}` : text;
}

function advice(temperature, k, vocab) {
  if (temperature === 0) return "Temperature 0 is greedy: it takes the likeliest token every time, and k does not matter.";
  if (k === 1) return "With only one token kept, there is no choice: this is greedy at any temperature.";
  if (k < vocab) return `Only the ${k} likeliest tokens can be sampled; their probabilities are scaled up to sum to 1.`;
  if (temperature === 1) return "At temperature 1, with all tokens kept, these are the model's own probabilities.";
  if (temperature < 1) return "A temperature below 1 increases the differences between logits: likely tokens gain.";
  return "A temperature above 1 reduces the differences between logits: unlikely tokens gain.";
}

const WAITS = {
  token: "The kernel is computing what may follow. Until it answers, Sample replaces this token.",
  prompt: "The kernel is reading the new prompt. Until it answers, the picture shows the previous text.",
};
const LONG = "The kernel has not answered yet. It may be busy; if it is not, run this cell again to continue.";
const READING = {
  token: "In JupyterLab, the text continues from this token; here, Sample replaces it.",
  prompt: "This page has only this prompt. In JupyterLab, you can type any other.",
};
const ALONE = {
  token: "No kernel is connected: run this cell again to continue the text.",
  prompt: "No kernel is connected: run this cell again to use another prompt.",
};

// ---------------------------------------------------------------- actions

/** Show a text instead of the advice until a control is moved. */
function tell(ui, text, more = {}) {
  const { temperature, k } = ui.state;
  ui.state.told = { text, temperature, k, ...more };
}

/** Stop waiting, and ignore an answer that is still on its way. */
function ignoreAnswers(ui) {
  ui.asked += 1;
  ui.waitsFor = null;
  clearTimeout(ui.patience);
}

const shownPrompt = ({ start, state }) => state.base?.text ?? start.prompt;

/** Send a question to the kernel, and say what happens meanwhile; `what` is "token" or "prompt". */
function ask(ui, what, question) {
  ignoreAnswers(ui);
  if (ui.reading) {
    ui.state.told.waits = READING[what];
    return;
  }
  if (!ui.tell({ ask: ui.asked, ...question })) {
    ui.state.told.waits = ALONE[what];
    return;
  }
  ui.state.told.waits = WAITS[what];
  ui.waitsFor = what;
  ui.patience = setTimeout(() => {
    ui.waitsFor = null;
    ui.state.told.waits = LONG;
    ui.moved(true);
  }, PATIENCE);
}

const told = (name, p, rank) => `Sampled: ${name}, which had probability ${fixed(p)} and was number ` +
  `${(rank + 1).toLocaleString("en")} in the model's order.`;

/** Sample a token, and ask the kernel what may follow it. */
function draw(ui) {
  const { start, state } = ui;
  state.prompt = shownPrompt(ui);
  const pass = shownPass(start, state);
  const { probs } = ui.root.coginst.numbers;
  const rank = drawnRank(probs, start.seed, state.draws);
  state.draws += 1;
  const [id, name] = pass.names[rank] ?? [null, RARE];
  const text = probs[rank] === 1 ? `Taken: ${name}, the only token that could be sampled.` : told(name, probs[rank], rank);
  tell(ui, text, { pending: { rank, id, name } });
  const drawn = pass.drawn + 1;
  ask(ui, "token", id === null ? { ids: pass.ids, rank, drawn } : { ids: [...pass.ids, id], drawn });
}

function startOver(ui, text = "Back to the prompt.") {
  ignoreAnswers(ui);
  ui.state.prompt = shownPrompt(ui);
  ui.state.now = null;
  tell(ui, text);
}

function newPrompt(ui) {
  const { start, state } = ui;
  if (state.prompt === shownPrompt(ui)) return startOver(ui);
  if (state.prompt === start.prompt) {
    state.base = null;
    return startOver(ui);
  }
  tell(ui, "");
  return ask(ui, "prompt", { text: state.prompt });
}

function answered(ui, { ask: number, refused, ...pass }) {
  if (number !== ui.asked) return;
  ui.waitsFor = null;
  clearTimeout(ui.patience);
  const { state } = ui;
  if (refused) tell(ui, `${refused}${/[.!?]$/.test(refused) ? "" : "."} The picture still shows the previous text.`);
  else if (pass.drawn) {
    state.now = pass;
    const text = state.told.text.replace(RARE, () => `'${pass.pieces.at(-1)}'`);
    state.told = { ...state.told, text, pending: null, waits: "" };
  } else {
    Object.assign(state, { base: { ...pass, text: state.prompt }, now: null, told: null });
  }
  ui.moved(true);
}

/** Press a button, unless the kernel reads a new prompt: its answer will replace the text. */
const unlessReading = (ui, press) => {
  if (ui.waitsFor !== "prompt") press(ui);
};

/** Show the text so far; sampled tokens have a border. */
function showText(ui) {
  const { pieces, ids, drawn } = shownPass(ui.start, ui.state);
  const hidden = ids.length - pieces.length;
  const made = pieces.map((piece, i) => [piece, ids[hidden + i], hidden + i >= ids.length - drawn ? "drawn" : ""]);
  const pending = ui.state.told?.pending;
  if (pending) made.push([pending.name.replace(/^'([^]*)'$/, "$1"), pending.id ?? "?", "waits"]);
  ui.before.textContent = hidden ? `… ${hidden.toLocaleString("en")} token${hidden === 1 ? "" : "s"} before` : "";
  chips(ui.text, made);
}

export default explorer({
  name: "Likeliest next tokens of a prompt",
  numbers,
  say,
  longest: () => `${told("'·another'", 1, 9)} ${WAITS.token}`,
  controls: ({ ks }, ui) => [
    { kind: "text", name: "prompt", label: "prompt", placeholder: "type a text, then press Enter", size: 60 },
    { kind: "slider", name: "temperature", label: "temperature", min: 0, max: 2, step: 0.1, written: (x) => fixed(x, 1) },
    {
      kind: "choice", name: "k", label: "keep the top",
      options: ks.map((k, i) => [i === ks.length - 1 ? "all" : String(k), k]),
    },
    { kind: "button", label: "Sample", main: true, press: () => unlessReading(ui, draw) },
    { kind: "button", label: "Start over", press: () => unlessReading(ui, startOver) },
  ],
  extra(ui) {
    Object.assign(ui, { asked: 0, before: element("div"), text: element("div", { class: "chips" }) });
    ui.root.querySelector(".facts").before(ui.before, ui.text);
    if (ui.state.told?.waits) { // the notebook was closed before the kernel answered
      Object.assign(ui.state, { told: null, prompt: shownPrompt(ui) });
    }
    const box = ui.root.querySelector("input[type=text]");
    onlyRead(ui, [box], READING.prompt);
    box.addEventListener("change", () => {
      newPrompt(ui);
      ui.moved(true);
    });
    const heard = (message) => answered(ui, message);
    ui.model.on("msg:custom", heard);
    return () => {
      clearTimeout(ui.patience);
      ui.model.off("msg:custom", heard);
    };
  },
  draw(picture, start, state, { probs, own }) {
    const { ui } = picture;
    showText(ui);
    const { names } = shownPass(start, state);
    const shown = own.map((_, i) => probs[i] ?? 0);
    return bars(picture, {
      groups: [
        { name: "the model's own", values: own },
        { name: "after temperature and top-k", values: shown },
      ],
      labels: own.map((_, i) => names[i][1]),
      limit: 1,
      sameScale: true,
      strong: state.told?.pending ? [state.told.pending.rank] : [],
    });
  },
});
