import { bars, drawn, element, fixed, onlyRead, page, textWidth } from "../show/page.js";

const PATIENCE = 4000; // milliseconds after which the page says that the kernel has not answered

const TYPING = "Press Enter to ask about these sentences; the table below belongs to the previous ones.";
const READING = "This page has only these two sentences. In JupyterLab, you can type any others.";

const whole = (token) => token.replaceAll(" ", "\u00a0"); // no line may break inside a token
const percent = (x) => `${fixed(100 * x, 1)}%`;

/** Describe the answer for one place, or for the sentence itself if `place` is null. */
function words({ tokens, sentence, rows, ...answers }, place) {
  const [right, wrong] = [whole(answers.right), whole(answers.wrong)];
  if (!place) return `The model continues the sentence with ${right} and its twin with ${wrong}. Choose a place.`;
  const [layer, position] = place;
  const answer = rows[layer][position];
  const other = answer.others > Math.max(answer.right, answer.wrong)
    ? `; the likeliest token is ${whole(answer.other)}, ${percent(answer.others)}` : "";
  const where = `before block ${layer}, position ${position} (${tokens[position]})`;
  const same = answer.moved === sentence.moved ? " The answer is unchanged." : "";
  const shares = `${right} ${percent(answer.right)}, ${wrong} ${percent(answer.wrong)}`;
  return `With the twin's vector ${where}: ${shares}${other}.${same}`;
}

/** Return a text that needs at least as many lines as the text of any place: each of its words is the widest one. */
function longest(found, blocks) {
  const widest = (texts) => texts.reduce((a, b) => (textWidth(b, 14) > textWidth(a, 14) ? b : a), "");
  const answers = found.rows.flat();
  const answer = { right: 1, wrong: 1, other: widest(answers.map(({ other }) => other)), others: 2, moved: 0 };
  const last = found.tokens.length - 1;
  const tokens = Array(last + 1).fill(widest(found.tokens));
  const rows = Array(blocks).fill(Array(last + 1).fill(answer));
  return words({ ...found, tokens, sentence: answer, rows }, [blocks - 1, last]);
}

/** Name the places that move most of the answer, so that a screen reader need not read the whole table. */
function largestMoves({ rows, tokens }) {
  const moves = rows.flatMap((row, layer) => row.map(({ moved }, position) => ({ moved, layer, position })))
    .filter(({ moved }) => Math.abs(moved) >= 0.1).sort((a, b) => Math.abs(b.moved) - Math.abs(a.moved));
  const texts = moves.slice(0, 6).map(({ moved, layer, position }) =>
    `${fixed(moved, 1)} before block ${layer}, position ${position} (${tokens[position]})`);
  return texts.length ? `The largest: ${texts.join("; ")}.` : "No place moves as much as a tenth of it.";
}

/** Return orange for a move towards the twin's answer, blue for a move away; text is readable on it in both themes. */
function colour(share) {
  const strength = Math.round(50 * Math.min(1, Math.abs(share)));
  return `color-mix(in srgb, var(${share > 0 ? "--vermilion" : "--blue"}) ${strength}%, transparent)`;
}

/** A table of buttons with blocks as rows and positions as columns, or the opposite on a narrow page. */
class Places {
  constructor(found, blocks, tall, tell) {
    Object.assign(this, { found, blocks, tall, tell, buttons: new Map() });
    const [down, across] = tall ? [this.positions(), this.layers()] : [this.layers(), this.positions()];
    const head = element("tr", {}, element("td", {}, tall ? "before block" : ""), ...across.map((name) =>
      element("th", { scope: "col" }, element("span", {}, name))));
    const rows = down.map((name, i) => element("tr", {}, element("th", { scope: "row" }, name), ...across.map((_, j) =>
      element("td", {}, tall ? this.button(j, i) : this.button(i, j)))));
    this.node = element("table", { class: tall ? "places tall" : "places", "data-lm-suppress-shortcuts": true },
      element("caption", { class: "unseen" },
        `How much of the answer moves when one vector is exchanged. ${largestMoves(found)}`),
      element("thead", {}, head), element("tbody", {}, ...rows));
    this.node.addEventListener("pointerleave", () => tell(null, false));
  }

  layers() {
    return Array.from({ length: this.blocks }, (_, i) => `${this.tall ? "" : "before "}${i}`);
  }

  positions() {
    return this.found.labels;
  }

  button(layer, position) {
    const answer = this.found.rows[layer]?.[position];
    if (!answer) return element("span", { class: "wait" }, "…");
    const share = fixed(answer.moved, 1);
    const name = `${share}: before block ${layer}, position ${position} (${this.found.tokens[position]})`;
    const made = element("button", {
      type: "button", "aria-label": name, tabindex: -1, style: `background:${colour(answer.moved)}`,
    }, share);
    made.addEventListener("click", () => this.tell([layer, position], true));
    made.addEventListener("pointerenter", (event) => {
      if (event.pointerType === "mouse") this.tell([layer, position], false);
    });
    made.addEventListener("keydown", (event) => this.step(event, layer, position));
    this.buttons.set(`${layer} ${position}`, made);
    return made;
  }

  /** Move from place to place with the arrow keys. */
  step(event, layer, position) {
    const steps = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1] };
    const [down, across] = steps[event.key] ?? [];
    if (down === undefined) return;
    event.preventDefault();
    const [l, p] = this.tall ? [layer + across, position + down] : [layer + down, position + across];
    const next = this.buttons.get(`${l} ${p}`);
    if (!next) return;
    this.tell([l, p], true);
    next.focus();
  }

  /** Mark the chosen place. The Tab key reaches it, or the first place if none is chosen. */
  mark(place) {
    for (const made of this.buttons.values()) {
      made.tabIndex = -1;
      made.setAttribute("aria-pressed", "false");
    }
    const chosen = place && this.buttons.get(place.join(" "));
    chosen?.setAttribute("aria-pressed", "true");
    const reached = chosen ?? this.buttons.values().next().value;
    if (reached) reached.tabIndex = 0;
  }
}

