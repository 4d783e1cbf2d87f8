import { chips, element, inline, onlyRead, page, visible } from "../show/page.js";

const LONGEST = 2000; // characters of a text that are encoded
const CHIPS = 500; // tokens that are shown: one emoji can have thirty
const END = ["<|endoftext|>", 50256];
// GPT-2's own pattern for words. JavaScript's \s differs from Unicode's white space.
// eslint-disable-next-line max-len -- one expression
const WORD = /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;
const NEVER = 2 ** 31 - 1; // the rank of a pair that is not merged
const BYTES = (() => {
  const seen = (byte) => (byte > 32 && byte < 127) || (byte > 160 && byte !== 173);
  const all = [...Array(256).keys()];
  return [...all.filter(seen), ...all.filter((byte) => !seen(byte))];
})();
const ID_OF = new Uint16Array(256);
BYTES.forEach((byte, id) => { ID_OF[byte] = id; });

// ---------------------------------------------------------------- byte-pair encoding

/** Build GPT-2's tokenizer from the ids that each merge joins, in four planes of bytes. */
function tokenizer(planes) {
  const n = planes.length / 4;
  const number = (first, i) => planes[first * n + i] + 256 * planes[(first + 1) * n + i];
  const side = (first) => Uint16Array.from({ length: n }, (_, i) => number(first, i));
  const [left, right] = [side(0), side(2)];
  const ranks = new Map();
  for (let i = 0; i < n; i += 1) ranks.set(left[i] * 65536 + right[i], i);
  const rank = (a, b) => ranks.get(a * 65536 + b) ?? NEVER;
  const bytesOf = (id) => (id < 256 ? [BYTES[id]] : [...bytesOf(left[id - 256]), ...bytesOf(right[id - 256])]);
  const words = remembered((word) => joined([...new TextEncoder().encode(word)].map((byte) => ID_OF[byte]), rank));
  const names = remembered((id) => (id === END[1] ? { text: END[0] } : named(bytesOf(id))));
  return {
    name: names,
    encode(text) {
      const ids = [];
      text.replace(/\p{Surrogate}/gu, "\ufffd").split(END[0]).forEach((part, i) => {
        if (i) ids.push(END[1]);
        for (const [word] of part.matchAll(WORD)) for (const id of words(word)) ids.push(id);
      });
      return ids;
    },
  };
}

/** Return `f` with a cache of its results. */
function remembered(f) {
  const kept = new Map();
  return (key) => {
    if (!kept.has(key)) {
      if (kept.size > 20000) kept.clear();
      kept.set(key, f(key));
    }
    return kept.get(key);
  };
}

/** Merge ids: repeatedly replace every occurrence of the pair that was learnt first. */
function joined(ids, rank) {
  let ranks = ids.map((id, i) => (i + 1 < ids.length ? rank(id, ids[i + 1]) : NEVER));
  for (;;) {
    const best = ranks.reduce((low, x) => (x < low ? x : low), NEVER);
    if (best === NEVER) return ids;
    const [next, nextRanks] = [[], []];
    let was = false;
    for (let i = 0; i < ids.length;) {
      const hit = ranks[i] === best;
      const id = hit ? 256 + best : ids[i];
      if (i) nextRanks.push(hit || was ? rank(next.at(-1), id) : ranks[i - 1]);
      next.push(id);
      was = hit;
      i += hit ? 2 : 1;
    }
    nextRanks.push(NEVER);
    [ids, ranks] = [next, nextRanks];
  }
}

// ---------------------------------------------------------------- texts

/** Return {text, part}: the text of a chip, and whether the token is only a part of a character. */
function named(bytes) {
  try {
    return { text: dotted(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(new Uint8Array(bytes))) };
  } catch {
    const hex = (byte) => `\\x${byte.toString(16).padStart(2, "0")}`;
    return { part: true, text: bytes.map((byte) => (byte < 128 ? dotted(String.fromCharCode(byte)) : hex(byte))).join("") };
  }
}

/** Write spaces as dots, and hidden characters as Python escapes them. */
const dotted = (text) => visible(text.replace(/[ \u00a0]/g, "·"));

function remark(text, characters, tokens) {
  if (!text) return "An empty text has no tokens: type something.";
  const all = characters.length.toLocaleString("en");
  const some = tokens.length > CHIPS ? `the first ${CHIPS} tokens` : "the tokens of the first 2,000 characters";
  if (characters.length > LONGEST) return `The text has ${all} characters; below are ${some}.`;
  if (tokens.length > CHIPS) return `Below are ${some}.`;
  const parts = tokens.filter(({ part }) => part).length;
  if (parts) {
    const what = parts === 1 ? "1 token is only a part" : `${parts.toLocaleString("en")} tokens are only parts`;
    return `${what} of a character, shown as \\x…: the bytes of this character are spread over several tokens.`;
  }
  if (tokens.some((token) => /^·[^]/.test(token.text))) return "A space (·) belongs to the token that follows it.";
  return "Type a space before a word, or start it with a capital letter: its token changes.";
}

const ASKED = "Waiting for the kernel, which runs this tokenizer.";
const ALONE = "No kernel is connected to run this tokenizer: run this cell again. Below are the tokens of the previous text.";

const READING = "This page has only this text. In JupyterLab, you can type any other.";

// ---------------------------------------------------------------- the page

/** Return a function of a text: a list of {id, text, part}, or undefined until the kernel answers. */
function fromKernel(ui, redraw) {
  let [asked, waits] = ["", false];
  ui.model.on("msg:custom", (message) => {
    waits = false;
    ui.state.found = { text: message.text, tokens: message.tokens };
    redraw();
    ui.keep();
  });
  ui.state.found ??= ui.start.found;
  return (text) => {
    if (ui.state.found.text === text) return ui.state.found.tokens;
    if (!waits && asked !== text) {
      waits = ui.tell({ text });
      asked = waits ? text : "";
    }
    ui.waits = waits;
    return undefined;
  };
}

function fromMerges(planes) {
  const gpt2 = tokenizer(planes);
  return (text) => gpt2.encode(text).map((id) => ({ id, ...gpt2.name(id) }));
}

function build(ui, planes) {
  const box = element("textarea", {
    rows: 3, placeholder: "type a text", "aria-label": "The text to split into tokens", spellcheck: "false",
    style: "width:100%",
  });
  const [facts, said] = [element("div", { class: "facts" }), element("div", { class: "remark" })];
  const shown = element("div", { class: "chips" });
  ui.root.append(box, facts, said, shown);
  box.value = ui.state.text;
  if (!planes) onlyRead(ui, [box], READING);

  const redraw = () => {
    const { text } = ui.state;
    const characters = [...text];
    const tokens = tokensOf(characters.slice(0, LONGEST).join(""));
    if (!tokens) {
      said.replaceChildren(ui.waits ? ASKED : ALONE);
      return;
    }
    const length = Math.min(characters.length, LONGEST);
    const numbers = { tokens: tokens.length.toLocaleString("en"), characters: length.toLocaleString("en") };
    if (tokens.length) numbers["characters per token"] = (length / tokens.length).toFixed(1);
    facts.replaceChildren(...Object.entries(numbers).map(([name, value]) =>
      element("span", {}, `${name} `, element("b", {}, value))));
    said.replaceChildren(...inline(remark(text, characters, tokens)));
    chips(shown, tokens.slice(0, CHIPS).map(({ text: name, id }) => [name, id]));
    ui.root.coginst.numbers = { ids: tokens.map(({ id }) => id) };
    ui.said = `${Object.entries(numbers).map((pair) => pair.join(" ")).join(", ")}. ${said.textContent}`;
  };
  const moved = () => {
    redraw();
    ui.announceAtRest(ui.said);
  };
  const tokensOf = planes ? fromMerges(planes) : fromKernel(ui, moved);
  const set = (name, value) => {
    ui.state[name] = value;
    box.value = ui.state.text;
    redraw();
    ui.keep();
  };
  const encode = (texts) => texts.map((text) => tokensOf(text).map(({ id }) => id));
  ui.root.coginst = { state: ui.state, set, encode };
  box.addEventListener("input", () => {
    ui.state.text = box.value;
    moved();
  });
  box.addEventListener("change", () => ui.keep());
  box.addEventListener("keydown", (event) => event.stopPropagation()); // otherwise JupyterLab takes the keys as shortcuts
  redraw();
}

/** Unpack the zlib data of a DataView. */
async function unpacked(data) {
  const stream = new Blob([data]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

export default {
  async render(context) {
    const data = context.model.get("data");
    const planes = data.byteLength ? await unpacked(data) : null;
    return page((ui) => build(ui, planes), "Tokens of a text").render(context);
  },
};