/** Tell whether blocks are the columns, because columns of positions would be too narrow for a number. */
const isTall = (found, width) => width < 70 + 31 * found.labels.length;

export default page((ui) => {
  const { blocks } = ui.start;
  const { state } = ui;
  const boxes = ["clean", "corrupted"].map((name) =>
    element("input", { type: "text", spellcheck: "false", value: state[name] }));
  const note = element("div", { class: "note" });
  const room = element("div", { class: "room note", "aria-hidden": "true" }); // keeps the table in its place
  const holder = element("div");
  const legend = element("div", { class: "legend" }, "1: the answer becomes the twin's. 0: the answer stays the same.");
  const svg = drawn("svg", { role: "img" });
  const picture = element("div", {}, svg);
  ["sentence", "its twin"].forEach((name, i) =>
    ui.root.append(element("label", { class: "line" }, element("span", {}, name), boxes[i])));
  onlyRead(ui, boxes, READING);
  const below = element("div", {}, legend, holder, picture);
  ui.root.append(element("div", { class: "steady" }, note, room), below);
  let places = null;
  let waiting = 0;

  function draw(answer) {
    const { right, wrong } = state.found;
    const width = Math.max(260, Math.min(640, picture.clientWidth || 640));
    svg.replaceChildren();
    const labels = [right, wrong, answer.other];
    const roomy = Math.max(...labels.map((text) => textWidth(text, 13, 700))) < 0.3 * width;
    const values = [answer.right, answer.wrong, answer.others];
    const group = { name: "probability of the next token", values, written: percent };
    const names = roomy ? labels : labels.map((text) => text.slice(0, 14));
    const height = bars({ svg, width }, { groups: [group], labels: names, limit: 1 });
    svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    svg.setAttribute("aria-label", `${note.textContent} ${svg.querySelector("desc").textContent}.`);
  }

  /** Show a place, and choose it if `chosen`; null shows the chosen place again. */
  function tell(place, chosen) {
    if (chosen) state.place = place;
    const at = place ?? state.place;
    note.textContent = words(state.found, at);
    draw(at ? state.found.rows[at[0]][at[1]] : state.found.sentence);
    if (!chosen) return;
    places.mark(state.place);
    ui.keep();
    ui.announceAtRest(note.textContent);
  }

  function show() {
    const { found } = state;
    const refused = Boolean(found?.refused);
    const focused = holder.contains(document.activeElement);
    note.classList.toggle("failed", refused);
    places = null;
    holder.replaceChildren();
    room.textContent = "";
    for (const part of [legend, picture]) part.hidden = !found || refused;
    if (refused) note.textContent = found.refused;
    if (!found || refused) return;
    places = new Places(found, blocks, isTall(found, ui.root.clientWidth || 640), tell);
    holder.append(places.node);
    const there = state.place && found.rows[state.place[0]]?.[state.place[1]];
    if (!there) state.place = null;
    places.mark(state.place);
    room.textContent = longest(found, blocks);
    tell(null, false);
    if (focused) holder.querySelector("[tabindex='0']")?.focus();
  }

  const asked = () => [state.clean, state.corrupted];
  const known = new Map(); // answers by their sentences, which are shown again without a kernel
  const key = () => asked().join("\n");
  const nobody = () => say("There is no answer yet. The kernel may be busy; if it is not, run this cell again.");

  function say(text) {
    note.classList.remove("failed");
    note.textContent = text;
    ui.announce(text);
  }

  /** Dim the table while the sentences in the boxes differ from its own. */
  function typed() {
    const stale = boxes.some((box, i) => box.value.trim() !== asked()[i]);
    below.classList.toggle("stale", stale);
    below.inert = stale;
    if (!state.found) return;
    note.classList.toggle("failed", !stale && !places);
    if (stale) note.textContent = TYPING;
    else if (places) tell(null, false);
    else note.textContent = state.found.refused;
  }

  function ask() {
    clearTimeout(waiting);
    state.found = known.get(key()) ?? null;
    state.place = null;
    show();
    if (state.found) {
      ui.keep();
      ui.announce(note.textContent);
      return;
    }
    say("Asking the model…");
    if (ui.tell({ asked: asked() })) waiting = setTimeout(nobody, PATIENCE);
    else nobody();
  }

  function answered(message) {
    if (message?.asked?.join("\n") !== key()) return; // an answer about earlier sentences
    clearTimeout(waiting);
    state.found = message.found;
    show();
    ui.root.coginst.numbers = state.found;
    if (message.found.rows && message.found.rows.length < blocks) return;
    known.set(key(), message.found);
    ui.keep();
    ui.announce(note.textContent);
  }

  boxes.forEach((box, i) => {
    box.addEventListener("keydown", (event) => event.stopPropagation());
    box.addEventListener("input", typed);
    box.addEventListener("change", () => {
      state[["clean", "corrupted"][i]] = box.value.trim();
      typed();
      ask();
    });
  });
  ui.root.coginst = { state, numbers: state.found };
  ui.model.on("msg:custom", answered);
  if (state.found) {
    known.set(key(), state.found);
    show();
  } else ask();

  let last = ui.root.clientWidth;
  const resized = new ResizeObserver(() => {
    if (ui.root.clientWidth === last) return;
    last = ui.root.clientWidth;
    if (places) show();
  });
  resized.observe(ui.root);
  return () => {
    clearTimeout(waiting);
    resized.disconnect();
    ui.model.off("msg:custom", answered);
  };
}, "Answers with one vector of the twin");
